"""CheckList's release as JSON lines that `checklist` reads: nothing in it is executed.

A release is a pickle that dill wrote. Each class and function that it names stands for an inert
stand-in, whatever is called, so that of a test its name, type, texts and labels are known. What it
expects is a function, and so known by the names of the release's tests.
"""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from s2lct.command import command
from s2lct.errors import S2lctWarning, SuiteError
from s2lct.files import as_json_lines, check_file_out, regular_bytes, whole_file
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.checklist import MOST_TEXTS, PASSES_NOT_NEGATIVE

_MOST_BYTES = 512 << 20
_LONGEST_TEXT = 100_000
_HOW_TO_GET = "fetch release_data.tar.gz from https://github.com/marcotcr/checklist"
_TYPES = ("MFT", "INV", "DIR")
_NOT_NEGATIVE = ("positive", "neutral")
_INVARIANCE = (
    "each text against the first text of the case: passes when the predicted label is the same, "
    "or when the probability of the first text's predicted label moves by no more than 0.1; the "
    "case passes when all its texts pass"
)
_CONFIDENCE = (
    "pairwise to first text: confidence in the label predicted for the first text does not go {} "
    "(tolerance 0.1); skipped when the first prediction is neutral, or when the first confidence "
    "leaves no room for a failure"
)
_SENTIMENT = "pairwise to first text: (p_pos gain + p_neg loss) {}, i.e. sentiment does not go {}"
_DIRECTIONS = {
    "intensifiers": _CONFIDENCE.format("down"),
    "reducers": _CONFIDENCE.format("up"),
    '"used to" should reduce': _CONFIDENCE.format("up"),
    "add positive phrases": _SENTIMENT.format("+ 0.1 >= 0", "down"),
    "add negative phrases": _SENTIMENT.format("- 0.1 <= 0", "up"),
}
"""What directional tests expect, in words."""
_SHOWN = 80
Line = dict[str, Any]


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
            help="release_data.tar.gz, the folder that it unpacks to, or sentiment_suite.pkl in "
            "it.",
            exists=True,
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write, .jsonl or .jsonl.gz.", dir_okay=False)],
) -> Imported:
    """Turn CheckList's released sentiment suite into a file to score.

    Get it as release_data.tar.gz from https://github.com/marcotcr/checklist. Nothing in its
    pickle is executed or imported.
    """
    check_file_out(out, "--out")
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise SuiteError(f"--out {out}", hint="name a file .jsonl or .jsonl.gz")
    name, content = _pickle_in(source)
    suite = _state(read_inert(content, name))
    tests, info = _items(suite.get("tests")), _items(suite.get("info"))
    lines: list[Line] = []
    left_out: list[str] = []
    for test, held in tests.items():
        if not isinstance(test, str) or not isinstance(held, StandIn):
            continue
        try:
            lines += _lines_of(test, held, _items(info.get(test)))
        except ValueError as why:
            left_out.append(plain(test, _SHOWN))
            warnings.warn(f"{left_out[-1]}: left out: {why}", S2lctWarning, stacklevel=2)
    if not lines:
        raise SuiteError(f"{name}: has no test of sentiment", hint=f"{_HOW_TO_GET}, sentiment/")
    text = as_json_lines(lines).encode("utf-8", "replace")
    with whole_file(out) as file:
        # Without a name and a time, the same release gives the same bytes.
        file.write(gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    return Imported(Counter(line["test"] for line in lines), tuple(left_out), out)


def _lines_of(name: str, test: StandIn, info: Mapping[Any, Any]) -> list[Line]:
    """The lines of a test; a ValueError says why there are none."""
    state = _state(test)
    type_ = info.get("type", test.class_name)
    if type_ not in _TYPES or not isinstance(data := state.get("data"), list):
        raise ValueError("it is of no known type, or has no texts")
    capability = str(info.get("capability", state.get("capability", "")))
    about = {"test": name, "capability": capability, "type": type_}
    words = _INVARIANCE if type_ == "INV" else _DIRECTIONS.get(name)
    lines: list[Line] = []
    if type_ == "MFT":
        for number, (texts, labels) in enumerate(_with_labels(data, state.get("labels"))):
            for text, label in zip(texts, labels, strict=False):
                passes = _NOT_NEGATIVE if name in PASSES_NOT_NEGATIVE else _passing(label)
                lines.append(about | {"case": number, "texts": [text], "expected": [*passes]})
    elif words is None:
        raise ValueError("what it expects is a function of its own")
    else:
        lines += (
            about | {"case": number, "texts": texts, "expectation": words}
            for number, texts in enumerate(map(_texts, data))
            if 2 <= len(texts) <= MOST_TEXTS
        )
    if not lines:
        raise ValueError("it has no texts of one sentence")
    return lines


def _with_labels(data: Sequence[Any], labels: Any) -> Iterator[tuple[list[str], list[Any]]]:
    """The texts of each case with their labels: one for all, one a case, or one a text."""
    each = labels if isinstance(labels, list) and len(labels) == len(data) else [labels] * len(data)
    for case, label in zip(data, each, strict=True):
        texts = _texts(case)
        yield texts, label if isinstance(label, list) else [label] * len(texts)


def _texts(case: Any) -> list[str]:
    """The texts of a case; none where it is of another task, such as pairs of questions."""
    texts = case if isinstance(case, list) else [case]
    sound = all(isinstance(text, str) and 0 < len(text) <= _LONGEST_TEXT for text in texts)
    return texts if sound else []


def _passing(label: Any) -> tuple[str, ...]:
    """The labels that pass, by a label of the release: 0 negative, 1 neutral, 2 positive."""
    if isinstance(label, str) and label.replace("_", " ") == "not negative":
        return _NOT_NEGATIVE
    if isinstance(label, str) and label in LABELS:
        return (label,)
    if type(label) is int and label in range(len(LABELS)):
        return (LABELS[label],)
    raise ValueError(f"nothing says which labels pass ({plain(repr(label), _SHOWN)})")


def _pickle_in(source: Path) -> tuple[str, bytes]:
    """The one pickle of a suite of sentiment in a file, an archive or a folder, and its name."""
    try:
        if source.is_dir():
            path = Path(_sentiment([str(path) for path in source.rglob("*.pkl")], source))
            return str(path), regular_bytes(path, _MOST_BYTES)
        if not source.name.endswith((".tar.gz", ".tgz", ".tar")):
            return str(source), regular_bytes(source, _MOST_BYTES)
        with tarfile.open(source) as archive:
            files = [one.name for one in archive if one.isreg() and one.name.endswith(".pkl")]
            name = _sentiment(files, source)
            file = archive.extractfile(name)
            return f"{source}, {plain(name, _SHOWN)}", file.read(_MOST_BYTES) if file else b""
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SuiteError(f"{source}: {plain(why, _SHOWN)}", hint=_HOW_TO_GET) from error


def _sentiment(names: Sequence[str], source: Path) -> str:
    """The name of the pickle of sentiment, or of the only one."""
    found = [name for name in names if "sentiment" in Path(name).name.lower()]
    found = found or [name for name in names if "sentiment" in name.lower()] or list(names)
    if len(found) != 1:
        raise SuiteError(
            f"{source}: not one pickle of a sentiment suite, but {len(found)}",
            hint=f"name the file sentiment/sentiment_suite.pkl; {_HOW_TO_GET}",
        )
    return found[0]


class StandIn:
    """What stands for an object of a class, or for what a function gives.

    What it is called with is dropped; ``state`` is what its attributes were set to, ``items`` what
    was set by key.
    """

    class_name = ""

    def __new__(cls, *_: Any, **__: Any) -> Any:
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


class _Rebuilt(StandIn):
    """What `copyreg` calls to make an object of the class that it is given first."""

    def __new__(cls, *given: Any, **_: Any) -> Any:
        kind = given[0] if given else StandIn
        return kind() if isinstance(kind, type) and issubclass(kind, StandIn) else StandIn()


class _Inert(pickle._Unpickler):
    """Python's own reader, for which no name has anything behind it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin-1")
        self._classes: dict[str, type[StandIn]] = {}

    def find_class(self, module_name: str, global_name: str) -> type[StandIn]:
        """A class of stand-ins of its own; never what the name stands for."""
        name = f"{module_name}.{global_name}"
        if name not in self._classes:
            rebuilds = global_name in ("__newobj__", "_reconstructor")
            base = _Rebuilt if rebuilds and module_name in ("copyreg", "copy_reg") else StandIn
            self._classes[name] = type("StandIn", (base,), {"class_name": global_name})
        return self._classes[name]


def read_inert(content: bytes, called: str) -> Any:
    """What a pickle holds, with stand-ins for all but numbers, texts and plain containers.

    Raises:
        SuiteError: it is no pickle, or a broken one; it is ``called`` so.
    """
    try:
        return _Inert(content).load()
    except Exception as error:  # whatever a broken one makes Python's reader stumble over
        raise SuiteError(
            f"{called}: is no pickle that can be read ({plain(repr(error), _SHOWN)})",
            hint=_HOW_TO_GET,
        ) from error


def _state(thing: Any) -> dict[str, Any]:
    """What a stand-in's attributes were set to; none of anything else."""
    return thing.state if isinstance(thing, StandIn) else {}


def _items(thing: Any) -> dict[Any, Any]:
    """A mapping, or the items of what stands for one."""
    found = thing.items if isinstance(thing, StandIn) else thing
    return found if isinstance(found, dict) else {}
