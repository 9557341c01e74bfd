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
"""What stands for all capabilities."""
LEVEL = 0.05
"""A difference whose adjusted p-value lies below is shown."""
LEAST_P = 1e-9
"""Smaller p-values are told as this one."""
TEST_WORDS = (
    "Exact sign-flip test of the differences of whole families, Holm's correction over the "
    "capabilities"
)
_SHORT = 500
"""Cells of an array that need no Fourier transform to be folded with another."""
_WEIGHT = 100
_POWER = 0.8


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
        """What a program is told: counts, and which is ``better``: first, second or null."""
        fields = asdict(self)
        del fields["rates"]
        return fields | {
            "better": None if self.better is None else ("first", "second")[self.better]
        }


def winner(difference: float, adjusted: float) -> int | None:
    """Which of two models a test shows to be better; every page, table and file asks this.

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
        Shape (pairs,); 1 where the sums are zero, and never below `LEAST_P`.
    """
    return np.array([_sign_flip_p_value(one) for one in differences])


def _sign_flip_p_value(differences: statistics.Integers) -> float:
    observed = abs(int(differences.sum()))
    if not observed:
        return 1.0
    of_size = np.bincount(np.abs(differences))
    sizes = np.flatnonzero(of_size[1:]) + 1
    total = int(sizes @ of_size[sizes])
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), of_size[sizes].tolist(), strict=True):
        own = np.zeros(size * count + 1)
        own[::size] = _heads(count)
        together = np.convolve if min(len(chances), len(own)) < _SHORT else fftconvolve
        chances = together(chances, own)
    # So far from zero is a sum whose part with a plus is at least half of what both come to.
    return float(np.clip(2 * chances[(total + observed) // 2 :].sum(), LEAST_P, 1))


@cache
def _heads(count: int) -> statistics.Floats:
    """The chance of each number of heads of so many coins."""
    return np.array([math.comb(count, number) / 2**count for number in range(count + 1)])


def holm(p_values: npt.ArrayLike) -> statistics.Floats:
    """Holm's step-down correction (Holm 1979) over the last axis, in the order given."""
    given = np.asarray(p_values, dtype=np.float64)
    count = given.shape[-1]
    order = np.argsort(given, axis=-1, kind="stable")
    ranked = np.take_along_axis(given, order, axis=-1) * np.arange(count, 0, -1)
    ranked = np.minimum(np.maximum.accumulate(ranked, axis=-1), 1)
    adjusted = np.empty_like(given)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted


def pair_tests(
    cases: Sequence[Case],
    numbers: Iterable[list[int]],
    failed: statistics.Failed,
    pairs: statistics.Integers,
) -> tuple[statistics.Floats, statistics.Integers]:
    """P-values of pairs of models, and the differences that were tested; (pairs, groups of cases).

    A difference is how many cases more the first model of a pair fails.

    Args:
        cases: the cases.
        numbers: of the cases of each group.
        failed: which of them each model fails, shape (models, cases).
        pairs: numbers of the models, shape (2, pairs).
    """
    p_values: list[statistics.Floats] = []
    differences: list[statistics.Integers] = []
    for own in numbers:
        failures, _ = statistics.family_counts([cases[n] for n in own], failed[:, own])
        whole = np.rint(failures).astype(np.int64)
        of_family = whole[pairs[0]] - whole[pairs[1]]
        p_values.append(sign_flip_p_values(of_family))
        differences.append(of_family.sum(axis=1))
    return np.stack(p_values, axis=1), np.stack(differences, axis=1)


def compare(
    cases: Sequence[Case], first: statistics.Failed, second: statistics.Failed
) -> dict[str, Comparison]:
    """Compare two models by which of the same cases each fails; nothing where there is no case.

    `MEAN` comes first where there are several capabilities, and is tested by itself; then each
    capability. Of `paired_contrasts` pairs are compared: one fails of which not both pass.
    """
    if not cases:
        return {}
    numbers, both = statistics.by_name(cases), np.stack([first, second])
    (p_values,), (differences,) = pair_tests(cases, numbers.values(), both, np.array([[0], [1]]))
    of_capability = {
        capability: Comparison(
            cases=len(own),
            families=len(set(families_of([cases[n] for n in own]).tolist())),
            first_only=int((first[own] & ~second[own]).sum()),
            second_only=int((second[own] & ~first[own]).sum()),
            rates=(float(first[own].mean()), float(second[own].mean())),
            difference=difference / len(own),
            p_value=p_value,
            adjusted=adjusted,
        )
        for (capability, own), difference, p_value, adjusted in zip(
            numbers.items(),
            differences.tolist(),
            p_values.tolist(),
            holm(p_values).tolist(),
            strict=True,
        )
    }
    if len(of_capability) == 1:
        return of_capability
    return {MEAN: _compare_means(cases, first, second)} | of_capability


def _compare_means(
    cases: Sequence[Case], first: statistics.Failed, second: statistics.Failed
) -> Comparison:
    """Compare the means of two models' failure rates, by families across capabilities.

    A case weighs by how few its capability has; weights are rounded to a hundredth of the least.
    So the difference is that of the means, not that of the numbers of cases that fail.
    """
    numbers = statistics.by_name(cases)
    most = max(map(len, numbers.values()))
    weights = np.zeros(len(cases))
    for own in numbers.values():
        weights[own] = round(_WEIGHT * most / len(own))
    rates = np.mean([(first[own].mean(), second[own].mean()) for own in numbers.values()], axis=0)
    family = families_of(cases, across=True)
    change = np.bincount(family, weights * (first.astype(int) - second.astype(int)))
    (p_value,) = sign_flip_p_values(change.astype(np.int64)[None]).tolist()
    return Comparison(
        cases=len(cases),
        families=int(family.max()) + 1,
        first_only=int((first & ~second).sum()),
        second_only=int((second & ~first).sum()),
        rates=(float(rates[0]), float(rates[1])),
        difference=float(change.sum() / weights.sum()),
        p_value=p_value,
        adjusted=p_value,
    )


def detectable(cases: Sequence[Case], failed: statistics.Failed) -> dict[str, float]:
    """The change of a failure rate that `compare` shows with a probability of 80 %, by capability.

    It follows from what one model fails: of another that fails as often and independently of it,
    so that of models that agree more less is enough. That of the mean is under `MEAN`.
    """
    of = statistics.families(cases)
    mean, each = statistics.mean_evidence(of, failed)
    of_name = dict(zip(of.names, _seen(each, LEVEL / len(of.names)).tolist(), strict=True))
    return {MEAN: float(_seen(mean, LEVEL)), **of_name}


def blind(cases: Sequence[Case], failed: statistics.Failed) -> set[str]:
    """Where `compare` could show no loss, were every case failed: a capability, or `MEAN`.

    Too few cases pass, or they come of too few sentences; see `detectable`.
    """
    tests = compare(cases, failed, np.ones_like(failed))
    tried = {name: 1 if name == MEAN else len(tests.keys() - {MEAN}) for name in tests}
    return {name for name, test in tests.items() if test.p_value * tried[name] >= LEVEL}


def _seen(known: statistics.Evidence, level: float) -> statistics.Floats:
    quantile = NormalDist().inv_cdf
    spread = np.sqrt(2 * known.guess * (1 - known.guess) / known.size)
    return np.minimum(1, (quantile(1 - level / 2) + quantile(_POWER)) * spread)


def paired(
    one: Outcomes, other: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases that two models were both scored on, and which of them each fails."""
    number_of = {case.id: number for number, case in enumerate(other.cases)}
    first = [number for number, case in enumerate(one.cases) if case.id in number_of]
    second = [number_of[one.cases[number].id] for number in first]
    cases = [one.cases[number] for number in first]
    return cases, one.failed[first], other.failed[second]


def paired_contrasts(
    one: Outcomes, other: Outcomes
) -> tuple[list[Case], statistics.Failed, statistics.Failed]:
    """The cases with contrasts that two models were both asked, and which pairs each fails."""
    first, second = one.pairs(), other.pairs()
    number_of = {case.id: number for number, case in enumerate(second.contrasts)}
    shared = [n for n, case in enumerate(first.contrasts) if case.id in number_of]
    also = [number_of[first.contrasts[n].id] for n in shared]
    return [first.cases[n] for n in shared], ~first.right[shared], ~second.right[also]


def shown_p(p_value: float) -> float:
    """A p-value in three digits that lies on the same side of `LEVEL`."""
    shown = float(f"{p_value:.3g}")
    return 0.0499 if shown >= LEVEL > p_value else shown
