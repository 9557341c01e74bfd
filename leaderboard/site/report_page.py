"""The report of a few results as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import SAID
from s2lct.leaderboard.results.prompts import PROMPTS_WORDS, OverPrompts
from s2lct.leaderboard.results.read import Scored
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring import chance
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES_WORDS
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS, MEAN_WORDS, flips
from s2lct.leaderboard.site.capability_words import CapabilityWords, capability_words
from s2lct.leaderboard.site.report import (
    NOTHING,
    Measure,
    any_silent,
    by_suite,
    compared,
    decimals,
    models_table,
    one_answer_warning,
    percent,
    rate_cell,
    share_cell,
    shown_name,
    suites_table,
    with_spread,
    worst_first,
)
from s2lct.suite.cases import Case
from s2lct.tables import Cell, Table, page_templates

EXAMPLES = 4
_MODELS_WITH_EXAMPLES = 3
_BESIDE = 3
"""So many models stand side by side, a column each; more of them stand below each other."""
Prediction = tuple[Case, str]
"""A case, and what a model said of it."""


class Examples(NamedTuple):
    """What one model fails of a capability: its rate, and some seeds and expansions."""

    name: str
    failure_rate: float
    seeds: Sequence[Prediction]  # that fail, the shortest first
    broken: Sequence[Prediction]  # expansions that fail while their seeds pass


def html_report(scored: Sequence[Scored]) -> str:
    """The report as one HTML page that needs no network.

    The suite of the first result comes first, with examples; results of one model that differ in
    the prompt alone are one model, with examples of the first.
    """
    first, *others = by_suite([one.result for one in scored])
    outcomes_of = {id(one.result): one.outcomes for one in scored}
    models = worst_first(first)
    results = [one.figures for one in models]
    with_examples = [Scored(one.figures, outcomes_of[id(one.results[0])]) for one in models]
    names = _hardest_first(results)
    words = capability_words(names)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {"percent": percent, "marked": marked}
    both = any(one.overall.both_sides for one in results)
    return environment.get_template("report.html.jinja").render(
        suite=first[0].suite,
        results=results,
        conclusion=_conclusion(results, words[names[0]].short or names[0]),
        heat_map=_failure_rates(models, names, words),
        apart=_apart(models, names, words),
        silent=models_table(first) if any_silent(results) else None,
        examples=[(name, words[name], _examples(with_examples, name)) for name in names],
        suites=suites_table([first, *others]) if others else None,
        others=[_other_suite(group) for group in others],
        shown_name=shown_name,
        warning=one_answer_warning,
        method=[MEAN_WORDS, INTERVAL_WORDS, chance.CHANCE_WORDS]
        + [PROMPTS_WORDS] * any(one.several for one in models),
        both_sides=BOTH_SIDES_WORDS if both else "",
        labels=LABELS,
    )


def _other_suite(results: Sequence[Result]) -> tuple[Result, Table]:
    models = worst_first(results)
    names = _hardest_first([one.figures for one in models])
    return results[0], _failure_rates(models, names, capability_words(names))


def _hardest_first(results: Sequence[Result]) -> list[str]:
    """Capabilities by the mean failure rate of the models that were asked them."""
    rates: dict[str, list[float]] = {}
    for result in results:
        for name, of in result.capabilities.items():
            rates.setdefault(name, []).append(of.all.failure_rate)
    return sorted(rates, key=lambda name: -sum(rates[name]) / len(rates[name]))


def _table(
    models: Sequence[OverPrompts],
    names: Sequence[str],
    words: Mapping[str, CapabilityWords],
    measure: Measure,
    first: Sequence[tuple[str, Sequence[Cell]]] = (),
    *,
    references: bool = False,
) -> Table:
    """A row a capability, a column a model, turned where models are many.

    ``first`` are rows before those of the capabilities. With ``references`` there are columns for
    answers that do not read the cases.
    """
    fullest = max((one.figures for one in models), key=lambda one: one.overall.cases)
    known = fullest.references if references else {}
    heads = [Cell(shown_name(one.figures)) for one in models]
    heads += [Cell(name, kind="reference") for name in known]
    rows: list[list[Cell]] = [[Cell(head), *cells] for head, cells in first]
    for name in names:
        cells = [
            measure(of) if (of := one.figures.capabilities.get(name)) else Cell(NOTHING)
            for one in models
        ]
        if references:
            cells = [
                with_spread(cell, one.capabilities.get(name) if one.several else None)
                for cell, one in zip(cells, models, strict=True)
            ]
        cells += [
            Cell(percent(of.capabilities.get(name)), kind="reference") for of in known.values()
        ]
        short = words[name].short
        rows.append([Cell(short, name) if short else Cell(name), *cells])
    table = Table([Cell(""), *heads], rows)
    return table.turned() if len(models) > _BESIDE else table


def _failure_rates(
    models: Sequence[OverPrompts], names: Sequence[str], words: Mapping[str, CapabilityWords]
) -> Table:
    """The table that says most: means, then capabilities, with intervals and spreads."""
    means = [
        with_spread(
            rate_cell(one.figures.overall, coloured=False), one.overall if one.several else None
        )
        for one in models
    ]
    corrected = [Cell(decimals(one.figures.overall.chance_corrected)) for one in models]
    references = max((one.figures for one in models), key=lambda one: one.overall.cases).references
    best, least = chance.chance_of({name: of.failure_rate for name, of in references.items()})
    for name, of in references.items():
        note = "= chance" if name == best else ""
        means.append(Cell(percent(of.failure_rate), note, kind="reference"))
        shown = decimals(chance.chance_corrected(of.failure_rate, least))
        corrected.append(Cell(shown, kind="reference"))
    first = [("mean", means), ("chance-corrected", corrected)]
    return _table(models, names, words, lambda of: rate_cell(of.all), first, references=True)


def _apart(
    models: Sequence[OverPrompts], names: Sequence[str], words: Mapping[str, CapabilityWords]
) -> dict[str, Table]:
    """Seeds and expansions apart, and what else is counted, by their headings."""
    results = [one.figures for one in models]
    tables = {
        "Seeds": _table(models, names, words, lambda of: rate_cell(of.seed)),
        "Expansions": _table(models, names, words, lambda of: rate_cell(of.expansion)),
        "Expansions that fail though their seed passes": _table(
            models,
            names,
            words,
            lambda of: Cell(str(of.pass_to_fail), title=f"of {of.expansion.cases} expansions"),
        ),
    }
    if any(one.overall.both_sides for one in results):
        means = [share_cell(one.overall.both_sides) for one in results]
        asked = [
            name
            for name in names
            if any(
                name in one.capabilities and one.capabilities[name].both_sides for one in results
            )
        ]
        tables["Right on both sides"] = _table(
            models, asked, words, lambda of: share_cell(of.both_sides), [("mean", means)]
        )
    return tables


def _conclusion(results: Sequence[Result], hardest: str) -> str:
    """What a report comes to in a sentence or two.

    Results of a part of the suite take no part where one is of the whole.
    """
    ranked = sorted(
        compared(results) or results, key=lambda one: (one.overall.failure_rate, one.model.name)
    )
    best, worst = ranked[0], ranked[-1]
    low, high = best.overall.ci
    told = f"{percent(best.overall.failure_rate)} % [{percent(low)}, {percent(high)}]"
    name, blind = chance.chance_of(
        {name: one.failure_rate for name, one in best.references.items()}
    )
    if len(ranked) == 1:
        first = f"{best.model.name} is wrong about {told} of the cases"
    else:
        first = (
            f"{best.model.name} is wrong least often, about {told} of the cases, and "
            f"{worst.model.name} most often, about {percent(worst.overall.failure_rate)} %"
        )
    return f"{first}; chance, {name}, comes to {percent(blind)} %. Hardest is: {hardest}."


def _examples(scored: Sequence[Scored], name: str) -> list[Examples]:
    """Of the models that fail a capability most, the worst first."""
    found = [
        Examples(
            shown_name(one.result),
            of.all.failure_rate,
            _failing_seeds(one.outcomes, name),
            _broken_expansions(one.outcomes, name),
        )
        for one in scored
        if (of := one.result.capabilities.get(name)) is not None and of.all.failures
    ]
    return sorted(found, key=lambda one: -one.failure_rate)[:_MODELS_WITH_EXAMPLES]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Seeds that fail, the shortest first, with what the model said."""
    predictions = zip(outcomes.cases, outcomes.labels, outcomes.failed, strict=True)
    failing = [
        (case, SAID[label])
        for case, label, failed in predictions
        if failed and case.capability == capability and case.kind == "seed"
    ]
    return sorted(failing, key=lambda one: (len(one[0].text), one[0].id))[:EXAMPLES]


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Expansions that fail while their seeds pass, with what was said; of each seed the first."""
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
