"""CheckList's sentiment suite (Ribeiro et al. 2020): its cases, and how its release becomes them.

Cases are JSON lines: ``test`` (its name), ``capability`` (CheckList's, such as Negation), ``type``
and ``texts``. A minimum-functionality case (``MFT``) has one text and ``expected``, the labels that
pass. Invariance and directional cases (``INV``, ``DIR``) are texts to exercise a model with;
CheckList itself judges these.

A release is a pickle that dill wrote. Each class and function that it names stands for an inert
stand-in, whatever is called, so that nothing in it is executed. What a test expects is a function
there, and so known by the names of the release's tests.
"""

from __future__ import annotations

import gzip
import io
import pickle
import warnings
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from s2lct.command import command
from s2lct.errors import S2lctWarning, ScoringError, SuiteError
from s2lct.files import as_json_lines, check_file_out, read_json_lines, regular_bytes, whole_file
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of

_MOST_BYTES = 512 << 20
_MOST_TEXTS = 1_000
_LONGEST_TEXT = 100_000
_SHOWN = 80
_HINT = "pass a file of JSON lines, .jsonl or .jsonl.gz, as `s2lct import checklist` writes it"
_HOW_TO_GET = (
    "unpack sentiment/sentiment_suite.pkl of release_data.tar.gz, from "
    "https://github.com/marcotcr/checklist"
)
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
_NOT_NEGATIVE = ("positive", "neutral")
_PASSES_NOT_NEGATIVE = (
    "simple negations: not negative",
    _I_THOUGHT.format("negative", "neutral or positive"),
    _HARD.format("negative", "positive or neutral"),
)
"""Tests that every label but negative passes; the release says so by a function."""
Line = dict[str, Any]


def id_of_test(name: str) -> str:
    """What a test of CheckList's is called beside capabilities."""
    return capability_id_of(SHORT_NAMES.get(name, name))


@dataclass(frozen=True, slots=True)
class CheckListCase:
    """A case: its test, CheckList's capability, its texts and the labels that pass.

    ``expected`` are these in the order of the file: none for invariance and directional cases.
    """

    test: str
    capability: str
    texts: tuple[str, ...]
    expected: tuple[Label, ...] = ()

    @property
    def text(self) -> str:
        """The first text, and the only one of a minimum-functionality case."""
        return self.texts[0]

    @property
    def passes(self) -> tuple[Label, ...]:
        """The labels that pass, in the order of `LABELS`."""
        return tuple(label for label in LABELS if label in self.expected)


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read every minimum-functionality case.

    Raises:
        ScoringError: the file cannot be read, a line is no case, or it holds none; it names the
            line.
    """
    cases = [case for case in read_cases(path) if case.expected]
    if not cases:
        raise ScoringError(f"{path}: holds no minimum-functionality case", hint=_HINT)
    return cases


def read_cases(path: Path) -> list[CheckListCase]:
    """Read every case, of whatever type; see `read_checklist`."""

    def no_case(number: int, error: BaseException) -> ScoringError:
        return ScoringError(f"{path}: line {number}: is no case ({error!r})", hint=_HINT)

    cases: list[CheckListCase] = []
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, row in read_json_lines(file, no_case):
                try:
                    cases.append(_case_of(row))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise no_case(number, error) from error
    except (OSError, EOFError, zlib.error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise ScoringError(f"{path}: {fault}", hint=_HINT) from error
    if not cases:
        raise ScoringError(f"{path}: holds no case", hint=_HINT)
    return cases


def _case_of(row: Mapping[str, Any]) -> CheckListCase:
    texts = tuple(row["texts"])
    if not texts or not all(isinstance(v, str) for v in (row["test"], row["capability"], *texts)):
        raise ValueError("no text")
    if "expected" not in row:
        return CheckListCase(row["test"], row["capability"], texts)
    expected = tuple(dict.fromkeys(label for label in row["expected"] if label in LABELS))
    if len(texts) != 1 or not expected:
        raise ValueError("not one text, or no label that passes")
    return CheckListCase(row["test"], row["capability"], texts, expected)


@dataclass(frozen=True)
class Imported:
    """What was imported: cases by test, in the release's order; the tests left out; the file."""

    tests: Mapping[str, int]
    left_out: tuple[str, ...]
    out: Path


