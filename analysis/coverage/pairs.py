"""Pairs of texts, as tests of paraphrase and inference have them, read from JSON lines.

A line has ``text`` and ``text_pair``, and may have ``test`` (the name of its test) and ``expected``
(the model's classes that pass, by name).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.identity import content_id
from s2lct.json_lines import as_json_lines, read_json_lines
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.suite.cases import Case

PREFIX = "pairs:"
"""Before a file of pairs that stands where a corpus may stand."""
UNNAMED = "pairs"
_MEND = "pass JSON lines, .jsonl or .jsonl.gz, with text and text_pair, and expected where needed"


@dataclass(frozen=True, slots=True)
class PairCase(Case):
    """A case of two texts.

    Attributes:
        text_pair: the second text.
        expected: names of the classes that pass; none where nothing is expected.
    """

    text_pair: str = ""
    expected: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[str, str]:
        """What a model is given."""
        return self.text, self.text_pair


def given(case: Case) -> Text:
    """What a model is given of a case: its text, or its pair of them."""
    return case.given if isinstance(case, PairCase) else case.text


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def holds_pairs(path: Path) -> bool:
    """Whether the first line of a file is a pair."""
    try:
        with _opened(path) as file:
            return b'"text_pair"' in next((line for line in file if line.strip()), b"")
    except (OSError, EOFError, zlib.error):
        return False  # whoever reads it tells what is wrong


def read_pairs(path: Path) -> list[PairCase]:
    """Read every pair; equal pairs of one test are one case.

    Raises:
        AnalysisError: the file cannot be read, holds none, or a line is none; it names the line.
    """

    def no_pair(number: int, error: BaseException) -> AnalysisError:
        return AnalysisError(f"{path}: line {number}: is no pair ({error!r})", hint=_MEND)

    cases: dict[str, PairCase] = {}
    try:
        with _opened(path) as file:
            for number, row in read_json_lines(file, no_pair):
                try:
                    case = _case_of(row)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise no_pair(number, error) from error
                cases.setdefault(case.id, case)
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", hint=_MEND) from error
    if not cases:
        raise AnalysisError(f"{path}: holds no pair", hint=_MEND)
    return list(cases.values())


def _case_of(row: Any) -> PairCase:
    texts = row["text"], row["text_pair"]
    test, expected = row.get("test", UNNAMED), row.get("expected", [])
    if not all(isinstance(one, str) and one.strip() for one in (*texts, test)):
        raise ValueError("text, text_pair or test is no text")
    if not isinstance(expected, list) or not all(isinstance(one, str) for one in expected):
        raise ValueError("expected is no list of class names")
    own = content_id("pair", test, *texts)
    return PairCase(
        own, test, "seed", own, texts[0], frozenset(), text_pair=texts[1], expected=tuple(expected)
    )


def failed_pairs(
    encoder: EncoderModel, cases: Sequence[PairCase], advance: Advance = silently
) -> Failed:
    """Which pairs get another class than expected, shape (cases,).

    Raises:
        AnalysisError: a case expects a class that the model lacks, or nothing.
    """
    classes = [name.casefold() for name in encoder.classes]
    for case in cases:
        names = {name.casefold() for name in case.expected}
        if not names or names - {*classes}:
            raise AnalysisError(
                f"pair {case.text[:40]!r}, {case.text_pair[:40]!r} expects "
                f"{', '.join(case.expected) or 'nothing'}; the classes of {encoder.name} are "
                f"{', '.join(encoder.classes)}",
                hint="name classes of the model in expected",
            )
    failed = np.zeros(len(cases), dtype=bool)
    for one in encoder.activations([case.given for case in cases], advance):
        expected = {name.casefold() for name in cases[one.number].expected}
        failed[one.number] = classes[int(one.logits.argmax())] not in expected
    return failed


def write_pairs(cases: Sequence[PairCase]) -> str:
    """Cases as `read_pairs` reads them."""
    return as_json_lines(
        {
            "test": case.capability,
            "text": case.text,
            "text_pair": case.text_pair,
            "expected": list(case.expected),
        }
        for case in cases
    )
