"""The report of results: tables for the terminal and for a page, and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.labels import LABELS
from s2lct.leaderboard.models.record import ModelRecord
from s2lct.leaderboard.results.comparison import (
    MEAN,
    TEST_WORDS,
    Comparison,
    shown_p,
)
from s2lct.leaderboard.results.gate import Check
from s2lct.leaderboard.results.order import best_first, consistency_leads
from s2lct.leaderboard.results.read_results import ScoredModel
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.shown_names import ShownNames
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
)
from s2lct.leaderboard.scoring.score import SelectionRecord
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS
from s2lct.leaderboard.site.examples import examples_of, marked
from s2lct.leaderboard.site.words import (
    BEST_CONSTANT,
    BETTER_WORDS,
    FEW_SIGN,
    FEW_WORDS,
    LEAD_WORDS,
    has_few,
    notes_on,
)
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Cell, Table, page_templates

METHOD_WORDS = (
    "Below each figure its 95 % interval; p→f: expansions that turned a pass into a fail. Method: "
    "docs/scoring.md"
)
NOTHING = "–"
NEARLY_ALL = 0.95
"""A model that gives one label to this share of the cases hardly reads them."""
_LONGEST_SHOWN = 300
_LONGEST_SUITE = 100

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


def by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results of each suite, in the order in which suites come first."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(one.suite.fingerprint, []).append(one)
    return list(groups.values())


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


def suite_line(results: Sequence[Result]) -> str:
    """Which suite results are on, how large it is, and when they were made."""
    fullest, suite = _fullest(results).overall, results[0].suite
    pairs = f" and {fullest.consistency.pairs:,} pairs" if fullest.consistency else ""
    days = sorted(one.date[:10] for one in results)
    return (
        f"Suite {plain(suite.name, _LONGEST_SUITE)}, version {suite.version or 'unknown'}: "
        f"{fullest.cases:,} cases{pairs}; scored {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )


def results_tables(results: Sequence[Result]) -> Iterator[Table]:
    """What a terminal shows of results on one suite: all capabilities, then each of them.

    Of one model seeds and expansions stand apart.
    """
    lead = [LEAD_WORDS] if consistency_leads(results) else []
    words = ". ".join([*lead, *notes_on(results), BETTER_WORDS])
    yield replace(models_table(results), title=suite_line(results), caption=words)
    if len(results) == 1:
        yield model_table(*results)
    else:
        yield from filter(None, (consistency_table(results), capabilities_table(results)))


def models_table(results: Sequence[Result]) -> Table:
    """A row a model, beside what answers come to that do not read the cases."""
    comparable, fullest, names = _comparable(results), _fullest(results), ShownNames(results)
    both = any(one.overall.consistency for one in results)
    silent = any(one.overall.refusals or one.overall.unreadable for one in results)
    heads = ["", *["consistency\nmacro % ↑", "micro\n% ↑"] * both]
    heads += ["failure\nmacro % ↓", "micro\n% ↓"]
    heads += ["against best\nconstant ↑"] * (not both) + ["p→f\n↓"]
    heads += ["refused", "unreadable", "without\nthese % ↓"] * silent
    leads = consistency_leads(results)
    rows: list[tuple[tuple[float, float], list[str | Cell]]] = []
    for one in best_first(results):
        of, whole = one.overall, one in comparable
        share, fails = of.consistency, of.failure_rate
        cells: list[str | Cell] = []
        if share:
            cells += [_with_interval(share.macro, share.macro_ci)]
            cells += [Cell(percent(share.micro), f"{share.right:,}/{share.pairs:,}")]
        elif both:
            cells += [NOTHING, NOTHING]
        cells += [_with_interval(fails.macro, fails.macro_ci)]
        cells += [Cell(percent(fails.micro), f"{fails.failures:,}/{fails.cases:,}")]
        # Consistency leaves little to correct for what a constant answer gets.
        cells += [] if both else [decimals(of.chance_corrected)]
        cells = cells if whole else [NOTHING] * len(cells)
        cells += [str(sum(own.pass_to_fail for own in one.capabilities.values()))]
        if silent:
            rate = of.answered if of.refusals or of.unreadable else fails
            cells += [f"{of.refusals:,}", f"{of.unreadable:,}"]
            cells += [percent(rate.macro if rate else None)]
        place = (-share.macro if leads and share else 0, fails.macro)
        how = "" if one.model.rescorable else one.model.obtained(rescored=False)
        rows.append((place if whole else (1, 0), [Cell(names(one), how), *cells]))
    best, least = chance_of(fullest.references)
    for name, reference in fullest.references.items():
        right, wrong = reference.consistency, reference.failure_rate
        figures = [*map(percent, (right.macro, right.micro) if right else (None, None))] * both
        figures += [percent(wrong.macro), percent(wrong.micro)]
        figures += [] if both else [decimals(chance_corrected(wrong.macro, least))]
        figures += [""] * (len(heads) - 1 - len(figures))
        row: list[str | Cell] = [Cell(text, kind="dim") for text in (f"({name})", *figures)]
        if name == best:
            row[0] = Cell(f"({name})", "best constant", kind="dim")
        rows.append(((-right.macro if leads and right else 0, wrong.macro), row))
    rows.sort(key=lambda one: one[0])
    return Table(heads, [row for _, row in rows])


def capabilities_table(results: Sequence[Result]) -> Table:
    """A row a model and a column a capability: failure rates, coloured by themselves on a page."""
    cases = {name: of.all.cases for name, of in _fullest(results).capabilities.items()}
    caption = f"Failure rate % ↓. {METHOD_WORDS}"
    names = capabilities_of(results)
    return _by_capability(results, names, "all", lambda of: _rate_cell(of.all), cases, caption)


def consistency_table(results: Sequence[Result]) -> Table | None:
    """The same of the consistency on those that have contrasts, if any."""
    pairs = {
        name: of.consistency.pairs
        for one in sorted(results, key=lambda one: one.overall.cases)
        for name, of in one.capabilities.items()
        if of.consistency
    }
    names = [name for name in capabilities_of(results) if name in pairs]
    if not names:
        return None
    caption = "Consistency % ↑: cases answered right together with their contrasts. Below each its "
    caption += "95 % interval" + f". {FEW_WORDS}" * any(map(has_few, pairs.values()))
    return _by_capability(
        results, names, "consistency", lambda of: _share_cell(of.consistency), pairs, caption
    )


def _by_capability(
    results: Sequence[Result],
    capabilities: Sequence[str],
    of_reference: str,
    cell: Callable[[CapabilityFigures], Cell],
    counts: Mapping[str, int],
    caption: str,
) -> Table:
    """A table whose last row says how many cases, or pairs, each capability has."""
    words, names = capability_words(capabilities), ShownNames(results)
    rows: list[list[Cell]] = []
    for one in best_first(results):
        figures = [one.capabilities.get(name) for name in capabilities]
        rows.append([Cell(names(one)), *(cell(of) if of else Cell(NOTHING) for of in figures)])
    for name, reference in _fullest(results).references.items():
        rates = [reference.capabilities.get(each, {}).get(of_reference) for each in capabilities]
        rows.append([Cell(text, kind="dim") for text in (f"({name})", *map(percent, rates))])
    is_pairs = of_reference == "consistency"
    numbers = [f"{counts[name]:,}" if name in counts else NOTHING for name in capabilities]
    of_pairs = ["pairs" if is_pairs else "cases", *numbers]
    rows.append([Cell(text, kind="dim count") for text in of_pairs])
    heads = [
        Cell(name + FEW_SIGN * (is_pairs and has_few(counts[name])), words[name].short)
        for name in capabilities
    ]
    return Table(["", *heads], rows, caption=caption)


def model_table(result: Result) -> Table:
    """A row a capability: one model's rates, with seeds and expansions apart."""
    both, names = result.overall.consistency is not None, capabilities_of([result])
    heads = ["", *["consistency\n% ↑", "pairs"] * both]
    heads += ["failure\nrate % ↓", "seeds\n% ↓", "exp.\n% ↓", "p→f\n↓"]
    words, rows, few = capability_words(names), [], False
    for name in names:
        of = result.capabilities[name]
        is_few = of.consistency is not None and has_few(of.consistency.pairs)
        few |= is_few
        cells = [Cell(name + FEW_SIGN * is_few, words[name].short)]
        if both:
            pairs = f"{of.consistency.pairs:,}" if of.consistency else NOTHING
            cells += [_share_cell(of.consistency), Cell(pairs)]
        cells += map(_rate_cell, (of.all, of.seed, of.expansion))
        cells += [Cell(str(of.pass_to_fail))]
        rows.append(cells)
    return Table(heads, rows, caption=METHOD_WORDS + f". {FEW_WORDS}" * few)


