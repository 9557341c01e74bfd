"""The tables of a report: failure rates of capabilities and models, legible at any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from s2lct.leaderboard.results.record import (
    CapabilityRecord,
    OverallRecord,
    RateRecord,
    Result,
    ShareRecord,
)
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES
from s2lct.leaderboard.scoring.chance import (
    Reference,
    chance_corrected,
    chance_of,
    reference_means,
)
from s2lct.leaderboard.site.capability_words import CapabilityWords
from s2lct.leaderboard.site.report import decimals, percent

BESIDE = 3
"""So many models stand side by side, a column each; more of them stand below each other."""


@dataclass(frozen=True)
class Head:
    """Of a row or a column: its name, a second one, and whether it is of no model."""

    name: str
    small: str = ""
    reference: bool = False


@dataclass(frozen=True)
class Cell:
    """A figure with its interval; ``rate`` colours it."""

    shown: str = "–"
    interval: str = ""
    rate: float | None = None
    hint: str = ""
    reference: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: heads of its columns, and rows of a head and a cell a column."""

    columns: tuple[Head, ...]
    rows: tuple[tuple[Head, tuple[Cell, ...]], ...]

    def turned(self) -> Grid:
        """Rows as columns, and columns as rows."""
        cells = zip(*(cells for _, cells in self.rows), strict=True)
        heads = tuple(head for head, _ in self.rows)
        return Grid(heads, tuple(zip(self.columns, cells, strict=True)))


Measure = Callable[[CapabilityRecord], Cell]


def rate_cell(rate: RateRecord | OverallRecord | None) -> Cell:
    """A failure rate, coloured by itself."""
    if rate is None or not rate.cases:
        return Cell()
    low, high = rate.ci
    hint = f"95 % interval {percent(low)} to {percent(high)}, {rate.cases:,} cases"
    return Cell(percent(rate.failure_rate), _interval(low, high), rate.failure_rate, hint)


def share_cell(share: ShareRecord | None) -> Cell:
    """A share right on both sides; it is no failure rate and has no colour."""
    if share is None:
        return Cell()
    low, high = share.ci
    hint = (
        f"95 % interval {percent(low)} to {percent(high)}, "
        f"{share.right} of {share.pairs} seeds with a counterpart"
    )
    return Cell(percent(share.share), _interval(low, high), hint=hint)


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.0f}–{100 * high:.0f}"


def hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities by the mean failure rate of the models that were asked them."""
    rates: dict[str, list[float]] = {}
    for result in results:
        for name, of in result.capabilities.items():
            rates.setdefault(name, []).append(of.all.failure_rate if of.all else 0.0)
    return sorted(rates, key=lambda name: -sum(rates[name]) / len(rates[name]))


def capability_head(name: str, words: Mapping[str, CapabilityWords]) -> Head:
    """A capability's short name with its id; its id alone where it has no other name."""
    short = words[name].short
    return Head(short, name) if short else Head(name)


@dataclass(frozen=True)
class Grids:
    """Makes the tables of some results: ``names`` are the capabilities, in order."""

    results: Sequence[Result]
    shown_names: Sequence[str]  # of the results
    names: Sequence[str]
    words: Mapping[str, CapabilityWords]
    references: Sequence[Reference]

    def of(
        self, measure: Measure, reference: str = "", first: Sequence[tuple[Head, list[Cell]]] = ()
    ) -> Grid:
        """A table of one measure; with references where they have one of that name.

        ``first`` are rows before those of the capabilities, a cell a model and reference. Beyond
        `BESIDE` models, capabilities become columns.
        """
        known = self.references if reference else ()
        columns = [Head(name) for name in self.shown_names]
        columns += [Head(one.name, reference=True) for one in known]
        rows = [(head, tuple(cells)) for head, cells in first]
        for name in self.names:
            of_models = [one.capabilities.get(name) for one in self.results]
            cells = [measure(of) if of else Cell() for of in of_models]
            cells += [
                _reference_cell(one.capabilities.get(name, {}).get(reference)) for one in known
            ]
            rows.append((capability_head(name, self.words), tuple(cells)))
        grid = Grid(tuple(columns), tuple(rows))
        return grid.turned() if len(self.results) > BESIDE else grid

    def failure_rates(self) -> Grid:
        """The table that says most: means, then capabilities, with intervals."""
        best, least = chance_of(reference_means(self.references))
        means = [replace(rate_cell(one.overall), rate=None) for one in self.results]
        corrected = [Cell(decimals(one.overall.chance_corrected)) for one in self.results]
        for one in self.references:
            note = "= chance" if one.name == best else ""
            means.append(Cell(percent(one.failure_rate), note, reference=True))
            shown = decimals(chance_corrected(one.failure_rate, least))
            corrected.append(Cell(shown, reference=True))
        first = [(Head("mean"), means), (Head("chance-corrected"), corrected)]
        return self.of(lambda of: rate_cell(of.all), "all", first)

    def apart(self) -> dict[str, Grid]:
        """Seeds and expansions apart, and what else is counted, by their headings."""
        grids = {
            "Seeds": self.of(lambda of: rate_cell(of.seed), "seed"),
            "Expansions": self.of(lambda of: rate_cell(of.expansion), "expansion"),
            "Expansions that fail though their seed passes": self.of(
                lambda of: Cell(str(of.pass_to_fail), hint=f"of {of.expansion.cases} expansions")
            ),
        }
        if any(one.overall.both_sides for one in self.results):
            shares = [share_cell(one.overall.both_sides) for one in self.results]
            shares += [_reference_cell(one.both_sides) for one in self.references]
            asked = [
                name
                for name in self.names
                if any(BOTH_SIDES in one.capabilities.get(name, {}) for one in self.references)
            ]
            grids["Right on both sides"] = replace(self, names=asked).of(
                lambda of: share_cell(of.both_sides), BOTH_SIDES, [(Head("mean"), shares)]
            )
        return grids | self._silent()

    def _silent(self) -> dict[str, Grid]:
        """What got no label, where a model refused a case or answered what cannot be read."""
        counts = {"Refused": "refusals", "Unreadable": "unreadable"}
        told = [getattr(one.overall, name, 0) for one in self.results for name in counts.values()]
        if not any(told):
            return {}
        grids = {
            heading: self.of(
                partial(_count_cell, name=name),
                first=[(Head("all"), [_count_cell(one.overall, name) for one in self.results])],
            )
            for heading, name in counts.items()
        }
        means = [rate_cell(_answered(one.overall, one.overall)) for one in self.results]
        grids["Failure rate without these"] = self.of(
            lambda of: rate_cell(_answered(of, of.all)), first=[(Head("mean"), means)]
        )
        return grids


def _count_cell(of: OverallRecord | CapabilityRecord, name: str) -> Cell:
    return Cell(str(getattr(of, name, 0)))


def _answered(of: Any, whole: RateRecord | OverallRecord | None) -> Any:
    """The rate of the cases that got a label; that of all where each did."""
    silent = getattr(of, "refusals", 0) or getattr(of, "unreadable", 0)
    return getattr(of, "answered", None) if silent else whole


def _reference_cell(rate: float | None) -> Cell:
    return Cell("–" if rate is None else percent(rate), reference=True)
