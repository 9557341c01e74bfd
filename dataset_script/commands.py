"""Publishing and installing, as functions and as commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import command

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Hub
    from s2lct.dataset_script.install import Installed

_Repo = Annotated[str, typer.Option(help="Repository, as ORG/NAME; made if there is none.")]
_Private = Annotated[bool, typer.Option("--private", help="Make a new repository private.")]
_CreatePr = Annotated[
    bool,
    typer.Option("--create-pr", help="Propose it in a pull request instead of committing."),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be done; needs no token.")
]


def _hub(private: bool, create_pr: bool, dry_run: bool) -> Hub:
    from s2lct.dataset_script.hub import Hub

    return Hub(private, create_pr, dry_run)


@command
def publish_dataset(
    suite: Annotated[Path, typer.Argument(help="A suite that `s2lct build` wrote.", metavar="DIR")],
    *,
    repo: _Repo,
    version: Annotated[
        str | None,
        typer.Option(
            help=r"Semantic version, as 1.0.0 \[default: the one that follows from what changed]."
        ),
    ] = None,
    private: _Private = False,
    create_pr: _CreatePr = False,
    dry_run: _DryRun = False,
) -> list[str]:
    """Publish a suite: one commit, one tag, a changelog."""
    from s2lct.dataset_script.dataset import publish_dataset as publish

    return publish(suite, repo, _hub(private, create_pr, dry_run), version)


@command
def publish_metric(
    *,
    repo: _Repo,
    dataset: Annotated[
        str | None,
        typer.Option(help=r"Suite that the card names \[default: the dataset of --repo's name]."),
    ] = None,
    private: _Private = False,
    create_pr: _CreatePr = False,
    dry_run: _DryRun = False,
) -> list[str]:
    """Publish the Space that `evaluate.load("ORG/s2lct")` reads."""
    from s2lct.dataset_script.space import publish_metric as publish

    return publish(repo, _hub(private, create_pr, dry_run), dataset)


@command
def publish_leaderboard(
    *,
    repo: _Repo,
    results: Annotated[str, typer.Option(help="Dataset with the results, as ORG/NAME.")],
    dataset: Annotated[str, typer.Option(help="The suite's dataset, which the results are on.")],
    private: _Private = False,
    create_pr: _CreatePr = False,
    dry_run: _DryRun = False,
) -> list[str]:
    """Publish the leaderboard's page as a Space.

    Give the same command again when results came in.
    """
    from s2lct.dataset_script.space import publish_leaderboard as publish

    return publish(repo, results, _hub(private, create_pr, dry_run), dataset)


@command
def publish_results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files that `s2lct score` wrote.", exists=True, dir_okay=False),
    ],
    *,
    to: Annotated[str, typer.Option(help="Dataset of results, as ORG/NAME.")],
    private: _Private = False,
    create_pr: _CreatePr = False,
    dry_run: _DryRun = False,
) -> list[str]:
    """Publish result files, each checked against its cases."""
    from s2lct.dataset_script.results import publish_results as publish

    return publish(files, to, _hub(private, create_pr, dry_run))


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
    create_pr: _CreatePr = False,
    dry_run: _DryRun = False,
) -> list[str]:
    """Publish a result in the model's own repository.

    As .eval_results/s2lct.yaml.
    """
    from s2lct.dataset_script.results import publish_model_result as publish

    return publish(result, _hub(False, create_pr, dry_run), dataset)


@command
def install(
    suite: Annotated[
        str,
        typer.Argument(
            help="A suite that `s2lct build` wrote, or a published one.", metavar="DIR|ORG/NAME"
        ),
    ],
    *,
    version: Annotated[
        str | None, typer.Option(help="The version, as 1.0.0; of a repository, else the newest.")
    ] = None,
) -> Installed:
    """Make load_dataset("s2lct") and evaluate.load("s2lct") work.

    From any directory, offline too.
    """
    from s2lct.dataset_script.install import install as install_suite

    return install_suite(suite, version)
