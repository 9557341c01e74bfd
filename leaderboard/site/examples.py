"""What models fail, as the report shows it: pairs, seeds, and words that broke a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from s2lct.leaderboard.answers.text_answers import PREDICTED
from s2lct.leaderboard.results.read_results import ScoredModel
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import flips, pairs_of
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case
from s2lct.suite.tables import CONTRAST

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


def examples_of(scored: Sequence[ScoredModel], name: str) -> list[Examples]:
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


def _predicted(outcomes: Outcomes, numbers: Sequence[int]) -> list[Predicted]:
    """What a model predicted of texts, by their numbers among all that the suite asks."""
    asked, labels = outcomes.suite.with_contrasts, outcomes.labels
    return [
        Predicted(asked[n], PREDICTED[int(labels[n])], int(labels[n]) in asked[n].passes)
        for n in numbers
    ]


def _failing_pairs(outcomes: Outcomes, capability: str) -> list[tuple[Predicted, Predicted]]:
    """Pairs of which not both are right, of each seed the shortest, the shortest cases first."""
    cases, contrasts = outcomes.cases, outcomes.suite.contrasts
    pairs = (numbers.tolist() for numbers in pairs_of(cases, contrasts, CONTRAST))
    wrong = [
        (own, len(cases) + other)
        for own, other, right in zip(*pairs, outcomes.pairs().right, strict=True)
        if not right and cases[own].capability == capability
    ]
    of_seed: dict[str, tuple[int, int]] = {}
    for pair in sorted(wrong, key=lambda pair: _short_first(cases[pair[0]])):
        of_seed.setdefault(cases[pair[0]].seed_id, pair)
    shown = list(of_seed.values())[:EXAMPLES]
    first, second = (_predicted(outcomes, [pair[side] for pair in shown]) for side in (0, 1))
    return list(zip(first, second, strict=True))


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Predicted]:
    """Seeds that fail, the shortest first."""
    cases = outcomes.cases
    failing = [
        number
        for number in outcomes.failed.nonzero()[0].tolist()
        if cases[number].capability == capability and cases[number].kind == "seed"
    ]
    failing.sort(key=lambda number: _short_first(cases[number]))
    return _predicted(outcomes, failing[:EXAMPLES])


def _short_first(case: Case) -> tuple[int, str]:
    return len(case.text), case.id


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Predicted]:
    """Expansions that fail while their seeds pass; of each seed the first."""
    of_seed: dict[str, int] = {}
    for number in flips(outcomes.cases, outcomes.failed)[0]:
        case = outcomes.cases[number]
        if case.capability == capability:
            of_seed.setdefault(case.seed_id, number)
    return _predicted(outcomes, list(of_seed.values())[:EXAMPLES])


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
