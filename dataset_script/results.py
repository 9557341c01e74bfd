"""Publish result files: in a dataset that the leaderboard reads, or beside the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from s2lct.cards import render_results_card
from s2lct.command import command
from s2lct.dataset_script.dataset import task_id
from s2lct.dataset_script.hub import CreatePr, DryRun, Hub, Publication, require_repo
from s2lct.errors import PublishError
from s2lct.hub_calls import is_hub_id
from s2lct.plain_text import plain
from s2lct.suite.cases import published_suite
from s2lct.suite.read import read_description
from s2lct.suite.tables import ALL

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

    from s2lct.leaderboard.results.record import Result

EVAL_RESULTS_FILE = ".eval_results/s2lct.yaml"


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
    require_repo("--to", to)
    contents: dict[str, bytes] = {"README.md": render_results_card(to).encode()}
    lines: list[str] = []
    for path in files:
        result, content = _as_published(path)
        if contents.keys() & content.keys():
            raise PublishError(
                f"{path}: is of the same model on the same suite as another of these files",
                hint="give one of them",
            )
        contents |= content
        low, high = result.overall.ci
        lines.append(
            plain(
                f"{result.model.name}: fails {result.overall.failure_rate:.1%} "
                f"[{low:.1%}, {high:.1%}] of suite {result.suite.version} "
                f"({result.overall.cases:,} cases)"
            )
        )
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
    return recompute(path, Suites([suite] if _on_hub(suite) else []))


def _on_hub(name: str) -> bool:
    return is_hub_id(name) and not Path(name).exists()


def _without_place(name: str) -> str:
    """The last part of a folder's path; Hub ids and names of baselines as they are."""
    return name if _on_hub(name) else PurePosixPath(name.replace("\\", "/")).name or name


@command
def publish_model_result(
    result: Annotated[
        Path,
        typer.Argument(help="A result file of a model of the Hub.", exists=True, dir_okay=False),
    ],
    *,
    dataset: Annotated[
        str | None,
        typer.Option(help=r"The suite's dataset \[default: the one it was scored on]."),
    ] = None,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish a result in the model's own repository.

    As .eval_results/s2lct.yaml.
    """
    if dataset:
        require_repo("--dataset", dataset)
    read, hub = _whole_result(result), Hub(create_pr, dry_run)
    repo = read.model.name
    of_hub = is_hub_id(repo) and read.model.endpoint is None
    state = hub.state(repo, "model") if of_hub else None
    if state is None:
        raise PublishError(
            f"{result}: there is no model {repo} on the Hub, or the token may not see it",
            hint="score the model itself by its Hub id, as ORG/NAME",
        )
    suite, commit = _released_suite(hub, result, read, dataset)
    known = hub.read(repo, "model", EVAL_RESULTS_FILE, state.commit)
    content = _eval_results(known, read, suite, commit)
    version = read.suite.version
    title = f"Add S²LCT {version} results"
    description = f"Failure rates on {suite} at v{version}."
    files = {EVAL_RESULTS_FILE: content.encode()}
    return hub.publish(Publication(repo, "model", title, files, description), state)


def _released_suite(hub: Hub, path: Path, result: Result, dataset: str | None) -> tuple[str, str]:
    """The Hub id of the suite that a result is for, and the commit of the version.

    Raises:
        PublishError: there is none, or its rows are others.
    """
    named = result.suite.name.partition("@")[0]
    repo = dataset or (named if _on_hub(named) else "")
    if not repo:
        raise PublishError(
            f"{path}: it was scored on {result.suite.name}, which names no dataset of the Hub",
            hint="say which one it is with --dataset ORG/s2lct",
        )
    released = {str(version): commit for version, commit in hub.versions(repo).items()}
    name = f"{repo}@v{result.suite.version}"
    if result.suite.version not in released:
        raise PublishError(
            f"{path}: {name} is not released",
            hint=f"score the model on one of {', '.join(released) or 'its versions'}, or publish "
            "the suite first",
        )
    described = read_description(published_suite(name), name)
    if result.suite.fingerprint != described["fingerprint"]:
        raise PublishError(
            f"{path}: it was scored on other cases than {name} has",
            hint=f"score the model again with --suite {name}",
        )
    return repo, released[result.suite.version]


def _eval_results(known: bytes, result: Result, suite: str, commit: str) -> str:
    """The file's new content: what it says of other datasets stays."""
    from huggingface_hub import eval_result_entries_to_yaml

    try:
        entries = yaml.safe_load(known) or []
        kept = [entry for entry in entries if entry["dataset"]["id"] != suite]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise PublishError(
            f"{result.model.name}: its {EVAL_RESULTS_FILE} cannot be read ({type(error).__name__})",
            hint="mend or delete that file",
        ) from error
    kept += eval_result_entries_to_yaml(list(_entries(result, suite, commit)))
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)


def _entries(result: Result, suite: str, commit: str) -> Iterator[EvalResultEntry]:
    """An entry for all cases, and one for those of each capability: the share passed."""
    from huggingface_hub import EvalResultEntry

    counted = {
        name: (of.seed.failures + of.expansion.failures, of.seed.cases + of.expansion.cases)
        for name, of in result.capabilities.items()
    }
    low, high = result.overall.ci
    notes = (
        f"failure rate {result.overall.failure_rate:.1%} [{low:.1%}, {high:.1%}], mean of the "
        f"capabilities; S²LCT {result.suite.version}; "
        f"model revision {result.model.revision or 'not recorded'}"
    )
    failures, cases = (sum(column) for column in zip(*counted.values(), strict=True))
    for name, (failed, of_all) in {ALL: (failures, cases), **counted}.items():
        yield EvalResultEntry(
            dataset_id=suite,
            task_id=task_id(name),
            value=round(100 * (1 - failed / max(of_all, 1)), 2),
            dataset_revision=commit,
            date=result.date,
            notes=notes if name == ALL else None,
        )
