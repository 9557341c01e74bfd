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
from s2lct.leaderboard.site.examples import examples_of, marked
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
NOTHING = "–"
ONE_LABEL_SHARE = 0.95
"""A model that gives one label to this share of the cases hardly reads them."""


@dataclass(frozen=True)
class CapabilityWords:
    """A capability in words; all empty for one that is not shipped, whose id says what it is."""

    title: str = ""
    short: str = ""
    expectation: str = ""


def capability_words(names: Iterable[str]) -> dict[str, CapabilityWords]:
    """The words of each capability, from its shipped file."""
    from s2lct.builder.capabilities.files import load_capabilities

    shipped = {
        capability.id: CapabilityWords(
            capability.title, capability.short or "", capability.expectation
        )
        for capability in load_capabilities()
    }
    return {name: shipped.get(name, CapabilityWords()) for name in names}


def by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results grouped by suite, in the order in which suites come first."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.suite.fingerprint, []).append(result)
    return list(groups.values())


def percent(value: float | None) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def one_label_of(result: Result) -> tuple[str, float] | None:
    """The label that a model gives to nearly all cases, though many fail with it, and its share."""
    label = max(result.answers, key=lambda label: result.answers[label])
    share = result.answers[label] / result.overall.cases
    rarely_fails = result.references[f"always-{label}"].failure_rate.macro <= 1 - ONE_LABEL_SHARE
    return None if share < ONE_LABEL_SHARE or rarely_fails else (label, share)


def one_label_warning(result: Result) -> str:
    """A warning about a model that hardly reads the cases; empty for others."""
    if (label_and_share := one_label_of(result)) is None:
        return ""
    label, share = label_and_share
    return f"answers {label} to {percent(share)} % of the cases, whatever they say"


def _comparable(results: Sequence[Result]) -> list[Result]:
    """The results whose means can be compared: those on the same cases."""
    selections = {result.selection for result in results}
    is_same = len(selections) == 1 and SelectionRecord() not in selections
    if len(results) == 1 or is_same:
        return list(results)
    return [result for result in results if not result.partial]


def _fullest(results: Sequence[Result]) -> Result:
    """The result on most cases, whose references stand beside all."""
    return max(results, key=lambda result: result.overall.cases)


# Tables