def _with_interval(value: float, interval: tuple[float, float]) -> Cell:
    return Cell(percent(value), "–".join(map(percent, interval)))


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
    for figure, unit, words, tests in (
        ("consistency", "pairs", f"{LEAD_WORDS}. {CONSISTENCY_WORDS}", consistency),
        ("failure rates", "cases", TEST_WORDS, compared),
    ):
        better = "↓" if unit == "cases" else "↑"
        heads = ["families", f"first\n% {better}", f"second\n% {better}"]
        heads += ["first\nalone", "second\nalone", "p", "better"]
        few = {name for name, one in tests.items() if unit == "pairs" and has_few(one.cases)} - {
            MEAN
        }
        rows = [
            [name + FEW_SIGN * (name in few), str(one.cases), str(one.families),
             *(percent(rate if unit == "cases" else 1 - rate) for rate in one.rates),
             str(one.first_only), str(one.second_only), f"{shown_p(one.adjusted):.3g}",
             "undecided" if one.better is None else names[one.better]]
            for name, one in tests.items()
        ]  # fmt: skip
        if rows:
            title = f"{first} against {second}, {figure}: {_counted(tests)}"
            alone = f"Alone: {unit} that this model fails and the other passes; they decide nothing"
            caption = f"{words}. {alone}." + f" {FEW_WORDS}." * bool(few)
            yield Table(["", unit, *heads], rows, title, caption)


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


