"""The corpus of a suite, and its parts: sentences to train on, to choose by and to test on."""

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
    """The corpus that ``spec`` names, or else that a suite was built from; None for ``none``.

    Raises:
        CorpusError: the named one cannot be read.
        AnalysisError: the suite's folder names none that can be read.
    """
    if spec is not None:
        return None if spec == NO_CORPUS else read_corpus(spec)
    try:
        built = read_description(Path(suite))["options"]
        columns = {name: built[name] for name in ("text_column", "label_column", "label_map")}
        return read_corpus(built["corpus"], **columns, cleaned=built["templates"] == "fluent")
    except (SuiteError, CorpusError, KeyError) as error:
        why = error.problem if isinstance(error, CorpusError) else "it does not say which"
        raise AnalysisError(
            f"--suite {suite}: the corpus it was built from cannot be read: {why}",
            hint="name it with --corpus, or --corpus none to do without",
        ) from error


class CorpusParts(NamedTuple):
    """Sentences to train on, to choose by (stop, tune) and to test on."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def parts_of_corpus(corpus: Corpus, seed: int = 0) -> CorpusParts:
    """Split a corpus by its own splits, or at random, 8:1:1, where it has one or none.

    A missing dev or test split is taken out of train. At random, equal texts stay together.

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
    texts = sorted(first_ids, key=lambda text: shuffle_key(seed, "held out", first_ids[text]))
    if len(texts) < 2:
        raise AnalysisError(
            f"corpus {corpus.name}: {len(texts)} sentences to train on, of the splits "
            f"{', '.join(sorted(by_split))}",
            hint="give some hundreds, and call their split train if there are others",
        )
    held_out = max(1, len(texts) // 5)
    test, dev = by_split.get("test"), by_split.get("dev") or by_split.get("validation")
    if not test:
        drawn, texts = set(texts[: -(-held_out // 2)]), texts[-(-held_out // 2) :]
        test = [sentence for sentence in train if sentence.text in drawn]
    if not dev:
        drawn, texts = set(texts[: held_out // 2]), texts[held_out // 2 :]
        dev = [sentence for sentence in train if sentence.text in drawn]
    rest = set(texts)
    train = [sentence for sentence in train if sentence.text in rest]
    return CorpusParts(tuple(train), tuple(dev), tuple(test))
