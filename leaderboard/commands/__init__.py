"""What is done with models and results: a function a command.

Each takes its command's options by name and returns what the command shows. Importing them pulls
no model library.
"""