def html_report(scored: Sequence[ScoredModel]) -> str:
    """The report as one HTML page that needs no network.

    The suite of the first result comes first, with examples.
    """
    suites = by_suite([one.result for one in scored])
    results = best_first(suites[0])
    of_suite = [one for one in scored if one.result in results]
    hardest = _hardest_first(results)
    words = capability_words(hardest)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {"percent": percent, "marked": marked, "brief": _brief}
    methods = [CONSISTENCY_WORDS] * any(one.overall.consistency is not None for one in results)
    methods += [MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    return environment.get_template("report.html.jinja").render(
        suites=suites,
        results=results,
        suite_line=suite_line,
        conclusion=_conclusion(results, words[hardest[0]].short or hardest[0]),
        lead=LEAD_WORDS if consistency_leads(results) else "",
        notes=notes_on(results),
        better=BETTER_WORDS,
        models_table=models_table,
        consistency_table=consistency_table,
        capabilities_table=capabilities_table,
        model_table=model_table,
        examples=[(name, words[name], examples_of(of_suite, name)) for name in hardest],
        shown_name=ShownNames(results),
        warning=one_label_warning,
        reading_of=reading_of,
        methods=methods,
        labels=LABELS,
    )


def _brief(text: str) -> str:
    """A stranger's text on one line, cut where it is very long."""
    return plain(text, _LONGEST_SHOWN)


def _hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities by what ranks the models that were asked them, in the mean: worst first.

    Where consistency ranks, those without contrasts stand behind all that are not always right.
    """
    leads = consistency_leads(results)
    places: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for name, of in result.capabilities.items():
            share = of.consistency.share if of.consistency else 1.0
            places.setdefault(name, []).append((share if leads else 0.0, -of.all.failure_rate))

    def mean(name: str) -> list[float]:
        return [sum(values) / len(places[name]) for values in zip(*places[name], strict=True)]

    return sorted(places, key=mean)


def _conclusion(results: Sequence[Result], hardest: str) -> str:
    """What a report comes to in a sentence or two.

    Results of a part of the suite take no part where one is of the whole.
    """
    ranked, shown_name = best_first(_comparable(results) or results), ShownNames(results)
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
    return (
        f"{first}. The {BEST_CONSTANT}, {name}, fails {percent(blind)} % (macro). Hardest is: "
        f"{hardest}."
    )


def _failing(result: Result) -> str:
    """How many cases fail, and the mean over the capabilities, in words."""
    rate = result.overall.failure_rate
    return (
        f"{rate.failures:,} of {rate.cases:,} cases ({percent(rate.micro)} %, micro), in the mean "
        f"over the capabilities {percent(rate.macro)} % {_bounds(rate.macro_ci)} (macro)"
    )
