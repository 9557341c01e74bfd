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

from s2lct.errors import ScoringError
from s2lct.files import is_folder, sha256_of
from s2lct.hub_calls import reason_of
from s2lct.leaderboard.results.comparison import holm, pair_tests, winner
from s2lct.leaderboard.results.hub_results import on_hub, snapshot
from s2lct.leaderboard.results.read import Scored, Suites, read_outcomes, read_result, with_figures
from s2lct.leaderboard.results.record import Result, faults_of_names
from s2lct.leaderboard.scoring import statistics
from s2lct.leaderboard.scoring.figures import Reference, references
from s2lct.plain_text import ShortRepr, plain
from s2lct.progress import bar
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import SuiteCases

MOST_TESTED = 100
"""A page holds the tests of all pairs of so many models; `s2lct compare` tests any two."""
_LONGEST_LINE = 400
_TINY = 1e-9
_LEAST_SPREAD = 1e-7


@dataclass(frozen=True)
class Standing:
    """A model's place among those of its suite."""

    scored: Scored
    sha256: str  # of its result file
    rank: tuple[int, int]  # best and worst that the cases leave open
    obtained: str  # how its predictions were obtained, one of `record.OBTAINED`


@dataclass(frozen=True, repr=False)
class SuiteStandings(ShortRepr):
    """The models of one suite, best first."""

    suite: SuiteCases
    standings: tuple[Standing, ...]

    @property
    def capabilities(self) -> list[str]:
        """The suite's, by number."""
        return sorted(statistics.by_name(self.suite.cases), key=natural_order)

    @property
    def references(self) -> dict[str, Reference]:
        """What constant and random answers come to."""
        return references(self.suite.cases, self.suite.contrasts)


@dataclass(frozen=True, repr=False)
class Collection(ShortRepr):
    """The standings of each suite, and in ``skipped`` a line for each file left out: why."""

    suites: tuple[SuiteStandings, ...]
    skipped: tuple[str, ...] = ()


def collect(
    source: str | Path, suites: Sequence[SuiteCases] = (), rescored: Container[str] = ()
) -> Collection:
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
    is_here = is_folder(Path(source)) and not on_hub(str(source))
    folder = Path(source) if is_here else snapshot(str(source))
    known, wanted = Suites(suites), {suite.fingerprint for suite in suites}
    found: dict[str, dict[tuple[str, ...], tuple[Path, Scored]]] = {}
    skipped: list[str] = []

    def skip(file: Path, why: str) -> None:
        name = file.relative_to(folder).as_posix()
        skipped.append(plain(f"{name}: {why.removeprefix(f'{file}: ')}", _LONGEST_LINE))

    files = sorted(folder.rglob("*.json"))
    step = bar("reading results", len(files))
    for file in files:
        step(1)
        try:
            scored = _ranked_result(file, known, wanted)
        except ScoringError as error:
            skip(file, error.problem)
            continue
        except Exception as error:  # a stranger's files may fail in any way
            skip(file, f"cannot be read ({reason_of(error)})")
            continue
        models = found.setdefault(scored.result.suite.fingerprint, {})
        same = _identity(scored.result)
        kept, other = sorted(
            [(file, scored), models.get(same, (file, scored))],
            # No result that nobody rescored takes the place of one that somebody did.
            key=lambda one: (sha256_of(one[0]) in rescored, one[1].result.moment, one[0]),
            reverse=True,
        )
        models[same] = kept
        if other != kept:
            skip(other[0], f"{kept[0].name} is a newer or a rescored result of the same model")
    if not found:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            hint="make some with `s2lct score MODEL --suite DIR --out results/`; name their suite "
            "with --suite where it is not here",
        )
    ranked = [ranked_models(models.values(), rescored=rescored) for models in found.values()]
    return Collection(tuple(sorted(ranked, key=_precedence, reverse=True)), tuple(skipped))


def _ranked_result(file: Path, known: Suites, wanted: set[str]) -> Scored:
    """A result of a whole suite; a `ScoringError` for what a page cannot show."""
    result = read_result(file)
    if fault := next(faults_of_names(result), ""):
        raise ScoringError(f"{file}: {fault}", hint="leave it out")
    if result.partial or result.model.predictions is not None:
        what = "covers a part of its suite" if result.partial else "holds given predictions"
        raise ScoringError(f"{file}: {what}", hint="see it with `s2lct report`")
    if wanted and result.suite.fingerprint not in wanted:
        raise ScoringError(
            f"{file}: is on another suite than --suite names ({result.suite.version}, "
            f"{result.suite.fingerprint[:12] or 'none'})",
            hint="name its suite, too",
        )
    suite = known.of(result, file)
    outcomes = read_outcomes(file, result, suite)
    return Scored(with_figures(result, outcomes), outcomes)


