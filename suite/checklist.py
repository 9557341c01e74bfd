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

from s2lct.errors import AnalysisError
from s2lct.json_lines import read_json_lines
from s2lct.labels import LABELS, Label

_MEND = "pass a file of JSON lines, .jsonl or .jsonl.gz, with test, capability, texts and expected"


@dataclass(frozen=True, slots=True)
class CheckListCase:
    """A case of CheckList's: its test, CheckList's capability, its text, the labels that pass."""

    test: str
    capability: str
    text: str
    passes: tuple[Label, ...]


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read every case.

    Raises:
        AnalysisError: the file cannot be read or a line is no case; it names the line.
    """

    def no_case(number: int, error: BaseException) -> AnalysisError:
        return AnalysisError(f"{path}: line {number}: is no case ({error!r})", mend=_MEND)

    cases: list[CheckListCase] = []
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, row in read_json_lines(file, no_case):
                try:
                    (text,) = row["texts"]
                    passes = tuple(label for label in LABELS if label in row["expected"])
                    case = CheckListCase(row["test"], row["capability"], text, passes)
                    named = (text, case.test, case.capability)
                    if not passes or not all(isinstance(one, str) for one in named):
                        raise ValueError("no text, or no label that passes")
                except (ValueError, KeyError, TypeError) as error:
                    raise no_case(number, error) from error
                cases.append(case)
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", mend=_MEND) from error
    if not cases:
        raise AnalysisError(f"{path}: holds no case", mend=_MEND)
    return cases
