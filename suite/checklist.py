"""CheckList's released sentiment suite (Ribeiro et al. 2020), read from JSON lines.

Its release is a pickle, which is never loaded here. A line holds a case: ``test`` (its name),
``capability`` (CheckList's own, such as Negation), ``texts`` (one) and ``expected`` (the labels
that pass).
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
