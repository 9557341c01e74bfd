"""How diverse cases are: self-BLEU, distinct productions and n-grams, lengths, tree depths.

As in Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", a suite is set beside
CheckList's cases and the corpus it was made of, the same number of cases from each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.diversity.readings import Reader, Reading
from s2lct.analysis.diversity.sources import ALL_CASES, Groups, Text
from s2lct.analysis.diversity.variety import Variety
from s2lct.identity import rng_for

NGRAMS = (1, 2, 3)
BLEU_ORDER = 4
GROWTH_ORDERS = 20
GROWTH_STEPS = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with the bounds of its interval; None where it has none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Diversity:
    """How diverse some cases are, by figures by name.

    ``self_bleu`` is the mean BLEU, 0 to 100, of each case against all others (Zhu et al. 2018),
    ``productions`` distinct ones of the parses, ``distinct_1`` … distinct n-grams of words in all
    n-grams (Li et al. 2016), ``words`` and ``depth`` means of words in a case and of the depth of
    its deepest tree in edges, with standard deviations ``words_sd`` and ``depth_sd``; ``unparsed``
    cases have a sentence the parser refuses.
    """

    cases: int
    figures: Mapping[str, Figure]

    def __getitem__(self, name: str) -> float:
        return self.figures[name].value


@dataclass(frozen=True)
class DiversityComparison:
    """Sources side by side, the suite first: figures by group and source.

    The group ``all`` is first, then ``seeds`` and ``expansions`` apart, then capabilities.
    Growth is, by source, the mean of distinct productions among so many cases. What is not the
    suite was drawn so often. Variety is the suite's.
    """

    sources: tuple[str, ...]
    groups: Mapping[str, Mapping[str, Diversity]]
    growth: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    draws: int = 1
    variety: Variety | None = None


def self_bleu(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """BLEU of each text, of at least two, against all the others, 0 to 100, shape (texts,).

    What sacreBLEU gives for a sentence and references (13a tokens, exponential smoothing,
    effective order), computed for all texts at once: an n-gram's greatest count among the others
    is the greatest of all, or the second greatest for the text that holds it.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.helpers import extract_all_word_ngrams

    bleu = BLEU(effective_order=True)
    counted = [
        extract_all_word_ngrams(bleu.tokenizer(text.rstrip()), 1, BLEU_ORDER) for text in texts
    ]
    greatest: dict[tuple[str, ...], list[int]] = {}
    for ngrams, _ in counted:
        for ngram, count in ngrams.items():
            greatest[ngram] = sorted([*greatest.get(ngram, (0, 0)), count])[1:]
    lengths = Counter(length for _, length in counted)
    scores = np.zeros(len(texts))
    for number, (ngrams, length) in enumerate(counted):
        correct, total = [0] * BLEU_ORDER, [0] * BLEU_ORDER
        for ngram, count in ngrams.items():
            second, first = greatest[ngram]
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, second if count == first else first)
        others = lengths if lengths[length] > 1 else lengths.keys() - {length}
        closest = min(others, key=lambda other: (abs(other - length), other))
        scores[number] = bleu.compute_bleu(
            correct,
            total,
            length,
            closest,
            smooth_method=bleu.smooth_method,
            effective_order=bleu.effective_order,
        ).score
    return scores


def measure(texts: Sequence[Text], readings: Sequence[Reading]) -> Diversity:
    """Measure cases, at least one, of which the tagger and the parser see these readings."""
    bleu = Figure(0.0)
    if len(texts) > 1:
        scores = self_bleu([one.text for one in texts])
        _, ci = mean_and_interval([one.family for one in texts], scores, seed=0)
        bleu = Figure(float(scores.mean()), *ci)
    words = [len(reading.words) for reading in readings]
    depths = [reading.depth for reading in readings if reading.depth is not None]
    values: dict[str, Any] = {
        "productions": len(frozenset().union(*(one.productions for one in readings)))
    }
    values |= {f"distinct_{n}": distinct([one.words for one in readings], n) for n in NGRAMS}
    for name, numbers in (("words", words), ("depth", depths or [0])):
        values |= {name: np.mean(numbers), f"{name}_sd": np.std(numbers)}
    values["unparsed"] = len(readings) - len(depths)
    figures = {name: Figure(float(value)) for name, value in values.items()}
    return Diversity(len(texts), {"self_bleu": bleu} | figures)


def distinct(texts: Sequence[Sequence[str]], n: int) -> float:
    """Distinct n-grams of words in all n-grams; 0 where no text has n words."""
    ngrams = [
        tuple(words[start : start + n]) for words in texts for start in range(len(words) - n + 1)
    ]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0


def growth(readings: Sequence[Reading], seed: int = 0) -> list[tuple[int, float]]:
    """Distinct productions among the first k cases, the mean of `GROWTH_ORDERS` random orders."""
    steps = np.unique(np.linspace(1, len(readings), min(GROWTH_STEPS, len(readings))).astype(int))
    sums = np.zeros(len(steps))
    rng = np.random.default_rng(seed)
    for _ in range(GROWTH_ORDERS):
        seen: set[str] = set()
        sizes = [0]
        for number in rng.permutation(len(readings)):
            seen |= readings[number].productions
            sizes.append(len(seen))
        sums += np.array(sizes)[steps]
    return list(zip(steps.tolist(), (sums / GROWTH_ORDERS).tolist(), strict=True))


def merged(measured: Sequence[Diversity]) -> Diversity:
    """The means of several draws, with the least and the greatest for an interval."""
    if len(measured) == 1:
        return measured[0]
    figures = {}
    for name in measured[0].figures:
        values = [one[name] for one in measured]
        figures[name] = Figure(float(np.mean(values)), min(values), max(values))
    return Diversity(measured[0].cases, figures)


def compare(
    sources: Mapping[str, Groups], reader: Reader, *, draws: int = 3, seed: int = 0
) -> DiversityComparison:
    """Measure a suite, the first, beside sources with the same groups, so many cases from each.

    From the others they are drawn several times, without replacement; fewer where they have fewer.
    """
    suite, *_ = sources

    def drawn(name: str, group: str) -> list[Sequence[Text]]:
        texts, own = sources[name][group], sources[suite][group]
        if name == suite:
            return [own]
        keys = (("diversity", name, group, str(draw)) for draw in range(draws))
        most = min(len(own), len(texts))
        return [rng_for(seed, *key).sample(list(texts), most) for key in keys]

    taken = {(group, name): drawn(name, group) for group in sources[suite] for name in sources}
    reader.read([one.text for parts in taken.values() for texts in parts for one in texts])

    def read(texts: Sequence[Text]) -> list[Reading]:
        return reader.read([one.text for one in texts])

    return DiversityComparison(
        sources=tuple(sources),
        groups={
            group: {
                name: merged([measure(texts, read(texts)) for texts in taken[group, name]])
                for name in sources
            }
            for group in sources[suite]
        },
        growth={name: growth(read(taken[ALL_CASES, name][0]), seed) for name in sources},
        draws=draws,
    )
