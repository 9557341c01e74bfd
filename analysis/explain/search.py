"""The smallest set of words that holds a prediction (S²LCT, RQ4, equation 5).

From the fully masked text on, words are shown by falling contribution until the model predicts for
a share P_thresh of all fillings what it predicts for the text. Then every word is dropped that is
not needed: the set is minimal under the removal of any single word, by the search's estimates. The
P that is reported rests on new samples, as an estimate chosen for being high is too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.explain.attribution import attribute
from s2lct.analysis.explain.words import MaskedLMFiller, Origin, origins_of, words_of
from s2lct.analysis.kept import kept
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
    """A word of an explained text.

    Attributes:
        text: the word, from ``start`` to ``end`` of the case's text.
        part: where it comes from.
        contribution: to the prediction.
        kept: whether it belongs to the set that holds the prediction.
        without: the set's estimated P without this word; None for a word that is not kept.
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
    """The cases that a model fails, of each capability at most ``limit``, in their order.

    They are of different families where there are enough. ``predicted`` has the label predicted for
    each case.
    """
    ranks: dict[str, list[tuple[int, int]]] = {}
    failures_of_family = Counter[int]()
    families = families_of(cases).tolist()
    for number, (case, label) in enumerate(zip(cases, predicted, strict=True)):
        if label not in case.passes:
            # The first of each family comes before the second of any.
            rank = failures_of_family[families[number]], number
            ranks.setdefault(case.capability, []).append(rank)
            failures_of_family[families[number]] += 1
    return [
        cases[number]
        for number in sorted(number for of in ranks.values() for _, number in sorted(of)[:limit])
    ]


def smallest_set(order: Sequence[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """A set of a text's words that holds the prediction, and does not without any one of them.

    Args:
        order: the numbers of the words, by falling contribution.
        holds: whether a set of words holds the prediction, always the same for equal sets. It is
            not asked about the set of all words, which does.
    """
    # Doubling, then halving: the shortest prefix that holds, if longer ones hold, too.
    fails, enough, shown = -1, len(order), 0
    while enough - fails > 1:
        if holds(frozenset(order[:shown])):
            enough = shown
        else:
            fails = shown
        doubled = max(1, 2 * fails)
        shown = doubled if doubled < enough == len(order) else (fails + enough) // 2
    needed = frozenset(order[:enough])
    # Delta debugging (Zeller and Hildebrandt 2002): halves, quarters … single words.
    size, dropped = max(1, len(needed) // 2), True
    while size > 1 or dropped:
        dropped = False
        rising = [word for word in reversed(order) if word in needed]
        for start in range(0, len(rising), size):
            block = needed.intersection(rising[start : start + size])
            if block and holds(needed - block):
                needed, dropped = needed - block, True
        if size > 1:
            size, dropped = size // 2, True
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
            explanation = kept(model.classifier.fingerprint, inputs, _EXPLANATION, make)
        explanations.append(explanation)
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
