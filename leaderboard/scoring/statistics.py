"""Failure rates with intervals that count families, pass-to-fail, and their bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from s2lct.suite.cases import Case, families_of
from s2lct.suite.tables import KINDS

RESAMPLES = 1_000
CONFIDENCE = 0.95
MEAN_WORDS = "Mean: of the capabilities' failure rates, each on its seeds and expansions together"
INTERVAL_WORDS = (
    "95 % intervals are Wilson's, at an effective sample size: a family (seeds made of the same "
    "corpus sentences, with their expansions) counts as one case as far as its cases fare alike"
)

Failed = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Rate:
    """A failure rate in [0, 1] (0 where there is no case), with bounds of its `intervals`."""

    cases: int
    failures: int
    failure_rate: float
    ci: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """What a model does on one capability: on both kinds together and on each, and flips.

    ``pass_to_fail`` of ``passing_expansions`` fail though their seed passes.
    """

    all: Rate
    seed: Rate
    expansion: Rate
    pass_to_fail: int
    passing_expansions: int
    fail_to_pass: int


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What a model does: `MEAN_WORDS`, and each capability in the order of the cases."""

    overall: Rate
    capabilities: dict[str, CapabilityResult]


_NO_RATE = Rate(0, 0, 0.0, (0.0, 1.0))


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


def mean_evidence(parts: Sequence[Evidence]) -> Evidence:
    """What independent parts tell of the mean of their failure rates (a stratified sample)."""
    guess = np.mean([part.guess for part in parts], axis=0)
    spread = np.sum([part.guess * (1 - part.guess) / part.size for part in parts], axis=0)
    size = guess * (1 - guess) * len(parts) ** 2 / spread
    return Evidence(np.mean([part.share for part in parts], axis=0), guess, size)


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


def rates_of(failed: Failed, known: Evidence) -> list[Rate]:
    """Each model's rate with its interval; ``failed`` has the shape (models, cases)."""
    columns = (failed.sum(axis=1), known.share, *intervals(known))
    return [
        Rate(failed.shape[1], count, share, (low, high))
        for count, share, low, high in zip(*(column.tolist() for column in columns), strict=True)
    ]


def rates(cases: Sequence[Case], failed: Failed) -> list[Rate]:
    """The failure rate of each model; ``failed`` has the shape (models, cases)."""
    if not len(cases):
        return [_NO_RATE] * len(failed)
    return rates_of(failed, evidence(*family_counts(cases, failed)))


def _seed_pairs(cases: Sequence[Case]) -> tuple[Integers, Integers]:
    """Numbers of the expansions and of their seeds, of each shape (pairs,)."""
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    pairs = [
        (n, seed_number[case.seed_id])
        for n, case in enumerate(cases)
        if case.kind == "expansion" and case.seed_id in seed_number
    ]
    expansions, seeds = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return expansions, seeds


def flips(cases: Sequence[Case], failed: Failed) -> tuple[list[int], list[int]]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    expansions, seeds = _seed_pairs(cases)
    to_fail = failed[expansions] & ~failed[seeds]
    to_pass = ~failed[expansions] & failed[seeds]
    return expansions[to_fail].tolist(), expansions[to_pass].tolist()


def model_figures(cases: Sequence[Case], failed: Failed) -> list[ModelFigures]:
    """What each model does, on all capabilities and on each; ``failed`` is (models, cases)."""
    if not len(cases):
        return [ModelFigures(_NO_RATE, {}) for _ in failed]
    parts: list[dict[str, CapabilityResult]] = [{} for _ in failed]
    known: list[Evidence] = []
    for capability, numbers in by_name(cases).items():
        own_cases, own_failed = [cases[n] for n in numbers], failed[:, numbers]
        known.append(evidence(*family_counts(own_cases, own_failed)))
        kinds = [rates_of(own_failed, known[-1])]
        for kind in KINDS:
            of_kind = [n for n, case in enumerate(own_cases) if case.kind == kind]
            kinds.append(rates([own_cases[n] for n in of_kind], own_failed[:, of_kind]))
        expansions, seeds = _seed_pairs(own_cases)
        fails, seed_fails = own_failed[:, expansions], own_failed[:, seeds]
        which = (fails & ~seed_fails, ~seed_fails, ~fails & seed_fails)
        counts = [mask.sum(axis=1).tolist() for mask in which]
        for part, figures in zip(parts, zip(*kinds, *counts, strict=True), strict=True):
            part[capability] = CapabilityResult(*figures)
    means = rates_of(failed, mean_evidence(known))
    return [ModelFigures(mean, part) for mean, part in zip(means, parts, strict=True)]


def by_name(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Numbers of the cases of each capability, in the order of the cases."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.capability, []).append(number)
    return numbers