def _identity(result: Result) -> tuple[str, ...]:
    """What results of the same model have in common; on the Hub names differ not by case.

    Of an endpoint nobody can tell whether the models of two such names are one.
    """
    model, endpoint = result.model, result.model.endpoint
    address = (endpoint.url, str(endpoint.max_tokens), model.name) if endpoint else ()
    options = json.dumps(model.options.model_dump(mode="json"), sort_keys=True)
    weights = model.weights_sha256 or model.answers_sha256
    return model.name.casefold(), model.revision, weights, model.dtype, options, *address


def _precedence(one: SuiteStandings) -> tuple[object, ...]:
    """Which of several suites a page shows first: the one with the largest of these."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", one.suite.version, re.ASCII)
    version = tuple(map(int, match.groups())) if match else (-1,)
    return version, len(one.standings), one.suite.fingerprint


def ranked_models(
    models: Iterable[tuple[Path, Scored]], seed: int = 0, rescored: Container[str] = ()
) -> SuiteStandings:
    """The models of one suite, ranked by one bootstrap of all: differences are paired.

    What ranks is consistency, and in a suite without contrasts the failure rate.

    Args:
        models: result files, and what they hold.
        seed: of the bootstrap.
        rescored: SHA-256 of the result files whose models were asked again, and agree.
    """
    files, read = zip(*models, strict=True)
    suite = read[0].outcomes.suite
    outcomes = [one.outcomes for one in read]
    if suite.contrasts:
        pairs = [of.pairs() for of in outcomes]
        cases, failed = pairs[0].cases, np.stack([~of.right for of in pairs])
    else:
        cases, failed = list(suite.cases), np.stack([of.failed for of in outcomes])
    ranks = rank_intervals(*statistics.resampled_means(cases, failed, seed)).tolist()
    found: list[Standing] = []
    for file, one, (best, worst) in zip(files, read, ranks, strict=True):
        sha256 = sha256_of(file)
        obtained = one.result.model.obtained(rescored=sha256 in rescored)
        found.append(Standing(one, sha256, (best, worst), obtained))
    return SuiteStandings(suite, tuple(sorted(found, key=_place)))


def _place(one: Standing) -> tuple[object, ...]:
    result, share = one.scored.result, one.scored.result.overall.consistency
    figures = (-share.macro if share else 0, result.overall.failure_rate.macro)
    return *figures, result.model.name, result.model.revision, one.sha256


class PairTests(NamedTuple):
    """What the tests of pairs of models show: (0, 1), (0, 2), …, (1, 2), ….

    Attributes:
        capabilities: that were tested, by number.
        p_values: after Holm's correction, shape (pairs, capabilities).
        better: of each pair and capability what `comparison.winner` says.
    """

    capabilities: list[str]
    p_values: statistics.Floats
    better: list[list[int | None]]


def pairwise_tests(one: SuiteStandings, *, consistency: bool = False) -> PairTests:
    """The tests of each pair of the best models.

    They are bounded in number, so that a board of any size builds in seconds and its page stays
    small. Of ``consistency`` it is pairs of a case and its contrast that fail.
    """
    tested = [of.scored.outcomes for of in one.standings[:MOST_TESTED]]
    pairs = [of.pairs() for of in tested] if consistency else []
    cases = pairs[0].cases if pairs else one.suite.cases
    of_name = statistics.by_name(cases)
    names = sorted(of_name, key=natural_order)
    if len(tested) < 2 or not names:
        return PairTests(names, np.ones((0, len(names))), [])
    failed = np.stack([~of.right for of in pairs] or [of.failed for of in tested])
    models = np.stack(np.triu_indices(len(tested), 1))
    p_values, differences = pair_tests(cases, [of_name[name] for name in names], failed, models)
    adjusted = holm(p_values)
    better = [
        [winner(*test) for test in zip(*pair, strict=True)]
        for pair in zip(differences.tolist(), adjusted.tolist(), strict=True)
    ]
    return PairTests(names, adjusted, better)


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
