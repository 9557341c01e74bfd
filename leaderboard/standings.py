"""Who stands where: rates with intervals and ranks of all models of a suite, from one bootstrap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.leaderboard.cases import Case
from s2lct.leaderboard.collection import (
    UNSCORED,
    Collection,
    ScoredModel,
    SuiteOutcomes,
    passing,
)
from s2lct.leaderboard.known_splits import group_of, main_comparison, training_data_of
from s2lct.leaderboard.statistics import CONFIDENCE, RESAMPLES, Floats, Rate

_TINY = 1e-9
_LEAST_SPREAD = 1e-7
Failures = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Standing:
    """One model's figures.

    Attributes:
        model: whose.
        cases: how many it was scored on.
        rank: the best and the worst rank that the cases leave open; None where it was not scored
            on the whole suite.
        overall: the mean of the capabilities' failure rates.
        capabilities: failure rates on seeds and expansions together.
        pass_to_fail: expansions that fail while their seed passes …
        passing_expansions: … of so many whose seed passes.
        training_known: whether the model's own training data is known.
        compared_with: the splits that its cases are held against: its own training data, or else
            SST's train split; see `known_splits.main_comparison`.
        outside_training: the mean of the failure rates on cases all of whose sentences are known
            to be outside these splits, over the capabilities that have such cases; None where
            there are none.
    """

    model: ScoredModel
    cases: int
    rank: tuple[int, int] | None
    overall: Rate
    capabilities: dict[str, Rate]
    pass_to_fail: int
    passing_expansions: int
    training_known: bool
    compared_with: tuple[str, ...]
    outside_training: Rate | None


@dataclass(frozen=True)
class SuiteStandings:
    """The models of one suite, best first; those not scored on the whole suite last.

    Attributes:
        suite: what they said of its cases.
        capabilities: by number.
        standings: one a model.
    """

    suite: SuiteOutcomes
    capabilities: tuple[str, ...]
    standings: tuple[Standing, ...]


def all_standings(collection: Collection, seed: int = 0) -> list[SuiteStandings]:
    """The standings of every suite, the highest version first; suites are never mixed."""
    return sorted(
        (suite_standings(suite, seed) for suite in collection.suites if suite.models),
        key=lambda one: (
            _version_key(one.suite.version),
            max(standing.model.date for standing in one.standings),
            one.suite.fingerprint,
        ),
        reverse=True,
    )


def _version_key(version: str) -> tuple[int, ...]:
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version)
    return tuple(map(int, match.groups())) if match else (-1,)


def suite_standings(suite: SuiteOutcomes, seed: int = 0) -> SuiteStandings:
    """Figures and ranks of a suite's models.

    Models that were scored on the same cases share the bootstrap's samples, so that their
    differences are paired.

    Args:
        suite: what they said.
        seed: of the bootstrap.
    """
    labels = np.stack([model.labels for model in suite.models])
    groups: dict[bytes, list[int]] = {}
    for number, asked in enumerate(labels != UNSCORED):
        groups.setdefault(asked.tobytes(), []).append(number)
    found: list[Standing] = []
    for asked_bytes, members in groups.items():
        asked = np.flatnonzero(np.frombuffer(asked_bytes, dtype=bool))
        found += _standings_of(
            [suite.models[number] for number in members],
            [suite.cases[number] for number in asked],
            labels[members][:, asked],
            ranked=len(asked) == len(suite.cases),
            seed=seed,
        )
    found.sort(
        key=lambda one: (
            one.rank is None,
            one.overall.failure_rate,
            one.model.name,
            one.model.revision,
            one.model.key,
        )
    )
    names = dict.fromkeys(case.capability for case in suite.cases)
    return SuiteStandings(suite, tuple(sorted(names, key=capability_key)), tuple(found))


def capability_key(name: str) -> tuple[int, str]:
    """Orders ``LC2`` before ``LC10``."""
    digits = name[2:]
    return (int(digits) if digits.isdecimal() and len(digits) < 9 else 10**9, name)


def _standings_of(
    models: Sequence[ScoredModel],
    cases: Sequence[Case],
    labels: npt.NDArray[np.int8],
    *,
    ranked: bool,
    seed: int,
) -> list[Standing]:
    failed = ~passing(cases)[np.arange(len(cases)), labels]
    mean, total, by_capability = _macro(cases, failed, seed)
    overall = _rates(failed, total, mean)
    compared = [main_comparison(model.name) for model in models]
    outside: dict[int, Rate] = {}
    for training in dict.fromkeys(compared):
        members = [n for n, own in enumerate(compared) if own == training]
        chosen = [n for n, case in enumerate(cases) if group_of(case.splits, training) == "other"]
        if chosen:
            some = failed[members][:, chosen]
            rates, samples, _ = _macro([cases[n] for n in chosen], some, seed)
            outside |= dict(zip(members, _rates(some, samples, rates), strict=True))
    flipped, at_risk = _flips(cases, failed)
    ranks = rank_intervals(mean, total) if ranked else None
    return [
        Standing(
            model=model,
            cases=len(cases),
            rank=None if ranks is None else (int(ranks[n, 0]), int(ranks[n, 1])),
            overall=overall[n],
            capabilities={name: rates[n] for name, rates in by_capability.items()},
            pass_to_fail=int(flipped[n]),
            passing_expansions=int(at_risk[n]),
            training_known=training_data_of(model.name) is not None,
            compared_with=tuple(sorted(compared[n])),
            outside_training=outside.get(n),
        )
        for n, model in enumerate(models)
    ]


def _macro(
    cases: Sequence[Case], failed: Failures, seed: int
) -> tuple[Floats, Floats, dict[str, list[Rate]]]:
    """Means of the capabilities' failure rates, shape (models,), and those of resampled families.

    The same as `statistics.macro_average`, for many models at once.

    Returns:
        The means; those of the samples, shape (RESAMPLES, models); and each capability's rates.
    """
    by_capability: dict[str, list[Rate]] = {}
    total = np.zeros((RESAMPLES, len(failed)))
    mean = np.zeros(len(failed))
    capabilities = list(dict.fromkeys(case.capability for case in cases))
    for number, capability in enumerate(capabilities):
        own = np.array([n for n, case in enumerate(cases) if case.capability == capability])
        rates, samples = _bootstrap([cases[n] for n in own], failed[:, own], seed + number)
        by_capability[capability] = _rates(failed[:, own], samples)
        total += samples
        mean += rates
    return mean / len(capabilities), total / len(capabilities), by_capability


def _bootstrap(cases: Sequence[Case], failed: Failures, seed: int) -> tuple[Floats, Floats]:
    """Failure rates, shape (models,), and of resampled seed families, shape (RESAMPLES, models).

    All models are given the same families (the cluster bootstrap of
    `statistics.resampled_rates`, for many models at once).
    """
    number_of: dict[str, int] = {}
    family = [number_of.setdefault(case.seed_id, len(number_of)) for case in cases]
    member = np.zeros((len(cases), len(number_of)))
    member[np.arange(len(cases)), family] = 1
    families = len(number_of)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(families, np.full(families, 1 / families), size=RESAMPLES)
    # Whole numbers throughout: equal models get equal samples, to the last bit.
    failures = drawn.astype(np.float64) @ (failed.astype(np.float64) @ member).T
    size = drawn @ member.sum(axis=0)
    return failed.mean(axis=1), failures / size[:, None]


def _rates(failed: Failures, samples: Floats, rates: Floats | None = None) -> list[Rate]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    counts = failed.sum(axis=1)
    shown = failed.mean(axis=1) if rates is None else rates
    return [
        Rate(failed.shape[1], int(counts[n]), float(shown[n]), (float(low[n]), float(high[n])))
        for n in range(len(failed))
    ]


def _flips(
    cases: Sequence[Case], failed: Failures
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of each model: expansions that fail while their seed passes, and whose seed passes."""
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    pairs = np.array(
        [
            (n, seed_number[case.seed_id])
            for n, case in enumerate(cases)
            if case.kind == "expansion" and case.seed_id in seed_number
        ],
        dtype=int,
    ).reshape(-1, 2)
    seed_passes = ~failed[:, pairs[:, 1]]
    flipped = failed[:, pairs[:, 0]] & seed_passes
    return flipped.sum(axis=1), seed_passes.sum(axis=1)


