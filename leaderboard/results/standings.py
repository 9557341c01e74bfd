"""Many models' results, read from a folder or a Hub dataset and ranked, suite by suite."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from s2lct.errors import ScoringError
from s2lct.files import is_folder, sha256_of
from s2lct.hub_calls import error_summary
from s2lct.leaderboard.results.comparison import LEVEL, holm, pair_tests, winner
from s2lct.leaderboard.results.hub import download_results, is_on_hub
from s2lct.leaderboard.results.order import best_first
from s2lct.leaderboard.results.read_results import (
    ScoredModel,
    Suites,
    read_outcomes,
    read_result,
    with_figures,
)
from s2lct.leaderboard.results.record import Result, model_identity, ranking_faults
from s2lct.leaderboard.scoring import statistics
from s2lct.leaderboard.scoring.figures import Reference, references
from s2lct.plain_text import MAX_LINE_CHARACTERS, ShortRepr, plain
from s2lct.progress import bar
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, SuiteCases, families_of

MAX_TESTED_MODELS = 100
"""The number of best models of which a page tests all pairs; `s2lct compare` tests any two."""
_MIN_VARIANCE = 1e-12


@dataclass(frozen=True)
class Standing:
    """A model's rank among the models of its suite."""

    scored: ScoredModel
    sha256: str  # of the result file
    rank: tuple[int, int]  # best and worst rank that the tests leave open
    how_obtained: str  # a key of `models.record.OBTAINED`


@dataclass(frozen=True, repr=False)
class SuiteStandings(ShortRepr):
    """The models of one suite, best first."""

    suite: SuiteCases
    standings: tuple[Standing, ...]

    @property
    def capabilities(self) -> list[str]:
        """The ids of the suite's capabilities, sorted by number."""
        return sorted(statistics.indices_by_capability(self.suite.cases), key=natural_order)

    @property
    def references(self) -> dict[str, Reference]:
        """The figures of constant and random answers."""
        return references(self.suite.cases, self.suite.contrasts)


@dataclass(frozen=True, repr=False)
class Leaderboard(ShortRepr):
    """The standings of each suite; ``skip_reasons`` has a line for each file left out."""

    suites: tuple[SuiteStandings, ...]
    skip_reasons: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A result file that can be ranked."""

    file: Path
    sha256: str
    scored: ScoredModel
    how_obtained: str


def collect(
    source: str | Path, suites: Sequence[SuiteCases] = (), rescored: Container[str] = ()
) -> Leaderboard:
    """Read results and rank their models.

    A file that cannot be used is left out with a reason. Of two results of the same model on the
    same suite, a rescored one counts, then the newer one.

    Args:
        source: a folder of result files, or a Hub dataset ``ORG/NAME[@REVISION]`` of them.
        suites: the suites that results may be on; if empty, those in the folders that results name.
        rescored: SHA-256 of the result files whose models were scored again with the same outcome.

    Raises:
        ScoringError: ``source`` does not exist, or holds no usable result file.
    """
    is_local_folder = is_folder(Path(source)) and not is_on_hub(str(source))
    folder = Path(source) if is_local_folder else download_results(str(source))
    known_suites, fingerprints = Suites(suites), {suite.fingerprint for suite in suites}
    candidate_of_model: dict[str, _Candidate] = {}
    reasons: list[str] = []

    def skip(file: Path, reason: str) -> None:
        name = file.relative_to(folder).as_posix()
        text = f"{name}: {reason.removeprefix(f'{file}: ')}"
        reasons.append(plain(text, MAX_LINE_CHARACTERS))

    files = sorted(folder.rglob("*.json"))
    advance = bar("reading results", len(files))
    for file in files:
        advance(1)
        try:
            scored = read_rankable(file, known_suites, fingerprints)
        except ScoringError as error:
            skip(file, error.problem)
            continue
        except Exception as error:  # a stranger's files may fail in any way
            skip(file, f"cannot be read ({error_summary(error)})")
            continue
        sha256 = sha256_of(file)
        how_obtained = scored.result.model.obtained(rescored=sha256 in rescored)
        candidate = _Candidate(file, sha256, scored, how_obtained)
        model_key = _model_key(scored.result)
        kept, other = sorted(
            [candidate, candidate_of_model.get(model_key, candidate)],
            # A rescored result is kept even if another one is newer.
            key=lambda c: (c.sha256 in rescored, c.scored.result.moment, c.file),
            reverse=True,
        )
        candidate_of_model[model_key] = kept
        if other is not kept:
            skip(other.file, f"{kept.file.name} is a newer or a rescored result of the same model")
    if not candidate_of_model:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(reasons)} left out, the first: {reasons[0]}" if reasons else ""),
            hint="make some with `s2lct score MODEL --suite DIR --out results/`; name their suite "
            "with --suite where it is not here",
        )
    candidates_of_suite: dict[str, list[_Candidate]] = {}
    for candidate in candidate_of_model.values():
        fingerprint = candidate.scored.result.suite.fingerprint
        candidates_of_suite.setdefault(fingerprint, []).append(candidate)
    boards = map(_standings_of, candidates_of_suite.values())
    return Leaderboard(tuple(sorted(boards, key=_suite_order, reverse=True)), tuple(reasons))


def read_rankable(file: Path, known_suites: Suites, fingerprints: set[str]) -> ScoredModel:
    """Read a result, or raise a `ScoringError` if it may not be ranked."""
    result = read_result(file)
    for fault in ranking_faults(result):
        raise ScoringError(f"{file}: {fault}", hint="see it with `s2lct report`")
    if fingerprints and result.suite.fingerprint not in fingerprints:
        raise ScoringError(
            f"{file}: is on another suite than --suite names ({result.suite.version}, "
            f"{result.suite.fingerprint[:12] or 'none'})",
            hint="name its suite, too",
        )
    outcomes = read_outcomes(file, result, known_suites.suite_of(result, file))
    return ScoredModel(with_figures(result, outcomes), outcomes)


def _model_key(result: Result) -> str:
    """A key of a model on a suite; it ignores the case of the model's name, as the Hub does."""
    folded_model = result.model.model_copy(update={"name": result.model.name.casefold()})
    return json.dumps([result.suite.fingerprint, model_identity(folded_model)], sort_keys=True)


