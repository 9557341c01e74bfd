"""Who stands where: rates with intervals and ranks of all models of a suite, from one bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.labels import LABELS
from s2lct.leaderboard.results.collection import precedence
from s2lct.leaderboard.results.comparison import holm, sign_flip_p_values
from s2lct.leaderboard.results.scored import (
    UNSCORED,
    Collection,
    ScoredModel,
    SuiteOutcomes,
    passing,
)
from s2lct.leaderboard.scoring.chance import (
    Reference,
    chance_corrected,
    chance_of,
    one_answer,
    reference_means,
    references,
)
from s2lct.leaderboard.scoring.statistics import (
    CONFIDENCE,
    RESAMPLES,
    CapabilityResult,
    Floats,
    Rate,
    by_name,
    family_counts,
    model_figures,
    resampled_rates,
)
from s2lct.leaderboard.scoring.training_data import group_of, main_comparison, training_data_of
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case

MOST_TESTED = 200
"""A page holds the tests of all pairs of so many models; `s2lct compare` tests any two."""
_MOST_TEST_CELLS = 40_000_000
_TEST_CELLS_AT_ONCE = 2_000_000
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
        chance: the failure rate of the best answer that does not read the cases it was scored on.
        capabilities: failure rates, together and on seeds and expansions, and flips.
        one_answer: the label that it gives to nearly all cases, with its share; None for others.
        training_known: whether the model's training data is known.
        compared_with: the splits that its cases are held against, `main_comparison`.
        outside_training: the mean of the failure rates on cases all of whose sentences are known
            to be outside these splits, over the capabilities that have such cases; None where
            there are none.
    """

    model: ScoredModel
    cases: int
    rank: tuple[int, int] | None
    overall: Rate
    chance: float
    capabilities: dict[str, CapabilityResult]
    one_answer: tuple[int, float] | None
    training_known: bool
    compared_with: tuple[str, ...]
    outside_training: Rate | None

    @property
    def chance_corrected(self) -> float | None:
        """`overall` on the scale from chance to no failure; see `chance.chance_corrected`."""
        return chance_corrected(self.overall.failure_rate, self.chance)

    @property
    def pass_to_fail(self) -> int:
        """How many expansions fail while their seed passes."""
        return sum(one.pass_to_fail for one in self.capabilities.values())

    @property
    def passing_expansions(self) -> int:
        """How many expansions have a seed that passes."""
        return sum(one.passing_expansions for one in self.capabilities.values())


@dataclass(frozen=True)
class SuiteStandings:
    """The models of one suite, best first; those not scored on the whole suite last.

    Attributes:
        suite: what they said of its cases.
        capabilities: by number.
        standings: one a model.
        references: what constant and random answers come to.
    """

    suite: SuiteOutcomes
    capabilities: tuple[str, ...]
    standings: tuple[Standing, ...]
    references: tuple[Reference, ...]


def all_standings(collection: Collection, seed: int = 0) -> list[SuiteStandings]:
    """The standings of every suite, in the order of `precedence`; never mixed."""
    suites = [suite for suite in collection.suites if suite.models]
    return [suite_standings(one, seed) for one in sorted(suites, key=precedence, reverse=True)]


