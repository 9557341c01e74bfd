"""Who stands where: rates with intervals and ranks of all models of a suite, from one bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import ANSWER_IDS
from s2lct.leaderboard.results.collection import Collection, ScoredModel, SuiteResults
from s2lct.leaderboard.results.comparison import holm, pair_p_values
from s2lct.leaderboard.results.prompts import Spread, prompt_order
from s2lct.leaderboard.scoring import chance, statistics
from s2lct.leaderboard.scoring.both_sides import BothSides, both_sides, pairs_of
from s2lct.leaderboard.scoring.score import Silence, silences
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, SuiteCases

MOST_TESTED = 200
"""A page holds the tests of all pairs of so many models; `s2lct compare` tests any two."""
_MOST_TEST_CELLS = 40_000_000
_TINY = 1e-9
_LEAST_SPREAD = 1e-7
Failures = npt.NDArray[np.bool_] | statistics.Floats
"""Which cases fail; of a model with several prompts, with what share of them."""


@dataclass(frozen=True)
class PromptOf:
    """Which of the prompts of a model a result is of, and the model's figures over all of them."""

    number: int  # from 1 on
    count: int
    spread: Spread
    pass_to_fail: float  # the mean over prompts


@dataclass(frozen=True)
class Standing:
    """One model's figures."""

    scored: ScoredModel
    # Best and worst that the cases leave open. Models are ranked by their means over prompts:
    # results with several prompts of a model have one rank.
    rank: tuple[int, int]
    overall: statistics.Rate  # the mean of the capabilities' failure rates
    chance: float  # the failure rate of the best answer that does not read
    capabilities: dict[str, statistics.CapabilityResult]
    one_answer: tuple[int, float] | None  # the label that nearly all cases get, and its share
    both_sides: BothSides | None  # None where the suite has no counterpart
    silences: dict[str, Silence]  # what got no label, see `score.silences`; mostly empty
    prompt: PromptOf | None = None  # None where there is one result of the model

    @property
    def mean(self) -> float:
        """The failure rate that the model is ranked by: over its prompts, where it has several."""
        return self.prompt.spread.mean if self.prompt else self.overall.failure_rate

    @property
    def chance_corrected(self) -> float | None:
        """`overall` on the scale from chance to no failure; see `chance.chance_corrected`."""
        return chance.chance_corrected(self.overall.failure_rate, self.chance)

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
    """The models of one suite, best first."""

    suite: SuiteCases
    capabilities: tuple[str, ...]  # by number
    standings: tuple[Standing, ...]  # one a model
    references: tuple[chance.Reference, ...]  # what constant and random answers come to


def all_standings(collection: Collection, seed: int = 0) -> list[SuiteStandings]:
    """The standings of every suite, in their order; never mixed."""
    return [suite_standings(one, seed) for one in collection.suites]


def passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which answers pass which cases, shape (cases, `ANSWER_IDS`): a label may, nothing else."""
    return np.array([[n in case.passes for n in range(ANSWER_IDS)] for case in cases], dtype=bool)


def suite_standings(results: SuiteResults, seed: int = 0) -> SuiteStandings:
    """Figures and ranks of a suite's models, from the same samples: differences are paired."""
    suite, models = results.suite, results.models
    cases = suite.cases
    labels = np.stack([one.labels for one in models])
    passed = passing(suite.asked)[np.arange(labels.shape[1]), labels]
    failed, labels = ~passed[:, : len(cases)], labels[:, : len(cases)]
    seeds, others = pairs_of(cases, suite.counterparts)
    right = passed[:, seeds] & passed[:, len(cases) + others]
    sides = both_sides([cases[number] for number in seeds], right)
    figures = statistics.model_figures(cases, failed)
    prompts, owner = _prompts_of(models, figures)
    shares = np.stack([failed[owner == group].mean(axis=0) for group in range(owner.max() + 1)])
    ranks = rank_intervals(*_resampled_means(cases, shares, seed))[owner].tolist()
    known = chance.reference_means(chance.references(cases))
    _, best = chance.chance_of(known)
    answers = np.stack([(labels == label).sum(axis=1) for label in range(len(LABELS))], axis=1)
    found = [
        Standing(
            scored=one,
            rank=(ranks[n][0], ranks[n][1]),
            overall=figures[n].overall,
            chance=best,
            capabilities=figures[n].capabilities,
            one_answer=chance.one_answer(
                answers[n].tolist(), known, len(cases) - int(answers[n].sum())
            ),
            both_sides=sides[n],
            silences=silences(cases, labels[n]),
            prompt=prompts[n],
        )
        for n, one in enumerate(models)
    ]
    names = sorted(statistics.by_name(cases), key=natural_order)
    references = chance.references(cases, suite.counterparts)
    return SuiteStandings(suite, tuple(names), tuple(sorted(found, key=_place)), references)


