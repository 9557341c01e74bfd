"""Capabilities, one YAML file each, and the schema of such a file.

A file says what to search for, how to make a text of it, and which labels pass. A new capability
needs nothing but a file, in this folder or named with ``--capability``.
"""
