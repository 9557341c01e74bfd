"""The command line: a module a group of commands, which only reads options and prints."""
