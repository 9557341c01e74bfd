"""CheckList's released sentiment suite (Ribeiro et al. 2020), read from JSON lines.

Its release is a pickle, which is never loaded here; `checklist_release` makes such a file of it. A
line holds a case: ``test`` (its name), ``capability`` (CheckList's own, such as Negation) and
``texts``. A minimum-functionality case has one text and ``expected``, the labels that pass; an
invariance or directional one has the original first and ``expectation``, in words. CheckList itself
judges these; here they are texts.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.errors import AnalysisError
from s2lct.files import read_json_lines
from s2lct.labels import LABELS, Label
from s2lct.suite.capability_ids import capability_id_of

MOST_TEXTS = 1_000
"""Of one case."""
_HINT = "pass a file of JSON lines, .jsonl or .jsonl.gz, with test, capability, texts and expected"
_I_THOUGHT = "simple negations: I thought x was {}, but it was not (should be {})"
_HARD = "Hard: Negation of {} with neutral stuff in the middle (should be {})"
SHORT_NAMES = {
    "Sentiment-laden words in context": "words-in-context",
    "neutral words in context": "neutral-in-context",
    "simple negations: negative": "negated-positive",
    "simple negations: not negative": "negated-negative",
    "simple negations: not neutral is still neutral": "negated-neutral",
    _I_THOUGHT.format("positive", "negative"): "thought-positive",
    _I_THOUGHT.format("negative", "neutral or positive"): "thought-negative",
    "simple negations: but it was not (neutral) should still be neutral": "thought-neutral",
    _HARD.format("positive", "negative"): "hard-negated-positive",
    _HARD.format("negative", "positive or neutral"): "hard-negated-negative",
    "negation of neutral with neutral in the middle, should still neutral": "hard-negated-neutral",
    "my opinion is what matters": "my-opinion-matters",
}
"""What tests are called in tables whose names are too long for that."""
PASSES_NOT_NEGATIVE = (
    "simple negations: not negative",
    _I_THOUGHT.format("negative", "neutral or positive"),
    _HARD.format("negative", "positive or neutral"),
)
"""Tests that every label but negative passes; the release says so by a function."""


def id_of_test(name: str) -> str:
    """What a test of CheckList's is called beside capabilities."""
    return capability_id_of(SHORT_NAMES.get(name, name))


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


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read every minimum-functionality case.

    Raises:
        AnalysisError: the file cannot be read, a line is no case, or it holds none; it names the
            line.
    """
    cases = [case for case in _cases(path) if isinstance(case, CheckListCase)]
    if not cases:
        raise AnalysisError(f"{path}: holds no minimum-functionality case", hint=_HINT)
    return cases


def texts_of_cases(path: Path) -> list[str]:
    """Every text of a file's cases, those of invariance and directional tests too.

    Raises:
        AnalysisError: the file cannot be read, a line is no case, or it holds none.
    """
    found = [
        text
        for case in _cases(path)
        for text in ((case.text,) if isinstance(case, CheckListCase) else case)
    ]
    if not found:
        raise AnalysisError(f"{path}: holds no case", hint=_HINT)
    return found


def _cases(path: Path) -> Iterator[CheckListCase | tuple[str, ...]]:
    """Minimum-functionality cases, and the texts of each invariance or directional one."""

    def no_case(number: int, error: BaseException) -> AnalysisError:
        return AnalysisError(f"{path}: line {number}: is no case ({error!r})", hint=_HINT)

    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, row in read_json_lines(file, no_case):
                try:
                    yield _case_of(row)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise no_case(number, error) from error
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", hint=_HINT) from error


def _case_of(row: Mapping[str, Any]) -> CheckListCase | tuple[str, ...]:
    texts = tuple(row["texts"])
    if not all(isinstance(word, str) for word in (row["test"], row["capability"], *texts)):
        raise ValueError("no text")
    if "expectation" in row and "expected" not in row:
        if not 2 <= len(texts) <= MOST_TEXTS:
            raise ValueError(f"{len(texts)} texts, from 2 to {MOST_TEXTS:,} can be compared")
        return texts
    (text,) = texts
    expected = tuple(dict.fromkeys(label for label in row["expected"] if label in LABELS))
    if not expected:
        raise ValueError("no label that passes")
    passes = tuple(label for label in LABELS if label in expected)
    return CheckListCase(row["test"], row["capability"], text, passes, expected)
