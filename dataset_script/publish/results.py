"""Publish result files in a dataset that the leaderboard reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from s2lct.cards import render_results_card
from s2lct.dataset_script.hub import Hub, Outcome, Publication, require_repo
from s2lct.errors import PublishError
from s2lct.leaderboard.results.hub_results import on_hub
from s2lct.leaderboard.results.read import Suites, read_result, recompute
from s2lct.leaderboard.results.record import Result, faults_of_names
from s2lct.leaderboard.results.write import repository_path
from s2lct.plain_text import plain

_SHORT = 12


class NoSubmissionError(PublishError):
    """A result that no leaderboard takes, though nothing is wrong with it."""


@dataclass(frozen=True)
class CheckedResult:
    """A result whose figures follow from its cases, as it is published.

    Attributes:
        result: the result; suites and models in folders are named without their place.
        path: where its JSON goes in the repository; the Parquet file lies beside it.
        outcomes: the Parquet file's bytes.
    """

    result: Result
    path: str
    outcomes: bytes

    @classmethod
    def read(cls, path: Path) -> CheckedResult:
        """Read a result file and the Parquet file beside it, and compute every figure again.

        Raises:
            ScoringError: it is no result file, or a figure does not follow from its cases.
            NoSubmissionError: it is of a part of its suite, or of given predictions.
            PublishError: a leaderboard could not show its names.
        """
        read = whole_result(path)
        named = {
            part: record.model_copy(update={"name": _without_place(record.name)})
            for part, record in (("suite", read.suite), ("model", read.model))
        }
        result = read.model_copy(update=named)
        if fault := next(faults_of_names(result), ""):
            raise PublishError(
                f"{path}: {fault}", hint="rename the model's folder and score it again"
            )
        target = repository_path(result)
        outcomes = read.outcomes.model_copy(update={"path": PurePosixPath(_table(target)).name})
        result = result.model_copy(update={"outcomes": outcomes})
        return cls(result, target, (path.parent / read.outcomes.path).read_bytes())

    @property
    def files(self) -> dict[str, bytes]:
        """Content by path."""
        described = self.result.model_dump_json(indent=2) + "\n"
        return {self.path: described.encode(), _table(self.path): self.outcomes}


def _table(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(".parquet"))


def whole_result(path: Path) -> Result:
    """A result of a whole suite whose figures follow from its cases.

    Raises:
        ScoringError: it is no result file, or a figure does not follow from its cases.
        NoSubmissionError: it is one of a part of its suite, or of given predictions.
    """
    result = read_result(path)
    if result.partial:
        raise NoSubmissionError(
            f"{path}: is partial: it covers {result.overall.cases:,} cases of its suite "
            f"({result.selection})",
            hint="score the whole suite, without --capability and --limit",
        )
    if result.model.predictions is not None:
        raise NoSubmissionError(
            f"{path}: holds given predictions, which nobody can score again",
            hint="score the model itself, by its Hub id or behind an endpoint",
        )
    suite = result.suite.name
    return recompute(path, Suites([suite] if on_hub(suite) else []))


def _without_place(name: str) -> str:
    """A folder's own name; Hub ids and names of baselines as they are."""
    if on_hub(name):
        return name
    return PurePosixPath(name.replace("\\", "/")).name or name


def publish_results(paths: Sequence[Path], repo: str, hub: Hub) -> Outcome:
    """Publish result files with their Parquet files, all in one commit.

    Args:
        paths: JSON files that `s2lct score` wrote.
        repo: ``ORG/NAME`` of the dataset; made if there is none.
        hub: where and how.

    Raises:
        ScoringError: a file is no result, or its figures do not follow from its cases.
        PublishError: two files are results of one model, or the Hub refuses; or all are of a part
            of their suite or of given predictions, which are left out where others remain.
    """
    require_repo("--to", repo)
    read: dict[Path, CheckedResult] = {}
    left_out: list[NoSubmissionError] = []
    for path in paths:
        try:
            read[path] = CheckedResult.read(path)
        except NoSubmissionError as error:
            left_out.append(error)
    if left_out and not read:
        raise left_out[0]
    results = {checked.path: checked for checked in read.values()}
    if len(results) < len(read):
        raise PublishError(
            f"{', '.join(map(str, paths))}: two are results of one model on one suite",
            hint="give one of them",
        )

    files = {path: data for one in results.values() for path, data in one.files.items()}
    files["README.md"] = render_results_card(repo).encode()
    lines = [_line(one.result) for one in results.values()]
    models = ", ".join(plain(one.result.model.name) for one in results.values())
    title = f"Add results of {models}" if len(results) < 4 else f"Add {len(results)} results"
    description = "\n".join(f"- {line}" for line in lines)
    publication = Publication(repo, "dataset", title, files, description)
    outcome = hub.publish(publication, hub.state(repo, "dataset"))
    outcome.lines[:0] = [*(f"left out {error.problem}" for error in left_out), *lines]
    return outcome


def _version(result: Result) -> str:
    return result.suite.version or result.suite.fingerprint[:_SHORT]


def _line(result: Result) -> str:
    overall = result.overall
    low, high = overall.ci
    return plain(
        f"{result.model.name}: fails {overall.failure_rate:.1%} [{low:.1%}, {high:.1%}] "
        f"of suite {_version(result)} ({overall.cases:,} cases)"
    )
