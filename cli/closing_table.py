"""What a build tells at its end: what happened to each capability on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

if TYPE_CHECKING:
    from s2lct.builder.built import CapabilityCounts

_SENTENCES = {"found": "found", "seeds": "seeds", "masked": "masked"}
_WORDS = {
    "suggestions": "words\ntried",
    "rejected_part_of_speech": "part of\nspeech",
    "rejected_not_neutral": "not\nneutral",
    "rejected_specification": "rule\nbroken",
    "rejected_unlikely": "too\nunlikely",
}
_CASES = {"duplicates": "twice", "excluded": "left\nout", "expansions": "expansions"}
_SHOWN_IF_ANY = ("rejected_not_neutral", "duplicates", "excluded")
_TITLE = "S²LCT suite"
_OF_SENTENCES = "found, masked: sentences"
_OF_WORDS = "part of speech … unlikely: why words were rejected"
_ANY_WIDTH = 10_000


class ClosingTable:
    """The counts of a build, a row a capability; in two tables where one is too wide.

    Numbers and words stay whole.
    """

    def __init__(self, counts: Mapping[str, CapabilityCounts]) -> None:
        self._counts = counts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        caption = f"{_OF_SENTENCES}; {_OF_WORDS}"
        whole = self._table(_TITLE, {**_SENTENCES, **_WORDS, **_CASES}, caption)
        width = console.measure(whole, options=options.update(width=_ANY_WIDTH)).maximum
        if width <= options.max_width:
            yield whole
            return
        yield self._table(_TITLE, {**_SENTENCES, **_CASES}, _OF_SENTENCES)
        yield ""
        yield self._table(f"{_TITLE}: words for masks", _WORDS, _OF_WORDS)

    def _table(self, title: str, columns: Mapping[str, str], caption: str) -> Table:
        totals = {
            field: sum(getattr(count, field) for count in self._counts.values())
            for field in columns
        }
        shown = [field for field in columns if totals[field] or field not in _SHOWN_IF_ANY]
        table = Table(
            title=title,
            caption=caption,
            box=SIMPLE_HEAD,
            show_edge=False,
            header_style="bold",
            padding=(0, 1),
            collapse_padding=True,
        )
        table.add_column("", no_wrap=True)
        for field in shown:
            table.add_column(columns[field], justify="right", vertical="bottom", no_wrap=True)
        for capability, count in self._counts.items():
            table.add_row(capability, *(f"{getattr(count, field):,}" for field in shown))
        table.add_section()
        table.add_row("all", *(f"{totals[field]:,}" for field in shown), style="bold")
        return table
