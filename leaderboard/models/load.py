"""Load a model by its name, or make one of any object that `s2lct.score` accepts."""

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
        revision: the revision of a Hub id; None for the newest.
        device: a device of torch; ``auto`` for a GPU if there is one.
        dtype: one of `DTYPES`; ``auto`` is bfloat16 on a GPU, else float32.
        prompt: the prompt of a language model; None if a folder or Hub id is a classifier.

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
        if "/" not in name and (suggestion := did_you_mean(name, BUILT_IN)):
            raise ScoringError(
                f"model {name}: there is no such model",
                hint=f"{suggestion}there are {', '.join(BUILT_IN)}; a folder is named ./{name}",
            )
        name, _, pinned_revision = name.partition("@")
        revision = pinned_revision or revision
    if prompt is not None:
        return LanguageModel(name, prompt, revision=revision, device=device, dtype=dtype)
    return SequenceClassifier(name, revision=revision, device=device, dtype=dtype)


def as_model(model: Any, *, tokenizer: Any = None, classes: Sequence[str] | None = None) -> Model:
    """Make a `Model` of the argument ``model`` of `s2lct.score`.

    Args:
        model: a name, a `Model`, a function from texts to predictions, a pipeline, a Trainer, a
            `transformers` model with ``tokenizer``, or the two as a pair.
        tokenizer: the tokenizer of a `transformers` model.
        classes: all classes of the model behind a function, in its order.

    Raises:
        ScoringError: ``model`` is none of these, or takes no ``tokenizer`` or ``classes``.
    """
    if isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
    description = f"a model of type {type(model).__name__}"
    if tokenizer is not None and not _is_torch_module(model):
        raise ScoringError(
            f"tokenizer= with {description}",
            hint="leave it out; it goes with a transformers model in memory",
        )
    scorable: Model
    if isinstance(model, (str, Path)):
        scorable = load_model(model)
    elif isinstance(model, Model):
        scorable = model
    elif hasattr(model, "predict") and hasattr(model, "processing_class"):
        scorable = Network(check_trainer_tokenizer(model.processing_class), model.model, "trainer")
    elif hasattr(model, "task") and hasattr(model, "tokenizer"):
        scorable = Network(model.tokenizer, model.model, "pipeline")
    elif _is_torch_module(model):
        if tokenizer is None or not hasattr(model, "config"):
            raise ScoringError(
                f"{description} without its tokenizer or its transformers configuration",
                hint="pass tokenizer= too, or (model, tokenizer), or a function from texts to "
                "probabilities",
            )
        scorable = Network(tokenizer, model)
    elif callable(model):
        scorable = Function(model, classes=classes)
    else:
        raise ScoringError(
            description,
            hint="pass a name, a function from texts to labels or probabilities, a pipeline, a "
            "Trainer, or a transformers model with tokenizer=",
        )
    if classes is not None and not isinstance(scorable, Function):
        raise ScoringError(
            f"classes= with {description}", hint="leave it out; it is for functions: say label_map="
        )
    return scorable


def check_trainer_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer of a `transformers.Trainer`, which must not be None.

    Raises:
        ScoringError: it is None.
    """
    if tokenizer is None:
        raise ScoringError(
            "the Trainer has no tokenizer", hint="pass Trainer(..., processing_class=tokenizer)"
        )
    return tokenizer


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # if there is a torch module, torch is imported
    return torch is not None and isinstance(model, torch.nn.Module)
