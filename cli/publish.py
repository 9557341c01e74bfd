"""The commands ``s2lct publish …`` and ``s2lct install``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from s2lct.cli.commands import PUBLISHING
from s2lct.cli.console import console, error_console
from s2lct.cli.options import command
from s2lct.dataset_script import commands
from s2lct.options import Command, Options

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Outcome
    from s2lct.dataset_script.install import Installed

NAME = "s2lct"
EXAMPLES = {
    "dataset": "s2lct publish dataset dist/s2lct --repo ORG/s2lct --version 1.0.0 --dry-run",
    "metric": "s2lct publish metric --repo ORG/s2lct --dry-run",
    "leaderboard": "s2lct publish leaderboard --repo ORG/s2lct-leaderboard \\\n"
    "    --results ORG/s2lct-results --dry-run",
    "results": "s2lct publish results results/vader.json --to ORG/s2lct-results --dry-run",
    "model-result": "s2lct publish model-result results/ORG--MODEL.json --create-pr --dry-run",
}


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    command(
        app,
        commands.install,
        "s2lct install dist/s2lct",
        "s2lct install ORG/s2lct --version 1.0.0",
        panel=PUBLISHING,
    )(show_installed)
    publish = typer.Typer(
        name="publish",
        help="Put suite, metric, leaderboard and results on the Hub.\n\n"
        "HF_ENDPOINT names another server than the Hugging Face Hub. --dry-run says what would be "
        "done and needs no token.",
        no_args_is_help=True,
    )
    functions: dict[str, Command[Any, Outcome]] = {
        "dataset": commands.publish_dataset,
        "metric": commands.publish_metric,
        "leaderboard": commands.publish_leaderboard,
        "results": commands.publish_results,
        "model-result": commands.publish_model_result,
    }
    for name, function in functions.items():
        command(publish, function, EXAMPLES[name], name=name)(show_outcome)
    app.add_typer(publish, rich_help_panel=PUBLISHING)


def show_outcome(outcome: Outcome, options: Options) -> None:
    """What was done, or would be."""
    for line in outcome.lines:
        console.print(line, soft_wrap=True)


def show_installed(installed: Installed, options: commands.InstallOptions) -> None:
    """What the short name stands for now."""
    again = " again" if installed.again else ""
    lines = [f"Installed version {installed.version} of {installed.source}{again}."]
    if installed.replaced is not None and not installed.again:
        other = "another suite of " if installed.replaced == installed.version else ""
        lines.append(
            f"It replaces {other}version {installed.replaced}: the name {NAME} stands for one "
            "version at a time, whatever revision= says."
        )
    lines += [
        f'  load_dataset("{NAME}", "{installed.configs[0]}", split="test")',
        f'  evaluate.load("{NAME}")',
        f"Configs: {', '.join(installed.configs)}.",
    ]
    console.print("\n".join(lines), soft_wrap=True)
    if installed.shadow is not None:
        error_console.print(
            f"{installed.shadow}: in this directory both lines take this folder instead of what is "
            "installed. Rename it, or work from another directory.",
            style="yellow",
            soft_wrap=True,
        )
