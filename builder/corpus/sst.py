"""The Stanford Sentiment Treebank as its authors publish it: a folder, a zip, or its address."""

from __future__ import annotations

import hashlib
import logging
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import ftfy

from s2lct.builder.corpus.collect import Corpus, make_corpus
from s2lct.builder.language.natural_text import restore_texts
from s2lct.builder.language.treebank_text import undo_escapes
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.files import expanded_path, is_folder
from s2lct.hub_calls import error_summary
from s2lct.labels import Label

_FILES = ("datasetSentences.txt", "datasetSplit.txt", "dictionary.txt", "sentiment_labels.txt")
_HINT = (
    "give the folder or zip of the original treebank, stanfordSentimentTreebank.zip from "
    "https://nlp.stanford.edu/sentiment/, with " + ", ".join(_FILES)
)
_SPLITS = {"1": "train", "2": "test", "3": "dev"}
_SENTENCE_COUNT = 11_855
# Of lines "INDEX,SPLIT,SCORE" in order of the index, as released.
_RELEASED_SHA256 = "ddb72e29a3095c85539948db7a99a11f436f7104b598d7bacbe0e4e4e5dc755e"

logger = logging.getLogger(__name__)


def read_sst(location: str) -> Corpus:
    """Read the treebank from a folder, a zip or a URL.

    Raises:
        CorpusError: the treebank is missing, or its files do not fit together.
    """
    path = _download(location) if "://" in location else expanded_path(location)
    errors = (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError, KeyError)
    try:
        texts = (data.decode("utf-8-sig") for data in _file_contents(path))
        sentences = _read_treebank(*texts)
    except errors as error:
        raise CorpusError(
            f"{path} is no whole treebank: {error_summary(error)}", hint=_HINT
        ) from error
    if len(sentences) != _SENTENCE_COUNT:
        counts = Counter(sentence.split for sentence in sentences)
        parts = ", ".join(f"{counts[name]:,} {name}" for name in ("train", "dev", "test"))
        logger.warning(
            "sst: %d of the treebank's %d sentences: %s", len(sentences), _SENTENCE_COUNT, parts
        )
    return make_corpus(
        "sst",
        sentences,
        drop_duplicates=False,
        description="Stanford Sentiment Treebank: sentences of film reviews from "
        "rottentomatoes.com with crowd-sourced sentiment (Socher et al., EMNLP 2013)",
        licence="none stated by its authors",
    )


def _download(url: str) -> Path:
    from datasets import DownloadManager

    try:
        return Path(DownloadManager().download(url))
    except Exception as error:  # every way in which fetching can fail has its own class
        raise CorpusError(
            f"{url} cannot be downloaded: {error_summary(error)}", hint=_HINT
        ) from error


def _file_contents(path: Path) -> list[bytes]:
    """The contents of `_FILES` in a folder, in a subfolder of it, or in a zip."""
    if is_folder(path):
        files = {file.name: file for file in (*sorted(path.glob("*/*.txt")), *path.glob("*.txt"))}
        return [files[name].read_bytes() for name in _FILES]
    if not path.is_file():  # a device has no end
        raise FileNotFoundError("no folder or file is there")
    with zipfile.ZipFile(path) as archive:
        members = {PurePosixPath(member).name: member for member in archive.namelist()}
        return [archive.read(members[name]) for name in _FILES]


def _read_treebank(sentences: str, split: str, dictionary: str, labels: str) -> list[Sentence]:
    """The sentences in the order of their file; a `ValueError` if the files do not fit together."""
    scores = {id: float(score) for id, score in (line.split("|") for line in _lines(labels)[1:])}
    if not all(0 <= score <= 1 for score in scores.values()):
        raise ValueError("a score is no number from 0 to 1")
    # A phrase may contain the separator.
    phrases = (line.rpartition("|") for line in _lines(dictionary))
    ids = {_lookup_key(phrase): id for phrase, _, id in phrases}
    splits = {
        index: _SPLITS[code] for index, code in (line.split(",") for line in _lines(split)[1:])
    }
    by_index: dict[str, Sentence] = {}
    rows = [line.split("\t") for line in _lines(sentences)[1:]]
    texts = restore_texts([_mend_encoding(raw) for _, raw in rows])
    for (index, raw), text in zip(rows, texts, strict=True):
        score = scores[ids[_lookup_key(raw)]]
        by_index[index] = Sentence("sst", index, text, _label(score), splits[index], score, raw)
    if by_index.keys() != splits.keys() or len(by_index) < len(_lines(sentences)) - 1:
        raise ValueError("not every sentence has a split of its own")
    if len(by_index) == _SENTENCE_COUNT and _sha256_of(by_index) != _RELEASED_SHA256:
        raise ValueError("the sentences do not have the released splits and scores")
    return list(by_index.values())


def _lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _lookup_key(phrase: str) -> str:
    """The spelling in which a sentence and its dictionary entry agree."""
    return " ".join(undo_escapes(_mend_encoding(phrase)).split())


def _mend_encoding(text: str) -> str:
    """Mend a text whose UTF-8 was read as Latin-1; other texts stay as they are."""
    return ftfy.fix_encoding(text) if "Ã" in text or "Â" in text else text


def _label(score: float) -> Label:
    return "negative" if score <= 0.4 else "neutral" if score <= 0.6 else "positive"


def _sha256_of(sentences: Mapping[str, Sentence]) -> str:
    """A checksum of splits and scores; it reveals shifted lines in a file."""
    codes = {split: code for code, split in _SPLITS.items()}
    lines = (
        f"{index},{codes[sentence.split]},{sentence.score:.5f}\n"
        for index, sentence in sorted(sentences.items(), key=lambda item: int(item[0]))
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()
