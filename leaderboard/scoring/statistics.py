"""Intervals of failure rates that count families of cases, not cases."""

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

P = ParamSpec("P")
R = TypeVar("R")
_MAX_KEPT = 32

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class _ByIdentity:
    """An argument that equals only itself: comparing a suite's cases by content takes long."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value


def cached_by_identity(function: Callable[P, R]) -> Callable[P, R]:
    """Cache what follows from a suite's cases, for all its models; no caller may change it.

    Results of the last few calls are kept, if all arguments are tuples or texts.
    """

    @lru_cache(_MAX_KEPT)
    def cached(*arguments: _ByIdentity) -> R:
        return function(*(argument.value for argument in arguments))  # type: ignore[call-arg]

    @wraps(function)
    def wrapper(*arguments: P.args, **named: P.kwargs) -> R:
        if named or not all(isinstance(value, (tuple, str)) for value in arguments):
            return function(*arguments, **named)
        return cached(*map(_ByIdentity, arguments))

    return wrapper


def family_counts(cases: Sequence[Case], failed: Failed | Floats) -> tuple[Floats, Floats]:
    """Failures of each family, shape (…, families), and its number of cases, shape (families,).

    Args:
        cases: the cases.
        failed: which of them fail, or a share of several answers to each, shape (…, cases).
    """
    family = families_of(cases)
    families = int(family.max(initial=-1)) + 1
    failures = np.zeros((*failed.shape[:-1], families))
    for place in np.ndindex(failed.shape[:-1]):
        failures[place] = np.bincount(family, failed[place], families)
    return failures, np.bincount(family, minlength=families).astype(np.float64)


def resampled_rates(failures: Floats, cases: Floats, seed: int) -> Floats:
    """Failure rates of bootstrap samples of whole families (Efron 1979), shape (RESAMPLES,).

    Args:
        failures: of each family, shape (families,).
        cases: of each family, shape (families,).
        seed: of the samples.
    """
    families = len(cases)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(families, np.full(families, 1 / families), size=RESAMPLES)
    return np.asarray((drawn @ failures) / (drawn @ cases))


def interval(rates: Floats) -> tuple[float, float]:
    """The percentile interval of bootstrap rates."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    return float(low), float(high)


class Evidence(NamedTuple):
    """What an interval of a failure rate is computed from; arrays of one shape.

    Attributes:
        share: of the cases that fail.
        guess: the same with one failing and one passing family more, so that it is never 0 or 1.
        size: the effective sample size: the number of independent cases that tell as much.
    """

    share: Floats
    guess: Floats
    size: Floats


def evidence(failures: Floats, cases: Floats) -> Evidence:
    """The evidence on one failure rate.

    Args:
        failures: of each family, shape (…, families).
        cases: of each family, shape (families,).
    """
    all_in_one = np.ones((len(cases), 1))
    return Evidence(*(figure[..., 0] for figure in _evidence(failures, cases, all_in_one)))


def _evidence(failures: Floats, cases: Floats, is_in_capability: Floats) -> Evidence:
    """The same for each capability; ``is_in_capability`` is 1 where a family is of it.

    Where hardly any or nearly all cases fail, families do not show how alike their cases are. So
    the effective sample size is computed with two more families of mean size, one that fails and
    one that passes: cases count as whole families until the families show otherwise.
    """
    families, total = is_in_capability.sum(axis=0), cases @ is_in_capability
    mean = total / families
    failing = failures @ is_in_capability
    guess = (failing + mean) / (total + 2 * mean)
    squares = (failures - guess @ is_in_capability.T * cases) ** 2 @ is_in_capability
    squares = squares + mean**2 * (guess**2 + (1 - guess) ** 2)
    variance = squares * (families + 2) / (families + 1) / (total + 2 * mean) ** 2
    size = guess * (1 - guess) / variance * total / (total + 2 * mean)
    return Evidence(failing / total, guess, np.minimum(size, total))


@dataclass(frozen=True)
class Families:
    """The families of cases, within capabilities and across them; see `families_of`.

    Attributes:
        names: of the capabilities.
        capability: of each case, the number of its capability.
        family: of each case, the number of its family within the capability.
        across: of each case, the number of its family across capabilities.
    """

    names: list[str]
    capability: Integers
    family: Integers
    across: Integers

    @cached_property
    def cases(self) -> Floats:
        """How many cases each family within a capability has."""
        return np.bincount(self.family).astype(np.float64)

    @cached_property
    def _first(self) -> Integers:
        """The number of a case of each family within a capability."""
        return np.unique(self.family, return_index=True)[1]

    @cached_property
    def is_in_capability(self) -> Floats:
        """1 where a family is of a capability, shape (families, capabilities)."""
        capability = self.capability[self._first]
        return np.asarray(capability[:, None] == np.arange(len(self.names)), dtype=np.float64)

    @cached_property
    def sizes(self) -> Integers:
        """How many cases each capability has."""
        return np.bincount(self.capability, minlength=len(self.names))

    @cached_property
    def family_across(self) -> Integers:
        """Of each family within a capability, which it is across."""
        return self.across[self._first]

    @cached_property
    def cases_across(self) -> Floats:
        """How many cases each family across capabilities has."""
        return np.bincount(self.across).astype(np.float64)

    def count(self, chosen: Failed | Integers) -> Integers:
        """How many of the chosen cases each capability has."""
        return np.bincount(self.capability[chosen], minlength=len(self.names))

    def restricted_to(self, chosen: Failed) -> Families:
        """The families of the chosen cases."""
        present, capability = np.unique(self.capability[chosen], return_inverse=True)
        family, across = (
            np.unique(numbers[chosen], return_inverse=True)[1]
            for numbers in (self.family, self.across)
        )
        return Families([self.names[number] for number in present], capability, family, across)


@cached_by_identity
def families(cases: Sequence[Case]) -> Families:
    """The families of cases."""
    names = list(numbers_by_capability(cases))
    number_of = {name: number for number, name in enumerate(names)}
    capability = np.array([number_of[case.capability] for case in cases], dtype=np.int64)
    return Families(names, capability, families_of(cases), families_of(cases, across=True))


def micro_evidence(groups: Families, failed: Failed) -> Evidence:
    """The evidence on the share of all cases that fails; see `macro_evidence`."""
    return evidence(np.bincount(groups.across, failed).astype(np.float64), groups.cases_across)


def macro_evidence(groups: Families, failed: Failed) -> tuple[Evidence, Evidence]:
    """The evidence on the mean of the capabilities' failure rates, and on each of these.

    The variance of the mean is that of independent capabilities, and the covariance of those that
    share families: one corpus sentence often serves several. It is never below what it would be if
    no two cases were alike.

    Args:
        groups: the families of the cases, of one capability or more.
        failed: which of the cases fail, shape (cases,).

    Returns:
        Figures of no shape, and of shape (capabilities,).
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

    Of proportions from clusters and strata it covers small and large ones best (Dean and Pagano
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
def numbers_by_capability(cases: Sequence[Case]) -> dict[str, list[int]]:
    """The numbers of the cases of each capability, in the order of the cases."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.capability, []).append(number)
    return numbers
