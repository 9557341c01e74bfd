"""The command that checks submissions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.builder.commands import usable_seed

if TYPE_CHECKING:
    from s2lct.leaderboard.submission import Verdict

REFUSED = 1


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Result files; each with its Parquet file beside it.")
    ],
    suite: Annotated[
        str, typer.Option(help="The suite, from a source you trust: folder or Hub id\\[@REVISION].")
    ] = "s2lct",
    rescore: Annotated[
        bool,
        typer.Option(
            "--rescore", help="Load the model and ask it again for a random 2 % of the cases."
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help=r"With --rescore: which cases \[default: nobody can know].", callback=usable_seed
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="With --rescore: note what was accepted in verified.json."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with a line of JSON for each file.")
    ] = False,
) -> None:
    """Accept or refuse submitted results, with reasons.

    The exit status is 1 where one is refused.
    """
    from s2lct.builder.console import console, told_errors
    from s2lct.leaderboard.cases import load_cases
    from s2lct.leaderboard.errors import ScoringError
    from s2lct.leaderboard.submission import check as check_submission
    from s2lct.leaderboard.submission import record as record_verified

    with told_errors():
        if not rescore and (record or seed is not None):
            raise ScoringError(
                f"{'--record' if record else '--seed'} without --rescore",
                mend="add --rescore: only then cases are drawn and the model is asked again",
            )
        cases = load_cases(suite)
        refused = False
        for file in files:
            verdict = check_submission(file, cases, rescore=rescore, seed=seed)
            refused = refused or not verdict.accepted
            told = verdict.as_json() if as_json else _told(verdict, len(cases.cases))
            console.print(told, soft_wrap=True)
            if record and verdict.accepted:
                record_verified(file, verdict)
    if refused:
        raise typer.Exit(REFUSED)


def _told(verdict: Verdict, cases: int) -> str:
    if not verdict.accepted:
        return "\n".join([f"refused: {verdict.file}", *(f"  {why}" for why in verdict.reasons)])
    asked_again = (
        f"; {verdict.rescored} cases scored again (--seed {verdict.seed})"
        if verdict.rescored
        else ""
    )
    return f"accepted: {verdict.file}: every figure follows from {cases:,} cases{asked_again}"
