"""The Stanford Sentiment Treebank as its authors publish it: a folder, a zip, or its address."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.language.natural_text import (
    capitalise_first,
    detokenise,
    mend_mojibake,
    sentence_case,
    undo_escapes,
)
from s2lct.errors import CorpusError
from s2lct.hub_calls import reason_of
from s2lct.labels import Label

FILES = ("datasetSentences.txt", "datasetSplit.txt", "dictionary.txt", "sentiment_labels.txt")
HINT = (
    "give the folder or zip of the original treebank, stanfordSentimentTreebank.zip from "
    "https://nlp.stanford.edu/sentiment/, with " + ", ".join(FILES)
)
MOST_BYTES = 256 * 1024 * 1024
"""Of a file in a zip, which may unpack to anything."""
_HEADERS = {
    "datasetSentences.txt": "sentence_index\tsentence",
    "datasetSplit.txt": "sentence_index,splitset_label",
    "sentiment_labels.txt": "phrase ids|sentiment values",
}
_SPLITS = {"1": "train", "2": "test", "3": "dev"}
_ALL_SENTENCES = 11_855
# Of lines "INDEX,SPLIT,SCORE" in order of the index, as released.
_RELEASED_SHA256 = "ddb72e29a3095c85539948db7a99a11f436f7104b598d7bacbe0e4e4e5dc755e"


class _Sentence(NamedTuple):
    raw: str
    score: float
    split: str
    where: str


def read_sst(location: str) -> Corpus:
    """Read it from a folder, a zip or an address; a `CorpusError` if it is not there, or broken."""
    path = _downloaded(location) if "://" in location else Path(location).expanduser()
    sentences = _read_treebank(path)
    collector = Collector("sst", skip_duplicates=False)
    if len(sentences) != _ALL_SENTENCES:
        counts = Counter(one.split for one in sentences.values())
        parts = ", ".join(f"{counts[name]:,} {name}" for name in ("train", "dev", "test"))
        collector.notes.append(
            f"{len(sentences):,} of the treebank's {_ALL_SENTENCES:,} sentences: {parts}"
        )
    for number, one in sentences.items():
        text = detokenise(mend_mojibake(one.raw))
        if text.islower():
            text = sentence_case(text)
        elif not text.startswith("..."):
            text = capitalise_first(text)
        if collector.usable(text):
            collector.add(
                number,
                text,
                _label(one.score),
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


def _label(score: float) -> Label:
    return "negative" if score <= 0.4 else "neutral" if score <= 0.6 else "positive"


def _downloaded(url: str) -> Path:
    from datasets import DownloadManager

    try:
        return Path(DownloadManager().download(url))
    except Exception as error:  # every way in which fetching can fail has its own class
        raise CorpusError(f"{url} cannot be downloaded: {reason_of(error)}", hint=HINT) from error


def _read_treebank(path: Path) -> dict[str, _Sentence]:
    """The sentences by their index, in the order of their file; all files go together."""
    files = _files(path)
    scores: dict[str, float] = {}
    for phrase_id, value, where in _lines(path, files, "sentiment_labels.txt", "|"):
        try:
            scores[phrase_id] = float(value)
        except ValueError:
            raise CorpusError(
                f"{where}: the score {value[:60]!r} is no number", hint=HINT
            ) from None
        if not 0 <= scores[phrase_id] <= 1:
            raise CorpusError(f"{where}: the score {value[:60]!r} is not in [0, 1]", hint=HINT)
    ids = {_key(phrase): id for phrase, id, _ in _lines(path, files, "dictionary.txt", "|")}
    splits: dict[str, str] = {}
    for index, code, where in _lines(path, files, "datasetSplit.txt", ","):
        if code not in _SPLITS:
            raise CorpusError(f"{where}: split {code[:60]!r} is not 1, 2 or 3", hint=HINT)
        splits[index] = _SPLITS[code]
    sentences: dict[str, _Sentence] = {}
    for index, raw, where in _lines(path, files, "datasetSentences.txt", "\t"):
        score = scores.get(ids.get(_key(raw), ""))
        if score is None:
            raise CorpusError(
                f"{where}: the sentence {raw[:60]!r} has no entry in dictionary.txt and "
                "sentiment_labels.txt",
                hint=HINT,
            )
        if index in sentences:
            raise CorpusError(f"{where}: the sentence {index} stands above already", hint=HINT)
        sentences[index] = _Sentence(raw, score, splits.get(index, ""), where)
    _check_whole(path, sentences, splits)
    return sentences


def _key(phrase: str) -> str:
    """The form in which a sentence and its dictionary entry agree."""
    return " ".join(undo_escapes(mend_mojibake(phrase)).split())


def _check_whole(path: Path, sentences: Mapping[str, _Sentence], splits: Mapping[str, str]) -> None:
    """Refuse files of which one is cut off or shifted."""
    if lacking := sorted(sentences.keys() ^ splits.keys(), key=int):
        raise CorpusError(
            f"{path}: datasetSentences.txt and datasetSplit.txt do not have the same sentences: "
            f"{', '.join(lacking[:3])} stand in one of them",
            hint=HINT,
        )
    if set(sentences) != {str(index) for index in range(1, _ALL_SENTENCES + 1)}:
        return
    codes = {split: code for code, split in _SPLITS.items()}
    ordered = sorted(sentences.items(), key=lambda item: int(item[0]))
    released = _sha256(f"{index},{codes[one.split]},{one.score:.5f}\n" for index, one in ordered)
    if released != _RELEASED_SHA256:
        raise CorpusError(
            f"{path}: the sentences do not have the released splits and scores, as if the lines of "
            "a file were shifted",
            hint=HINT + "; for labels of your own, pass a table: csv:PATH",
        )


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _lines(
    path: Path, files: Mapping[str, bytes], name: str, separator: str
) -> Iterator[tuple[str, str, str]]:
    """The lines of a file in two parts, its header left out, each with where it stands."""
    header = _HEADERS.get(name)
    try:
        lines = files[name].decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: {name} is not UTF-8 ({error.reason})", hint=HINT) from error
    if header is not None and lines[0].strip() != header:
        raise CorpusError(f"{path}: {name} does not begin with {header!r}", hint=HINT)
    for number, line in enumerate(lines, start=1):
        where = f"{path}: {name}, line {number}"
        line = line.rstrip("\r")
        if not line or (number == 1 and header is not None):
            continue
        # A phrase may hold the separator, a number may not.
        left, found, right = (
            line.rpartition(separator) if header is None else line.partition(separator)
        )
        left, right = left.strip(), right.strip()
        if not found or (header is not None and not (left.isascii() and left.isdecimal())):
            raise CorpusError(
                f"{where}: {line[:60]!r} is not two parts with {separator!r} between", hint=HINT
            )
        yield left, right, where


def _files(path: Path) -> dict[str, bytes]:
    """The treebank's files in a folder, in a folder within, or in a zip, which is not unpacked."""
    try:
        if path.is_dir():
            folders = (path, *sorted(one for one in path.iterdir() if one.is_dir()))
            folder = next((one for one in folders if (one / FILES[0]).is_file()), path)
            return {name: (folder / name).read_bytes() for name in FILES}
        with zipfile.ZipFile(path) as archive:
            members = {
                PurePosixPath(one.filename).name: one
                for one in archive.infolist()
                if not one.filename.startswith("__MACOSX")
            }
            if any(members[name].file_size > MOST_BYTES for name in FILES):
                raise CorpusError(f"{path}: a file in it is too large", hint=HINT)
            return {name: archive.read(members[name]) for name in FILES}
    except KeyError as error:
        raise CorpusError(f"{path} lacks {error}", hint=HINT) from error
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError) as error:
        raise CorpusError(f"{path} cannot be read: {error}", hint=HINT) from error
