"""The smallest set of words that holds a prediction (S²LCT, RQ4, eq. 5).

From the fully masked text, words are shown by falling contribution until the model says of at
least a share P_thresh of all fillings what it says of the text. Then every word is dropped that is
not needed: what is left is minimal under the removal of any single word, with respect to the
estimates that the search made. The P that is reported rests on new samples: an estimate that a
search has chosen for being high is too high.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from s2lct.analysis.explain.attribution import Method, attribute, default_method
from s2lct.analysis.explain.fillers import Draw, Filler, Template
from s2lct.analysis.explain.words import Kind, parts_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.suite_rows import SuiteRow
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes, write_text
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS

CONFIDENCE = 0.95
STAGES = (10, 20, 50, 100, 200, 500)
"""The search's samples of a template: more are drawn while the threshold lies in the interval."""
CASES_AT_ONCE = 16

Search = Generator[frozenset[int], bool, frozenset[int]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExplainedWord(_Strict):
    """A word of an explained text.

    Attributes:
        text, start, end: see `words.Word`.
        part, part_name: see `words.Part`.
        contribution: see `attribution.attribute`.
        kept: whether it belongs to the set that holds the prediction.
        without: the estimated P of the set without it; None for words that are not kept.
    """

    text: str
    start: int
    end: int
    part: Kind
    part_name: str
    contribution: float
    kept: bool
    without: float | None = None


class Explanation(_Strict):
    """What holds a prediction.

    Attributes:
        id, capability, kind, seed_id, text, template: the case.
        said: what the model says of it.
        passes: the labels that pass.
        failed: whether it says another.
        words: all of its words.
        probability: P(f(T(x)) = f(x)) of the kept words, by samples that the search did not see.
        ci: the bounds of its 95 % interval (Clopper and Pearson).
        nothing_shown: the same of the fully masked text, as the search estimated it.
        samples: how many fillings ``probability`` rests on.
    """

    id: str
    capability: str
    kind: Literal["seed", "expansion"]
    seed_id: str
    text: str
    template: str
    said: str
    passes: tuple[str, ...]
    failed: bool
    words: tuple[ExplainedWord, ...]
    probability: float = Field(ge=0, le=1)
    ci: tuple[float, float]
    nothing_shown: float = Field(ge=0, le=1)
    samples: int = Field(ge=1)

    @property
    def kept(self) -> tuple[ExplainedWord, ...]:
        """The words that hold the prediction."""
        return tuple(word for word in self.words if word.kept)


class Options(_Strict):
    """How explanations are made.

    Attributes:
        threshold: P_thresh, the share of fillings of which the model must say the same.
        samples: fillings that the reported P rests on.
        search_samples: the most fillings of one set that the search draws.
        method: how contributions are told; None for gradients or Kernel SHAP, as the model allows.
        seed: of all samples.
    """

    threshold: float = Field(default=0.9, gt=0, le=1)
    samples: int = Field(default=100, ge=1)
    search_samples: int = Field(default=50, ge=1)
    method: Method | None = None
    seed: int = 0


class ExplanationFile(_Strict):
    """What ``s2lct explain`` writes."""

    format: Literal[1] = 1
    suite: str
    suite_fingerprint: str
    model: str
    model_fingerprint: str
    label_rule: str
    fillings: str
    attribution: str
    options: Options
    explanations: tuple[Explanation, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """How often the model said the same.

    Attributes:
        hits: fillings of which it said the same.
        samples: all fillings.
    """

    hits: int
    samples: int

    @property
    def probability(self) -> float:
        """The share of hits."""
        return self.hits / self.samples

    def interval(self) -> tuple[float, float]:
        """The exact interval (Clopper and Pearson 1934), which holds P at least that often."""
        return _interval(self.hits, self.samples, "exact")

    def may_be(self, threshold: float) -> bool:
        """Whether the threshold lies in Wilson's narrower interval (1927)."""
        low, high = _interval(self.hits, self.samples, "wilson")
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
        self.row, self.said = row, said
        self.contributions = [float(value) for value in contributions]
        self.words = words_of(row.case.text)
        order = sorted(
            range(len(self.words)), key=lambda number: (-self.contributions[number], number)
        )
        self._search = search(order)
        self.estimates: dict[frozenset[int], Estimate] = {}
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
        drawn = self.estimates.get(self.shown, Estimate(0, 0)).samples
        most = next(
            (stage for stage in STAGES if drawn < stage <= options.search_samples),
            options.search_samples,
        )
        return Draw(
            Template(self.row.case.text, self.words, self.shown),
            most - drawn,
            ("search", str(drawn)),
        )

    def take(self, hits: int, samples: int, options: Options) -> None:
        """Go on with the outcome of `wanted`."""
        before = self.estimates.get(self.shown, Estimate(0, 0))
        now = Estimate(before.hits + hits, before.samples + samples)
        self.estimates[self.shown] = now
        if now.samples < options.search_samples and now.may_be(options.threshold):
            return
        answer = now.probability >= options.threshold
        self._decided[self.shown] = answer
        self._advance(answer)


Advance = Callable[[int], None]


def explain(
    judge: Judge,
    rows: Sequence[SuiteRow],
    filler: Filler,
    options: Options | None = None,
    *,
    keep: Path | None = None,
    advance: Advance = lambda done: None,
) -> list[Explanation]:
    """Explain what a model says of cases.

    Args:
        judge: the model.
        rows: the cases.
        filler: where the samples come from.
        options: see `Options`.
        keep: a folder that keeps explanations, so that an interrupted run goes on; None keeps
            nothing, nor is anything kept of a model or filler without a fingerprint.
        advance: told how many cases were done.

    Returns:
        An explanation of each case, in order; the same for the same cases, options and models.

    Raises:
        ScoringError: the model's outputs cannot be used.
        AnalysisError: the model has no gradients, and they were asked for.
    """
    chosen = options or Options()
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
                "options": chosen.model_dump(),
                "method": chosen.method or default_method(judge),
                "cases": [[row.case.id, row.case.text, row.template] for row in part],
            }
            kept = keep / f"{fingerprint_of(described)[:32]}.json"
        explained = _read_kept(kept)
        if explained is not None:
            advance(len(part))
        else:
            explained = _explain_together(judge, part, filler, chosen, advance)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
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
    reported = [
        Draw(
            Template(case.row.case.text, case.words, case.kept or frozenset()),
            options.samples,
            ("report",),
        )
        for case in cases
    ]
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
    hits: list[int] = []
    start = 0
    for texts, label in zip(filled, said, strict=True):
        hits.append(int((labels[start : start + len(texts)] == label).sum()))
        start += len(texts)
    return hits


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
    low, high = estimate.interval()
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
        ci=(low, high),
        nothing_shown=1.0 if nothing is None else nothing.probability,
        samples=estimate.samples,
    )


