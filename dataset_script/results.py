"""Publish result files in a dataset that the leaderboard reads."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cards import render
from s2lct.command import command
from s2lct.dataset_script.hub import CreatePr, DryRun, Hub, Publication, require_repo
from s2lct.errors import PublishError
from s2lct.leaderboard.results.hub_results import on_hub
from s2lct.plain_text import plain

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result


@command
def publish_results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files that `s2lct score` wrote.", exists=True, dir_okay=False),
    ],
    *,
    to: Annotated[str, typer.Option(help="Dataset of results, as ORG/NAME.")],
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish result files, each checked against its cases."""
    from s2lct.leaderboard.scoring.figures import in_words

    require_repo("--to", to)
    contents: dict[str, bytes] = {"README.md": render("results_card.md", repo=to).encode()}
    lines: list[str] = []
    for path in files:
        result, content = _as_published(path)
        if contents.keys() & content.keys():
            raise PublishError(
                f"{path}: is of the same model on the same suite as another of these files",
                hint="give one of them",
            )
        contents |= content
        words = in_words(result.overall)
        lines.append(plain(f"{result.model.name} on suite {result.suite.version}: {words}"))
    title = f"Add {len(lines)} result{'s' if len(lines) > 1 else ''}"
    description = "\n".join(f"- {line}" for line in lines)
    publication = Publication(to, "dataset", title, contents, description)
    hub = Hub(create_pr, dry_run)
    return [*lines, *hub.publish(publication, hub.state(to, "dataset"))]


def _as_published(path: Path) -> tuple[Result, dict[str, bytes]]:
    """A result, and its JSON and Parquet file by path; no name tells where a folder lies."""
    from s2lct.leaderboard.results.record import faults_of_names
    from s2lct.leaderboard.results.write import repository_path

    result = _whole_result(path)
    suite, model = (
        record.model_copy(update={"name": _without_place(record.name)})
        for record in (result.suite, result.model)
    )
    table = path.parent / result.outcomes.path
    result = result.model_copy(update={"suite": suite, "model": model})
    if fault := next(faults_of_names(result), ""):
        raise PublishError(f"{path}: {fault}", hint="rename the model's folder and score it again")
    target = PurePosixPath(repository_path(result))
    of_table = target.with_suffix(".parquet")
    outcomes = result.outcomes.model_copy(update={"path": of_table.name})
    described = result.model_copy(update={"outcomes": outcomes}).model_dump_json(indent=2) + "\n"
    return result, {str(target): described.encode(), str(of_table): table.read_bytes()}


def _whole_result(path: Path) -> Result:
    """A result of a model on a whole suite, whose figures follow from its cases."""
    from s2lct.leaderboard.results.read import Suites, read_result, recompute

    result = read_result(path)
    if result.partial:
        raise PublishError(
            f"{path}: is partial: it covers {result.overall.cases:,} cases of its suite",
            hint="score the whole suite, without --capability and --limit",
        )
    if result.model.predictions is not None:
        raise PublishError(
            f"{path}: holds given predictions, which nobody can score again",
            hint="score the model itself, by its Hub id or behind an endpoint",
        )
    suite = result.suite.name
    return recompute(path, Suites([suite] if on_hub(suite) else []))


def _without_place(name: str) -> str:
    """The last part of a folder's path; Hub ids and names of baselines as they are."""
    return name if on_hub(name) else PurePosixPath(name.replace("\\", "/")).name or name
