"""The smallest set of words that holds a prediction (S²LCT, RQ4, eq. 5).

From the fully masked text, words are shown by falling contribution until the model says of at
least a share P_thresh of all fillings what it says of the text. Then every word is dropped that is
not needed: what is left is minimal under the removal of any single word, with respect to the
estimates that the search made. The P that is reported rests on new samples: an estimate that a
search has chosen for being high is too high.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from s2lct.analysis.explain.attribution import attribute, default_method
from s2lct.analysis.explain.fillers import Draw, Filler, Template
from s2lct.analysis.explain.records import ExplainedWord, Explanation, Options
from s2lct.analysis.explain.words import parts_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.progress import Advance, silently
from s2lct.analysis.suite_rows import SuiteRow
from s2lct.files import write_bytes
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS

CONFIDENCE = 0.95
STAGES = (10, 20, 50, 100, 200, 500)
"""The search's samples of a template: more are drawn while the threshold lies in the interval."""
CASES_AT_ONCE = 16
_BY_DEFAULT = Options()

Search = Generator[frozenset[int], bool, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """How often, of all samples, the model said the same."""

    hits: int
    samples: int

    @property
    def probability(self) -> float:
        """The share of hits."""
        return self.hits / self.samples

    def interval(self, method: str = "exact") -> tuple[float, float]:
        """The exact interval (Clopper and Pearson 1934), which holds P at least that often."""
        return _interval(self.hits, self.samples, method)

    def may_be(self, threshold: float) -> bool:
        """Whether the threshold lies in Wilson's narrower interval (1927)."""
        low, high = self.interval("wilson")
        return low < threshold <= high


@cache
def _interval(hits: int, samples: int, method: str) -> tuple[float, float]:
    from scipy.stats import binomtest

    bounds = binomtest(hits, samples).proportion_ci(CONFIDENCE, method=method)
    return float(bounds.low), float(bounds.high)


def search(order: Sequence[int]) -> Search:
    """Look for a minimal set of words.

    Args:
        order: the numbers of a text's words, by falling contribution.

    Yields:
        A set of shown words; it is to be sent whether they hold the prediction. The same set may
        be asked again and must get the same answer.

    Returns:
        A set that holds the prediction, and does not without any one of its words. All words are
        taken to hold it.
    """
    # Doubling, then halving: the first length that holds where more words never hold less.
    fails, holds, shown = -1, len(order), 0
    while holds - fails > 1:
        if (yield frozenset(order[:shown])):
            holds = shown
        else:
            fails = shown
        doubled = max(1, 2 * fails)
        shown = doubled if doubled < holds == len(order) else (fails + holds) // 2
    kept = frozenset(order[:holds])
    # Delta debugging (Zeller and Hildebrandt 2002): halves, quarters … single words.
    size, dropped = max(1, len(kept) // 2), True
    while size > 1 or dropped:
        dropped = False
        rising = [word for word in reversed(order) if word in kept]
        for start in range(0, len(rising), size):
            block = kept.intersection(rising[start : start + size])
            if block and (yield kept - block):
                kept, dropped = kept - block, True
        if size > 1:
            size, dropped = size // 2, True
    return kept


class _Case:
    """One text on its way to an explanation."""

    def __init__(self, row: SuiteRow, said: int, contributions: Sequence[float]) -> None:
        self.row, self.said, self.contributions = row, said, contributions
        self.words = words_of(row.case.text)
        order = np.argsort(-np.array(self.contributions), kind="stable").tolist()
        self._search = search(order)
        self.estimates: defaultdict[frozenset[int], Estimate] = defaultdict(lambda: Estimate(0, 0))
        self._decided: dict[frozenset[int], bool] = {}
        self.kept: frozenset[int] | None = None
        self.shown: frozenset[int] = frozenset()
        self._advance(None)

    def _advance(self, answer: bool | None) -> None:
        try:
            self.shown = self._search.send(answer) if answer is not None else next(self._search)
            while (known := self._decided.get(self.shown)) is not None:
                self.shown = self._search.send(known)
        except StopIteration as done:
            self.kept = done.value

    def wanted(self, options: Options) -> Draw:
        """The next samples."""
        drawn = self.estimates[self.shown].samples
        most = next(
            (stage for stage in STAGES if drawn < stage <= options.search_samples),
            options.search_samples,
        )
        return self.draw(self.shown, most - drawn, "search", str(drawn))

    def draw(self, shown: frozenset[int], samples: int, *key: str) -> Draw:
        """Samples of the text where some words are shown."""
        return Draw(Template(self.row.case.text, self.words, shown), samples, key)

    def take(self, hits: int, samples: int, options: Options) -> None:
        """Go on with the outcome of `wanted`."""
        before = self.estimates[self.shown]
        now = Estimate(before.hits + hits, before.samples + samples)
        self.estimates[self.shown] = now
        if now.samples < options.search_samples and now.may_be(options.threshold):
            return
        answer = now.probability >= options.threshold
        self._decided[self.shown] = answer
        self._advance(answer)


def explain(
    judge: Judge,
    rows: Sequence[SuiteRow],
    filler: Filler,
    options: Options = _BY_DEFAULT,
    *,
    keep: Path | None = None,
    advance: Advance = silently,
) -> list[Explanation]:
    """Explain what a model says of cases, in order; the same for equal cases, options and models.

    A folder ``keep`` keeps explanations, so that an interrupted run goes on, but none of a model or
    filler without a fingerprint.

    Raises:
        ScoringError: the model's outputs cannot be used.
        AnalysisError: the model has no gradients, and they were asked for.
    """
    model = judge.model
    done: list[Explanation] = []
    # Texts that are computed together decide the last bits: always the same ones are.
    for start in range(0, len(rows), CASES_AT_ONCE):
        part = rows[start : start + CASES_AT_ONCE]
        kept = None
        if keep is not None and model.fingerprint and filler.fingerprint:
            described = {
                "format": 1,
                "model": model.fingerprint,
                "rule": str(judge),
                "filler": filler.fingerprint,
                "options": options.model_dump(),
                "method": options.method or default_method(judge),
                "cases": [[row.case.id, row.case.text, row.template] for row in part],
            }
            kept = keep / f"{fingerprint_of(described)[:32]}.json"
        explained = _read_kept(kept)
        if explained is not None:
            advance(len(part))
        else:
            explained = _explain_together(judge, part, filler, options, advance)
            if kept is not None:
                write_bytes(kept, _LIST.dump_json(explained))
        done += explained
    return done


_LIST = TypeAdapter(list[Explanation])


def _read_kept(path: Path | None) -> list[Explanation] | None:
    if path is None or not path.exists():
        return None
    try:
        return _LIST.validate_json(path.read_bytes())
    except ValidationError:
        return None  # a damaged file is made anew


def _explain_together(
    judge: Judge, rows: Sequence[SuiteRow], filler: Filler, options: Options, advance: Advance
) -> list[Explanation]:
    texts = [row.case.text for row in rows]
    said = [int(label) for label in judge.labels(texts)]
    contributions = attribute(judge, texts, said, method=options.method, seed=options.seed)
    cases = [
        _Case(row, label, shares.tolist())
        for row, label, shares in zip(rows, said, contributions, strict=True)
    ]
    while open_cases := [case for case in cases if case.kept is None]:
        draws = [case.wanted(options) for case in open_cases]
        hits = _hits(judge, filler, draws, [case.said for case in open_cases], options.seed)
        for case, draw, count in zip(open_cases, draws, hits, strict=True):
            case.take(count, draw.samples, options)
        advance(sum(case.kept is not None for case in open_cases))
    reported = [case.draw(case.kept or frozenset(), options.samples, "report") for case in cases]
    hits = _hits(judge, filler, reported, said, options.seed)
    return [
        _explanation(case, Estimate(count, options.samples))
        for case, count in zip(cases, hits, strict=True)
    ]


def _hits(
    judge: Judge, filler: Filler, draws: Sequence[Draw], said: Sequence[int], seed: int
) -> list[int]:
    """For each draw, of how many of its samples the model says what it said of the text."""
    filled = filler.fill(draws, seed)
    labels = judge.labels([text for texts in filled for text in texts])
    parts = np.split(labels, np.cumsum([len(texts) for texts in filled])[:-1])
    return [int((part == label).sum()) for part, label in zip(parts, said, strict=True)]


def _explanation(case: _Case, estimate: Estimate) -> Explanation:
    row, kept = case.row, case.kept or frozenset()
    parts = parts_of(row.case.text, row.template, row.inserted)
    words = tuple(
        ExplainedWord(
            text=word.text,
            start=word.start,
            end=word.end,
            part=part.kind,
            part_name=part.name,
            contribution=round(share, 6),
            kept=number in kept,
            without=case.estimates[kept - {number}].probability if number in kept else None,
        )
        for number, (word, part, share) in enumerate(
            zip(case.words, parts, case.contributions, strict=True)
        )
    )
    nothing = case.estimates.get(frozenset())
    return Explanation(
        id=row.case.id,
        capability=row.case.capability,
        kind="seed" if row.case.kind == "seed" else "expansion",
        seed_id=row.case.seed_id,
        text=row.case.text,
        template=row.template,
        said=LABELS[case.said],
        passes=tuple(LABELS[label] for label in sorted(row.case.passes)),
        failed=case.said not in row.case.passes,
        words=words,
        probability=estimate.probability,
        ci=estimate.interval(),
        nothing_shown=1.0 if nothing is None else nothing.probability,
        samples=estimate.samples,
    )
