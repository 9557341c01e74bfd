"""The Stanford Sentiment Treebank as its authors publish it: a folder, a zip, or its address."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from s2lct.builder.corpus import bytes as reading
from s2lct.builder.corpus.bytes import decode, read_bytes
from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.sample import Draw
from s2lct.builder.corpus.spec import CorpusSpec, local_path
from s2lct.download import download, is_url
from s2lct.errors import CorpusError
from s2lct.natural_text import detokenise, mend_mojibake, undo_escapes
from s2lct.sentence_case import capitalise_first, sentence_case

FILES = ("datasetSentences.txt", "datasetSplit.txt", "dictionary.txt", "sentiment_labels.txt")
MEND = (
    "give the folder or zip of the original treebank, stanfordSentimentTreebank.zip from "
    "https://nlp.stanford.edu/sentiment/, with " + ", ".join(FILES)
)
_MAX_ZIP_BYTES = 32 * 1024 * 1024
_HEADERS = {
    "datasetSentences.txt": "sentence_index\tsentence",
    "datasetSplit.txt": "sentence_index,splitset_label",
    "sentiment_labels.txt": "phrase ids|sentiment values",
}
_SPLITS = {"1": "train", "2": "test", "3": "dev"}
_ALL_SENTENCES = 11_855
_SENTENCES_OF_SPLIT = {"train": 8_544, "dev": 1_101, "test": 2_210}
# Of lines "INDEX,SPLIT" and "INDEX,SCORE" in order of the index, as released.
_SPLITS_SHA256 = "987113f092da3fee400fb71c0ca7173e644406f005328f34ca82c49c7d997d25"
_SCORES_SHA256 = "7cfa586c77107ccde90bc9bc5702b1c00ee52dd92c4f8f5f227c14ffa2756426"
_NAMED = 3


class _Sentence(NamedTuple):
    raw: str
    score: float
    split: str
    where: str


class _Line(NamedTuple):
    left: str
    right: str
    where: str


def read_sst(spec: CorpusSpec, draw: Draw | None = None) -> Corpus:
    """Read it from a folder, a zip or an address; a `CorpusError` if it is not there, or broken."""
    if is_url(spec.location):
        path = download(spec.location, _files_in_zip, hint=MEND)
    else:
        path = local_path(spec)
    sentences = _read_treebank(path)
    collector = Collector("sst", skip_duplicates=False, draw=draw)
    if len(sentences) != _ALL_SENTENCES:
        counts = Counter(one.split for one in sentences.values())
        parts = ", ".join(f"{counts[name]:,} {name}" for name in _SENTENCES_OF_SPLIT)
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
            label = (
                "negative" if one.score <= 0.4 else "neutral" if one.score <= 0.6 else "positive"
            )
            collector.add(
                number,
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


def _read_treebank(path: Path) -> dict[str, _Sentence]:
    """The sentences by their index, in the order of their file; all files go together."""
    files = _files(path)
    scores: dict[str, float] = {}
    for phrase_id, value, where in _lines(path, files, "sentiment_labels.txt", "|"):
        score = _score(value, where)
        if scores.setdefault(phrase_id, score) != score:
            raise CorpusError(f"{where}: phrase {phrase_id} has another score above", hint=MEND)
    ids = {_key(phrase): id for phrase, id, _ in _lines(path, files, "dictionary.txt", "|")}
    splits: dict[str, str] = {}
    for index, code, where in _lines(path, files, "datasetSplit.txt", ","):
        if code not in _SPLITS:
            raise CorpusError(f"{where}: split {code[:60]!r} is not 1, 2 or 3", hint=MEND)
        _check_is_new(index, splits, where)
        splits[index] = _SPLITS[code]
    sentences: dict[str, _Sentence] = {}
    for index, raw, where in _lines(path, files, "datasetSentences.txt", "\t"):
        known = ids.get(_key(raw))
        found = None if known is None else scores.get(known)
        if found is None:
            missing = "dictionary.txt" if known is None else "sentiment_labels.txt"
            raise CorpusError(
                f"{where}: the sentence {raw[:60]!r} has no entry in {missing}", hint=MEND
            )
        _check_is_new(index, sentences, where)
        sentences[index] = _Sentence(raw, found, splits.get(index, ""), where)
    _check_split_of_each(path, sentences, splits)
    _check_release(path, sentences)
    return sentences


def _check_is_new(index: str, known: Mapping[str, object], where: str) -> None:
    if index in known:
        raise CorpusError(f"{where}: the sentence {index} stands above already", hint=MEND)


def _score(value: str, where: str) -> float:
    try:
        score = float(value)
    except ValueError:
        raise CorpusError(f"{where}: the score {value[:60]!r} is not a number", hint=MEND) from None
    if not 0 <= score <= 1:
        raise CorpusError(f"{where}: the score {value[:60]!r} is not in [0, 1]", hint=MEND)
    return score


def _key(phrase: str) -> str:
    """The form in which a sentence and its dictionary entry agree."""
    return " ".join(undo_escapes(mend_mojibake(phrase)).split())


def _check_split_of_each(
    path: Path, sentences: Mapping[str, _Sentence], splits: Mapping[str, str]
) -> None:
    """Refuse files of which one lacks sentences that the other has: one is cut off or shifted."""
    for name, present, other, wanted in (
        ("datasetSplit.txt", splits, "datasetSentences.txt", sentences),
        ("datasetSentences.txt", sentences, "datasetSplit.txt", splits),
    ):
        if lacking := sorted(wanted.keys() - present.keys(), key=int):
            more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
            raise CorpusError(
                f"{path}: {name} lacks {len(lacking):,} of the sentences in {other}: "
                f"{', '.join(lacking[:_NAMED])}{more}",
                hint=MEND,
            )


def _check_release(path: Path, sentences: Mapping[str, _Sentence]) -> None:
    """Refuse a treebank with every sentence whose splits or scores are not the released ones."""
    ordered = {int(index): one for index, one in sorted(sentences.items(), key=lambda x: int(x[0]))}
    if list(ordered) != list(range(1, _ALL_SENTENCES + 1)):
        return
    codes = {split: code for code, split in _SPLITS.items()}
    if _sha256(f"{index},{codes[one.split]}\n" for index, one in ordered.items()) != _SPLITS_SHA256:
        counts = Counter(one.split for one in ordered.values())
        told = ", ".join(
            f"{counts[name]:,} {name} (released: {number:,})"
            for name, number in _SENTENCES_OF_SPLIT.items()
        )
        raise CorpusError(
            f"{path}: datasetSplit.txt does not say what the released file says, as if its lines "
            f"were shifted; it has {told}",
            hint=MEND,
        )
    if _sha256(f"{index},{one.score:.5f}\n" for index, one in ordered.items()) != _SCORES_SHA256:
        raise CorpusError(
            f"{path}: the sentences do not have the released scores, as if the lines of "
            "sentiment_labels.txt, dictionary.txt or datasetSentences.txt were shifted",
            hint=MEND + "; for labels of your own, pass a table: csv:PATH",
        )


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _lines(path: Path, files: Mapping[str, bytes], name: str, separator: str) -> Iterator[_Line]:
    """The lines of a file in two parts, its header left out."""
    header = _HEADERS.get(name)
    lines = decode(files[name], f"{path}: {name}").split("\n")
    if header is not None and lines[0].strip() not in (header, ""):
        raise CorpusError(
            f"{path}: {name} begins with {lines[0][:60]!r} and not with {header!r}: its start is "
            "missing",
            hint=MEND,
        )
    for number, line in enumerate(lines, start=1):
        where = f"{path}: {name}, line {number}"
        line = line.rstrip("\r")
        if not line or (number == 1 and header is not None):
            continue
        if separator not in line:
            raise CorpusError(f"{where}: no {separator!r} in {line[:60]!r}", hint=MEND)
        # A phrase may hold the separator, a number may not.
        left, right = line.rsplit(separator, 1) if header is None else line.split(separator, 1)
        left, right = left.strip(), right.strip()
        numbered = left.isascii() and left.isdecimal() and len(left) < 10
        if header is not None and not numbered:
            raise CorpusError(f"{where}: {left[:60]!r} is not a number", hint=MEND)
        yield _Line(left, right, where)


def _files(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return _files_in_zip(path)
    if not path.is_dir():
        raise CorpusError(f"{path} is neither a folder nor a zip", hint=MEND)
    try:
        subfolders = sorted(
            child
            for child in path.iterdir()
            if child.is_dir() and not child.name.startswith((".", "__MACOSX"))
        )
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error}", hint="check its rights") from error
    found = (folder for folder in (path, *subfolders) if (folder / FILES[0]).is_file())
    folder = next(found, path)
    for name in FILES:
        if not (folder / name).is_file():
            raise CorpusError(f"{folder} lacks {name}", hint=MEND)
    return {name: read_bytes(folder / name) for name in FILES}


def _files_in_zip(path: Path) -> dict[str, bytes]:
    """The treebank's files in a zip. Nothing is unpacked to the disk, and no more than fits."""
    try:
        if path.stat().st_size > _MAX_ZIP_BYTES:
            raise CorpusError(f"{path} is larger than {_MAX_ZIP_BYTES >> 20} MB", hint=MEND)
        with zipfile.ZipFile(path) as archive:
            return _files_in_archive(path, archive)
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        OSError,
        EOFError,
        ValueError,
    ) as error:
        raise CorpusError(f"{path} is not a readable zip: {error}", hint=MEND) from error


def _files_in_archive(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in "".join(place.parts[:1]):
            raise CorpusError(
                f"{path}: the member {member.filename[:200]!r} points outside the zip", hint=MEND
            )
        if place.name not in FILES or place.parts[0] == "__MACOSX" or member.is_dir():
            continue
        if place.name in members:
            raise CorpusError(f"{path} holds {place.name} more than once", hint=MEND)
        members[place.name] = member
    contents = {}
    for name in FILES:
        if name not in members:
            raise CorpusError(f"{path} lacks {name}", hint=MEND)
        with archive.open(members[name]) as file:
            contents[name] = file.read(reading.MAX_BYTES + 1)
        if max(members[name].file_size, len(contents[name])) > reading.MAX_BYTES:
            raise CorpusError(
                f"{path}: {name} is larger than {reading.MAX_BYTES >> 20} MB", hint=MEND
            )
    return contents
