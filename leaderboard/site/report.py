"""Tables of results, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from s2lct.labels import LABELS
from s2lct.leaderboard.results.comparison import (
    TEST_WORDS,
    Comparison,
    SidesCompared,
    shown_p,
    verdicts,
)
from s2lct.leaderboard.results.prompts import OverPrompts, Spread, over_prompts
from s2lct.leaderboard.results.record import (
    CapabilityRecord,
    OverallRecord,
    RateRecord,
    Result,
    SelectionRecord,
    ShareRecord,
    other_dtype,
)
from s2lct.leaderboard.scoring import chance
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES_WORDS
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Cell, Table

METHOD_WORDS = "In %; p→f: expansions that turned a pass into a fail. Method: docs/scoring.md"
NOTHING = "–"


def worst_first(results: Sequence[Result]) -> list[OverPrompts]:
    """Models, results that differ in the prompt alone as one; those of a part of the suite last."""
    return sorted(
        over_prompts(results),
        key=lambda one: (
            one.figures.partial,
            -one.figures.overall.failure_rate,
            one.figures.model.name,
        ),
    )


def by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results of each suite, in the order in which suites come first."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(one.suite.fingerprint, []).append(one)
    return list(groups.values())


def shown_name(result: Result) -> str:
    """The model's name, marked where it has another precision or was scored on a part."""
    dtype = other_dtype(result.model)
    partial = f" (partial: {result.overall.cases:,} cases)" if result.partial else ""
    return f"{result.model.name}{f' ({dtype})' if dtype else ''}{partial}"


