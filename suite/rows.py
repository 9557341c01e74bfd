"""What a row of a suite must be, by itself, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
)

from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.description import Name, Text
from s2lct.suite.faults import SHOWN
from s2lct.suite.tables import KINDS

_LONGEST_TEMPLATE = 2_000
_LONGEST_LIST = 1_000


def _without_arrays(value: Any) -> Any:
    """Numbers and arrays of NumPy, torch and their like as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def _label_id(value: Any) -> Any:
    value = _without_arrays(value)
    if isinstance(value, str):
        if value not in LABELS:
            raise ValueError(f"{plain(value, SHOWN)!r} is none of {', '.join(LABELS)}")
        return LABELS.index(value)
    if type(value) is int and value not in range(len(LABELS)):
        raise ValueError(f"{value} is no label: 0 is negative, 1 neutral, 2 positive")
    return value


def _kind(value: Any) -> Any:
    if isinstance(value, str) and value not in KINDS:
        raise ValueError(f"its kind is {plain(value, SHOWN)!r}")
    return value


def _none_if_empty(value: Any) -> Any:
    """An empty struct, which some readers give where there is none."""
    if isinstance(value, Mapping) and all(one is None for one in value.values()):
        return None
    return value


def _as_list(value: Any) -> Any:
    value = _without_arrays(value)
    return list(value) if isinstance(value, tuple) else value


def _utf8(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a character (a lone surrogate)") from None
    return value


_LabelId = Annotated[int, BeforeValidator(_label_id)]
_Whole = Annotated[int, BeforeValidator(_without_arrays)]
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
    score: Annotated[FiniteFloat | None, BeforeValidator(_without_arrays)] = None
    used: _Sound | None = None


class ProductionRow(_Part):
    """What licensed an insertion; see `records.Production`."""

    lhs: _SoundName
    reference_rhs: Annotated[
        list[_SoundName], BeforeValidator(_as_list), Field(max_length=_LONGEST_LIST)
    ]


class InsertedRow(_Part):
    """A word that an expansion has and its seed lacks; see `records.InsertedWord`."""

    word: _SoundName
    start: _Whole | None = None
    end: _Whole | None = None


class _WrittenSource(SourceRow):
    corpus: _Sound
    id: _Sound
    split: _Sound
    label: _LabelId


class _WrittenProduction(ProductionRow):
    seed_rhs: Annotated[list[_SoundName], Field(max_length=_LONGEST_LIST)]
    probability: FiniteFloat


class _WrittenInserted(InsertedRow):
    tag: _SoundName
    start: int
    end: int


class CaseRow(_Part):
    """A row of a suite, checked.

    The columns from ``label`` on are None in rows that lack them.

    Attributes:
        id, capability, kind, seed_id, text: see `leaderboard.cases.Case`.
        labels: label ids that pass, in the row's order.
        label: the one to train on.
        template, sources, production, inserted: see `records.Seed` and `records.Expansion`.
    """

    id: _SoundName
    capability: _SoundName
    kind: Annotated[Literal["seed", "expansion", "counterpart"], BeforeValidator(_kind)]
    seed_id: _SoundName
    text: _Sound
    labels: Annotated[
        list[_LabelId], BeforeValidator(_as_list), Field(min_length=1, max_length=len(LABELS))
    ]
    label: _LabelId | None = None
    template: _Sound | None = None
    sources: Annotated[
        Sequence[SourceRow] | None, BeforeValidator(_as_list), Field(max_length=_LONGEST_LIST)
    ] = None
    production: Annotated[ProductionRow | None, BeforeValidator(_none_if_empty)] = None
    inserted: Annotated[
        Sequence[InsertedRow] | None, BeforeValidator(_as_list), Field(max_length=_LONGEST_LIST)
    ] = None


class WrittenRow(CaseRow):
    """A row as `write` writes it: nothing may be missing."""

    label: _LabelId
    template: Annotated[_Sound, Field(max_length=_LONGEST_TEMPLATE)]
    sources: Annotated[Sequence[_WrittenSource], Field(max_length=_LONGEST_LIST)]
    masked_text: _Sound | None
    production: _WrittenProduction | None
    inserted: Annotated[Sequence[_WrittenInserted], Field(max_length=_LONGEST_LIST)]
    score: FiniteFloat | None
    origin: Literal["", "masked", "phrase", "attested"]
