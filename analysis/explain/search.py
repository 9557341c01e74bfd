"""The smallest set of words that holds a prediction (S²LCT, RQ4, eq. 5).

From the fully masked text, words are shown by falling contribution until the model says of at
least a share P_thresh of all fillings what it says of the text. Then every word is dropped that is
not needed: what is left is minimal under the removal of any single word, with respect to the
estimates that the search made. The P that is reported rests on new samples: an estimate that a
search has chosen for being high is too high.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from functools import cache, partial

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.explain.attribution import attribute
from s2lct.analysis.explain.fillers import Draw, Filler
from s2lct.analysis.explain.report import ExplainedWord, Explanation, Options
from s2lct.analysis.explain.words import parts_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.kept import kept
from s2lct.analysis.suite_rows import SuiteRow
from s2lct.labels import LABELS
from s2lct.progress import bar
from s2lct.suite.cases import families_of

CONFIDENCE = 0.95
STAGES = (10, 20, 50)
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
    """The failures to explain, of cases and what the model says of each.

    With ``pass_to_fail`` failing expansions alone, each behind its passing seed; at most ``limit``
    of a capability, of different families where there are enough.
    """
    failed = {
        row.case.id: label not in row.case.passes for row, label in zip(rows, said, strict=True)
    }
    passing_seeds = {
        row.case.id: row for row in rows if row.case.kind == "seed" and not failed[row.case.id]
    }
    wanted: dict[str, list[tuple[int, int, SuiteRow]]] = {}
    nth = Counter[int]()
    families = families_of([row.case for row in rows]).tolist()
    for number, (row, family) in enumerate(zip(rows, families, strict=True)):
        case = row.case
        turned = case.kind != "seed" and case.seed_id in passing_seeds
        if failed[case.id] and (turned or not pass_to_fail):
            # The first of each family comes before the second of any.
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
    """Look for a minimal set of a text's words, which are given by falling contribution.

    Yields sets of shown words, and is to be sent whether they hold the prediction: a set that is
    asked again has the same answer, and all words are taken to hold it. Returns a set that holds
    the prediction, and does not without any one of its words.
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
    needed = frozenset(order[:holds])
    # Delta debugging (Zeller and Hildebrandt 2002): halves, quarters … single words.
    size, dropped = max(1, len(needed) // 2), True
    while size > 1 or dropped:
        dropped = False
        rising = [word for word in reversed(order) if word in needed]
        for start in range(0, len(rising), size):
            block = needed.intersection(rising[start : start + size])
            if block and (yield needed - block):
                needed, dropped = needed - block, True
        if size > 1:
            size, dropped = size // 2, True
    return needed


Shares = dict[frozenset[int], float]
"""How often each set of words that was asked holds the prediction."""


def _asked(
    text: str, order: Sequence[int], options: Options
) -> Generator[Draw, int | None, tuple[frozenset[int], Shares]]:
    """A `search` whose questions are draws; it is to be sent of how many the model says the same.

    More are drawn of a set of words while Wilson's interval (1927) has the threshold in it.
    """
    shares: Shares = {}
    running = search(order)
    try:
        shown = next(running)
        while True:
            hits = samples = 0
            while shown not in shares:
                most = next(one for one in STAGES if samples < one)
                hits += (yield Draw(text, shown, most - samples, ("search", str(samples)))) or 0
                samples = most
                low, high = interval(hits, samples, "wilson")
                if samples >= STAGES[-1] or not low < options.threshold <= high:
                    shares[shown] = hits / samples
            shown = running.send(shares[shown] >= options.threshold)
    except StopIteration as done:
        return done.value, shares


def explain(
    judge: Judge, rows: Sequence[SuiteRow], filler: Filler, options: Options = _BY_DEFAULT
) -> list[Explanation]:
    """Explain what a model says of cases, in order; the same for equal cases, options and models.

    Explanations are kept, but none of a model without a fingerprint.

    Raises:
        ScoringError: the model's outputs cannot be used.
    """
    about = [str(judge), filler.fingerprint, options.model_dump()]
    advance = bar(f"explaining {judge.model.name}", len(rows))
    explained: list[Explanation] = []
    # Texts that are computed together decide the last bits: always the same ones are.
    for start in range(0, len(rows), CASES_AT_ONCE):
        part = rows[start : start + CASES_AT_ONCE]
        cases = [[row.case.id, row.case.text, row.template, row.inserted] for row in part]
        found: list[Explanation] = kept(
            judge.model.fingerprint,
            ["explanations", *about, cases],
            _LIST,
            partial(_explain_together, judge, part, filler, options),
        )
        explained += found
        advance(len(part))
    return explained


def _explain_together(
    judge: Judge, rows: Sequence[SuiteRow], filler: Filler, options: Options
) -> list[Explanation]:
    texts = [row.case.text for row in rows]
    said: list[int] = judge.labels(texts).tolist()
    contributions = attribute(judge, texts, said, seed=options.seed)

    def hits(draws: Mapping[int, Draw]) -> dict[int, int]:
        """For each draw, of how many of its samples the model says what it said of the text."""
        filled = filler.fill(list(draws.values()), options.seed)
        labels = iter(judge.labels([text for part in filled for text in part]).tolist())
        return {
            number: sum(label == said[number] for label in itertools.islice(labels, draw.samples))
            for number, draw in draws.items()
        }

    searches = [
        _asked(text, np.argsort(-shares, kind="stable").tolist(), options)
        for text, shares in zip(texts, contributions, strict=True)
    ]
    found: dict[int, tuple[frozenset[int], Shares]] = {}
    answers: dict[int, int | None] = dict.fromkeys(range(len(rows)))
    while len(found) < len(rows):
        draws: dict[int, Draw] = {}
        for number, answer in answers.items():
            try:
                draws[number] = searches[number].send(answer)
            except StopIteration as done:
                found[number] = done.value
        answers = {**hits(draws)} if draws else {}
    reported = {
        number: Draw(text, found[number][0], options.samples, ("report",))
        for number, text in enumerate(texts)
    }
    explanations: list[Explanation] = []
    for (number, count), row in zip(hits(reported).items(), rows, strict=True):
        case, (needed, shares) = row.case, found[number]
        parts = parts_of(case.text, row.template, row.inserted)
        words = tuple(
            ExplainedWord(
                **word._asdict(),
                part=part.kind,
                part_name=part.name,
                contribution=round(share, 6),
                kept=place in needed,
                without=shares[needed - {place}] if place in needed else None,
            )
            for place, (word, part, share) in enumerate(
                zip(words_of(case.text), parts, contributions[number].tolist(), strict=True)
            )
        )
        explanations.append(
            Explanation(
                id=case.id,
                capability=case.capability,
                kind="seed" if case.kind == "seed" else "expansion",
                seed_id=case.seed_id,
                text=case.text,
                template=row.template,
                said=LABELS[said[number]],
                passes=tuple(LABELS[label] for label in sorted(case.passes)),
                failed=said[number] not in case.passes,
                words=words,
                probability=count / options.samples,
                ci=interval(count, options.samples),
                nothing_shown=shares.get(frozenset(), 1.0),
                samples=options.samples,
            )
        )
    return explanations
