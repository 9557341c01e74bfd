"""The labels of sentiment, and what a written label means.

It means the same in corpora, suites, predictions, label maps and the classes of models. Words and
stars mean what they say. A bare number has a meaning only in a column that holds all of 0, 1 and 2,
which are `LABELS`, or in one of the `STAR_COLUMNS` that holds 1 to 5 stars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import S2lctError, ScoringError
from s2lct.plain_text import MAX_SNIPPET_CHARACTERS, listed, plain

LABELS = ("negative", "neutral", "positive")
NEGATIVE, NEUTRAL, POSITIVE = range(3)
ENDS = (LABELS[NEGATIVE], LABELS[POSITIVE])
if TYPE_CHECKING:
    Label = str
else:
    Label = Literal[LABELS]  # what pydantic checks

NEUTRAL_BAND = (1 / 3, 2 / 3)
"""A model without a neutral class is neutral where p(positive) is strictly between these, as in
CheckList (Ribeiro et al. 2020, sentiment notebook)."""
COLUMNS = {
    2: (NEGATIVE, POSITIVE),
    3: (NEGATIVE, NEUTRAL, POSITIVE),
    5: (NEGATIVE, NEGATIVE, NEUTRAL, POSITIVE, POSITIVE),
}
"""The labels of unnamed classes, by the number of classes."""
STAR_COLUMNS = ("stars", "star_rating", "rating")
"""Columns whose numbers are stars, if all are from 1 to 5 and one is 4 or more."""
_IN_WORDS = re.compile(
    r"(?:(?:very|strong|strongly|extremely|slightly|somewhat) )?"
    r"(?:(negative|neg|bad)|(positive|pos|good))|(neutral|neu)"
)
_STARS = re.compile(
    r"([1-5](?:\.\d+)?|one|two|three|four|five)"
    r"(\s*(?:/|(?:out )?of)\s*(?:5(?:\.0)?|five))?(\s*stars?)?"
)
_STAR_SIGNS = re.compile(r"([★⭐]{1,5})[☆]*")
_STAR_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_WHOLE_NUMBER = re.compile(r"([+-]?\d{1,15})\.0+")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_MISSING_VALUES = ("nan", "NaT", "<NA>")
"""Empty cells of pandas, as text."""
_MAX_LISTED = 5
KNOWN_MODELS = {
    "textattack/bert-base-uncased-SST-2": COLUMNS[2],
    "textattack/roberta-base-SST-2": COLUMNS[2],
    "textattack/distilbert-base-uncased-SST-2": COLUMNS[2],
    "textattack/albert-base-v2-SST-2": COLUMNS[2],
    "distilbert-base-uncased-finetuned-sst-2-english": COLUMNS[2],
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": COLUMNS[2],
    "cardiffnlp/twitter-roberta-base-sentiment": COLUMNS[3],
}
"""The meaning of models' classes that only their cards explain."""


def plain_name(written: str) -> str:
    """A written label in lower case, with spaces for ``-`` and ``_``."""
    return re.sub(r"[\s_-]+", " ", written.strip().lower())


def written_label(cell: object) -> str:
    """The label in a cell of a table; ``1`` for 1.0, empty for an empty cell."""
    text = str(cell).strip()
    if cell is None or (text in _MISSING_VALUES and not isinstance(cell, str)):
        return ""
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole[1] if whole else text


def meaning_of(written: str) -> int | None:
    """The label id of a written label in words or stars; None for any other."""
    name = plain_name(written) if written.strip()[:1] not in ("-", "+") else ""
    if match := _IN_WORDS.fullmatch(name):
        return (NEGATIVE, POSITIVE, NEUTRAL)[(match.lastindex or 1) - 1]
    if signs := _STAR_SIGNS.fullmatch(name):
        return _label_of_stars(len(signs[1]))
    stars = _STARS.fullmatch(name)
    return _label_of_stars(_count_of(stars)) if stars and (stars[2] or stars[3]) else None


def _count_of(stars: re.Match[str]) -> float:
    return _STAR_WORDS.get(stars[1]) or float(stars[1])


def _label_of_stars(count: float) -> int | None:
    if count > 5:
        return None
    return NEGATIVE if count <= 2 else POSITIVE if count >= 4 else NEUTRAL


