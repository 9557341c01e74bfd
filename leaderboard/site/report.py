"""The report of results: tables for the terminal and for a page, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.labels import LABELS
from s2lct.leaderboard.results.comparison import MEAN, TEST_WORDS, Comparison, shown_p_value
from s2lct.leaderboard.results.gate import Check
from s2lct.leaderboard.results.order import best_first, is_ranked_by_consistency, order_key
from s2lct.leaderboard.results.read_results import ScoredModel
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.shown_names import ShownNames
from s2lct.leaderboard.scoring.figures import (
    CHANCE_WORDS,
    CONSISTENCY_WORDS,
    MEAN_WORDS,
    RANDOM,
    MacroMicro,
    OverallFigures,
    OverallRate,
    OverallShare,
    Rate,
    Reference,
    Share,
    chance_corrected,
    chance_of,
    in_words,
)
from s2lct.leaderboard.scoring.score import SelectionRecord
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS
from s2lct.leaderboard.site.examples import examples_of, mark_insertions
from s2lct.leaderboard.site.words import (
    BEST_CONSTANT,
    BETTER_WORDS,
    FEW_PAIRS_SIGN,
    FEW_PAIRS_WORDS,
    LEAD_WORDS,
    has_few_pairs,
    notes_on,
)
from s2lct.plain_text import MAX_SNIPPET_CHARACTERS, MAX_TEXT_CHARACTERS, plain
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Cell, Table, page_templates

METHOD_WORDS = (
    "Below each figure its 95 % interval; p→f: expansions that turned a pass into a fail. Method: "
    "docs/figures.md"
)
NO_FIGURE = "–"
ONE_LABEL_SHARE = 0.95
"""A model that gives one label to at least this share of cases gets a warning."""


@dataclass(frozen=True)
class CapabilityWords:
    """The title, short title and expectation of a capability; empty if it is not shipped."""

    title: str = ""
    short: str = ""
    expectation: str = ""


def capability_words(names: Iterable[str]) -> dict[str, CapabilityWords]:
    """The words for each capability, from its shipped file."""
    from s2lct.builder.capabilities.files import load_capabilities

    words_of_shipped = {
        capability.id: CapabilityWords(
            capability.title, capability.short or "", capability.expectation
        )
        for capability in load_capabilities()
    }
    return {name: words_of_shipped.get(name, CapabilityWords()) for name in names}


def group_by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results grouped by suite, in the order of the first result of each suite."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.suite.fingerprint, []).append(result)
    return list(groups.values())


def percent(value: float | None) -> str:
    """A proportion in percent with one decimal."""
    return NO_FIGURE if value is None else f"{100 * value:.1f}"


def one_label_of(result: Result) -> tuple[str, float] | None:
    """The label that a model gives to nearly all cases, and its share; None if that is right."""
    label = max(result.answers, key=lambda label: result.answers[label])
    share = result.answers[label] / result.overall.cases
    rarely_fails = result.references[f"always-{label}"].failure_rate.macro <= 1 - ONE_LABEL_SHARE
    return None if share < ONE_LABEL_SHARE or rarely_fails else (label, share)


def one_label_warning(result: Result) -> str:
    """A warning about a model that gives one label to nearly all cases; empty for others."""
    if (label_and_share := one_label_of(result)) is None:
        return ""
    label, share = label_and_share
    return f"answers {label} to {percent(share)} % of the cases, whatever they say"


def _comparable_results(results: Sequence[Result]) -> list[Result]:
    """The results on the same cases, whose means can be compared."""
    selections = {result.selection for result in results}
    is_same = len(selections) == 1 and SelectionRecord() not in selections
    if len(results) == 1 or is_same:
        return list(results)
    return [result for result in results if not result.partial]


def _fullest_result(results: Sequence[Result]) -> Result:
    """The result on the most cases; its references are shown for all results."""
    return max(results, key=lambda result: result.overall.cases)


# Tables


def suite_line(results: Sequence[Result]) -> str:
    """A line with the suite of results, its number of cases and pairs, and the days of scoring."""
    figures, suite = _fullest_result(results).overall, results[0].suite
    pairs = f" and {figures.consistency.pairs:,} pairs" if figures.consistency else ""
    days = sorted(result.date[:10] for result in results)
    return (
        f"Suite {plain(suite.name, MAX_SNIPPET_CHARACTERS)}, version {suite.version or 'unknown'}: "
        f"{figures.cases:,} cases{pairs}; scored {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )


def results_tables(results: Sequence[Result]) -> Iterator[Table]:
    """The terminal's tables of results on one suite: over all capabilities, then in each."""
    lead = [LEAD_WORDS] if is_ranked_by_consistency(results) else []
    caption = ". ".join([*lead, *notes_on(results), BETTER_WORDS])
    yield replace(models_table(results), title=suite_line(results), caption=caption)
    if len(results) == 1:
        yield model_table(*results)
    else:
        yield from filter(None, (consistency_table(results), failures_table(results)))


