"""How diverse cases are: self-BLEU, distinct productions and n-grams, lengths, tree depths.

As in Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", a suite is set beside
CheckList's cases and the corpus it was made of, the same number of cases from each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.diversity.readings import Reader, Reading
from s2lct.analysis.progress import Advance, silently
from s2lct.identity import rng_for

NGRAMS = (1, 2, 3)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BLEU_ORDER = 4
GROWTH_ORDERS = 20
GROWTH_STEPS = 40
ALL_CASES = "all"
SEEDS = "seeds"

Floats = npt.NDArray[np.float64]


class Text(NamedTuple):
    """A case to measure.

    Attributes:
        text: the case.
        family: what it shares with others that are not independent of it: its seed's id.
    """

    text: str
    family: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with the bounds of its interval; None where it has none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How a quantity is spread: mean, standard deviation, and `QUANTILES`."""

    mean: float
    sd: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Diversity:
    """How diverse some cases are.

    Attributes:
        cases: how many.
        self_bleu: mean BLEU, 0 to 100, of each case against all others (Zhu et al. 2018).
        productions: distinct productions of the parses.
        distinct: by n, distinct n-grams of words in all n-grams (Li et al. 2016), in [0, 1].
        words: words in a case.
        depth: depth of its deepest tree, in edges.
        unparsed: cases with a sentence that the parser refuses.
    """

    cases: int
    self_bleu: Figure
    productions: Figure
    distinct: Mapping[int, Figure]
    words: Spread
    depth: Spread
    unparsed: int


@dataclass(frozen=True)
class Source:
    """Where cases come from, and how to take some of them.

    Attributes:
        name: shown beside its figures.
        texts: by group (``all``, ``seeds``, a capability): what its cases are drawn from.
        whole: whether the texts are measured as they are, rather than drawn from.
    """

    name: str
    texts: Mapping[str, Sequence[Text]]
    whole: bool = False


@dataclass(frozen=True)
class DiversityComparison:
    """Sources side by side.

    Attributes:
        sources: their names, the suite first.
        groups: the figures by group and source; ``all`` first, then ``seeds``, whose expansions
            do not count, then the capabilities.
        growth: by source, (number of cases, mean distinct productions among so many).
        draws: how often cases were drawn from a source that is not the suite.
    """

    sources: tuple[str, ...]
    groups: Mapping[str, Mapping[str, Diversity]]
    growth: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    draws: int = 1


def self_bleu(texts: Sequence[str]) -> Floats:
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
    greatest: dict[tuple[str, ...], tuple[int, int]] = {}
    for ngrams, _ in counted:
        for ngram, count in ngrams.items():
            first, second = greatest.get(ngram, (0, 0))
            greatest[ngram] = (count, first) if count > first else (first, max(second, count))
    lengths = Counter(length for _, length in counted)
    scores = np.zeros(len(texts))
    for number, (ngrams, length) in enumerate(counted):
        correct, total = [0] * BLEU_ORDER, [0] * BLEU_ORDER
        for ngram, count in ngrams.items():
            first, second = greatest[ngram]
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, second if count == first else first)
        scores[number] = bleu.compute_bleu(
            correct,
            total,
            length,
            _closest(length, lengths),
            smooth_method=bleu.smooth_method,
            effective_order=bleu.effective_order,
        ).score
    return scores


def _closest(length: int, lengths: Counter[int]) -> int:
    """The length nearest to a text's among the other texts, the shorter of two."""
    if lengths[length] > 1:
        return length
    others = (other for other in lengths if other != length)
    return min(others, key=lambda other: (abs(other - length), other))


def measure(texts: Sequence[Text], readings: Sequence[Reading], seed: int = 0) -> Diversity:
    """Measure cases, at least one; the seed is of the bootstrap that gives self-BLEU's interval."""
    found = frozenset[str]().union(*(reading.productions for reading in readings))
    depths = [reading.depth for reading in readings if reading.depth is not None]
    return Diversity(
        cases=len(texts),
        self_bleu=_self_bleu_figure(texts, seed),
        productions=Figure(len(found)),
        distinct={n: Figure(distinct([one.words for one in readings], n)) for n in NGRAMS},
        words=spread([len(reading.words) for reading in readings]),
        depth=spread(depths),
        unparsed=len(readings) - len(depths),
    )