def meanings_of_labels(
    labels: Iterable[str], column: str | None, label_map: Mapping[str, str] | None = None
) -> dict[str, int | None]:
    """The meaning of each label of a column, as a label id; None for labels without a meaning.

    Args:
        labels: all labels of the column, as `written_label` gives them.
        column: its name; None if they stand in no column, so that numbers have no meaning.
        label_map: the user's meanings, as `check_label_map` gives them; they take precedence, and
            numbers that they do not name have no meaning.
    """
    mapped = {plain_name(name): LABELS.index(label) for name, label in (label_map or {}).items()}
    exact = {name: LABELS.index(label) for name, label in (label_map or {}).items()}
    meanings: dict[str, int | None] = {}
    for label in dict.fromkeys(labels):
        candidates = (exact.get(label), mapped.get(plain_name(label)), meaning_of(label))
        meanings[label] = next((id for id in candidates if id is not None), None)
    if column is None or label_map:
        return meanings
    if column.strip().lower() in STAR_COLUMNS:
        unclear = [label for label, meaning in meanings.items() if meaning is None]
        matches = [_STARS.fullmatch(plain_name(label)) for label in unclear]
        counts = [_count_of(match) for match in matches if match]
        if len(counts) == len(unclear) and 4 <= max(counts, default=0) <= 5:
            stars = map(_label_of_stars, counts)
            return meanings | dict(zip(unclear, stars, strict=True))
    elif meanings.keys() == {str(number) for number in range(len(LABELS))}:
        return {str(number): number for number in range(len(LABELS))}
    return meanings


def read_labels(
    places: Mapping[str, str],
    column: str | None,
    label_map: Mapping[str, str] | None = None,
    *,
    error: type[S2lctError] = ScoringError,
    hint: str = "say it with --label-map, such as --label-map {}",
) -> dict[str, int]:
    """The meaning of each label of a column; see `meanings_of_labels`.

    Args:
        places: all labels, each with the file and row where it stands first.
        column: its name; None if they stand in no column.
        label_map: the user's meanings.
        error: the class of the error.
        hint: how the user says what labels mean, with ``{}`` for an example of a label map.

    Raises:
        S2lctError: a label has no meaning, or ``label_map`` names none of the labels.
    """
    meanings = meanings_of_labels(places, column, label_map)
    named = {plain_name(name) for name in label_map or ()}
    where = f" in column {plain(column, MAX_SNIPPET_CHARACTERS)!r}" if column is not None else ""
    if named and places and named.isdisjoint(map(plain_name, places)):
        raise error(
            f"{next(iter(places.values()))}: --label-map names {_listed(label_map or ())}, and no "
            f"label{where} is called so: {_listed(places)}",
            hint="name the labels as they are written there",
        )
    if unclear := [label for label, meaning in meanings.items() if meaning is None]:
        raise error(
            f"{places[unclear[0]]}: nothing says what {_listed(unclear)}{where} "
            f"mean{'s' if len(unclear) == 1 else ''}",
            hint=hint.replace("{}", example_map(unclear)),
        )
    return {label: meaning for label, meaning in meanings.items() if meaning is not None}


def _listed(labels: Iterable[str]) -> str:
    return listed([repr(plain(label, MAX_SNIPPET_CHARACTERS)) for label in labels], _MAX_LISTED)


def example_map(labels: Iterable[str]) -> str:
    """A label map of these labels as the user would write it on the command line."""
    distinct = sorted(set(labels))
    if all(map(_NUMBER.fullmatch, distinct)):
        distinct.sort(key=float)
        if distinct in (["0"], ["1"]):
            distinct = ["0", "1"]
    meanings = COLUMNS.get(len(distinct))
    if meanings is None or not all(map(_NUMBER.fullmatch, distinct)):
        return ",".join(
            f"{plain(label, MAX_SNIPPET_CHARACTERS)}={'|'.join(LABELS)}"
            for label in distinct[:_MAX_LISTED]
        )
    pairs = zip(distinct, meanings, strict=True)
    return ",".join(f"{label}={LABELS[meaning]}" for label, meaning in pairs)


def check_label_map(label_map: str | Mapping[Any, Any] | None) -> dict[str, str] | None:
    """A label map from written labels or classes to names in `LABELS`; None for None.

    Args:
        label_map: from labels or classes, by name or number, to their meanings in words; or
            ``LABEL_0=negative,LABEL_1=positive`` as on the command line.

    Raises:
        ScoringError: it is no map, is empty, names a label twice or gives one no meaning.
    """
    if label_map is None:
        return None
    if isinstance(label_map, str):  # a meaning holds no "=", and the name of a class may
        split = (part.rpartition("=") for part in label_map.split(","))
        pairs: list[tuple[Any, Any]] = [(name, label) for name, _, label in split]
    else:
        pairs = [*label_map.items()] if isinstance(label_map, Mapping) else []
    meanings = {written_label(name): meaning_of(str(label)) for name, label in pairs}
    names_each_once = meanings and "" not in meanings and len(meanings) == len(pairs)
    if not names_each_once or None in meanings.values():
        raise ScoringError(
            f"--label-map {plain(str(label_map), 200)!r}: does not say of each label once what it "
            "means",
            hint=f"write it like LABEL_0=negative,LABEL_1=positive, with {', '.join(LABELS)}",
        )
    return {name: LABELS[number] for name, number in meanings.items() if number is not None}


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of any library, and no boolean."""
    return not isinstance(value, bool) and isinstance(value, Integral)
