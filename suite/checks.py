"""What a suite must be to be read, whoever wrote it: its description, and row by row.

Nothing here opens a file; `suite` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
)

from s2lct.identity import SEMANTIC_VERSION, content_id, fingerprint_of
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.records import FormName
from s2lct.suite.tables import KINDS, SUITE_FILE

_SHA256 = r"^[0-9a-f]{64}$"
_DATA_FILE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.parquet"
_LONGEST_NAME = 200
_LONGEST_TEXT = 100_000
_LONGEST_TEMPLATE = 2_000
_LONGEST_LIST = 1_000
_MOST_FAULTS_OF_A_ROW = 3
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a suite.

    Attributes:
        file: within the suite's folder; empty for rows that came from none.
        what: what is wrong with it.
        row: which row of it, in words; empty for the file as a whole.
    """

    file: str
    what: str
    row: str = ""

    def __str__(self) -> str:
        where = self.row or self.file
        return f"{where}: {self.what}" if where else self.what


class _Described(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


_Number = Annotated[int, Field(ge=0, lt=1 << 53)]
_Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]
_Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]


class _File(_Described):
    path: Annotated[str, Field(max_length=_LONGEST_NAME * 2)]
    rows: _Number
    bytes: _Number
    memory: _Number
    sha256: Annotated[str, Field(pattern=_SHA256)]


class _Capability(_Described):
    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: _Text
    expectation: _Text
    forms: dict[str, Any]


class _Counts(_Described):
    __pydantic_extra__: dict[str, _Number]

    seeds: _Number
    expansions: _Number


class _Corpus(_Described):
    name: _Text
    description: _Text
    licence: _Text
    sentences: _Number


class _Options(_Described):
    corpus: _Text
    text_column: _Text | None
    label_column: _Text | None
    label_map: dict[str, Label] | None
    templates: FormName
    masks: _Number
    suggestions: _Number
    select: _Name
    parser: _Text
    tagger: _Text
    mlm: _Text
    sentiwordnet: _Text | None


class _Description(_Described):
    version: Annotated[str, Field(pattern=SEMANTIC_VERSION, max_length=50)]
    fingerprint: Annotated[str, Field(pattern=_SHA256)]
    build_fingerprint: _Name
    options: _Options
    corpus: _Corpus
    capabilities: list[_Capability]
    counts: dict[str, _Counts]
    files: dict[str, _File]


