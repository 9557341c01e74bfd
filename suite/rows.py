"""What a row of a suite must be, by itself, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.description import Name, Text
from s2lct.suite.faults import SHOWN
from s2lct.suite.tables import COUNTERPART, KINDS

_LISTED = Field(max_length=1_000)


def _plain_value(value: Any) -> Any:
    """Numbers, arrays and tuples of NumPy, torch and their like as Python's own."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value


def _label_id(value: Any) -> Any:
    value = _plain_value(value)
    if isinstance(value, str):
        if value not in LABELS:
            raise ValueError(f"{plain(value, SHOWN)!r} is none of {', '.join(LABELS)}")
        return LABELS.index(value)
    if type(value) is int and value not in range(len(LABELS)):
        raise ValueError(f"{value} is no label: 0 is negative, 1 neutral, 2 positive")
    return value


def _kind(value: Any) -> Any:
    if isinstance(value, str) and value not in (*KINDS, COUNTERPART):
        raise ValueError(f"its kind is {plain(value, SHOWN)!r}")
    return value


def _none_if_empty(value: Any) -> Any:
    """An empty struct, which some readers give where there is none."""
    if isinstance(value, Mapping) and all(one is None for one in value.values()):
        return None
    return value


def _utf8(value: Any) -> Any:
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a lone surrogate)") from None
    return value


_PLAIN = BeforeValidator(_plain_value)
_LabelId = Annotated[int, BeforeValidator(_label_id)]
_Whole = Annotated[int, _PLAIN]
_Sound = Annotated[Text, BeforeValidator(_utf8)]
_SoundName = Annotated[Name, BeforeValidator(_utf8)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class SourceRow(_Part):
    """A corpus sentence that a case was made from; see `records.Sentence`."""

    text: _Sound
    corpus: _Sound = ""
    id: _Sound = ""
    split: _Sound | None = ""
    label: _LabelId | None = None
    score: Annotated[FiniteFloat | None, _PLAIN] = None
    used: _Sound | None = None


class _ProductionRow(_Part):
    lhs: _SoundName
    reference_rhs: Annotated[list[_SoundName], _PLAIN, _LISTED]


class _InsertedRow(_Part):
    word: _SoundName
    start: _Whole | None = None
    end: _Whole | None = None


class _WrittenSource(SourceRow):
    corpus: _Sound
    id: _Sound
    split: _Sound
    label: _LabelId
    used: _Sound


class _WrittenProduction(_ProductionRow):
    seed_rhs: Annotated[list[_SoundName], _LISTED]
    probability: FiniteFloat


class _WrittenInserted(_InsertedRow):
    tag: _SoundName
    start: int
    end: int


class _VerdictRow(_Part):
    """What a reader found of a case, or of a sentence in it."""

    of: Literal["case", "sentence"]
    reader: _SoundName
    natural: Annotated[int, Field(ge=0, le=2)]


class CaseRow(_Part):
    """A row of a suite, checked, with labels as numbers; what a row lacks is None."""

    id: _SoundName
    capability: _SoundName
    kind: Annotated[Literal["seed", "expansion", "counterpart"], BeforeValidator(_kind)]
    seed_id: _SoundName
    text: _Sound
    labels: Annotated[list[_LabelId], _PLAIN, Field(min_length=1, max_length=len(LABELS))]
    label: _LabelId | None = None
    template: _Sound | None = None
    sources: Annotated[Sequence[SourceRow] | None, _PLAIN, _LISTED] = None
    production: Annotated[_ProductionRow | None, BeforeValidator(_none_if_empty)] = None
    inserted: Annotated[Sequence[_InsertedRow] | None, _PLAIN, _LISTED] = None


class WrittenRow(CaseRow):
    """A row as `write` writes it: nothing may be missing."""

    label: _LabelId
    template: Annotated[_Sound, Field(max_length=2_000)]
    sources: Annotated[Sequence[_WrittenSource], _LISTED]
    masked_text: _Sound | None
    production: _WrittenProduction | None
    inserted: Annotated[Sequence[_WrittenInserted], _LISTED]
    score: FiniteFloat | None
    origin: Literal["", "masked", "phrase", "attested", "synonym"]
    verdicts: Annotated[Sequence[_VerdictRow], _LISTED] = ()
