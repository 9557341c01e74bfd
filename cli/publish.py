"""The commands ``s2lct publish …`` and ``s2lct install``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from s2lct.cli.console import note, show
from s2lct.cli.options import PUBLISHING, Panel
from s2lct.dataset_script import commands

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Outcome
    from s2lct.dataset_script.install import Installed

NAME = "s2lct"
app = typer.Typer()
publish = typer.Typer(
    name="publish",
    help="Put suite, metric, leaderboard and results on the Hub.\n\n"
    "HF_ENDPOINT names another server than the Hugging Face Hub. --dry-run says what would be "
    "done and needs no token.",
    no_args_is_help=True,
)
app.add_typer(publish, rich_help_panel=PUBLISHING)
_PUBLISHED: dict[str, tuple[Callable[..., Outcome], str]] = {
    "dataset": (
        commands.publish_dataset,
        "s2lct publish dataset dist/s2lct --repo ORG/s2lct --version 1.0.0 --dry-run",
    ),
    "metric": (commands.publish_metric, "s2lct publish metric --repo ORG/s2lct --dry-run"),
    "leaderboard": (
        commands.publish_leaderboard,
        "s2lct publish leaderboard --repo ORG/s2lct-leaderboard \\\n"
        "    --results ORG/s2lct-results --dataset ORG/s2lct --dry-run",
    ),
    "results": (
        commands.publish_results,
        "s2lct publish results results/vader.json --to ORG/s2lct-results --dry-run",
    ),
    "model-result": (
        commands.publish_model_result,
        "s2lct publish model-result results/ORG--MODEL.json --create-pr --dry-run",
    ),
}


def show_outcome(outcome: Outcome) -> None:
    """What was done, or would be."""
    for line in outcome.lines:
        show(line)


for _name, (_function, _example) in _PUBLISHED.items():
    Panel(publish).shows(_function, _example, name=_name)(show_outcome)


@Panel(app, PUBLISHING).shows(
    commands.install, "s2lct install dist/s2lct", "s2lct install ORG/s2lct --version 1.0.0"
)
def show_installed(installed: Installed) -> None:
    """What the short name stands for now."""
    again = " again" if installed.again else ""
    show(f"Installed version {installed.version} of {installed.source}{again}.")
    if installed.replaced is not None and not installed.again:
        other = "another suite of " if installed.replaced == installed.version else ""
        show(
            f"It replaces {other}version {installed.replaced}: the name {NAME} stands for one "
            "version at a time, whatever revision= says."
        )
    show(f'  load_dataset("{NAME}", "{installed.configs[0]}", split="test")')
    show(f'  evaluate.load("{NAME}")\nConfigs: {", ".join(installed.configs)}.')
    if installed.shadow is not None:
        note(
            f"{installed.shadow}: in this directory both lines take this folder instead of what is "
            "installed. Rename it, or work from another directory."
        )
