"""The report of results: tables for the terminal and for a page, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import SAID
from s2lct.leaderboard.models.record import stands_apart
from s2lct.leaderboard.results.comparison import (
    TEST_WORDS,
    Comparison,
    shown_p,
)
from s2lct.leaderboard.results.gate import Check
from s2lct.leaderboard.results.read import Scored
from s2lct.leaderboard.results.record import Result, SelectionRecord
from s2lct.leaderboard.scoring.figures import (
    BOTH_SIDES_WORDS,
    CHANCE_WORDS,
    MEAN_WORDS,
    OverallFigures,
    Rate,
    Share,
    chance_corrected,
    chance_of,
    flips,
    one_label,
)
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case
from s2lct.tables import Cell, Table, page_templates

METHOD_WORDS = "In %; p→f: expansions that turned a pass into a fail. Method: docs/scoring.md"
NOTHING = "–"
EXAMPLES = 4
_MODELS_WITH_EXAMPLES = 3
_LONGEST_OPTIONS = 40
Prediction = tuple[Case, str]
"""A case, and what a model predicted of it."""

# Capabilities, results and figures in words


@dataclass(frozen=True)
class CapabilityWords:
    """A capability in words; all empty for one of somebody's own, whose id says what it is."""

    title: str = ""
    short: str = ""
    expectation: str = ""


def capability_words(names: Iterable[str]) -> dict[str, CapabilityWords]:
    """The words of each capability: those of its shipped file, if it is a shipped one."""
    from s2lct.builder.capabilities.files import load_capabilities

    known = {
        one.id: CapabilityWords(one.title, one.short or "", one.expectation)
        for one in load_capabilities()
    }
    return {name: known.get(name, CapabilityWords()) for name in names}


def worst_first(results: Sequence[Result]) -> list[Result]:
    """Results of a suite; those of a part of it last."""
    return sorted(
        results, key=lambda one: (one.partial, -one.overall.failure_rate, shown_name(one))
    )


def by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results of each suite, in the order in which suites come first."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(one.suite.fingerprint, []).append(one)
    return list(groups.values())


def shown_name(result: Result) -> str:
    """The model's name, with what tells it from the model as it comes, such as its prompt."""
    options = stands_apart(result.model)
    if len(options) > _LONGEST_OPTIONS:
        options = options[:_LONGEST_OPTIONS] + "…"
    partial = f"partial: {result.overall.cases:,} cases" if result.partial else ""
    return " ".join([result.model.name, *(f"({words})" for words in (options, partial) if words)])


