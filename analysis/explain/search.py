"""The smallest set of words that holds a prediction (S²LCT, RQ4, eq. 5).

From the fully masked text, words are shown by falling contribution until the model predicts of at
least a share P_thresh of all fillings what it predicts of the text. Then every word is dropped that
is not needed: what is left is minimal under the removal of any single word, with respect to the
estimates that the search made. The P that is reported rests on new samples: an estimate that a
search has chosen for being high is too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.explain.attribution import attribute
from s2lct.analysis.explain.words import Kind, MaskedLMFiller, kinds_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.kept import kept
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS
from s2lct.progress import bar, without_bars
from s2lct.suite.cases import Case, families_of

CONFIDENCE = 0.95
THRESHOLD = 0.9
"""P_thresh: the share of fillings of which the model must predict the same."""
SAMPLES = 100
"""Fillings that a reported P rests on."""
STAGES = (10, 20, 50)
"""The search's samples of a text: more are drawn while the threshold lies in the interval."""


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """A word of an explained text: what brought it, and what it contributes.

    Kept words belong to the set that holds the prediction, whose estimated P is ``without`` if the
    word is left out.
    """

    text: str
    start: int
    end: int
    part: Kind
    contribution: float
    kept: bool
    without: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What holds a prediction: a case, what the model predicts, and the words that it rests on.

    Its P(f(T(x)) = f(x)), with a 95 % interval (Clopper and Pearson), is of samples that the search
    did not see; that of the fully masked text is as the search estimated it.
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
def interval(hits: int, samples: int, method: str = "exact") -> tuple[float, float]:
    """The 95 % interval of a share: Clopper and Pearson's (1934), or another that scipy knows."""
    from scipy.stats import binomtest

    bounds = binomtest(hits, samples).proportion_ci(CONFIDENCE, method=method)
    return float(bounds.low), float(bounds.high)


def chosen_failures(
    cases: Sequence[Case], predicted: Sequence[int], most: int | None = None
) -> list[Case]:
    """The failures to explain, of cases and the label that the model predicts of each.

    At most so many of a capability, of different families where there are enough.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    nth = Counter[int]()
    families = families_of(cases).tolist()
    for number, (case, label) in enumerate(zip(cases, predicted, strict=True)):
        if label not in case.passes:
            # The first of each family comes before the second of any.
            found.setdefault(case.capability, []).append((nth[families[number]], number))
            nth[families[number]] += 1
    numbers = sorted(number for places in found.values() for _, number in sorted(places)[:most])
    return [cases[number] for number in numbers]


def smallest_set(order: Sequence[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """A minimal set of a text's words that holds the prediction.

    Args:
        order: the numbers of the words, by falling contribution.
        holds: whether the words of a set hold the prediction, always the same of equal sets; it
            is not asked of all words, which are taken to hold it.

    Returns:
        A set that holds the prediction, and does not without any one of its words.
    """
    # Doubling, then halving: the first length that holds where more words never hold less.
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


def explain(judge: Judge, cases: Sequence[Case], filler: MaskedLMFiller) -> list[Explanation]:
    """Explain what a model predicts of cases, in order; the same for equal cases.

    Explanations are kept, but none of a model without a fingerprint.

    Raises:
        ScoringError: the model's outputs cannot be used.
    """
    about = ["explanation", str(judge), filler.fingerprint, THRESHOLD]
    advance = bar(f"explaining {judge.model.name}", len(cases))
    explained: list[Explanation] = []
    for case in cases:
        inputs = [*about, case.id, case.text, case.template, case.places]
        make = partial(_explain, judge, case, filler)
        with without_bars():
            explained.append(kept(judge.model.fingerprint, inputs, _EXPLANATION, make))
        advance(1)
    return explained


def _explain(judge: Judge, case: Case, filler: MaskedLMFiller) -> Explanation:
    text = case.text
    (label,) = judge.labels([text]).tolist()
    contributions = attribute(judge, text, label)
    shares: dict[frozenset[int], float] = {}

    def hits(shown: frozenset[int], samples: int, *key: str) -> int:
        """Of how many fillings the model predicts what it predicts of the text."""
        digest = shuffle_key(0, text, ",".join(map(str, sorted(shown))), *key)
        rng = np.random.default_rng(int.from_bytes(digest, "big"))
        return int((judge.labels(filler.fill(text, shown, samples, rng)) == label).sum())

    def holds(shown: frozenset[int]) -> bool:
        if shown not in shares:
            found = samples = 0
            for stage in STAGES:
                found += hits(shown, stage - samples, "search", str(samples))
                samples = stage
                low, high = interval(found, samples, "wilson")
                if not low < THRESHOLD <= high:
                    break
            shares[shown] = found / samples
        return shares[shown] >= THRESHOLD

    needed = smallest_set(np.argsort(-contributions, kind="stable").tolist(), holds)
    found = hits(needed, SAMPLES, "report")
    words = zip(
        words_of(text),
        kinds_of(text, case.template, case.places),
        contributions.tolist(),
        strict=True,
    )
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
                part=part,
                contribution=round(share, 6),
                kept=place in needed,
                without=shares[needed - {place}] if place in needed else None,
            )
            for place, (word, part, share) in enumerate(words)
        ),
        probability=found / SAMPLES,
        ci=interval(found, SAMPLES),
        nothing_shown=shares.get(frozenset(), 1.0),
    )