def percent(value: float | None) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def decimals(value: float | None) -> str:
    """A figure in two decimals, a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def one_answer_warning(result: Result) -> str:
    """A warning of a model that hardly reads the cases; empty for others."""
    counts = [result.answers.get(label, 0) for label in LABELS]
    known = {name: one.failure_rate for name, one in result.references.items()}
    silent = result.overall.refusals + result.overall.unreadable
    if (found := chance.one_answer(counts, known, silent)) is None:
        return ""
    share = percent(found[1])
    return f"answers {LABELS[found[0]]} to {share} % of the cases, whatever they say"


def compared(results: Sequence[Result]) -> list[Result]:
    """The results whose means may be held against each other: on one and the same cases."""
    choices = {one.selection for one in results}
    if len(results) == 1 or (len(choices) == 1 and SelectionRecord() not in choices):
        return list(results)
    return [one for one in results if not one.partial]


def any_silent(results: Sequence[Result]) -> bool:
    """Whether some model refused a case or answered in a way that cannot be read."""
    return any(one.overall.refusals or one.overall.unreadable for one in results)


def models_table(results: Sequence[Result]) -> Table:
    """A row a model, beside what answers come to that do not read the cases."""
    models = worst_first(results)
    figures = [one.figures for one in models]
    comparable = compared(figures)
    both = any(one.overall.both_sides for one in figures)
    silent = any_silent(figures)
    spread = any(one.several for one in models)
    heads = ["", "mean %", "95 % interval", "chance-\ncorrected", "p→f"]
    heads += ["both\nsides %"] * both + ["over\nprompts %"] * spread
    heads += ["refused", "unreadable", "without\nthese %"] * silent
    rows: list[tuple[float, list[str | Cell]]] = []
    for of_prompts, one in zip(models, figures, strict=True):
        of, whole = one.overall, one in comparable
        low, high = of.ci
        cells = [percent(of.failure_rate), f"[{percent(low)}, {percent(high)}]"]
        cells = [*cells, decimals(of.chance_corrected)] if whole else [NOTHING] * 3
        cells += [str(sum(own.pass_to_fail for own in one.capabilities.values()))]
        cells += [percent(of.both_sides.share if of.both_sides and whole else None)] * both
        cells += [_spread(of_prompts.overall if of_prompts.several and whole else None)] * spread
        if silent:
            cells += [f"{of.refusals:,}", f"{of.unreadable:,}"]
            rate = of.answered if of.refusals or of.unreadable else of
            cells += [percent(rate.failure_rate if rate else None)]
        rows.append((of.failure_rate if whole else -1, [shown_name(one), *cells]))
    references = max(figures, key=lambda one: one.overall.cases).references
    means = {name: one.failure_rate for name, one in references.items()}
    best, least = chance.chance_of(means)
    for name, reference in references.items():
        cells = [percent(reference.failure_rate), "= chance" if name == best else ""]
        cells += [decimals(chance.chance_corrected(reference.failure_rate, least)), ""]
        cells += [percent(reference.both_sides)] * both
        cells += [""] * (len(heads) - 1 - len(cells))
        row = [Cell(text, kind="dim") for text in (f"({name})", *cells)]
        rows.append((reference.failure_rate, [*row]))
    return Table(heads, [row for _, row in sorted(rows, key=lambda one: -one[0])])


def _spread(of: Spread | None) -> str:
    return f"{percent(of.low)}–{percent(of.high)}" if of else ""


def capabilities_of(results: Sequence[Result]) -> list[str]:
    """The capabilities that any result has, by number."""
    return sorted({name for result in results for name in result.capabilities}, key=natural_order)


def results_tables(results: Sequence[Result]) -> Iterator[Table]:
    """What a terminal shows of results on one suite: means, then capabilities.

    Of one model that is a row each, with seeds and expansions apart, of several a column.
    """
    yield models_table(results)
    models = worst_first(results)
    names = capabilities_of([one.figures for one in models])
    if len(models) > 1:
        rows = [
            [shown_name(one.figures)]
            + [
                percent(of.all.failure_rate if (of := one.figures.capabilities.get(name)) else None)
                for name in names
            ]
            for one in models
        ]
        yield Table(["", *names], rows, caption=METHOD_WORDS)
        return
    (one,) = models
    both = one.figures.overall.both_sides is not None
    heads = ["", "all", "95 % interval", "seeds", "exp.", "p→f"]
    heads += ["both\nsides"] * both + ["over\nprompts"] * one.several
    rows = []
    for name in names:
        of = one.figures.capabilities[name]
        low, high = of.all.ci
        cells = [name, percent(of.all.failure_rate), f"[{percent(low)}, {percent(high)}]"]
        cells += [
            percent(kind.failure_rate if kind.cases else None) for kind in (of.seed, of.expansion)
        ]
        cells += [str(of.pass_to_fail)]
        cells += [percent(of.both_sides.share if of.both_sides else None)] * both
        rows.append(cells + [_spread(one.capabilities[name])] * one.several)
    yield Table(heads, rows, caption=METHOD_WORDS)


def suites_table(suites: Sequence[Sequence[Result]]) -> Table:
    """A row a model, a column a suite: mean failure rates, of several whole results the first."""
    models = [[one.figures for one in over_prompts(group)] for group in suites]
    rates = [
        {one.model.name: one.overall.failure_rate for one in reversed(group) if not one.partial}
        for group in models
    ]
    names = dict.fromkeys(one.model.name for group in models for one in group)
    return Table(
        ["mean %", *(Cell(group[0].suite.name, small=group[0].suite.version) for group in suites)],
        [[name, *(percent(of.get(name)) for of in rates)] for name in names],
        caption="Means over the capabilities of a suite; – where a model has no whole result.",
    )


Measure = Callable[[CapabilityRecord], Cell]


def rate_cell(rate: RateRecord | OverallRecord | None, *, coloured: bool = True) -> Cell:
    """A failure rate with its interval, coloured by itself."""
    if rate is None or not rate.cases:
        return Cell(NOTHING)
    low, high = rate.ci
    return Cell(
        percent(rate.failure_rate),
        _interval(low, high),
        f"95 % interval {percent(low)} to {percent(high)}, {rate.cases:,} cases",
        strength=rate.failure_rate if coloured else None,
    )


def share_cell(share: ShareRecord | None) -> Cell:
    """A share right on both sides; it is no failure rate and has no colour."""
    if share is None:
        return Cell(NOTHING)
    low, high = share.ci
    title = (
        f"95 % interval {percent(low)} to {percent(high)}, "
        f"{share.right} of {share.pairs} seeds with a counterpart"
    )
    return Cell(percent(share.share), _interval(low, high), title)


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.0f}–{100 * high:.0f}"


def with_spread(cell: Cell, spread: Spread | None) -> Cell:
    """A rate that tells how far it goes with the prompt, too."""
    if spread is None:
        return cell
    return replace(cell, small=f"{cell.small} prompts {_spread(spread)}")


def comparison_tables(
    first: str,
    second: str,
    compared: Mapping[str, Comparison],
    sides: Mapping[str, SidesCompared],
) -> Iterator[Table]:
    """Which differences between two models are real: a verdict, and a row each capability.

    Where both were asked counterparts, the same of what they get right on both ``sides``.
    """
    names = (first, second) if first != second else ("first", "second")
    rows = [
        [name, *map(str, (one.cases, one.families, one.first_only, one.second_only)),
         *_verdict_cells(one, names)]
        for name, one in compared.items()
    ]  # fmt: skip
    only = ("only the\nfirst fails", "only the\nsecond fails")
    yield Table(
        ["", "cases", "families", *only, "p", "better"],
        rows,
        f"{first} against {second}: {_verdict(compared.values())}",
        f"{TEST_WORDS}.",
    )
    if sides:
        rows = [
            [name, str(one.test.cases), str(one.test.families), *map(percent, one.shares),
             *_verdict_cells(one.test, names)]
            for name, one in sides.items()
        ]  # fmt: skip
        yield Table(
            ["", "pairs", "families", "first\nboth %", "second\nboth %", "p", "better"],
            rows,
            f"Right on both sides: {_verdict([one.test for one in sides.values()])}",
            f"{BOTH_SIDES_WORDS}.",
        )


def _verdict_cells(one: Comparison, names: tuple[str, str]) -> list[str]:
    better = "undecided" if one.better is None else names[one.better]
    return [f"{shown_p(one.adjusted):.3g}", better]


def _verdict(compared: Iterable[Comparison]) -> str:
    return "better on {}, worse on {}, undecided on {}".format(*verdicts([*compared]))
