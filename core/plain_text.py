"""Text of unknown origin, made fit for a terminal, a line of a log or a spreadsheet."""

from __future__ import annotations

import csv
import difflib
import io
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

_MAX_SHOWN_ITEMS = 3
REPLACEMENT = "�"
_FORMULA = "=+-@＝＋－＠"
"""What a spreadsheet takes for the beginning of a formula, in full width too."""
_CELL_ENDS = re.compile(r"""([;\t\r\n][;\s"]*)(.?)""")
"""Behind these some spreadsheets begin a cell, whatever quotes say: where numbers have commas, a
semicolon parts cells."""


def plain(text: str, most: int | None = None) -> str:
    """Text on one line, without anything that a terminal obeys instead of showing.

    Control characters, escapes, bidirectional overrides and line breaks become `REPLACEMENT`.

    Args:
        text: from a model, a suite, a server or a file name.
        most: cut after so many characters; None for all.
    """
    shown = text if most is None else text[: most + 1]
    shown = "".join(letter if letter.isprintable() else REPLACEMENT for letter in shown)
    return shown if most is None or len(shown) <= most else shown[:most] + "…"


def plain_lines(text: str) -> str:
    """Text with its line breaks and tabs, without anything else that a terminal obeys."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in text
    )


def spreadsheet_cell(value: object) -> object:
    """A value of a CSV file, such that no spreadsheet computes or calls anything for it.

    Where a spreadsheet would take what follows for a formula stands an apostrophe, which it takes
    for "this is text". Whoever reads the file otherwise finds the apostrophe, and no other change;
    numbers stay numbers.
    """
    if not isinstance(value, str):
        return value
    inside = _CELL_ENDS.sub(
        lambda found: found[1] + "'" * (found[2] != "" and found[2] in _FORMULA) + found[2], value
    )
    return f"'{inside}" if value.lstrip(' "').startswith((*_FORMULA, "\t", "\r", "\n")) else inside


def as_csv(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """Rows as the text of a CSV file, in which a spreadsheet runs nothing."""
    lines: list[str] = []
    for row in rows:
        file = io.StringIO()
        # A cell with half of this end is quoted; with a shorter one a lone \r would end the row.
        csv.writer(file, lineterminator="\r\n").writerow(map(spreadsheet_cell, row))
        lines.append(file.getvalue().removesuffix("\r\n") + end)
    return "".join(lines)


class _Short(reprlib.Repr):
    """Shows the beginning of a text, and of a collection how many things are in it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, (list, tuple, set, frozenset, dict)) and len(x) > _MAX_SHOWN_ITEMS:
            return f"<{type(x).__name__} of {len(x):,}>"
        return super().repr1(x, level)


class ShortRepr:
    """A base of dataclasses that may hold thousands of things: a line stands for them."""

    __slots__ = ()

    def __repr__(self) -> str:
        names = (field.name for field in fields(self))  # type: ignore[arg-type]
        shown = ", ".join(f"{name}={_Short().repr(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({shown})"


def words(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas between them; of more than ``most`` the first, and how many more."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """``did you mean vader? `` to open a hint with; empty where no name is near.

    Args:
        name: what somebody typed, in any case.
        names: those that there are.
    """
    by_folded = {other.casefold(): other for other in names}
    near = difflib.get_close_matches(name.casefold()[:100], by_folded, n=1)
    return f"did you mean {by_folded[near[0]]}? " if near else ""
