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
    """A result file, its contents, and where it goes."""

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
    left_out: list[str] = []
    for path in files:
        try:
            accepted.append(_checked(path, suites))
        except S2lctError as error:
            left_out.append(f"{path}: {error.problem.removeprefix(f'{path}: ')}")
    newest: dict[str, _Submission] = {}
    for submission in sorted(accepted, key=lambda accepted: accepted.result.moment):
        if older := newest.get(submission.target):
            left_out.append(f"{older.path}: {submission.path} is a newer result of the same model")
        newest[submission.target] = submission
    left_out = [plain(line, MAX_LINE_CHARACTERS) for line in left_out]
    if not newest:
        raise PublishError(
            listed(left_out, 1),
            hint="score models by their Hub ids, or behind an endpoint, on a whole suite",
        )
    for line in left_out:
        warnings.warn(f"left out {line}", S2lctWarning, stacklevel=2)
    contents = {"README.md": render("results_card.md", repo=to).encode()}
    lines: list[str] = []
    for submission in newest.values():
        result = submission.result
        contents |= _files(submission)
        words = in_words(result.overall)
        lines.append(plain(f"{result.model.name} on suite {result.suite.version}: {words}"))
    title = f"Add {len(lines)} result{'s' if len(lines) > 1 else ''}"
    description = "\n".join(f"- {line}" for line in lines)
    publisher = Publisher(to, "dataset", create_pr, dry_run)
    return [*lines, *publisher.publish(contents, title, description)]


def _checked(path: Path, suites: Suites) -> _Submission:
    """A result that may be published.

    Raises:
        S2lctError: it cannot be read, its suite is not here, or it is refused as a submission.
    """
    from s2lct.leaderboard.results.read_results import read_result
    from s2lct.leaderboard.results.submission import submission_faults
    from s2lct.leaderboard.results.write_results import repository_path

    result = read_result(path)
    if faults := submission_faults(path, result, suites.suite_of(result, path)):
        raise PublishError("; ".join(faults), hint="score the model again")
    return _Submission(path, result, repository_path(result))


def _files(submission: _Submission) -> dict[str, bytes]:
    """A result's JSON and Parquet file by path; no name tells where a folder lies."""
    path, result, target = submission
    table = PurePosixPath(target).with_suffix(".parquet")
    suite = result.suite.model_copy(update={"name": public_suite_name(result.suite.name)})
    outcomes = result.outcomes.model_copy(update={"path": table.name})
    published = result.model_copy(update={"suite": suite, "outcomes": outcomes})
    return {
        target: (published.model_dump_json(indent=2) + "\n").encode(),
        str(table): (path.parent / result.outcomes.path).read_bytes(),
    }
