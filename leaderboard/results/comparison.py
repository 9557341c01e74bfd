"""Whether two models differ: exact paired tests of whole families."""

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
"""The name of the comparison of all capabilities together."""
LEVEL = 0.05
"""A difference whose adjusted p-value lies below is shown to be real."""
MIN_P_VALUE = 1e-9
POWER = 0.8
TEST_WORDS = (
    "Exact sign-flip test of the differences of whole families, Holm's correction over the "
    "capabilities"
)
_MIN_CELLS_FOR_FFT = 500
_WEIGHT_UNIT = 100


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison of two models on one capability, or of their means over several.

    Attributes:
        cases: that both were scored on.
        families: of these.
        first_only: how many cases the first model alone fails.
        second_only: how many the second alone fails.
        rates: the failure rate of each model; of several capabilities the mean of theirs.
        difference: the first model's failure rate less the second's, as it was tested.
        p_value: of the sign-flip test, see `sign_flip_p_values`.
        adjusted: the same after Holm's correction over the capabilities compared.
    """

    cases: int
    families: int
    first_only: int
    second_only: int
    rates: tuple[float, float]
    difference: float
    p_value: float
    adjusted: float

    @property
    def better(self) -> int | None:
        """0 where the first model is shown to be better, 1 for the second, else None."""
        return winner(self.difference, self.adjusted)

    def as_json(self) -> dict[str, Any]:
        """Its figures, and which model is ``better``: first, second or null; see docs/ci.md."""
        fields = asdict(self)
        del fields["rates"]
        better = None if self.better is None else ("first", "second")[self.better]
        return fields | {"better": better}


def winner(difference: float, adjusted: float) -> int | None:
    """Which of two models a test shows to be better; tables, pages and files all ask this.

    Args:
        difference: the first model's failures less the second's, in whatever unit was tested.
        adjusted: the p-value of the test after its correction.

    Returns:
        0 for the first model, 1 for the second, None where the test shows no difference.
    """
    if adjusted >= LEVEL or not difference:
        return None
    return int(difference > 0)


def sign_flip_p_values(differences: statistics.Integers) -> statistics.Floats:
    """P-values of the two-sided sign-flip test of family differences (Fisher 1935).

    If two models are equally good, a family's difference in failures is as likely to have the
    other sign. The p-value is the share of all sign assignments whose sum is at least as far from
    zero as the one observed. It is exact: the distribution of the sum is that of the differences
    with a plus, one size after the other.

    Args:
        differences: in failures, of each family, shape (pairs, families).

    Returns:
        Shape (pairs,); 1 where the sums are zero, and never below `MIN_P_VALUE`.
    """
    return np.array([_sign_flip_p_value(of_pair) for of_pair in differences])


def _sign_flip_p_value(differences: statistics.Integers) -> float:
    observed = abs(int(differences.sum()))
    if not observed:
        return 1.0
    count_of_size = np.bincount(np.abs(differences))
    sizes = np.flatnonzero(count_of_size[1:]) + 1
    total = int(sizes @ count_of_size[sizes])
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), count_of_size[sizes].tolist(), strict=True):
        of_size = np.zeros(size * count + 1)
        of_size[::size] = _binomial_chances(count)
        is_short = min(len(chances), len(of_size)) < _MIN_CELLS_FOR_FFT
        chances = (np.convolve if is_short else fftconvolve)(chances, of_size)
    # A sum is so far from zero if its positive part is at least half of what both come to.
    return float(np.clip(2 * chances[(total + observed) // 2 :].sum(), MIN_P_VALUE, 1))


@cache
def _binomial_chances(count: int) -> statistics.Floats:
    """The chance of each number of heads among ``count`` tosses of a coin."""
    return np.array([math.comb(count, number) / 2**count for number in range(count + 1)])


def holm(p_values: npt.ArrayLike) -> statistics.Floats:
    """Holm's step-down correction (Holm 1979) over the last axis, in the order given."""
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
        cases: the cases.
        groups: the numbers of each group's cases.
        failed: which cases each model fails, shape (models, cases).
        pairs: numbers of the models, shape (2, pairs).

    Returns:
        P-values, and how many cases more the first model of a pair fails; shape (pairs, groups).
    """
    p_values: list[statistics.Floats] = []
    differences: list[statistics.Integers] = []
    for numbers in groups:
        failures, _ = statistics.family_counts([cases[n] for n in numbers], failed[:, numbers])
        counts = np.rint(failures).astype(np.int64)
        of_family = counts[pairs[0]] - counts[pairs[1]]
        p_values.append(sign_flip_p_values(of_family))
        differences.append(of_family.sum(axis=1))
    return np.stack(p_values, axis=1), np.stack(differences, axis=1)


def compare(
    cases: Sequence[Case], first: statistics.Failed, second: statistics.Failed
) -> dict[str, Comparison]:
    """Compare two models by which of the same cases each fails; empty where there is no case.

    `MEAN` comes first where there are several capabilities, and is tested by itself; then each
    capability. For the cases of `paired_contrasts` consistency is compared.
    """
    if not cases:
        return {}
    numbers_of, both = statistics.numbers_by_capability(cases), np.stack([first, second])
    (p_values,), (differences,) = pair_tests(cases, numbers_of.values(), both, np.array([[0], [1]]))
    adjusted = holm(p_values)
    comparisons: dict[str, Comparison] = {}
    for place, (capability, numbers) in enumerate(numbers_of.items()):
        comparisons[capability] = _comparison(
            first[numbers],
            second[numbers],
            families=len(set(families_of([cases[n] for n in numbers]).tolist())),
            rates=(float(first[numbers].mean()), float(second[numbers].mean())),
            difference=float(differences[place] / len(numbers)),
            p_value=float(p_values[place]),
            adjusted=float(adjusted[place]),
        )
    if len(comparisons) == 1:
        return comparisons
    return {MEAN: _compare_means(cases, first, second)} | comparisons


def _comparison(first: statistics.Failed, second: statistics.Failed, **facts: Any) -> Comparison:
    """A comparison with its counts of cases."""
    return Comparison(
        cases=len(first),
        first_only=int((first & ~second).sum()),
        second_only=int((second & ~first).sum()),
        **facts,
    )


def _compare_means(
    cases: Sequence[Case], first: statistics.Failed, second: statistics.Failed
) -> Comparison:
    """Compare the means of two models' failure rates, by families across capabilities.

    A case weighs by how few its capability has; weights are rounded to a hundredth of the least.
    So the difference is that of the means, not that of the numbers of cases that fail.
    """
    numbers_of = statistics.numbers_by_capability(cases)
    largest = max(map(len, numbers_of.values()))
    weights = np.zeros(len(cases))
    for numbers in numbers_of.values():
        weights[numbers] = round(_WEIGHT_UNIT * largest / len(numbers))
    rates = [(first[numbers].mean(), second[numbers].mean()) for numbers in numbers_of.values()]
    mean_rates = np.mean(rates, axis=0)
    family = families_of(cases, across=True)
    of_family = np.bincount(family, weights * (first.astype(int) - second.astype(int)))
    (p_value,) = sign_flip_p_values(of_family.astype(np.int64)[None]).tolist()
    return _comparison(
        first,
        second,
        families=int(family.max()) + 1,
        rates=(float(mean_rates[0]), float(mean_rates[1])),
        difference=float(of_family.sum() / weights.sum()),
        p_value=p_value,
        adjusted=p_value,
    )


def detectable(cases: Sequence[Case], failed: statistics.Failed) -> dict[str, float]:
    """The change of each failure rate that `compare` has 80 % power to detect, and of `MEAN`.

    It assumes another model that fails as often, independently of this one: for models that agree
    more, a smaller change is enough.

    Args:
        cases: of one capability or more.
        failed: which of them a model fails.
    """
    families = statistics.families(cases)
    mean, of_capability = statistics.macro_evidence(families, failed)
    changes = _detectable_change(of_capability, LEVEL / len(families.names))
    by_name = dict(zip(families.names, changes.tolist(), strict=True))
    return {MEAN: float(_detectable_change(mean, LEVEL)), **by_name}


def _detectable_change(evidence: statistics.Evidence, level: float) -> statistics.Floats:
    quantile = NormalDist().inv_cdf
    spread = np.sqrt(2 * evidence.guess * (1 - evidence.guess) / evidence.size)
    return np.minimum(1, (quantile(1 - level / 2) + quantile(POWER)) * spread)


def without_power(cases: Sequence[Case], failed: statistics.Failed) -> set[str]:
    """The capabilities, or `MEAN`, in which `compare` could show no loss even if all cases failed.

    Too few of a model's cases pass there, or they come from too few sentences; see `detectable`.
    """
    tests = compare(cases, failed, np.ones_like(failed))
    capabilities = len(tests.keys() - {MEAN})
    factor_of = {name: 1 if name == MEAN else capabilities for name in tests}
    return {name for name, test in tests.items() if test.p_value * factor_of[name] >= LEVEL}


def paired(
    first: Outcomes, second: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases that two models were both scored on, and which of them each fails."""
    numbers, others = _shared(first.cases, second.cases)
    return [first.cases[n] for n in numbers], first.failed[numbers], second.failed[others]


def paired_contrasts(
    first: Outcomes, second: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases whose contrasts two models were both asked, and which pairs each fails."""
    pairs, other_pairs = first.pairs(), second.pairs()
    numbers, others = _shared(pairs.contrasts, other_pairs.contrasts)
    cases = [pairs.cases[n] for n in numbers]
    return cases, ~pairs.right[numbers], ~other_pairs.right[others]


def _shared(cases: Sequence[Case], others: Sequence[Case]) -> tuple[list[int], list[int]]:
    """The numbers of the cases that are among others, and the numbers that they have there."""
    number_of = {case.id: number for number, case in enumerate(others)}
    numbers = [number for number, case in enumerate(cases) if case.id in number_of]
    return numbers, [number_of[cases[number].id] for number in numbers]


def shown_p(p_value: float) -> float:
    """A p-value in three digits that lies on the same side of `LEVEL`."""
    rounded = float(f"{p_value:.3g}")
    return 0.0499 if rounded >= LEVEL > p_value else rounded
