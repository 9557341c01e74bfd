"""What models fail, as the report shows it: pairs, seeds, and words that broke a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from s2lct.leaderboard.answers.text_answers import PREDICTION_WORDS
from s2lct.leaderboard.results.read_results import ScoredModel
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import flips, pairs_of
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.plain_text import MAX_LINE_CHARACTERS
from s2lct.suite.cases import Case
from s2lct.suite.tables import CONTRAST

MAX_EXAMPLES = 4
_MAX_MODELS = 3


@dataclass(frozen=True)
class Prediction:
    """A case, what a model predicted, and whether that passes."""

    case: Case
    label: str
    passes: bool


@dataclass(frozen=True)
class Examples:
    """What a model fails in a capability.

    Attributes:
        result: the model's.
        pairs: cases and their contrasts, not both answered right.
        seeds: seeds that fail.
        broken: expansions that fail though their seeds pass.
    """

    result: Result
    pairs: list[tuple[Prediction, Prediction]]
    seeds: list[Prediction]
    broken: list[Prediction]


def examples_of(scored: Sequence[ScoredModel], capability: str) -> list[Examples]:
    """What the models that do worst in a capability fail there, the worst first.

    They are ordered by consistency where the capability has contrasts, else by failures; seeds are
    left out where there are pairs.
    """
    examples: list[Examples] = []
    for result, outcomes in sorted(scored, key=lambda model: _right(model.result, capability)):
        if capability in result.capabilities and len(examples) < _MAX_MODELS:
            pairs = _failing_pairs(outcomes, capability)
            seeds = [] if pairs else _failing_seeds(outcomes, capability)
            broken = _broken_expansions(outcomes, capability)
            if pairs or seeds or broken:
                examples.append(Examples(result, pairs, seeds, broken))
    return examples


def _right(result: Result, capability: str) -> tuple[float, float]:
    figures = result.capabilities.get(capability)
    if figures is None:
        return 1.0, 0.0
    consistency = figures.consistency.share if figures.consistency else 1.0
    return consistency, -figures.all.failure_rate


def _prediction(outcomes: Outcomes, number: int) -> Prediction:
    """What a model predicted for a text, by its number among all that the suite asks."""
    case, label = outcomes.suite.with_contrasts[number], int(outcomes.labels[number])
    return Prediction(case, PREDICTION_WORDS[label], label in case.passes)


def _first_of_seeds(cases: Sequence[Case], numbers: Iterable[int]) -> list[int]:
    """The first case of each seed, for as many seeds as a page shows."""
    number_of: dict[str, int] = {}
    for number in numbers:
        number_of.setdefault(cases[number].seed_id, number)
    return list(number_of.values())[:MAX_EXAMPLES]


def _shortest_first(cases: Sequence[Case], numbers: Iterable[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (len(cases[number].text), cases[number].id))


def _failing_pairs(outcomes: Outcomes, capability: str) -> list[tuple[Prediction, Prediction]]:
    """Pairs of which not both are right, the shortest of each seed, the shortest cases first."""
    cases, contrasts = outcomes.cases, outcomes.suite.contrasts
    pairs = (numbers.tolist() for numbers in pairs_of(cases, contrasts, CONTRAST))
    contrast_of = {
        case: len(cases) + contrast
        for case, contrast, right in zip(*pairs, outcomes.pairs().right, strict=True)
        if not right and cases[case].capability == capability
    }
    return [
        (_prediction(outcomes, number), _prediction(outcomes, contrast_of[number]))
        for number in _first_of_seeds(cases, _shortest_first(cases, contrast_of))
    ]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Seeds that fail, the shortest first."""
    cases = outcomes.cases
    failing = [
        number
        for number in outcomes.failed.nonzero()[0].tolist()
        if cases[number].capability == capability and cases[number].kind == "seed"
    ]
    shown = _shortest_first(cases, failing)[:MAX_EXAMPLES]
    return [_prediction(outcomes, number) for number in shown]


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """Expansions that fail while their seeds pass, the first of each seed."""
    cases = outcomes.cases
    broken = (n for n in flips(cases, outcomes.failed)[0] if cases[n].capability == capability)
    return [_prediction(outcomes, number) for number in _first_of_seeds(cases, broken)]


def cut(text: str) -> str:
    """A text as a page shows it: a suite's may be of any length."""
    return text if len(text) <= MAX_LINE_CHARACTERS else text[:MAX_LINE_CHARACTERS] + "…"


def marked(case: Case) -> Markup:
    """A case's text, escaped and cut where it is very long, with the inserted words marked."""
    text, html = cut(case.text), Markup("")
    for word in case.inserted:
        before, match, rest = text.partition(word)
        while match and (before[-1:].isalpha() or rest[:1].isalpha()):
            more, match, rest = rest.partition(word)
            before += word + more
        if match:
            html += escape(before) + Markup("<mark>") + escape(word) + Markup("</mark>")
            text = rest
    return html + escape(text)
