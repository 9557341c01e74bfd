"""The tables of a report: failure rates of capabilities and models, legible at any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.leaderboard.results.prompts import OverPrompts, Spread
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
from s2lct.leaderboard.site.report import decimals, percent, shown_name
from s2lct.leaderboard.site.silence import any_silent, of_labelled

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
    """A figure with its interval, and how far it goes with the prompt; ``rate`` colours it."""

    shown: str = "–"
    interval: str = ""
    rate: float | None = None
    hint: str = ""
    reference: bool = False
    spread: str = ""


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


def _with_spread(cell: Cell, spread: Spread | None) -> Cell:
    return replace(cell, spread=f"{percent(spread.low)}–{percent(spread.high)}") if spread else cell


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
    """Makes the tables of some models: ``names`` are the capabilities, in order."""

    models: Sequence[OverPrompts]
    names: Sequence[str]
    words: Mapping[str, CapabilityWords]
    references: Sequence[Reference] = ()

    @property
    def results(self) -> list[Result]:
        """The figures of each model."""
        return [one.figures for one in self.models]

    def of(
        self,
        measure: Measure,
        reference: str = "",
        first: Sequence[tuple[Head, list[Cell]]] = (),
        *,
        spreads: bool = False,
    ) -> Grid:
        """A table of one measure; with references where they have one of that name.

        ``first`` are rows before those of the capabilities, a cell a model and reference. With
        ``spreads``, cells tell how far the failure rate on all cases goes with the prompt. Beyond
        `BESIDE` models, capabilities become columns.
        """
        known = self.references if reference else ()
        columns = [Head(shown_name(one)) for one in self.results]
        columns += [Head(one.name, reference=True) for one in known]
        rows = [(head, tuple(cells)) for head, cells in first]
        for name in self.names:
            cells: list[Cell] = []
            for one in self.models:
                of = one.figures.capabilities.get(name)
                cell = measure(of) if of else Cell()
                several = spreads and one.several
                cells.append(_with_spread(cell, one.capabilities.get(name) if several else None))
            cells += [
                _reference_cell(blind.capabilities.get(name, {}).get(reference)) for blind in known
            ]
            rows.append((capability_head(name, self.words), tuple(cells)))
        grid = Grid(tuple(columns), tuple(rows))
        return grid.turned() if len(self.results) > BESIDE else grid

    def failure_rates(self) -> Grid:
        """The table that says most: means, then capabilities, with intervals and spreads."""
        means = [
            _with_spread(
                replace(rate_cell(one.figures.overall), rate=None),
                one.overall if one.several else None,
            )
            for one in self.models
        ]
        corrected = [Cell(decimals(one.overall.chance_corrected)) for one in self.results]
        if self.references:
            best, least = chance_of(reference_means(self.references))
        for of in self.references:
            note = "= chance" if of.name == best else ""
            means.append(Cell(percent(of.failure_rate), note, reference=True))
            shown = decimals(chance_corrected(of.failure_rate, least))
            corrected.append(Cell(shown, reference=True))
        first = [(Head("mean"), means), (Head("chance-corrected"), corrected)]
        return self.of(lambda of: rate_cell(of.all), "all", first, spreads=True)

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
        return grids

    def silent(self) -> dict[str, Grid]:
        """What got no label, by headings; nothing where every model gave every case a label."""
        if not any_silent(self.results):
            return {}
        overall = [one.overall for one in self.results]
        return {
            "Refused": self.of(
                lambda of: Cell(str(of.refusals)),
                first=[(Head("all"), [Cell(str(one.refusals)) for one in overall])],
            ),
            "Unreadable": self.of(
                lambda of: Cell(str(of.unreadable)),
                first=[(Head("all"), [Cell(str(one.unreadable)) for one in overall])],
            ),
            "Failure rate without these": self.of(
                lambda of: rate_cell(of_labelled(of)),
                first=[(Head("mean"), [rate_cell(of_labelled(one)) for one in overall])],
            ),
        }


def _reference_cell(rate: float | None) -> Cell:
    return Cell("–" if rate is None else percent(rate), reference=True)
