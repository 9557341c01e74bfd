"""Failure rates with intervals, chance, pass-to-fail, and paired tests: all by families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import KINDS, Case

RESAMPLES = 1_000
CONFIDENCE = 0.95
LEVEL = 0.05
"""A difference whose adjusted p-value lies below is shown."""
LEAST_P = 1e-9
"""Smaller p-values are told as this one."""
ONE_ANSWER = 0.95
"""A model that gives one answer to this share of the cases hardly reads them."""
RANDOM = "random"

MEAN_WORDS = "Mean: of the capabilities' failure rates, each on its seeds and expansions together"
INTERVAL_WORDS = (
    "95 % intervals are Wilson's, at an effective sample size: a family (seeds made of the same "
    "corpus sentences, with their expansions) counts as one case as far as its cases fare alike"
)
CHANCE_WORDS = (
    "Chance-corrected: 1 − mean / mean of the best answer that does not read the cases; 1 is no "
    "failure, 0 no better than chance, below 0 worse"
)
TEST_WORDS = (
    "Exact sign-flip test of the differences of whole families, Holm's correction over the "
    "capabilities"
)

Failed = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_CELLS_AT_ONCE = 2_000_000
_MOST_EXACT = 40


@dataclass(frozen=True, slots=True)
class Rate:
    """A failure rate.

    Attributes:
        cases: how many cases.
        failures: how many of them fail.
        failure_rate: in [0, 1]; 0 where there is no case.
        ci: bounds of its interval, see `intervals`; they hold the rate between them.
    """

    cases: int
    failures: int
    failure_rate: float
    ci: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """What a model does on one capability.

    Attributes:
        all: failure rate on seeds and expansions together.
        seed, expansion: failure rates on seeds and on expansions.
        pass_to_fail: expansions that fail while their seed passes …
        passing_expansions: … of so many whose seed passes.
        fail_to_pass: expansions that pass while their seed fails.
    """

    all: Rate
    seed: Rate
    expansion: Rate
    pass_to_fail: int
    passing_expansions: int
    fail_to_pass: int


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What a model does on all capabilities.

    Attributes:
        overall: the mean of the capabilities' failure rates, `MEAN_WORDS`.
        capabilities: in the order of the cases.
    """

    overall: Rate
    capabilities: dict[str, CapabilityResult]


@dataclass(frozen=True, slots=True)
class Reference:
    """What an answer that does not read the cases comes to; it follows from the suite alone.

    Attributes:
        name: ``always-negative``, ``always-neutral``, ``always-positive`` or ``random``.
        failure_rate: the mean of the capabilities' failure rates; expected, for ``random``.
        capabilities: failure rates on ``all`` cases, on each ``seed`` and each ``expansion``;
            kinds without a case are left out.
    """

    name: str
    failure_rate: float
    capabilities: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison of two models on one capability.

    Attributes:
        cases: cases that both were scored on.
        families: families that they are of.
        first_only: failures of the first model alone.
        second_only: failures of the second alone.
        p_value: of the sign-flip test, see `sign_flip_p_values`.
        adjusted: after Holm's correction over the capabilities compared.
    """

    cases: int
    families: int
    first_only: int
    second_only: int
    p_value: float
    adjusted: float

    @property
    def better(self) -> int | None:
        """0 where the first model is shown to be better, 1 for the second, else None."""
        if self.adjusted >= LEVEL:
            return None
        return int(self.first_only > self.second_only)


_NO_RATE = Rate(0, 0, 0.0, (0.0, 1.0))


def families_of(cases: Sequence[Case]) -> Integers:
    """The number of each case's family, from 0 on; shape (cases,).

    Cases of a family are not independent, so they are resampled and tested as one. A family is,
    within a capability, all seeds made of the same set of corpus sentences ("X is not good" and
    "X isn't good") with all their expansions; where a suite does not tell its sentences, a seed
    with its expansions.

    Seeds that share one of several sentences are families apart. In LC7 a quoted neutral sentence
    stands before the opinion that decides the label, and a large suite uses few such sentences
    for many opinions: joining over them would chain nearly all seeds to one family, from which
    nothing could be inferred, for a dependence that is weak, because models pass or fail by the
    opinion and its negation.
    """
    number_of: dict[tuple[str, frozenset[str] | str], int] = {}
    return np.array(
        [
            number_of.setdefault(
                (case.capability, frozenset(case.sources) or case.seed_id), len(number_of)
            )
            for case in cases
        ],
        dtype=np.int64,
    )


def family_counts(cases: Sequence[Case], failed: Failed) -> tuple[Floats, Floats]:
    """Failures and cases of each family.

    Args:
        cases: the cases.
        failed: which of them fail, shape (cases,) or (models, cases).

    Returns:
        Failures, shape (families,) or (models, families), and cases, shape (families,).
    """
    family = families_of(cases)
    member = np.zeros((len(cases), int(family.max(initial=-1)) + 1))
    member[np.arange(len(cases)), family] = 1
    return failed.astype(np.float64) @ member, member.sum(axis=0)


def resampled_rates(failures: Floats, cases: Floats, seed: int) -> Floats:
    """Failure rates of bootstrap samples of whole families (Efron 1979; cluster bootstrap).

    Args:
        failures: of each family, shape (families,) or (models, families); all models are given
            the same families.
        cases: of each family, shape (families,).
        seed: of the samples.

    Returns:
        Shape (RESAMPLES,) or (RESAMPLES, models).
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

    Attributes:
        share: of the cases that fail.
        guess: that share with one failing and one passing family more, never 0 or 1.
        size: the effective sample size, of how many independent cases it is worth.
    """

    share: Floats
    guess: Floats
    size: Floats


def evidence(failures: Floats, cases: Floats) -> Evidence:
    """What families tell of a failure rate.

    Where no case fails, or all, or few, families say nothing of how alike their cases are, and a
    bootstrap is left without spread. So the effective sample size comes from the families and two
    more of mean size, one that fails and one that passes: cases count as families until the
    families show otherwise.

    Args:
        failures: of each family, shape (…, families).
        cases: of each family, shape (families,).

    Returns:
        Arrays of shape (…).
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
    guess = np.mean([one.guess for one in parts], axis=0)
    spread = np.sum([one.guess * (1 - one.guess) / one.size for one in parts], axis=0)
    size = guess * (1 - guess) * len(parts) ** 2 / spread
    return Evidence(np.mean([one.share for one in parts], axis=0), guess, size)


