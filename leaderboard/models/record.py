"""The record of a result's model: its name, its options, and how it computed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, model_validator

from s2lct.labels import LABELS
from s2lct.leaderboard.models.built_in import WORD_LISTS
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.model import EMBEDDED_MODELS
from s2lct.suite.prompts import PROMPTS

BUILT_IN = (*WORD_LISTS, *EMBEDDED_MODELS)
OBTAINED = {
    "rescored": "who runs this board asked the model again, and its labels agree",
    "as submitted": "predictions as submitted; nobody here asked the model again",
    "endpoint": "answers of an endpoint, as submitted; nobody can ask it again",
    "predictions file": "predictions in a file, as submitted; nobody can ask the model again",
}
"""Ways in which a leaderboard obtained a model's predictions, each with an explanation."""
DEFAULT_DTYPE = "float32"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OptionsRecord(_Strict):
    """The options of `s2lct score` that decide the meaning of a model's predictions."""

    label_map: dict[str, str] | None = None
    prompt: str | None = None
    label_words: tuple[str, ...] | None = None
    chat_template: bool = False

    @classmethod
    def of(
        cls, label_map: Mapping[str, str] | None, prompt: LabelPrompt | None = None
    ) -> OptionsRecord:
        """The record of a label map and a prompt."""
        meanings = None if label_map is None else dict(label_map)
        if prompt is None:
            return cls(label_map=meanings)
        return cls(
            label_map=meanings,
            prompt=prompt.prompt,
            label_words=prompt.words,
            chat_template=bool(prompt.chat_template),
        )

    @property
    def label_prompt(self) -> LabelPrompt | None:
        """The prompt of a language model, or None; a `ScoringError` if it is not a valid prompt."""
        if self.prompt is None or self.label_words is None:
            return None
        return LabelPrompt(self.prompt, self.label_words, self.chat_template)


class PredictionsRecord(_Strict):
    """A file of predictions that a team submitted; nobody can run its model again."""

    file: str
    sha256: str


class ModelRecord(_Strict):
    """The identity of a model, and how it computed; see `ModelFacts`.

    Attributes:
        weights_sha256: SHA-256 of the weights; empty if they were not on this machine.
        answers_sha256: SHA-256 of the predictions, which tells models of one name apart if there
            are no weights, no endpoint and no file of predictions; otherwise empty.
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
        """Whether the model can be scored again."""
        return self.endpoint is None and self.predictions is None

    def obtained(self, *, rescored: bool) -> str:
        """How the model's predictions were obtained: a key of `OBTAINED`."""
        if self.rescorable:
            return "rescored" if rescored else "as submitted"
        return "predictions file" if self.endpoint is None else "endpoint"

    @property
    def other_dtype(self) -> str:
        """The dtype in which the model computed; empty for float32, the default."""
        return "" if self.dtype == DEFAULT_DTYPE else self.dtype

    @property
    def unusual_options(self) -> str:
        """The options that differ from the default, in words; empty if none does.

        For a language model the default prompt is the first of `PROMPTS`.
        """
        options = self.options
        words: list[str] = []
        if options.label_map is not None:
            pairs = sorted(options.label_map.items())
            words.append("own label map " + ", ".join(f"{name} → {label}" for name, label in pairs))
        if options.prompt in PROMPTS[1:]:
            words.append(f"default prompt {PROMPTS.index(options.prompt) + 1}")
        elif options.prompt not in (None, PROMPTS[0]):
            words.append(f"own prompt {json.dumps(options.prompt, ensure_ascii=False)}")
        if options.label_words not in (None, LABELS):
            words.append(f"own label words {', '.join(options.label_words or ())}")
        if options.chat_template:
            words.append("chat template")
        if self.other_dtype:
            words.append(self.other_dtype)
        if self.predictions is not None:
            words.append("given predictions, cannot be scored again")
        return "; ".join(words)
