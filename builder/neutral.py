"""Neutral sentences beside a corpus: what a film is about, and what happens in it.

Review corpora call neutral what praises and blames at once. Sentences of plot summaries are neutral
because they say nothing of the author's opinion (Pang and Lee 2004, the subjectivity data set).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.language.fluency import known_words, proper_words
from s2lct.builder.language.natural_text import detokenise, sentence_case
from s2lct.errors import CorpusError
from s2lct.labels import Label

SUBJECTIVITY = "nltk:subjectivity"
NONE = "none"
LONGEST_UNKNOWN = 2
_MEMBER = "subjectivity/plot.tok.gt9.5000"
_PLAIN = re.compile(r"[a-z' .,-]+")
_WORD = re.compile(r"[a-z']+")
_HINT = (
    "fetch it: python -m nltk.downloader subjectivity; or set NLTK_DATA to the folder that has "
    "it; or build without it: --neutral none"
)


def read_neutral(
    spec: str,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_map: Mapping[str, Label] | None = None,
) -> Corpus | None:
    """Read neutral sentences.

    Args:
        spec: ``nltk:subjectivity``, ``none``, or a corpus of neutral sentences such as
            ``csv:PATH``, whose own labels are not looked at.
        text_column: see `read_corpus`.
        label_column: see `read_corpus`.
        label_map: see `read_corpus`.

    Raises:
        CorpusError: they cannot be read.
    """
    if spec == NONE:
        return None
    if spec == SUBJECTIVITY:
        return _read_subjectivity()
    corpus = read_corpus(
        spec,
        text_column=text_column,
        label_column=label_column,
        label_map=label_map,
        labelled=False,
    )
    neutral = tuple(replace(sentence, label="neutral", score=None) for sentence in corpus.sentences)
    return replace(corpus, sentences=neutral)


def _read_subjectivity() -> Corpus:
    """The plot sentences of the subjectivity data, with capitals where none depends on a name.

    The data is lower-cased: a sentence with a word that English capitalises, or that reviews do not
    have, is left out, since a name in it would lack its capital.
    """
    collector = Collector("subjectivity", skip_duplicates=True)
    for number, line in enumerate(_lines(), start=1):
        words = _WORD.findall(line)
        if _PLAIN.fullmatch(line.strip()) is None or any(map(_may_be_name, words)):
            collector.skipped["may hold a name"] += 1
            continue
        text = sentence_case(detokenise(line))
        if collector.usable(text):
            collector.add(f"plot-{number}", text, "neutral", raw=line)
    return collector.corpus(
        description="Objective sentences of plot summaries from imdb.com (Pang and Lee 2004), "
        "stored lower-cased",
        licence="CC BY 4.0 by NLTK's index",
    )


def _may_be_name(word: str) -> bool:
    return word in proper_words() or (len(word) > LONGEST_UNKNOWN and word not in known_words())


def _lines() -> list[str]:
    import nltk

    for folder in map(Path, nltk.data.path):
        plain, archive = folder / "corpora" / _MEMBER, folder / "corpora" / "subjectivity.zip"
        try:
            if plain.is_file():
                return plain.read_bytes().decode("latin-1").splitlines()
            if archive.is_file():
                with zipfile.ZipFile(archive) as file:
                    return file.read(_MEMBER).decode("latin-1").splitlines()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise CorpusError(f"{SUBJECTIVITY}: cannot be read: {error}", hint=_HINT) from error
    raise CorpusError(f"{SUBJECTIVITY}: is not in NLTK's data folders", hint=_HINT)
