"""Publish result files in a dataset that the leaderboard reads."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cards import render
from s2lct.command import command
from s2lct.dataset_script.hub import CreatePr, DryRun, Hub, Publication, require_repo
from s2lct.errors import PublishError, S2lctError
from s2lct.leaderboard.commands.results import SuitesOfResults
from s2lct.leaderboard.results.hub_results import name_without_place
from s2lct.plain_text import plain

if TYPE_CHECKING:
    from s2lct.leaderboard.results.read import Suites
    from s2lct.leaderboard.results.record import Result

_LONGEST = 400


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
    from s2lct.leaderboard.results.read import Suites
    from s2lct.leaderboard.scoring.figures import in_words

    require_repo("--to", to)
    suites = Suites(suite, fetched=True)
    accepted: list[tuple[Path, Result, dict[str, bytes]]] = []
    left_out: dict[Path, str] = {}
    for path in files:
        try:
            accepted.append((path, *_as_published(path, suites)))
        except S2lctError as error:
            left_out[path] = error.problem.removeprefix(f"{path}: ")
    newest: dict[str, tuple[Path, Result, dict[str, bytes]]] = {}
    for path, result, content in sorted(accepted, key=lambda each: each[1].moment):
        target = min(content)
        if target in newest:
            left_out[newest[target][0]] = f"{path} is a newer result of the same model"
        newest[target] = path, result, content
    if not newest:
        (path, why), *others = left_out.items()
        more = f" (and {len(others)} more files)" if others else ""
        raise PublishError(
            plain(f"{path}: {why}", _LONGEST) + more,
            hint="score models by their Hub ids, or behind an endpoint, on a whole suite",
        )
    contents = {"README.md": render("results_card.md", repo=to).encode()}
    lines: list[str] = []
    for _, result, content in newest.values():
        contents |= content
        words = in_words(result.overall)
        lines.append(plain(f"{result.model.name} on suite {result.suite.version}: {words}"))
    title = f"Add {len(lines)} result{'s' if len(lines) > 1 else ''}"
    description = "\n".join(f"- {line}" for line in lines)
    publication = Publication(to, "dataset", title, contents, description)
    hub = Hub(create_pr, dry_run)
    lines += [plain(f"left out {path}: {why}", _LONGEST) for path, why in left_out.items()]
    return [*lines, *hub.publish(publication, hub.state(to, "dataset"))]


def _as_published(path: Path, suites: Suites) -> tuple[Result, dict[str, bytes]]:
    """A result, and its JSON and Parquet file by path; no name tells where a folder lies.

    Raises:
        S2lctError: it cannot be read, its suite is not here, or `submission.check` refuses it.
    """
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.submission import check
    from s2lct.leaderboard.results.write import repository_path

    result = read_result(path)
    verdict = check(path, suites.of(result, path))
    if not verdict.accepted:
        raise PublishError("; ".join(verdict.reasons), hint="score the model again")
    suite = result.suite.model_copy(update={"name": name_without_place(result.suite.name)})
    table = path.parent / result.outcomes.path
    target = PurePosixPath(repository_path(result))
    of_table = target.with_suffix(".parquet")
    outcomes = result.outcomes.model_copy(update={"path": of_table.name})
    published = result.model_copy(update={"suite": suite, "outcomes": outcomes})
    described = published.model_dump_json(indent=2) + "\n"
    return result, {str(target): described.encode(), str(of_table): table.read_bytes()}
