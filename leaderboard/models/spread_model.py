"""Models that workers of an engine load: what is known of them where answers are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.classifier import Precision
from s2lct.leaderboard.models.language_model import LabelPrompt


@dataclass(frozen=True)
class ModelFacts:
    """What a worker tells of a model that it has loaded; see `Outcomes` and `TextModel`.

    ``classes`` are empty of a model that answers in words, ``label_rule`` of any other.
    """

    name: str
    revision: str
    fingerprint: str
    weights_sha256: str
    classes: tuple[str, ...]
    parameters: int | None
    licence: str | None
    asks: LabelPrompt | None
    label_rule: str
    precision: Precision


class SpreadModel:
    """A model that workers have answered all texts with: its answers are in the cache."""

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts
        self.name, self.revision = facts.name, facts.revision
        self.fingerprint, self.weights_sha256 = facts.fingerprint, facts.weights_sha256

    def _refuse(self) -> NoReturn:
        raise ScoringError(
            f"model {self.name}: what workers answered could not be kept",
            hint="make room for the cache, or set S2LCT_CACHE to a folder that can be written; the "
            "same command goes on where this one stopped",
        )


class SpreadClassifier(SpreadModel):
    """One that gives probabilities, as a `Classifier`."""

    def __init__(self, facts: ModelFacts) -> None:
        super().__init__(facts)
        self.classes, self.asks = facts.classes, facts.asks

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Raise a ScoringError: nothing is asked here."""
        self._refuse()


class SpreadTextModel(SpreadModel):
    """One that answers in words, as a `TextModel`."""

    def __init__(self, facts: ModelFacts) -> None:
        super().__init__(facts)
        self.asks, self.label_rule = facts.asks or LabelPrompt(), facts.label_rule

    def answer(self, texts: Sequence[str], came: Callable[[int, TextAnswer], None]) -> None:
        """Raise a ScoringError: nothing is asked here."""
        self._refuse()


def spread_model(facts: ModelFacts) -> SpreadClassifier | SpreadTextModel:
    """The model of which facts are told."""
    return SpreadTextModel(facts) if facts.label_rule else SpreadClassifier(facts)
