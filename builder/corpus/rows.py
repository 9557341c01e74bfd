"""Rows of any table as labelled sentences: which columns count, and what labels mean."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.part import ALL, Part
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.natural_text import natural

_CANDIDATES = {
    "text": ("text", "sentence", "content", "review"),
    "label": ("label", "labels", "sentiment"),
}
_LABEL_NAMES: dict[str, Label] = {
    **{label: label for label in LABELS},
    **{label[:3]: label for label in LABELS},
}
Row = Mapping[str, Any]
_LONGER_TOKENISED = 4
_TOLD_AFTER = 1_000


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold text and label, and what labels mean, as far as the user says."""

    text: str | None
    label: str | None
    label_map: Mapping[str, Label]
    labelled: bool

    def find(self, present: Sequence[str], where: str) -> tuple[str, str | None]:
        """The names of both among those present; no label need be there if none is asked for.

        Raises:
            CorpusError: one is missing.
        """
        text = self._find("text", self.text, present, where)
        try:
            return text, self._find("label", self.label, present, where)
        except CorpusError:
            if self.labelled:
                raise
            return text, None

    @staticmethod
    def _find(role: str, chosen: str | None, present: Sequence[str], where: str) -> str:
        candidates = _CANDIDATES[role] if chosen is None else (chosen,)
        for name in candidates:
            if name in present:
                return name
        wanted = f"the column {chosen!r}" if chosen else f"a column {' or '.join(candidates)}"
        raise CorpusError(
            f"{where} lacks {wanted}; its columns: {', '.join(map(repr, present)) or 'none'}",
            hint=f"name the column that holds the {role} with --{role}-column",
        )


def corpus_of_rows(
    name: str,
    rows: Iterable[tuple[Row, str]],
    columns: Columns,
    *,
    where: str,
    description: str,
    licence: str,
    class_names: Mapping[str, Sequence[str]] | None = None,
    part: Part = ALL,
) -> Corpus:
    """A corpus of rows, each with where it stands.

    Args:
        name: of the corpus.
        rows: with their columns.
        columns: which of these count.
        where: the rows are from.
        description: of the corpus.
        licence: of its texts.
        class_names: for columns that hold numbers of classes, their names.
        part: what is read of them.

    Raises:
        CorpusError: a row does not fit, or none is left.
    """
    collector = Collector(name, skip_duplicates=True, labelled=columns.labelled, draw=part.draw)
    present: list[str] | None = None
    for number, (row, row_where) in enumerate(itertools.islice(rows, part.rows), start=1):
        if number % _TOLD_AFTER == 0:
            part.told(number)
        if present is None or present != list(row):
            present = list(row)
            text_column, label_column = columns.find(present, row_where)
        raw = "" if row[text_column] is None else row[text_column]
        if not isinstance(raw, str):
            raise CorpusError(
                f"{row_where}: {text_column!r} holds {raw!r:.60}, not text",
                hint="name the column that holds the text with --text-column",
            )
        # Finding the natural text of what is far too long takes long itself.
        if collector.too_long(raw, times=_LONGER_TOKENISED):
            continue
        text = natural(raw)
        if not collector.usable(text):
            continue
        label: Label | None = None
        if label_column is not None:
            names = (class_names or {}).get(label_column, ())
            label = _label(row[label_column], names, columns.label_map)
            if label is None and columns.labelled:
                raise CorpusError(
                    f"{row_where}: the label {str(row[label_column])[:60]!r} is unknown",
                    hint="say what the labels mean, such as --label-map 0=negative,1=positive",
                )
        id, score = (row.get(column) for column in ("id", "score"))
        collector.add(
            str(number) if id in (None, "") else str(id),
            text,
            label or "neutral",
            split=str(row.get("split") or ""),
            score=None if score in (None, "") else _score(score, row_where),
            raw=raw,
            where=row_where,
        )
    return collector.corpus(where=where, description=description, licence=licence)


def _label(
    value: object, class_names: Sequence[str], label_map: Mapping[str, Label]
) -> Label | None:
    """What a label means; None where that is not known."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    names = [str(value).strip()]
    if isinstance(value, int) and 0 <= value < len(class_names):
        names.append(class_names[value])
    for name in names:
        if name in label_map:
            return label_map[name]
    for name in names:
        if (label := _LABEL_NAMES.get(name.lower())) is not None:
            return label
    return None


def _score(value: object, where: str) -> float:
    hint = "give scores from 0 (most negative) to 1 (most positive), or rename the column 'score'"
    try:
        score = float(cast(Any, value))
    except (TypeError, ValueError):
        raise CorpusError(f"{where}: the score {value!r:.60} is not a number", hint=hint) from None
    if not 0 <= score <= 1:
        raise CorpusError(f"{where}: the score {value!r:.60} is not in [0, 1]", hint=hint)
    return score