def models_table(results: Sequence[Result]) -> Table:
    """A row for each model, and for each reference, such as random answers."""
    comparable_results, shown_names = _comparable_results(results), ShownNames(results)
    references = _fullest_result(results).references
    has_pairs = any(result.overall.consistency for result in results)
    has_unanswered = any(result.overall.refusals or result.overall.unreadable for result in results)
    by_consistency = is_ranked_by_consistency(results)
    heads = ["", *["consistency\nmacro % ↑", "micro\n% ↑"] * has_pairs]
    heads += ["failure\nmacro % ↓", "micro\n% ↓"]
    heads += ["against best\nconstant ↑"] * (not has_pairs) + ["p→f\n↓"]
    heads += ["refused", "unreadable", "without\nthese % ↓"] * has_unanswered
    rows: list[tuple[tuple[bool, float, float], list[Cell]]] = []
    for result in best_first(results):
        model, figures = result.model, result.overall
        cells = _overall_cells(figures, figures.chance_corrected, has_pairs=has_pairs)
        if result not in comparable_results:
            cells = [Cell(NO_FIGURE)] * len(cells)
        flip_count = sum(capability.pass_to_fail for capability in result.capabilities.values())
        cells.append(Cell(str(flip_count)))
        if has_unanswered:
            is_unanswered = figures.refusals or figures.unreadable
            rate = figures.answered if is_unanswered else figures.failure_rate
            unanswered_counts = (f"{figures.refusals:,}", f"{figures.unreadable:,}")
            cells += map(Cell, (*unanswered_counts, percent(rate.macro if rate else None)))
        how_obtained = "" if model.rescorable else model.obtained(rescored=False)
        key = result not in comparable_results, *order_key(figures, by_consistency=by_consistency)
        rows.append((key, [Cell(shown_names(result), how_obtained), *cells]))
    best_constant, least_failure_rate = chance_of(references)
    for name, reference in references.items():
        corrected = chance_corrected(reference.failure_rate.macro, least_failure_rate)
        cells = [Cell(f"({name})", "best constant" if name == best_constant else "")]
        cells += _overall_cells(reference, corrected, has_pairs=has_pairs)
        cells += [Cell("")] * (len(heads) - len(cells))
        key = False, *order_key(reference, by_consistency=by_consistency)
        rows.append((key, [replace(cell, kind="dim") for cell in cells]))
    rows.sort(key=lambda row: row[0])
    return Table(heads, [cells for _, cells in rows])


def _overall_cells(
    figures: OverallFigures | Reference, corrected: float | None, *, has_pairs: bool
) -> list[Cell]:
    """Consistency and failure rate, macro and micro; a corrected rate if there are no pairs."""
    cells = _macro_and_micro(figures.consistency) if has_pairs else []
    cells += _macro_and_micro(figures.failure_rate)
    # Consistency needs no correction for what a constant answer gets.
    return (
        cells
        if has_pairs
        else [*cells, Cell(NO_FIGURE if corrected is None else f"{corrected:.2f}")]
    )


