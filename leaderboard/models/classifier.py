"""What a model to score is: something that gives probabilities, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from s2lct.leaderboard.answers.predictions import Array

EMBEDDED_MODELS = ("embedded-2class", "embedded-3class")


class Classifier(Protocol):
    """Anything that gives probabilities of classes.

    Attributes:
        name: shown in tables.
        revision: the Hub commit, or the version of the package; empty if there is none.
        fingerprint: SHA-256 over what decides its answers; empty where they must not be kept.
        classes: names of the classes, in the order of the columns.
    """

    @property
    def name(self) -> str:
        """See above."""

    @property
    def revision(self) -> str:
        """See above."""

    @property
    def fingerprint(self) -> str:
        """See above."""

    @property
    def classes(self) -> tuple[str, ...]:
        """See above."""

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Batches: the numbers of their texts, and probabilities of shape (batch, classes)."""


class Function:
    """A Python function or a pipeline as a classifier.

    It is handed a list of texts and gives what `prediction_labels.labels_of_predictions` takes.
    What it says is not kept: nothing tells whether it changed.

    Attributes:
        classes: the names of all classes of the model behind it, in its order; None if unknown.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        name: str = "",
        classes: Sequence[str] | None = None,
    ) -> None:
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.revision = self.fingerprint = ""
        self.function = function
        self.classes = None if classes is None else tuple(classes)

    def predict(self, texts: Sequence[str]) -> Any:
        """What it says of all texts."""
        return self.function(list(texts))
