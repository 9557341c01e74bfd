"""The checks of `s2lct gate`: a model against bounds, and against an earlier result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
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
BoundOption = Literal["max", "min"]
_CHANGE_OF_WINNER: dict[int | None, Literal["better", "worse"] | None] = {
    None: None, 0: "worse", 1: "better"
}  # fmt: skip
_EXAMPLE_OF = {"max": "LC4=20 or mean=30", "min": "consistency=60 or LC4/consistency=50"}
_TOLERANCE = 1e-9
_JSON_KEYS = (
    *("figure", "asked", "passed", "found", "bound", "interval"),
    *("before", "p_value", "shown", "cases", "detectable", "blind"),
)
"""The keys of a check in JSON, in the order of the fields of `Check`."""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one figure against a bound, or against an earlier result on the same cases.

    Attributes:
        figure_name: ``consistency``, ``LC4/consistency``, ``LC4`` (a failure rate), or ``mean``
            (of the failure rates).
        kind: ``max`` or ``min`` for a bound, or ``no_worse``.
        passed: whether the check passes.
        value: the value of the figure, in [0, 1].
        bound: the bound, in [0, 1]; for ``max`` and ``min``.
        interval: the 95 % interval of the figure; for ``max`` and ``min``.
        earlier_value: the value in the earlier result; this and what follows for ``no_worse``.
        p_value: the p-value of `comparison.compare`, after Holm's correction.
        significant_change: ``better`` or ``worse`` where the test shows it.
        case_count: the number of cases, or pairs, in both results.
        detectable_change: the change of the figure that the test has 80 % power to detect.
        lacks_power: whether the test could not show a loss even if all cases failed, because too
            few pass in the earlier result.
    """

    figure_name: str
    kind: Literal["max", "min", "no_worse"]
    passed: bool
    value: float
    bound: float | None = None
    interval: tuple[float, float] | None = None
    earlier_value: float | None = None
    p_value: float | None = None
    significant_change: Literal["better", "worse"] | None = None
    case_count: int | None = None
    detectable_change: float | None = None
    lacks_power: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """The check with the keys that docs/ci.md describes."""
        return dict(zip(_JSON_KEYS, astuple(self), strict=True))


def check_bounds(result: Result, bounds: Iterable[str], option: BoundOption) -> list[Check]:
    """Check a result's figures against bounds.

    Args:
        result: the result to check.
        bounds: texts ``FIGURE=PERCENT``, as the options ``--max`` and ``--min`` take them.
        option: ``max`` for the highest failure rates that pass, ``min`` for the lowest consistency.

    Raises:
        ScoringError: a text is no bound, or the result has no figure of that name.
    """
    figures = _failure_rates(result) if option == "max" else _consistencies(result)
    name_of_folded = {name.casefold(): name for name in figures}
    checks: list[Check] = []
    for text in bounds:
        name, _, number = (part.strip() for part in text.partition("="))
        bound = _proportion(f"--{option} {text}", name, number, _EXAMPLE_OF[option])
        if (figure := name_of_folded.get(name.casefold())) is None:
            raise ScoringError(
                f"--{option} {text}: the result has no such figure",
                hint=f"{did_you_mean(name, figures)}choose among "
                f"{', '.join(figures) or 'none: the suite has no contrasts'}",
            )
        value, interval = figures[figure]
        excess = bound - value if option == "min" else value - bound
        passed = excess <= _TOLERANCE
        checks.append(Check(figure, option, passed, value, round(bound, 12), interval))
    return checks


def _proportion(argument: str, figure_name: str, text: str, example: str) -> float:
    """A bound in percent, ``60`` or ``60%``, as a proportion.

    A number that may already be a proportion, such as ``0.6``, is refused as ambiguous.

    >>> _proportion("--max LC4=60", "LC4", "60", "LC4=20")
    0.6
    """
    number = text.removesuffix("%").strip()
    try:
        bound = float(number)
    except ValueError:
        bound = -1
    if not 0 <= bound <= 100:
        raise ScoringError(f"{argument}: is no bound from 0 to 100 %", hint=f"write {example}")
    if number == text and (0 < bound < 1 or (bound == 1 and number != "1")):
        raise ScoringError(
            f"{argument}: is that {bound:g} % or {100 * bound:g} %?",
            hint=f"bounds are in percent: write {figure_name}={100 * bound:g} or "
            f"{figure_name}={bound:g}%",
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

    Consistency comes first, then failure rates. In each, the mean over the capabilities (a separate
    test) comes before the capabilities.

    Raises:
        ScoringError: the new result lacks cases or contrasts of the earlier one.
    """
    new_ids = {case.id for case in new.outcomes.suite.with_contrasts}
    missing = [
        f"{len(ids):,} of the {len(old_cases):,} {kind} (first {ids[0]})"
        for kind, old_cases in (
            ("cases", old.outcomes.cases),
            ("contrasts", old.outcomes.suite.contrasts),
        )
        if (ids := [case.id for case in old_cases if case.id not in new_ids])
    ]
    if missing:
        raise ScoringError(
            f"the new result lacks {' and '.join(missing)} that the earlier one has",
            hint="score both on the same cases and contrasts",
        )
    cases_and_failures = comparison.paired_cases(old.outcomes, new.outcomes)
    pairs_and_failures = comparison.paired_contrasts(old.outcomes, new.outcomes)
    return [
        *_no_worse_checks(*pairs_and_failures, is_consistency=True),
        *_no_worse_checks(*cases_and_failures),
    ]


def _no_worse_checks(
    cases: Sequence[Case],
    failed_before: Failed,
    failed_after: Failed,
    *,
    is_consistency: bool = False,
) -> list[Check]:
    """Checks of the mean and of each capability: of consistency, or else of failure rates.

    ``failed_before`` and ``failed_after`` say whether each case, or pair, fails in a result.
    """
    if not cases:
        return []
    detectable_changes = comparison.detectable_changes(cases, failed_before)
    names_without_power = comparison.without_power(cases, failed_before)
    checks: list[Check] = []
    for name, test in comparison.compare(cases, failed_before, failed_after).items():
        figure_name = name
        if is_consistency:
            figure_name = CONSISTENCY if name == MEAN else f"{name}/{CONSISTENCY}"
        old_rate, new_rate = (1 - rate if is_consistency else rate for rate in test.rates)
        checks.append(
            Check(
                figure_name,
                "no_worse",
                test.better != 0,
                new_rate,
                earlier_value=old_rate,
                p_value=test.adjusted_p_value,
                significant_change=_CHANGE_OF_WINNER[test.better],
                case_count=test.case_count,
                # No more can be lost than passes in the earlier result.
                detectable_change=min(detectable_changes[name], 1 - test.rates[0]),
                lacks_power=name in names_without_power,
            )
        )
    return checks