def write_explanations(file: ExplanationFile, path: Path) -> None:
    """Write explanations as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(file.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_text(path, text + "\n")


def read_explanations(path: Path, suite_fingerprint: str = "") -> ExplanationFile:
    """Read what ``s2lct explain`` wrote.

    Args:
        path: the file.
        suite_fingerprint: of the suite that it must be about; empty for any.

    Raises:
        AnalysisError: it cannot be read, is something else, or is about another suite.
    """
    mend = "make one with `s2lct explain MODEL --suite DIR --out explain.json`"
    try:
        file = ExplanationFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read ({error.strerror})", mend=mend) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise AnalysisError(
            f"{path}: holds no explanations ({'.'.join(map(str, fault['loc']))}: {fault['msg']})",
            mend=mend,
        ) from error
    if suite_fingerprint and file.suite_fingerprint != suite_fingerprint:
        raise AnalysisError(
            f"{path}: explains cases of another suite ({file.suite_fingerprint[:12] or '?'}, the "
            f"results are of {suite_fingerprint[:12]})",
            mend="explain and score on one version of the suite",
        )
    return file


def chosen_rows(
    rows: Sequence[SuiteRow],
    said: Sequence[int],
    *,
    pass_to_fail: bool = False,
    limit: int | None = None,
) -> list[SuiteRow]:
    """The cases to explain.

    Args:
        rows: cases.
        said: what the model says of each.
        pass_to_fail: failing expansions, each behind its passing seed, instead of all failures.
        limit: most failures of a capability, of different seed families where there are enough.

    Returns:
        The rows; a seed comes once, in front of its expansions.
    """
    failed = {
        row.case.id: label not in row.case.passes for row, label in zip(rows, said, strict=True)
    }
    seeds = {row.case.id: row for row in rows if row.case.kind == "seed"}
    wanted: dict[str, list[SuiteRow]] = {}
    for row in rows:
        if not failed[row.case.id]:
            continue
        if pass_to_fail and (row.case.kind == "seed" or failed.get(row.case.seed_id, True)):
            continue
        wanted.setdefault(row.case.capability, []).append(row)
    chosen: list[SuiteRow] = []
    for found in wanted.values():
        for row in _limited(found, limit):
            seed = seeds.get(row.case.seed_id)
            if pass_to_fail and seed is not None and seed not in chosen:
                chosen.append(seed)
            chosen.append(row)
    return chosen


def _limited(rows: Sequence[SuiteRow], limit: int | None) -> list[SuiteRow]:
    """The first of each family, then the second, and so on, in the order of the rows."""
    if limit is None or len(rows) <= limit:
        return list(rows)
    nth: dict[str, int] = {}
    rounds: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        turn = nth[row.case.seed_id] = nth.get(row.case.seed_id, -1) + 1
        rounds.append((turn, number))
    return [rows[number] for number in sorted(number for _, number in sorted(rounds)[:limit])]
