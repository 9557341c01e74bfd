"""The corpus of a suite, and its parts: what to train on, what to choose by, what to test on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError, CorpusError, SuiteError
from s2lct.identity import shuffle_key
from s2lct.suite.read import read_description

NONE = "none"


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
        columns = ("text_column", "label_column", "label_map")
        cleaned = built["templates"] == "fluent"
        given = {name: built[name] for name in columns}
        return read_corpus(built["corpus"], **given, cleaned=cleaned)
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
    """Divide a corpus by its own splits, or at random, 8:1:1, where it has one or none.

    A missing dev or test split is taken out of train. At random, equal texts stay together.

    Raises:
        AnalysisError: the corpus has a single sentence, or splits but none to train on.
    """
    by_split: dict[str, list[Sentence]] = {}
    for sentence in corpus.sentences:
        by_split.setdefault(sentence.split, []).append(sentence)
    if len(by_split) == 1:
        by_split = {"": list(corpus.sentences)}
    train = by_split.get("train") or by_split.get("") or []
    first_of = {sentence.text: sentence.id for sentence in reversed(train)}
    waiting = sorted(first_of, key=lambda text: shuffle_key(seed, "held out", first_of[text]))
    if len(waiting) < 2:
        raise AnalysisError(
            f"corpus {corpus.name}: {len(waiting)} sentences to train on, of the splits "
            f"{', '.join(sorted(by_split))}",
            hint="give some hundreds, and call their split train if there are others",
        )
    held_out = max(1, len(waiting) // 5)
    parts: list[tuple[Sentence, ...]] = []
    for part, most in (
        (by_split.get("test"), -(-held_out // 2)),
        (by_split.get("dev") or by_split.get("validation"), held_out // 2),
    ):
        drawn = set() if part else set(waiting[:most])
        waiting = waiting[len(drawn) :]
        parts.append(tuple(part or (sentence for sentence in train if sentence.text in drawn)))
    kept = set(waiting)
    test, dev = parts
    return CorpusParts(tuple(s for s in train if s.text in kept), dev, test)
