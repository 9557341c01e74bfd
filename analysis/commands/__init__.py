"""Commands that look inside models or judge suites: one function for each command.

Each function takes its command's options by name and returns the result that the command shows.
Importing these modules imports no model library.
"""