def suite_line(results: Sequence[Result]) -> str:
    """Which suite results are on, how large it is, and when they were made."""
    figures, suite = _fullest(results).overall, results[0].suite
    pairs = f" and {figures.consistency.pairs:,} pairs" if figures.consistency else ""
    days = sorted(result.date[:10] for result in results)
    return (
        f"Suite {plain(suite.name, MAX_SNIPPET_CHARACTERS)}, version {suite.version or 'unknown'}: "
        f"{figures.cases:,} cases{pairs}; scored {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )


def results_tables(results: Sequence[Result]) -> Iterator[Table]:
    """The terminal's tables of results on one suite: all capabilities together, then each.

    For a single model seeds and expansions stand apart.
    """
    lead = [LEAD_WORDS] if is_ranked_by_consistency(results) else []
    caption = ". ".join([*lead, *notes_on(results), BETTER_WORDS])
    yield replace(models_table(results), title=suite_line(results), caption=caption)
    if len(results) == 1:
        yield model_table(*results)
    else:
        yield from filter(None, (consistency_table(results), failures_table(results)))


def models_table(results: Sequence[Result]) -> Table:
    """A row for each model, and for each answer that does not read the cases."""
    comparable, fullest, names = _comparable(results), _fullest(results), ShownNames(results)
    has_pairs = any(result.overall.consistency for result in results)
    has_silent = any(result.overall.refusals or result.overall.unreadable for result in results)
    by_consistency = is_ranked_by_consistency(results)
    heads = ["", *["consistency\nmacro % ↑", "micro\n% ↑"] * has_pairs]
    heads += ["failure\nmacro % ↓", "micro\n% ↓"]
    heads += ["against best\nconstant ↑"] * (not has_pairs) + ["p→f\n↓"]
    heads += ["refused", "unreadable", "without\nthese % ↓"] * has_silent
    rows: list[tuple[tuple[bool, float, float], list[Cell]]] = []
    for result in best_first(results):
        model, figures = result.model, result.overall
        cells = _overall_cells(figures, figures.chance_corrected, has_pairs=has_pairs)
        if result not in comparable:
            cells = [Cell(NOTHING)] * len(cells)
        flips = sum(capability.pass_to_fail for capability in result.capabilities.values())
        cells.append(Cell(str(flips)))
        if has_silent:
            is_silent = figures.refusals or figures.unreadable
            rate = figures.answered if is_silent else figures.failure_rate
            silent = (f"{figures.refusals:,}", f"{figures.unreadable:,}")
            cells += map(Cell, (*silent, percent(rate.macro if rate else None)))
        obtained = "" if model.rescorable else model.obtained(rescored=False)
        key = result not in comparable, *order_key(figures, by_consistency=by_consistency)
        rows.append((key, [Cell(names(result), obtained), *cells]))
    best, least_rate = chance_of(fullest.references)
    for name, reference in fullest.references.items():
        corrected = chance_corrected(reference.failure_rate.macro, least_rate)
        cells = [Cell(f"({name})", "best constant" if name == best else "")]
        cells += _overall_cells(reference, corrected, has_pairs=has_pairs)
        cells += [Cell("")] * (len(heads) - len(cells))
        key = False, *order_key(reference, by_consistency=by_consistency)
        rows.append((key, [replace(cell, kind="dim") for cell in cells]))
    rows.sort(key=lambda row: row[0])
    return Table(heads, [cells for _, cells in rows])


def _overall_cells(
    figures: OverallFigures | Reference, corrected: float | None, *, has_pairs: bool
) -> list[Cell]:
    """Consistency and failure rate, macro and micro; a corrected rate where there are no pairs."""
    cells = _macro_and_micro(figures.consistency) if has_pairs else []
    cells += _macro_and_micro(figures.failure_rate)
    # Consistency needs no correction for what a constant answer gets.
    return (
        cells if has_pairs else [*cells, Cell(NOTHING if corrected is None else f"{corrected:.2f}")]
    )


def _macro_and_micro(figure: MacroMicro | None) -> list[Cell]:
    """A macro figure above its interval, and a micro figure above its counts."""
    if figure is None:
        return [Cell(NOTHING), Cell(NOTHING)]
    interval, counts = "", ""
    if isinstance(figure, (OverallRate, OverallShare)):
        interval = "–".join(map(percent, figure.macro_ci))
    if isinstance(figure, OverallRate):
        counts = f"{figure.failures:,}/{figure.cases:,}"
    elif isinstance(figure, OverallShare):
        counts = f"{figure.right:,}/{figure.pairs:,}"
    return [Cell(percent(figure.macro), interval), Cell(percent(figure.micro), counts)]


def consistency_table(results: Sequence[Result]) -> Table | None:
    """A row for each model and a column for each capability with contrasts; None without any."""
    pairs: dict[str, int] = {}
    for result in sorted(results, key=lambda result: result.overall.cases):
        for name, figures in result.capabilities.items():
            if figures.consistency:
                pairs[name] = figures.consistency.pairs
    if not pairs:
        return None
    caption = "Consistency % ↑: cases answered right together with their contrasts. Below each its "
    caption += "95 % interval" + f". {FEW_PAIRS_WORDS}" * any(map(has_few_pairs, pairs.values()))
    return _capabilities_table(results, "consistency", pairs, caption)


def failures_table(results: Sequence[Result]) -> Table:
    """A row for each model and a column for each capability: failure rates."""
    cases: dict[str, int] = {}
    for result in sorted(results, key=lambda result: result.overall.cases):
        cases |= {name: figures.all.cases for name, figures in result.capabilities.items()}
    return _capabilities_table(results, "all", cases, f"Failure rate % ↓. {METHOD_WORDS}")


def _capabilities_table(
    results: Sequence[Result], field: str, counts: Mapping[str, int], caption: str
) -> Table:
    """A column for each capability, and in the last row how many cases, or pairs, it has.

    Args:
        results: of one suite.
        field: ``consistency``, or ``all`` for failure rates.
        counts: pairs or cases of each capability that is shown.
        caption: below the table.
    """
    capabilities = sorted(counts, key=natural_order)
    words, names = capability_words(capabilities), ShownNames(results)
    rows: list[list[Cell]] = []
    for result in best_first(results):
        figures = [getattr(result.capabilities.get(name), field, None) for name in capabilities]
        rows.append([Cell(names(result)), *map(_figure_cell, figures)])
    for name, reference in _fullest(results).references.items():
        values = [reference.capabilities.get(id, {}).get(field) for id in capabilities]
        rows.append([Cell(text, kind="dim") for text in (f"({name})", *map(percent, values))])
    is_pairs = field == "consistency"
    numbers = [f"{counts[name]:,}" for name in capabilities]
    last_row = ["pairs" if is_pairs else "cases", *numbers]
    rows.append([Cell(text, kind="dim count") for text in last_row])
    heads = [
        Cell(_marked_if_few(name, counts[name] if is_pairs else None), words[name].short)
        for name in capabilities
    ]
    return Table(["", *heads], rows, caption=caption)


def model_table(result: Result) -> Table:
    """A row for each capability: one model's figures, with seeds and expansions apart."""
    names = sorted(result.capabilities, key=natural_order)
    words, has_pairs = capability_words(names), result.overall.consistency is not None
    heads = ["", *["consistency\n% ↑", "pairs"] * has_pairs]
    heads += ["failure\nrate % ↓", "seeds\n% ↓", "exp.\n% ↓", "p→f\n↓"]
    rows, has_few = [], False
    for name in names:
        figures = result.capabilities[name]
        pairs = figures.consistency.pairs if figures.consistency else None
        has_few |= pairs is not None and has_few_pairs(pairs)
        cells = [Cell(_marked_if_few(name, pairs), words[name].short)]
        if has_pairs:
            shown_pairs = NOTHING if pairs is None else f"{pairs:,}"
            cells += [_figure_cell(figures.consistency), Cell(shown_pairs)]
        cells += map(_figure_cell, (figures.all, figures.seed, figures.expansion))
        rows.append([*cells, Cell(str(figures.pass_to_fail))])
    return Table(heads, rows, caption=METHOD_WORDS + f". {FEW_PAIRS_WORDS}" * has_few)


def _marked_if_few(name: str, pairs: int | None) -> str:
    return name + FEW_PAIRS_SIGN * (pairs is not None and has_few_pairs(pairs))


def _figure_cell(figure: Rate | Share | None) -> Cell:
    """A failure rate or consistency with its interval; a page colours what fails."""
    if figure is None or (isinstance(figure, Rate) and not figure.cases):
        return Cell(NOTHING)
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
    """Which differences between two models are real: a row for each capability, and how many.

    Consistency comes first where both were asked contrasts, then failure rates.
    """
    names = (first, second) if first != second else ("first", "second")
    for figure, unit, arrow, words, tests in (
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
            rates = (rate if unit == "cases" else 1 - rate for rate in test.rates)
            better = "undecided" if test.better is None else names[test.better]
            rows.append(
                [
                    name + FEW_PAIRS_SIGN * is_few,
                    *(str(test.case_count), str(test.family_count), *map(percent, rates)),
                    *(str(test.first_only), str(test.second_only)),
                    *(f"{shown_p_value(test.adjusted_p_value):.3g}", better),
                ]
            )
        title = f"{first} against {second}, {figure}: {_outcome_in_words(tests)}"
        alone = f"Alone: {unit} that this model fails and the other passes; they decide nothing"
        caption = f"{words}. {alone}." + f" {FEW_PAIRS_WORDS}." * has_few
        yield Table(heads, rows, title, caption)


def _outcome_in_words(tests: Mapping[str, Comparison]) -> str:
    """Whether the first model is better: in the mean, and in how many capabilities."""
    words: dict[int | None, str] = {0: "better", 1: "worse", None: "undecided"}
    better = [test.better for name, test in tests.items() if name != MEAN]
    counts = ", ".join(f"{words[winner]} on {better.count(winner)}" for winner in words)
    return f"{words[tests[MEAN].better]} in the mean, {counts}" if MEAN in tests else counts


def gate_table(checks: Sequence[Check]) -> Table:
    """A row for each check of a gate."""
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
        detectable_cells = [detectable] if has_tests else []
        rows.append([check.figure_name, requirement, value, *detectable_cells, outcome])
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
    suites = by_suite([model.result for model in scored])
    results = best_first(suites[0])
    on_first_suite = [model for model in scored if model.result in results]
    hardest = _hardest_first(results)
    words = capability_words(hardest)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {
        "percent": percent,
        "marked": marked,
        "brief": lambda text: plain(text, MAX_TEXT_CHARACTERS),
    }
    has_pairs = any(result.overall.consistency for result in results)
    methods = [*[CONSISTENCY_WORDS] * has_pairs, MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    return environment.get_template("report.html.jinja").render(
        suites=suites,
        results=results,
        suite_line=suite_line,
        conclusion=_conclusion(results, words[hardest[0]].short or hardest[0]),
        lead=LEAD_WORDS if is_ranked_by_consistency(results) else "",
        notes=notes_on(results),
        better=BETTER_WORDS,
        models_table=models_table,
        consistency_table=consistency_table,
        failures_table=failures_table,
        model_table=model_table,
        examples=[(name, words[name], examples_of(on_first_suite, name)) for name in hardest],
        shown_name=ShownNames(results),
        warning=one_label_warning,
        methods=methods,
        labels=LABELS,
    )


def _hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities by the mean of the figure that ranks models, worst first.

    Where consistency ranks, those without contrasts stand behind all that are not always right.
    """
    by_consistency = is_ranked_by_consistency(results)
    keys: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for name, figures in result.capabilities.items():
            consistency = figures.consistency.share if figures.consistency else 1.0
            key = (consistency if by_consistency else 0.0, -figures.all.failure_rate)
            keys.setdefault(name, []).append(key)

    def mean(name: str) -> list[float]:
        return [sum(values) / len(keys[name]) for values in zip(*keys[name], strict=True)]

    return sorted(keys, key=mean)


def _conclusion(results: Sequence[Result], hardest: str) -> str:
    """What the results show in a few sentences; of a part of the suite only if all are."""
    ranked, shown_name = best_first(_comparable(results) or results), ShownNames(results)
    best, worst = ranked[0], ranked[-1]
    if len(ranked) > 1:
        models = (
            f"First is {shown_name(best)}: {in_words(best.overall)}. Last is {shown_name(worst)}: "
            f"{in_words(worst.overall)}"
        )
    else:
        models = f"{shown_name(best)} {in_words(best.overall)}"
    random = best.references[RANDOM].consistency
    if random and is_ranked_by_consistency(ranked):
        guesses = f"Random answers are consistent on {percent(random.macro)} % (macro), constant "
        guesses += "ones on none"
    else:
        name, rate = chance_of(best.references)
        guesses = f"The {BEST_CONSTANT}, {name}, fails {percent(rate)} % (macro)"
    return f"{models}. {guesses}. The hardest capability: {hardest}."
