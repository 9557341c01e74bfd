"""The capabilities, one YAML file each, and the model such a file must fit.

A capability is data: what to search for, how to build a text from what was found, and which
labels pass. A file added here or named with ``--capabilities`` is all a new capability needs.
"""
