"""The smallest set of words that holds a prediction (S²LCT, RQ4, eq. 5).

From the fully masked text, words are shown by falling contribution until the model says of at
least a share P_thresh of all fillings what it says of the text. Then every word is dropped that is
not needed: what is left is minimal under the removal of any single word, with respect to the
estimates that the search made. The P that is reported rests on new samples: an estimate that a
search has chosen for being high is too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.explain.attribution import attribute, default_method
from s2lct.analysis.explain.fillers import Draw, Filler
from s2lct.analysis.explain.records import ExplainedWord, Explanation, Options
from s2lct.analysis.explain.words import parts_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.progress import Advance, silently
from s2lct.analysis.suite_rows import SuiteRow
from s2lct.builder.checkpoint import Checkpoints
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS

CONFIDENCE = 0.95
STAGES = (10, 20, 50, 100, 200, 500)
"""The search's samples of a text: more are drawn while the threshold lies in the interval."""
CASES_AT_ONCE = 16
_BY_DEFAULT = Options()
_LIST = TypeAdapter(list[Explanation])


@cache
def interval(hits: int, samples: int, method: str = "exact") -> tuple[float, float]:
    """The 95 % interval of a share: Clopper and Pearson's (1934), or another that scipy knows."""
    from scipy.stats import binomtest

    bounds = binomtest(hits, samples).proportion_ci(CONFIDENCE, method=method)
    return float(bounds.low), float(bounds.high)


def chosen_rows(
    rows: Sequence[SuiteRow],
    said: Sequence[int],
    *,
    pass_to_fail: bool = False,
    limit: int | None = None,
) -> list[SuiteRow]:
    """The cases to explain, of cases and what the model says of each.

    Args:
        rows: cases.
        said: what the model says of each.
        pass_to_fail: failing expansions, each behind its passing seed, instead of all failures.
        limit: most failures of a capability, of different seed families where there are enough.
    """
    failed = {
        row.case.id: label not in row.case.passes for row, label in zip(rows, said, strict=True)
    }
    passing_seeds = {
        row.case.id: row for row in rows if row.case.kind == "seed" and not failed[row.case.id]
    }
    wanted: dict[str, list[tuple[int, int, SuiteRow]]] = {}
    nth = Counter[tuple[str, str]]()
    for number, row in enumerate(rows):
        case = row.case
        turned = case.kind != "seed" and case.seed_id in passing_seeds
        if failed[case.id] and (turned or not pass_to_fail):
            # The first of each family comes before the second of any.
            family = case.capability, case.seed_id
            wanted.setdefault(case.capability, []).append((nth[family], number, row))
            nth[family] += 1
    chosen: dict[str, SuiteRow] = {}
    for found in wanted.values():
        for _, _, row in sorted(sorted(found)[:limit], key=lambda one: one[1]):
            if pass_to_fail:
                chosen.setdefault(row.case.seed_id, passing_seeds[row.case.seed_id])
            chosen[row.case.id] = row
    return list(chosen.values())


def search(order: Sequence[int]) -> Generator[frozenset[int], bool, frozenset[int]]:
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


class _Found(NamedTuple):
    """The words that hold a prediction, and how often each set of words that was asked does."""

    kept: frozenset[int]
    shares: Mapping[frozenset[int], float]


def _asked(
    text: str, order: Sequence[int], options: Options
) -> Generator[Draw, int | None, _Found]:
    """A `search` whose questions are draws; it is to be sent of how many the model says the same.

    More are drawn of a set of words while Wilson's interval (1927) has the threshold in it.
    """
    shares: dict[frozenset[int], float] = {}
    running = search(order)
    try:
        shown = next(running)
        while True:
            hits = samples = 0
            while shown not in shares:
                stages = (one for one in STAGES if samples < one <= options.search_samples)
                most = next(stages, options.search_samples)
                hits += (yield Draw(text, shown, most - samples, ("search", str(samples)))) or 0
                samples = most
                low, high = interval(hits, samples, "wilson")
                if samples >= options.search_samples or not low < options.threshold <= high:
                    shares[shown] = hits / samples
            shown = running.send(shares[shown] >= options.threshold)
    except StopIteration as done:
        return _Found(done.value, shares)


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
    known = judge.model.fingerprint and filler.fingerprint
    work = _Work(judge, filler, options, keep if known else None)
    # Texts that are computed together decide the last bits: always the same ones are.
    parts = [rows[start : start + CASES_AT_ONCE] for start in range(0, len(rows), CASES_AT_ONCE)]
    return [one for part in parts for one in work.explained(part, advance)]


