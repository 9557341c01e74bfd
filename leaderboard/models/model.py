"""A model to score: texts in, predictions out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from s2lct.cache import Cache, predictions
from s2lct.errors import ScoringError
from s2lct.files import read_limited, resolve_folder
from s2lct.identity import fingerprint_of, predicting_versions, source_fingerprint
from s2lct.leaderboard.answers.label_rules import Array, check_classes, rule_for
from s2lct.leaderboard.answers.predictions import Predictions, read_predictions
from s2lct.progress import bar
from s2lct.yaml_files import MAX_BYTES, front_matter

if TYPE_CHECKING:
    from s2lct.leaderboard.models.label_prompt import LabelPrompt

EMBEDDED_MODELS = ("embedded-2class", "embedded-3class")
CARD = "README.md"
_MAX_LICENCE_CHARACTERS = 80
Batch = tuple[list[int], Array]
"""Index of each text of a batch, and probabilities of classes, shape (texts, classes)."""


class ModelFacts(NamedTuple):
    """Number of weights, licence, and how a model computes; None or empty where unknown."""

    parameters: int | None = None
    licence: str | None = None
    dtype: str = ""
    device: str = ""
    batch_size: str = ""


class Model(ABC):
    """A model that can be scored.

    Attributes:
        name: the name of the model in tables.
        revision: the Hub commit, or the version of the model's package; empty if there is none.
        weights_sha256: SHA-256 of the weights; empty if they are not on this machine.
        prompt: the prompt of a language model; None for other models.
    """

    name: str
    revision: str = ""
    weights_sha256: str = ""
    prompt: LabelPrompt | None = None

    @property
    def facts(self) -> ModelFacts:
        """Facts about the model; its card may be fetched for the licence."""
        return ModelFacts()

    @abstractmethod
    def predict(
        self,
        texts: Sequence[str],
        label_map: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Predictions:
        """Predict the labels of texts.

        Args:
            texts: the texts; equal ones are computed once.
            label_map: the user's label map of the model's classes.
            cache: the file in which predictions are cached; None for no cache.

        Raises:
            ScoringError: the model does not answer, or its outputs cannot be used.
        """

    def close(self) -> None:  # noqa: B027
        """Release resources, such as connections to a server."""


class Classifier(Model):
    """A model that gives probabilities of classes.

    Attributes:
        classes: the names of the classes, in the order of the probabilities.
        fingerprint: SHA-256 of what decides probabilities; empty if they must not be cached.
    """

    classes: tuple[str, ...]
    fingerprint: str = ""

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Compute the probabilities of distinct texts, in batches of any size and order."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Batches: indices of texts that are computed together, and the model's input for them."""
        yield from (([index], text) for index, text in enumerate(texts))

    def predict(
        self,
        texts: Sequence[str],
        label_map: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Predictions:
        """See `Model.predict`."""
        rule = rule_for(self.classes, model=self.name, label_map=label_map)
        table = probabilities_of(self, texts, cache)
        rule_in_words = f"{rule}; {self.prompt}" if self.prompt else str(rule)
        labels, probabilities = rule.labels(table), rule.label_probabilities(table)
        return Predictions(labels, rule_in_words, rule.label_map, probabilities)


def probabilities_of(model: Classifier, texts: Sequence[str], cache: Path | None = None) -> Array:
    """A model's probabilities of its classes, shape (texts, classes); see `Model.predict`."""

    def compute(missing_texts: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        advance = bar(model.name, len(missing_texts))
        for indices, batch in model.probabilities(missing_texts):
            _check_batch(model, indices, batch)
            for index, row in zip(indices, batch, strict=True):
                yield missing_texts[index], row.astype("<f8").tobytes()
            advance(len(indices))

    if cache is None or not model.fingerprint:
        rows = dict(compute(list(dict.fromkeys(texts)))) if texts else {}
    else:
        code, facts = source_fingerprint("s2lct.leaderboard.models"), model.facts
        environment = [predicting_versions(), facts.device, facts.dtype]
        key = fingerprint_of([code, model.fingerprint, list(model.classes), *environment])
        with Cache(cache) as opened_cache:
            rows = predictions(opened_cache, key, texts, compute)
    table = np.array([np.frombuffer(rows[text], dtype="<f8") for text in texts])
    return table.reshape(-1, len(model.classes))


def _check_batch(model: Classifier, indices: list[int], batch: Array) -> None:
    if batch.shape != (len(indices), len(model.classes)):
        raise ScoringError(
            f"model {model.name}: gave {batch.shape} for {len(indices)} texts and "
            f"{len(model.classes)} classes",
            hint="give one row for each text and one column for each class",
        )
    if not np.isfinite(batch).all():
        raise ScoringError(
            f"model {model.name}: its output is not a number (NaN or infinite)",
            hint="check the model's weights; in half precision try --dtype float32",
        )


class Function(Model):
    """A Python function from a list of texts to predictions, see `read_predictions`.

    Its predictions are not cached: nothing tells whether the function has changed.

    Args:
        function: the function.
        name: its name in tables; by default the name of the function.
        classes: the names of all classes of the model behind it, in its order; without them it may
            return neither class numbers nor unnamed probabilities.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        name: str = "",
        classes: Sequence[str] | None = None,
    ) -> None:
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.function = function
        self.classes = None if classes is None else check_classes(classes)

    def predict(
        self,
        texts: Sequence[str],
        label_map: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Predictions:
        """See `Model.predict`."""
        values = self.function(list(texts))
        return read_predictions(values, len(texts), classes=self.classes, label_map=label_map)


def package_licence(package: str) -> str | None:
    """The licence in an installed package's metadata; None without a package or licence."""
    try:
        fields = metadata(package)
    except PackageNotFoundError:
        return None
    return _first_line(fields["License-Expression"] or fields["License"] if len(fields) else None)


def card_licence(name: str, revision: str) -> str | None:
    """The licence in a model's card; None if there is none, or the card cannot be read."""
    from huggingface_hub import hf_hub_download

    try:
        folder = resolve_folder(name, "model")
        path = (
            Path(hf_hub_download(name, CARD, revision=revision or None))
            if folder is None
            else folder / CARD
        )
        licence = front_matter(read_limited(path, MAX_BYTES).decode("utf-8")).get("license")
    except Exception:  # a model without a card, or whose card is broken, is scored all the same
        return None
    return _first_line(", ".join(map(str, licence)) if isinstance(licence, list) else licence)


def _first_line(text: object) -> str | None:
    lines = str(text or "").strip().splitlines()
    return lines[0][:_MAX_LICENCE_CHARACTERS] if lines else None
