"""The commands ``s2lct publish …`` and ``s2lct install``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.dataset_script.install_cli import install_command

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Outcome

publish = typer.Typer(
    name="publish",
    help="Put suite, metric, leaderboard and results on the Hugging Face Hub, "
    "or on the server that HF_ENDPOINT names.",
    no_args_is_help=True,
)

Repo = Annotated[
    str, typer.Option("--repo", help="Repository, as ORG/NAME; made if there is none.")
]
Private = Annotated[bool, typer.Option("--private", help="Make a new repository private.")]
CreatePr = Annotated[
    bool, typer.Option("--create-pr", help="Propose it in a pull request instead of committing.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be done; needs no token.")
]


@publish.command()
def dataset(
    suite: Annotated[Path, typer.Argument(metavar="DIR", help="A suite that `s2lct build` wrote.")],
    repo: Repo,
    version: Annotated[
        str | None,
        typer.Option(
            help=r"Semantic version, as 1.0.0 \[default: the one that follows from what changed]."
        ),
    ] = None,
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    """Publish a suite as a versioned dataset: one commit, one tag, a changelog."""
    from s2lct.builder.cli import told_errors
    from s2lct.dataset_script.publish_dataset import publish_dataset

    with told_errors():
        _tell(
            publish_dataset(
                suite, repo, version, private=private, create_pr=create_pr, dry_run=dry_run
            )
        )


def _tell(outcome: Outcome) -> None:
    from s2lct.builder.cli import console

    for line in outcome.lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    app.add_typer(publish)
    app.command("install")(install_command)
