"""Intervals of failure rates, in which families of cases count, not single cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from statistics import NormalDist
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.suite.cases import Case, families_of

RESAMPLES = 1_000
CONFIDENCE = 0.95
INTERVAL_WORDS = (
    "95 % intervals are Wilson's, at an effective sample size: a family (seeds made of the same "
    "corpus sentences, with their expansions; for the macro and micro figures in whichever "
    "capabilities) counts as one case as far as its cases fare alike"
)

Failed = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_MAX_CACHED = 32

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class _ByIdentity:
    """A cache key for an object, compared by identity: comparing cases by content takes long."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value


def cached_by_identity(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Cache the results of a function of a suite's cases; callers must not change the results.

    The results of the last `_MAX_CACHED` calls whose arguments are all tuples or strings are kept.
    """

    @lru_cache(_MAX_CACHED)
    def cached(*arguments: _ByIdentity) -> Result:
        return function(*(argument.value for argument in arguments))  # type: ignore[call-arg]

    @wraps(function)
    def wrapper(*arguments: Parameters.args, **keyword_arguments: Parameters.kwargs) -> Result:
        if keyword_arguments or not all(isinstance(value, (tuple, str)) for value in arguments):
            return function(*arguments, **keyword_arguments)
        return cached(*map(_ByIdentity, arguments))

    return wrapper


def family_counts(cases: Sequence[Case], failed: Failed | Floats) -> tuple[Floats, Floats]:
    """Failures of each family, shape (…, families), and its number of cases, shape (families,).

    Args:
        cases: the cases.
        failed: which cases fail, or the failing share of several answers, shape (…, cases).
    """
    family = families_of(cases)
    family_count = int(family.max(initial=-1)) + 1
    failures = np.zeros((*failed.shape[:-1], family_count))
    for answer_index in np.ndindex(failed.shape[:-1]):
        failures[answer_index] = np.bincount(family, failed[answer_index], family_count)
    return failures, np.bincount(family, minlength=family_count).astype(np.float64)


def resampled_rates(failures: Floats, cases: Floats, random_seed: int) -> Floats:
    """Failure rates of bootstrap samples of whole families (Efron 1979), shape (RESAMPLES,).

    Args:
        failures: number of failures of each family, shape (families,).
        cases: number of cases of each family, shape (families,).
        random_seed: the seed of the samples.
    """
    family_count = len(cases)
    generator = np.random.default_rng(random_seed)
    probabilities = np.full(family_count, 1 / family_count)
    sample_counts = generator.multinomial(family_count, probabilities, size=RESAMPLES)
    return np.asarray((sample_counts @ failures) / (sample_counts @ cases))


def interval(rates: Floats) -> tuple[float, float]:
    """The interval between percentiles of bootstrap rates, at the level `CONFIDENCE`."""
    tail_share = (1 - CONFIDENCE) / 2
    low, high = np.quantile(rates, [tail_share, 1 - tail_share])
    return float(low), float(high)


class Evidence(NamedTuple):
    """The figures from which the interval of a failure rate is computed; arrays of one shape.

    Attributes:
        share: the share of cases that fail.
        guess: that share with one more failing and one more passing family: never 0 or 1.
        size: the effective sample size: how many independent cases would be as informative.
    """

    share: Floats
    guess: Floats
    size: Floats


def evidence(failures: Floats, cases: Floats) -> Evidence:
    """The evidence on one failure rate.

    Args:
        failures: number of failures of each family, shape (…, families).
        cases: number of cases of each family, shape (families,).
    """
    all_in_one = np.ones((len(cases), 1))
    return Evidence(*(figure[..., 0] for figure in _evidence(failures, cases, all_in_one)))


def _evidence(failures: Floats, cases: Floats, is_in_capability: Floats) -> Evidence:
    """The evidence on each capability; ``is_in_capability`` is 1 if a family belongs to it.

    If hardly any or nearly all cases fail, families do not show how alike their cases are. So the
    effective sample size is computed with two more families of mean size, one that fails and one
    that passes: a family counts as one case until the data show otherwise.
    """
    n_families, n_cases = is_in_capability.sum(axis=0), cases @ is_in_capability
    mean_size = n_cases / n_families
    n_failures = failures @ is_in_capability
    guess = (n_failures + mean_size) / (n_cases + 2 * mean_size)
    squares = (failures - guess @ is_in_capability.T * cases) ** 2 @ is_in_capability
    squares = squares + mean_size**2 * (guess**2 + (1 - guess) ** 2)
    variance = squares * (n_families + 2) / (n_families + 1) / (n_cases + 2 * mean_size) ** 2
    size = guess * (1 - guess) / variance * n_cases / (n_cases + 2 * mean_size)
    return Evidence(n_failures / n_cases, guess, np.minimum(size, n_cases))


@dataclass(frozen=True)
class Families:
    """The families of cases, within capabilities and across them; see `families_of`.

    Attributes:
        names: the names of the capabilities.
        capability: index of each case's capability in ``names``, shape (cases,).
        family: number of each case's family within its capability, shape (cases,).
        across: number of each case's family across capabilities, shape (cases,).
    """

    names: list[str]
    capability: Integers
    family: Integers
    across: Integers

    @cached_property
    def cases(self) -> Floats:
        """The number of cases of each family within a capability, shape (families,)."""
        return np.bincount(self.family).astype(np.float64)

    @cached_property
    def _index_of_a_case(self) -> Integers:
        """The index of one case of each family within a capability."""
        return np.unique(self.family, return_index=True)[1]

    @cached_property
    def is_in_capability(self) -> Floats:
        """1 if a family belongs to a capability, else 0; shape (families, capabilities)."""
        capability = self.capability[self._index_of_a_case]
        return np.asarray(capability[:, None] == np.arange(len(self.names)), dtype=np.float64)

    @cached_property
    def sizes(self) -> Integers:
        """The number of cases of each capability."""
        return np.bincount(self.capability, minlength=len(self.names))

    @cached_property
    def family_across(self) -> Integers:
        """For each family within a capability, the number of its family across capabilities."""
        return self.across[self._index_of_a_case]

    @cached_property
    def cases_across(self) -> Floats:
        """The number of cases of each family across capabilities."""
        return np.bincount(self.across).astype(np.float64)

    def count(self, chosen: Failed | Integers) -> Integers:
        """The number of the chosen cases (a mask or indices) in each capability."""
        return np.bincount(self.capability[chosen], minlength=len(self.names))

    def restricted_to(self, chosen: Failed) -> Families:
        """The families of the chosen cases only; ``chosen`` is a mask."""
        present, capability = np.unique(self.capability[chosen], return_inverse=True)
        family, across = (
            np.unique(values[chosen], return_inverse=True)[1]
            for values in (self.family, self.across)
        )
        return Families([self.names[index] for index in present], capability, family, across)


@cached_by_identity
def families(cases: Sequence[Case]) -> Families:
    """The families of cases."""
    names = list(indices_by_capability(cases))
    index_of_name = {name: index for index, name in enumerate(names)}
    capability = np.array([index_of_name[case.capability] for case in cases], dtype=np.int64)
    return Families(names, capability, families_of(cases), families_of(cases, across=True))


def micro_evidence(groups: Families, failed: Failed) -> Evidence:
    """The evidence on the share of all cases that fails; see `macro_evidence`."""
    return evidence(np.bincount(groups.across, failed).astype(np.float64), groups.cases_across)


def macro_evidence(groups: Families, failed: Failed) -> tuple[Evidence, Evidence]:
    """The evidence on the mean of the capabilities' failure rates, and on each of these rates.

    The variance of the mean includes the covariance of capabilities that share families: one corpus
    sentence often serves several. It is at least the variance of independent cases.

    Args:
        groups: the families of the cases, of one capability or more.
        failed: which cases fail, shape (cases,).

    Returns:
        Evidence with scalars, and evidence of shape (capabilities,).
    """
    failures = np.bincount(groups.family, failed).astype(np.float64)
    of_capability = _evidence(failures, groups.cases, groups.is_in_capability)
    share, guess, size = of_capability
    deviation = failures - groups.is_in_capability @ guess * groups.cases
    deviation = deviation / (groups.is_in_capability @ groups.sizes)
    across = np.bincount(groups.family_across, deviation)
    variance = (guess * (1 - guess) / size).sum() + (across**2).sum() - (deviation**2).sum()
    least_variance = (guess * (1 - guess) / groups.sizes).sum()
    mean = np.asarray(guess.mean())
    mean_size = mean * (1 - mean) * len(guess) ** 2 / np.maximum(variance, least_variance)
    return Evidence(np.asarray(share.mean()), mean, np.asarray(mean_size)), of_capability


def intervals(evidence: Evidence) -> tuple[Floats, Floats]:
    """Lower and upper bounds of Wilson's score interval (1927) at the effective sample size.

    For small and large proportions from clusters and strata its coverage is best (Dean and Pagano
    2015, Journal of Survey Statistics and Methodology 3; Franco, Little, Louis and Slud 2019,
    ibid. 7).
    """
    share, _, size = evidence
    centre = (share + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    half = np.sqrt(share * (1 - share) / size + (_Z / (2 * size)) ** 2) * _Z / (1 + _Z**2 / size)
    return (
        np.maximum(np.minimum(centre - half, share), 0),
        np.minimum(np.maximum(centre + half, share), 1),
    )


@cached_by_identity
def indices_by_capability(cases: Sequence[Case]) -> dict[str, list[int]]:
    """The indices of each capability's cases, in the order of the cases."""
    indices: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        indices.setdefault(case.capability, []).append(index)
    return indices
