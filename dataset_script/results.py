"""Publish result files in a dataset that the leaderboard reads."""

from __future__ import annotations

import warnings
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from s2lct.cards import render
from s2lct.command import command
from s2lct.dataset_script.hub import CreatePr, DryRun, Publisher, require_repo
from s2lct.errors import PublishError, S2lctError, S2lctWarning
from s2lct.leaderboard.commands.results import SuitesOfResults
from s2lct.leaderboard.results.hub import public_suite_name
from s2lct.plain_text import MAX_LINE_CHARACTERS, listed, plain

if TYPE_CHECKING:
    from s2lct.leaderboard.results.read_results import Suites
    from s2lct.leaderboard.results.record import Result


class _Submission(NamedTuple):
    """A result file, its contents, and its path in the dataset of results."""

    path: Path
    result: Result
    target: str


@command
def publish_results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files that `s2lct score` wrote.", exists=True, dir_okay=False),
    ],
    *,
    to: Annotated[str, typer.Option(help="Dataset of results, as ORG/NAME.")],
    suite: SuitesOfResults = [],  # noqa: B006
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish the result files that `s2lct leaderboard check` accepts; others are named.

    Of a model the newest result counts.
    """
    from s2lct.leaderboard.results.read_results import Suites
    from s2lct.leaderboard.scoring.figures import in_words

    require_repo("--to", to)
    suites = Suites(suite, may_fetch=True)
    accepted: list[_Submission] = []
    left_out_lines: list[str] = []
    for path in files:
        try:
            accepted.append(_checked_submission(path, suites))
        except S2lctError as error:
            left_out_lines.append(f"{path}: {error.problem.removeprefix(f'{path}: ')}")
    submission_of_target: dict[str, _Submission] = {}
    for submission in sorted(accepted, key=lambda accepted: accepted.result.moment):
        if older := submission_of_target.get(submission.target):
            left_out_lines.append(
                f"{older.path}: {submission.path} is a newer result of the same model"
            )
        submission_of_target[submission.target] = submission
    left_out_lines = [plain(line, MAX_LINE_CHARACTERS) for line in left_out_lines]
    if not submission_of_target:
        raise PublishError(
            listed(left_out_lines, 1),
            hint="score models by their Hub ids, or behind an endpoint, on a whole suite",
        )
    for line in left_out_lines:
        warnings.warn(f"left out {line}", S2lctWarning, stacklevel=2)
    contents = {"README.md": render("results_card.md", repo=to).encode()}
    lines: list[str] = []
    for submission in submission_of_target.values():
        result = submission.result
        contents |= _files_by_path(submission)
        figures = in_words(result.overall)
        lines.append(plain(f"{result.model.name} on suite {result.suite.version}: {figures}"))
    title = f"Add {len(lines)} result{'s' if len(lines) > 1 else ''}"
    description = "\n".join(f"- {line}" for line in lines)
    publisher = Publisher(to, "dataset", create_pr, dry_run)
    return [*lines, *publisher.publish(contents, title, description)]


def _checked_submission(path: Path, suites: Suites) -> _Submission:
    """Read a result file, and check that it may be published.

    Raises:
        S2lctError: the file cannot be read, its suite is not here, or it is refused.
    """
    from s2lct.leaderboard.results.read_results import read_result
    from s2lct.leaderboard.results.submission import submission_faults
    from s2lct.leaderboard.results.write_results import repository_path

    result = read_result(path)
    if faults := submission_faults(path, result, suites.suite_of(result, path)):
        raise PublishError("; ".join(faults), hint="score the model again")
    return _Submission(path, result, repository_path(result))


def _files_by_path(submission: _Submission) -> dict[str, bytes]:
    """The contents of a result's JSON and Parquet file, by path, without local folders in names."""
    path, result, target = submission
    table_path = PurePosixPath(target).with_suffix(".parquet")
    public_suite = result.suite.model_copy(update={"name": public_suite_name(result.suite.name)})
    public_outcomes = result.outcomes.model_copy(update={"path": table_path.name})
    public_result = result.model_copy(update={"suite": public_suite, "outcomes": public_outcomes})
    return {
        target: (public_result.model_dump_json(indent=2) + "\n").encode(),
        str(table_path): (path.parent / result.outcomes.path).read_bytes(),
    }
