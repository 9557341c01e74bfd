"""Reports in the terminal: results side by side, and two of them compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.results.comparison import (
    TEST_WORDS,
    Comparison,
    SidesCompared,
    shown_p,
    verdicts,
)
from s2lct.leaderboard.results.prompts import PROMPTS_WORDS, OverPrompts, Spread, over_prompts
from s2lct.leaderboard.results.record import Result, SelectionRecord, ShareRecord, other_dtype
from s2lct.leaderboard.scoring import chance
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES, BOTH_SIDES_WORDS
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS, MEAN_WORDS
from s2lct.leaderboard.site import silence
from s2lct.suite.capability_ids import natural_order

_LONGEST_CAPABILITY = 24
_HEADS = {"all": 5, "seeds": 5, "exp.": 5, "p→f": 4}
_BOTH_HEADS = _HEADS | {"both": 5}
_GAP = 3
_SPREAD_HEADS = {"prompts": 11}
_WIDEST = 1_000
METHOD_WORDS = "In %; p→f: expansions that turned a pass into a fail. Method: docs/scoring.md"
_COMPARED_NAME = 12


class Scored(NamedTuple):
    """A result with the outcomes that it was made from."""

    result: Result
    outcomes: Outcomes


def _capabilities_of(results: Sequence[Result]) -> list[str]:
    """The capabilities that any result has, by number."""
    return sorted({name for result in results for name in result.capabilities}, key=natural_order)


def worst_first(result: Result) -> tuple[bool, float, str]:
    """A sort key: the highest failure rate first, those of a part of the suite last."""
    return result.partial, -result.overall.failure_rate, result.model.name


def shown_name(result: Result) -> str:
    """The model's name, marked where it has another precision or was scored on a part."""
    dtype = other_dtype(result.model)
    partial = f" (partial: {result.overall.cases:,} cases)" if result.partial else ""
    return f"{result.model.name}{f' ({dtype})' if dtype else ''}{partial}"


def percent(value: float) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return f"{100 * value:.1f}"


def decimals(value: float | None) -> str:
    """A figure in two decimals, a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def one_answer_warning(result: Result) -> str:
    """A warning of a model that hardly reads the cases; empty for others."""
    if result.answers is None or result.references is None:
        return ""
    counts = [result.answers.get(label, 0) for label in LABELS]
    known = {name: one.failure_rate for name, one in result.references.items()}
    silent = result.overall.refusals + result.overall.unreadable
    if (found := chance.one_answer(counts, known, silent)) is None:
        return ""
    share = percent(found[1])
    return f"answers {LABELS[found[0]]} to {share} % of the cases, whatever they say"


@dataclass(frozen=True)
class ResultsTable:
    """Results in the terminal, in percent: means beside chance, then capabilities in blocks.

    Results of one model that differ in the prompt alone are one. It is as wide as the console that
    prints it.
    """

    results: Sequence[Result]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Tables, what their columns mean, and warnings."""
        models = sorted(over_prompts(self.results), key=lambda one: worst_first(one.figures))
        ordered = [one.figures for one in models]
        both = any(one.overall.both_sides for one in ordered)
        spread = any(one.several for one in models)
        heads = _BOTH_HEADS if both else _HEADS
        if spread:
            heads = heads | _SPREAD_HEADS
        width = sum(heads.values()) + len(heads) - 1
        whole = [shown_name(one) for one in ordered]
        marked = [
            f"[{number}] {name}" if len(name) > width or whole.count(name) > 1 else name
            for number, name in enumerate(whole, 1)
        ]
        without = _means_table(models, [""] * len(models), both=both, spread=spread)
        figures = console.measure(without, options=options.update(width=_WIDEST)).maximum
        room = options.max_width - (figures - max(map(len, _references(ordered)), default=0))
        if max(map(len, marked)) > room:
            cut = [name for name in marked if len(name) > room]
            yield Text("\n".join([*cut, ""]), overflow="fold")
        names = [_shortened(name, width) for name in marked]
        shown = [_shortened(name, room) for name in marked]
        yield _means_table(models, shown, both=both, spread=spread)
        if silence.any_silent(ordered):
            yield Text()
            yield _silent_table(ordered, shown)
        capabilities = _capabilities_of(ordered)
        named = min(_LONGEST_CAPABILITY, max([4, *map(len, capabilities)]))
        at_once = max(1, (options.max_width - named) // (width + _GAP))
        for start in range(0, len(models), at_once):
            some = slice(start, start + at_once)
            yield Text()
            yield _capabilities_table(models[some], names[some], capabilities, named, heads)
        yield Text(f"\n{METHOD_WORDS}", style="dim")
        for result in ordered:
            if warning := one_answer_warning(result):
                yield Text(f"{result.model.name}: {warning}", style="yellow")


def _shortened(name: str, width: int) -> str:
    """A name of at most so many characters."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _references(ordered: Sequence[Result]) -> list[str]:
    """What answers are called that do not read the cases, in the first column."""
    return [f"({name})" for name in _fullest(ordered).references or ()]


def _fullest(ordered: Sequence[Result]) -> Result:
    return max(ordered, key=lambda one: one.overall.cases)


def _table(first: Mapping[str, Any], *headings: str) -> Table:
    """A table whose first column has no heading; the others are numbers."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
        padding=(0, 1),
    )
    table.add_column("", overflow="fold", vertical="bottom", **first)
    for heading in headings:
        table.add_column(Text(heading), justify="right", no_wrap=True, vertical="bottom")
    return table


