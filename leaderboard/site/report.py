"""The report of results: tables for the terminal and for a page, and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup, escape

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import PREDICTED
from s2lct.leaderboard.models.record import ModelRecord, stands_apart
from s2lct.leaderboard.results.comparison import (
    MEAN,
    TEST_WORDS,
    Comparison,
    shown_p,
)
from s2lct.leaderboard.results.gate import Check
from s2lct.leaderboard.results.read import Scored
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import (
    CHANCE_WORDS,
    CONSISTENCY_WORDS,
    MEAN_WORDS,
    RANDOM,
    CapabilityFigures,
    Rate,
    Share,
    chance_corrected,
    chance_of,
    flips,
)
from s2lct.leaderboard.scoring.score import Outcomes, SelectionRecord
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case
from s2lct.tables import Cell, Table, as_cell, page_templates

METHOD_WORDS = "In %; p→f: expansions that turned a pass into a fail. Method: docs/scoring.md"
INTERVAL = "95 % interval"
NOTHING = "–"
EXAMPLES = 4
NEARLY_ALL = 0.95
"""A model that gives one label to this share of the cases hardly reads them."""
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


def best_first(results: Sequence[Result]) -> list[Result]:
    """Results of a suite, by consistency where all have it; those of a part of it last."""
    leads = _consistency_leads(results)

    def place(one: Result) -> tuple[object, ...]:
        share = one.overall.consistency if leads else None
        figures = -share.macro if share else 0, one.overall.failure_rate.macro
        return one.partial, *figures, shown_name(one)

    return sorted(results, key=place)


def _consistency_leads(results: Sequence[Result]) -> bool:
    return all(one.overall.consistency for one in results)


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
    if result.selection and result.selection.contrasts:
        partial += ", no contrasts"
    return " ".join([result.model.name, *(f"({words})" for words in (options, partial) if words)])


def percent(value: float | None) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def decimals(value: float | None) -> str:
    """A figure in two decimals, a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def reading_of(model: ModelRecord) -> str:
    """How labels were read, without classes that are called what they mean."""
    meanings, _, rest = model.label_rule.partition(" (from ")
    pairs = [pair.split(" → ") for pair in meanings.split(", ")]
    if any(len(pair) != 2 or pair[0] != pair[1] for pair in pairs):
        return model.label_rule
    return rest.partition("; ")[2].replace(
        "probabilities summed, the largest wins", "the likeliest"
    )


def one_label_of(result: Result) -> tuple[str, float] | None:
    """The label that a model gives nearly all cases, though it does not pass them; its share."""
    label = max(result.answers, key=lambda name: result.answers[name])
    share = result.answers[label] / result.overall.cases
    hardly_fails = result.references[f"always-{label}"].failure_rate.macro <= 1 - NEARLY_ALL
    return None if share < NEARLY_ALL or hardly_fails else (label, share)


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
    if len(results) == 1:
        yield model_table(*results)
    else:
        yield from filter(None, (consistency_table(results), capabilities_table(results)))


def models_table(results: Sequence[Result]) -> Table:
    """A row a model, beside what answers come to that do not read the cases."""
    comparable, fullest = _comparable(results), _fullest(results)
    both = any(one.overall.consistency for one in results)
    silent = any(one.overall.refusals or one.overall.unreadable for one in results)
    heads = ["", "failure rate\n% (macro)", INTERVAL, "chance-\ncorrected"]
    if both:  # which leaves little to correct for chance
        heads = ["", "consistency\n% (macro)", INTERVAL, "failure rate\n% (macro)", INTERVAL]
    heads += ["p→f"]
    heads += ["refused", "unreadable", "without\nthese %"] * silent
    leads = _consistency_leads(results)
    rows: list[tuple[tuple[float, float], list[str | Cell]]] = []
    for one in best_first(results):
        of, whole = one.overall, one in comparable
        share, fails = of.consistency, of.failure_rate
        cells = [percent(share.macro), _bounds(share.macro_ci)] if share else [NOTHING] * 2 * both
        cells += [percent(fails.macro), _bounds(fails.macro_ci)]
        cells += [] if both else [decimals(of.chance_corrected)]
        cells = cells if whole else [NOTHING] * len(cells)
        cells += [str(sum(own.pass_to_fail for own in one.capabilities.values()))]
        if silent:
            rate = of.answered if of.refusals or of.unreadable else fails
            cells += [f"{of.refusals:,}", f"{of.unreadable:,}"]
            cells += [percent(rate.macro if rate else None)]
        place = (-share.macro if leads and share else 0, fails.macro)
        rows.append((place if whole else (1, 0), [shown_name(one), *cells]))
    best, least = chance_of(fullest.references)
    for name, reference in fullest.references.items():
        right, wrong = reference.consistency, reference.failure_rate.macro
        cells = [percent(right.macro if right else None), ""] * both
        cells += [percent(wrong), "= chance" if name == best else ""]
        cells += [] if both else [decimals(chance_corrected(wrong, least))]
        cells += [""] * (len(heads) - 1 - len(cells))
        row: list[str | Cell] = [Cell(text, kind="dim") for text in (f"({name})", *cells)]
        rows.append(((-right.macro if leads and right else 0, wrong), row))
    rows.sort(key=lambda one: one[0])
    return Table(heads, [row for _, row in rows])


