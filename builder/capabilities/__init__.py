"""Capabilities, one YAML file each, and the schema of such a file.

A file names the sentences to search for, the templates that make texts of them, and the labels that
pass. A new capability needs only a file, in this folder or named by ``--capability``.
"""
