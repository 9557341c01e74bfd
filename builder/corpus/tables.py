"""Tables as corpora: CSV, JSON lines and Parquet files or folders of them, data sets of the Hub."""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from s2lct.builder.corpus.clean import clean
from s2lct.builder.corpus.collect import MAX_WORDS, Corpus, corpus_of
from s2lct.builder.language.natural_text import natural
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.hub_calls import reason_of
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain

if TYPE_CHECKING:
    from datasets import Dataset

FileKind = Literal["csv", "jsonl", "parquet"]
_CANDIDATES = {
    "text": ("text", "sentence", "content", "review", "review_text", "review_body", "body"),
    "label": ("label", "labels", "sentiment", "stars", "rating", "star_rating"),
}
_LABEL_NAMES = {name: label for label in LABELS for name in (label, label[:3])}
_MEANING = "1 and 2 stars are negative, 3 neutral, 4 and 5 positive"
_NUMBERS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_NAMED = re.compile(
    r"([1-5](?:\.\d+)?|one|two|three|four|five)"
    r"(\s*(?:/|(?:out )?of)\s*(?:5(?:\.0)?|five))?([\s-]*stars?)?",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"([★⭐]{1,5})[☆]*")
_MOST_TOKENS = 4 * MAX_WORDS
_MOST_CHARACTERS = 40_000
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold text and label, and what labels mean, as far as the user says.

    Where none is asked for (``labelled``), a label that is missing or unknown is neutral. Where
    they are to be ``cleaned``, texts become sentences.
    """

    text: str | None = None
    label: str | None = None
    label_map: Mapping[str, Label] = field(default_factory=dict)
    labelled: bool = True
    cleaned: bool = False

    def found(self, role: str, present: Sequence[str], where: str) -> str | None:
        """The name of the column for text or label; a `CorpusError` if it is asked for in vain."""
        named = self.text if role == "text" else self.label
        candidates = _CANDIDATES[role] if named is None else (named,)
        found = next((name for name in candidates if name in present), None)
        if found is None and (role == "text" or self.labelled):
            shown = ", ".join(map(repr, present)) or "none"
            raise CorpusError(
                f"{where} lacks a column {' or '.join(candidates)}; its columns: {shown}",
                hint=f"name the column that holds the {role} with --{role}-column",
            )
        return found

    def meaning(self, value: object, classes: Sequence[str], *, stars: bool) -> Label | None:
        """What a label means in a column with such names of classes; None where it is not known."""
        names = _names(value, classes)
        meanings = [self.label_map.get(name) for name in names]
        meanings += [_LABEL_NAMES.get(name.lower()) for name in names]
        if stars and names:
            meanings.append(_label_of_stars(names[-1]))
        return next(filter(None, meanings), None)

    def has_stars(self, values: Iterable[object], classes: Sequence[str]) -> bool:
        """Whether a column's labels are stars, as far as they are no labels by themselves."""
        unnamed = [value for value in values if not self.meaning(value, classes, stars=False)]
        named = [names[-1] for value in unnamed if (names := _names(value, classes))]
        return not self.label_map and _are_stars(named)


def _names(value: object, classes: Sequence[str]) -> list[str]:
    """A label as text and, if it is the number of a class, its name; nothing if it is empty."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    names = [] if value is None else [str(value).strip()]
    if isinstance(value, int) and 0 <= value < len(classes):
        names.append(classes[value])
    return [name for name in names if name]


def _label_of_stars(given: str) -> Label | None:
    """What ``4``, ``4.0``, ``4/5``, ``four stars`` or ``★★★★☆`` means; None if it is none."""
    count = _stars(given)
    if count is None:
        return None
    return "negative" if count <= 2 else "positive" if count >= 4 else "neutral"


def _are_stars(labels: Iterable[str]) -> bool:
    """Whether labels are stars: bare numbers are if one is 4 or 5, since 1 may be the best of 2."""
    labels = list(labels)
    counts = [count for label in labels if (count := _stars(label)) is not None]
    if not counts or len(counts) < len(labels):
        return False
    return max(counts) >= 4 or not any(re.fullmatch(r"[\d.]+", label) for label in labels)


def _stars(given: str) -> float | None:
    given = given.strip()
    if signs := _SIGNS.fullmatch(given):
        return float(len(signs[1]))
    found = _NAMED.fullmatch(given)
    if found is None:
        return None
    count = _NUMBERS.get(found[1].lower()) or float(found[1])
    return count if count <= 5 else None


def read_files(kind: FileKind, path: Path, columns: Columns) -> Corpus:
    """Read rows of a file, or of the files of a folder as if they were one."""
    files = [path]
    if path.is_dir():
        found = (*path.glob(f"[!.]*.{kind}"), *path.glob(f"[!.]*.{kind}.gz"))
        files = sorted(file for file in found if file.is_file())
    if not files:
        raise CorpusError(
            f"{path} holds no file whose name ends in .{kind}",
            hint=f"write {kind}:PATH of a file, or of a folder that has such files in itself",
        )
    import datasets
    import pandas

    options: dict[str, Any] = {"data_files": [str(file) for file in files], "split": "train"}
    try:
        if kind == "csv":
            # A text "007", "1.0" or "NA" stays what it is.
            header = pandas.read_csv(files[0], nrows=0, encoding="utf-8-sig").columns
            texts = datasets.Features({name: datasets.Value("string") for name in header})
            options |= {"features": texts, "na_filter": False, "encoding": "utf-8-sig"}
            options["index_col"] = False
        with _quietly():
            table = datasets.load_dataset("json" if kind == "jsonl" else kind, **options)
        table.data.table.validate(full=True)  # bytes that are no UTF-8 are found here, or later
    except Exception as error:  # each reader has errors of its own
        raise CorpusError(
            f"{path} cannot be read as {kind}: {reason_of(error.__cause__ or error)}",
            hint="check that it is UTF-8, and that texts with commas stand in double quotes",
        ) from error
    description = f"sentences of {plain(path.name)}"
    first_row = 2 if kind == "csv" else 1
    return _corpus_of(table, columns, f"{kind}:{path.name}", str(path), description, first_row)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without bars and messages of readers; a row with too many cells is an error."""
    import datasets
    from pandas.errors import ParserWarning

    level, bars = datasets.logging.get_verbosity(), datasets.is_progress_bar_enabled()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            yield
    finally:
        datasets.logging.set_verbosity(level)
        if bars:
            datasets.enable_progress_bars()