def capabilities_table(results: Sequence[Result]) -> Table:
    """A row a model and a column a capability: failure rates, coloured by themselves on a page."""
    return _by_capability(
        results, capabilities_of(results), "all", lambda of: _rate_cell(of.all), METHOD_WORDS
    )


def consistency_table(results: Sequence[Result]) -> Table | None:
    """The same of the consistency on those that have contrasts, if any."""
    known = {n for one in results for n, of in one.capabilities.items() if of.consistency}
    names = [name for name in capabilities_of(results) if name in known]
    if not names:
        return None
    caption = "Consistency in %: cases answered right together with their contrasts"
    return _by_capability(
        results, names, "consistency", lambda of: _share_cell(of.consistency), caption
    )


def _by_capability(
    results: Sequence[Result],
    names: Sequence[str],
    of_reference: str,
    cell: Callable[[CapabilityFigures], Cell],
    caption: str,
) -> Table:
    words = capability_words(names)
    rows: list[list[Cell]] = []
    for one in best_first(results):
        known = [one.capabilities.get(name) for name in names]
        rows.append([Cell(shown_name(one)), *(cell(of) if of else Cell(NOTHING) for of in known)])
    for name, reference in _fullest(results).references.items():
        cells = [percent(reference.capabilities.get(each, {}).get(of_reference)) for each in names]
        rows.append([Cell(text, kind="dim") for text in (f"({name})", *cells)])
    heads = [Cell(name, words[name].short) for name in names]
    return Table(["", *heads], rows, caption=caption)


def model_table(result: Result) -> Table:
    """A row a capability: one model's rates, with seeds and expansions apart."""
    both, names = result.overall.consistency is not None, capabilities_of([result])
    heads = ["", *["consistency"] * both, "fails", INTERVAL, "seeds", "exp.", "p→f"]
    words, rows = capability_words(names), []
    for name in names:
        of = result.capabilities[name]
        cells = [Cell(name, words[name].short), *[_share_cell(of.consistency)] * both]
        cells += [_rate_cell(of.all), Cell(_bounds(of.all.ci))]
        cells += [_rate_cell(of.seed), _rate_cell(of.expansion), Cell(str(of.pass_to_fail))]
        rows.append(cells)
    return Table(heads, rows, caption=METHOD_WORDS)


def _rate_cell(rate: Rate | None) -> Cell:
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
    """The consistency; what is not right has the colour of what fails."""
    if share is None:
        return Cell(NOTHING)
    low, high = share.ci
    return Cell(
        percent(share.share),
        f"{100 * low:.0f}–{100 * high:.0f}",
        f"{share.right} of {share.pairs} pairs of a case and its contrast, {_bounds(share.ci)}",
        strength=1 - share.share,
    )


def _bounds(interval: tuple[float, float]) -> str:
    return "[{}, {}]".format(*map(percent, interval))


def comparison_tables(
    first: str,
    second: str,
    compared: Mapping[str, Comparison],
    consistency: Mapping[str, Comparison],
) -> Iterator[Table]:
    """Which differences between two models are real: how many, and a row each capability.

    Consistency comes first where both were asked contrasts, then failure rates.
    """
    names = (first, second) if first != second else ("first", "second")
    heads = [
        "families",
        "first\n%",
        "second\n%",
        "first\nalone",
        "second\nalone",
        "p",
        "better",
    ]
    for figure, unit, words, tests in (
        ("consistency", "pairs", CONSISTENCY_WORDS, consistency),
        ("failure rates", "cases", TEST_WORDS, compared),
    ):
        rows = [
            [name, str(one.cases), str(one.families),
             *(percent(rate if unit == "cases" else 1 - rate) for rate in one.rates),
             str(one.first_only), str(one.second_only), f"{shown_p(one.adjusted):.3g}",
             "undecided" if one.better is None else names[one.better]]
            for name, one in tests.items()
        ]  # fmt: skip
        if rows:
            title = f"{first} against {second}, {figure}: {_counted(tests)}"
            alone = f"Alone: {unit} that this model fails and the other passes; they decide nothing"
            yield Table(["", unit, *heads], rows, title, f"{words}. {alone}.")


