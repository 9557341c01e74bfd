"""Failure rates with intervals, pass-to-fail, and paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.leaderboard.cases import KINDS, Case

RESAMPLES = 1_000
CONFIDENCE = 0.95
Failed = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rate:
    """A failure rate.

    Attributes:
        cases: how many cases.
        failures: how many of them fail.
        failure_rate: in [0, 1]; 0 where there is no case.
        ci: bounds of the bootstrap interval, in [0, 1].
    """

    cases: int
    failures: int
    failure_rate: float
    ci: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """What a model does on one capability.

    Attributes:
        seed, expansion: failure rates on seeds and on expansions.
        pass_to_fail: expansions that fail while their seed passes.
        fail_to_pass: expansions that pass while their seed fails.
    """

    seed: Rate
    expansion: Rate
    pass_to_fail: int
    fail_to_pass: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison of two models on one capability.

    Attributes:
        cases: cases that both were scored on.
        first_only: failures of the first model alone.
        second_only: failures of the second alone.
        p_value: of the exact McNemar test; 1 where nothing disagrees.
        adjusted: after Holm's correction over the capabilities compared.
    """

    cases: int
    first_only: int
    second_only: int
    p_value: float
    adjusted: float


def family_counts(cases: Sequence[Case], failed: Failed) -> tuple[Floats, Floats]:
    """Failures and cases of each seed family, a seed with its expansions: shape (families,)."""
    number_of: dict[str, int] = {}
    family = np.array(
        [number_of.setdefault(case.seed_id, len(number_of)) for case in cases], dtype=np.int64
    )
    failures = np.bincount(family, weights=failed, minlength=len(number_of))
    return failures.astype(np.float64), np.bincount(family, minlength=len(number_of)).astype(
        np.float64
    )


def resampled_rates(failures: Floats, cases: Floats, seed: int) -> Floats:
    """Failure rates of bootstrap samples of whole families (Efron 1979; cluster bootstrap).

    Args:
        failures: of each family, shape (families,).
        cases: of each family, likewise.
        seed: of the samples.

    Returns:
        Shape (RESAMPLES,).
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


def rate(cases: Sequence[Case], failed: Failed, seed: int = 0) -> Rate:
    """The failure rate of cases.

    Args:
        cases: the cases.
        failed: which of them fail, shape (cases,).
        seed: of the bootstrap.
    """
    if not len(cases):
        return Rate(0, 0, 0.0, (0.0, 0.0))
    failures = int(failed.sum())
    bounds = interval(resampled_rates(*family_counts(cases, failed), seed))
    return Rate(len(cases), failures, failures / len(cases), bounds)


def flips(cases: Sequence[Case], failed: Failed) -> tuple[list[int], list[int]]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    seed_failed = {
        case.id: bool(fails)
        for case, fails in zip(cases, failed, strict=True)
        if case.kind == "seed"
    }
    to_fail: list[int] = []
    to_pass: list[int] = []
    for number, (case, fails) in enumerate(zip(cases, failed, strict=True)):
        if case.kind != "expansion" or case.seed_id not in seed_failed:
            continue
        if fails and not seed_failed[case.seed_id]:
            to_fail.append(number)
        elif not fails and seed_failed[case.seed_id]:
            to_pass.append(number)
    return to_fail, to_pass


def by_capability(
    cases: Sequence[Case], failed: Failed, seed: int = 0
) -> dict[str, CapabilityResult]:
    """Rates and flips of each capability, in the order of the cases."""
    results: dict[str, CapabilityResult] = {}
    for capability in dict.fromkeys(case.capability for case in cases):
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        rates: dict[str, Rate] = {}
        for kind in KINDS:
            of_kind = [n for n in own if cases[n].kind == kind]
            rates[kind] = rate([cases[n] for n in of_kind], failed[of_kind], seed)
        own_cases = [cases[n] for n in own]
        to_fail, to_pass = flips(own_cases, failed[own])
        results[capability] = CapabilityResult(
            rates["seed"],
            rates["expansion"],
            len(to_fail),
            len(to_pass),
        )
    return results


def macro_average(cases: Sequence[Case], failed: Failed, seed: int = 0) -> Rate:
    """The mean of the capabilities' failure rates, its interval from families within each."""
    rates: list[float] = []
    samples: list[Floats] = []
    for number, capability in enumerate(dict.fromkeys(case.capability for case in cases)):
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        rates.append(float(failed[own].mean()))
        counts = family_counts([cases[n] for n in own], failed[own])
        samples.append(resampled_rates(*counts, seed + number))
    if not rates:
        return Rate(0, 0, 0.0, (0.0, 0.0))
    bounds = interval(np.mean(samples, axis=0))
    return Rate(len(cases), int(failed.sum()), float(np.mean(rates)), bounds)


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact McNemar test (McNemar 1947): a two-sided binomial test of the disagreements.

    Returns:
        The p-value; 1 where nothing disagrees.
    """
    from scipy.stats import binomtest

    disagreements = first_only + second_only
    return float(binomtest(first_only, disagreements).pvalue) if disagreements else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Holm 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, number in enumerate(sorted(range(len(p_values)), key=lambda n: p_values[n])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[number]))
        adjusted[number] = largest
    return adjusted


def compare(cases: Sequence[Case], first: Failed, second: Failed) -> dict[str, Comparison]:
    """Compare two models on the same cases, capability by capability.

    Args:
        cases: the cases both were scored on.
        first: which cases the first model fails, shape (cases,).
        second: which the second fails.
    """
    counted: dict[str, tuple[int, int, int]] = {}
    for capability in dict.fromkeys(case.capability for case in cases):
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        counted[capability] = (
            len(own),
            int((first[own] & ~second[own]).sum()),
            int((second[own] & ~first[own]).sum()),
        )
    p_values = [mcnemar(a, b) for _, a, b in counted.values()]
    return {
        capability: Comparison(count, a, b, p_value, adjusted)
        for (capability, (count, a, b)), p_value, adjusted in zip(
            counted.items(), p_values, holm(p_values), strict=True
        )
    }
