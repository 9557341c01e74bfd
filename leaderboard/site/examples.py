"""Examples of failures for the report: pairs, seeds, and expansions of seeds that pass."""

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
    """A case, the label that a model predicted, and whether that passes."""

    case: Case
    label: str
    passes: bool


@dataclass(frozen=True)
class Examples:
    """Examples of a model's failures in a capability.

    Attributes:
        result: the result of the model.
        pairs: cases and their contrasts, not both answered right.
        seeds: seeds that fail.
        broken_expansions: expansions that fail though their seeds pass.
    """

    result: Result
    pairs: list[tuple[Prediction, Prediction]]
    seeds: list[Prediction]
    broken_expansions: list[Prediction]


def examples_of(scored: Sequence[ScoredModel], capability: str) -> list[Examples]:
    """Examples of failures of the worst models in a capability, the worst model first.

    Models are ordered by consistency if the capability has contrasts, else by failure rate. Seeds
    are left out if there are pairs.
    """
    examples: list[Examples] = []
    for result, outcomes in sorted(scored, key=lambda m: _worst_first(m.result, capability)):
        if capability in result.capabilities and len(examples) < _MAX_MODELS:
            pairs = _failing_pairs(outcomes, capability)
            seeds = [] if pairs else _failing_seeds(outcomes, capability)
            broken = _broken_expansions(outcomes, capability)
            if pairs or seeds or broken:
                examples.append(Examples(result, pairs, seeds, broken))
    return examples


def _worst_first(result: Result, capability: str) -> tuple[float, float]:
    figures = result.capabilities.get(capability)
    if figures is None:
        return 1.0, 0.0
    consistency = figures.consistency.share if figures.consistency else 1.0
    return consistency, -figures.all.failure_rate


def _prediction(outcomes: Outcomes, number: int) -> Prediction:
    """A model's prediction for a text, by its index in `SuiteCases.with_contrasts`."""
    case, label = outcomes.suite.with_contrasts[number], int(outcomes.labels[number])
    return Prediction(case, PREDICTION_WORDS[label], label in case.passes)


def _one_of_each_seed(cases: Sequence[Case], numbers: Iterable[int]) -> list[int]:
    """The number of the first case of each of the first `MAX_EXAMPLES` seeds."""
    number_of: dict[str, int] = {}
    for number in numbers:
        number_of.setdefault(cases[number].seed_id, number)
    return list(number_of.values())[:MAX_EXAMPLES]


def _shortest_first(cases: Sequence[Case], numbers: Iterable[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (len(cases[number].text), cases[number].id))


def _failing_pairs(outcomes: Outcomes, capability: str) -> list[tuple[Prediction, Prediction]]:
    """Pairs not both answered right: of each seed the shortest, in the order of length."""
    cases, contrasts = outcomes.cases, outcomes.suite.contrasts
    number_pairs = (numbers.tolist() for numbers in pairs_of(cases, contrasts, CONTRAST))
    contrast_of = {
        case: len(cases) + contrast
        for case, contrast, is_right in zip(*number_pairs, outcomes.pairs().right, strict=True)
        if not is_right and cases[case].capability == capability
    }
    return [
        (_prediction(outcomes, number), _prediction(outcomes, contrast_of[number]))
        for number in _one_of_each_seed(cases, _shortest_first(cases, contrast_of))
    ]


def _failing_seeds(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """The shortest seeds that fail, the shortest first."""
    cases = outcomes.cases
    failing_numbers = [
        number
        for number in outcomes.failed.nonzero()[0].tolist()
        if cases[number].capability == capability and cases[number].kind == "seed"
    ]
    shown_numbers = _shortest_first(cases, failing_numbers)[:MAX_EXAMPLES]
    return [_prediction(outcomes, number) for number in shown_numbers]


def _broken_expansions(outcomes: Outcomes, capability: str) -> list[Prediction]:
    """The first expansion of each seed that fails though its seed passes."""
    cases = outcomes.cases
    broken = (n for n in flips(cases, outcomes.failed)[0] if cases[n].capability == capability)
    return [_prediction(outcomes, number) for number in _one_of_each_seed(cases, broken)]


def truncate_text(text: str) -> str:
    """A text for a page, cut after `MAX_LINE_CHARACTERS`."""
    return text if len(text) <= MAX_LINE_CHARACTERS else text[:MAX_LINE_CHARACTERS] + "…"


def mark_insertions(case: Case) -> Markup:
    """A case's text in HTML, truncated, with its inserted words in ``<mark>`` elements."""
    text, html = truncate_text(case.text), Markup("")
    for word in case.inserted:
        before, match, after = text.partition(word)
        while match and (before[-1:].isalpha() or after[:1].isalpha()):
            skipped, match, after = after.partition(word)
            before += word + skipped
        if match:
            html += escape(before) + Markup("<mark>") + escape(word) + Markup("</mark>")
            text = after
    return html + escape(text)
