"""Intervals of failure rates that count families of cases, and their bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

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

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def family_counts(
    cases: Sequence[Case], failed: Failed | Floats, *, across: bool = False
) -> tuple[Floats, Floats]:
    """Failures of each family, shape (families,) or (models, families), and its cases, (families,).

    ``failed`` says which cases fail, or what share of several answers to them, shape (cases,) or
    (models, cases). Families are within capabilities, or ``across`` them, see `families_of`.
    """
    family = families_of(cases, across=across)
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
    """What families tell of a failure rate, by failures (…, families) and cases (families,); (…).

    Where no case fails, or all, or few, families say nothing of how alike their cases are, and a
    bootstrap is left without spread. So the effective sample size comes from the families and two
    more of mean size, one that fails and one that passes: cases count as families until the
    families show otherwise.
    """
    families, total, mean = len(cases), cases.sum(), cases.mean()
    failing = failures.sum(axis=-1)
    guess = (failing + mean) / (total + 2 * mean)
    squares = ((failures - guess[..., None] * cases) ** 2).sum(axis=-1)
    squares = squares + mean**2 * (guess**2 + (1 - guess) ** 2)
    variance = squares * (families + 2) / (families + 1) / (total + 2 * mean) ** 2
    size = guess * (1 - guess) / variance * total / (total + 2 * mean)
    return Evidence(failing / total, guess, np.minimum(size, total))


def mean_evidence(cases: Sequence[Case], failed: Failed) -> tuple[Evidence, dict[str, Evidence]]:
    """What cases tell of the mean of their capabilities' failure rates, and of each of these.

    The variance of the mean is that of independent capabilities, and the covariance of those that
    share families: one corpus sentence often serves several. It is never below what it would be if
    no two cases were alike.

    Args:
        cases: of one capability or more.
        failed: which of them fail, shape (cases,).
    """
    family = families_of(cases, across=True)
    parts: dict[str, Evidence] = {}
    deviations = []
    least = spread = 0.0
    for name, numbers in by_name(cases).items():
        part = evidence(*family_counts([cases[number] for number in numbers], failed[numbers]))
        parts[name] = part
        least += float(part.guess * (1 - part.guess)) / len(numbers)
        spread += float(part.guess * (1 - part.guess) / part.size)
        own = (failed[numbers] - part.guess) / len(numbers)
        deviations.append(np.bincount(family[numbers], own, family.max() + 1))
    of_family = np.array(deviations)
    spread += float((of_family.sum(axis=0) ** 2).sum() - (of_family**2).sum())
    guess = np.mean([part.guess for part in parts.values()])
    size = guess * (1 - guess) * len(parts) ** 2 / max(spread, least)
    share = np.mean([part.share for part in parts.values()])
    return Evidence(np.asarray(share), np.asarray(guess), np.asarray(size)), parts


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


def by_name(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Numbers of the cases of each capability, in the order of the cases."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.capability, []).append(number)
    return numbers
