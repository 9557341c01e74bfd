"""The Stanford Sentiment Treebank as its authors publish it: a folder, a zip, or its address."""

from __future__ import annotations

import hashlib
import logging
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
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

_FILES = ("datasetSentences.txt", "datasetSplit.txt", "dictionary.txt", "sentiment_labels.txt")
_SENTENCES, _SPLIT, _DICTIONARY, _SCORES = _FILES
_HINT = (
    "give the folder or zip of the original treebank, stanfordSentimentTreebank.zip from "
    "https://nlp.stanford.edu/sentiment/, with " + ", ".join(_FILES)
)
_SPLITS = {"1": "train", "2": "test", "3": "dev"}
_ALL_SENTENCES = 11_855
# Of lines "INDEX,SPLIT,SCORE" in order of the index, as released.
_RELEASED_SHA256 = "ddb72e29a3095c85539948db7a99a11f436f7104b598d7bacbe0e4e4e5dc755e"

logger = logging.getLogger(__name__)


class _Sentence(NamedTuple):
    raw: str
    score: float
    split: str


def read_sst(location: str) -> Corpus:
    """Read it from a folder, a zip or an address; a `CorpusError` if it is not there, or broken."""
    path = _downloaded(location) if "://" in location else Path(location).expanduser()
    sentences = _read_treebank(path)
    collector = Collector("sst", skip_duplicates=False)
    if len(sentences) != _ALL_SENTENCES:
        counts = Counter(sentence.split for sentence in sentences.values())
        parts = ", ".join(f"{counts[name]:,} {name}" for name in ("train", "dev", "test"))
        logger.warning(
            "sst: %d of the treebank's %d sentences: %s", len(sentences), _ALL_SENTENCES, parts
        )
    for number, sentence in sentences.items():
        text = detokenise(mend_mojibake(sentence.raw))
        if text.islower():
            text = sentence_case(text)
        elif not text.startswith("..."):
            text = capitalise_first(text)
        if collector.usable(text):
            label = _label(sentence.score)
            collector.add(
                number, text, label, split=sentence.split, score=sentence.score, raw=sentence.raw
            )
    return collector.corpus(
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
        raise _broken(f"{url} cannot be downloaded: {reason_of(error)}") from error


def _broken(problem: str) -> CorpusError:
    return CorpusError(problem, hint=_HINT)


def _read_treebank(path: Path) -> dict[str, _Sentence]:
    """The sentences by their index, in the order of their file; all files go together."""
    files = _files(path)
    scores: dict[str, float] = {}
    for phrase_id, value, where in _lines(path, files, _SCORES, "|", header=True):
        try:
            scores[phrase_id] = float(value)
        except ValueError:
            scores[phrase_id] = -1
        if not 0 <= scores[phrase_id] <= 1:
            raise _broken(f"{where}: the score {value[:60]!r} is no number from 0 to 1")
    ids = {_key(phrase): id for phrase, id, _ in _lines(path, files, _DICTIONARY, "|")}
    splits: dict[str, str] = {}
    for index, code, where in _lines(path, files, _SPLIT, ",", header=True):
        if code not in _SPLITS:
            raise _broken(f"{where}: split {code[:60]!r} is not 1, 2 or 3")
        splits[index] = _SPLITS[code]
    sentences: dict[str, _Sentence] = {}
    for index, raw, where in _lines(path, files, _SENTENCES, "\t", header=True):
        score = scores.get(ids.get(_key(raw), ""))
        if score is None or index not in splits or index in sentences:
            raise _broken(
                f"{where}: the sentence {raw[:60]!r} has no entry of its own in "
                f"{_DICTIONARY}, {_SCORES} or {_SPLIT}"
            )
        sentences[index] = _Sentence(raw, score, splits[index])
    if len(sentences) < len(splits):
        raise _broken(f"{path}: {_SENTENCES} has fewer sentences than {_SPLIT}")
    if len(sentences) == _ALL_SENTENCES and _sha256_of(sentences) != _RELEASED_SHA256:
        raise _broken(f"{path}: the sentences do not have the released splits and scores")
    return sentences


def _key(phrase: str) -> str:
    """The form in which a sentence and its dictionary entry agree."""
    return " ".join(undo_escapes(mend_mojibake(phrase)).split())


def _sha256_of(sentences: Mapping[str, _Sentence]) -> str:
    """What tells whether the lines of a file are shifted."""
    codes = {split: code for code, split in _SPLITS.items()}
    ordered = sorted(sentences.items(), key=lambda item: int(item[0]))
    lines = (
        f"{index},{codes[sentence.split]},{sentence.score:.5f}\n" for index, sentence in ordered
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _lines(
    path: Path, files: Mapping[str, bytes], name: str, separator: str, *, header: bool = False
) -> Iterator[tuple[str, str, str]]:
    """The lines of a file in two parts, its header left out, each with where it stands.

    A file with a header begins with numbers; in another, a phrase that may hold the separator does.
    """
    try:
        lines = files[name].decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise _broken(f"{path}: {name} is not UTF-8 ({error.reason})") from error
    for number, line in enumerate(lines[header:], start=1 + header):
        where = f"{path}: {name}, line {number}"
        if not line.strip("\r"):
            continue
        parts = line.partition(separator) if header else line.rpartition(separator)
        left, right = parts[0].strip(), parts[2].strip()
        if not parts[1] or (header and not (left.isascii() and left.isdecimal())):
            raise _broken(f"{where}: {line[:60]!r} is not two parts with {separator!r} between")
        yield left, right, where


def _files(path: Path) -> dict[str, bytes]:
    """The treebank's files in a folder, in a folder within, or in a zip, which is not unpacked."""
    try:
        if path.is_dir():
            folders = (path, *sorted(member for member in path.iterdir() if member.is_dir()))
            folder = next((member for member in folders if (member / _SENTENCES).is_file()), path)
            return {name: (folder / name).read_bytes() for name in _FILES}
        with zipfile.ZipFile(path) as archive:
            members = {
                PurePosixPath(member).name: member
                for member in archive.namelist()
                if not member.startswith("__MACOSX")
            }
            return {name: archive.read(members[name]) for name in _FILES}
    except KeyError as error:
        raise _broken(f"{path} lacks {error}") from error
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError) as error:
        raise _broken(f"{path} cannot be read: {error}") from error