def _macro_and_micro(figure: MacroMicro | None) -> list[Cell]:
    """A macro figure above its interval, and a micro figure above its counts."""
    if figure is None:
        return [Cell(NO_FIGURE), Cell(NO_FIGURE)]
    interval, counts = "", ""
    if isinstance(figure, (OverallRate, OverallShare)):
        interval = "–".join(map(percent, figure.macro_ci))
    if isinstance(figure, OverallRate):
        counts = f"{figure.failures:,}/{figure.cases:,}"
    elif isinstance(figure, OverallShare):
        counts = f"{figure.right:,}/{figure.pairs:,}"
    return [Cell(percent(figure.macro), interval), Cell(percent(figure.micro), counts)]


def consistency_table(results: Sequence[Result]) -> Table | None:
    """Consistency: a row for each model, a column for each capability with contrasts, if any."""
    counts: dict[str, int] = {}
    for result in sorted(results, key=lambda result: result.overall.cases):
        for name, figures in result.capabilities.items():
            if figures.consistency:
                counts[name] = figures.consistency.pairs
    if not counts:
        return None
    caption = "Consistency % ↑: cases answered right together with their contrasts. Below each its "
    caption += "95 % interval" + f". {FEW_PAIRS_WORDS}" * any(map(has_few_pairs, counts.values()))
    return _capabilities_table(results, "consistency", counts, caption)


def failures_table(results: Sequence[Result]) -> Table:
    """Failure rates: a row for each model and a column for each capability."""
    counts: dict[str, int] = {}
    for result in sorted(results, key=lambda result: result.overall.cases):
        counts |= {name: figures.all.cases for name, figures in result.capabilities.items()}
    return _capabilities_table(results, "all", counts, f"Failure rate % ↓. {METHOD_WORDS}")


def _capabilities_table(
    results: Sequence[Result], field: str, counts: Mapping[str, int], caption: str
) -> Table:
    """A column for each capability; the last row is its number of cases or pairs.

    Args:
        results: results on one suite.
        field: ``consistency``, or ``all`` for failure rates.
        counts: the number of pairs or cases of each capability to show.
        caption: the text below the table.
    """
    capabilities = sorted(counts, key=natural_order)
    words, shown_names = capability_words(capabilities), ShownNames(results)
    rows: list[list[Cell]] = []
    for result in best_first(results):
        figures = [getattr(result.capabilities.get(name), field, None) for name in capabilities]
        rows.append([Cell(shown_names(result)), *map(_figure_cell, figures)])
    for name, reference in _fullest_result(results).references.items():
        values = [reference.capabilities.get(id, {}).get(field) for id in capabilities]
        rows.append([Cell(text, kind="dim") for text in (f"({name})", *map(percent, values))])
    is_pairs = field == "consistency"
    last_row = ["pairs" if is_pairs else "cases", *(f"{counts[name]:,}" for name in capabilities)]
    rows.append([Cell(text, kind="dim count") for text in last_row])
    heads = [
        Cell(_head_of_capability(name, counts[name] if is_pairs else None), words[name].short)
        for name in capabilities
    ]
    return Table(["", *heads], rows, caption=caption)


def model_table(result: Result) -> Table:
    """One model's figures: a row for each capability, columns for all cases, seeds, expansions."""
    names = sorted(result.capabilities, key=natural_order)
    words, has_pairs = capability_words(names), result.overall.consistency is not None
    heads = ["", *["consistency\n% ↑", "pairs"] * has_pairs]
    heads += ["failure\nrate % ↓", "seeds\n% ↓", "exp.\n% ↓", "p→f\n↓"]
    rows, has_few = [], False
    for name in names:
        figures = result.capabilities[name]
        pair_count = figures.consistency.pairs if figures.consistency else None
        has_few |= pair_count is not None and has_few_pairs(pair_count)
        cells = [Cell(_head_of_capability(name, pair_count), words[name].short)]
        if has_pairs:
            shown_pairs = NO_FIGURE if pair_count is None else f"{pair_count:,}"
            cells += [_figure_cell(figures.consistency), Cell(shown_pairs)]
        cells += map(_figure_cell, (figures.all, figures.seed, figures.expansion))
        rows.append([*cells, Cell(str(figures.pass_to_fail))])
    return Table(heads, rows, caption=METHOD_WORDS + f". {FEW_PAIRS_WORDS}" * has_few)


