"""Tables as corpora: CSV, JSON and Parquet files, folders of them, and data sets of the Hub."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from s2lct.builder.corpus.clean import clean
from s2lct.builder.corpus.collect import MAX_WORDS, Corpus, make_corpus
from s2lct.builder.language.natural_text import to_natural_text
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.files import is_folder, path_exists
from s2lct.hub_calls import error_summary
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
from s2lct.table_files import LocatedRow, TableKind, is_blank, read_rows, table_kind

_USUAL_COLUMNS = {
    "text": ("text", "sentence", "content", "review", "review_text", "review_body", "body"),
    "label": ("label", "labels", "sentiment", "stars", "rating", "star_rating"),
}
_STARS_EXPLAINED = "1 and 2 stars are negative, 3 neutral, 4 and 5 positive"
_MAX_TEXT_WORDS = 4 * MAX_WORDS
_MAX_TEXT_CHARACTERS = 40_000
_MAX_SHOWN_CHARACTERS = 60
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table hold texts and labels, and how they are read.

    Attributes:
        text: the column of the texts; None for the first that has a usual name.
        label: the column of the labels; None likewise.
        label_map: what the labels mean, as far as the user says it.
        labelled: if False, a label that is missing or not understood is neutral.
        cleaned: whether texts are split into sentences and cleaned.
    """

    text: str | None = None
    label: str | None = None
    label_map: Mapping[str, Label] = field(default_factory=dict)
    labelled: bool = True
    cleaned: bool = False

    def column_for(self, role: str, columns: Sequence[str], table: str) -> str | None:
        """The column of the texts or labels; a `CorpusError` if it is needed and missing."""
        named = self.text if role == "text" else self.label
        candidates = _USUAL_COLUMNS[role] if named is None else (named,)
        column = next((name for name in candidates if name in columns), None)
        if column is None and (role == "text" or self.labelled):
            shown = plain(", ".join(map(repr, columns)), 500) or "none"
            raise CorpusError(
                f"{table} lacks a column {' or '.join(candidates)}; its columns: {shown}",
                hint=f"name the column that holds the {role} with --{role}-column",
            )
        return column


def read_files(kind: TableKind, path: Path, columns: Columns) -> Corpus:
    """Read a table from a file, or from the files of that kind in a folder."""
    files = [path]
    if is_folder(path):
        visible = sorted(path.glob("[!.]*"))
        files = [file for file in visible if table_kind(file) == kind and file.is_file()]
    if not files:
        raise CorpusError(
            f"{path} holds no file whose name ends in .{kind}",
            hint=f"write {kind}:PATH of a file, or of a folder that has such files in itself",
        )
    rows = [row for file in files for row in read_rows(file, kind, error=CorpusError)]
    description = f"sentences of {plain(path.name)}"
    return _corpus_of_rows(rows, columns, f"{kind}:{path.name}", str(path), description)


def read_hub(name: str, config: str, split: str, columns: Columns) -> Corpus:
    """Read a split of a data set of the Hub, even if a folder here has the same name."""
    from datasets import load_dataset

    table_name = f"hf:{name}" + (f", configuration {config}" if config else "") + f", split {split}"
    address = f"hf://datasets/{name}" if path_exists(Path(name)) else name
    used_columns = {*_USUAL_COLUMNS["text"], *_USUAL_COLUMNS["label"], columns.text, columns.label}
    used_columns |= {"id", "split"}
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        table = load_dataset(address, config or None, split=split)
        names = list(table.column_names)
        cells = list(table.select_columns([name for name in names if name in used_columns]))
    except Exception as error:
        raise CorpusError(
            f"{table_name} cannot be loaded: {error_summary(error)}",
            hint="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network",
        ) from error
    for column, feature in table.features.items():
        classes = getattr(feature, "names", None)
        if not classes or column not in used_columns:
            continue
        columns = replace(columns, label_map=_with_class_names(columns.label_map, classes))
        for row in cells:
            if row[column] is not None and 0 <= row[column] < len(classes):
                row[column] = classes[row[column]]
    rows = [(f"{table_name}, row {number:,}", row) for number, row in enumerate(cells, start=1)]
    description = " ".join((table.info.description or "").split())
    description = description or f"dataset {name} of the Hugging Face hub, split {split}"
    corpus = _corpus_of_rows(rows, columns, f"hf:{name}", table_name, description, names)
    return replace(corpus, licence=table.info.license or corpus.licence)


def _with_class_names(label_map: Mapping[str, Label], classes: Sequence[str]) -> dict[str, Label]:
    """A label map in which the numbers of classes are replaced by the classes' names."""
    names = {str(number): name for number, name in enumerate(classes) if str(number) not in classes}
    return {names.get(label, label): meaning for label, meaning in label_map.items()}