def _counted(tests: Mapping[str, Comparison]) -> str:
    """What the tests show of the first model: in the mean, and in how many capabilities."""
    verdicts = ("better", "worse", "undecided")
    better = [test.better for name, test in tests.items() if name != MEAN]
    counts = [better.count(which) for which in (0, 1, None)]
    words = ", ".join(f"{verdict} on {n}" for verdict, n in zip(verdicts, counts, strict=True))
    if (mean := tests.get(MEAN)) is None:
        return words
    return f"{verdicts[2 if mean.better is None else mean.better]} in the mean, {words}"


def gate_table(checks: Sequence[Check]) -> Table:
    """A row a check."""
    rows: list[list[str | Cell]] = []
    tested = any(one.detectable is not None for one in checks)
    for one in checks:
        noticed = ""
        if one.detectable is not None:
            noticed = "never" if one.blind else f"{100 * one.detectable:.1f} points"
        if one.bound is None:
            asked = f"not worse than {percent(one.before)} %"
            found = f"{percent(one.found)} % (p {shown_p(one.p_value or 0):.3g})"
        else:
            asked = f"{'≤' if one.asked == 'max' else '≥'} {100 * one.bound:g} %"
            found = f"{100 * one.found:.2f} % {_bounds(one.interval or (0, 1))}"
        passed = "pass: better" if one.shown == "better" else "pass"
        result = passed if one.passed else Cell("fail", kind="bold")
        rows.append([one.figure, asked, found, *[noticed] * tested, result])
    caption = (
        "Noticed from: a loss of so many points is shown to be one with a probability of 80 %, or "
        "more where the two models agree on many cases"
    )
    heads = ["", "asked", "found", *["noticed\nfrom"] * tested, ""]
    return Table(heads, rows, caption=caption if tested else "")


# The page


def for_page(table: Table) -> Table:
    """Intervals below the figures, in place of columns of their own."""
    lines: list[list[Cell]] = []
    for line in (table.columns, *table.rows):
        cells: list[Cell] = []
        for head, one in zip(table.columns, map(as_cell, line), strict=True):
            if head == INTERVAL:
                below = one.text.strip("[]").replace(", ", "–").replace(INTERVAL, "")
                cells[-1] = replace(cells[-1], small=cells[-1].small or below)
            else:
                cells.append(one)
        lines.append(cells)
    return replace(table, columns=lines[0], rows=lines[1:])


def html_report(scored: Sequence[Scored]) -> str:
    """The report as one HTML page that needs no network.

    The suite of the first result comes first, with examples.
    """
    suites = by_suite([one.result for one in scored])
    results = best_first(suites[0])
    of_suite = [one for one in scored if one.result in results]
    names = _hardest_first(results)
    words = capability_words(names)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {"percent": percent, "marked": marked}
    methods = [CONSISTENCY_WORDS] * any(one.overall.consistency is not None for one in results)
    methods += [MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    return environment.get_template("report.html.jinja").render(
        suites=suites,
        results=results,
        conclusion=_conclusion(results, words[names[0]].short or names[0]),
        models_table=models_table,
        consistency_table=consistency_table,
        capabilities_table=capabilities_table,
        model_table=model_table,
        for_page=for_page,
        examples=[(name, words[name], _examples(of_suite, name)) for name in names],
        shown_name=shown_name,
        warning=one_label_warning,
        reading_of=reading_of,
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
    ranked = best_first(_comparable(results) or results)
    best, worst, several = ranked[0], ranked[-1], len(ranked) > 1
    most, least = best.overall.consistency, worst.overall.consistency
    if most and least:
        random = best.references[RANDOM].consistency
        guessed = percent(random.macro if random else None)
        return (
            f"{shown_name(best)} answers {most.right:,} of {most.pairs:,} pairs of a case and its "
            f"contrast right on both ({percent(most.micro)} %, micro); the mean over the "
            f"capabilities is {percent(most.macro)} % {_bounds(most.macro_ci)} (macro)"
            + f"; last is {shown_name(worst)} with {percent(least.macro)} % (macro)"
            * several
            + f". Random answers come to {guessed} % (macro), constant ones to 0. "
            f"{shown_name(best)} fails {_failing(best)}. Hardest is: {hardest}."
        )
    first = f"{shown_name(best)} fails {'least: ' * several}{_failing(best)}"
    if several:
        first += f"; {shown_name(worst)} most: {_failing(worst)}"
    name, blind = chance_of(best.references)
    return f"{first}. Chance, {name}, comes to {percent(blind)} % (macro). Hardest is: {hardest}."


def _failing(result: Result) -> str:
    """How many cases fail, and the mean over the capabilities, in words."""
    rate = result.overall.failure_rate
    return (
        f"{rate.failures:,} of {rate.cases:,} cases ({percent(rate.micro)} %, micro), in the mean "
        f"over the capabilities {percent(rate.macro)} % {_bounds(rate.macro_ci)} (macro)"
    )


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
        (case, PREDICTED[label])
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
            found.setdefault(case.seed_id, (case, PREDICTED[outcomes.labels[number]]))
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
