"""Who stands where: rates with intervals and ranks of all models of a suite, from one bootstrap."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.labels import LABELS
from s2lct.leaderboard.results import scored
from s2lct.leaderboard.results.collection import precedence
from s2lct.leaderboard.results.comparison import holm, pair_p_values
from s2lct.leaderboard.results.prompts import Spread, prompt_order
from s2lct.leaderboard.scoring import chance, statistics
from s2lct.leaderboard.scoring.both_sides import BothSides, both_sides, pairs_of
from s2lct.leaderboard.scoring.score import Silence, silences
from s2lct.leaderboard.scoring.training_data import group_of, main_comparison, training_data_of
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case

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
    """One model's figures, of the cases it was scored on."""

    model: scored.ScoredModel
    cases: int
    # Best and worst that the cases leave open; of the whole suite. Models are ranked, by their
    # means over prompts: results with several prompts of a model have one rank.
    rank: tuple[int, int] | None
    overall: statistics.Rate  # the mean of the capabilities' failure rates
    chance: float  # the failure rate of the best answer that does not read
    capabilities: dict[str, statistics.CapabilityResult]
    one_answer: tuple[int, float] | None  # the label that nearly all cases get, and its share
    training_known: bool  # whether the model's training data is known
    compared_with: tuple[str, ...]  # the splits that its cases are held against
    # The mean on cases all of whose sentences are known to be outside these splits, over the
    # capabilities that have such cases; None where there are none.
    outside_training: statistics.Rate | None
    both_sides: BothSides | None  # None where it was not asked a counterpart
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
    """The models of one suite, best first; those not scored on the whole suite last."""

    suite: scored.SuiteOutcomes  # what they said of its cases
    capabilities: tuple[str, ...]  # by number
    standings: tuple[Standing, ...]  # one a model
    references: tuple[chance.Reference, ...]  # what constant and random answers come to


def all_standings(collection: scored.Collection, seed: int = 0) -> list[SuiteStandings]:
    """The standings of every suite, in the order of `precedence`; never mixed."""
    suites = [suite for suite in collection.suites if suite.models]
    return [suite_standings(one, seed) for one in sorted(suites, key=precedence, reverse=True)]


def suite_standings(suite: scored.SuiteOutcomes, seed: int = 0) -> SuiteStandings:
    """Figures and ranks of a suite's models.

    Those that were scored on the same cases share the bootstrap's samples: differences are paired.
    """
    labels = np.stack([model.labels for model in suite.models])
    sides = _both_sides(suite)
    kinds, kind_of = np.unique(labels != scored.UNSCORED, axis=0, return_inverse=True)
    found: list[Standing] = []
    for number, asked in enumerate(kinds):
        members = np.flatnonzero(kind_of.ravel() == number)
        found += _standings_of(
            [suite.models[member] for member in members],
            [case for case, one in zip(suite.cases, asked, strict=True) if one],
            labels[members][:, asked],
            bool(asked.all()),
            seed,
            [sides[member] for member in members],
        )
    found.sort(key=_place)
    names = sorted(statistics.by_name(suite.cases), key=natural_order)
    counterparts = suite.counterparts if any(sides) else ()
    known = chance.references(suite.cases, counterparts)
    return SuiteStandings(suite, tuple(names), tuple(found), known)


def _both_sides(suite: scored.SuiteOutcomes) -> list[BothSides | None]:
    """What each model gets right on both sides, of the pairs that it was asked."""
    found: list[BothSides | None] = [None] * len(suite.models)
    seeds, others = pairs_of(suite.cases, suite.counterparts)
    if not len(seeds):
        return found
    passes = scored.passing(suite.cases)[seeds], scored.passing(suite.counterparts)[others]
    said = (
        np.stack([model.labels for model in suite.models])[:, seeds],
        np.stack([scored.said_of_counterparts(suite, one) for one in suite.models])[:, others],
    )
    asked = (said[0] != scored.UNSCORED) & (said[1] != scored.UNSCORED)
    pairs = np.arange(len(seeds))
    right = asked & passes[0][pairs, said[0]] & passes[1][pairs, said[1]]
    kinds, kind_of = np.unique(asked, axis=0, return_inverse=True)
    for number, chosen in enumerate(kinds):
        members = np.flatnonzero(kind_of.ravel() == number)
        own = [suite.cases[seed] for seed in seeds[chosen]]
        for member, one in zip(members, both_sides(own, right[members][:, chosen]), strict=True):
            found[member] = one
    return found


