"""Neutral sentences of plot summaries, for a corpus without neutral sentences.

Sentences that review corpora label neutral often praise and blame at once. Sentences of plot
summaries hold no opinion of their author (Pang and Lee 2004, the subjectivity dataset).
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from typing import Any

from s2lct.builder.config import SUBJECTIVITY
from s2lct.builder.corpus.collect import Corpus, make_corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.language.fluency import proper_words, review_words
from s2lct.builder.language.natural_text import restore_texts
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError

MAX_LENGTH_OF_UNKNOWN_WORD = 2
"""Longer words that no review has are taken for names."""
_NLTK_FILE = "subjectivity/plot.tok.gt9.5000"
_PLAIN_SENTENCE = re.compile(r"[a-z' .,-]+")
_WORD = re.compile(r"[a-z']+")
_HINT = (
    "fetch it: python -m nltk.downloader subjectivity; or set NLTK_DATA to the folder that has "
    "it; or build without it: --neutral none"
)


def read_neutral(spec: str, **columns: Any) -> Corpus | None:
    """Read neutral sentences.

    Args:
        spec: ``nltk:subjectivity``, ``none``, or a corpus such as ``csv:PATH``, whose labels are
            ignored.
        columns: options of `read_corpus` that name a table's columns.

    Returns:
        The corpus; None for ``none``.
    """
    if spec == "none":
        return None
    if spec == SUBJECTIVITY:
        return _read_subjectivity()
    corpus = read_corpus(spec, **columns, labelled=False)
    neutral_sentences = tuple(
        replace(sentence, label="neutral", score=None) for sentence in corpus.sentences
    )
    return replace(corpus, sentences=neutral_sentences)


def _read_subjectivity() -> Corpus:
    """The plot sentences of the subjectivity data that have no names.

    The data is lower-cased, so that names would lack their capital. A word that English writes with
    a capital, or that no review has, is taken for a name.
    """
    lines = _read_lines()
    capitalised_words, lower_case_words = proper_words(), review_words()

    def may_be_name(word: str) -> bool:
        return word in capitalised_words or (
            len(word) > MAX_LENGTH_OF_UNKNOWN_WORD and word not in lower_case_words
        )

    numbered_lines = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if _PLAIN_SENTENCE.fullmatch(line.strip())
        and not any(map(may_be_name, _WORD.findall(line)))
    ]
    texts = restore_texts([line for _, line in numbered_lines])
    sentences = [
        Sentence("subjectivity", f"plot-{number}", text, "neutral", raw=line)
        for (number, line), text in zip(numbered_lines, texts, strict=True)
    ]
    return make_corpus(
        "subjectivity",
        sentences,
        skipped={"may hold a name": len(lines) - len(sentences)},
        description="Objective sentences of plot summaries from imdb.com (Pang and Lee 2004), "
        "stored lower-cased",
        licence="CC BY 4.0 by NLTK's index",
    )


def _read_lines() -> list[str]:
    import nltk

    try:
        with nltk.data.find(f"corpora/{_NLTK_FILE}").open() as file:
            return file.read().decode("latin-1").splitlines()  # type: ignore[no-any-return]
    except LookupError:
        raise CorpusError(f"{SUBJECTIVITY}: is not in NLTK's data folders", hint=_HINT) from None
    except (OSError, zipfile.BadZipFile) as error:
        raise CorpusError(f"{SUBJECTIVITY}: cannot be read: {error}", hint=_HINT) from error
