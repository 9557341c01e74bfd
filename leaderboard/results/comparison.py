"""Compare two models by exact paired tests of whole families of cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve

from s2lct.leaderboard.scoring import statistics
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case, families_of

MEAN = "mean"
"""The name, beside those of capabilities, of the comparison of the means over capabilities."""
LEVEL = 0.05
"""The significance level: a difference is shown if its adjusted p-value is smaller."""
MIN_P_VALUE = 1e-9
POWER = 0.8
TEST_WORDS = (
    "Exact sign-flip test of the differences of whole families, Holm's correction over the "
    "capabilities"
)
_MIN_CELLS_FOR_FFT = 500
_WEIGHT_UNIT = 100
_JSON_KEY_OF = {
    "case_count": "cases", "family_count": "families", "adjusted_p_value": "adjusted"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison of two models on one capability, or of their means over several.

    Attributes:
        case_count: the number of cases that both were scored on.
        family_count: the number of families of these cases.
        first_only: the number of cases that only the first model fails.
        second_only: the number of cases that only the second model fails.
        rates: the failure rate of each model; for `MEAN`, the mean over the capabilities.
        difference: the first model's failure rate minus the second's, as it was tested.
        p_value: the p-value of the sign-flip test, see `sign_flip_p_values`.
        adjusted_p_value: the p-value after Holm's correction over the capabilities compared.
    """

    case_count: int
    family_count: int
    first_only: int
    second_only: int
    rates: tuple[float, float]
    difference: float
    p_value: float
    adjusted_p_value: float

    @property
    def better(self) -> int | None:
        """0 where the first model is shown to be better, 1 for the second, else None."""
        return winner(self.difference, self.adjusted_p_value)

    def as_json(self) -> dict[str, Any]:
        """The comparison without ``rates``, with the keys that docs/ci.md describes."""
        fields = {_JSON_KEY_OF.get(name, name): value for name, value in asdict(self).items()}
        del fields["rates"]
        better = None if self.better is None else ("first", "second")[self.better]
        return fields | {"better": better}


def winner(difference: float, adjusted_p_value: float) -> int | None:
    """The model that a test shows to be better; used for tables, pages and files alike.

    Args:
        difference: the first model's failures minus the second's, in any unit.
        adjusted_p_value: the p-value of the test after Holm's correction.

    Returns:
        0 for the first model, 1 for the second, None where the test shows no difference.
    """
    if adjusted_p_value >= LEVEL or not difference:
        return None
    return int(difference > 0)


def sign_flip_p_values(differences: statistics.Integers) -> statistics.Floats:
    """P-values of the two-sided sign-flip test of family differences (Fisher 1935).

    If two models are equally good, each family's difference in failures is equally likely to have
    the other sign. The p-value is the share of all sign assignments whose sum is at least as far
    from zero as the observed sum. It is exact: the distribution of the sum is computed by
    convolution, one absolute size of differences after the other.

    Args:
        differences: the differences in failures, shape (pairs, families).

    Returns:
        P-values, shape (pairs,); 1 where the sum is zero, and never below `MIN_P_VALUE`.
    """
    return np.array([_sign_flip_p_value(family_differences) for family_differences in differences])


