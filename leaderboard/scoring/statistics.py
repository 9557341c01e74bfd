"""Intervals of failure rates that count families of cases, and their bootstrap."""

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
_MOST_KEPT = 32

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class _Same:
    """An argument that equals itself alone: telling a suite's cases by their content takes long."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


def once_for_the_same_cases(function: Callable[P, R]) -> Callable[P, R]:
    """Compute what follows from a suite's cases once for all its models; nobody may change it.

    It is kept where all arguments are tuples or texts, which do not change, for the last few.
    """

    @lru_cache(_MOST_KEPT)
    def kept(*arguments: _Same) -> R:
        return function(*(of.value for of in arguments))  # type: ignore[call-arg]

    @wraps(function)
    def asked(*arguments: P.args, **named: P.kwargs) -> R:
        if named or not all(isinstance(value, (tuple, str)) for value in arguments):
            return function(*arguments, **named)
        return kept(*map(_Same, arguments))

    return asked


def family_counts(cases: Sequence[Case], failed: Failed | Floats) -> tuple[Floats, Floats]:
    """Failures of each family, shape (families,) or (models, families), and its cases, (families,).

    ``failed`` says which cases fail, or what share of several answers to them, shape (cases,) or
    (models, cases).
    """
    family = families_of(cases)
    families = int(family.max(initial=-1)) + 1
    failures = np.zeros((*failed.shape[:-1], families))
    for place in np.ndindex(failed.shape[:-1]):
        failures[place] = np.bincount(family, failed[place], families)
    return failures, np.bincount(family, minlength=families).astype(np.float64)


def resampled_rates(failures: Floats, cases: Floats, seed: int) -> Floats:
    """Failure rates of bootstrap samples of whole families (Efron 1979; cluster bootstrap).

    Of the failures of each family, shape (families,) or (models, families), and its cases,
    (families,); all models are given the same samples. Shape (RESAMPLES,) or (RESAMPLES, models).
    """
    families = len(cases)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(families, np.full(families, 1 / families), size=RESAMPLES)
    # Whole numbers until the division: equal models get equal samples, to the last bit.
    sums = drawn.astype(np.float64) @ failures.T
    return np.asarray((sums.T / (drawn @ cases)).T)


def resampled_means(cases: Sequence[Case], failed: Failed, seed: int) -> tuple[Floats, Floats]:
    """Macro failure rates of models, and those of bootstrap samples of families across.

    The samples are linear in how often a family is drawn: a capability of few families, of which a
    sample may hold none, has a rate in each.

    Args:
        cases: of one capability or more, not empty.
        failed: which of them each model fails, shape (models, cases).
        seed: of the samples, which are the same for all models.

    Returns:
        Shapes (models,) and (RESAMPLES, models).
    """
    family = families_of(cases, across=True)
    families = int(family.max()) + 1
    capabilities = by_name(cases)
    means = np.zeros(len(failed))
    deviations = np.zeros(failed.shape)
    for numbers in capabilities.values():
        rates = failed[:, numbers].mean(axis=1)
        means += rates / len(capabilities)
        deviations[:, numbers] = failed[:, numbers] - rates[:, None]
        deviations[:, numbers] /= len(numbers) * len(capabilities)
    of_family = np.zeros((len(failed), families))
    np.add.at(of_family.T, family, deviations.T)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(families, np.full(families, 1 / families), size=RESAMPLES)
    return means, means + drawn.astype(np.float64) @ of_family.T


def interval(rates: Floats) -> tuple[float, float]:
    """The percentile interval of bootstrap rates."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    return float(low), float(high)


class Evidence(NamedTuple):
    """What cases tell of a failure rate, or of a mean of failure rates; arrays of one shape.

    The share that fails; a guess that is never 0 or 1, that share with one failing and one passing
    family more; and the effective sample size, of how many independent cases it is worth.
    """

    share: Floats
    guess: Floats
    size: Floats


def evidence(failures: Floats, cases: Floats) -> Evidence:
    """What families tell of a failure rate, by failures (…, families) and cases (families,)."""
    one = np.ones((len(cases), 1))
    return Evidence(*(figure[..., 0] for figure in _evidence(failures, cases, one)))


