"""A suite on disk: its cases, read, checked, compared and written in other formats."""