def _self_bleu_figure(texts: Sequence[Text], seed: int) -> Figure:
    if len(texts) < 2:
        return Figure(0.0)
    scores = self_bleu([one.text for one in texts])
    _, ci = mean_and_interval([one.family for one in texts], scores, seed)
    return Figure(float(scores.mean()), *ci)


def distinct(texts: Sequence[Sequence[str]], n: int) -> float:
    """Distinct n-grams of words in all n-grams; 0 where no text has n words."""
    ngrams = [
        tuple(words[start : start + n]) for words in texts for start in range(len(words) - n + 1)
    ]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0


def spread(values: Sequence[float]) -> Spread:
    """Mean, standard deviation and quantiles; zeros for no values."""
    if not values:
        return Spread(0.0, 0.0, (0.0,) * len(QUANTILES))
    numbers = np.asarray(values, dtype=np.float64)
    quantiles = tuple(float(one) for one in np.quantile(numbers, QUANTILES))
    return Spread(float(numbers.mean()), float(numbers.std()), quantiles)


def growth(readings: Sequence[Reading], seed: int = 0) -> list[tuple[int, float]]:
    """Distinct productions among the first k cases, the mean of `GROWTH_ORDERS` random orders."""
    steps = np.unique(np.linspace(1, len(readings), min(GROWTH_STEPS, len(readings))).astype(int))
    sums = np.zeros(len(steps))
    rng = np.random.default_rng(seed)
    for _ in range(GROWTH_ORDERS):
        seen: set[str] = set()
        sizes = np.zeros(len(readings) + 1)
        for place, number in enumerate(rng.permutation(len(readings)), 1):
            seen |= readings[number].productions
            sizes[place] = len(seen)
        sums += sizes[steps]
    return [
        (int(step), float(total / GROWTH_ORDERS)) for step, total in zip(steps, sums, strict=True)
    ]


def merged(measured: Sequence[Diversity]) -> Diversity:
    """The means of several draws, with the least and the greatest for an interval."""
    if len(measured) == 1:
        return measured[0]

    def figure(values: Sequence[float]) -> Figure:
        return Figure(float(np.mean(values)), min(values), max(values))

    def mean_spread(spreads: Sequence[Spread]) -> Spread:
        return Spread(
            float(np.mean([one.mean for one in spreads])),
            float(np.mean([one.sd for one in spreads])),
            tuple(float(q) for q in np.mean([one.quantiles for one in spreads], axis=0)),
        )

    return Diversity(
        cases=measured[0].cases,
        self_bleu=figure([one.self_bleu.value for one in measured]),
        productions=figure([one.productions.value for one in measured]),
        distinct={n: figure([one.distinct[n].value for one in measured]) for n in NGRAMS},
        words=mean_spread([one.words for one in measured]),
        depth=mean_spread([one.depth for one in measured]),
        unparsed=round(float(np.mean([one.unparsed for one in measured]))),
    )


def drawn(source: Source, group: str, cases: int, draw: int, seed: int) -> list[Text]:
    """Texts of a group of a source, so many if it has them, drawn without replacement."""
    texts = source.texts[group]
    if source.whole:
        return list(texts)
    rng = rng_for(seed, "diversity", source.name, group, str(draw))
    return rng.sample(list(texts), min(cases, len(texts)))


def compare(
    suite: Source,
    others: Sequence[Source],
    reader: Reader,
    *,
    draws: int = 3,
    seed: int = 0,
    start: Advance = silently,
    advance: Advance = silently,
) -> DiversityComparison:
    """Measure a suite beside sources with the same groups, the same number of cases from each.

    From the others they are drawn several times. ``start`` is told how many texts are to be read.
    """
    plan = {
        group: {
            source.name: [
                drawn(source, group, len(texts), draw, seed)
                for draw in range(1 if source.whole else draws)
            ]
            for source in (suite, *others)
        }
        for group, texts in suite.texts.items()
    }
    every = [
        one.text
        for by_source in plan.values()
        for taken in by_source.values()
        for texts in taken
        for one in texts
    ]
    start(len(reader.missing(every)))
    reader.read(every, advance)
    return DiversityComparison(
        sources=tuple(source.name for source in (suite, *others)),
        groups={
            group: {
                name: merged(
                    [measure(texts, reader.read([one.text for one in texts])) for texts in taken]
                )
                for name, taken in by_source.items()
            }
            for group, by_source in plan.items()
        },
        growth={
            name: growth(reader.read([one.text for one in taken[0]]), seed)
            for name, taken in plan[ALL_CASES].items()
        },
        draws=draws,
    )
