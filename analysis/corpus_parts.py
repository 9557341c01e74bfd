"""The parts of a corpus: what to train on, what to choose by, what to test on."""

from __future__ import annotations

from dataclasses import dataclass

from s2lct.builder.corpus.collect import Corpus
from s2lct.errors import AnalysisError
from s2lct.identity import shuffle_key
from s2lct.suite.records import Sentence

_LEAST = 10


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
            mend="call the sentences to train on train",
        )
    if len({sentence.text for sentence in train}) < _LEAST:
        raise AnalysisError(
            f"corpus {corpus.name}: has {len(train)} sentences to train on",
            mend=f"give at least {_LEAST}, some hundreds to learn anything",
        )
    dev = by_split.get("dev") or by_split.get("validation") or []
    test = by_split.get("test") or []
    texts = sorted({s.text for s in train}, key=lambda text: shuffle_key(seed, "part", text))
    tenth = max(1, len(texts) // 10)
    taken = 0
    for part in (dev, test):
        if not part:
            drawn = set(texts[taken : taken + tenth])
            taken += tenth
            part += [sentence for sentence in train if sentence.text in drawn]
    kept = set(texts[taken:])
    return CorpusParts(tuple(s for s in train if s.text in kept), tuple(dev), tuple(test))
