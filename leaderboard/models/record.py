"""Which model, as results record it: its name, its options, and what it computed in."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, model_validator

from s2lct.labels import LABELS
from s2lct.leaderboard.models.built_in import WORD_LISTS
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.models.language_model import PROMPT, LabelPrompt
from s2lct.suite.prompts import PROMPTS

BUILT_IN = (*WORD_LISTS, *EMBEDDED_MODELS)
OTHER_PROMPTS = PROMPTS[1:]
OBTAINED = {
    "rescored": "who runs this board asked the model again, and every label agrees",
    "as submitted": "predictions as submitted; nobody here asked the model again",
    "endpoint": "answers of an endpoint, as submitted; nobody can ask it again",
    "predictions file": "predictions in a file, as submitted; nobody can ask the model again",
}
"""How a model's predictions came to a board."""
USUAL_DTYPE = "float32"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OptionsRecord(_Strict):
    """The options of `s2lct score` that decide what a model's predictions mean."""

    label_map: dict[str, str] | None = None
    prompt: str | None = None
    label_words: tuple[str, ...] | None = None
    chat_template: bool = False

    @classmethod
    def of(
        cls,
        label_map: Mapping[str, str] | None,
        asks: LabelPrompt | None = None,
    ) -> OptionsRecord:
        """The options that a model was scored with."""
        meanings = None if label_map is None else dict(label_map)
        if asks is None:
            return cls(label_map=meanings)
        return cls(
            label_map=meanings,
            prompt=asks.prompt,
            label_words=asks.words,
            chat_template=bool(asks.chat_template),
        )


class PredictionsRecord(_Strict):
    """The file that a team gave with what its model said, which nobody can ask again."""

    file: str
    sha256: str


class ModelRecord(_Strict):
    """Which model; for what it computed in, see `ModelFacts`.

    Attributes:
        weights_sha256: of its weights; empty where nobody here has them.
        answers_sha256: of what it said of the cases, where neither weights, an endpoint nor a file
            of predictions tell it from another model of its name.
    """

    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    options: OptionsRecord = OptionsRecord()
    parameters: int | None = Field(default=None, ge=0, lt=1 << 53)
    licence: str | None = None
    endpoint: EndpointUse | None = None
    predictions: PredictionsRecord | None = None
    answers_sha256: str = ""
    dtype: str = ""
    device: str = ""
    batch_size: str = ""

    @model_validator(mode="after")
    def _check_endpoint(self) -> ModelRecord:
        if self.endpoint is not None and (self.revision or self.weights_sha256):
            raise ValueError("a model behind an endpoint has no revision and no weights_sha256")
        return self

    @property
    def rescorable(self) -> bool:
        """Whether the model can be asked again what it said."""
        return self.endpoint is None and self.predictions is None

    def obtained(self, *, rescored: bool) -> str:
        """How its predictions were obtained, one of `OBTAINED`."""
        if self.rescorable:
            return "rescored" if rescored else "as submitted"
        return "predictions file" if self.endpoint is None else "endpoint"


def question_of(options: OptionsRecord) -> LabelPrompt | None:
    """What a language model was asked; None for others. A `ScoringError` for no question."""
    if options.prompt is None or options.label_words is None:
        return None
    return LabelPrompt(options.prompt, options.label_words, options.chat_template)


def stands_apart(model: ModelRecord) -> str:
    """In words, what makes a model predict otherwise than it does as it comes.

    Its options, its type of numbers, and whether it can be scored again; empty for what is usual,
    of a language model the first of the usual prompts.
    """
    options = model.options
    words: list[str] = []
    if options.label_map is not None:
        meant = ", ".join(f"{name} → {label}" for name, label in sorted(options.label_map.items()))
        words.append(f"own label map {meant}")
    if options.prompt in OTHER_PROMPTS:
        words.append(f"default prompt {OTHER_PROMPTS.index(options.prompt) + 2}")
    elif options.prompt not in (None, PROMPT):
        words.append(f"own prompt {json.dumps(options.prompt, ensure_ascii=False)}")
    if options.label_words not in (None, LABELS):
        words.append(f"own label words {', '.join(options.label_words or ())}")
    if options.chat_template:
        words.append("chat template")
    given = "" if model.predictions is None else "given predictions, cannot be scored again"
    return "; ".join(filter(None, (*words, other_dtype(model), given)))


def other_dtype(model: ModelRecord) -> str:
    """The type of numbers that a model computed in; empty for single precision, the usual."""
    return "" if model.dtype == USUAL_DTYPE else model.dtype
