"""Result files: JSON with figures, and beside it a Parquet file with a prediction a case."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord, OptionsRecord, question_of
from s2lct.leaderboard.scoring.figures import (
    RANDOM,
    CapabilityFigures,
    FlippingWord,
    OverallFigures,
    Reference,
)
from s2lct.leaderboard.scoring.score import SelectionRecord

FORMAT: Literal[6] = 6
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


class OutcomesRecord(_Strict):
    """The Parquet file with the outcomes."""

    path: str
    rows: int = Field(ge=0, lt=1 << 53)
    sha256: str


class Result(_Strict):
    """A result file.

    Its figures are for whoever reads it; what reads it here computes them from the predictions in
    the Parquet file beside it, and the suite.
    """

    format: Literal[6] = FORMAT
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

    @property
    def moment(self) -> datetime:
        """When the model was scored; a ValueError where the date is none."""
        when = datetime.fromisoformat(self.date.replace("Z", "+00:00"))
        return when if when.tzinfo else when.replace(tzinfo=timezone.utc)


# What a stranger's result may not say


def faults_of_words(result: Result) -> Iterator[str]:
    """What no result may say, wherever it is shown."""
    for where, text in _texts_of(result, ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_WORDS.get(name, _LONGEST_WORD)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        shown = text.replace("\n", "").replace("\t", "") if name == "prompt" else text
        plain = shown.isascii() and shown.isprintable()
        if not plain and any(unicodedata.category(sign) in _INVISIBLE for sign in shown):
            yield f"{where}: holds a control character"
    try:
        yield from _faults_of_options(result.model.options)
        if result.moment > datetime.now(timezone.utc) + _SLOW_CLOCK:
            yield f"date: {result.date} lies in the future"
    except ScoringError as error:
        yield f"model.options: {error.problem}"
    except ValueError:
        yield f"date: {result.date!r} is no ISO date"


def _faults_of_options(options: OptionsRecord) -> Iterator[str]:
    """Options that say nothing, or the same as others in other words."""
    label_map = options.label_map
    if label_map is not None and check_label_map(label_map) != label_map:
        yield f"model.options.label_map: is not of {', '.join(LABELS)}, written so"
    if (options.prompt is None) != (options.label_words is None):
        yield "model.options: a prompt and its label words go together"
    if options.chat_template and options.prompt is None:
        yield "model.options.chat_template: is of no prompt"
    question_of(options)


def _texts_of(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, and keys, but for the names of fields."""
    if isinstance(value, (float, int)):
        return
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, BaseModel):
        for field, part in value:
            yield from _texts_of(part, f"{where}.{field}" if where else field)
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
    if not _SHA256.fullmatch(model.answers_sha256):
        yield "model.answers_sha256: is no SHA-256"
    if not _SHA256.fullmatch(suite.fingerprint):
        yield "suite.fingerprint: is no SHA-256"


def check_own_name(name: str) -> None:
    """Refuse what nobody may call a model of their own.

    Raises:
        ScoringError: it is no name, or that of a model that comes with s2lct.
    """
    fault = fault_of_model_name(name)
    if name in BUILT_IN:
        fault = f"{name!r} is a model that comes with s2lct"
    if fault:
        raise ScoringError(
            f"--name: {fault}",
            hint="give --name letters, digits, _, . and -, such as --name my-team/my-model",
        )


def fault_of_model_name(name: str) -> str:
    """Why a model cannot be called so beside others; empty if it can."""
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters, at most {LONGEST_NAME}"
    if not _MODEL_NAME.fullmatch(name):
        return f"{name!r} is no name of letters, digits, _, . and -, with / after the owner"
    if name.lower() in _REFERENCE_NAMES:
        return f"{name!r} is what an answer is called that reads no case"
    return ""
