"""The contents of a result file, the identity of its model, and whether it may be ranked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord, OptionsRecord
from s2lct.leaderboard.scoring.figures import (
    RANDOM,
    CapabilityFigures,
    FlippingWord,
    OverallFigures,
    Reference,
)
from s2lct.leaderboard.scoring.score import SelectionRecord

FORMAT: Literal[6] = 6
MAX_NAME_LENGTH = 200
_MAX_CLOCK_ERROR = timedelta(minutes=10)
_REFERENCE_NAMES = {RANDOM, *(f"always-{label}" for label in LABELS)}
_SHA256 = re.compile(r"([0-9a-f]{64})?")
_REVISION = re.compile(r"[\w.+!-]*", re.ASCII)
# Hub ids, built-in models, folders, and models of servers, as llama3:8b
_MODEL_NAME = re.compile(r"/?(?!-)[\w.-]+(?:/(?!-)[\w.-]+)*(?:/|:[\w.-]+)?", re.ASCII)
_MODEL_FIELDS = {"name", "options", "dtype"}
_VERSION_FIELDS = {"revision", "weights_sha256", "answers_sha256", "predictions"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SuiteRecord(_Strict):
    """The suite that a model was scored on."""

    name: str
    version: str
    fingerprint: str


class OutcomesRecord(_Strict):
    """The name, number of rows and SHA-256 of the Parquet file with the outcomes."""

    path: str
    rows: int = Field(ge=0, lt=1 << 53)
    sha256: str


class Result(_Strict):
    """The contents of a result file.

    Its figures are for people and other programs. s2lct itself computes them again, from the suite
    and the predictions in the Parquet file beside it.
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
        """The time at which the model was scored."""
        moment = datetime.fromisoformat(self.date.replace("Z", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)

    @model_validator(mode="after")
    def _check_texts(self) -> Result:
        names = (self.model.name, self.model.revision, self.suite.name, self.suite.version)
        if not all(name.isprintable() for name in names):
            raise ValueError("a name, revision or version holds a control character")
        try:
            is_future = self.moment > datetime.now(timezone.utc) + _MAX_CLOCK_ERROR
        except ValueError:
            raise ValueError(f"date: {self.date!r:.60} is no ISO date") from None
        if is_future:
            raise ValueError(f"date: {self.date} lies in the future")
        try:
            _check_options(self.model.options)
        except ScoringError as error:
            raise ValueError(f"model.options: {error.problem}") from None
        return self


def _check_options(options: OptionsRecord) -> None:
    """Refuse options that mean nothing or have another spelling: they would make a second row."""
    label_map = options.label_map
    if label_map is not None and check_label_map(label_map) != label_map:
        raise ValueError(f"model.options.label_map: use {', '.join(LABELS)}, written so")
    if (options.prompt is None) != (options.label_words is None):
        raise ValueError("model.options: a prompt and its label words go together")
    if options.chat_template and options.prompt is None:
        raise ValueError("model.options.chat_template: needs a prompt")
    options.label_prompt  # noqa: B018  raises a ScoringError for no prompt


def model_identity(model: ModelRecord, *, any_version: bool = False) -> list[object]:
    """A value for JSON, equal for two results of the same model with the same options.

    Args:
        model: the model, as a result records it.
        any_version: ignore differences of weights and revision.
    """
    fields = _MODEL_FIELDS if any_version else _MODEL_FIELDS | _VERSION_FIELDS
    identity: list[object] = [model.model_dump(mode="json", include=fields)]
    if model.endpoint is not None:
        identity += [model.endpoint.url, model.endpoint.max_tokens]
    return identity


def ranking_faults(result: Result) -> Iterator[str]:
    """The reasons why a result may not be ranked; none if it may."""
    model, suite = result.model, result.suite
    if fault := name_fault(model.name):
        yield f"model.name: {fault}"
    for field, value, pattern in (
        ("model.revision", model.revision, _REVISION),
        ("model.weights_sha256", model.weights_sha256, _SHA256),
        ("model.answers_sha256", model.answers_sha256, _SHA256),
        ("suite.version", suite.version, _REVISION),
        ("suite.fingerprint", suite.fingerprint, _SHA256),
    ):
        if not pattern.fullmatch(value):
            yield f"{field}: {value!r:.60} cannot be one"
    if model.predictions is not None:
        yield "model.predictions: nobody can score predictions from a file again"
    if result.partial:
        yield "selection: it covers a part of the suite; score the model on all of it"


def check_name_of_own_model(name: str) -> None:
    """Refuse a name that users may not give to their own model.

    Raises:
        ScoringError: the name has other characters, or belongs to a model that comes with s2lct.
    """
    fault = f"{name!r} is a model that comes with s2lct" if name in BUILT_IN else name_fault(name)
    if fault:
        raise ScoringError(
            f"--name: {fault}",
            hint="give --name letters, digits, _, . and -, such as --name my-team/my-model",
        )


def name_fault(name: str) -> str:
    """The fault of a model's name, in words; empty if it may be used."""
    if len(name) > MAX_NAME_LENGTH:
        return f"has {len(name):,} characters, at most {MAX_NAME_LENGTH}"
    if not _MODEL_NAME.fullmatch(name):
        return f"{name!r} is no name of letters, digits, _, . and -, with / after the owner"
    if name.lower() in _REFERENCE_NAMES:
        return f"{name!r} is the name of a constant or random answer"
    return ""
