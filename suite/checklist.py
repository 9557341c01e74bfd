"""Converts the release of CheckList's sentiment suite (Ribeiro et al. 2020) to JSON lines.

`other_suites` reads these lines. The release is a pickle written by dill: every class and function
in it is replaced by an inert stand-in, so that nothing is executed. Some tests of the release
compute the passing labels by a function; here these labels follow from the names of the tests.
"""

from __future__ import annotations

import gzip
import io
import pickle
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from s2lct.command import command
from s2lct.errors import S2lctWarning, SuiteError
from s2lct.files import as_json_lines, atomic_file, check_output_file, read_limited
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.other_suites import Imported

_MAX_PICKLE_BYTES = 512 << 20
_MAX_SHOWN = 80
_DOWNLOAD_HINT = (
    "unpack sentiment/sentiment_suite.pkl of release_data.tar.gz, from "
    "https://github.com/marcotcr/checklist"
)
_NOT_NEGATIVE = ("positive", "neutral")
_TESTS_NOT_NEGATIVE = (
    "simple negations: not negative",
    "simple negations: I thought x was negative, but it was not (should be neutral or positive)",
    "Hard: Negation of negative with neutral stuff in the middle (should be positive or neutral)",
)
"""Names of tests that every label but negative passes; the release computes this by a function."""
Line = dict[str, Any]


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
    check_output_file(out, "--out")
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise SuiteError(f"--out {out}", hint="name a file .jsonl or .jsonl.gz")
    suite = _items(_read_inert(source))
    tests, info = _items(suite.get("tests")), _items(suite.get("info"))
    lines: list[Line] = []
    for name, test in tests.items():
        if not isinstance(name, str):
            continue
        try:
            lines += _lines_of(name, _items(test), _items(info.get(name)))
        except ValueError as reason:
            warning = f"{plain(name, _MAX_SHOWN)}: left out: {reason}"
            warnings.warn(warning, S2lctWarning, stacklevel=2)
    if not lines:
        raise SuiteError(f"{source}: has no test of sentiment", hint=_DOWNLOAD_HINT)
    text = as_json_lines(lines).encode("utf-8", "replace")
    with atomic_file(out) as file:
        # Without a name and a time, the same release gives the same bytes.
        file.write(gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    return Imported(Counter(line["test"] for line in lines), out)


def _lines_of(name: str, test: Mapping[str, Any], info: Mapping[Any, Any]) -> list[Line]:
    """The lines of a test; a ValueError if there are none."""
    data, labels, test_type = test.get("data"), test.get("labels"), info.get("type")
    if test_type not in ("MFT", "INV", "DIR") or not isinstance(data, list):
        raise ValueError("it is of no known type, or has no texts")
    test_info = {"test": name, "capability": str(info.get("capability", "")), "type": test_type}
    lines: list[Line] = []
    labels_of_cases = [labels] * len(data)
    if isinstance(labels, list) and len(labels) == len(data):
        labels_of_cases = labels
    for number, (case, label) in enumerate(zip(data, labels_of_cases, strict=True)):
        texts = case if isinstance(case, list) else [case]
        if not all(isinstance(text, str) and text for text in texts):
            continue  # of another task, such as pairs of questions
        if test_type != "MFT":
            lines.append(test_info | {"case": number, "texts": texts})
            continue
        labels_of_texts = label if isinstance(label, list) else [label] * len(texts)
        for text, expected in zip(texts, labels_of_texts, strict=False):
            passes = _NOT_NEGATIVE if name in _TESTS_NOT_NEGATIVE else _passing(expected)
            lines.append(test_info | {"case": number, "texts": [text], "expected": [*passes]})
    if not lines:
        raise ValueError("it has no texts of one sentence")
    return lines


def _passing(label: Any) -> tuple[str, ...]:
    """The names of the labels that pass, for a label of the release (0 to 2, or a name)."""
    if isinstance(label, str) and label.replace("_", " ") == "not negative":
        return _NOT_NEGATIVE
    if isinstance(label, str) and label in LABELS:
        return (label,)
    if type(label) is int and label in range(len(LABELS)):
        return (LABELS[label],)
    raise ValueError(f"nothing says which labels pass ({plain(repr(label), _MAX_SHOWN)})")


class StandIn(dict[Any, Any]):
    """A stand-in for any class, function or object of a pickle: a dict of attributes and items."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        self.update(next((part for part in parts if isinstance(part, dict)), {}))

    def __call__(self, *_: Any) -> StandIn:
        """A call returns another stand-in."""
        return StandIn()

    def append(self, value: Any) -> None:
        """Items of sequences of unknown classes are dropped."""

    extend = add = append


class _Inert(pickle.Unpickler):
    """Unpickles with a `StandIn` for every name."""

    def find_class(self, _module: str, _name: str, /) -> type[StandIn]:
        return StandIn


def _read_inert(source: Path) -> Any:
    """The content of a pickle, with stand-ins for all but plain values and containers."""
    try:
        return _Inert(
            io.BytesIO(read_limited(source, _MAX_PICKLE_BYTES)), encoding="latin-1"
        ).load()
    except Exception as error:  # a broken pickle may raise any exception
        raise SuiteError(
            f"{source}: is no pickle that can be read ({plain(repr(error), _MAX_SHOWN)})",
            hint=_DOWNLOAD_HINT,
        ) from error


def _items(value: Any) -> dict[Any, Any]:
    """A dict or stand-in as it is; an empty dict for anything else."""
    return value if isinstance(value, dict) else {}