def rank_intervals(rates: Floats, samples: Floats) -> npt.NDArray[np.int64]:
    """The best and the worst rank that the cases leave open to each model.

    A model's difference to another is shown where it is larger than ``c`` times its bootstrap
    standard error; ``c`` is the quantile at `CONFIDENCE` of the largest of the model's
    studentised differences, so that all of one model's comparisons hold together (Mogstad,
    Romano, Shaikh and Wilhelm 2024, "Inference for Ranks").

    Args:
        rates: failure rates, shape (models,).
        samples: of the bootstrap, the same families for all models, shape (RESAMPLES, models).

    Returns:
        Shape (models, 2), from 1 on; lower rates rank first.
    """
    models = len(rates)
    deviations = np.ascontiguousarray((samples - rates).T)
    centred = deviations - deviations.mean(axis=1, keepdims=True)
    covariance = centred @ centred.T / samples.shape[0]
    variance = np.diag(covariance)
    ranks = np.empty((models, 2), dtype=np.int64)
    room = np.empty_like(deviations)
    for model in range(models):
        spread = np.sqrt(np.maximum(variance + variance[model] - 2 * covariance[model], 0))
        # Below this the two models differ in no sample, and rounding is all there is.
        spread[spread < _LEAST_SPREAD] = 0
        scale = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0)
        np.subtract(deviations, deviations[model], out=room)
        np.multiply(room, scale[:, None], out=room)
        largest = np.maximum(room.max(axis=0), -room.min(axis=0))
        critical = float(np.quantile(largest, CONFIDENCE))
        difference = rates - rates[model]
        # Resampled counts are whole numbers: ties are common, and a tie shows nothing.
        shown = np.abs(difference) > critical * spread + _TINY
        ranks[model] = (
            1 + int((shown & (difference < 0)).sum()),
            models - int((shown & (difference > 0)).sum()),
        )
    return ranks