def _corpus_of_rows(
    rows: Sequence[LocatedRow],
    columns: Columns,
    name: str,
    table: str,
    description: str,
    present: Sequence[str] = (),
) -> Corpus:
    """A corpus of a table's rows; a `CorpusError` says which row does not fit.

    Args:
        rows: all rows.
        columns: what is read of them.
        name: of the corpus.
        table: what errors call the table.
        description: of the corpus.
        present: the columns that the table has, if ``rows`` lack some of them.
    """
    name = plain(name)
    if not rows:
        raise CorpusError(
            f"{table} holds no row", hint="give a table with a text and a label a row"
        )
    present = present or list(dict.fromkeys(column for _, row in rows for column in row))
    text_column = columns.column_for("text", present, table) or ""
    label_column = columns.column_for("label", present, table)
    texts = [_text_in(row.get(text_column), text_column, place) for place, row in rows]
    labels = [""] * len(rows)
    if label_column:
        labels = [_label_in(row.get(label_column), label_column, place) for place, row in rows]
    meanings = _meanings(rows, texts, labels, columns, label_column, name)
    sentences: list[Sentence] = []
    unlabelled = 0
    for number, ((place, row), text, label) in enumerate(
        zip(rows, texts, labels, strict=True), start=1
    ):
        if columns.labelled and not label and text.strip():
            if not columns.cleaned:
                raise CorpusError(
                    f"{place}: {label_column!r} is empty",
                    hint="give it a label, or leave the row out",
                )
            unlabelled += 1
            continue
        id = str(row.get("id"))
        if is_blank(row.get("id")):  # called by its number, apart from the ids of other rows
            id = f"row-{number}" if "id" in present else str(number)
        meaning = LABELS[meanings.get(label, LABELS.index("neutral"))]
        # Natural text of a far too long text takes long, too.
        beginning = _beginning(text)
        natural_text, raw = (
            ("", beginning) if columns.cleaned else (to_natural_text(beginning), text)
        )
        split = str(row.get("split") or "")
        sentences.append(Sentence(name, id, natural_text, meaning, split, raw=raw))
    skipped = Counter({"without label": unlabelled})
    if columns.cleaned:
        cleaned = clean(sentences)
        sentences = list(cleaned.sentences)
        description, skipped = description + cleaned.notes, skipped + cleaned.set_aside
    return make_corpus(
        name,
        sentences,
        skipped=skipped,
        description=description,
        licence="not stated",
        drop_conflicts=columns.labelled,
    )


def _text_in(cell: object, column: str, place: str) -> str:
    if isinstance(cell, str | None):
        return cell or ""
    raise _wrong_cell(cell, column, place, "text", "name the column that holds the text")


def _label_in(cell: object, column: str, place: str) -> str:
    if isinstance(cell, list | Mapping):
        hint = "name a column that holds one label a row"
        raise _wrong_cell(cell, column, place, "one label", hint)
    return written_label(cell)


def _wrong_cell(cell: object, column: str, place: str, expected: str, hint: str) -> CorpusError:
    shown = plain(repr(cell), _MAX_SHOWN_CHARACTERS)
    role = expected.split()[-1]
    return CorpusError(
        f"{place}: {column!r} holds {shown}, not {expected}", hint=f"{hint} with --{role}-column"
    )


def _meanings(
    rows: Sequence[LocatedRow],
    texts: Sequence[str],
    labels: Sequence[str],
    columns: Columns,
    label_column: str | None,
    name: str,
) -> dict[str, int]:
    """The label id of each written label.

    A label without a meaning is left out if none is needed, and is an error otherwise.
    """
    if not columns.labelled:
        meanings = meanings_of_labels(labels, label_column, columns.label_map)
        return {label: number for label, number in meanings.items() if number is not None}
    first_place: dict[str, str] = {}
    for (place, _), text, label in zip(rows, texts, labels, strict=True):
        if label and text.strip():
            first_place.setdefault(label, place)
    understood = read_labels(first_place, label_column, columns.label_map, error=CorpusError)
    may_be_stars = (label_column or "").strip().lower() in STAR_COLUMNS and not columns.label_map
    if may_be_stars and any(
        meaning_of(label) is None or not label[0].isalpha() for label in first_place
    ):
        logger.warning("%s: the labels in %r are stars: %s", name, label_column, _STARS_EXPLAINED)
    return understood


def _beginning(text: str) -> str:
    """The part of a text that is read, with its line breaks."""
    end = next(islice(re.finditer(r"\s+\S", text), _MAX_TEXT_WORDS, None), None)
    return text[: min(end.start() if end else _MAX_TEXT_CHARACTERS, _MAX_TEXT_CHARACTERS)]