def _place(one: Standing) -> tuple[object, ...]:
    model, number = one.scored.model, one.prompt.number if one.prompt else 0
    return one.mean, model.name, model.revision, number, one.scored.key


def _prompts_of(
    models: Sequence[ScoredModel], figures: Sequence[statistics.ModelFigures]
) -> tuple[list[PromptOf | None], statistics.Integers]:
    """Each result's place among those that differ in the prompt alone, and the model it is of.

    Models are numbered from 0 on, shape (results,).
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, one in enumerate(models):
        groups.setdefault(one.identity if one.prompt else ("", one.key), []).append(number)
    found: list[PromptOf | None] = [None] * len(models)
    owner = np.zeros(len(models), dtype=np.int64)
    for group, members in enumerate(groups.values()):
        owner[members] = group
        if len(members) < 2:
            continue
        members.sort(key=lambda number: prompt_order(models[number].prompt))
        spread = Spread.of([figures[number].overall.failure_rate for number in members])
        flipped = [
            sum(of.pass_to_fail for of in figures[number].capabilities.values())
            for number in members
        ]
        for place, number in enumerate(members, 1):
            found[number] = PromptOf(place, len(members), spread, float(np.mean(flipped)))
    return found, owner


def _resampled_means(
    cases: Sequence[Case], failed: Failures, seed: int
) -> tuple[statistics.Floats, statistics.Floats]:
    """Mean failure rates, shape (models,), and of resampled families, (RESAMPLES, models)."""
    means = np.zeros(len(failed))
    samples = np.zeros((statistics.RESAMPLES, len(failed)))
    capabilities = statistics.by_name(cases)
    for number, own in enumerate(capabilities.values()):
        counts = statistics.family_counts([cases[n] for n in own], failed[:, own])
        means += failed[:, own].mean(axis=1)
        samples += statistics.resampled_rates(*counts, seed + number)
    return means / len(capabilities), samples / len(capabilities)


def pairwise_tests(one: SuiteStandings) -> tuple[int, statistics.Floats]:
    """How many of the best models are tested, and p-values of each pair after Holm's correction.

    The number is bounded, so that a board of any size builds in seconds and its page stays small.
    The shape is (pairs, capabilities); pairs are (0, 1), (0, 2), …, (1, 2), ….
    """
    cases = one.suite.cases
    most = math.isqrt(2 * _MOST_TEST_CELLS // (len(cases) + len(one.capabilities)))
    models = min(len(one.standings), MOST_TESTED, max(2, most))
    if models < 2:
        return models, np.ones((0, len(one.capabilities)))
    labels = np.stack([of.scored.labels for of in one.standings[:models]])[:, : len(cases)]
    failed = ~passing(cases)[np.arange(len(cases)), labels]
    of_name = statistics.by_name(cases)
    numbers = [of_name[capability] for capability in one.capabilities]
    pairs = np.stack(np.triu_indices(models, 1))
    return models, holm(pair_p_values(cases, numbers, failed, pairs))


def rank_intervals(rates: statistics.Floats, samples: statistics.Floats) -> npt.NDArray[np.int64]:
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
        critical = float(np.quantile(largest, statistics.CONFIDENCE))
        difference = rates - rates[model]
        # Resampled counts are whole numbers: ties are common, and a tie shows nothing.
        shown = np.abs(difference) > critical * spread + _TINY
        better, worse = (shown & (difference < 0)).sum(), (shown & (difference > 0)).sum()
        ranks[model] = 1 + better, models - worse
    return ranks
