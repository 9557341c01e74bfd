"""The corpus of a suite, and its parts: what to train on, what to choose by, what to test on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.read import read_again, read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError, CorpusError, SuiteError
from s2lct.identity import shuffle_key
from s2lct.suite.read import read_description

NONE = "none"
_LEAST = 10


def source_corpus(suite: str, named: str | None) -> Corpus | None:
    """The corpus that is named, or else what a suite's folder says that it was built from.

    None where ``none`` is named.

    Raises:
        CorpusError: the named one cannot be read.
        AnalysisError: the suite does not say, or what it says cannot be read.
    """
    if named is not None:
        return None if named == NONE else read_corpus(named)
    try:
        built = read_description(Path(suite))["options"]
        return read_again(built)
    except (SuiteError, CorpusError, KeyError) as error:
        why = error.problem if isinstance(error, CorpusError) else "it does not say which"
        raise AnalysisError(
            f"--suite {suite}: the corpus it was built from cannot be read: {why}",
            hint="name it with --corpus, or --corpus none to do without",
        ) from error


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """Sentences to train on, to choose by (stop, tune) and to test on."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def parts_of_corpus(corpus: Corpus, seed: int = 0) -> CorpusParts:
    """Divide a corpus by its own splits, or at random, 8:1:1, where it has none.

    A missing dev or test split is taken out of train. At random, equal texts stay together.

    Raises:
        AnalysisError: the corpus is too small, or has splits but none to train on.
    """
    by_split: dict[str, list[Sentence]] = {}
    for sentence in corpus.sentences:
        by_split.setdefault(sentence.split, []).append(sentence)
    train = by_split.get("train") or by_split.get("")
    if not train:
        raise AnalysisError(
            f"corpus {corpus.name}: has the splits {', '.join(sorted(by_split))}, none to train on",
            hint="call the sentences to train on train",
        )
    waiting = sorted({one.text for one in train}, key=lambda text: shuffle_key(seed, "part", text))
    if len(waiting) < _LEAST:
        raise AnalysisError(
            f"corpus {corpus.name}: has {len(train)} sentences to train on",
            hint=f"give at least {_LEAST}, some hundreds to learn anything",
        )
    tenth = len(waiting) // 10
    parts: list[tuple[Sentence, ...]] = []
    for held_out in (by_split.get("dev") or by_split.get("validation"), by_split.get("test")):
        if not held_out:
            drawn, waiting = set(waiting[:tenth]), waiting[tenth:]
            held_out = [sentence for sentence in train if sentence.text in drawn]
        parts.append(tuple(held_out))
    kept = set(waiting)
    return CorpusParts(tuple(one for one in train if one.text in kept), *parts)