def read_hub(name: str, config: str, split: str, columns: Columns) -> Corpus:
    """Read a split of a data set."""
    from datasets import load_dataset

    where = f"hf:{name}" + (f", configuration {config}" if config else "") + f", split {split}"
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        table = load_dataset(name, config or None, split=split)
    except Exception as error:
        raise CorpusError(
            f"{where} cannot be loaded: {reason_of(error)}",
            hint="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network",
        ) from error
    description = " ".join((table.info.description or "").split())
    description = description or f"dataset {name} of the Hugging Face hub, split {split}"
    return _corpus_of(table, columns, f"hf:{name}", where, description)


def _corpus_of(
    table: Dataset, columns: Columns, name: str, where: str, description: str, first_row: int = 1
) -> Corpus:
    """A corpus of a table's rows; a `CorpusError` says which row does not fit."""
    name = plain(name)
    text_column = columns.found("text", table.column_names, where)
    label_column = columns.found("label", table.column_names, where)
    classes: Sequence[str] = getattr(table.features.get(label_column or ""), "names", ())
    wanted = {text_column, label_column, "id", "split", "score"}.intersection(table.column_names)
    label_values = table.unique(label_column) if label_column else []
    stars = columns.has_stars(label_values, classes)
    if stars:
        logger.warning("%s: the labels in %r are stars: %s", name, label_column, _MEANING)
    sentences: list[Sentence] = []
    unlabelled = 0
    for number, row in enumerate(table.select_columns(list(wanted)), start=1):
        row_where = f"{where}, row {number + first_row - 1}"
        raw = "" if row[text_column] is None else row[text_column]
        if not isinstance(raw, str):
            raise CorpusError(
                f"{row_where}: {text_column!r} holds {raw!r:.60}, not text",
                hint="name the column that holds the text with --text-column",
            )
        # Finding the natural text of what is far too long takes long itself.
        if columns.cleaned:
            text, raw = "", _first_words(raw)
        else:
            text = natural(" ".join(raw.split()[:_MOST_TOKENS]))
        label = None
        if label_column:
            label = columns.meaning(row[label_column], classes, stars=stars)
            if columns.cleaned and not _names(row[label_column], classes):
                unlabelled += 1
                continue
        if label is None and columns.labelled and raw.strip():
            raise CorpusError(
                f"{row_where}: the label {str(row[label_column])[:60]!r} is unknown",
                hint="say what the labels mean, such as --label-map 0=negative,1=positive",
            )
        id = _id_of(row, number)
        split, score = str(row.get("split") or ""), _score(row.get("score"), row_where)
        sentences.append(Sentence(name, id, text, label or "neutral", split, score, raw))
    skipped = Counter({"without label": unlabelled})
    if columns.cleaned:
        found = clean(sentences)
        sentences = list(found.sentences)
        description, skipped = description + found.told, skipped + found.set_aside
    return corpus_of(
        name,
        sentences,
        skipped=skipped,
        description=description,
        licence=table.info.license or "not stated",
        labelled=columns.labelled,
    )


def _id_of(row: Mapping[str, Any], number: int) -> str:
    """A row's id; of one that lacks it, what no row is called that has one."""
    if "id" not in row:
        return str(number)
    id = "" if row["id"] is None else str(row["id"])
    return id if id.strip() else f"row-{number}"


def _first_words(raw: str) -> str:
    """As much of a text as is read: its lines stay."""
    end = next(islice(re.finditer(r"\s+\S", raw), _MOST_TOKENS, None), None)
    return raw[: _MOST_CHARACTERS if end is None else min(end.start(), _MOST_CHARACTERS)]


def _score(value: Any, where: str) -> float | None:
    if value in (None, ""):
        return None
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        raise CorpusError(
            f"{where}: the score {value!r:.60} is no number from 0 to 1",
            hint="give scores from 0 (most negative) to 1 (most positive), or rename the column "
            "'score'",
        )
    return score
