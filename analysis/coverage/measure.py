"""Suites to measure, what they cover of a model alone and together, and as their cases grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError
from s2lct.files import path_exists
from s2lct.identity import shuffle_key
from s2lct.plain_text import ShortRepr
from s2lct.suite.cases import load_suite
from s2lct.suite.other_suites import CHECKLIST, is_table_name, read_cases
from s2lct.table_files import read_rows

PAIRS = "pairs:"
"""Before a file of pairs that stands where a corpus may stand."""
POINTS = 20
"""Sizes of a curve, at most."""
_PAIRS_HINT = "pass JSON lines with text and text_pair, and expected where needed"


class Pair(NamedTuple):
    """Two texts that a test gives a model, and the names of the classes that pass."""

    test: str
    texts: tuple[str, str]
    expected: tuple[str, ...]


def read_pairs(path: Path) -> list[Pair]:
    """Read JSON lines of pairs; equal pairs of a test are read once.

    A line has ``text`` and ``text_pair``, and may have ``test`` and ``expected``. A file whose
    first line has no ``text_pair`` holds none.

    Raises:
        AnalysisError: a line is no pair; it names the line.
        ScoringError: the file cannot be read.
    """
    pairs: dict[tuple[str, tuple[str, str]], Pair] = {}
    rows = read_rows(path, "jsonl")
    if not any("text_pair" in row for _, row in rows[:1]):
        return []
    for where, row in rows:
        texts = row.get("text", ""), row.get("text_pair", "")
        test, expected = row.get("test", "pairs"), row.get("expected", [])
        words = [*texts, test, *(expected if isinstance(expected, list) else [None])]
        if not all(isinstance(word, str) and word.strip() for word in words):
            raise AnalysisError(f"{where}: is no pair", hint=_PAIRS_HINT)
        pairs[test, texts] = Pair(test, texts, tuple(expected))
    return list(pairs.values())


def texts_of_suite(suite: str) -> list[Text]:
    """The texts of a suite as `load_suite` takes it, or of a file of JSON lines.

    Such a file holds CheckList's cases, those of invariance and directional tests too, or pairs.

    Raises:
        AnalysisError: a pair is none.
        ScoringError: there is no such suite, or it is damaged.
    """
    path = Path(suite.removeprefix(f"{CHECKLIST}:"))
    if str(path) == suite and (is_table_name(suite) or not suite.endswith((".jsonl", ".jsonl.gz"))):
        return [case.text for case in load_suite(suite).cases]
    pairs = [pair.texts for pair in read_pairs(path)]
    return [*pairs] or [text for case in read_cases(path) for text in case.texts]


def named_suites(names: Sequence[str]) -> dict[str, list[Text]]:
    """Texts of suites by what they are called in tables.

    Suites are named as for `texts_of_suite`, or ``NAME=SUITE``; without a name, they are called
    as the last part of a path.

    Raises:
        AnalysisError: two of one name, or one that cannot be read.
        ScoringError: there is no such suite.
    """
    found: dict[str, list[Text]] = {}
    for name in names:
        called, equals, suite = name.partition("=")
        if not equals or path_exists(Path(name)) or is_table_name(name):
            file = name.partition(":")[2] if is_table_name(name) else name
            called, suite = Path(file).name.removesuffix(".gz").removesuffix(".jsonl"), name
        if called in found or not called:
            raise AnalysisError(
                f"suite {name}: another one is called {called!r} too", hint="name it: NAME=SUITE"
            )
        found[called] = texts_of_suite(suite)
    return found


def key_of_text(seed: int, purpose: str, text: Text) -> bytes:
    """By what texts are shuffled."""
    return shuffle_key(seed, purpose, *((text,) if isinstance(text, str) else text))


def drawn(texts: Iterable[Text], most: int | None, seed: int) -> list[Text]:
    """At most so many distinct texts, drawn at random, in their own order."""
    distinct = list(dict.fromkeys(texts))
    chosen = set(sorted(distinct, key=lambda text: key_of_text(seed, "drawn", text))[:most])
    return [text for text in distinct if text in chosen]


class Reference(NamedTuple):
    """The texts that set bounds, and others of the same corpus, named for a table."""

    texts: list[Text]
    held_out: dict[str, list[Text]]


def read_reference(corpus: str, most: int | None, seed: int) -> Reference:
    """The sentences of a corpus to train on, or so many at random, and those that it holds out.

    See `parts_of_corpus`. Of ``pairs:FILE`` (see `read_pairs`) nothing is held out.

    Raises:
        CorpusError: the corpus cannot be read.
        AnalysisError: it holds a single sentence.
    """
    if corpus.startswith(PAIRS):
        pairs = read_pairs(Path(corpus.removeprefix(PAIRS)))
        return Reference(drawn([pair.texts for pair in pairs], most, seed), {})
    # Coverage asks what a text does to neurons, and of no label.
    read = read_corpus(corpus, labelled=False)
    parts = parts_of_corpus(read, seed)
    others: list[Text] = [sentence.text for sentence in (*parts.dev, *parts.test)]
    return Reference(
        drawn([sentence.text for sentence in parts.train], most, seed),
        {f"random sentences of {read.name}": others},
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """How a figure grows with a suite: mean over shuffles at sizes, and where 95 % of them lie."""

    sizes: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Measured(ShortRepr):
    """What a suite of so many texts covers: states by metric, and curves by figure."""

    name: str
    texts: int
    states: Mapping[str, Coverage]
    curves: Mapping[str, Curve]

    @property
    def values(self) -> dict[str, float]:
        """Every figure of every metric."""
        return {
            name: value for state in self.states.values() for name, value in state.values.items()
        }


def measure(
    name: str,
    texts: Sequence[Text],
    encoder: EncoderModel,
    metrics: Mapping[str, Coverage],
    *,
    shuffles: int = 0,
    seed: int = 0,
) -> Measured:
    """Run a suite's texts once, for all metrics and the curves of so many shuffles.

    The metrics, by name, have nothing covered and stay so.
    """
    covered = {metric: empty.emptied() for metric, empty in metrics.items()}
    rng = np.random.default_rng(seed)
    ranks = [rng.permutation(len(texts)) for _ in range(shuffles)]
    steps = np.linspace(0, len(texts), min(POINTS, len(texts)) + 1)[1:]
    sizes = np.unique(np.ceil(steps).astype(int))
    # For each shuffle and size, what the texts cover that come in since the size before.
    growing = {
        metric: [[empty.emptied() for _ in sizes] for _ in ranks]
        for metric, empty in metrics.items()
    }
    for number, computed in enumerate(encoder.shown_activations(texts, name)):
        for metric, state in covered.items():
            marks = state.marks(computed)
            state.add(marks)
            for rank, states in zip(ranks, growing[metric], strict=True):
                states[np.searchsorted(sizes, rank[number] + 1)].add(marks)
    curves: dict[str, Curve] = {}
    for states_of_shuffles in filter(None, growing.values()):
        for states in states_of_shuffles:
            for before, state in pairwise(states):
                state.merge(before)
        for figure in states_of_shuffles[0][0].values:
            rows = np.array([[s.values[figure] for s in states] for states in states_of_shuffles])
            low, high = np.quantile(rows, (0.025, 0.975), axis=0).tolist()
            mean = rows.mean(axis=0).tolist()
            curves[figure] = Curve(tuple(sizes.tolist()), tuple(mean), tuple(low), tuple(high))
    return Measured(name, len(texts), covered, curves)


def joined(measured: Sequence[Measured]) -> Measured:
    """The union of suites."""
    first, *others = measured
    states = {metric: state.emptied().merge(state) for metric, state in first.states.items()}
    for other in others:
        for metric, state in states.items():
            state.merge(other.states[metric])
    name, texts = " + ".join(m.name for m in measured), sum(m.texts for m in measured)
    return Measured(name, texts, states, {})


def percent(value: float) -> str:
    """A share in percent: two decimals, more where they would say nothing."""
    return f"{100 * value:.2g}" if 0 < value < 0.001 else f"{100 * value:.2f}"