def percent(value: float | None) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def decimals(value: float | None) -> str:
    """A figure in two decimals, a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def one_label_of(result: Result) -> tuple[str, float] | None:
    """The label that a model gives nearly all cases, and its share; see `figures.one_label`."""
    return one_label(result.answers, result.overall.cases, result.references)


def one_label_warning(result: Result) -> str:
    """A warning of a model that hardly reads the cases; empty for others."""
    if (found := one_label_of(result)) is None:
        return ""
    return f"answers {found[0]} to {percent(found[1])} % of the cases, whatever they say"


def _comparable(results: Sequence[Result]) -> list[Result]:
    """The results whose means may be held against each other: on one and the same cases."""
    choices = {one.selection for one in results}
    if len(results) == 1 or (len(choices) == 1 and SelectionRecord() not in choices):
        return list(results)
    return [one for one in results if not one.partial]


def _fullest(results: Sequence[Result]) -> Result:
    """The result on most cases, whose references stand beside all."""
    return max(results, key=lambda one: one.overall.cases)


def capabilities_of(results: Sequence[Result]) -> list[str]:
    """The capabilities that any result has, by number."""
    return sorted({name for result in results for name in result.capabilities}, key=natural_order)


# Tables


def results_tables(results: Sequence[Result]) -> Iterator[Table]:
    """What a terminal shows of results on one suite: means, then capabilities.

    Of one model seeds and expansions stand apart.
    """
    yield models_table(results)
    yield model_table(*results) if len(results) == 1 else capabilities_table(results)


def models_table(results: Sequence[Result]) -> Table:
    """A row a model, beside what answers come to that do not read the cases."""
    comparable, fullest = _comparable(results), _fullest(results)
    both = any(one.overall.both_sides for one in results)
    silent = any(one.overall.refusals or one.overall.unreadable for one in results)
    heads = ["", "mean %", "95 % interval", "chance-\ncorrected", "p→f"]
    heads += ["both\nsides %"] * both + ["refused", "unreadable", "without\nthese %"] * silent
    rows: list[tuple[float, list[str | Cell]]] = []
    for one in worst_first(results):
        of, whole = one.overall, one in comparable
        cells = [percent(of.failure_rate), _bounds(of.ci), decimals(of.chance_corrected)]
        cells = cells if whole else [NOTHING] * 3
        cells += [str(sum(own.pass_to_fail for own in one.capabilities.values()))]
        cells += [percent(of.both_sides.share if of.both_sides and whole else None)] * both
        if silent:
            rate = of.answered if of.refusals or of.unreadable else of
            cells += [f"{of.refusals:,}", f"{of.unreadable:,}"]
            cells += [percent(rate.failure_rate if rate else None)]
        rows.append((of.failure_rate if whole else -1, [shown_name(one), *cells]))
    best, least = chance_of(fullest.references)
    for name, reference in fullest.references.items():
        cells = [percent(reference.failure_rate), "= chance" if name == best else ""]
        cells += [decimals(chance_corrected(reference.failure_rate, least)), ""]
        cells += [percent(reference.both_sides)] * both
        cells += [""] * (len(heads) - 1 - len(cells))
        row: list[str | Cell] = [Cell(text, kind="dim") for text in (f"({name})", *cells)]
        rows.append((reference.failure_rate, row))
    return Table(heads, [row for _, row in sorted(rows, key=lambda one: -one[0])])


def capabilities_table(results: Sequence[Result]) -> Table:
    """A row a model and a column a capability: failure rates, coloured by themselves on a page."""
    names = capabilities_of(results)
    words = capability_words(names)
    rows: list[list[Cell]] = [
        [
            Cell(shown_name(one)),
            *(_rate_cell(of.all if (of := one.capabilities.get(name)) else None) for name in names),
        ]
        for one in worst_first(results)
    ]
    for name, reference in _fullest(results).references.items():
        cells = [
            percent(reference.capabilities.get(capability, {}).get("all")) for capability in names
        ]
        rows.append([Cell(text, kind="dim") for text in (f"({name})", *cells)])
    heads = [Cell(name, words[name].short) for name in names]
    return Table(["", *heads], rows, caption=METHOD_WORDS)


def model_table(result: Result) -> Table:
    """A row a capability: one model's rates, with seeds and expansions apart."""
    both = result.overall.both_sides is not None
    heads = ["", "all", "95 % interval", "seeds", "exp.", "p→f", *["both\nsides"] * both]
    rows = []
    for name in capabilities_of([result]):
        of = result.capabilities[name]
        cells = [Cell(name), _rate_cell(of.all), Cell(_bounds(of.all.ci))]
        cells += [_rate_cell(of.seed), _rate_cell(of.expansion), Cell(str(of.pass_to_fail))]
        rows.append(cells + [_share_cell(of.both_sides)] * both)
    return Table(heads, rows, caption=METHOD_WORDS)


def _rate_cell(rate: Rate | OverallFigures | None) -> Cell:
    if rate is None or not rate.cases:
        return Cell(NOTHING)
    low, high = rate.ci
    return Cell(
        percent(rate.failure_rate),
        f"{100 * low:.0f}–{100 * high:.0f}",
        f"95 % interval {percent(low)} to {percent(high)}, {rate.cases:,} cases",
        strength=rate.failure_rate,
    )


def _share_cell(share: Share | None) -> Cell:
    """A share right on both sides; it is no failure rate and has no colour."""
    if share is None:
        return Cell(NOTHING)
    title = f"{share.right} of {share.pairs} seeds with a contrast, {_bounds(share.ci)}"
    return Cell(percent(share.share), title=title)


def _bounds(interval: tuple[float, float]) -> str:
    return "[{}, {}]".format(*map(percent, interval))


def comparison_tables(
    first: str,
    second: str,
    compared: Mapping[str, Comparison],
    sides: Mapping[str, Comparison],
) -> Iterator[Table]:
    """Which differences between two models are real: how many, and a row each capability.

    Where both were asked contrasts, the same of what they get right on both ``sides``.
    """
    names = (first, second) if first != second else ("first", "second")
    heads = ["", "cases", "families", "only the\nfirst fails", "only the\nsecond fails"]
    for title, words, tests in (
        (f"{first} against {second}", TEST_WORDS, compared),
        ("Right on both sides", BOTH_SIDES_WORDS, sides),
    ):
        rows = [
            [name, *map(str, (one.cases, one.families, one.first_only, one.second_only)),
             f"{shown_p(one.adjusted):.3g}",
             "undecided" if one.better is None else names[one.better]]
            for name, one in tests.items()
        ]  # fmt: skip
        if rows:
            counted = _counted(tests.values())
            yield Table([*heads, "p", "better"], rows, f"{title}: {counted}", f"{words}.")


def _counted(compared: Iterable[Comparison]) -> str:
    better = [one.better for one in compared]
    counts = (better.count(0), better.count(1), better.count(None))
    return "better on {}, worse on {}, undecided on {}".format(*counts)


