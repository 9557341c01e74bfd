"""CheckList's released sentiment suite (Ribeiro et al. 2020), read from JSON lines.

Its release is a pickle, which is never loaded here; `import_checklist` makes such a file of it. A
line holds a case: ``test`` (its name), ``capability`` (CheckList's own, such as Negation) and
``texts``. A minimum-functionality case has one text and ``expected``, the labels that pass; an
invariance or directional one has the original first and ``expectation``, in words.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.errors import AnalysisError
from s2lct.json_lines import read_json_lines
from s2lct.labels import LABELS, Label

_MEND = "pass a file of JSON lines, .jsonl or .jsonl.gz, with test, capability, texts and expected"
MOST_TEXTS = 1_000
"""Of one case."""


@dataclass(frozen=True, slots=True)
class CheckListCase:
    """A case of CheckList's: its test, CheckList's capability, its text, the labels that pass.

    ``expected`` are these labels in the order of the file.
    """

    test: str
    capability: str
    text: str
    passes: tuple[Label, ...]
    expected: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class RelativeCase:
    """An invariance or directional case: what a model says of the first text decides the others.

    Attributes:
        test: the name of its test.
        capability: CheckList's own.
        type: ``INV`` or ``DIR``.
        texts: the original first.
        expectation: in words; see `expectations.expectation_of`.
    """

    test: str
    capability: str
    type: str
    texts: tuple[str, ...]
    expectation: str


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read every minimum-functionality case.

    Raises:
        AnalysisError: the file cannot be read, a line is no case, or it holds none; it names the
            line.
    """
    cases = [case for case in _cases(path) if isinstance(case, CheckListCase)]
    if not cases:
        raise AnalysisError(f"{path}: holds no case", hint=_MEND)
    return cases


def holds_cases(path: Path) -> bool:
    """Whether a file has a minimum-functionality case; see `read_checklist`."""
    return any(isinstance(case, CheckListCase) for case in _cases(path))


def read_relative_cases(path: Path) -> list[RelativeCase]:
    """Read every invariance and directional case; see `read_checklist`."""
    return [case for case in _cases(path) if isinstance(case, RelativeCase)]


def _cases(path: Path) -> Iterator[CheckListCase | RelativeCase]:
    def no_case(number: int, error: BaseException) -> AnalysisError:
        return AnalysisError(f"{path}: line {number}: is no case ({error!r})", hint=_MEND)

    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, row in read_json_lines(file, no_case):
                try:
                    yield _case_of(row)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise no_case(number, error) from error
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", hint=_MEND) from error


def _case_of(row: Mapping[str, Any]) -> CheckListCase | RelativeCase:
    of_kind: Callable[[Mapping[str, Any]], CheckListCase | RelativeCase]
    of_kind = _relative if "expectation" in row and "expected" not in row else _absolute
    return of_kind(row)


def _absolute(row: Mapping[str, Any]) -> CheckListCase:
    (text,) = row["texts"]
    passes = tuple(label for label in LABELS if label in row["expected"])
    expected = tuple(dict.fromkeys(label for label in row["expected"] if label in LABELS))
    case = CheckListCase(row["test"], row["capability"], text, passes, expected)
    if not passes or not all(isinstance(one, str) for one in (text, case.test, case.capability)):
        raise ValueError("no text, or no label that passes")
    return case


def _relative(row: Mapping[str, Any]) -> RelativeCase:
    names = (row["test"], row["capability"], row["type"], row["expectation"])
    texts = tuple(row["texts"])
    if not all(isinstance(one, str) for one in (*names, *texts)):
        raise ValueError("no text")
    if not 2 <= len(texts) <= MOST_TEXTS:
        raise ValueError(f"{len(texts)} texts, from 2 to {MOST_TEXTS:,} can be compared")
    return RelativeCase(row["test"], row["capability"], row["type"], texts, row["expectation"])
