"""A classifier from a name, or from whatever `s2lct.score` is given."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError, require
from s2lct.files import folder_name, folder_named
from s2lct.hub_calls import HUB
from s2lct.leaderboard.models.built_in import WORD_LISTS
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS, Classifier, Function, check_dtype
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.network import Network, SequenceClassifier
from s2lct.leaderboard.models.record import BUILT_IN
from s2lct.plain_text import did_you_mean


def load_classifier(
    name: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    asks: LabelPrompt | None = None,
) -> Classifier:
    """A classifier by name: a built-in one, a folder (``./NAME``), or a Hub id, ``ID@REVISION``.

    With ``asks``, folders and Hub ids are language models. ``dtype`` is one of `DTYPES`, of which
    ``auto`` is bfloat16 on a GPU, else float32. Raises a ScoringError where there is none of use.
    """
    check_dtype(dtype)
    if isinstance(name, str) and name in WORD_LISTS:
        require(WORD_LISTS[name].package)
        return WORD_LISTS[name]
    if name in EMBEDDED_MODELS:
        if dtype not in ("auto", "float32"):
            raise ScoringError(
                f"--dtype {dtype}: model {name} is computed in float32 alone",
                hint="leave --dtype out, or score it apart from the others",
            )
        return SequenceClassifier(name, device=device, dtype="float32")
    folder = folder_named(name, "model")
    if isinstance(name, Path):
        name = folder_name(name)
    if folder is None:
        name = name.removeprefix(HUB)
        if "/" not in name and (near := did_you_mean(name, BUILT_IN)):
            raise ScoringError(
                f"model {name}: there is no such model",
                hint=f"{near}there are {', '.join(BUILT_IN)}; a folder is named ./{name}",
            )
        name, _, pinned = name.partition("@")
        revision = pinned or revision
    if asks is not None:
        return LanguageModel(name, asks, revision=revision, device=device, dtype=dtype)
    return SequenceClassifier(name, revision=revision, device=device, dtype=dtype)


def as_classifier(
    model: Any, *, tokenizer: Any = None, classes: Sequence[str] | None = None
) -> Classifier | Function | EndpointModel:
    """A model to score of whatever `s2lct.score` is given.

    A name, a model of this package, a function from texts to predictions, a pipeline, a Trainer, a
    `transformers` model with ``tokenizer``, or the two as a pair; ``classes`` are all those of the
    model behind a function, in its order. Raises a ScoringError where it is none of these, or they
    do not fit it.
    """
    if isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
    called = f"a model of type {type(model).__name__}"
    if tokenizer is not None and not _is_module(model):
        raise ScoringError(
            f"tokenizer= with {called}",
            hint="leave it out; it goes with a transformers model in memory",
        )
    found: Classifier | Function | EndpointModel
    if isinstance(model, (str, Path)):
        found = load_classifier(model)
    elif isinstance(model, (Function, EndpointModel)) or (
        hasattr(model, "probabilities") and hasattr(model, "classes")
    ):
        found = model
    elif hasattr(model, "predict") and hasattr(model, "processing_class"):
        found = Network(trainers_tokenizer(model.processing_class), model.model, "trainer")
    elif hasattr(model, "task") and hasattr(model, "tokenizer"):
        found = Network(model.tokenizer, model.model, "pipeline")
    elif _is_module(model):
        if tokenizer is None or not hasattr(model, "config"):
            raise ScoringError(
                f"{called} without its tokenizer or its transformers configuration",
                hint="pass tokenizer= too, or (model, tokenizer), or a function from texts to "
                "probabilities",
            )
        found = Network(tokenizer, model)
    elif callable(model):
        found = Function(model, classes=classes)
    else:
        raise ScoringError(
            called,
            hint="pass a name, a function from texts to labels or probabilities, a pipeline, a "
            "Trainer, or a transformers model with tokenizer=",
        )
    if classes is not None and not isinstance(found, Function):
        raise ScoringError(
            f"classes= with {called}", hint="leave it out; it is for functions: say label_map="
        )
    return found


def trainers_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer that a `transformers.Trainer` has; without one a ScoringError is raised."""
    if tokenizer is None:
        raise ScoringError(
            "the Trainer has no tokenizer", hint="pass Trainer(..., processing_class=tokenizer)"
        )
    return tokenizer


def _is_module(model: Any) -> bool:
    # Who has a module has imported torch.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)
