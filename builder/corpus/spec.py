"""How a corpus is named: ``embedded``, ``csv:PATH``, ``hf:NAME:SPLIT`` and their like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from s2lct.errors import CorpusError

SpecKind = Literal["embedded", "sst", "hf", "csv", "jsonl", "parquet"]
SPEC_FORMS = (
    "write one of: embedded, sst:PATH or sst:URL, csv:PATH, jsonl:PATH, parquet:PATH, "
    "hf:NAME:SPLIT, hf:ORG/NAME:SPLIT, hf:ORG/NAME/CONFIG:SPLIT, or hf:NAME//CONFIG:SPLIT for a "
    "dataset that has a configuration but no organisation (such as hf:glue//sst2:train)"
)


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """Where a corpus is, and how to read it.

    The location is a path, the treebank's address, or the name of a dataset on the Hugging Face
    hub, of which ``config`` (empty for its default) and ``split`` are taken.
    """

    kind: SpecKind
    location: str = ""
    config: str = ""
    split: str = ""


_HUB_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_HUB_SPEC = re.compile(
    rf"""(?P<first>{_HUB_NAME})
    (?: //(?P<bare_config>[^/:\s]+)
      | /(?P<second>{_HUB_NAME}) (?: /(?P<config>[^/:\s]+) )? )?
    :(?P<split>[^\s:/\[\]]+ (?: \[[^\s\[\]]+\] )? )""",
    re.VERBOSE,
)


def parse_spec(spec: str) -> CorpusSpec:
    """Parse a corpus spec; a `CorpusError` if it has none of the `SPEC_FORMS`.

    Two parts of a dataset's name are always organisation and name. A split may be sliced, as in
    ``train[:100]``.
    """
    kind, colon, location = spec.partition(":")
    if kind == "embedded" and not colon:
        return CorpusSpec("embedded")
    if kind in ("sst", "csv", "jsonl", "parquet"):
        if not location.strip():
            raise CorpusError(
                f"corpus {spec!r} names no file", hint=f"write {kind}:PATH, such as {kind}:my/data"
            )
        if "\0" in location:
            raise CorpusError(f"corpus {spec!r} has a NUL in its path", hint=f"write {kind}:PATH")
        return CorpusSpec(cast(SpecKind, kind), location)
    if kind == "hf":
        match = _HUB_SPEC.fullmatch(location)
        if match is None:
            raise CorpusError(
                f"corpus {spec!r} is not a dataset of the Hugging Face hub", hint=SPEC_FORMS
            )
        name = match["first"] + (f"/{match['second']}" if match["second"] else "")
        config = match["bare_config"] or match["config"] or ""
        return CorpusSpec("hf", name, config, match["split"])
    raise CorpusError(f"corpus {spec!r} is of no known kind", hint=SPEC_FORMS)


def local_path(spec: CorpusSpec) -> Path:
    """The path that a spec names; a `CorpusError` if nothing is there."""
    hint = f"write {spec.kind}:PATH of something that exists"
    try:
        path = Path(spec.location).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise CorpusError(f"{spec.location[:200]} cannot be read: {error}", hint=hint) from error
    if not exists:
        raise CorpusError(f"{path} does not exist", hint=hint)
    return path
