"""Tables as corpora: CSV, JSON lines and Parquet files or folders of them, data sets of the Hub."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from s2lct.builder.corpus.clean import clean
from s2lct.builder.corpus.collect import MAX_WORDS, Corpus, corpus_of
from s2lct.builder.language.natural_text import natural
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError, ScoringError
from s2lct.files import is_folder, is_here
from s2lct.hub_calls import reason_of
from s2lct.labels import (
    LABELS,
    STAR_COLUMNS,
    Label,
    meaning_of,
    meanings_of_labels,
    read_labels,
    written_label,
)
from s2lct.plain_text import plain
from s2lct.suite.other_suites import Located, is_empty, rows_of_file

FileKind = Literal["csv", "jsonl", "parquet"]
_CANDIDATES = {
    "text": ("text", "sentence", "content", "review", "review_text", "review_body", "body"),
    "label": ("label", "labels", "sentiment", "stars", "rating", "star_rating"),
}
_STARS = "1 and 2 stars are negative, 3 neutral, 4 and 5 positive"
_MOST_TOKENS = 4 * MAX_WORDS
_MOST_CHARACTERS = 40_000
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold text and label, and what labels mean, as far as the user says.

    Attributes:
        text: the column with the texts; None for the first that is called as usual.
        label: likewise.
        label_map: what labels mean.
        labelled: if not, a label that is missing or unknown is neutral.
        cleaned: whether texts become sentences.
    """

    text: str | None = None
    label: str | None = None
    label_map: Mapping[str, Label] = field(default_factory=dict)
    labelled: bool = True
    cleaned: bool = False

    def name_of(self, role: str, present: Sequence[str], where: str) -> str | None:
        """The name of the column for text or label; a `CorpusError` if it is asked for in vain."""
        named = self.text if role == "text" else self.label
        candidates = _CANDIDATES[role] if named is None else (named,)
        column = next((name for name in candidates if name in present), None)
        if column is None and (role == "text" or self.labelled):
            shown = plain(", ".join(map(repr, present)), 500) or "none"
            raise CorpusError(
                f"{where} lacks a column {' or '.join(candidates)}; its columns: {shown}",
                hint=f"name the column that holds the {role} with --{role}-column",
            )
        return column


def read_files(kind: FileKind, path: Path, columns: Columns) -> Corpus:
    """Read rows of a file, or of the files of a folder as if they were one."""
    files = [path]
    if is_folder(path):
        of_kind = (*path.glob(f"[!.]*.{kind}"), *path.glob(f"[!.]*.{kind}.gz"))
        files = sorted(file for file in of_kind if file.is_file())
    if not files:
        raise CorpusError(
            f"{path} holds no file whose name ends in .{kind}",
            hint=f"write {kind}:PATH of a file, or of a folder that has such files in itself",
        )
    try:
        rows = [row for file in files for row in rows_of_file(file, kind)]
    except ScoringError as error:
        raise CorpusError(error.problem, hint=error.hint) from error
    description = f"sentences of {plain(path.name)}"
    return _corpus_of(rows, columns, f"{kind}:{path.name}", str(path), description)


def read_hub(name: str, config: str, split: str, columns: Columns) -> Corpus:
    """Read a split of a data set; one of the Hub even if a folder of that name is here."""
    from datasets import load_dataset

    where = f"hf:{name}" + (f", configuration {config}" if config else "") + f", split {split}"
    address = f"hf://datasets/{name}" if is_here(Path(name)) else name
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        table = load_dataset(address, config or None, split=split)
        named = {*_CANDIDATES["text"], *_CANDIDATES["label"], columns.text, columns.label}
        present = list(table.column_names)
        kept = [name for name in present if name in named | {"id", "split"}]
        cells = list(table.select_columns(kept))
    except Exception as error:
        raise CorpusError(
            f"{where} cannot be loaded: {reason_of(error)}",
            hint="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network",
        ) from error
    for name_of_column in kept:
        if classes := getattr(table.features[name_of_column], "names", None):
            columns = replace(columns, label_map=_by_name(columns.label_map, classes))
            for row in cells:
                number = row[name_of_column]
                if number is not None and 0 <= number < len(classes):
                    row[name_of_column] = classes[number]
    rows = [(f"{where}, row {number:,}", row) for number, row in enumerate(cells, start=1)]
    description = " ".join((table.info.description or "").split())
    description = description or f"dataset {name} of the Hugging Face hub, split {split}"
    licence = table.info.license or "not stated"
    return _corpus_of(rows, columns, f"hf:{name}", where, description, licence, present)


