"""Find the corpus of a suite, and split a corpus into train, dev and test sentences."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError, CorpusError, SuiteError
from s2lct.identity import shuffle_key
from s2lct.suite.read import read_description

NO_CORPUS = "none"


def source_corpus(suite: str, spec: str | None) -> Corpus | None:
    """Read the corpus that ``spec`` names, or without it the corpus that a suite was built from.

    The spec ``none`` gives None.

    Raises:
        CorpusError: the corpus that ``spec`` names cannot be read.
        AnalysisError: the suite's folder names no corpus, or one that cannot be read.
    """
    if spec is not None:
        return None if spec == NO_CORPUS else read_corpus(spec)
    try:
        build_options = read_description(Path(suite))["options"]
        columns = {
            name: build_options[name] for name in ("text_column", "label_column", "label_map")
        }
        is_cleaned = build_options["templates"] == "fluent"
        return read_corpus(build_options["corpus"], **columns, cleaned=is_cleaned)
    except (SuiteError, CorpusError, KeyError) as error:
        reason = error.problem if isinstance(error, CorpusError) else "it does not say which"
        raise AnalysisError(
            f"--suite {suite}: the corpus it was built from cannot be read: {reason}",
            hint="name it with --corpus, or --corpus none to do without",
        ) from error


class CorpusParts(NamedTuple):
    """Sentences to train on, to choose settings by (``dev``), and to test on."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def split_corpus(corpus: Corpus, random_seed: int = 0) -> CorpusParts:
    """Split a corpus by its own splits; with one split or none, at random into 8:1:1.

    A missing dev or test split is drawn from train at random; equal texts are drawn together.

    Raises:
        AnalysisError: there are fewer than two texts to train on.
    """
    by_split: dict[str, list[Sentence]] = {}
    for sentence in corpus.sentences:
        by_split.setdefault(sentence.split, []).append(sentence)
    if len(by_split) == 1:
        by_split = {"": list(corpus.sentences)}
    train = by_split.get("train") or by_split.get("") or []
    first_ids = {sentence.text: sentence.id for sentence in reversed(train)}
    texts = sorted(
        first_ids, key=lambda text: shuffle_key(random_seed, "held out", first_ids[text])
    )
    if len(texts) < 2:
        raise AnalysisError(
            f"corpus {corpus.name}: {len(texts)} sentences to train on, of the splits "
            f"{', '.join(sorted(by_split))}",
            hint="give some hundreds, and call their split train if there are others",
        )
    n_held_out = max(1, len(texts) // 5)
    test, dev = by_split.get("test"), by_split.get("dev") or by_split.get("validation")
    if not test:
        n_test = -(-n_held_out // 2)
        drawn_texts, texts = set(texts[:n_test]), texts[n_test:]
        test = [sentence for sentence in train if sentence.text in drawn_texts]
    if not dev:
        n_dev = n_held_out // 2
        drawn_texts, texts = set(texts[:n_dev]), texts[n_dev:]
        dev = [sentence for sentence in train if sentence.text in drawn_texts]
    train_texts = set(texts)
    train = [sentence for sentence in train if sentence.text in train_texts]
    return CorpusParts(tuple(train), tuple(dev), tuple(test))