def figure_words(*, both: bool, spread: bool, silent: bool) -> dict[str, str]:
    """What the figures mean, by the names of their explanations."""
    words = {"mean": MEAN_WORDS, "interval": INTERVAL_WORDS, "chance": chance.CHANCE_WORDS}
    words |= {"prompts": PROMPTS_WORDS} if spread else {}
    words |= {BOTH_SIDES: BOTH_SIDES_WORDS} if both else {}
    return words | ({"silent": silence.SILENT_WORDS} if silent else {})


def _shown_share(of: ShareRecord | None) -> str:
    return percent(of.share) if of else "–"


def _shown_spread(of: Spread | None) -> str:
    return f"{percent(of.low)}–{percent(of.high)}" if of else ""


def _means_table(
    models: Sequence[OverPrompts], names: Sequence[str], *, both: bool, spread: bool
) -> Table:
    rows: list[tuple[float, int, list[str], str]] = []
    ordered = [of.figures for of in models]
    for place, (of_model, name) in enumerate(zip(models, names, strict=True)):
        one = of_model.figures
        low, high = one.overall.ci
        # The mean of other cases than the neighbours' would be compared all the same.
        apart = one.partial and not _one_choice(ordered)
        figures = [
            percent(one.overall.failure_rate),
            f"[{percent(low)}, {percent(high)}]",
            decimals(one.overall.chance_corrected),
        ]
        flipped = str(sum(of.pass_to_fail for of in one.capabilities.values()))
        cells = [name, *(["–"] * len(figures) if apart else figures), flipped]
        if both:
            cells.append("–" if apart else _shown_share(one.overall.both_sides))
        if spread:
            cells.append(
                _shown_spread(of_model.overall if of_model.several and not apart else None)
            )
        rows.append((1.0 if apart else -one.overall.failure_rate, place, cells, ""))
    references = _fullest(ordered).references or {}
    known = {name: one.failure_rate for name, one in references.items()}
    best, rate_of_best = chance.chance_of(known) if known else ("", 0.0)
    for place, (name, rate) in enumerate(known.items(), len(ordered)):
        corrected = decimals(chance.chance_corrected(rate, rate_of_best))
        marked_best = "= chance" if name == best else ""
        cells = [f"({name})", percent(rate), marked_best, corrected, ""]
        if both:
            share = references[name].both_sides
            cells.append("–" if share is None else percent(share))
        rows.append((-rate, place, cells, "dim"))
    headings = ("mean %", "95 % interval", "chance-\ncorrected", "p→f")
    more = (["both\nsides %"] if both else []) + (["over\nprompts %"] if spread else [])
    table = _table({}, *headings, *more)
    for _, _, cells, style in sorted(rows):
        table.add_row(*map(Text, cells), style=style)
    return table


def _one_choice(results: Sequence[Result]) -> bool:
    """Whether results are of the same part of the suite, chosen in a way that they tell."""
    choices = {one.selection for one in results}
    return len(results) == 1 or (len(choices) == 1 and SelectionRecord() not in choices)


def _silent_table(ordered: Sequence[Result], names: Sequence[str]) -> Table:
    table = _table({}, *silence.SILENT_HEADS)
    for result, name in zip(ordered, names, strict=True):
        of, rate = result.overall, silence.without_silent(result.overall)
        shown = "–" if rate is None else percent(rate)
        cells = (name, f"{of.refusals:,}", f"{of.unreadable:,}", shown)
        table.add_row(*map(Text, cells))
    return table