def _by_name(label_map: Mapping[str, Label], classes: Sequence[str]) -> dict[str, Label]:
    """A label map in which numbers of classes are their names."""
    names = {str(number): name for number, name in enumerate(classes) if str(number) not in classes}
    return {names.get(label, label): meaning for label, meaning in label_map.items()}


def _corpus_of(
    rows: Sequence[Located],
    columns: Columns,
    name: str,
    where: str,
    description: str,
    licence: str = "not stated",
    present: Sequence[str] = (),
) -> Corpus:
    """A corpus of a table's rows; a `CorpusError` says which row does not fit."""
    name = plain(name)
    if not rows:
        raise CorpusError(
            f"{where} holds no row", hint="give a table with a text and a label a row"
        )
    present = present or list(dict.fromkeys(column for _, row in rows for column in row))
    text_column = columns.name_of("text", present, where)
    label_column = columns.name_of("label", present, where)
    texts = [_text_of(row.get(text_column or ""), text_column, place) for place, row in rows]
    labels = [""] * len(rows)
    if label_column:
        labels = [_label_of(row.get(label_column), label_column, place) for place, row in rows]
    meanings = _meanings(rows, texts, labels, columns, label_column, name)
    sentences: list[Sentence] = []
    unlabelled = 0
    for number, ((place, row), raw, label) in enumerate(
        zip(rows, texts, labels, strict=True), start=1
    ):
        if columns.labelled and not label and raw.strip():
            if columns.cleaned:
                unlabelled += 1
                continue
            raise CorpusError(
                f"{place}: {label_column!r} is empty",
                hint="give it a label, or leave the row out",
            )
        # Finding the natural text of what is far too long takes long itself.
        first = _first_words(raw)
        text, raw = ("", first) if columns.cleaned else (natural(first), raw)
        id = _id_of(row, number) if "id" in present else str(number)
        meaning = LABELS[meanings.get(label, LABELS.index("neutral"))]
        sentences.append(Sentence(name, id, text, meaning, str(row.get("split") or ""), raw=raw))
    skipped = Counter({"without label": unlabelled})
    if columns.cleaned:
        cleaned = clean(sentences)
        sentences = list(cleaned.sentences)
        description, skipped = description + cleaned.told, skipped + cleaned.set_aside
    return corpus_of(
        name,
        sentences,
        skipped=skipped,
        description=description,
        licence=licence,
        labelled=columns.labelled,
    )


def _id_of(row: Mapping[str, Any], number: int) -> str:
    """A row's id; of one that lacks it, what no row is called that has one."""
    return f"row-{number}" if is_empty(row.get("id")) else str(row["id"])


def _text_of(cell: object, column: str | None, where: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        raise CorpusError(
            f"{where}: {column!r} holds {plain(repr(cell), 60)}, not text",
            hint="name the column that holds the text with --text-column",
        )
    return cell


def _label_of(cell: object, column: str, where: str) -> str:
    if isinstance(cell, (list, Mapping)):
        raise CorpusError(
            f"{where}: {column!r} holds {plain(repr(cell), 60)}, not one label",
            hint="name a column that holds one label a row with --label-column",
        )
    return written_label(cell)


def _meanings(
    rows: Sequence[Located],
    texts: Sequence[str],
    labels: Sequence[str],
    columns: Columns,
    column: str | None,
    name: str,
) -> dict[str, int]:
    """What each label of a table means; of one that needs none, what is understood."""
    if not columns.labelled:
        meanings = meanings_of_labels(labels, column, columns.label_map)
        return {label: number for label, number in meanings.items() if number is not None}
    places: dict[str, str] = {}
    for (place, _), text, label in zip(rows, texts, labels, strict=True):
        if label and text.strip():
            places.setdefault(label, place)
    read = read_labels(places, column, columns.label_map, error=CorpusError)
    is_starred = (column or "").strip().lower() in STAR_COLUMNS and not columns.label_map
    if is_starred and any(meaning_of(label) is None or not label[0].isalpha() for label in places):
        logger.warning("%s: the labels in %r are stars: %s", name, column, _STARS)
    return read


def _first_words(raw: str) -> str:
    """As much of a text as is read: its lines stay."""
    end = next(islice(re.finditer(r"\s+\S", raw), _MOST_TOKENS, None), None)
    return raw[: _MOST_CHARACTERS if end is None else min(end.start(), _MOST_CHARACTERS)]
