"""The labels of sentiment, and the meaning of labels as people write them.

A written label has one meaning in corpora, suites, predictions, label maps and classes of models.
Words and stars are understood anywhere. A bare number has a meaning in two kinds of column: one
that holds all of 0, 1 and 2 (indices of `LABELS`), and one of the `STAR_COLUMNS` (1 to 5 stars).
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
POLAR_LABELS = (LABELS[NEGATIVE], LABELS[POSITIVE])
if TYPE_CHECKING:
    Label = str
else:
    Label = Literal[LABELS]  # what pydantic checks

NEUTRAL_BAND = (1 / 3, 2 / 3)
"""A model without a neutral class predicts neutral if p(positive) is strictly between these, as in
CheckList (Ribeiro et al. 2020, sentiment notebook)."""
LABELS_OF_CLASSES = {
    2: (NEGATIVE, POSITIVE),
    3: (NEGATIVE, NEUTRAL, POSITIVE),
    5: (NEGATIVE, NEGATIVE, NEUTRAL, POSITIVE, POSITIVE),
}
"""The label ids of unnamed classes in their order, by the number of classes."""
STAR_COLUMNS = ("stars", "star_rating", "rating")
"""Names of columns whose numbers are stars, if all are from 1 to 5 and one is 4 or more."""
_LABEL_WORDS = re.compile(
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
    "textattack/bert-base-uncased-SST-2": LABELS_OF_CLASSES[2],
    "textattack/roberta-base-SST-2": LABELS_OF_CLASSES[2],
    "textattack/distilbert-base-uncased-SST-2": LABELS_OF_CLASSES[2],
    "textattack/albert-base-v2-SST-2": LABELS_OF_CLASSES[2],
    "distilbert-base-uncased-finetuned-sst-2-english": LABELS_OF_CLASSES[2],
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": LABELS_OF_CLASSES[2],
    "cardiffnlp/twitter-roberta-base-sentiment": LABELS_OF_CLASSES[3],
}
"""The label ids of models' classes, for models whose class names say nothing."""


def plain_name(label: str) -> str:
    """A written label in lower case, with spaces for ``-`` and ``_``."""
    return re.sub(r"[\s_-]+", " ", label.strip().lower())


def written_label(cell: object) -> str:
    """The label in a cell of a table; ``1`` for 1.0, empty for an empty cell."""
    text = str(cell).strip()
    if cell is None or (text in _MISSING_VALUES and not isinstance(cell, str)):
        return ""
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole[1] if whole else text


def meaning_of(label: str) -> int | None:
    """The label id of a written label in words or stars; None for any other."""
    name = plain_name(label) if label.strip()[:1] not in ("-", "+") else ""
    if match := _LABEL_WORDS.fullmatch(name):
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
        labels: all labels of the column, from `written_label`.
        column: its name; None if the labels are from no column, so that numbers have no meaning.
        label_map: the user's meanings, from `check_label_map`; they take precedence, and numbers
            that are not in the map have no meaning.
    """
    by_name = {name: LABELS.index(label) for name, label in (label_map or {}).items()}
    by_plain_name = {plain_name(name): id for name, id in by_name.items()}
    meanings: dict[str, int | None] = {}
    for label in dict.fromkeys(labels):
        candidates = (by_name.get(label), by_plain_name.get(plain_name(label)), meaning_of(label))
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
    locations: Mapping[str, str],
    column: str | None,
    label_map: Mapping[str, str] | None = None,
    *,
    error: type[S2lctError] = ScoringError,
    hint: str = "say it with --label-map, such as --label-map {}",
) -> dict[str, int]:
    """The meaning of each label of a column; see `meanings_of_labels`.

    Args:
        locations: all labels, each with the file and row where it first occurs.
        column: its name; None if the labels are from no column.
        label_map: the user's meanings.
        error: the class of the error.
        hint: how the user says what labels mean, with ``{}`` for an example of a label map.

    Raises:
        S2lctError: a label has no meaning, or no label is in ``label_map``.
    """
    meanings = meanings_of_labels(locations, column, label_map)
    mapped_names = {plain_name(name) for name in label_map or ()}
    scope = "" if column is None else f" in column {plain(column, MAX_SNIPPET_CHARACTERS)!r}"
    if mapped_names and locations and mapped_names.isdisjoint(map(plain_name, locations)):
        raise error(
            f"{next(iter(locations.values()))}: --label-map names {_quoted(label_map or ())}, and "
            f"no label{scope} is called so: {_quoted(locations)}",
            hint="name the labels as they are written there",
        )
    if unclear := [label for label, meaning in meanings.items() if meaning is None]:
        raise error(
            f"{locations[unclear[0]]}: nothing says what {_quoted(unclear)}{scope} "
            f"mean{'s' if len(unclear) == 1 else ''}",
            hint=hint.replace("{}", example_map(unclear)),
        )
    return {label: meaning for label, meaning in meanings.items() if meaning is not None}


def _quoted(labels: Iterable[str]) -> str:
    return listed([repr(plain(label, MAX_SNIPPET_CHARACTERS)) for label in labels], _MAX_LISTED)


def example_map(labels: Iterable[str]) -> str:
    """An example of a label map for some labels, as written on the command line."""
    distinct = sorted(set(labels))
    if all(map(_NUMBER.fullmatch, distinct)):
        distinct.sort(key=float)
        if distinct in (["0"], ["1"]):
            distinct = ["0", "1"]
    meanings = LABELS_OF_CLASSES.get(len(distinct))
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
        ScoringError: it is no map, is empty, or has a label twice or without a meaning.
    """
    if label_map is None:
        return None
    if isinstance(label_map, str):  # a meaning holds no "=", and the name of a class may
        parts = (part.rpartition("=") for part in label_map.split(","))
        pairs: list[tuple[Any, Any]] = [(name, label) for name, _, label in parts]
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