def intervals(told: Evidence) -> tuple[Floats, Floats]:
    """Wilson's score interval (Wilson 1927) at the effective sample size.

    It holds its level best for proportions from clusters and strata, small and large ones (Dean
    and Pagano 2015, Journal of Survey Statistics and Methodology 3; Franco, Little, Louis and Slud
    2019, ibid. 7).

    Returns:
        Lower and upper bounds; every share lies between its own.
    """
    share, _, size = told
    centre = (share + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    half = np.sqrt(share * (1 - share) / size + (_Z / (2 * size)) ** 2) * _Z / (1 + _Z**2 / size)
    return (
        np.maximum(np.minimum(centre - half, share), 0),
        np.minimum(np.maximum(centre + half, share), 1),
    )


def _rates(cases: int, failures: Integers, told: Evidence) -> list[Rate]:
    columns = (told.share, *intervals(told))
    return [
        Rate(cases, count, share, (low, high))
        for count, share, low, high in zip(
            failures.tolist(), *(column.tolist() for column in columns), strict=True
        )
    ]


def rates(cases: Sequence[Case], failed: Failed) -> list[Rate]:
    """The failure rate of each model.

    Args:
        cases: the cases.
        failed: which of them fail, shape (models, cases).
    """
    if not len(cases):
        return [_NO_RATE] * len(failed)
    return _rates(len(cases), failed.sum(axis=1), evidence(*family_counts(cases, failed)))


def rate(cases: Sequence[Case], failed: Failed) -> Rate:
    """The failure rate of cases; ``failed`` has the shape (cases,)."""
    return rates(cases, failed[None])[0]


def _seed_pairs(cases: Sequence[Case]) -> Integers:
    """Numbers of the expansions and of their seeds, shape (pairs, 2)."""
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    return np.array(
        [
            (n, seed_number[case.seed_id])
            for n, case in enumerate(cases)
            if case.kind == "expansion" and case.seed_id in seed_number
        ],
        dtype=np.int64,
    ).reshape(-1, 2)


def flips(cases: Sequence[Case], failed: Failed) -> tuple[list[int], list[int]]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    expansions, seeds = _seed_pairs(cases).T
    to_fail = failed[expansions] & ~failed[seeds]
    to_pass = ~failed[expansions] & failed[seeds]
    return expansions[to_fail].tolist(), expansions[to_pass].tolist()


def model_figures(cases: Sequence[Case], failed: Failed) -> list[ModelFigures]:
    """What each model does, on all capabilities and on each.

    Args:
        cases: the cases, in any order.
        failed: which of them fail, shape (models, cases).
    """
    if not len(cases):
        return [ModelFigures(_NO_RATE, {}) for _ in failed]
    parts: list[dict[str, CapabilityResult]] = [{} for _ in failed]
    told: list[Evidence] = []
    for capability, own in by_name(cases).items():
        own_cases, own_failed = [cases[n] for n in own], failed[:, own]
        told.append(evidence(*family_counts(own_cases, own_failed)))
        kinds = [_rates(len(own), own_failed.sum(axis=1), told[-1])]
        for kind in KINDS:
            of_kind = [n for n, case in enumerate(own_cases) if case.kind == kind]
            kinds.append(rates([own_cases[n] for n in of_kind], own_failed[:, of_kind]))
        expansions, seeds = _seed_pairs(own_cases).T
        fails, seed_fails = own_failed[:, expansions], own_failed[:, seeds]
        counts = [
            (fails & ~seed_fails).sum(axis=1).tolist(),
            (~seed_fails).sum(axis=1).tolist(),
            (~fails & seed_fails).sum(axis=1).tolist(),
        ]
        for part, figures in zip(parts, zip(*kinds, *counts, strict=True), strict=True):
            part[capability] = CapabilityResult(*figures)
    means = _rates(len(cases), failed.sum(axis=1), mean_evidence(told))
    return [ModelFigures(mean, part) for mean, part in zip(means, parts, strict=True)]


def by_name(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Numbers of the cases of each capability, in the order of the cases."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.capability, []).append(number)
    return numbers


def by_capability(cases: Sequence[Case], failed: Failed) -> dict[str, CapabilityResult]:
    """Rates and flips of each capability; ``failed`` has the shape (cases,)."""
    return model_figures(cases, failed[None])[0].capabilities


def macro_average(cases: Sequence[Case], failed: Failed) -> Rate:
    """The mean of the capabilities' failure rates; ``failed`` has the shape (cases,)."""
    return model_figures(cases, failed[None])[0].overall


def references(cases: Sequence[Case]) -> tuple[Reference, ...]:
    """What the three constant answers and a random one come to on the cases.

    A random answer is expected to fail a case with n of the three labels passing at 1 − n / 3.
    """
    fails = {
        f"always-{label}": [float(number not in case.passes) for case in cases]
        for number, label in enumerate(LABELS)
    }
    fails[RANDOM] = [1 - len(case.passes) / len(LABELS) for case in cases]
    numbers = by_name(cases)
    found: list[Reference] = []
    for name, expected in fails.items():
        capabilities: dict[str, dict[str, float]] = {}
        for capability, own in numbers.items():
            of_kind = {kind: [n for n in own if cases[n].kind == kind] for kind in KINDS}
            capabilities[capability] = {
                kind: sum(expected[n] for n in chosen) / len(chosen)
                for kind, chosen in ({"all": own} | of_kind).items()
                if chosen
            }
        mean = sum(one["all"] for one in capabilities.values()) / max(1, len(capabilities))
        found.append(Reference(name, mean, capabilities))
    return tuple(found)


def chance_of(known: Mapping[str, float]) -> tuple[str, float]:
    """The best of answers that do not read the cases: a constant, as no mixture beats them all.

    Args:
        known: mean failure rates of references by name, see `reference_means`.

    Returns:
        Its name and its mean failure rate.
    """
    return min(known.items(), key=lambda one: (one[1], one[0] == RANDOM))


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A mean failure rate on the scale from chance (0) to no failure (1), `CHANCE_WORDS`.

    Args:
        failure_rate: of the model.
        chance: of the best answer that does not read the cases, see `chance_of`.

    Returns:
        None where that answer passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def reference_means(known: Sequence[Reference]) -> dict[str, float]:
    """Mean failure rates of references by name."""
    return {one.name: one.failure_rate for one in known}


def one_answer(answers: Sequence[int], known: Mapping[str, float]) -> tuple[int, float] | None:
    """Whether a model gives one answer to nearly all cases, though that does not pass them.

    Args:
        answers: how often it gave each label, by label id.
        known: mean failure rates of references by name.

    Returns:
        The label's id and its share of the answers; None for other models.
    """
    label = max(range(len(answers)), key=answers.__getitem__)
    share = answers[label] / max(1, sum(answers))
    if share < ONE_ANSWER or known[f"always-{LABELS[label]}"] <= 1 - ONE_ANSWER:
        return None
    return label, share


def sign_flip_p_values(differences: Integers) -> Floats:
    """P-values of the two-sided sign-flip test of family differences (Fisher 1935).

    If two models are equally good, a family's difference in failures is as likely to have the
    other sign. The p-value is the share of all sign assignments whose sum is at least as far from
    zero as the one observed. It is exact: the distribution of the sum of ±|d| comes from its
    characteristic function, the product of cos(u |d|), at as many places as it has values.

    Args:
        differences: in failures, of each family, shape (pairs, families).

    Returns:
        Shape (pairs,); 1 where the sums are zero, and never below `LEAST_P`.
    """
    sizes = np.abs(differences)
    observed = np.abs(differences.sum(axis=1))
    found = np.ones(len(sizes))
    places = int(sizes.sum(axis=1).max(initial=0)) + 1
    step = max(1, _CELLS_AT_ONCE // places)
    for start in range(0, len(sizes), step):
        some = slice(start, start + step)
        found[some] = _tails(sizes[some], observed[some], places)
    # A share of 2 ** families assignments: what is off by rounding is put right.
    assignments = np.exp2(np.minimum((sizes > 0).sum(axis=1), _MOST_EXACT))
    found = np.where(
        assignments < 2**_MOST_EXACT, np.rint(found * assignments) / assignments, found
    )
    return np.where(observed == 0, 1.0, np.clip(found, LEAST_P, 1))


def _tails(sizes: Integers, observed: Integers, places: int) -> Floats:
    """P(|sum of ± sizes| ≥ observed), a row each; no row's sizes sum up to ``places``."""
    angles = np.pi * np.arange(places) / places
    logs, negative = np.zeros((2, len(sizes), places))
    for size in np.unique(sizes[sizes > 0]):
        count = (sizes == size).sum(axis=1, dtype=np.float64)[:, None]
        cosine = np.cos(size * angles)
        logs += count * np.log(np.maximum(np.abs(cosine), 1e-300))
        negative += count * (cosine < 0)
    characteristic = np.exp(logs) * (1 - 2 * (negative % 2))
    # P(X = x) is the mean of characteristic · cos(u x); summed over x = observed, + 2, + 4, …
    values, place = np.unique(observed, return_inverse=True)
    terms = (places - 1 - values) // 2 + 1
    sine = np.sin(angles)
    sine[0] = 1
    weights = np.sin(terms[:, None] * angles) / sine
    weights[:, 0] = terms
    weights *= np.cos((values + terms - 1)[:, None] * angles)
    return np.asarray((characteristic * (2 / places * weights)[place]).sum(axis=1))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's step-down correction (Holm 1979) over the last axis, in the order given."""
    given = np.asarray(p_values, dtype=np.float64)
    count = given.shape[-1]
    order = np.argsort(given, axis=-1, kind="stable")
    ranked = np.take_along_axis(given, order, axis=-1) * np.arange(count, 0, -1)
    ranked = np.minimum(np.maximum.accumulate(ranked, axis=-1), 1)
    adjusted = np.empty_like(given)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted


def compare(cases: Sequence[Case], first: Failed, second: Failed) -> dict[str, Comparison]:
    """Compare two models on the same cases, capability by capability.

    Args:
        cases: the cases both were scored on.
        first: which cases the first model fails, shape (cases,).
        second: which the second fails.
    """
    both = np.stack([first, second])
    counted: dict[str, tuple[int, int, int, int]] = {}
    p_values: list[float] = []
    for capability, own in by_name(cases).items():
        failures, size = family_counts([cases[n] for n in own], both[:, own])
        differences = np.rint(failures[:1] - failures[1:]).astype(np.int64)
        p_values.append(float(sign_flip_p_values(differences)[0]))
        counted[capability] = (
            len(own),
            len(size),
            int((first[own] & ~second[own]).sum()),
            int((second[own] & ~first[own]).sum()),
        )
    return {
        capability: Comparison(*counts, p_value, adjusted)
        for (capability, counts), p_value, adjusted in zip(
            counted.items(), p_values, holm(p_values).tolist(), strict=True
        )
    }


def verdicts(compared: Sequence[Comparison]) -> tuple[int, int, int]:
    """On how many capabilities the first model is better, worse, and undecided."""
    better = [one.better for one in compared]
    return better.count(0), better.count(1), better.count(None)


def shown_p(p_value: float) -> float:
    """A p-value in three digits that lies on the same side of `LEVEL`."""
    shown = float(f"{p_value:.3g}")
    return 0.0499 if shown >= LEVEL > p_value else shown