@command
def import_checklist(
    source: Annotated[
        Path,
        typer.Argument(
            help="sentiment/sentiment_suite.pkl of the release.", exists=True, dir_okay=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write, .jsonl or .jsonl.gz.", dir_okay=False)],
) -> Imported:
    """Turn CheckList's released sentiment suite into a file to score.

    It lies in release_data.tar.gz of https://github.com/marcotcr/checklist. Nothing in the pickle
    is executed or imported.
    """
    check_file_out(out, "--out")
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise SuiteError(f"--out {out}", hint="name a file .jsonl or .jsonl.gz")
    suite = _attributes(_read_inert(source))
    tests, info = _items(suite.get("tests")), _items(suite.get("info"))
    lines: list[Line] = []
    left_out: list[str] = []
    for name, test in tests.items():
        if not isinstance(name, str):
            continue
        try:
            lines += _lines_of(name, _attributes(test), _items(info.get(name)))
        except ValueError as why:
            left_out.append(plain(name, _SHOWN))
            warnings.warn(f"{left_out[-1]}: left out: {why}", S2lctWarning, stacklevel=2)
    if not lines:
        raise SuiteError(f"{source}: has no test of sentiment", hint=_HOW_TO_GET)
    text = as_json_lines(lines).encode("utf-8", "replace")
    with whole_file(out) as file:
        # Without a name and a time, the same release gives the same bytes.
        file.write(gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    return Imported(Counter(line["test"] for line in lines), tuple(left_out), out)


def _lines_of(name: str, test: Mapping[str, Any], info: Mapping[Any, Any]) -> list[Line]:
    """The lines of a test; a ValueError says why there are none."""
    data, labels, type_ = test.get("data"), test.get("labels"), info.get("type")
    if type_ not in ("MFT", "INV", "DIR") or not isinstance(data, list):
        raise ValueError("it is of no known type, or has no texts")
    about = {"test": name, "capability": str(info.get("capability", "")), "type": type_}
    lines: list[Line] = []
    # One label for all cases, one a case, or one a text.
    each = labels if isinstance(labels, list) and len(labels) == len(data) else [labels] * len(data)
    for number, (case, label) in enumerate(zip(data, each, strict=True)):
        texts = case if isinstance(case, list) else [case]
        if not all(isinstance(text, str) and 0 < len(text) <= _LONGEST_TEXT for text in texts):
            continue  # of another task, such as pairs of questions
        if type_ != "MFT":
            if len(texts) <= _MOST_TEXTS:
                lines.append(about | {"case": number, "texts": texts})
            continue
        of_texts = label if isinstance(label, list) else [label] * len(texts)
        for text, expected in zip(texts, of_texts, strict=False):
            passes = _NOT_NEGATIVE if name in _PASSES_NOT_NEGATIVE else _passing(expected)
            lines.append(about | {"case": number, "texts": [text], "expected": [*passes]})
    if not lines:
        raise ValueError("it has no texts of one sentence")
    return lines


def _passing(label: Any) -> tuple[str, ...]:
    """The labels that pass, by a label of the release: 0 negative, 1 neutral, 2 positive."""
    if isinstance(label, str) and label.replace("_", " ") == "not negative":
        return _NOT_NEGATIVE
    if isinstance(label, str) and label in LABELS:
        return (label,)
    if type(label) is int and label in range(len(LABELS)):
        return (LABELS[label],)
    raise ValueError(f"nothing says which labels pass ({plain(repr(label), _SHOWN)})")


class StandIn:
    """What stands for whatever a pickle names, and for what it gives when it is called.

    What it is called with is dropped; ``state`` is what its attributes were set to, ``items`` what
    was set by key.
    """

    def __new__(cls, *_: Any, **__: Any) -> StandIn:
        """Make one, whatever it is called with."""
        made = super().__new__(cls)
        made.state, made.items = {}, {}
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        self.state: dict[str, Any]
        self.items: dict[Any, Any]

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        self.state = next((part for part in parts if isinstance(part, dict)), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def __call__(self, *_: Any) -> StandIn:
        """What is called comes to another stand-in."""
        return StandIn()

    def append(self, value: Any) -> None:
        """Nothing is kept of what a sequence of an unknown class holds."""

    extend = add = append


class _Inert(pickle.Unpickler):
    """A reader for which no name has anything behind it."""

    def find_class(self, _module: str, _name: str, /) -> type[StandIn]:
        return StandIn


def _read_inert(source: Path) -> Any:
    """What a pickle holds, with stand-ins for all but numbers, texts and plain containers."""
    try:
        return _Inert(io.BytesIO(regular_bytes(source, _MOST_BYTES)), encoding="latin-1").load()
    except Exception as error:  # whatever a broken one makes Python's reader stumble over
        raise SuiteError(
            f"{source}: is no pickle that can be read ({plain(repr(error), _SHOWN)})",
            hint=_HOW_TO_GET,
        ) from error


def _attributes(thing: Any) -> dict[str, Any]:
    """What a stand-in's attributes were set to; none of anything else."""
    return thing.state if isinstance(thing, StandIn) else {}


def _items(thing: Any) -> dict[Any, Any]:
    """A mapping, or the items of what stands for one."""
    found = thing.items if isinstance(thing, StandIn) else thing
    return found if isinstance(found, dict) else {}