def suite_standings(suite: SuiteOutcomes, seed: int = 0) -> SuiteStandings:
    """Figures and ranks of a suite's models.

    Models that were scored on the same cases share the bootstrap's samples (by ``seed``), so that
    their differences are paired.
    """
    labels = np.stack([model.labels for model in suite.models])
    kinds, kind_of = np.unique(labels != UNSCORED, axis=0, return_inverse=True)
    found: list[Standing] = []
    for number, asked in enumerate(kinds):
        members = np.flatnonzero(kind_of.ravel() == number)
        found += _standings_of(
            [suite.models[member] for member in members],
            [case for case, one in zip(suite.cases, asked, strict=True) if one],
            labels[members][:, asked],
            ranked=bool(asked.all()),
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
    names = sorted(by_name(suite.cases), key=natural_order)
    return SuiteStandings(suite, tuple(names), tuple(found), references(suite.cases))


def _standings_of(
    models: Sequence[ScoredModel],
    cases: Sequence[Case],
    labels: npt.NDArray[np.int8],
    *,
    ranked: bool,
    seed: int,
) -> list[Standing]:
    failed = ~passing(cases)[np.arange(len(cases)), labels]
    figures = model_figures(cases, failed)
    compared = [main_comparison(model.name) for model in models]
    outside: dict[int, Rate] = {}
    for training in dict.fromkeys(compared):
        members = [n for n, own in enumerate(compared) if own == training]
        chosen = [n for n, case in enumerate(cases) if group_of(case.splits, training) == "other"]
        if chosen:
            found = model_figures([cases[n] for n in chosen], failed[members][:, chosen])
            outside |= {n: one.overall for n, one in zip(members, found, strict=True)}
    ranks = rank_intervals(*_resampled_means(cases, failed, seed)).tolist() if ranked else None
    known = reference_means(references(cases))
    _, chance = chance_of(known)
    answers = np.stack([(labels == label).sum(axis=1) for label in range(len(LABELS))], axis=1)
    return [
        Standing(
            model=model,
            cases=len(cases),
            rank=(ranks[n][0], ranks[n][1]) if ranks else None,
            overall=figures[n].overall,
            chance=chance,
            capabilities=figures[n].capabilities,
            one_answer=one_answer(answers[n].tolist(), known),
            training_known=training_data_of(model.name) is not None,
            compared_with=tuple(sorted(compared[n])),
            outside_training=outside.get(n),
        )
        for n, model in enumerate(models)
    ]


def _resampled_means(cases: Sequence[Case], failed: Failures, seed: int) -> tuple[Floats, Floats]:
    """Mean failure rates, shape (models,), and of resampled families, (RESAMPLES, models)."""
    means = np.zeros(len(failed))
    samples = np.zeros((RESAMPLES, len(failed)))
    capabilities = by_name(cases)
    for number, own in enumerate(capabilities.values()):
        counts = family_counts([cases[n] for n in own], failed[:, own])
        means += failed[:, own].mean(axis=1)
        samples += resampled_rates(*counts, seed + number)
    return means / len(capabilities), samples / len(capabilities)


def pairwise_tests(one: SuiteStandings) -> tuple[int, Floats]:
    """Test every pair of the best models that were scored on the whole suite.

    Their number is bounded, so that a board of any size builds in seconds and its page stays
    small.

    Returns:
        How many models, from the first standing on; and p-values after Holm's correction, shape
        (pairs, capabilities), capabilities as in ``one``; pairs are (0, 1), (0, 2), …, (1, 2), ….
    """
    cases = one.suite.cases
    ranked = [standing.model for standing in one.standings if standing.rank is not None]
    most = math.isqrt(2 * _MOST_TEST_CELLS // (len(cases) + len(one.capabilities)))
    models = min(len(ranked), MOST_TESTED, max(2, most))
    first, second = np.triu_indices(models, 1)
    p_values = np.ones((len(first), len(one.capabilities)))
    if models < 2:
        return models, p_values
    labels = np.stack([model.labels for model in ranked[:models]])
    failed = ~passing(cases)[np.arange(len(cases)), labels]
    numbers = by_name(cases)
    for place, capability in enumerate(one.capabilities):
        own = numbers[capability]
        failures, _ = family_counts([cases[n] for n in own], failed[:, own])
        whole = np.rint(failures).astype(np.int64)
        step = max(1, _TEST_CELLS_AT_ONCE // whole.shape[1])
        for start in range(0, len(first), step):
            some = slice(start, start + step)
            p_values[some, place] = sign_flip_p_values(whole[first[some]] - whole[second[some]])
    return models, holm(p_values)


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
