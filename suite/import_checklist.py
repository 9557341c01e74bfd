"""CheckList's release as JSON lines that `checklist` reads: nothing in it is executed.

A release is a pickle that dill wrote. It is read with stand-ins (`inert_pickle`), so that of a test
its name, type, texts and labels are known; what it expects is a function, and so known by the names
of the release's tests (`checklist_release`).
"""

from __future__ import annotations

import gzip
import tarfile
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.errors import S2lctWarning, SuiteError
from s2lct.files import check_file_out, regular_bytes, whole_file
from s2lct.json_lines import as_json_lines
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite import checklist_release as release
from s2lct.suite.checklist import MOST_TEXTS
from s2lct.suite.expectations import INVARIANCE
from s2lct.suite.inert_pickle import StandIn, attributes, entries, read_inert

MOST_BYTES = 512 << 20
MOST_MEMBERS = 10_000
MOST_CASES = 1_000_000
LONGEST_TEXT = 100_000
HOW_TO_GET = "fetch release_data.tar.gz from https://github.com/marcotcr/checklist"
_TYPES = ("MFT", "INV", "DIR")
_ARCHIVES = (".tar.gz", ".tgz", ".tar")
_SHOWN = 80
Line = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """What was imported: cases by test, in the release's order, and the tests left out."""

    tests: Mapping[str, int]
    left_out: tuple[str, ...]


def import_checklist(source: Path, out: Path) -> Imported:
    """Write the tests of CheckList's sentiment suite as JSON lines.

    Args:
        source: ``release_data.tar.gz``, the folder that it unpacks to, or a pickle of a suite.
        out: a file ``.jsonl`` or ``.jsonl.gz``.

    Raises:
        SuiteError: there is no pickle of a suite, several, or none of a suite of sentiment.
        OutputError: there can be no file of that name.
    """
    check_file_out(out, "--out")
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise SuiteError(f"--out {out}", hint="name a file .jsonl or .jsonl.gz")
    told, content = _pickle_in(source)
    suite = read_inert(content, told)
    tests = {
        name: test
        for name, test in entries(attributes(suite).get("tests"))
        if isinstance(name, str) and isinstance(test, StandIn)
    }
    if not tests:
        raise SuiteError(f"{told}: is no suite of CheckList's", hint=HOW_TO_GET)
    info = {name: dict(entries(one)) for name, one in entries(attributes(suite).get("info"))}
    lines: list[Line] = []
    counts: Counter[str] = Counter()
    left_out: list[str] = []
    for name, test in tests.items():
        found, why = _lines_of(name, test, info.get(name, {}))
        if why:
            left_out.append(plain(name, _SHOWN))
            warnings.warn(f"{left_out[-1]}: left out: {why}", S2lctWarning, stacklevel=2)
        lines += found
        counts[name] += len(found)
        if len(lines) > MOST_CASES:
            raise SuiteError(f"{told}: has more than {MOST_CASES:,} cases", hint=HOW_TO_GET)
    if not lines:
        raise SuiteError(f"{told}: has no test of sentiment", hint=f"{HOW_TO_GET}, sentiment/")
    text = as_json_lines(lines).encode("utf-8", "replace")
    with whole_file(out) as file:
        # Without a name and a time, the same release gives the same bytes.
        packed = out.suffix == ".gz"
        file.write(gzip.compress(text, mtime=0) if packed else text)
    return Imported({name: count for name, count in counts.items() if count}, tuple(left_out))


