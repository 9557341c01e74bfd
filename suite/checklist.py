"""CheckList's released sentiment suite (Ribeiro et al. 2020), read from JSON lines.

Its release is a pickle, which is never loaded here. A line holds a case: ``test`` (its name),
``capability`` (CheckList's own, such as Negation), ``texts`` (one) and ``expected`` (the labels
that pass).
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from s2lct.errors import AnalysisError
from s2lct.json_lines import read_json_lines
from s2lct.labels import LABELS, Label

_MEND = "pass a file of JSON lines, .jsonl or .jsonl.gz, with test, capability, texts and expected"


@dataclass(frozen=True, slots=True)
class CheckListCase:
    """A case of CheckList's.

    Attributes:
        test: name of the test it belongs to.
        capability: CheckList's capability, such as ``Negation``.
        text: the sentence.
        passes: the labels that pass.
    """

    test: str
    capability: str
    text: str
    passes: tuple[Label, ...]


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read every case.

    Raises:
        AnalysisError: the file cannot be read or a line is no case; it names the line.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            rows = read_json_lines(file, lambda number, error: _no_case(path, number, error))
            cases = [_case(row, path, number) for number, row in rows]
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", mend=_MEND) from error
    if not cases:
        raise AnalysisError(f"{path}: holds no case", mend=_MEND)
    return cases


def cases_for(cases: list[CheckListCase], capability: str) -> list[CheckListCase]:
    """The cases of the test that a capability stands beside; all cases where its file names none.

    Two capabilities may divide a test's cases by the labels that pass.
    """
    beside = checklist_tests().get(capability)
    if beside is None:
        return cases
    passes = set(beside.get("passes", LABELS))
    own = [case for case in cases if case.test == beside["test"] and passes.issuperset(case.passes)]
    return own or cases


@cache
def checklist_tests() -> dict[str, dict[str, Any]]:
    """What the shipped capability files say under ``checklist``, by id.

    The files are read as data: their model belongs to the builder, which stands above this.
    """
    files = resources.files("s2lct.builder.capabilities").iterdir()
    read = [yaml.safe_load(file.read_text("utf-8")) for file in files if file.name[-5:] == ".yaml"]
    return {one["id"]: one["checklist"] for one in read if "checklist" in one}


def _case(row: Any, path: Path, number: int) -> CheckListCase:
    try:
        (text,) = row["texts"]
        test, capability = row["test"], row["capability"]
        passes = tuple(label for label in LABELS if label in row["expected"])
        if not passes or not all(isinstance(one, str) for one in (text, test, capability)):
            raise ValueError("no text, or no label that passes")
    except (ValueError, KeyError, TypeError) as error:
        raise _no_case(path, number, error) from error
    return CheckListCase(test, capability, text, passes)


def _no_case(path: Path, number: int, error: BaseException) -> AnalysisError:
    return AnalysisError(f"{path}: line {number}: is no case ({error!r})", mend=_MEND)