class _Work(NamedTuple):
    judge: Judge
    filler: Filler
    options: Options
    keep: Path | None

    def explained(self, rows: Sequence[SuiteRow], advance: Advance) -> list[Explanation]:
        """Explanations of cases that are computed together, or what was kept of them."""
        if self.keep is None:
            return self._computed(rows, advance)
        told = []

        def tell(done: int) -> None:
            told.append(done)
            advance(done)

        described = {
            "format": 1,
            "model": self.judge.model.fingerprint,
            "rule": str(self.judge),
            "filler": self.filler.fingerprint,
            "options": self.options.model_dump(),
            "method": self.options.method or default_method(self.judge),
            "cases": [[row.case.id, row.case.text, row.template] for row in rows],
        }
        name = fingerprint_of(described)[:32]
        found = Checkpoints(self.keep).get(name, _LIST, lambda: self._computed(rows, tell))
        advance(len(rows) - sum(told))
        return found

    def _computed(self, rows: Sequence[SuiteRow], advance: Advance) -> list[Explanation]:
        texts, options = [row.case.text for row in rows], self.options
        said = [int(label) for label in self.judge.labels(texts)]
        shares = attribute(self.judge, texts, said, method=options.method, seed=options.seed)
        searches = [
            _asked(text, np.argsort(-own, kind="stable").tolist(), options)
            for text, own in zip(texts, shares, strict=True)
        ]
        found: dict[int, _Found] = {}
        answers: dict[int, int | None] = dict.fromkeys(range(len(rows)))
        while answers:
            draws: dict[int, Draw] = {}
            for number, answer in answers.items():
                try:
                    draws[number] = searches[number].send(answer)
                except StopIteration as done:
                    found[number] = done.value
                    advance(1)
            hits = self._hits(list(draws.values()), [said[number] for number in draws])
            answers = dict(zip(draws, hits, strict=True))
        reported = [
            Draw(text, found[number].kept, options.samples, ("report",))
            for number, text in enumerate(texts)
        ]
        return [
            _explanation(row, said[number], shares[number].tolist(), found[number], count, options)
            for number, (row, count) in enumerate(
                zip(rows, self._hits(reported, said), strict=True)
            )
        ]

    def _hits(self, draws: Sequence[Draw], said: Sequence[int]) -> list[int]:
        """For each draw, of how many of its samples the model says what it said of the text."""
        if not draws:
            return []
        filled = self.filler.fill(draws, self.options.seed)
        labels = self.judge.labels([text for texts in filled for text in texts])
        parts = np.split(labels, np.cumsum([len(texts) for texts in filled])[:-1])
        return [int((part == label).sum()) for part, label in zip(parts, said, strict=True)]


def _explanation(
    row: SuiteRow,
    said: int,
    contributions: Sequence[float],
    found: _Found,
    hits: int,
    options: Options,
) -> Explanation:
    case, kept = row.case, found.kept
    parts = parts_of(case.text, row.template, row.inserted)
    return Explanation(
        id=case.id,
        capability=case.capability,
        kind="seed" if case.kind == "seed" else "expansion",
        seed_id=case.seed_id,
        text=case.text,
        template=row.template,
        said=LABELS[said],
        passes=tuple(LABELS[label] for label in sorted(case.passes)),
        failed=said not in case.passes,
        words=tuple(
            ExplainedWord(
                **word._asdict(),
                part=part.kind,
                part_name=part.name,
                contribution=round(share, 6),
                kept=number in kept,
                without=found.shares[kept - {number}] if number in kept else None,
            )
            for number, (word, part, share) in enumerate(
                zip(words_of(case.text), parts, contributions, strict=True)
            )
        ),
        probability=hits / options.samples,
        ci=interval(hits, options.samples),
        nothing_shown=found.shares.get(frozenset(), 1.0),
        samples=options.samples,
    )
