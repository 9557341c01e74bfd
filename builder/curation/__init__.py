"""Curation: sheets for readers, what they found, and how far they agree."""