def _capabilities_table(
    models: Sequence[OverPrompts],
    names: Sequence[str],
    capabilities: Sequence[str],
    named: int,
    heads: Mapping[str, int],
) -> Table:
    titles = _in_cells([*heads], heads)
    headings = [f"{name[: len(titles)]:>{len(titles)}}\n{titles}" for name in names]
    table = _table({"min_width": named, "max_width": named}, *headings)
    for capability in capabilities:
        cells = [_cells(one, capability, heads) for one in models]
        table.add_row(*map(Text, (capability, *cells)))
    return table


def _in_cells(values: Sequence[str], heads: Mapping[str, int]) -> str:
    return " ".join(
        f"{value:>{width}}" for value, width in zip(values, heads.values(), strict=True)
    )


def _cells(model: OverPrompts, capability: str, heads: Mapping[str, int]) -> str:
    of = model.figures.capabilities.get(capability)
    if of is None:
        return "–"
    kinds = (of.all, of.seed, of.expansion)
    rates = [percent(one.failure_rate) if one and one.cases else "–" for one in kinds]
    both = [_shown_share(of.both_sides)] if "both" in heads else []
    spread = [_shown_spread(model.capabilities[capability] if model.several else None)]
    own = spread if "prompts" in heads else []
    return _in_cells([*rates, str(of.pass_to_fail), *both, *own], heads)


def comparison_table(
    first: str,
    second: str,
    compared: Mapping[str, Comparison],
    sides: Mapping[str, SidesCompared] | None = None,
) -> Group:
    """Which differences between two models are real: a verdict, and a row each capability.

    Where both were asked counterparts, the same of what they get right on both ``sides``.
    """
    names = [first, second]
    if first == second or max(map(len, names)) > _COMPARED_NAME:
        names = ["first", "second"]
    only = [f"only\n{name}\nfails" for name in names]
    table = _table({"max_width": _LONGEST_CAPABILITY}, "cases", "families", *only, "p")
    table.add_column("better", no_wrap=True, vertical="bottom")
    for name, one in compared.items():
        counted = (one.cases, one.families, one.first_only, one.second_only)
        better = "undecided" if one.better is None else names[one.better]
        p_value = f"{shown_p(one.adjusted):.3g}"
        table.add_row(Text(name), *map(str, counted), p_value, Text(better))
    words, parts = f"{TEST_WORDS}.", list[Table | Group]([table])
    if sides:
        words += f" {BOTH_SIDES_WORDS}."
        parts.append(_sides_table(names, sides))
    return Group(
        Text(f"{first} against {second}: {_verdict(compared.values())}", style="bold"),
        *(part for one in parts for part in (Text(), one)),
        Text(f"\n{words}", style="dim"),
    )


def _sides_table(names: Sequence[str], sides: Mapping[str, SidesCompared]) -> Group:
    shares = [f"{name}\nboth %" for name in names]
    table = _table({"max_width": _LONGEST_CAPABILITY}, "pairs", "families", *shares, "p")
    table.add_column("better", no_wrap=True, vertical="bottom")
    for capability, one in sides.items():
        test = one.test
        better = "undecided" if test.better is None else names[test.better]
        told = (str(test.cases), str(test.families), *map(percent, one.shares))
        table.add_row(Text(capability), *told, f"{shown_p(test.adjusted):.3g}", Text(better))
    verdict = _verdict([one.test for one in sides.values()])
    return Group(Text(f"Right on both sides: {verdict}", style="bold"), Text(), table)


def _verdict(compared: Collection[Comparison]) -> str:
    return "better on {}, worse on {}, undecided on {}".format(*verdicts([*compared]))


def check_same_suite(results: Sequence[Result]) -> None:
    """Refuse results of different suites with a `ScoringError`."""
    if not results:
        raise ScoringError("no result files", hint="make some with `s2lct score MODEL --suite DIR`")
    first, *others = results
    for other in others:
        if other.suite.fingerprint != first.suite.fingerprint:
            suites = [
                f"{one.suite.version or '?'} {one.suite.fingerprint[:12]}" for one in (first, other)
            ]
            raise ScoringError(
                f"{first.model.name} and {other.model.name} were scored on different suites "
                f"({', '.join(suites)})",
                hint="score both on one version of the suite",
            )