def _head_of_capability(name: str, pair_count: int | None) -> str:
    return name + FEW_PAIRS_SIGN * (pair_count is not None and has_few_pairs(pair_count))


def _figure_cell(figure: Rate | Share | None) -> Cell:
    """A failure rate or consistency with its interval; a page colours it by the share of fails."""
    if figure is None or (isinstance(figure, Rate) and not figure.cases):
        return Cell(NO_FIGURE)
    low, high = figure.ci
    small = f"{100 * low:.0f}–{100 * high:.0f}"
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    if isinstance(figure, Rate):
        rate, counts = figure.failure_rate, f"{figure.cases:,} cases"
        return Cell(percent(rate), small, f"{interval}, {counts}", strength=rate)
    counts = f"{figure.right} of {figure.pairs} pairs of a case and its contrast"
    return Cell(percent(figure.share), small, f"{counts}, {interval}", strength=1 - figure.share)


def _interval(bounds: tuple[float, float]) -> str:
    return "[{}, {}]".format(*map(percent, bounds))


def comparison_tables(
    first: str,
    second: str,
    failures: Mapping[str, Comparison],
    consistency: Mapping[str, Comparison],
) -> Iterator[Table]:
    """The tables of `s2lct compare`: a row for each capability, and a count of real differences.

    Consistency comes first if both models were asked contrasts, then failure rates.
    """
    names = (first, second) if first != second else ("first", "second")
    for figure, unit, arrow, method, tests in (
        ("consistency", "pairs", "↑", f"{LEAD_WORDS}. {CONSISTENCY_WORDS}", consistency),
        ("failure rates", "cases", "↓", TEST_WORDS, failures),
    ):
        if not tests:
            continue
        heads = ["", unit, "families", f"first\n% {arrow}", f"second\n% {arrow}"]
        heads += ["first\nalone", "second\nalone", "p", "better"]
        rows, has_few = [], False
        for name, test in tests.items():
            is_few = unit == "pairs" and name != MEAN and has_few_pairs(test.case_count)
            has_few |= is_few
            figures = (rate if unit == "cases" else 1 - rate for rate in test.rates)
            winner = "undecided" if test.better is None else names[test.better]
            rows.append(
                [
                    name + FEW_PAIRS_SIGN * is_few,
                    *(str(test.case_count), str(test.family_count), *map(percent, figures)),
                    *(str(test.first_only), str(test.second_only)),
                    *(f"{shown_p_value(test.adjusted_p_value):.3g}", winner),
                ]
            )
        title = f"{first} against {second}, {figure}: {_outcome_in_words(tests)}"
        note = f"Alone: {unit} that this model fails and the other passes; they decide nothing"
        caption = f"{method}. {note}." + f" {FEW_PAIRS_WORDS}." * has_few
        yield Table(heads, rows, title, caption)


def _outcome_in_words(tests: Mapping[str, Comparison]) -> str:
    """A phrase: whether the first model is better in the mean, and in how many capabilities."""
    words: dict[int | None, str] = {0: "better", 1: "worse", None: "undecided"}
    winners = [test.better for name, test in tests.items() if name != MEAN]
    counts = ", ".join(f"{words[winner]} on {winners.count(winner)}" for winner in words)
    return f"{words[tests[MEAN].better]} in the mean, {counts}" if MEAN in tests else counts


