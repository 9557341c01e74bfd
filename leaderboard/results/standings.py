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
"""A page holds the tests of all pairs of so many models; `s2lct compare` tests any two."""
_MIN_VARIANCE = 1e-12


@dataclass(frozen=True)
class Standing:
    """A model's place among those of its suite."""

    scored: ScoredModel
    sha256: str  # of its result file
    rank: tuple[int, int]  # best and worst rank that the tests leave open
    obtained: str  # how its predictions were obtained, one of `record.OBTAINED`


@dataclass(frozen=True, repr=False)
class SuiteStandings(ShortRepr):
    """The models of one suite, best first."""

    suite: SuiteCases
    standings: tuple[Standing, ...]

    @property
    def capabilities(self) -> list[str]:
        """The suite's capabilities, by number."""
        return sorted(statistics.numbers_by_capability(self.suite.cases), key=natural_order)

    @property
    def references(self) -> dict[str, Reference]:
        """The figures of constant and random answers."""
        return references(self.suite.cases, self.suite.contrasts)


@dataclass(frozen=True, repr=False)
class Leaderboard(ShortRepr):
    """The standings of each suite, and in ``skipped`` a line for each file left out: why."""

    suites: tuple[SuiteStandings, ...]
    skipped: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A result file that can be ranked."""

    file: Path
    sha256: str
    scored: ScoredModel
    obtained: str


def collect(
    source: str | Path, suites: Sequence[SuiteCases] = (), rescored: Container[str] = ()
) -> Leaderboard:
    """Read results and rank their models.

    A file that cannot be used is left out with a line that says why; of two files of the same model
    on the same suite the newer one counts.

    Args:
        source: a folder of result files, or a Hub dataset ``ORG/NAME[@REVISION]`` of them.
        suites: what the results may be on; without any, what their own suites' folders here hold.
        rescored: SHA-256 of the result files whose models were asked again, and agree.

    Raises:
        ScoringError: there is nothing at ``source``, or nothing usable.
    """
    is_here = is_folder(Path(source)) and not is_on_hub(str(source))
    folder = Path(source) if is_here else download_results(str(source))
    allowed, fingerprints = Suites(suites), {suite.fingerprint for suite in suites}
    by_model: dict[str, _Candidate] = {}
    skipped: list[str] = []

    def skip(file: Path, reason: str) -> None:
        name = file.relative_to(folder).as_posix()
        skipped.append(plain(f"{name}: {reason.removeprefix(f'{file}: ')}", MAX_LINE_CHARACTERS))

    files = sorted(folder.rglob("*.json"))
    advance = bar("reading results", len(files))
    for file in files:
        advance(1)
        try:
            scored = read_rankable(file, allowed, fingerprints)
        except ScoringError as error:
            skip(file, error.problem)
            continue
        except Exception as error:  # a stranger's files may fail in any way
            skip(file, f"cannot be read ({error_summary(error)})")
            continue
        sha256 = sha256_of(file)
        obtained = scored.result.model.obtained(rescored=sha256 in rescored)
        candidate = _Candidate(file, sha256, scored, obtained)
        model = _model_key(scored.result)
        kept, other = sorted(
            [candidate, by_model.get(model, candidate)],
            # No result that nobody rescored takes the place of one that somebody did.
            key=lambda result: (
                result.sha256 in rescored,
                result.scored.result.moment,
                result.file,
            ),
            reverse=True,
        )
        by_model[model] = kept
        if other is not kept:
            skip(other.file, f"{kept.file.name} is a newer or a rescored result of the same model")
    if not by_model:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            hint="make some with `s2lct score MODEL --suite DIR --out results/`; name their suite "
            "with --suite where it is not here",
        )
    of_suite: dict[str, list[_Candidate]] = {}
    for candidate in by_model.values():
        fingerprint = candidate.scored.result.suite.fingerprint
        of_suite.setdefault(fingerprint, []).append(candidate)
    ranked = sorted(map(_ranked, of_suite.values()), key=_suite_order, reverse=True)
    return Leaderboard(tuple(ranked), tuple(skipped))


def read_rankable(file: Path, allowed: Suites, fingerprints: set[str]) -> ScoredModel:
    """Read a result; a `ScoringError` if it may not be ranked."""
    result = read_result(file)
    for fault in ranking_faults(result):
        raise ScoringError(f"{file}: {fault}", hint="see it with `s2lct report`")
    if fingerprints and result.suite.fingerprint not in fingerprints:
        raise ScoringError(
            f"{file}: is on another suite than --suite names ({result.suite.version}, "
            f"{result.suite.fingerprint[:12] or 'none'})",
            hint="name its suite, too",
        )
    outcomes = read_outcomes(file, result, allowed.of(result, file))
    return ScoredModel(with_figures(result, outcomes), outcomes)


def _model_key(result: Result) -> str:
    """Equal for results of the same model on the same suite; the Hub ignores the case of names."""
    model = result.model.model_copy(update={"name": result.model.name.casefold()})
    return json.dumps([result.suite.fingerprint, model_identity(model)], sort_keys=True)


def _suite_order(board: SuiteStandings) -> tuple[object, ...]:
    """Which of several suites a page shows first: the one with the largest of these."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", board.suite.version, re.ASCII)
    version = tuple(map(int, match.groups())) if match else (-1,)
    return version, len(board.standings), board.suite.fingerprint


