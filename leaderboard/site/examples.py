"""What models fail, as the report shows it: pairs, seeds, and words that broke a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from s2lct.leaderboard.answers.text_answers import PREDICTED
from s2lct.leaderboard.results.read import Scored
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import flips
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case

EXAMPLES = 4
LONGEST_TEXT = 400
_MODELS_WITH_EXAMPLES = 3


@dataclass(frozen=True)
class Predicted:
    """A case, what a model predicted of it, and whether that passes."""

    case: Case
    label: str
    passes: bool


@dataclass(frozen=True)
class Examples:
    """What a model fails of a capability.

    Attributes:
        result: the model's.
        pairs: cases and their contrasts, not both answered right.
        seeds: seeds that fail.
        broken: expansions that fail though their seeds pass.
    """

    result: Result
    pairs: list[tuple[Predicted, Predicted]]
    seeds: list[Predicted]
    broken: list[Predicted]


def examples_of(scored: Sequence[Scored], name: str) -> list[Examples]:
    """What the models that do worst on a capability fail of it, the worst first.

    By consistency where the capability has contrasts, else by failures; seeds are left out where
    there are pairs.
    """
    found: list[Examples] = []
    for one in sorted(scored, key=lambda one: _right(one.result, name)):
        if name in one.result.capabilities and len(found) < _MODELS_WITH_EXAMPLES:
            pairs = _failing_pairs(one.outcomes, name)
            seeds = [] if pairs else _failing_seeds(one.outcomes, name)
            examples = Examples(one.result, pairs, seeds, _broken_expansions(one.outcomes, name))
            if pairs or seeds or examples.broken:
                found.append(examples)
    return found


def _right(result: Result, name: str) -> tuple[float, float]:
    of = result.capabilities.get(name)
    if of is None:
        return 1.0, 0.0
    return of.consistency.share if of.consistency else 1.0, -of.all.failure_rate


def _predicted(outcomes: Outcomes) -> Callable[[Case], Predicted]:
    labels = {
        (case.capability, case.id): int(label)
        for case, label in zip(outcomes.suite.with_contrasts, outcomes.labels, strict=True)
    }

    def predicted(case: Case) -> Predicted:
        label = labels[case.capability, case.id]
        return Predicted(case, PREDICTED[label], label in case.passes)

    return predicted


def _failing_pairs(outcomes: Outcomes, capability: str) -> list[tuple[Predicted, Predicted]]:
    """Pairs of which not both are right, of each seed the shortest, the shortest cases first."""
    predicted, asked = _predicted(outcomes), outcomes.pairs()
    wrong = [
        (case, contrast)
        for case, contrast, right in zip(asked.cases, asked.contrasts, asked.right, strict=True)
        if not right and case.capability == capability
    ]
    of_seed: dict[str, tuple[Case, Case]] = {}
    for pair in sorted(wrong, key=lambda pair: (len(pair[0].text), pair[0].id)):
        of_seed.setdefault(pair[0].seed_id, pair)
    shown = list(of_seed.values())[:EXAMPLES]
    return [(predicted(case), predicted(contrast)) for case, contrast in shown]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Predicted]:
    """Seeds that fail, the shortest first."""
    failing = [
        case
        for case, failed in zip(outcomes.cases, outcomes.failed, strict=True)
        if failed and case.capability == capability and case.kind == "seed"
    ]
    failing.sort(key=lambda case: (len(case.text), case.id))
    return [*map(_predicted(outcomes), failing[:EXAMPLES])]


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Predicted]:
    """Expansions that fail while their seeds pass; of each seed the first."""
    of_seed: dict[str, Case] = {}
    for number in flips(outcomes.cases, outcomes.failed)[0]:
        case = outcomes.cases[number]
        if case.capability == capability:
            of_seed.setdefault(case.seed_id, case)
    return [*map(_predicted(outcomes), list(of_seed.values())[:EXAMPLES])]


def cut(text: str) -> str:
    """A text as a page shows it: a suite's may be of any length."""
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def marked(case: Case) -> Markup:
    """A case's text, escaped and cut where it is very long, with the inserted words marked."""
    text, html = cut(case.text), Markup("")
    for word in case.inserted:
        before, found, rest = text.partition(word)
        while found and (before[-1:].isalpha() or rest[:1].isalpha()):
            more, found, rest = rest.partition(word)
            before += word + more
        if found:
            html += escape(before) + Markup("<mark>") + escape(word) + Markup("</mark>")
            text = rest
    return html + escape(text)