def _sign_flip_p_value(differences: statistics.Integers) -> float:
    observed = abs(int(differences.sum()))
    if not observed:
        return 1.0
    count_of_size = np.bincount(np.abs(differences))
    sizes = np.flatnonzero(count_of_size[1:]) + 1
    total = int(sizes @ count_of_size[sizes])
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), count_of_size[sizes].tolist(), strict=True):
        chances_of_size = np.zeros(size * count + 1)
        chances_of_size[::size] = _binomial_chances(count)
        is_short = min(len(chances), len(chances_of_size)) < _MIN_CELLS_FOR_FFT
        chances = (np.convolve if is_short else fftconvolve)(chances, chances_of_size)
    # |sum| >= observed if the part with a plus is at least half of total + observed.
    return float(np.clip(2 * chances[(total + observed) // 2 :].sum(), MIN_P_VALUE, 1))


@cache
def _binomial_chances(toss_count: int) -> statistics.Floats:
    """The chance of each number of heads, from 0 to ``toss_count``, in tosses of a fair coin."""
    return np.array([math.comb(toss_count, n) / 2**toss_count for n in range(toss_count + 1)])


def holm(p_values: npt.ArrayLike) -> statistics.Floats:
    """P-values after Holm's step-down correction (Holm 1979) over the last axis."""
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, axis=-1, kind="stable")
    ranked = np.take_along_axis(p_values, order, axis=-1) * np.arange(p_values.shape[-1], 0, -1)
    ranked = np.minimum(np.maximum.accumulate(ranked, axis=-1), 1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted


def pair_tests(
    cases: Sequence[Case],
    groups: Iterable[list[int]],
    failed: statistics.Failed,
    pairs: statistics.Integers,
) -> tuple[statistics.Floats, statistics.Integers]:
    """Test pairs of models on groups of cases.

    Args:
        cases: the cases that all models were scored on.
        groups: the numbers of the cases of each group, such as a capability.
        failed: whether each model fails each case, shape (models, cases).
        pairs: the numbers of both models of each pair, shape (2, pairs).

    Returns:
        P-values, and the first model's failures minus the second's; each of shape (pairs, groups).
    """
    p_values: list[statistics.Floats] = []
    differences: list[statistics.Integers] = []
    for numbers in groups:
        failures, _ = statistics.family_counts([cases[n] for n in numbers], failed[:, numbers])
        counts = np.rint(failures).astype(np.int64)
        family_differences = counts[pairs[0]] - counts[pairs[1]]
        p_values.append(sign_flip_p_values(family_differences))
        differences.append(family_differences.sum(axis=1))
    return np.stack(p_values, axis=1), np.stack(differences, axis=1)


def compare(
    cases: Sequence[Case], first_failed: statistics.Failed, second_failed: statistics.Failed
) -> dict[str, Comparison]:
    """Compare two models in each capability; empty if there is no case.

    If there are several capabilities, `MEAN`, a separate test, comes first. With the arguments
    that `paired_contrasts` returns, the comparison is of consistency.

    Args:
        cases: the cases that both models were scored on.
        first_failed: whether the first model fails each case, shape (cases,).
        second_failed: the same for the second model.
    """
    pair = np.array([[0], [1]])
    if not cases:
        return {}
    groups, failed = (
        statistics.indices_by_capability(cases),
        np.stack([first_failed, second_failed]),
    )
    (p_values,), (differences,) = pair_tests(cases, groups.values(), failed, pair)
    adjusted = holm(p_values)
    comparisons: dict[str, Comparison] = {}
    for index, (capability, numbers) in enumerate(groups.items()):
        comparisons[capability] = _comparison(
            first_failed[numbers],
            second_failed[numbers],
            family_count=len(set(families_of([cases[n] for n in numbers]).tolist())),
            rates=(float(first_failed[numbers].mean()), float(second_failed[numbers].mean())),
            difference=float(differences[index] / len(numbers)),
            p_value=float(p_values[index]),
            adjusted_p_value=float(adjusted[index]),
        )
    if len(comparisons) == 1:
        return comparisons
    return {MEAN: _compare_means(cases, first_failed, second_failed)} | comparisons


def _comparison(
    first_failed: statistics.Failed, second_failed: statistics.Failed, **other_fields: Any
) -> Comparison:
    """A comparison whose counts of cases follow from the failures."""
    return Comparison(
        case_count=len(first_failed),
        first_only=int((first_failed & ~second_failed).sum()),
        second_only=int((second_failed & ~first_failed).sum()),
        **other_fields,
    )


def _compare_means(
    cases: Sequence[Case], first_failed: statistics.Failed, second_failed: statistics.Failed
) -> Comparison:
    """Compare the means of two models' failure rates, by families across capabilities.

    The weight of a case is inverse to the number of cases of its capability, so that the difference
    is that of the means. Weights are rounded to hundredths of the smallest weight.
    """
    groups = statistics.indices_by_capability(cases).values()
    largest_count = max(map(len, groups))
    weights = np.zeros(len(cases))
    for numbers in groups:
        weights[numbers] = round(_WEIGHT_UNIT * largest_count / len(numbers))
    rates = [(first_failed[numbers].mean(), second_failed[numbers].mean()) for numbers in groups]
    mean_rates = np.mean(rates, axis=0)
    family_numbers = families_of(cases, across=True)
    family_differences = np.bincount(
        family_numbers, weights * (first_failed.astype(int) - second_failed.astype(int))
    )
    (p_value,) = sign_flip_p_values(family_differences.astype(np.int64)[None]).tolist()
    return _comparison(
        first_failed,
        second_failed,
        family_count=int(family_numbers.max()) + 1,
        rates=(float(mean_rates[0]), float(mean_rates[1])),
        difference=float(family_differences.sum() / weights.sum()),
        p_value=p_value,
        adjusted_p_value=p_value,
    )


def detectable_changes(cases: Sequence[Case], failed: statistics.Failed) -> dict[str, float]:
    """The change of each failure rate, and of `MEAN`, that `compare` has 80 % power to detect.

    The other model is assumed to fail as often, but independently. If the models agree more often,
    a smaller change is detected.

    Args:
        cases: the cases of one capability or more.
        failed: whether the model fails each case, shape (cases,).
    """
    families = statistics.families(cases)
    mean_evidence, capability_evidence = statistics.macro_evidence(families, failed)
    changes = _detectable_change(capability_evidence, LEVEL / len(families.names))
    change_of_capability = dict(zip(families.names, changes.tolist(), strict=True))
    return {MEAN: float(_detectable_change(mean_evidence, LEVEL)), **change_of_capability}


def _detectable_change(evidence: statistics.Evidence, level: float) -> statistics.Floats:
    quantile = NormalDist().inv_cdf
    spread = np.sqrt(2 * evidence.guess * (1 - evidence.guess) / evidence.size)
    return np.minimum(1, (quantile(1 - level / 2) + quantile(POWER)) * spread)


def without_power(cases: Sequence[Case], failed: statistics.Failed) -> set[str]:
    """The capabilities, or `MEAN`, where `compare` could show no loss even if all cases failed.

    There, too few of the model's cases pass, or they come from too few sentences.
    """
    tests = compare(cases, failed, np.ones_like(failed))
    capability_count = len(tests.keys() - {MEAN})
    holm_factor_of = {name: 1 if name == MEAN else capability_count for name in tests}
    return {name for name, test in tests.items() if test.p_value * holm_factor_of[name] >= LEVEL}


def paired_cases(
    first: Outcomes, second: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases that two models were both scored on, and whether each model fails each of them."""
    first_numbers, second_numbers = _shared_numbers(first.cases, second.cases)
    cases = [first.cases[n] for n in first_numbers]
    return cases, first.failed[first_numbers], second.failed[second_numbers]


def paired_contrasts(
    first: Outcomes, second: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases with a contrast in both outcomes, and whether each model fails each pair."""
    first_pairs, second_pairs = first.pairs(), second.pairs()
    first_numbers, second_numbers = _shared_numbers(first_pairs.contrasts, second_pairs.contrasts)
    cases = [first_pairs.cases[n] for n in first_numbers]
    return cases, ~first_pairs.right[first_numbers], ~second_pairs.right[second_numbers]


def _shared_numbers(first: Sequence[Case], second: Sequence[Case]) -> tuple[list[int], list[int]]:
    """The numbers of the cases that both sequences contain: in the first, and in the second."""
    second_number_of = {case.id: number for number, case in enumerate(second)}
    first_numbers = [number for number, case in enumerate(first) if case.id in second_number_of]
    return first_numbers, [second_number_of[first[number].id] for number in first_numbers]


def shown_p_value(p_value: float) -> float:
    """A p-value in three digits that stays on its side of `LEVEL`: 0.04999 becomes 0.0499."""
    rounded = float(f"{p_value:.3g}")
    return 0.0499 if rounded >= LEVEL > p_value else rounded