def _suite_order(board: SuiteStandings) -> tuple[object, ...]:
    """The sort key of suites on a page, in descending order: version, then number of models."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", board.suite.version, re.ASCII)
    version = tuple(map(int, match.groups())) if match else (-1,)
    return version, len(board.standings), board.suite.fingerprint


def _standings_of(candidates: Iterable[_Candidate]) -> SuiteStandings:
    """The models of one suite, ranked by consistency, or without contrasts by failure rates."""
    # Models with equal figures are ordered by the hashes of their files.
    sorted_by_hash = sorted(candidates, key=lambda candidate: candidate.sha256)
    candidate_of_result = {id(candidate.scored.result): candidate for candidate in sorted_by_hash}
    results = best_first([candidate.scored.result for candidate in sorted_by_hash])
    ordered = [candidate_of_result[id(result)] for result in results]
    scored_models = [candidate.scored for candidate in ordered]
    suite = scored_models[0].outcomes.suite
    has_contrasts = bool(suite.contrasts)
    cases, failed = _cases_and_failures(suite, scored_models, consistency=has_contrasts)
    ranks = rank_ranges(cases, failed).tolist()
    return SuiteStandings(
        suite,
        tuple(
            Standing(candidate.scored, candidate.sha256, (best, worst), candidate.how_obtained)
            for candidate, (best, worst) in zip(ordered, ranks, strict=True)
        ),
    )


def _cases_and_failures(
    suite: SuiteCases, scored_models: Sequence[ScoredModel], *, consistency: bool
) -> tuple[Sequence[Case], statistics.Failed]:
    """The cases that count, and whether each model fails them, shape (models, cases).

    For ``consistency``, only cases with a contrast count; a case fails unless the model answers
    both right.
    """
    if not consistency:
        return suite.cases, np.stack([outcomes.failed for _, outcomes in scored_models])
    pairs = [outcomes.pairs() for _, outcomes in scored_models]
    return pairs[0].cases, np.stack([~pair.right for pair in pairs])


class PairTests(NamedTuple):
    """The tests of all pairs of models, in the order (0, 1), (0, 2), …, (1, 2), ….

    Attributes:
        capabilities: the ids of the tested capabilities, sorted by number.
        p_values: p-values after Holm's correction, shape (pairs, capabilities).
        winners: for each pair and capability, the result of `comparison.winner`.
    """

    capabilities: list[str]
    p_values: statistics.Floats
    winners: list[list[int | None]]


def pairwise_tests(board: SuiteStandings, *, consistency: bool = False) -> PairTests:
    """Test each pair of the best `MAX_TESTED_MODELS` models in each capability."""
    scored_models = [standing.scored for standing in board.standings[:MAX_TESTED_MODELS]]
    cases, failed = _cases_and_failures(board.suite, scored_models, consistency=consistency)
    numbers_of = statistics.indices_by_capability(cases)
    names = sorted(numbers_of, key=natural_order)
    if len(scored_models) < 2 or not names:
        return PairTests(names, np.ones((0, len(names))), [])
    pairs = np.stack(np.triu_indices(len(scored_models), 1))
    p_values, differences = pair_tests(cases, [numbers_of[name] for name in names], failed, pairs)
    adjusted = holm(p_values)
    winners = [
        [winner(*test) for test in zip(*pair, strict=True)]
        for pair in zip(differences.tolist(), adjusted.tolist(), strict=True)
    ]
    return PairTests(names, adjusted, winners)


def rank_ranges(cases: Sequence[Case], failed: statistics.Failed) -> npt.NDArray[np.int64]:
    """The best and the worst rank that tests leave open to each model, shape (models, 2).

    Each pair of models is tested for a difference of macro failure rates. The test is the normal
    approximation of the sign-flip test of whole families across capabilities, with Holm's
    correction over all comparisons of a model. Models that do not differ significantly share ranks.

    Args:
        cases: the cases of one capability or more, not empty.
        failed: whether each model fails each case, shape (models, cases).
    """
    indices_by_capability = statistics.indices_by_capability(cases)
    weights = np.zeros(len(cases))
    for numbers in indices_by_capability.values():
        weights[numbers] = 1 / (len(numbers) * len(indices_by_capability))
    family_numbers = families_of(cases, across=True)
    # Of each model, the part of its macro failure rate that each family contributes.
    rate_parts = np.stack([np.bincount(family_numbers, weights * fails) for fails in failed])
    rates, cross_products = rate_parts.sum(axis=1), rate_parts @ rate_parts.T
    differences = rates[:, None] - rates
    variances = np.diag(cross_products)[:, None] + np.diag(cross_products) - 2 * cross_products
    # Rounding makes the variances of equal models differ slightly from zero.
    deviations = np.sqrt(np.maximum(variances, _MIN_VARIANCE))
    is_significant = holm(2 * norm.sf(np.abs(differences) / deviations)) < LEVEL
    better_count = (is_significant & (differences > 0)).sum(axis=1)
    worse_count = (is_significant & (differences < 0)).sum(axis=1)
    return np.stack([1 + better_count, len(failed) - worse_count], axis=1)