def _lines_of(name: str, test: StandIn, info: Mapping[Any, Any]) -> tuple[list[Line], str]:
    """The lines of a test, or none and why."""
    state = attributes(test)
    type_ = next((one for one in (info.get("type"), _class_of(test)) if one in _TYPES), None)
    capability = next(
        (one for one in (info.get("capability"), state.get("capability")) if isinstance(one, str)),
        "",
    )
    if type_ is None:
        return [], "of no known type"
    data = state.get("data")
    if not isinstance(data, list):
        return [], "it has no texts"
    about = {"test": name, "capability": capability, "type": type_}
    lines: list[Line] = []
    if type_ == "MFT":
        for number, (texts, labels) in enumerate(_with_labels(data, state.get("labels"))):
            given = labels if isinstance(labels, list) else [labels] * len(texts)
            for text, label in zip(texts, given, strict=False):
                passes = release.NOT_NEGATIVE
                if name not in release.PASSES_NOT_NEGATIVE:
                    passes = _passing(label)
                if not passes:
                    return [], f"nothing says which labels pass ({plain(repr(label), _SHOWN)})"
                lines.append(about | {"case": number, "texts": [text], "expected": [*passes]})
        return lines, "" if lines else "it has no single texts"
    words = INVARIANCE if type_ == "INV" else release.DIRECTIONS.get(name)
    if words is None:
        return [], "what it expects is a function of its own"
    for number, texts in enumerate(map(_texts, data)):
        if 2 <= len(texts) <= MOST_TEXTS:
            lines.append(about | {"case": number, "texts": texts, "expectation": words})
    return lines, "" if lines else "it has no pairs of texts"


def _class_of(test: StandIn) -> str:
    return test.named.rpartition(".")[2]


def _with_labels(data: Sequence[Any], labels: Any) -> Iterator[tuple[list[str], Any]]:
    """The texts of each case with its labels: one for all, or one a case."""
    each = labels if isinstance(labels, list) and len(labels) == len(data) else [labels] * len(data)
    for case, label in zip(data, each, strict=True):
        yield _texts(case), label


def _texts(case: Any) -> list[str]:
    """The texts of a case; none where it is of another task, such as pairs of questions."""
    texts = case if isinstance(case, list) else [case]
    if not all(isinstance(text, str) and 0 < len(text) <= LONGEST_TEXT for text in texts):
        return []
    return texts


def _passing(label: Any) -> tuple[str, ...]:
    """The labels that pass, by a label of the release: 0 negative, 1 neutral, 2 positive."""
    if isinstance(label, str) and label.replace("_", " ") == "not negative":
        return release.NOT_NEGATIVE
    if isinstance(label, str) and label in LABELS:
        return (label,)
    if type(label) is int and label in range(len(LABELS)):
        return (LABELS[label],)
    return ()


def _pickle_in(source: Path) -> tuple[str, bytes]:
    """The one pickle of a suite of sentiment in a file, an archive or a folder, and its name."""
    try:
        if source.is_dir():
            found = [(str(path), path) for path in sorted(source.rglob("*.pkl")) if path.is_file()]
            name, path = _one(found, source)
            return name, regular_bytes(path, MOST_BYTES)
        if source.name.endswith(_ARCHIVES):
            return _in_archive(source)
        return str(source), regular_bytes(source, MOST_BYTES)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SuiteError(f"{source}: {plain(why, _SHOWN)}", hint=HOW_TO_GET) from error


def _in_archive(source: Path) -> tuple[str, bytes]:
    """Read one member of an archive; none is unpacked."""
    with tarfile.open(source) as archive:
        members: list[tuple[str, tarfile.TarInfo]] = []
        for number, member in enumerate(archive):
            if number == MOST_MEMBERS:
                raise OSError(None, f"has more than {MOST_MEMBERS:,} members")
            if member.isreg() and member.name.endswith(".pkl"):
                members.append((f"{source}, {plain(member.name, _SHOWN)}", member))
        name, chosen = _one(members, source)
        if chosen.size > MOST_BYTES:
            raise OSError(None, f"has more than {MOST_BYTES >> 20} MiB")
        file = archive.extractfile(chosen)
        return name, file.read(MOST_BYTES) if file else b""


def _one(found: Sequence[tuple[str, Any]], source: Path) -> tuple[str, Any]:
    """The pickle of sentiment, or the only one."""
    of_sentiment = [one for one in found if "sentiment" in Path(one[0]).name.lower()]
    of_sentiment = of_sentiment or [one for one in found if "sentiment" in one[0].lower()]
    chosen = found if len(found) == 1 else of_sentiment
    if len(chosen) != 1:
        names = ", ".join(name for name, _ in found[:3]) or "none"
        raise SuiteError(
            f"{source}: not one pickle of a sentiment suite, but {len(chosen)} (found {names})",
            hint=f"name the file sentiment/sentiment_suite.pkl; {HOW_TO_GET}",
        )
    return chosen[0]