def gate_table(checks: Sequence[Check]) -> Table:
    """A row a check."""
    rows: list[list[str | Cell]] = []
    for one in checks:
        if one.bound is None:
            asked = f"not worse than {percent(one.before)} %"
            found = f"{percent(one.found)} % (p {shown_p(one.p_value or 0):.3g})"
        else:
            asked = f"{'≤' if one.asked == 'max' else '≥'} {100 * one.bound:g} %"
            found = f"{100 * one.found:.2f} % {_bounds(one.interval or (0, 1))}"
        passed = "pass: better" if one.shown == "better" else "pass"
        rows.append([one.figure, asked, found, passed if one.passed else Cell("fail", kind="bold")])
    return Table(["", "asked", "found", ""], rows)


# The page


def html_report(scored: Sequence[Scored]) -> str:
    """The report as one HTML page that needs no network.

    The suite of the first result comes first, with examples.
    """
    suites = by_suite([one.result for one in scored])
    results = worst_first(suites[0])
    of_suite = [one for one in scored if one.result in results]
    names = _hardest_first(results)
    words = capability_words(names)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {"percent": percent, "marked": marked}
    methods = [MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    methods += [BOTH_SIDES_WORDS] * any(one.overall.both_sides is not None for one in results)
    return environment.get_template("report.html.jinja").render(
        suites=suites,
        results=results,
        conclusion=_conclusion(results, words[names[0]].short or names[0]),
        models_table=models_table,
        capabilities_table=capabilities_table,
        model_table=model_table,
        examples=[(name, words[name], _examples(of_suite, name)) for name in names],
        shown_name=shown_name,
        warning=one_label_warning,
        methods=methods,
        labels=LABELS,
    )


def _hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities by the mean failure rate of the models that were asked them."""
    rates: dict[str, list[float]] = {}
    for result in results:
        for name, of in result.capabilities.items():
            rates.setdefault(name, []).append(of.all.failure_rate)
    return sorted(rates, key=lambda name: -sum(rates[name]) / len(rates[name]))


def _conclusion(results: Sequence[Result], hardest: str) -> str:
    """What a report comes to in a sentence or two.

    Results of a part of the suite take no part where one is of the whole.
    """
    ranked = worst_first(_comparable(results) or results)
    worst, best = ranked[0], ranked[-1]
    rate = f"{percent(best.overall.failure_rate)} % {_bounds(best.overall.ci)}"
    if len(ranked) == 1:
        first = f"{shown_name(best)} is wrong about {rate} of the cases"
    else:
        first = (
            f"{shown_name(best)} is wrong least often, about {rate} of the cases, and "
            f"{shown_name(worst)} most often, about {percent(worst.overall.failure_rate)} %"
        )
    name, blind = chance_of(best.references)
    return f"{first}; chance, {name}, comes to {percent(blind)} %. Hardest is: {hardest}."


def _examples(scored: Sequence[Scored], name: str) -> list[dict[str, Any]]:
    """What the models that fail a capability most fail of it, the worst first."""
    found: list[dict[str, Any]] = [
        {
            "name": shown_name(one.result),
            "failure_rate": of.all.failure_rate,
            "seeds": _failing_seeds(one.outcomes, name),
            "broken": _broken_expansions(one.outcomes, name),
        }
        for one in scored
        if (of := one.result.capabilities.get(name)) is not None and of.all.failures
    ]
    return sorted(found, key=lambda one: -one["failure_rate"])[:_MODELS_WITH_EXAMPLES]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Seeds that fail, the shortest first, with what the model predicted."""
    predictions = zip(outcomes.cases, outcomes.labels, outcomes.failed, strict=False)
    failing = [
        (case, SAID[label])
        for case, label, failed in predictions
        if failed and case.capability == capability and case.kind == "seed"
    ]
    return sorted(failing, key=lambda one: (len(one[0].text), one[0].id))[:EXAMPLES]


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Expansions that fail while their seeds pass; of each seed the first."""
    found: dict[str, Prediction] = {}
    for number in flips(outcomes.cases, outcomes.failed)[0]:
        case = outcomes.cases[number]
        if case.capability == capability:
            found.setdefault(case.seed_id, (case, SAID[outcomes.labels[number]]))
    return list(found.values())[:EXAMPLES]


def marked(case: Case) -> Markup:
    """A case's text, escaped, with the inserted words marked."""
    text, html = case.text, Markup("")
    for word in case.inserted:
        before, found, rest = text.partition(word)
        while found and (before[-1:].isalpha() or rest[:1].isalpha()):
            more, found, rest = rest.partition(word)
            before += word + more
        if found:
            html += escape(before) + Markup("<mark>") + escape(word) + Markup("</mark>")
            text = rest
    return html + escape(text)
