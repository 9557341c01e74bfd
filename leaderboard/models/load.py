"""A classifier from a name, or from whatever `metric.compute(model=…)` is given."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import same_classes
from s2lct.leaderboard.models.built_in import WORD_LISTS, Embedded
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS, Classifier, Function
from s2lct.leaderboard.models.generating_model import GeneratingModel
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.network import (
    Network,
    SequenceClassifier,
    classes_of,
    usable_device,
)

CLASSIFICATION: Final = "text-classification"


def load_classifier(
    name: str,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    asks: LabelPrompt | None = None,
) -> Classifier:
    """A classifier by name: a built-in one, a folder, or a Hub id, ``ID@REVISION``.

    With ``asks``, folders and Hub ids are language models, which answer in words where it says how
    many tokens these may have (`TextModel`). ``dtype`` is one of `DTYPES`, of which
    ``auto`` is bfloat16 on a GPU, else float32. Raises a ScoringError where there is none of use.
    """
    if name in WORD_LISTS:
        baseline = WORD_LISTS[name]
        try:
            version(baseline.package)
        except PackageNotFoundError as error:
            raise ScoringError(
                f"model {name}: the package {baseline.package} is not installed",
                hint='pip install "s2lct[baselines]"',
            ) from error
        return baseline
    usable_device(device)  # before anything is downloaded
    if name in EMBEDDED_MODELS:
        return Embedded(name, device)
    if not Path(name).exists():
        if "/" not in name:
            _refuse_misspelt(name)
        if "@" in name:
            name, _, revision = name.partition("@")
    if asks is not None:
        kind = LanguageModel if asks.most_tokens is None else GeneratingModel
        return kind(name, asks, revision=revision, device=device, dtype=dtype)
    return SequenceClassifier(name, revision=revision, device=device, dtype=dtype)


def _refuse_misspelt(name: str) -> None:
    """Answer at once for a name that is nearly a built-in model's, without asking the Hub."""
    built_in = [*WORD_LISTS, *EMBEDDED_MODELS]
    near = get_close_matches(name.partition("@")[0].lower(), built_in, n=1, cutoff=0.75)
    if near:
        raise ScoringError(
            f"model {name}: neither a built-in model nor a folder",
            hint=f"pass {near[0]}, or one of {', '.join(built_in)}; a model on the Hub has its "
            "owner's name before it, OWNER/NAME",
        )


def as_classifier(
    model: Any, *, tokenizer: Any = None, classes: Sequence[str] | None = None
) -> Classifier | Function:
    """Whatever `metric.compute(model=…)` is given.

    A name, a function from texts to predictions, a pipeline, a Trainer, a `transformers` model with
    ``tokenizer``, or the two as a pair; ``classes`` are all those of the model behind a function,
    in its order. Raises a ScoringError where it is none of these, or they do not fit it.
    """
    if isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
        if tokenizer is None or not _is_module(model):
            problem = "model= is a pair, but not of a model and its tokenizer"
            raise ScoringError(problem, hint="pass (model, tokenizer)")
    if tokenizer is not None and not _is_module(model):
        raise ScoringError(
            f"tokenizer= with a model of type {type(model).__name__}, which has its own",
            hint="leave tokenizer= out; it goes with a transformers model in memory",
        )
    found = _found(model, tokenizer, classes)
    same_classes(found.classes, classes)
    return found


def _found(model: Any, tokenizer: Any, classes: Sequence[str] | None) -> Classifier | Function:
    if isinstance(model, (str, Path)):
        return load_classifier(str(model))
    if isinstance(model, Function) or (
        hasattr(model, "probabilities") and hasattr(model, "classes")
    ):
        return model  # type: ignore[no-any-return]
    if hasattr(model, "predict") and hasattr(model, "processing_class"):
        return Network(trainers_tokenizer(model.processing_class), model.model, "trainer")
    if _is_module(model) and (tokenizer is not None or hasattr(model, "config")):
        called = f"a model of type {type(model).__name__}"
        if tokenizer is None:
            hint = "pass tokenizer= too, or (model, tokenizer)"
            raise ScoringError(f"{called} without its tokenizer", hint=hint)
        if not hasattr(model, "config"):
            hint = "pass a function from texts to probabilities"
            raise ScoringError(f"{called} without a transformers configuration", hint=hint)
        return Network(tokenizer, model)
    if not callable(model):
        raise ScoringError(
            f"model of type {type(model).__name__}",
            hint="pass a name, a function from texts to labels or probabilities, a pipeline, a "
            "Trainer, or a transformers model with tokenizer=",
        )
    if hasattr(model, "task") and hasattr(model, "tokenizer"):
        return _of_pipeline(model)
    return Function(model, classes=classes)


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


def _of_pipeline(classify: Any) -> Function:
    if classify.task != CLASSIFICATION:
        raise ScoringError(
            f"a pipeline for {classify.task}", hint=f'pass pipeline("{CLASSIFICATION}", …)'
        )

    def answered(texts: list[str]) -> Any:
        # A pipeline leaves a model in training as it is, and dropout would answer at random.
        training = getattr(classify.model, "training", False)
        if training:
            classify.model.eval()
        try:
            return classify(texts, top_k=None, truncation=True)
        finally:
            if training:
                classify.model.train()

    return Function(answered, "pipeline", classes_of(classify.model.config))
