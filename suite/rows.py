"""What the rows of a suite must be, whoever wrote them: one by one, and together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)

from s2lct.identity import content_id, fingerprint_of
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.tables import COUNTERPART

SHOWN = 80
_NAMING = ("capability", "kind", "id")
_LISTED = Field(max_length=1_000)
_NEVER_EMPTY = ("label", "template", "sources", "inserted", "origin", "verdicts")
Text = Annotated[str, Field(max_length=100_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def _number_of(label: Any) -> Any:
    if isinstance(label, str) and label in LABELS:
        return LABELS.index(label)
    return label


LabelId = Annotated[int, Field(ge=0, lt=len(LABELS)), BeforeValidator(_number_of)]
"""Of `LABELS`; a row may have its name instead."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _plain_values(cls, row: Any) -> Any:
        """Numbers, arrays and tuples of NumPy, torch and their like as Python's own."""
        if not isinstance(row, Mapping):
            return row
        return {name: _plain(row[name]) for name in cls.model_fields if name in row}


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value


class SourceRow(_Part):
    """A corpus sentence that a case was made from; see `records.Sentence`."""

    text: Text
    corpus: Text = ""
    id: Text = ""
    split: Text | None = ""
    label: LabelId | None = None
    score: FiniteFloat | None = None
    used: Text | None = None


class ProductionRow(_Part):
    """What licensed an insertion; see `records.Production`."""

    lhs: Name
    reference_rhs: Annotated[list[Name], _LISTED]
    seed_rhs: Annotated[list[Name], _LISTED] = []
    probability: FiniteFloat | None = None


class InsertedRow(_Part):
    """A word that an expansion has and its seed lacks; see `records.InsertedWord`."""

    word: Name
    tag: Name | None = None
    start: int | None = None
    end: int | None = None


class AnnotationRow(_Part):
    """What an annotator found of a case, or of a sentence in it."""

    of: Literal["case", "sentence"]
    reader: Name
    natural: Annotated[int, Field(ge=0, le=2)]


def _none_if_empty(value: Any) -> Any:
    """An empty struct, which some readers give where there is none."""
    empty = isinstance(value, Mapping) and all(part is None for part in value.values())
    return None if empty else value


