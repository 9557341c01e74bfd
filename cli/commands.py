"""What all commands share: their groups in the help, and how they tell errors."""

from __future__ import annotations

from typing import Any

from s2lct.cli.command_line import PlainGroup
from s2lct.cli.console import told_errors

BUILDING = "Build a suite"
SCORING = "Score models"
INSIDE = "Look inside models"
JUDGING = "Judge a suite"
PUBLISHING = "Publish"


class Commands(PlainGroup):
    """Commands that tell in a few words what a user can mend, or that they were interrupted.

    Errors are told while a command is imported and while its options are read, too.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options that stand before a command."""
        with told_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with told_errors():
            return super().invoke(ctx)


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {line}" for line in lines)])
