"""The report of a few results as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from s2lct.files import write_text
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import SAID
from s2lct.leaderboard.results.prompts import over_prompts
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring import chance
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import flips
from s2lct.leaderboard.site.capability_words import CapabilityWords, capability_words
from s2lct.leaderboard.site.report import (
    Scored,
    check_same_suite,
    figure_words,
    one_answer_warning,
    percent,
    shown_name,
    worst_first,
)
from s2lct.leaderboard.site.report_grids import BESIDE, Grids, Head, capability_head, hardest_first
from s2lct.pages import page_templates
from s2lct.suite.cases import Case

EXAMPLES = 4
_MODELS_WITH_EXAMPLES = 3
Said = tuple[Case, str]
"""A case, and what a model said of it."""


@dataclass(frozen=True)
class ModelExamples:
    """What one model fails of a capability: its rate, and some seeds and expansions."""

    name: str
    failure_rate: float
    seeds: Sequence[Said]  # that fail, the shortest first
    broken: Sequence[Said]  # expansions that fail while their seeds pass


@dataclass(frozen=True)
class CapabilityExamples:
    """Examples of a capability: of the models that fail it most, the worst first."""

    head: Head
    expectation: str
    models: Sequence[ModelExamples]
    left_out: int  # models that fail it too


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


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Said]:
    """Expansions that fail while their seeds pass, with what was said; of each seed the first."""
    found: dict[str, Said] = {}
    for number in flips(outcomes.cases, outcomes.failed)[0]:
        case = outcomes.cases[number]
        if case.capability == capability:
            found.setdefault(case.seed_id, (case, SAID[outcomes.labels[number]]))
    return list(found.values())[:EXAMPLES]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Said]:
    """Seeds that fail, the shortest first, with what the model said."""
    said = zip(outcomes.cases, outcomes.labels, outcomes.failed, strict=True)
    failing = [
        (case, SAID[label])
        for case, label, failed in said
        if failed and case.capability == capability and case.kind == "seed"
    ]
    return sorted(failing, key=lambda one: (len(one[0].text), one[0].id))[:EXAMPLES]


def _examples(
    scored: Sequence[Scored], name: str, words: Mapping[str, CapabilityWords]
) -> CapabilityExamples:
    rates: list[tuple[float, Scored]] = []
    for one in scored:
        of = one.result.capabilities.get(name)
        if of is not None and of.all is not None and of.all.failures:
            rates.append((of.all.failure_rate, one))
    rates.sort(key=lambda pair: -pair[0])
    models = [
        ModelExamples(
            shown_name(one.result),
            rate,
            _failing_seeds(one.outcomes, name),
            _broken_expansions(one.outcomes, name),
        )
        for rate, one in rates[:_MODELS_WITH_EXAMPLES]
    ]
    left_out = max(0, len(rates) - _MODELS_WITH_EXAMPLES)
    return CapabilityExamples(
        capability_head(name, words), words[name].expectation, models, left_out
    )


def conclusion(results: Sequence[Result], hardest: str, best_blind: tuple[str, float]) -> str:
    """What a report comes to in a sentence or two.

    Args:
        results: those of a part of the suite take no part where one is of the whole.
        hardest: the words of the capability that they fail most.
        best_blind: name and mean of the best answer that does not read, see `chance.chance_of`.
    """
    ranked = sorted(
        [one for one in results if not one.partial] or results,
        key=lambda one: (one.overall.failure_rate, one.model.name),
    )
    best, worst = ranked[0], ranked[-1]
    low, high = best.overall.ci
    told = f"{percent(best.overall.failure_rate)} % [{percent(low)}, {percent(high)}]"
    blind = f"chance, {best_blind[0]}, comes to {percent(best_blind[1])} %"
    if len(ranked) == 1:
        first = f"{best.model.name} is wrong about {told} of the cases; {blind}"
    else:
        first = (
            f"{best.model.name} is wrong least often, about {told} of the cases, and "
            f"{worst.model.name} most often, about {percent(worst.overall.failure_rate)} %; {blind}"
        )
    return f"{first}. Hardest is: {hardest}."


def html_report(scored: Sequence[Scored], sections: Sequence[Markup] = ()) -> str:
    """The report as one HTML page that needs no network, with safe HTML of other analyses.

    Results of one model that differ in the prompt alone are one model, with examples of the first.
    """
    check_same_suite([one.result for one in scored])
    outcomes_of = {id(one.result): one.outcomes for one in scored}
    models = sorted(
        over_prompts([one.result for one in scored]), key=lambda one: worst_first(one.figures)
    )
    results = [one.figures for one in models]
    with_examples = [Scored(one.figures, outcomes_of[id(one.results[0])]) for one in models]
    names = hardest_first(results)
    words = capability_words(names)
    outcomes = max(scored, key=lambda one: len(one.outcomes.asked)).outcomes
    known = chance.references(outcomes.cases, outcomes.counterparts)
    best_blind = chance.chance_of(chance.reference_means(known))
    grids = Grids(models, names, words, known)
    silent = grids.silent()
    hardest = capability_head(names[0], words)
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters |= {"percent": percent, "marked": marked}
    return environment.get_template("report.html.jinja").render(
        scored=with_examples,
        conclusion=conclusion(results, hardest.name, best_blind),
        heat_map=grids.failure_rates(),
        apart=grids.apart(),
        silent=silent,
        beside=len(results) <= BESIDE,
        examples=[_examples(with_examples, name, words) for name in names],
        sections=sections,
        shown_name=shown_name,
        warning=one_answer_warning,
        words=figure_words(
            both=any(one.overall.both_sides for one in results),
            spread=any(one.several for one in models),
            silent=bool(silent),
        ),
        labels=LABELS,
    )


def write_html(scored: Sequence[Scored], path: Path, sections: Sequence[Markup] = ()) -> None:
    """Write `html_report` to a file, whole or not at all."""
    write_text(path, html_report(scored, sections))
