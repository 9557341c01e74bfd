"""Files that anybody may have written: bounded in size, JSON by its letter, words for a page.

What is not as it should be is refused with a `RefusedError`.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.models.endpoint import address_of
from s2lct.leaderboard.results.record import Result, asked
from s2lct.leaderboard.scoring.figures import RANDOM

MOST_FILES = 50_000
MOST_JSON_BYTES = 1 << 20
MOST_TABLE_BYTES = 64 << 20
LONGEST_NAME = 200
FIRST_DAY = datetime(2020, 1, 1, tzinfo=timezone.utc)
SHA256 = re.compile(r"[0-9a-f]{64}")
_SLOW_CLOCK = timedelta(minutes=10)
REFERENCE_NAMES = frozenset({RANDOM, *(f"always-{label}" for label in LABELS)})
"""Rows that stand among the models and are none."""

_LONGEST_WORDS = {"prompt": 4_000, "label_rule": 10_000, "name": 4_096}
_LONGEST_WORD = 300
_BREAKS = str.maketrans("", "", "\n\t")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_NAME = r"[A-Za-z0-9_.-]"
# Hub ids, built-in models, folders, and what servers call models, as llama3:8b
_MODEL_NAME = re.compile(rf"/?(?!-){_NAME}+(?:/(?!-){_NAME}+)*(?:/|:{_NAME}+)?")
_REVISION = re.compile(rf"(?!-)(?:{_NAME}|[+!])*")
_VERSION = re.compile(rf"(?!-)(?:{_NAME}|\+){{0,64}}")


class RefusedError(Exception):
    """Something of a stranger's that is not looked at any further; ``reasons`` has a line each."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__("; ".join(reasons))


def bytes_of(path: Path, most: int) -> bytes:
    """A regular file's bytes, if they are not too many; no link is followed, no pipe waited for.

    A file in huggingface_hub's cache is a link that its client made: the blob is read instead.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    try:
        place = path if stat.S_ISREG(path.lstat().st_mode) else _blob_of(path)
        with os.fdopen(os.open(place, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RefusedError(f"{path.name}: is no plain file (a link, folder or device)")
            data = file.read(most + 1) if found.st_size <= most else b""
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a name of a file"
        raise RefusedError(f"{path.name}: cannot be read ({said})") from error
    if (size := max(found.st_size, len(data))) > most:
        raise RefusedError(f"{path.name}: has {size:,} bytes, at most {most:,}")
    return data


def _blob_of(path: Path) -> Path:
    """What a link of huggingface_hub's cache, from ``snapshots`` into ``blobs``, stands for."""
    snapshots = next((one for one in path.absolute().parents if one.name == "snapshots"), None)
    if path.is_symlink() and snapshots is not None:
        real = path.resolve()
        if real.parent == snapshots.parent.resolve() / "blobs":
            return real
    raise RefusedError(f"{path.name}: is no plain file (a link, folder or device)")


def files_below(folder: Path, suffix: str | tuple[str, ...]) -> list[Path]:
    """Files with a suffix (or one of several), by path; none below hidden folders and links."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if name.endswith(suffix)]
        if len(found) > MOST_FILES:
            raise RefusedError(f"holds more than {MOST_FILES:,} files")
    return sorted(found)


def parse_result(data: bytes) -> Result:
    """Bytes as a result, by the letter of the schema."""
    try:
        return Result.model_validate_json(data, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise RefusedError(
            *(
                f"{'.'.join(map(str, fault['loc']))[:100] or 'the file'}: {fault['msg']}"
                for fault in faults
            )
        ) from error


def checked_record(data: bytes, *, names: bool) -> Result:
    """Bytes as a result whose words may be shown, and its names beside others if ``names``."""
    try:
        result = parse_result(data)
    except RefusedError as refusal:
        raise RefusedError(f"is no result file ({refusal.reasons[0]})") from None
    if faults := [*faults_of_words(result), *(faults_of_names(result) if names else ())]:
        raise RefusedError(*faults)
    return result


def faults_of_words(result: Result) -> Iterator[str]:
    """What no result may say, wherever it is shown."""
    for where, text in texts_of(result.model_dump(), ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_WORDS.get(name, _LONGEST_WORD)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        shown = text.translate(_BREAKS) if name == "prompt" else text
        if not shown.isprintable() and (
            hidden := [sign for sign in shown if unicodedata.category(sign) in _INVISIBLE]
        ):
            yield f"{where}: holds a control character (U+{ord(hidden[0]):04X})"
    if not result.model.name.strip():
        yield "model.name: is empty"
    try:
        asked(result.model.options)
    except ScoringError as error:
        yield f"model.options: {error.problem}"
    dates = {"date": result.date}
    if (endpoint := result.model.endpoint) is not None:
        dates["model.endpoint.first_day"] = endpoint.first_day
        dates["model.endpoint.last_day"] = endpoint.last_day
        try:
            if (address := address_of(endpoint.url)) != endpoint.url:
                yield f"model.endpoint.url: {endpoint.url!r} is written {address!r}"
        except ValueError as error:
            yield f"model.endpoint.url: {error}"
    for where, date in dates.items():
        try:
            moment(date)
        except ValueError as error:
            yield f"{where}: {date!r} {error}"


def texts_of(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"a key in {where or 'the file'}", str(key)
            yield from texts_of(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from texts_of(part, f"{where}.{number}")


def faults_of_names(result: Result) -> Iterator[str]:
    """Names that are none, or that look like another beside others."""
    model, suite = result.model, result.suite
    if fault := fault_of_model_name(model.name):
        yield f"model.name: {fault}"
    if len(suite.name) > LONGEST_NAME:
        yield f"suite.name: has {len(suite.name):,} characters, at most {LONGEST_NAME}"
    if not _REVISION.fullmatch(model.revision):
        yield f"model.revision: {model.revision!r} is no revision"
    if not _VERSION.fullmatch(suite.version):
        yield f"suite.version: {suite.version!r} is no version"
    hashes = {"model.weights_sha256": model.weights_sha256, "suite.fingerprint": suite.fingerprint}
    for where, text in hashes.items():
        if text and not SHA256.fullmatch(text):
            yield f"{where}: is no SHA-256"


def fault_of_model_name(name: str) -> str:
    """Why a model cannot be called so beside others; empty if it can."""
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters, at most {LONGEST_NAME}"
    if not _MODEL_NAME.fullmatch(name):
        return f"{name!r} is no name of letters, digits, _, . and -, with / after the owner"
    if name.lower() in REFERENCE_NAMES:
        return f"{name!r} is what an answer is called that reads no case"
    return ""


def moment(text: str) -> datetime:
    """An ISO date in UTC, which it is if it has no time zone.

    Raises:
        ValueError: it is none, or lies before `FIRST_DAY` or in the future.
    """
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ValueError("is no ISO date") from None
    found = found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    if found < FIRST_DAY:
        raise ValueError(f"lies before {FIRST_DAY.year}")
    if found > datetime.now(timezone.utc) + _SLOW_CLOCK:
        raise ValueError("lies in the future")
    return found.astimezone(timezone.utc)