def gate_table(checks: Sequence[Check]) -> Table:
    """The table of `s2lct gate`, with a row for each check."""
    rows: list[list[str | Cell]] = []
    has_tests = any(check.detectable_change is not None for check in checks)
    for check in checks:
        detectable = ""
        if (change := check.detectable_change) is not None:
            detectable = "never" if check.lacks_power else f"{100 * change:.1f} points"
        if check.bound is None:
            requirement = f"not worse than {percent(check.earlier_value)} %"
            value = f"{percent(check.value)} % (p {shown_p_value(check.p_value or 0):.3g})"
        else:
            requirement = f"{'≤' if check.kind == 'max' else '≥'} {100 * check.bound:g} %"
            value = f"{100 * check.value:.2f} % {_interval(check.interval or (0, 1))}"
        passed = "pass: better" if check.significant_change == "better" else "pass"
        outcome = passed if check.passed else Cell("fail", kind="bold")
        rows.append([check.figure_name, requirement, value, *[detectable] * has_tests, outcome])
    caption = (
        "Detected from: the test has 80 % power to detect a loss of so many points; where the two "
        "models agree on many cases, a smaller one is enough"
    )
    heads = ["", "asked", "found", *["detected\nfrom"] * has_tests, ""]
    return Table(heads, rows, caption=caption if has_tests else "")


# The page


def html_report(scored: Sequence[ScoredModel]) -> str:
    """The report as one HTML page that needs no network.

    The suite of the first result comes first, with examples.
    """
    suites = group_by_suite([model.result for model in scored])
    results = best_first(suites[0])
    models = [model for model in scored if model.result in results]
    capabilities = _hardest_first(results)
    words = capability_words(capabilities)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {
        "percent": percent,
        "marked": mark_insertions,
        "brief": lambda text: plain(text, MAX_TEXT_CHARACTERS),
    }
    has_pairs = any(result.overall.consistency for result in results)
    methods = [*[CONSISTENCY_WORDS] * has_pairs, MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    return environment.get_template("report.html.jinja").render(
        suites=suites,
        results=results,
        suite_line=suite_line,
        conclusion=_conclusion(results, words[capabilities[0]].short or capabilities[0]),
        lead=LEAD_WORDS if is_ranked_by_consistency(results) else "",
        notes=notes_on(results),
        better=BETTER_WORDS,
        models_table=models_table,
        consistency_table=consistency_table,
        failures_table=failures_table,
        model_table=model_table,
        examples=[(name, words[name], examples_of(models, name)) for name in capabilities],
        shown_name=ShownNames(results),
        warning=one_label_warning,
        methods=methods,
        labels=LABELS,
    )


def _hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities sorted by the mean of the figure that ranks models, worst first.

    If consistency ranks, it counts as 1 for capabilities without contrasts.
    """
    by_consistency = is_ranked_by_consistency(results)
    keys_of: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for name, figures in result.capabilities.items():
            consistency = figures.consistency.share if figures.consistency else 1.0
            key = (consistency if by_consistency else 0.0, -figures.all.failure_rate)
            keys_of.setdefault(name, []).append(key)

    def mean_key(name: str) -> list[float]:
        return [sum(values) / len(keys_of[name]) for values in zip(*keys_of[name], strict=True)]

    return sorted(keys_of, key=mean_key)


def _conclusion(results: Sequence[Result], hardest: str) -> str:
    """A summary of the results in sentences; partial results count only if there are no others."""
    ranked, shown_name = best_first(_comparable_results(results) or results), ShownNames(results)
    best, worst = ranked[0], ranked[-1]
    if len(ranked) > 1:
        models_part = (
            f"First is {shown_name(best)}: {in_words(best.overall)}. Last is {shown_name(worst)}: "
            f"{in_words(worst.overall)}"
        )
    else:
        models_part = f"{shown_name(best)} {in_words(best.overall)}"
    consistency = best.references[RANDOM].consistency
    if consistency and is_ranked_by_consistency(ranked):
        chance_part = f"Random answers are consistent on {percent(consistency.macro)} % (macro), "
        chance_part += "constant ones on none"
    else:
        name, rate = chance_of(best.references)
        chance_part = f"The {BEST_CONSTANT}, {name}, fails {percent(rate)} % (macro)"
    return f"{models_part}. {chance_part}. The hardest capability: {hardest}."
