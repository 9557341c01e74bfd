"""Result files: JSON with figures, and beside it a Parquet file with a prediction a case."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, PROMPTS, Label
from s2lct.leaderboard.models.built_in import WORD_LISTS
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.models.language_model import PROMPT, LabelPrompt
from s2lct.leaderboard.scoring.figures import (
    RANDOM,
    CapabilityFigures,
    FlippingWord,
    OverallFigures,
    Reference,
)

FORMAT: Literal[4] = 4
BUILT_IN = (*WORD_LISTS, *EMBEDDED_MODELS)
OTHER_PROMPTS = PROMPTS[1:]
USUAL_DTYPE = "float32"
LONGEST_NAME = 200
_LONGEST_WORDS = {"prompt": 4_000, "label_rule": 10_000, "name": 4_096}
_LONGEST_WORD = 300
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_SLOW_CLOCK = timedelta(minutes=10)
_REFERENCE_NAMES = {RANDOM, *(f"always-{label}" for label in LABELS)}
_SHA256 = re.compile(r"([0-9a-f]{64})?")
_REVISION = re.compile(r"[\w.+!-]*", re.ASCII)
# Hub ids, built-in models, folders, and what servers call models, as llama3:8b
_MODEL_NAME = re.compile(r"/?(?!-)[\w.-]+(?:/(?!-)[\w.-]+)*(?:/|:[\w.-]+)?", re.ASCII)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SuiteRecord(_Strict):
    """Which suite."""

    name: str
    version: str
    fingerprint: str


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
    """Which model; for what it computed in, see `ModelFacts`."""

    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    options: OptionsRecord = OptionsRecord()
    parameters: int | None = Field(default=None, ge=0)
    licence: str | None = None
    endpoint: EndpointUse | None = None
    predictions: PredictionsRecord | None = None
    dtype: str = ""
    device: str = ""
    batch_size: str = ""

    @property
    def rescorable(self) -> bool:
        """Whether the model can be asked again what it said."""
        return self.endpoint is None and self.predictions is None


class SelectionRecord(_Strict):
    """What a part of a suite was chosen by; nothing where it was chosen in another way."""

    capabilities: tuple[str, ...] | None = None
    kind: Literal["seed", "expansion"] | None = None
    limit: int | None = Field(default=None, ge=1)

    def __str__(self) -> str:
        parts = [
            ", ".join(self.capabilities or ()),
            f"{self.kind}s" if self.kind else "",
            f"at most {self.limit} of a capability" if self.limit else "",
        ]
        return "; ".join(filter(None, parts)) or "a choice of cases"


class OutcomesRecord(_Strict):
    """The Parquet file with the outcomes."""

    path: str
    rows: int = Field(ge=0)
    sha256: str


class Result(_Strict):
    """A result file.

    Its figures are for whoever reads it; what reads it here computes them from the predictions in
    the Parquet file beside it, and the suite.
    """

    format: Literal[4] = FORMAT
    suite: SuiteRecord
    selection: SelectionRecord | None = None
    model: ModelRecord
    date: str
    packages: dict[str, str]
    overall: OverallFigures
    capabilities: dict[str, CapabilityFigures]
    answers: dict[Label, int]
    references: dict[str, Reference]
    flipping_words: tuple[FlippingWord, ...]
    outcomes: OutcomesRecord

    @property
    def partial(self) -> bool:
        """Whether cases of the suite were left out."""
        return self.selection is not None


def asked(options: OptionsRecord) -> LabelPrompt | None:
    """What a language model was asked; None for others. A `ScoringError` for no question."""
    if options.prompt is None or options.label_words is None:
        return None
    return LabelPrompt(options.prompt, options.label_words, options.chat_template)


def own_options(options: OptionsRecord) -> str:
    """Options with which a model says something else than without, in words.

    Empty where a model was scored as it comes, a language model with the usual question.
    """
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
    return "; ".join(words)


def stands_apart(model: ModelRecord) -> str:
    """`own_options` of a model, its type of numbers, and whether it can be scored again.

    Empty for what is usual.
    """
    given = "" if model.predictions is None else "given predictions, cannot be scored again"
    return "; ".join(filter(None, (own_options(model.options), other_dtype(model), given)))


def other_dtype(model: ModelRecord) -> str:
    """The type of numbers that a model computed in; empty for single precision, the usual."""
    return "" if model.dtype == USUAL_DTYPE else model.dtype


# What a stranger's result may not say


def faults_of_words(result: Result) -> Iterator[str]:
    """What no result may say, wherever it is shown."""
    for where, text in _texts_of(result.model_dump(), ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_WORDS.get(name, _LONGEST_WORD)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        shown = text.replace("\n", "").replace("\t", "") if name == "prompt" else text
        if any(unicodedata.category(sign) in _INVISIBLE for sign in shown):
            yield f"{where}: holds a control character"
    try:
        asked(result.model.options)
        when = datetime.fromisoformat(result.date.replace("Z", "+00:00"))
        when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
        if when > datetime.now(timezone.utc) + _SLOW_CLOCK:
            yield f"date: {result.date} lies in the future"
    except ScoringError as error:
        yield f"model.options: {error.problem}"
    except ValueError:
        yield f"date: {result.date!r} is no ISO date"


def _texts_of(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"a key in {where or 'the file'}", str(key)
            yield from _texts_of(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _texts_of(part, f"{where}.{number}")


def faults_of_names(result: Result) -> Iterator[str]:
    """Names that are none, or that look like another beside others."""
    model, suite = result.model, result.suite
    if fault := fault_of_model_name(model.name):
        yield f"model.name: {fault}"
    if not _REVISION.fullmatch(model.revision):
        yield f"model.revision: {model.revision!r} is no revision"
    if not _REVISION.fullmatch(suite.version):
        yield f"suite.version: {suite.version!r} is no version"
    if not _SHA256.fullmatch(model.weights_sha256):
        yield "model.weights_sha256: is no SHA-256"
    if not _SHA256.fullmatch(suite.fingerprint):
        yield "suite.fingerprint: is no SHA-256"


def fault_of_model_name(name: str) -> str:
    """Why a model cannot be called so beside others; empty if it can."""
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters, at most {LONGEST_NAME}"
    if not _MODEL_NAME.fullmatch(name):
        return f"{name!r} is no name of letters, digits, _, . and -, with / after the owner"
    if name.lower() in _REFERENCE_NAMES:
        return f"{name!r} is what an answer is called that reads no case"
    return ""
