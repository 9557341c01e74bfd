"""Whether a model keeps bounds, and does no worse than another: what `s2lct gate` decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from s2lct.errors import ScoringError
from s2lct.leaderboard.results import comparison
from s2lct.leaderboard.results.comparison import MEAN
from s2lct.leaderboard.results.read_results import ScoredModel
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.plain_text import did_you_mean
from s2lct.suite.cases import Case

CONSISTENCY = "consistency"
Option = Literal["max", "min"]
_EXAMPLE_OF = {"max": "LC4=20 or mean=30", "min": "consistency=60 or LC4/consistency=50"}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """A figure checked against a bound, or against that of an earlier result on the same cases.

    Attributes:
        figure: ``consistency``, or that of a capability, ``LC4/consistency``; a capability's
            failure rate, ``LC4``, or their ``mean``.
        asked: ``max`` or ``min`` for a bound, or ``no_worse``.
        passed: whether the check passes.
        found: the figure, in [0, 1].
        bound: for ``max`` and ``min``.
        interval: of the figure; for ``max`` and ``min``.
        before: the figure of the earlier result.
        p_value: of the test of `comparison.compare`, after its correction.
        shown: ``better`` or ``worse`` where that test shows it.
        cases: how many cases, or pairs, both results have.
        detectable: the change of the figure that the test has 80 % power to detect.
        blind: whether the test could show no loss even if all cases failed: too few pass before.
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
        """Its fields; see docs/ci.md."""
        return asdict(self)


def check_bounds(result: Result, bounds: Iterable[str], option: Option) -> list[Check]:
    """Check a result's figures against bounds.

    Args:
        result: whose figures are checked.
        bounds: texts ``FIGURE=PERCENT``, as the options ``--max`` and ``--min`` take them.
        option: ``max`` for the highest failure rates that pass, ``min`` for the lowest consistency.

    Raises:
        ScoringError: a text is no bound, or the result has no such figure; it says which.
    """
    figures = _failure_rates(result) if option == "max" else _consistencies(result)
    name_of = {name.casefold(): name for name in figures}
    checks: list[Check] = []
    for text in bounds:
        name, _, number = (part.strip() for part in text.partition("="))
        bound = _proportion(f"--{option} {text}", name, number, _EXAMPLE_OF[option])
        if (figure := name_of.get(name.casefold())) is None:
            raise ScoringError(
                f"--{option} {text}: the result has no such figure",
                hint=f"{did_you_mean(name, figures)}choose among "
                f"{', '.join(figures) or 'none: the suite has no contrasts'}",
            )
        value, interval = figures[figure]
        excess = bound - value if option == "min" else value - bound
        passed = excess <= _ROUNDING
        checks.append(Check(figure, option, passed, value, round(bound, 12), interval))
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
        name: (figures.all.failure_rate, figures.all.ci)
        for name, figures in result.capabilities.items()
    }


def _consistencies(result: Result) -> dict[str, tuple[float, tuple[float, float]]]:
    overall = result.overall.consistency
    return ({CONSISTENCY: (overall.macro, overall.macro_ci)} if overall else {}) | {
        f"{name}/{CONSISTENCY}": (figures.consistency.share, figures.consistency.ci)
        for name, figures in result.capabilities.items()
        if figures.consistency
    }


def check_no_worse(new: ScoredModel, old: ScoredModel) -> list[Check]:
    """Check a result against an earlier one by `comparison.compare`.

    Consistency comes first, then failure rates; the mean of several capabilities before these,
    tested by itself.

    Raises:
        ScoringError: the new one lacks cases or contrasts of the earlier one.
    """
    new_ids = {case.id for case in new.outcomes.suite.with_contrasts}
    lacking = [
        f"{len(ids):,} of the {len(cases):,} {kind} (first {ids[0]})"
        for kind, cases in (
            ("cases", old.outcomes.cases),
            ("contrasts", old.outcomes.suite.contrasts),
        )
        if (ids := [case.id for case in cases if case.id not in new_ids])
    ]
    if lacking:
        raise ScoringError(
            f"the new result lacks {' and '.join(lacking)} that the earlier one has",
            hint="score both on the same cases and contrasts",
        )
    pairs = comparison.paired_contrasts(old.outcomes, new.outcomes)
    cases = comparison.paired(old.outcomes, new.outcomes)
    return [*_no_worse_checks(*pairs, consistency=True), *_no_worse_checks(*cases)]


def _no_worse_checks(
    cases: Sequence[Case], before: Failed, after: Failed, *, consistency: bool = False
) -> list[Check]:
    """Checks of the mean and of each capability, by which of the cases, or pairs, fail."""
    if not cases:
        return []
    detectable = comparison.detectable(cases, before)
    blind = comparison.without_power(cases, before)
    checks: list[Check] = []
    for name, test in comparison.compare(cases, before, after).items():
        figure = name
        if consistency:
            figure = CONSISTENCY if name == MEAN else f"{name}/{CONSISTENCY}"
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
                # No more can be lost than passes before.
                detectable=min(detectable[name], 1 - test.rates[0]),
                blind=name in blind,
            )
        )
    return checks
