"""The command ``s2lct install``."""

from __future__ import annotations

from typing import Annotated

import typer


def install_command(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="DIR|ORG/NAME", help="A suite that `s2lct build` wrote, or a published one."
        ),
    ],
    version: Annotated[
        str | None, typer.Option(help="The version, as 1.0.0; of a repository, else the newest.")
    ] = None,
) -> None:
    """Make load_dataset("s2lct") and evaluate.load("s2lct") work.

    From any directory, offline too.
    """
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.dataset_script.install import NAME, install

    with told_errors():
        with errors.status("install") as status:
            done = install(suite, version, advance=lambda step: status.update(f"install: {step}"))
        again = " again" if done.again else ""
        told = f"Installed version {done.version} of {done.source}{again}.\n"
        if done.replaced is not None and not done.again:
            other = "another suite of " if done.replaced == done.version else ""
            told += (
                f"It replaces {other}version {done.replaced}: the name {NAME} stands for one "
                "version at a time, whatever revision= says.\n"
            )
        console.print(
            f'{told}  load_dataset("{NAME}", "{done.configs[0]}", split="test")\n'
            f'  evaluate.load("{NAME}")\n'
            f"Configs: {', '.join(done.configs)}.",
            soft_wrap=True,
        )
        if done.shadow is not None:
            errors.print(
                f"{done.shadow}: in this directory both lines take this folder instead of what is "
                "installed. Rename it, or work from another directory.",
                style="yellow",
                soft_wrap=True,
            )
