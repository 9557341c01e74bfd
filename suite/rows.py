"""What the rows of a suite must be, whoever wrote them: one by one, and together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_LISTED = Field(max_length=1_000)
_OPTIONAL = ("production", "score")
_PLAIN = {str, int, float, bool, list, dict, type(None)}
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
        return {
            name: value if type(value) in _PLAIN else _plain(value) for name, value in row.items()
        }


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value


def _none_if_empty(value: Any) -> Any:
    """An empty struct, which some readers give where there is none."""
    empty = isinstance(value, Mapping) and all(part is None for part in value.values())
    return None if empty else value


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

    def faults(self) -> Iterator[str]:
        """What is wrong with it by itself, whoever made it."""
        if not self.text.strip():
            yield "it has no text"
        if not is_capability_id(self.capability):
            yield "its capability has a name that none can have"
        if len(set(self.labels)) < len(self.labels):
            yield f"its labels are {self.labels}"
        if self.label is not None and self.label not in self.labels:
            yield "its label is not among those that pass"
        if self.kind == "seed" and self.seed_id != self.id:
            yield "a seed's seed_id is its own id"
        for word in self.inserted or ():
            if word.start is None or word.end is None:
                continue
            if not 0 <= word.start < word.end or self.text[word.start : word.end] != word.word:
                yield "an inserted word is not at its offsets"

    def faults_if_built(self) -> Iterator[str]:
        """What no row has that was built here: it is whole, and its id the hash of what it is.

        That binds capability and kind to the suite's fingerprint.
        """
        parts = [self, *(self.sources or ()), *(self.inserted or ())]
        if any(value is None for part in parts for name, value in part if name not in _OPTIONAL):
            yield "it, a source or an inserted word lacks something"
        if self.id != content_id(self.kind, self.capability, self.text):
            yield "its id is not the hash of its capability and text"
        if self.kind == "expansion" and (self.production is None or not self.inserted):
            yield "it has no production, or no inserted word"


def faults_told(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), SHOWN)
        what = fault["msg"].removeprefix("Value error, ")
        yield f"{where}: {what[:1].lower()}{what[1:]}".removeprefix(": ")


def checked_rows(
    tables: Iterable[tuple[str, str, Sequence[Any]]], *, built: bool
) -> tuple[list[CaseRow], list[str]]:
    """The sound rows of a suite, and what is wrong with the others or shows between rows.

    Args:
        tables: of each file its name and the capability of all its rows, both empty where rows
            come from no file, and the rows, which may be anything.
        built: whether it must be as it is built here; see `CaseRow.faults_if_built`.
    """
    sound: dict[str, tuple[str, CaseRow]] = {}
    faults: list[str] = []
    named: set[str] = set()  # ids of all rows, sound or not
    for file, capability, rows in tables:
        for number, given in enumerate(rows):
            row, found = _checked(given, built=built)
            if row is not None and capability not in ("", row.capability):
                found.append(f"it stands among the rows of {capability}")
            id_ = str(given.get("id")) if isinstance(given, Mapping) else ""
            if id_ and id_ in named:
                found.append("its id stands there twice")
            named.add(id_)
            where = _where(file, given, number)
            faults += (f"{where}: {what}" for what in found)
            if row is not None and not found:
                sound[row.id] = (where, row)
    for where, row in sound.values():
        if row.kind != "seed":
            _, seed = sound.get(row.seed_id, ("", None))
            if seed is not None:
                found = list(_faults_between(row, seed, built=built))
            else:  # of a broken seed enough was said
                missing = f"its seed {plain(row.seed_id, SHOWN)} is not in the suite"
                found = [] if row.seed_id in named else [missing]
            faults += (f"{where}: {what}" for what in found)
    return [row for _, row in sound.values()], faults


def _checked(given: Any, *, built: bool) -> tuple[CaseRow | None, list[str]]:
    if not isinstance(given, Mapping):
        return None, ["holds no columns"]
    try:
        row = CaseRow.model_validate(given)
    except ValidationError as error:
        return None, list(faults_told(error))[:3]
    return row, [*row.faults(), *(row.faults_if_built() if built else ())]


def _where(file: str, row: Any, number: int) -> str:
    columns = ("capability", "kind", "id")
    names = [row.get(name) for name in columns] if isinstance(row, Mapping) else [None]
    known = all(isinstance(name, str) and name for name in names)
    called = plain(" ".join(map(str, names)), SHOWN) if known else f"row {number}"
    return f"{file}, {called}" if file else called


def _faults_between(row: CaseRow, seed: CaseRow, *, built: bool) -> Iterator[str]:
    if (seed.kind, seed.capability) != ("seed", row.capability):
        yield "its seed is none, or of another capability"
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
