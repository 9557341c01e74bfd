"""What a model to score is: it gives probabilities, or is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from s2lct.errors import ScoringError
from s2lct.files import folder_named, read_limited
from s2lct.leaderboard.answers.label_rules import Array, check_classes
from s2lct.plain_text import did_you_mean
from s2lct.yaml_files import MAX_BYTES, front_matter

DTYPES = ("auto", "float32", "bfloat16", "float16")
EMBEDDED_MODELS = ("embedded-2class", "embedded-3class")
CARD = "README.md"
_LONGEST_LICENCE = 80


class ModelFacts(NamedTuple):
    """What is known of a model: number of weights, licence, and in what it computes.

    Nothing is known of a function, and of what answers elsewhere.
    """

    parameters: int | None = None
    licence: str | None = None
    dtype: str = ""
    device: str = ""
    batch_size: str = ""


class Classifier(Protocol):
    """Anything that gives probabilities of classes."""

    @property
    def name(self) -> str:
        """What tables show."""

    @property
    def revision(self) -> str:
        """The Hub commit, or the version of the package; empty if there is none."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what decides its predictions; empty where they must not be kept."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the columns."""

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Batches: the numbers of their texts, and probabilities of shape (batch, classes)."""


class Function:
    """A Python function or a pipeline as a classifier.

    It is handed a list of texts and gives what `predictions.labels_of_predictions` takes. What it
    says is not kept: nothing tells whether it changed. ``classes`` are the names of all classes of
    the model behind it, in its order; without them it may not give numbers or unnamed columns.
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


def check_dtype(dtype: str) -> None:
    """Refuse a type of numbers that is none of `DTYPES` with a ScoringError."""
    if dtype not in DTYPES:
        raise ScoringError(
            f"--dtype {dtype}: no such",
            hint=f"{did_you_mean(dtype, DTYPES)}pass {' or '.join(DTYPES)}",
        )


def facts_of(model: Any) -> ModelFacts:
    """What is known of a model; its card may be fetched for its licence."""
    facts: ModelFacts = getattr(model, "facts", ModelFacts())
    return facts


def network_facts(*networks: Any, batch_size: str, licence: str | None) -> ModelFacts:
    """Facts of networks that are one model, of which the first is transformers'."""
    weights = (weight for network in networks for weight in network.parameters())
    first = networks[0]
    return ModelFacts(
        sum(int(weight.numel()) for weight in weights),
        licence,
        str(first.dtype).removeprefix("torch."),
        first.device.type,
        batch_size,
    )


def package_licence(package: str) -> str | None:
    """The licence that an installed package states."""
    try:
        stated = metadata(package)
    except PackageNotFoundError:
        return None
    return _short(stated["License-Expression"] or stated["License"] if len(stated) else None)


def card_licence(name: str, revision: str) -> str | None:
    """The licence that a model's card states, of a folder or on the Hub if it can be reached."""
    from huggingface_hub import hf_hub_download

    try:
        folder = folder_named(name, "model")
        path = (
            Path(hf_hub_download(name, CARD, revision=revision or None))
            if folder is None
            else folder / CARD
        )
        stated = front_matter(read_limited(path, MAX_BYTES).decode("utf-8")).get("license")
    except Exception:  # a model without a card, or whose card is broken, is scored all the same
        return None
    return _short(", ".join(map(str, stated)) if isinstance(stated, list) else stated)


def _short(stated: object) -> str | None:
    lines = str(stated or "").strip().splitlines()
    return lines[0][:_LONGEST_LICENCE] if lines else None
