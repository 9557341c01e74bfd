"""What a model to score is: something that gives probabilities, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from s2lct.leaderboard.answers.label_rules import Array, check_classes

DTYPES = ("auto", "float32", "bfloat16", "float16")
EMBEDDED_MODELS = ("embedded-2class", "embedded-3class")


class Precision(NamedTuple):
    """In what a network computed: its type of numbers, where, and how much at once.

    All are empty of what is no network, or answers elsewhere.
    """

    dtype: str = ""
    device: str = ""
    batch_size: str = ""


class NamedModel(Protocol):
    """What names a model, and tells its answers from those of another."""

    @property
    def name(self) -> str:
        """What tables show."""

    @property
    def revision(self) -> str:
        """The Hub commit, or the version of the package; empty if there is none."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what decides its answers; empty where they must not be kept."""


class Classifier(NamedModel, Protocol):
    """Anything that gives probabilities of classes."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the columns."""

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Batches: the numbers of their texts, and probabilities of shape (batch, classes)."""


class Function:
    """A Python function or a pipeline as a classifier.

    It is handed a list of texts and gives what `predictions.labels_of_predictions` takes. What it
    says is not kept: nothing tells whether it changed. ``classes`` are the names of all classes of
    the model behind it, in its order; None if unknown.
    """

    revision = fingerprint = ""

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        name: str = "",
        classes: Sequence[str] | None = None,
    ) -> None:
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.function = function
        self.classes = None if classes is None else check_classes(classes)

    def predict(self, texts: Sequence[str]) -> Any:
        """What it says of all texts."""
        return self.function(list(texts))
