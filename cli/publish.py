"""The commands ``s2lct publish …`` and ``s2lct install``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.commands import PUBLISHING, examples
from s2lct.cli.install import install_command

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Outcome

publish = typer.Typer(
    name="publish",
    help="Put suite, metric, leaderboard and results on the Hub.\n\n"
    "HF_ENDPOINT names another server than the Hugging Face Hub. --dry-run says what would be "
    "done and needs no token.",
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


@publish.command(
    epilog=examples("s2lct publish dataset dist/s2lct --repo ORG/s2lct --version 1.0.0 --dry-run")
)
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
    """Publish a suite: one commit, one tag, a changelog."""
    from s2lct.cli.console import told_errors
    from s2lct.dataset_script.publish.dataset import publish_dataset

    with told_errors():
        _tell(
            publish_dataset(
                suite, repo, version, private=private, create_pr=create_pr, dry_run=dry_run
            )
        )


@publish.command(epilog=examples("s2lct publish metric --repo ORG/s2lct --dry-run"))
def metric(
    repo: Repo,
    dataset: Annotated[
        str | None,
        typer.Option(
            help=r"Suite that the app scores on \[default: the dataset of --repo's name]."
        ),
    ] = None,
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    """Publish the Space that `evaluate.load("ORG/s2lct")` reads."""
    from s2lct.cli.console import told_errors
    from s2lct.dataset_script.publish.space import publish_metric

    with told_errors():
        _tell(publish_metric(repo, dataset, private=private, create_pr=create_pr, dry_run=dry_run))


@publish.command(
    epilog=examples(
        "s2lct publish leaderboard --repo ORG/s2lct-leaderboard \\\n"
        "    --results ORG/s2lct-results --dry-run"
    )
)
def leaderboard(
    repo: Repo,
    results: Annotated[str, typer.Option(help="Dataset with the results, as ORG/NAME.")],
    dataset: Annotated[
        str | None, typer.Option(help="The suite's dataset, named in the card.")
    ] = None,
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    """Publish the leaderboard as a Space."""
    from s2lct.cli.console import told_errors
    from s2lct.dataset_script.publish.space import publish_leaderboard

    with told_errors():
        _tell(
            publish_leaderboard(
                repo, results, dataset, private=private, create_pr=create_pr, dry_run=dry_run
            )
        )


@publish.command(
    epilog=examples("s2lct publish results results/vader.json --to ORG/s2lct-results --dry-run")
)
def results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files that `s2lct score` wrote.", exists=True, dir_okay=False),
    ],
    to: Annotated[str, typer.Option(help="Dataset of results, as ORG/NAME.")],
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    """Publish result files, each checked against its cases."""
    from s2lct.cli.console import told_errors
    from s2lct.dataset_script.publish.results import publish_results

    with told_errors():
        _tell(publish_results(files, to, private=private, create_pr=create_pr, dry_run=dry_run))


@publish.command(
    epilog=examples("s2lct publish model-result results/ORG--MODEL.json --create-pr --dry-run")
)
def model_result(
    result: Annotated[
        Path,
        typer.Argument(help="A result file of a model of the Hub.", exists=True, dir_okay=False),
    ],
    dataset: Annotated[
        str | None,
        typer.Option(help=r"The suite's dataset \[default: the one it was scored on]."),
    ] = None,
    model_index: Annotated[
        bool,
        typer.Option("--model-index", help="Write the card's model-index too, for older tools."),
    ] = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    """Publish a result in the model's own repository.

    As .eval_results/s2lct.yaml.
    """
    from s2lct.cli.console import told_errors
    from s2lct.dataset_script.publish.model_result import publish_model_result

    with told_errors():
        _tell(
            publish_model_result(
                result,
                dataset=dataset,
                model_index=model_index,
                create_pr=create_pr,
                dry_run=dry_run,
            )
        )


def _tell(outcome: Outcome) -> None:
    from s2lct.cli.console import console

    for line in outcome.lines:
        console.print(line, soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    app.command(
        "install",
        rich_help_panel=PUBLISHING,
        epilog=examples("s2lct install dist/s2lct", "s2lct install ORG/s2lct --version 1.0.0"),
    )(install_command)
    app.add_typer(publish, rich_help_panel=PUBLISHING)