class CaseRow(_Part):
    """A row of a suite, with labels as numbers.

    A suite that was built has all columns; rows of others need no more than say what the case is.
    """

    id: Name
    capability: Name
    kind: Literal["seed", "expansion", "counterpart"]
    seed_id: Name
    text: Text
    labels: Annotated[list[LabelId], Field(min_length=1, max_length=len(LABELS))]
    label: LabelId | None = None
    template: Text | None = None
    sources: Annotated[Sequence[SourceRow] | None, _LISTED] = None
    production: Annotated[ProductionRow | None, BeforeValidator(_none_if_empty)] = None
    inserted: Annotated[Sequence[InsertedRow] | None, _LISTED] = None
    origin: Literal["", "masked", "phrase", "attested", "synonym"] | None = None
    verdicts: Annotated[Sequence[AnnotationRow] | None, _LISTED] = None

    def faults(self, *, built: bool) -> Iterator[str]:
        """What is wrong with it by itself.

        Args:
            built: whether it was built here: then it lacks nothing, and its id is the hash of what
                it is. That binds capability and kind to the suite's fingerprint.
        """
        if not self.text.strip():
            yield "it has no text"
        if not is_capability_id(self.capability):
            yield f"no capability can be called {plain(self.capability, SHOWN)!r}"
        if len(set(self.labels)) < len(self.labels):
            yield f"its labels are {self.labels}"
        if self.label is not None and self.label not in self.labels:
            yield "its label is not among those that pass"
        if self.kind == "seed" and self.seed_id != self.id:
            yield "a seed's seed_id is its own id"
        for word in self.inserted or ():
            start, end = word.start, word.end
            if start is None or end is None:
                continue
            if not 0 <= start < end or self.text[start:end] != word.word:
                yield "an inserted word is not at its offsets"
        if built:
            yield from self._faults_of_a_built_row()

    def _faults_of_a_built_row(self) -> Iterator[str]:
        if missing := [name for name in _NEVER_EMPTY if getattr(self, name) is None]:
            yield f"it has no {', '.join(missing)}"
        parts = [*(self.sources or ()), *(self.inserted or ())]
        if any(value is None for part in parts for name, value in part if name != "score"):
            yield "its sources or inserted words lack something"
        if self.id != content_id(self.kind, self.capability, self.text):
            yield "its id is not the hash of its capability and text"
        if self.kind == "expansion" and self.production is None:
            yield "it has no production"
        if self.kind == "expansion" and not self.inserted:
            yield "it has no inserted word"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file of a suite, or with a row of it; rows may come from no file."""

    file: str
    what: str
    row: str = ""

    def __str__(self) -> str:
        where = self.row or self.file
        return f"{where}: {self.what}" if where else self.what


def faults_told(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), SHOWN)
        what = fault["msg"].removeprefix("Value error, ")
        what = what[:1].lower() + what[1:]
        yield f"{where}: {what}" if where else what


def checked_rows(
    tables: Iterable[tuple[str, str | None, Sequence[Any]]], *, built: bool
) -> tuple[list[CaseRow], list[Fault]]:
    """The sound rows of a suite, and what is wrong with the others or shows between rows.

    Args:
        tables: of each file its name, the capability that all its rows must be of (None for any),
            and its rows, which may be anything.
        built: see `CaseRow.faults`.
    """
    sound: dict[str, tuple[str, CaseRow]] = {}
    faults: list[Fault] = []
    named: set[str] = set()  # ids of all rows, sound or not
    for file, capability, rows in tables:
        for number, given in enumerate(rows):
            row, found = _checked(given, built=built)
            if row is not None and capability not in (None, row.capability):
                found.append(f"it stands among the rows of {capability}")
            id_ = str(given.get("id")) if isinstance(given, Mapping) else ""
            if id_ in named and id_:
                found.append("its id stands there twice")
            named.add(id_)
            faults += (Fault(file, what, _where(given, number)) for what in found)
            if row is not None and not found:
                sound[row.id] = (file, row)
    for file, row in sound.values():
        if row.kind != "seed":
            _, seed = sound.get(row.seed_id, ("", None))
            # What is said of a broken seed is enough.
            missing = (
                ()
                if row.seed_id in named
                else (f"its seed {plain(row.seed_id, SHOWN)} is not in the suite",)
            )
            found = missing if seed is None else _faults_between(row, seed, built=built)
            faults += (Fault(file, what, _where(row.__dict__, 0)) for what in found)
    return [row for _, row in sound.values()], faults


def _checked(given: Any, *, built: bool) -> tuple[CaseRow | None, list[str]]:
    if not isinstance(given, Mapping):
        return None, ["holds no columns"]
    try:
        row = CaseRow.model_validate(given)
    except ValidationError as error:
        return None, list(faults_told(error))[:3]
    return row, list(row.faults(built=built))


def _where(row: Any, number: int) -> str:
    names = [row.get(name) if isinstance(row, Mapping) else None for name in _NAMING]
    if all(isinstance(name, str) and name for name in names):
        return plain(" ".join(map(str, names)), SHOWN)
    return f"row {number}"


def _faults_between(row: CaseRow, seed: CaseRow, *, built: bool) -> Iterator[str]:
    if seed.kind != "seed":
        yield f"its seed is of kind {seed.kind}"
    if seed.capability != row.capability:
        yield f"its seed is of another capability, {plain(seed.capability, SHOWN)}"
    if row.kind != COUNTERPART and built:
        words = [(word.start or 0, word.end or 0) for word in row.inserted or ()]
        if without(row.text, words) != seed.text:
            yield "without its inserted words it is not its seed"


def without(text: str, inserted: Sequence[tuple[int, int]]) -> str:
    """A text without its inserted words, from start to end, and the space that came with each.

    What begins with a comma came without one.
    """
    for start, end in sorted(inserted, reverse=True):
        if text[start : start + 1] == ",":
            pass
        elif text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    return text


def rows_fingerprint(rows: Iterable[Mapping[str, Any]]) -> str:
    """What identifies a suite: a hash over ids, texts and labels of its rows, in its order."""
    return fingerprint_of([[row["id"], row["text"], row["labels"]] for row in rows])
