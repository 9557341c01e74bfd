"""Text of unknown origin, made fit to be shown on a terminal or in a line of a log."""

from __future__ import annotations

from typing import Any

REPLACEMENT = "�"


def plain(text: str, most: int | None = None) -> str:
    """Text on one line, without anything that a terminal obeys instead of showing.

    Control characters, escapes, bidirectional overrides and line breaks become `REPLACEMENT`.

    Args:
        text: from a model, a suite, a server or a file name.
        most: cut after so many characters; None for all.
    """
    shown = "".join(letter if letter.isprintable() else REPLACEMENT for letter in text)
    return shown if most is None or len(shown) <= most else shown[:most] + "…"


def plain_lines(text: str) -> str:
    """Text with its line breaks and tabs, without anything else that a terminal obeys."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in text
    )


def spreadsheet_cell(value: Any) -> Any:
    """A value that no spreadsheet runs: text that starts like a formula gets an apostrophe."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value
