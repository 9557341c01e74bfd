"""What is done inside models and to suites: a function a command.

Each takes its command's options by name and returns what the command shows. Importing them pulls
no model library.
"""