def _ranked(candidates: Iterable[_Candidate]) -> SuiteStandings:
    """The models of one suite, ranked by consistency, or without contrasts by failure rates."""
    # Equal models stand in the order of their files' hashes.
    by_hash = sorted(candidates, key=lambda candidate: candidate.sha256)
    candidate_of = {id(candidate.scored.result): candidate for candidate in by_hash}
    results = best_first([candidate.scored.result for candidate in by_hash])
    ordered = [candidate_of[id(result)] for result in results]
    scored = [candidate.scored for candidate in ordered]
    suite = scored[0].outcomes.suite
    ranks = rank_ranges(*_failed_cases(suite, scored, consistency=bool(suite.contrasts))).tolist()
    return SuiteStandings(
        suite,
        tuple(
            Standing(candidate.scored, candidate.sha256, (best, worst), candidate.obtained)
            for candidate, (best, worst) in zip(ordered, ranks, strict=True)
        ),
    )


def _failed_cases(
    suite: SuiteCases, scored: Sequence[ScoredModel], *, consistency: bool
) -> tuple[Sequence[Case], statistics.Failed]:
    """The cases that count, and which of them each model fails, shape (models, cases).

    Of ``consistency`` those with a contrast count; a case fails unless both are answered right.
    """
    if not consistency:
        return suite.cases, np.stack([outcomes.failed for _, outcomes in scored])
    pairs = [outcomes.pairs() for _, outcomes in scored]
    return pairs[0].cases, np.stack([~pair.right for pair in pairs])


class PairTests(NamedTuple):
    """The tests of pairs of models: (0, 1), (0, 2), …, (1, 2), ….

    Attributes:
        capabilities: that were tested, by number.
        p_values: after Holm's correction, shape (pairs, capabilities).
        better: for each pair and capability what `comparison.winner` says.
    """

    capabilities: list[str]
    p_values: statistics.Floats
    better: list[list[int | None]]


def pairwise_tests(board: SuiteStandings, *, consistency: bool = False) -> PairTests:
    """Test each pair of the best models in each capability.

    The models are bounded in number, so that a board of any size builds in seconds.
    """
    scored = [standing.scored for standing in board.standings[:MAX_TESTED_MODELS]]
    cases, failed = _failed_cases(board.suite, scored, consistency=consistency)
    of_name = statistics.numbers_by_capability(cases)
    names = sorted(of_name, key=natural_order)
    if len(scored) < 2 or not names:
        return PairTests(names, np.ones((0, len(names))), [])
    pairs = np.stack(np.triu_indices(len(scored), 1))
    p_values, differences = pair_tests(cases, [of_name[name] for name in names], failed, pairs)
    adjusted = holm(p_values)
    better = [
        [winner(*test) for test in zip(*pair, strict=True)]
        for pair in zip(differences.tolist(), adjusted.tolist(), strict=True)
    ]
    return PairTests(names, adjusted, better)


def rank_ranges(cases: Sequence[Case], failed: statistics.Failed) -> npt.NDArray[np.int64]:
    """The best and the worst rank that tests leave open to each model, shape (models, 2).

    Each pair of models is tested by the macro failure rate: the sign-flip test of whole families
    across capabilities, in its normal approximation, with Holm's correction over all comparisons of
    a model. Models that the test does not tell apart share ranks.

    Args:
        cases: of one capability or more, not empty.
        failed: which of them each model fails, shape (models, cases).
    """
    capabilities = statistics.numbers_by_capability(cases)
    weights = np.zeros(len(cases))
    for numbers in capabilities.values():
        weights[numbers] = 1 / (len(numbers) * len(capabilities))
    family = families_of(cases, across=True)
    of_family = np.stack([np.bincount(family, weights * fails) for fails in failed])
    rates, products = of_family.sum(axis=1), of_family @ of_family.T
    differences = rates[:, None] - rates
    variances = np.diag(products)[:, None] + np.diag(products) - 2 * products
    # Equal models differ by rounding alone.
    deviations = np.sqrt(np.maximum(variances, _MIN_VARIANCE))
    shown = holm(2 * norm.sf(np.abs(differences) / deviations)) < LEVEL
    better, worse = (shown & (differences > 0)).sum(axis=1), (shown & (differences < 0)).sum(axis=1)
    return np.stack([1 + better, len(failed) - worse], axis=1)
