"""The smallest set of words that holds a prediction (S²LCT, RQ4, equation 5).

From the fully masked text on, words are shown by falling contribution until the model predicts for
a share P_thresh of all fillings what it predicts for the text. Then every word is dropped that is
not needed: the set is minimal under the removal of any single word, by the search's estimates. The
P that is reported rests on new samples, as an estimate chosen for being high is too high.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.cached_results import cached_result
from s2lct.analysis.explain.attribution import attribute
from s2lct.analysis.explain.words import MaskedLMFiller, Origin, origins_of, words_of
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS
from s2lct.progress import bar, without_bars
from s2lct.suite.cases import Case, families_of

P_THRESHOLD = 0.9
"""P_thresh: the share of fillings for which the model must predict the same."""
REPORTED_SAMPLES = 100
SEARCH_SAMPLES = (10, 20, 50)
"""Samples of a set in the search: more while the threshold lies in the estimate's interval."""


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """A word of an explained text, where it comes from, and what it contributes.

    Kept words belong to the set that holds the prediction; ``without`` is its P without the word.
    """

    text: str
    start: int
    end: int
    part: Origin
    contribution: float
    kept: bool
    without: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A case, the model's prediction, and the words that hold it.

    ``probability`` is P(f(T(x)) = f(x)) from samples that the search did not see, ``ci`` its 95 %
    interval (Clopper and Pearson); ``nothing_shown`` is the search's estimate of P for the fully
    masked text.
    """

    id: str
    capability: str
    kind: str
    seed_id: str
    text: str
    template: str
    prediction: str
    passes: tuple[str, ...]
    words: tuple[ExplainedWord, ...]
    probability: float
    ci: tuple[float, float]
    nothing_shown: float

    @property
    def kept(self) -> tuple[ExplainedWord, ...]:
        """The words that hold the prediction."""
        return tuple(word for word in self.words if word.kept)


_EXPLANATION = TypeAdapter(Explanation)


@cache
def share_interval(hits: int, samples: int, method: str = "exact") -> tuple[float, float]:
    """The 95 % interval of a share: Clopper and Pearson's (1934), or another that scipy knows."""
    from scipy.stats import binomtest

    bounds = binomtest(hits, samples).proportion_ci(0.95, method=method)
    return float(bounds.low), float(bounds.high)


def choose_failures(
    cases: Sequence[Case], predicted: Sequence[int], limit: int | None = None
) -> list[Case]:
    """The cases whose predicted label does not pass, at most ``limit`` of a capability, in order.

    They are of different families where there are enough.
    """
    ranked: dict[str, list[tuple[int, int]]] = defaultdict(list)
    failures_of_family = Counter[int]()
    for number, family in enumerate(families_of(cases).tolist()):
        if predicted[number] not in cases[number].passes:
            # The first of each family comes before the second of any.
            ranked[cases[number].capability].append((failures_of_family[family], number))
            failures_of_family[family] += 1
    chosen = sorted(
        number for failures in ranked.values() for _, number in sorted(failures)[:limit]
    )
    return [cases[number] for number in chosen]


def smallest_set(order: Sequence[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """A set of a text's words that holds the prediction, and does not without any one of them.

    Args:
        order: the numbers of the words, by falling contribution.
        holds: whether a set of words holds the prediction, always the same for equal sets. It is
            not asked about the set of all words, which does.
    """
    if not order or holds(frozenset()):
        return frozenset()
    # The shortest prefix of the order that holds, if longer ones hold, too.
    length = bisect_left(range(len(order)), True, key=lambda size: holds(frozenset(order[:size])))
    needed, before = frozenset(order[:length]), None
    while needed != before:
        before = needed
        for word in reversed(order):
            if word in needed and holds(needed - {word}):
                needed -= {word}
    return needed


def explain_cases(
    model: LabelledClassifier, cases: Sequence[Case], filler: MaskedLMFiller
) -> list[Explanation]:
    """Explain a model's predictions of cases, in order; cached if the model has a fingerprint.

    Raises:
        ScoringError: the model's outputs cannot be used.
    """
    settings = ["explanation", str(model.rule), filler.fingerprint, P_THRESHOLD]
    advance = bar(f"explaining {model.classifier.name}", len(cases))
    explanations: list[Explanation] = []
    for case in cases:
        inputs = [*settings, case.id, case.text, case.template, case.places, case.source_texts]
        make = partial(_explain, model, case, filler)
        with without_bars():
            explanations.append(
                cached_result(model.classifier.fingerprint, inputs, _EXPLANATION, make)
            )
        advance(1)
    return explanations


def _explain(model: LabelledClassifier, case: Case, filler: MaskedLMFiller) -> Explanation:
    text = case.text
    (label,) = model.labels([text]).tolist()
    contributions = attribute(model, text, label)
    shares: dict[frozenset[int], float] = {}

    def hits(shown: frozenset[int], samples: int, *purpose: str) -> int:
        """For how many samples the model predicts what it predicts for the text."""
        digest = shuffle_key(0, text, ",".join(map(str, sorted(shown))), *purpose)
        rng = np.random.default_rng(int.from_bytes(digest, "big"))
        return int((model.labels(filler.fill(text, shown, samples, rng)) == label).sum())

    def holds(shown: frozenset[int]) -> bool:
        if shown not in shares:
            total_hits = samples = 0
            for stage in SEARCH_SAMPLES:
                total_hits += hits(shown, stage - samples, "search", str(samples))
                samples = stage
                low, high = share_interval(total_hits, samples, "wilson")
                if not low < P_THRESHOLD <= high:
                    break
            shares[shown] = total_hits / samples
        return shares[shown] >= P_THRESHOLD

    needed = smallest_set(np.argsort(-contributions, kind="stable").tolist(), holds)
    reported_hits = hits(needed, REPORTED_SAMPLES, "report")
    words = zip(words_of(text), origins_of(case), contributions.tolist(), strict=True)
    return Explanation(
        id=case.id,
        capability=case.capability,
        kind=case.kind,
        seed_id=case.seed_id,
        text=text,
        template=case.template,
        prediction=LABELS[label],
        passes=tuple(LABELS[passing] for passing in sorted(case.passes)),
        words=tuple(
            ExplainedWord(
                *word,
                part=origin,
                contribution=round(contribution, 6),
                kept=number in needed,
                without=shares[needed - {number}] if number in needed else None,
            )
            for number, (word, origin, contribution) in enumerate(words)
        ),
        probability=reported_hits / REPORTED_SAMPLES,
        ci=share_interval(reported_hits, REPORTED_SAMPLES),
        nothing_shown=shares.get(frozenset(), 1.0),
    )
