"""The commands of the analyses, joined into the ``s2lct`` command line."""

from __future__ import annotations

import typer


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
