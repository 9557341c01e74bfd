"""Makes text of unknown origin safe for a terminal, a log or a spreadsheet."""

from __future__ import annotations

import csv
import difflib
import io
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

MAX_SNIPPET_CHARACTERS = 60
"""The length to which a quoted text is truncated within a sentence."""
MAX_TEXT_CHARACTERS = 300
"""The length to which a quoted text is truncated that is shown by itself."""
MAX_LINE_CHARACTERS = 400
"""The length to which a line is truncated that quotes a file."""
_MAX_SHOWN_ITEMS = 3
REPLACEMENT = "�"
_FORMULA_STARTS = "=+-@＝＋－＠"
"""Characters that begin a formula in a spreadsheet, including their full-width forms."""
_CELL_ENDS = re.compile(r"""([;\t\r\n][;\s"]*)(.?)""")
"""Separators after which some spreadsheets begin a new cell, even within quotation marks."""


def plain(text: str, max_characters: int | None = None) -> str:
    """Text on one line, with `REPLACEMENT` for characters that are not printable.

    These are control characters, escapes, bidirectional overrides and line breaks.

    Args:
        text: a text from a model, a suite, a server or a file name.
        max_characters: the length to which it is truncated; None for no limit.
    """
    line = text if max_characters is None else text[: max_characters + 1]
    line = "".join(letter if letter.isprintable() else REPLACEMENT for letter in line)
    is_truncated = max_characters is not None and len(line) > max_characters
    return line[:max_characters] + "…" if is_truncated else line


def plain_lines(text: str) -> str:
    """Printable text like that of `plain`, but with its line breaks and tabs."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in text
    )


def spreadsheet_cell(value: object) -> object:
    """A value of a CSV file that no spreadsheet evaluates as a formula; numbers stay numbers.

    An apostrophe, by which spreadsheets recognise text, is put before each possible formula.
    """
    if not isinstance(value, str):
        return value
    inside = _CELL_ENDS.sub(
        lambda match: match[1] + "'" * (match[2] != "" and match[2] in _FORMULA_STARTS) + match[2],
        value,
    )
    return (
        f"'{inside}"
        if value.lstrip(' "').startswith((*_FORMULA_STARTS, "\t", "\r", "\n"))
        else inside
    )


def as_csv(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """Rows as the text of a CSV file whose cells are safe in a spreadsheet."""
    lines: list[str] = []
    for row in rows:
        file = io.StringIO()
        # With this line end a cell that holds a lone \r is quoted.
        csv.writer(file, lineterminator="\r\n").writerow(map(spreadsheet_cell, row))
        lines.append(file.getvalue().removesuffix("\r\n") + end)
    return "".join(lines)


class _Short(reprlib.Repr):
    """Shows the beginning of a text, and the size of a large collection."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, (list, tuple, set, frozenset, dict)) and len(x) > _MAX_SHOWN_ITEMS:
            return f"<{type(x).__name__} of {len(x):,}>"
        return super().repr1(x, level)


class ShortRepr:
    """Base of dataclasses with large fields: their ``repr`` is one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        names = (field.name for field in fields(self))  # type: ignore[arg-type]
        shown = ", ".join(f"{name}={_Short().repr(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({shown})"


def words(text: str) -> frozenset[str]:
    """The set of words in a text."""
    return frozenset(text.split())


def listed(names: Sequence[str], max_count: int) -> str:
    """Names joined by commas; those beyond ``max_count`` are only counted: ``a, b and 3 more``."""
    remainder = f" and {len(names) - max_count:,} more" if len(names) > max_count else ""
    return ", ".join(names[:max_count]) + remainder


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The beginning of a hint, ``did you mean vader? ``; empty if no name is similar.

    Args:
        name: what somebody typed.
        names: the names that exist.
    """
    name_of_folded = {known_name.casefold(): known_name for known_name in names}
    similar = difflib.get_close_matches(name.casefold()[:100], name_of_folded, n=1)
    return f"did you mean {name_of_folded[similar[0]]}? " if similar else ""
