"""What ``suite.json`` must say, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.identity import SEMANTIC_VERSION
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.faults import SHOWN, Fault, faults_told
from s2lct.suite.records import FormName
from s2lct.suite.tables import SUITE_FILE

_DATA_FILE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.parquet"
_LONGEST_NAME = 200
Number = Annotated[int, Field(ge=0, lt=1 << 53)]
Text = Annotated[str, Field(max_length=100_000)]
Origin = Literal["masked", "phrase", "attested", "synonym"]
Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Described(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _File(_Described):
    path: Annotated[str, Field(max_length=_LONGEST_NAME * 2)]
    rows: Number
    bytes: Number
    memory: Number
    sha256: Sha256
    origins: dict[Origin, Number] = {}


class _Capability(_Described):
    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: Text
    expectation: Text
    forms: dict[str, Any]


class _Counts(_Described):
    __pydantic_extra__: dict[str, Number]

    seeds: Number
    expansions: Number


class _Corpus(_Described):
    name: Text
    description: Text
    licence: Text
    sentences: Number


class _Options(_Described):
    corpus: Text
    text_column: Text | None
    label_column: Text | None
    label_map: dict[str, Label] | None
    templates: FormName
    masks: Number
    parser: Text
    tagger: Text
    mlm: Text
    sample: Number | None = None
    rows: Number | None = None
    seed: Number = 0


class _Reading(_Described):
    """How many cases were read, and of how many each reader read something."""

    read: Number
    readers: dict[Name, Number]


class _Scorer(_Described):
    name: Name
    package: Name
    version: Name


class _Description(_Described):
    version: Annotated[str, Field(pattern=SEMANTIC_VERSION, max_length=50)]
    fingerprint: Sha256
    build_fingerprint: Name
    options: _Options
    corpus: _Corpus
    capabilities: list[_Capability]
    counts: dict[str, _Counts]
    files: dict[str, _File]
    reading: _Reading | None = None
    scorers: list[_Scorer] = []


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
        shown, path = plain(name, SHOWN), plain(file.path, SHOWN)
        if name not in ids:
            yield Fault(SUITE_FILE, f"files: it lists no capability {shown}, which has a file")
        elif not _is_data_file(name, file.path):
            yield Fault(SUITE_FILE, f"files.{name}.path: {path} is none of data/{name}/*.parquet")


def _is_data_file(name: str, path: str) -> bool:
    """Whether a path is one of a config's within the suite's folder."""
    prefix = f"data/{name}/"
    return (
        re.fullmatch(ID_PATTERN, name) is not None
        and path.startswith(prefix)
        and re.fullmatch(_DATA_FILE, path.removeprefix(prefix)) is not None
    )


def usable_files(described: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Those of the files named in ``suite.json`` that can be looked at, whatever else is wrong."""
    usable: dict[str, dict[str, Any]] = {}
    for name, file in described["files"].items():
        try:
            path = _File.model_validate(file).path
        except ValidationError:
            continue
        if _is_data_file(name, path):
            usable[name] = file
    return usable


def in_order(described: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Configs in the order of the suite's capabilities; what it does not list comes last."""
    listed = described.get("capabilities")
    listed = listed if isinstance(listed, list) else []
    order = [one.get("id") for one in listed if isinstance(one, dict)]
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))
