"""What a build tells at its end: what happened to each capability on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

if TYPE_CHECKING:
    from s2lct.builder.write import CapabilityCounts

_SENTENCES = {"found": "found", "seeds": "seeds"}
_WORDS = {
    "masked": "masked",
    "suggestions": "tried",
    "rejected_part_of_speech": "part of\nspeech",
    "rejected_not_neutral": "not\nneutral",
    "rejected_specification": "rule\nbroken",
    "rejected_unlikely": "too\nunlikely",
    "rejected_sentiment": "sentiment\nmoved",
}
_CASES = {
    "duplicates": "twice",
    "expansions": "expansions",
    "counterparts": "counter-\nparts",
}
_SHOWN_IF_ANY = (
    *("masked", "rejected_part_of_speech", "rejected_not_neutral", "rejected_unlikely"),
    *("rejected_sentiment", "duplicates", "counterparts"),
)
_TITLE = "S²LCT suite"
_OF_MASKS = (
    "found: sentences",
    "masked: sentences; part of speech … unlikely: why words were rejected",
    "found, masked: sentences; part of speech … unlikely: why words were rejected",
)
_OF_EXTENSIONS = (
    "found: sentences",
    "tried: extensions; behind it, why some were dropped",
    "found: sentences; tried: extensions; behind it, why some were dropped",
)
_ANY_WIDTH = 10_000


class ClosingTable:
    """The counts of a build, a row a capability; in several tables where one is too wide.

    Numbers and words stay whole.
    """

    def __init__(self, counts: Mapping[str, CapabilityCounts]) -> None:
        self._counts = counts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with_masks = any(count.masked for count in self._counts.values())
        of_cases, of_words, caption = _OF_MASKS if with_masks else _OF_EXTENSIONS

        def fits(columns: Mapping[str, str]) -> bool:
            table = self._table("", columns, "")
            width = console.measure(table, options=options.update(width=_ANY_WIDTH)).maximum
            return width <= options.max_width

        every = {**_SENTENCES, **_WORDS, **_CASES}
        if fits(every):
            yield self._table(_TITLE, every, caption)
            return
        for columns in _parted({**_SENTENCES, **_CASES}, fits):
            yield self._table(_TITLE, columns, of_cases)
            yield ""
        inserted = "words for masks" if with_masks else "extensions"
        for columns in _parted(_WORDS, fits):
            yield self._table(f"{_TITLE}: {inserted}", columns, of_words)

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


def _parted(
    columns: Mapping[str, str], fits: Callable[[Mapping[str, str]], bool]
) -> list[dict[str, str]]:
    """The columns in as few parts as fit, each as long as it can be."""
    parts: list[dict[str, str]] = [{}]
    for field, heading in columns.items():
        if parts[-1] and not fits({**parts[-1], field: heading}):
            parts.append({})
        parts[-1][field] = heading
    return parts