def _place(one: Standing) -> tuple[object, ...]:
    names = one.model.name, one.model.revision, one.model.key
    number = one.prompt.number if one.prompt else 0
    return one.rank is None, one.mean, *names[:2], number, names[2]


def _standings_of(
    models: Sequence[scored.ScoredModel],
    cases: Sequence[Case],
    labels: scored.LabelIds,
    ranked: bool,
    seed: int,
    sides: Sequence[BothSides | None],
) -> list[Standing]:
    failed = ~scored.passing(cases)[np.arange(len(cases)), labels]
    figures = statistics.model_figures(cases, failed)
    compared = [main_comparison(model.name) for model in models]
    outside: dict[int, statistics.Rate] = {}
    for training in dict.fromkeys(compared):
        members = [n for n, own in enumerate(compared) if own == training]
        chosen = [n for n, case in enumerate(cases) if group_of(case.splits, training) == "other"]
        if chosen:
            found = statistics.model_figures([cases[n] for n in chosen], failed[members][:, chosen])
            outside |= {n: one.overall for n, one in zip(members, found, strict=True)}
    prompts, owner = _prompts_of(models, figures)
    ranks: list[list[int]] | None = None
    if ranked:
        groups = [owner == number for number in range(owner.max() + 1)]
        shares = np.stack([failed[members].mean(axis=0) for members in groups])
        ranks = rank_intervals(*_resampled_means(cases, shares, seed))[owner].tolist()
    known = chance.reference_means(chance.references(cases))
    _, best = chance.chance_of(known)
    answers = np.stack([(labels == label).sum(axis=1) for label in range(len(LABELS))], axis=1)
    return [
        Standing(
            model=model,
            cases=len(cases),
            rank=(ranks[n][0], ranks[n][1]) if ranks else None,
            overall=figures[n].overall,
            chance=best,
            capabilities=figures[n].capabilities,
            one_answer=chance.one_answer(
                answers[n].tolist(), known, len(cases) - int(answers[n].sum())
            ),
            training_known=training_data_of(model.name) is not None,
            compared_with=tuple(sorted(compared[n])),
            outside_training=outside.get(n),
            both_sides=sides[n],
            silences=silences(cases, labels[n]),
            prompt=prompts[n],
        )
        for n, model in enumerate(models)
    ]


def _prompts_of(
    models: Sequence[scored.ScoredModel], figures: Sequence[statistics.ModelFigures]
) -> tuple[list[PromptOf | None], statistics.Integers]:
    """Each result's place among those that differ in the prompt alone, and the model it is of.

    Models are numbered from 0 on, shape (results,).
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, model in enumerate(models):
        key = model.but_prompt if model.prompt else ("", model.key)
        groups.setdefault(key, []).append(number)
    found: list[PromptOf | None] = [None] * len(models)
    owner = np.zeros(len(models), dtype=np.int64)
    for group, members in enumerate(groups.values()):
        owner[members] = group
        if len(members) < 2:
            continue
        members.sort(key=lambda number: prompt_order(json.loads(models[number].prompt)))
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
    ranked = [standing.model for standing in one.standings if standing.rank is not None]
    most = math.isqrt(2 * _MOST_TEST_CELLS // (len(cases) + len(one.capabilities)))
    models = min(len(ranked), MOST_TESTED, max(2, most))
    if models < 2:
        return models, np.ones((0, len(one.capabilities)))
    labels = np.stack([model.labels for model in ranked[:models]])
    failed = ~scored.passing(cases)[np.arange(len(cases)), labels]
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
