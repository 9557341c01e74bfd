"""The smallest set of words that holds a prediction (S²LCT, RQ4, equation 5).

The search starts from the fully masked text and shows words in order of falling contribution. It
stops when the model predicts the text's own label for a share P_thresh of all fillings. Then each
word that is not needed is dropped. By the search's estimates, the resulting set is minimal: it
holds the prediction, but no longer with any one of its words removed. The reported P is measured
on new samples, because an estimate that was selected for being high is biased upwards.
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
from s2lct.analysis.explain.attribution import word_contributions
from s2lct.analysis.explain.words import MaskedLMFiller, Origin, origins_of, words_of
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS
from s2lct.progress import bar, without_bars
from s2lct.suite.cases import Case, families_of

P_THRESHOLD = 0.9
"""P_thresh: the share of fillings for which the model must predict the text's own label."""
REPORT_SAMPLE_COUNT = 100
"""The number of new samples that the reported P of a set is measured on."""
SEARCH_SAMPLE_COUNTS = (10, 20, 50)
"""Total samples of a set at each stage of the search.

The next stage follows only while the threshold lies in the estimate's interval.
"""


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """A word of an explained text, with its origin (``part``) and its contribution.

    Words that are ``kept`` belong to the set that holds the prediction. For them, ``without`` is
    the P of the set without the word.
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
    """A case, the model's prediction, and the words that hold the prediction.

    ``probability`` is P(f(T(x)) = f(x)), measured on samples that the search did not use. ``ci`` is
    its 95 % interval (Clopper and Pearson). ``nothing_shown`` is the search's estimate of P for the
    fully masked text.
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
def share_interval(hits: int, n_samples: int, method: str = "exact") -> tuple[float, float]:
    """The 95 % interval of a share, by Clopper and Pearson (1934) or another method of scipy."""
    from scipy.stats import binomtest

    bounds = binomtest(hits, n_samples).proportion_ci(0.95, method=method)
    return float(bounds.low), float(bounds.high)


def choose_failures(
    cases: Sequence[Case], predicted_labels: Sequence[int], limit: int | None = None
) -> list[Case]:
    """The cases whose predicted label does not pass, in order.

    At most ``limit`` cases of a capability are chosen, from different families as far as possible.
    """
    ranked: dict[str, list[tuple[int, int]]] = defaultdict(list)
    failures_of_family = Counter[int]()
    for index, family in enumerate(families_of(cases).tolist()):
        if predicted_labels[index] not in cases[index].passes:
            # The first of each family comes before the second of any.
            ranked[cases[index].capability].append((failures_of_family[family], index))
            failures_of_family[family] += 1
    chosen = sorted(index for failures in ranked.values() for _, index in sorted(failures)[:limit])
    return [cases[index] for index in chosen]


def smallest_set(order: Sequence[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """A minimal set of a text's words: it holds the prediction, but not with a word removed.

    Args:
        order: indices of the words, by falling contribution.
        holds: whether a set of words holds the prediction; its answer for a set never changes. It
            is not called with the set of all words, which always holds the prediction.
    """
    if not order or holds(frozenset()):
        return frozenset()
    # The shortest prefix of the order that holds, if longer ones hold, too.
    length = bisect_left(range(len(order)), True, key=lambda size: holds(frozenset(order[:size])))
    needed, previous = frozenset(order[:length]), None
    while needed != previous:
        previous = needed
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
        compute = partial(_explain, model, case, filler)
        with without_bars():
            explanations.append(
                cached_result(model.classifier.fingerprint, inputs, _EXPLANATION, compute)
            )
        advance(1)
    return explanations


def _explain(model: LabelledClassifier, case: Case, filler: MaskedLMFiller) -> Explanation:
    text = case.text
    (label,) = model.labels([text]).tolist()
    contributions = word_contributions(model, text, label)
    estimates: dict[frozenset[int], float] = {}  # of P, by the set of shown words

    def count_hits(shown: frozenset[int], n_samples: int, *purpose: str) -> int:
        """Count the samples for which the model predicts the label of the text itself."""
        digest = shuffle_key(0, text, ",".join(map(str, sorted(shown))), *purpose)
        rng = np.random.default_rng(int.from_bytes(digest, "big"))
        return int((model.labels(filler.fill(text, shown, n_samples, rng)) == label).sum())

    def holds(shown: frozenset[int]) -> bool:
        if shown not in estimates:
            hits = n_samples = 0
            for stage_samples in SEARCH_SAMPLE_COUNTS:
                hits += count_hits(shown, stage_samples - n_samples, "search", str(n_samples))
                n_samples = stage_samples
                low, high = share_interval(hits, n_samples, "wilson")
                if not low < P_THRESHOLD <= high:
                    break
            estimates[shown] = hits / n_samples
        return estimates[shown] >= P_THRESHOLD

    needed = smallest_set(np.argsort(-contributions, kind="stable").tolist(), holds)
    report_hits = count_hits(needed, REPORT_SAMPLE_COUNT, "report")
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
                kept=index in needed,
                without=estimates[needed - {index}] if index in needed else None,
            )
            for index, (word, origin, contribution) in enumerate(words)
        ),
        probability=report_hits / REPORT_SAMPLE_COUNT,
        ci=share_interval(report_hits, REPORT_SAMPLE_COUNT),
        nothing_shown=estimates.get(frozenset(), 1.0),
    )
