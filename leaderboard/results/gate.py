"""Whether a model keeps bounds, and does no worse than another: what `s2lct gate` decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from s2lct.errors import ScoringError
from s2lct.leaderboard.results import comparison
from s2lct.leaderboard.results.read import Scored
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.plain_text import did_you_mean
from s2lct.suite.cases import Case

MEAN, CONSISTENCY = comparison.MEAN, "consistency"
Side = Literal["max", "min"]
_EXAMPLES = {"max": "LC4=20 or mean=30", "min": "consistency=60 or LC4/consistency=50"}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """A figure held against a bound, or against that of an earlier result on the cases of both.

    Attributes:
        figure: ``consistency``, or that of a capability, ``LC4/consistency``; a capability's
            failure rate, ``LC4``, or their ``mean``.
        asked: ``max`` or ``min`` of a bound, or ``no_worse``.
        passed: whether it holds.
        found: the figure, in [0, 1].
        bound: of ``max`` and ``min``.
        interval: of the figure; of ``max`` and ``min``.
        before: the figure of the earlier result.
        p_value: of the test of `comparison.compare`, after its correction.
        shown: ``better`` or ``worse`` where that test shows it.
        cases: how many both results have, or pairs.
        detectable: the change of the figure that the test shows with a probability of 80 %.
        blind: whether the test could show no loss, were every case failed: too few pass before.
    """

    figure: str
    asked: Literal["max", "min", "no_worse"]
    passed: bool
    found: float
    bound: float | None = None
    interval: tuple[float, float] | None = None
    before: float | None = None
    p_value: float | None = None
    shown: Literal["better", "worse"] | None = None
    cases: int | None = None
    detectable: float | None = None
    blind: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """What a program is told; see docs/ci.md."""
        return asdict(self)


def check_bounds(result: Result, texts: Iterable[str], side: Side) -> list[Check]:
    """Hold a result's figures against bounds.

    Args:
        result: what is held against them.
        texts: ``FIGURE=PERCENT`` each, as the options ``--max`` and ``--min`` take them.
        side: which of the two options: the highest failure rates that pass, or the lowest
            consistency.

    Raises:
        ScoringError: a text is no bound, or the result has no such figure; it says which.
    """
    known = _failure_rates(result) if side == "max" else _shares(result)
    spelling = {name.casefold(): name for name in known}
    checks: list[Check] = []
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        bound = _proportion(f"--{side} {text}", name, number, _EXAMPLES[side])
        figure = spelling.get(name.casefold())
        if figure is None:
            raise ScoringError(
                f"--{side} {text}: the result has no such figure",
                hint=f"{did_you_mean(name, known)}choose among "
                f"{', '.join(known) or 'none: the suite has no contrasts'}",
            )
        found, interval = known[figure]
        past = bound - found if side == "min" else found - bound
        checks.append(Check(figure, side, past <= _ROUNDING, found, round(bound, 12), interval))
    return checks


def _proportion(option: str, name: str, text: str, example: str) -> float:
    """A bound in percent, ``60`` or ``60%``, as a proportion; what may be one already is refused.

    >>> _proportion("--max LC4=60", "LC4", "60", "LC4=20")
    0.6
    """
    number = text.removesuffix("%").strip()
    try:
        bound = float(number)
    except ValueError:
        bound = -1
    if not 0 <= bound <= 100:
        raise ScoringError(f"{option}: is no bound from 0 to 100 %", hint=f"write {example}")
    if number == text and (0 < bound < 1 or (bound == 1 and number != "1")):
        raise ScoringError(
            f"{option}: is that {bound:g} % or {100 * bound:g} %?",
            hint=f"bounds are in percent: write {name}={100 * bound:g} or {name}={bound:g}%",
        )
    return bound / 100


def _failure_rates(result: Result) -> dict[str, tuple[float, tuple[float, float]]]:
    overall = result.overall.failure_rate
    return {MEAN: (overall.macro, overall.macro_ci)} | {
        name: (of.all.failure_rate, of.all.ci) for name, of in result.capabilities.items()
    }


def _shares(result: Result) -> dict[str, tuple[float, tuple[float, float]]]:
    overall = result.overall.consistency
    return ({CONSISTENCY: (overall.macro, overall.macro_ci)} if overall else {}) | {
        f"{name}/{CONSISTENCY}": (of.consistency.share, of.consistency.ci)
        for name, of in result.capabilities.items()
        if of.consistency
    }


def check_no_worse(new: Scored, old: Scored) -> list[Check]:
    """Hold a result against an earlier one by `comparison.compare`.

    Consistency comes first, then failure rates; the mean of several capabilities before these,
    tested by itself.

    Raises:
        ScoringError: the new one lacks cases or contrasts of the earlier one.
    """
    lacking = [
        f"{len(ids):,} of the {len(rows):,} {what} (first {ids[0]})"
        for what, rows, others in (
            ("cases", old.outcomes.cases, new.outcomes.cases),
            ("contrasts", old.outcomes.suite.contrasts, new.outcomes.suite.contrasts),
        )
        if (ids := _ids_lacking(rows, others))
    ]
    if lacking:
        raise ScoringError(
            f"the new result lacks {' and '.join(lacking)} that the earlier one has",
            hint="score both on the same cases and contrasts",
        )
    pairs = comparison.paired(old.outcomes, new.outcomes)
    contrasts = comparison.paired_contrasts(old.outcomes, new.outcomes)
    return [*_compared(*contrasts, consistency=True), *_compared(*pairs, consistency=False)]


def _ids_lacking(rows: Sequence[Case], others: Sequence[Case]) -> list[str]:
    ids = {case.id for case in others}
    return [case.id for case in rows if case.id not in ids]


def _compared(
    cases: Sequence[Case], before: Failed, after: Failed, *, consistency: bool
) -> list[Check]:
    """Checks of the mean and of each capability, by which of the cases, or pairs, fail."""
    if not cases:
        return []
    seen, blind = comparison.detectable(cases, before), comparison.blind(cases, before)
    checks: list[Check] = []
    for name, test in comparison.compare(cases, before, after).items():
        figure = name
        if consistency:
            figure = CONSISTENCY if name == MEAN else f"{name}/{CONSISTENCY}"
        # Pairs fail of which not both pass, and the figure is of the others.
        old, new = (1 - rate if consistency else rate for rate in test.rates)
        checks.append(
            Check(
                figure,
                "no_worse",
                test.better != 0,
                new,
                before=old,
                p_value=test.adjusted,
                shown=None if test.better is None else ("worse", "better")[test.better],
                cases=test.cases,
                # More than all that pass before cannot be lost.
                detectable=min(seen[name], 1 - test.rates[0]),
                blind=name in blind,
            )
        )
    return checks