def _evidence(failures: Floats, cases: Floats, belongs: Floats) -> Evidence:
    """The same of each capability, (…, capabilities); ``belongs`` is 1 where a family is of it.

    Where no case fails, or all, or few, families say nothing of how alike their cases are, and a
    bootstrap is left without spread. So the effective sample size comes from the families and two
    more of mean size, one that fails and one that passes: cases count as families until the
    families show otherwise.
    """
    families, total = belongs.sum(axis=0), cases @ belongs
    mean = total / families
    failing = failures @ belongs
    guess = (failing + mean) / (total + 2 * mean)
    squares = (failures - guess @ belongs.T * cases) ** 2 @ belongs
    squares = squares + mean**2 * (guess**2 + (1 - guess) ** 2)
    variance = squares * (families + 2) / (families + 1) / (total + 2 * mean) ** 2
    size = guess * (1 - guess) / variance * total / (total + 2 * mean)
    return Evidence(failing / total, guess, np.minimum(size, total))


@dataclass(frozen=True)
class Families:
    """The families of cases, within capabilities and across them; see `families_of`.

    Attributes:
        names: of the capabilities.
        capability: the number of each case's capability.
        family: the number of each case's family within its capability.
        across: the number of each case's family across capabilities.
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
    def belongs(self) -> Floats:
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

    def count(self, some: Failed | Integers) -> Integers:
        """How many of some cases each capability has."""
        return np.bincount(self.capability[some], minlength=len(self.names))

    def restricted_to(self, some: Failed) -> Families:
        """The families of some of the cases, of which there is at least one."""
        present, capability = np.unique(self.capability[some], return_inverse=True)
        numbers = (np.unique(of[some], return_inverse=True)[1] for of in (self.family, self.across))
        return Families([self.names[number] for number in present], capability, *numbers)


@once_for_the_same_cases
def families(cases: Sequence[Case]) -> Families:
    """The families of cases."""
    names = list(by_name(cases))
    number_of = {name: number for number, name in enumerate(names)}
    capability = np.array([number_of[case.capability] for case in cases], dtype=np.int64)
    return Families(names, capability, families_of(cases), families_of(cases, across=True))


def micro_evidence(of: Families, failed: Failed) -> Evidence:
    """What cases tell of the share of them all that fails, shape (cases,)."""
    return evidence(np.bincount(of.across, failed).astype(np.float64), of.cases_across)


def mean_evidence(of: Families, failed: Failed) -> tuple[Evidence, Evidence]:
    """What cases tell of the mean of their capabilities' failure rates, and of each of these.

    The variance of the mean is that of independent capabilities, and the covariance of those that
    share families: one corpus sentence often serves several. It is never below what it would be if
    no two cases were alike.

    Args:
        of: the families of the cases, of one capability or more.
        failed: which of them fail, shape (cases,).

    Returns:
        Figures of no shape, and of shape (capabilities,).
    """
    failures = np.bincount(of.family, failed).astype(np.float64)
    each = _evidence(failures, of.cases, of.belongs)
    share, guess, size = each
    of_family = (failures - of.belongs @ guess * of.cases) / (of.belongs @ of.sizes)
    together = np.bincount(of.family_across, of_family)
    spread = (guess * (1 - guess) / size).sum() + (together**2).sum() - (of_family**2).sum()
    least = (guess * (1 - guess) / of.sizes).sum()
    mean = np.asarray(guess.mean())
    mean_size = mean * (1 - mean) * len(guess) ** 2 / np.maximum(spread, least)
    return Evidence(np.asarray(share.mean()), mean, np.asarray(mean_size)), each


def intervals(known: Evidence) -> tuple[Floats, Floats]:
    """Lower and upper bounds of Wilson's score interval (1927) at the effective sample size.

    Every share lies between its own. It holds its level best for proportions from clusters and
    strata, small and large ones (Dean and Pagano 2015, Journal of Survey Statistics and
    Methodology 3; Franco, Little, Louis and Slud 2019, ibid. 7).
    """
    share, _, size = known
    centre = (share + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    half = np.sqrt(share * (1 - share) / size + (_Z / (2 * size)) ** 2) * _Z / (1 + _Z**2 / size)
    return (
        np.maximum(np.minimum(centre - half, share), 0),
        np.minimum(np.maximum(centre + half, share), 1),
    )


@once_for_the_same_cases
def by_name(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Numbers of the cases of each capability, in the order of the cases."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.capability, []).append(number)
    return numbers