def description_faults(described: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with the contents of ``suite.json``."""
    try:
        checked = _Description.model_validate(described)
    except ValidationError as error:
        yield from (Fault(SUITE_FILE, said) for said in faults_told(error))
        return
    ids = [one.id for one in checked.capabilities]
    if twice := {name for name in ids if ids.count(name) > 1}:
        yield Fault(SUITE_FILE, f"capabilities: {', '.join(sorted(twice))} stands there twice")
    for name in ids:
        if not is_capability_id(name):
            yield Fault(SUITE_FILE, f"capabilities: {name} is a name that is taken")
        if name not in checked.counts:
            yield Fault(SUITE_FILE, f"counts: {name} is missing")
    for name, file in checked.files.items():
        if name not in ids:
            yield Fault(
                SUITE_FILE, f"files: it lists no capability {plain(name, _SHOWN)}, which has a file"
            )
        elif not is_data_file(name, file.path):
            yield Fault(
                SUITE_FILE,
                f"files.{name}.path: {plain(file.path, _SHOWN)} is none of data/{name}/*.parquet",
            )


def is_data_file(name: str, path: object) -> bool:
    """Whether a path is one of a config's within the suite's folder."""
    prefix = f"data/{name}/"
    return (
        isinstance(path, str)
        and re.fullmatch(ID_PATTERN, name) is not None
        and path.startswith(prefix)
        and re.fullmatch(_DATA_FILE, path.removeprefix(prefix)) is not None
    )


def usable_files(described: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Those of the files named in ``suite.json`` that can be looked at, whatever else is wrong."""
    files = described.get("files")
    if not isinstance(files, dict):
        return {}
    usable: dict[str, dict[str, Any]] = {}
    for name, file in files.items():
        try:
            _File.model_validate(file)
        except ValidationError:
            continue
        if is_data_file(name, file["path"]):
            usable[name] = file
    return usable


def in_order(described: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Configs in the order of the suite's capabilities; what it does not list comes last."""
    listed = described.get("capabilities")
    order = (
        [one.get("id") for one in listed if isinstance(one, dict)]
        if isinstance(listed, list)
        else []
    )
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def faults_told(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), _SHOWN)
        said = fault["msg"].removeprefix("Value error, ")
        said = said[:1].lower() + said[1:]
        yield f"{where}: {said}" if where else said


def _without_arrays(value: Any) -> Any:
    """Numbers and arrays of NumPy, torch and their like as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def _label_id(value: Any) -> Any:
    value = _without_arrays(value)
    if isinstance(value, str):
        if value not in LABELS:
            raise ValueError(f"{plain(value, _SHOWN)!r} is none of {', '.join(LABELS)}")
        return LABELS.index(value)
    if type(value) is int and value not in range(len(LABELS)):
        raise ValueError(f"{value} is no label: 0 is negative, 1 neutral, 2 positive")
    return value


def _kind(value: Any) -> Any:
    if isinstance(value, str) and value not in KINDS:
        raise ValueError(f"its kind is {plain(value, _SHOWN)!r}")
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
_Sound = Annotated[_Text, BeforeValidator(_utf8)]
_SoundName = Annotated[_Name, BeforeValidator(_utf8)]


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
    kind: Annotated[Literal["seed", "expansion"], BeforeValidator(_kind)]
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


class _WrittenRow(CaseRow):
    """A row as `write` writes it: nothing may be missing."""

    label: _LabelId
    template: Annotated[_Sound, Field(max_length=_LONGEST_TEMPLATE)]
    sources: Annotated[Sequence[_WrittenSource], Field(max_length=_LONGEST_LIST)]
    masked_text: _Sound | None
    production: _WrittenProduction | None
    inserted: Annotated[Sequence[_WrittenInserted], Field(max_length=_LONGEST_LIST)]
    score: FiniteFloat | None


_ANY_ROW: TypeAdapter[CaseRow] = TypeAdapter(CaseRow)
_WRITTEN_ROW: TypeAdapter[_WrittenRow] = TypeAdapter(_WrittenRow)


class Rows:
    """Rows of one suite, checked one after the other and then together.

    Attributes:
        faults: what was found.
        rows: the sound ones.

    Args:
        written: refuse rows that lack a column or whose id is not the hash of what they are, as
            `write` makes them. That hash binds capability and kind to the fingerprint, which
            covers ids, texts and labels.
    """

    def __init__(self, *, written: bool) -> None:
        self.faults: list[Fault] = []
        self.rows: list[CaseRow] = []
        self._written = written
        self._files: list[str] = []
        self._id_of: dict[str, str] = {}  # of every row that has one, sound or not

    def add(self, rows: Sequence[Any], file: str = "", capability: str | None = None) -> list[int]:
        """Check rows by themselves.

        Args:
            rows: anything.
            file: where they stand.
            capability: the one that all of them must be of; None for any.

        Returns:
            The places of those that are rows of a suite.
        """
        sound: list[int] = []
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping):
                self.faults.append(Fault(file, "holds no columns", f"row {number}"))
                continue
            given = dict(row)
            try:
                checked = (_WRITTEN_ROW if self._written else _ANY_ROW).validate_python(given)
            except ValidationError as error:
                where, said = _told(given, number), list(faults_told(error))
                self.faults += [Fault(file, one, where) for one in said[:_MOST_FAULTS_OF_A_ROW]]
                if isinstance(name := given.get("id"), str):
                    self._id_of.setdefault(name, where)
                continue
            faults = list(self._own_faults(checked, capability))[:_MOST_FAULTS_OF_A_ROW]
            where = _where(checked)
            self.faults += [Fault(file, one, where) for one in faults]
            self._id_of.setdefault(checked.id, where)
            if not faults:
                sound.append(number)
                self._files.append(file)
                self.rows.append(checked)
        return sound

    def _own_faults(self, row: CaseRow, capability: str | None) -> Iterator[str]:
        if row.id in self._id_of:
            yield f"its id is also that of {self._id_of[row.id]}"
        if not row.text.strip():
            yield "its text is empty"
        if capability is not None and row.capability != capability:
            yield f"its capability is {plain(row.capability, _SHOWN)}, its config {capability}"
        if not is_capability_id(row.capability):
            yield f"its capability is called {row.capability}, a name that is taken"
        if len(set(row.labels)) < len(row.labels):
            yield f"its labels are {row.labels}"
        if row.label is not None and row.label not in row.labels:
            yield "its label is not among those that pass"
        if row.kind == "seed" and row.seed_id != row.id:
            yield "a seed's seed_id is its own id"
        if self._written and row.id != content_id(row.kind, row.capability, row.text):
            yield "its id is not the hash of its capability and text"
        if self._written and row.kind == "expansion" and row.production is None:
            yield "it has no production"
        if self._written and row.kind == "expansion" and not row.inserted:
            yield "it has no inserted word"
        for word in row.inserted or ():
            start, end = word.start, word.end
            if start is None or end is None:
                continue
            if not 0 <= start < end or row.text[start:end] != word.word:
                yield "an inserted word is not at its offsets"

    def together(self) -> list[CaseRow]:
        """The sound rows; what shows only between rows is added to the faults."""
        of_id = {row.id: row for row in self.rows}
        for row, file in zip(self.rows, self._files, strict=True):
            if row.kind == "expansion":
                faults = list(self._family_faults(row, of_id.get(row.seed_id)))
                self.faults += [Fault(file, one, _where(row)) for one in faults]
        return self.rows

    def _family_faults(self, row: CaseRow, seed: CaseRow | None) -> Iterator[str]:
        if seed is None:
            if row.seed_id not in self._id_of:  # what is told of a broken seed is enough
                yield f"its seed {plain(row.seed_id, _SHOWN)} is not in the suite"
            return
        if seed.kind != "seed":
            yield f"its seed {plain(row.seed_id, _SHOWN)} is an expansion"
        if seed.capability != row.capability:
            yield f"its seed is of another capability, {plain(seed.capability, _SHOWN)}"
        words = [(word.start or 0, word.end or 0) for word in row.inserted or ()]
        if self._written and without(row.text, words) != seed.text:
            yield "without its inserted words it is not its seed"


def _where(row: CaseRow) -> str:
    return f"{plain(row.capability, _SHOWN)} {row.kind} {plain(row.id, _SHOWN)}"


def _told(row: Mapping[Any, Any], number: int) -> str:
    """A row whose columns may be anything, in words."""
    names = [row.get(column) for column in ("capability", "kind", "id")]
    if all(isinstance(name, str) and name for name in names):
        return plain(" ".join(map(str, names)), _SHOWN)
    return f"row {number}"


def without(text: str, inserted: Sequence[tuple[int, int]]) -> str:
    """A text without its inserted words and the space that came with each.

    Args:
        text: an expansion.
        inserted: where the words start and end.
    """
    for start, end in sorted(inserted, reverse=True):
        if text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    return text


def rows_fingerprint(rows: Sequence[CaseRow] | Sequence[Mapping[str, Any]]) -> str:
    """What identifies a suite: a hash over ids, texts and labels of its rows, in its order."""
    return fingerprint_of(
        [
            [row["id"], row["text"], row["labels"]]
            if isinstance(row, Mapping)
            else [row.id, row.text, row.labels]
            for row in rows
        ]
    )


def natural_order(capability: str) -> tuple[str, int]:
    """A sort key by which LC2 comes before LC10."""
    letters = capability.rstrip("0123456789")
    return letters, int(capability[len(letters) :] or 0)
