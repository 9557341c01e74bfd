"""CheckList's released sentiment suite (Ribeiro et al. 2020), read from JSON lines.

Its release is a pickle, which is never loaded here. A line holds a case: ``test`` (its name),
``capability`` (CheckList's own, such as Negation), ``texts`` (one) and ``expected`` (the labels
that pass).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from s2lct.errors import AnalysisError
from s2lct.labels import LABELS, Label

TEST_OF = {
    "LC1": "neutral words in context",
    "LC2": "Sentiment-laden words in context",
    "LC3": "used to, but now",
    "LC4": "simple negations: not negative",
    "LC5": "simple negations: not neutral is still neutral",
    "LC6": "simple negations: I thought x was negative, but it was not "
    "(should be neutral or positive)",
    "LC7": "Hard: Negation of positive with neutral stuff in the middle (should be negative)",
    "LC8": "my opinion is what matters",
    "LC9": "Q & A: yes",
    "LC10": "Q & A: no",
    "LC11": "Q & A: no",
}
"""The test of CheckList's that a capability was modelled on."""

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
        cases = [_case(line, f"{path}: line {number}") for number, line in _lines(path)]
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AnalysisError(f"{path}: {fault}", mend=_MEND) from error
    if not cases:
        raise AnalysisError(f"{path}: holds no case", mend=_MEND)
    return cases


def cases_for(cases: list[CheckListCase], capability: str) -> list[CheckListCase]:
    """The cases of the test that a capability was modelled on; all cases for other capabilities.

    LC10 and LC11 share a test, whose cases with a positive and a negative question they divide.
    """
    test = TEST_OF.get(capability)
    chosen = [case for case in cases if case.test == test]
    if capability in ("LC10", "LC11"):
        negative = capability == "LC10"
        chosen = [case for case in chosen if (case.passes == ("negative",)) == negative]
    return chosen or cases


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line


def _case(line: bytes, where: str) -> CheckListCase:
    try:
        row = json.loads(line)
        (text,) = row["texts"]
        test, capability = row["test"], row["capability"]
        passes = tuple(label for label in LABELS if label in row["expected"])
        if not passes or not all(isinstance(one, str) for one in (text, test, capability)):
            raise ValueError("no text, or no label that passes")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AnalysisError(f"{where}: is no case ({error!r})", mend=_MEND) from error
    return CheckListCase(test, capability, text, passes)
