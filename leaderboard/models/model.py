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
"""The numbers of texts, and their probabilities, shape (texts, classes)."""


class ModelFacts(NamedTuple):
    """Number of weights, licence, and how a model computes, as far as that is known."""

    parameters: int | None = None
    licence: str | None = None
    dtype: str = ""
    device: str = ""
    batch_size: str = ""


class Model(ABC):
    """Anything that can be scored.

    Attributes:
        name: what tables call it.
        revision: the Hub commit, or the version of its package; empty if there is none.
        weights_sha256: what tells its weights from others'; empty where nobody here has them.
        prompt: what a language model is asked; None for other models.
    """

    name: str
    revision: str = ""
    weights_sha256: str = ""
    prompt: LabelPrompt | None = None

    @property
    def facts(self) -> ModelFacts:
        """What is known of it; its card may be fetched for its licence."""
        return ModelFacts()

    @abstractmethod
    def predict(
        self,
        texts: Sequence[str],
        label_map: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Predictions:
        """Predict texts.

        Args:
            texts: distinct or not; equal ones are computed once.
            label_map: what the user says of its classes.
            cache: the file that keeps predictions for the next time; None for none.

        Raises:
            ScoringError: the model does not answer, or its outputs cannot be used.
        """

    def close(self) -> None:  # noqa: B027
        """Give back what it holds, such as connections to a server."""


class Classifier(Model):
    """A model that gives probabilities of classes.

    Attributes:
        classes: their names, in the order of the probabilities.
        fingerprint: SHA-256 over what decides its probabilities; empty where they must not be kept.
    """

    classes: tuple[str, ...]
    fingerprint: str = ""

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Compute distinct texts, in batches of any size and order."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """The numbers of texts that are computed together, and what the model reads of them."""
        yield from (([number], text) for number, text in enumerate(texts))

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
        return Predictions(
            rule.labels(table), rule_in_words, rule.label_map, rule.label_probabilities(table)
        )


def probabilities_of(model: Classifier, texts: Sequence[str], cache: Path | None = None) -> Array:
    """Probabilities of the classes, shape (texts, classes); see `Model.predict`."""

    def compute(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        advance = bar(model.name, len(missing))
        for numbers, batch in model.probabilities(missing):
            _check_batch(model, numbers, batch)
            for number, row in zip(numbers, batch, strict=True):
                yield missing[number], row.astype("<f8").tobytes()
            advance(len(numbers))

    if cache is None or not model.fingerprint:
        rows = dict(compute(list(dict.fromkeys(texts)))) if texts else {}
    else:
        code, facts = source_fingerprint("s2lct.leaderboard.models"), model.facts
        place = [predicting_versions(), facts.device, facts.dtype]
        key = fingerprint_of([code, model.fingerprint, list(model.classes), *place])
        with Cache(cache) as kept:
            rows = predictions(kept, key, texts, compute)
    table = np.array([np.frombuffer(rows[text], dtype="<f8") for text in texts])
    return table.reshape(-1, len(model.classes))


def _check_batch(model: Classifier, numbers: list[int], batch: Array) -> None:
    if batch.shape != (len(numbers), len(model.classes)):
        raise ScoringError(
            f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
            f"{len(model.classes)} classes",
            hint="give one row for each text and one column for each class",
        )
    if not np.isfinite(batch).all():
        raise ScoringError(
            f"model {model.name}: its output is not a number (NaN or infinite)",
            hint="check the model's weights; in half precision try --dtype float32",
        )


class Function(Model):
    """A Python function from a list of texts to what `read_predictions` takes.

    Its predictions are not kept: nothing tells whether the function changed.

    Args:
        function: the function.
        name: what tables call it; by default its own name.
        classes: the names of all classes of the model behind it, in its order; without them it may
            give neither numbers nor unnamed probabilities.
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
    """The licence that an installed package states."""
    try:
        stated = metadata(package)
    except PackageNotFoundError:
        return None
    return _first_line(stated["License-Expression"] or stated["License"] if len(stated) else None)


def card_licence(name: str, revision: str) -> str | None:
    """The licence that a model's card states; None if it cannot be read or reached."""
    from huggingface_hub import hf_hub_download

    try:
        folder = resolve_folder(name, "model")
        path = (
            Path(hf_hub_download(name, CARD, revision=revision or None))
            if folder is None
            else folder / CARD
        )
        stated = front_matter(read_limited(path, MAX_BYTES).decode("utf-8")).get("license")
    except Exception:  # a model without a card, or whose card is broken, is scored all the same
        return None
    return _first_line(", ".join(map(str, stated)) if isinstance(stated, list) else stated)


def _first_line(text: object) -> str | None:
    lines = str(text or "").strip().splitlines()
    return lines[0][:_MAX_LICENCE_CHARACTERS] if lines else None
