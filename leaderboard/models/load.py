"""Load a model by its name, or take whatever `s2lct.score` is given as a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError, require
from s2lct.files import folder_argument, resolve_folder
from s2lct.hub_calls import HUB_PREFIX
from s2lct.leaderboard.models.built_in import WORD_LISTS, WordList
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.model import EMBEDDED_MODELS, Classifier, Function, Model
from s2lct.leaderboard.models.network import Network, SequenceClassifier, check_dtype
from s2lct.leaderboard.models.record import BUILT_IN
from s2lct.plain_text import did_you_mean


def load_model(
    name: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    prompt: LabelPrompt | None = None,
) -> Classifier:
    """Load a model by name.

    Args:
        name: a built-in model, a folder (``./NAME``), or a Hub id (``ID@REVISION`` pins one).
        revision: of a Hub id.
        device: ``auto`` for a GPU where there is one.
        dtype: one of `DTYPES`; ``auto`` is bfloat16 on a GPU, else float32.
        prompt: with it, folders and Hub ids are language models.

    Raises:
        ScoringError: there is no such model, or it cannot be scored.
    """
    check_dtype(dtype)
    if isinstance(name, str) and name in WORD_LISTS:
        require(WORD_LISTS[name].package)
        return WordList(name)
    if name in EMBEDDED_MODELS:
        if dtype not in ("auto", "float32"):
            raise ScoringError(
                f"--dtype {dtype}: model {name} is computed in float32 alone",
                hint="leave --dtype out, or score it apart from the others",
            )
        return SequenceClassifier(str(name), device=device, dtype="float32")
    folder = resolve_folder(name, "model")
    if isinstance(name, Path):
        name = folder_argument(name)
    if folder is None:
        name = name.removeprefix(HUB_PREFIX)
        if "/" not in name and (near := did_you_mean(name, BUILT_IN)):
            raise ScoringError(
                f"model {name}: there is no such model",
                hint=f"{near}there are {', '.join(BUILT_IN)}; a folder is named ./{name}",
            )
        name, _, pinned = name.partition("@")
        revision = pinned or revision
    if prompt is not None:
        return LanguageModel(name, prompt, revision=revision, device=device, dtype=dtype)
    return SequenceClassifier(name, revision=revision, device=device, dtype=dtype)


def as_model(model: Any, *, tokenizer: Any = None, classes: Sequence[str] | None = None) -> Model:
    """Make a model to score of whatever `s2lct.score` is given.

    Args:
        model: a name, a `Model`, a function from texts to predictions, a pipeline, a Trainer, a
            `transformers` model with ``tokenizer``, or the two as a pair.
        tokenizer: of a `transformers` model.
        classes: all classes of the model behind a function, in its order.

    Raises:
        ScoringError: it is none of these, or ``tokenizer`` or ``classes`` do not go with it.
    """
    if isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
    shown = f"a model of type {type(model).__name__}"
    if tokenizer is not None and not _is_torch_module(model):
        raise ScoringError(
            f"tokenizer= with {shown}",
            hint="leave it out; it goes with a transformers model in memory",
        )
    to_score: Model
    if isinstance(model, (str, Path)):
        to_score = load_model(model)
    elif isinstance(model, Model):
        to_score = model
    elif hasattr(model, "predict") and hasattr(model, "processing_class"):
        to_score = Network(trainers_tokenizer(model.processing_class), model.model, "trainer")
    elif hasattr(model, "task") and hasattr(model, "tokenizer"):
        to_score = Network(model.tokenizer, model.model, "pipeline")
    elif _is_torch_module(model):
        if tokenizer is None or not hasattr(model, "config"):
            raise ScoringError(
                f"{shown} without its tokenizer or its transformers configuration",
                hint="pass tokenizer= too, or (model, tokenizer), or a function from texts to "
                "probabilities",
            )
        to_score = Network(tokenizer, model)
    elif callable(model):
        to_score = Function(model, classes=classes)
    else:
        raise ScoringError(
            shown,
            hint="pass a name, a function from texts to labels or probabilities, a pipeline, a "
            "Trainer, or a transformers model with tokenizer=",
        )
    if classes is not None and not isinstance(to_score, Function):
        raise ScoringError(
            f"classes= with {shown}", hint="leave it out; it is for functions: say label_map="
        )
    return to_score


def trainers_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer of a `transformers.Trainer`.

    Raises:
        ScoringError: it has none.
    """
    if tokenizer is None:
        raise ScoringError(
            "the Trainer has no tokenizer", hint="pass Trainer(..., processing_class=tokenizer)"
        )
    return tokenizer


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # who has a module has imported torch
    return torch is not None and isinstance(model, torch.nn.Module)
