"""Words, names and dates of results that anybody may have written: what a page may show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.results.record import Result, asked
from s2lct.leaderboard.scoring.chance import RANDOM
from s2lct.suite.capability_ids import is_capability_id

LONGEST_NAME = 200
FIRST_DAY = datetime(2020, 1, 1, tzinfo=timezone.utc)

_LONGEST_WORDS = {"prompt": 4_000, "label_rule": 10_000, "name": 4_096}
_LONGEST_WORD = 300
_MOST_PARAMETERS = 10**15
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_NAME = r"[A-Za-z0-9_.-]"
SHA256 = re.compile(r"[0-9a-f]{64}")
REFERENCE_NAMES = frozenset({RANDOM, *(f"always-{label}" for label in LABELS)})
"""Rows that stand among the models and are none."""


def faults_of_words(result: Result) -> Iterator[str]:
    """What no result may say, wherever it is shown."""
    model = result.model
    for where, text in texts_of(result.model_dump(), ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_WORDS.get(name, _LONGEST_WORD)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        if text.isprintable():
            continue
        allowed = "\n\t" if name == "prompt" else ""
        if hidden := [
            c for c in text if unicodedata.category(c) in _INVISIBLE and c not in allowed
        ]:
            yield f"{where}: holds a control character (U+{ord(hidden[0]):04X})"
    if not model.name.strip():
        yield "model.name: is empty"
    if model.parameters is not None and model.parameters > _MOST_PARAMETERS:
        yield f"model.parameters: is {model.parameters:.1e}, too large to be true"
    if (model.options.prompt is None) != (model.options.label_words is None):
        yield "model.options: prompt and label_words belong together"
    else:
        try:
            asked(model.options)
        except ScoringError as error:
            yield f"model.options: {error.problem}"
    for name in result.capabilities:
        if not is_capability_id(name):
            yield f"capabilities: {name!r} is no name of a capability"
    yield from faults_of_date(result.date)


def texts_of(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            inner = f"{where}.{key}" if where else str(key)
            yield f"a key in {where or 'the file'}", str(key)
            yield from texts_of(part, inner)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from texts_of(part, f"{where}.{number}")


_PATTERNS = {
    "model.name": (
        re.compile(rf"/?(?!-){_NAME}+(?:/(?!-){_NAME}+)*/?"),  # Hub ids, built-in models, folders
        "{!r} is no name of letters, digits, _, . and -, with / between owner and name",
    ),
    "model.revision": (re.compile(rf"(?!-)(?:{_NAME}|[+!])*"), "{!r} is no revision"),
    "model.weights_sha256": (re.compile("|[0-9a-f]{64}"), "is no SHA-256"),
    "suite.version": (re.compile(rf"(?!-)(?:{_NAME}|\+){{0,64}}"), "{!r} is no version"),
    "suite.fingerprint": (re.compile("|[0-9a-f]{64}"), "is no SHA-256"),
}


def faults_of_names(names: Mapping[str, str]) -> Iterator[str]:
    """Names that a page cannot put beside others: what is none, or looks like another.

    Args:
        names: as `names_of` gives them, or some of these.
    """
    for where in ("model.name", "suite.name"):
        if (length := len(names.get(where, ""))) > LONGEST_NAME:
            yield f"{where}: has {length:,} characters, at most {LONGEST_NAME}"
    for where, (pattern, problem) in _PATTERNS.items():
        if where in names and not pattern.fullmatch(names[where]):
            yield f"{where}: {problem.format(names[where])}"
    if (name := names.get("model.name", "")).lower() in REFERENCE_NAMES:
        yield f"model.name: {name!r} is what an answer is called that reads no case"


def names_of(result: Result) -> dict[str, str]:
    """The names in a result that tell it from others, by their places."""
    model, suite = result.model, result.suite
    return {
        "model.name": model.name,
        "model.revision": model.revision,
        "model.weights_sha256": model.weights_sha256,
        "suite.name": suite.name,
        "suite.version": suite.version,
        "suite.fingerprint": suite.fingerprint,
    }


def faults_of_date(text: str) -> Iterator[str]:
    """Whether a date is one between `FIRST_DAY` and tomorrow."""
    try:
        moment(text)
    except ValueError as error:
        yield f"date: {text!r} {error}"


def moment(text: str) -> datetime:
    """An ISO date in UTC; without a time zone it counts as UTC.

    Raises:
        ValueError: it is none, or lies before `FIRST_DAY` or after tomorrow.
    """
    if not _DATE.fullmatch(text):
        raise ValueError("is no ISO date")
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        found = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).astimezone(
            timezone.utc
        )
    except (ValueError, OverflowError):
        raise ValueError("is no ISO date") from None
    if found < FIRST_DAY:
        raise ValueError(f"lies before {FIRST_DAY.year}")
    if found > datetime.now(timezone.utc) + timedelta(days=1):
        raise ValueError("lies in the future")
    return found
