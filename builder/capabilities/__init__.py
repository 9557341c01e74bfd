"""The capabilities, one YAML file each, and the model such a file must fit.

A capability is data: what to search for, how to build a text from what was found, and which
labels pass. A file added here or named with ``--capabilities`` is all a new capability needs.
"""

from s2lct.builder.capabilities.files import (
    capability_files,
    load_capabilities,
    read_capability,
    recorded,
    shipped_capability_files,
)
from s2lct.builder.capabilities.schema import (
    Capability,
    Form,
    Rewrite,
    SearchRule,
    Template,
    WordClass,
)

__all__ = [
    "Capability",
    "Form",
    "Rewrite",
    "SearchRule",
    "Template",
    "WordClass",
    "capability_files",
    "load_capabilities",
    "read_capability",
    "recorded",
    "shipped_capability_files",
]
