"""The commands that check submissions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.commands import finite, usable_seed

if TYPE_CHECKING:
    from s2lct.leaderboard.submission.changes import ChangesVerdict
    from s2lct.leaderboard.submission.rescoring import Limits

REFUSED = 1

Suite = Annotated[
    str, typer.Option(help="The suite, from a source you trust: folder or Hub id\\[@REVISION].")
]
Rescore = Annotated[
    bool, typer.Option("--rescore", help="Load the models and ask them all cases again.")
]
Minutes = Annotated[
    float,
    typer.Option(help="With --rescore: for all models together.", min=0.1, callback=finite),
]
Memory = Annotated[
    float, typer.Option(help="With --rescore: GiB for a model.", min=1, callback=finite)
]
Download = Annotated[
    float, typer.Option(help="With --rescore: GiB of a model's files.", min=0, callback=finite)
]
RecordIn = Annotated[
    Path | None,
    typer.Option("--record", help="With --rescore: note in this file what is verified."),
]


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Result files; each with its Parquet file beside it.")
    ],
    suite: Suite = "s2lct",
    rescore: Rescore = False,
    first_look: Annotated[
        bool,
        typer.Option("--first-look", help="Ask a random 2 % of the cases only; verifies nothing."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help=r"With --first-look: which cases \[default: nobody can know].",
            callback=usable_seed,
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="With --rescore: note what is verified in verified.json."),
    ] = False,
    minutes: Minutes = 30,
    memory: Memory = 16,
    download: Download = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with a line of JSON for each file.")
    ] = False,
) -> None:
    """Accept or refuse submitted results, with reasons.

    The exit status is 1 where one is refused.
    """
    import time
    from dataclasses import replace

    from s2lct.cli.console import console, told_errors
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.submission.changes import verdict_in_words
    from s2lct.leaderboard.submission.check import check as check_submission
    from s2lct.leaderboard.submission.check import record as record_verified
    from s2lct.suite.cases import load_cases

    with told_errors():
        if seed is not None and not first_look:
            raise ScoringError("--seed without --first-look", mend="add --first-look")
        if rescore and first_look:
            raise ScoringError(
                "--rescore and --first-look", mend="give one: all cases, or a sample of them"
            )
        if record and not rescore:
            raise ScoringError(
                "--record without --rescore",
                mend="add --rescore: only what said the same of all cases again is verified",
            )
        cases = load_cases(suite)
        limits = _limits(minutes, memory, download)
        deadline = time.monotonic() + limits.seconds
        refused = False
        for file in files:
            left = replace(limits, seconds=max(1, int(deadline - time.monotonic())))
            verdict = check_submission(
                file, cases, rescore=rescore, first_look=first_look, seed=seed, limits=left
            )
            refused = refused or not verdict.accepted
            told = verdict.as_json() if as_json else "\n".join(verdict_in_words(verdict))
            console.print(told, soft_wrap=True)
            if record and verdict.verified:
                record_verified(file, verdict)
    if refused:
        raise typer.Exit(REFUSED)


def check_changes(
    base: Annotated[str, typer.Argument(help="What is to take the change: main, or a commit.")],
    head: Annotated[str, typer.Argument(help="The change: refs/pr/3 on the Hub, or a commit.")],
    repo: Annotated[
        str | None, typer.Option(help="Dataset of results on the Hub, as ORG/NAME.")
    ] = None,
    git: Annotated[
        Path | None, typer.Option(help="Or a git clone of it, with the history of both.")
    ] = None,
    suite: Suite = "s2lct",
    rescore: Rescore = False,
    record: RecordIn = None,
    minutes: Minutes = 30,
    memory: Memory = 16,
    download: Download = 20,
) -> None:
    """Accept or refuse a change to a repository of results.

    It may add pairs of new JSON and Parquet files where `s2lct publish results` puts them, and
    change nothing else. The exit status is 1 where it is refused.
    """
    from s2lct.cli.console import console, told_errors
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.submission.changes import between_commits, between_revisions, in_words
    from s2lct.leaderboard.submission.changes import check_changes as check_difference
    from s2lct.suite.cases import load_cases

    with told_errors():
        if (repo is None) == (git is None):
            raise ScoringError(
                "--repo or --git", mend="say where the change lies: --repo ORG/NAME or --git DIR"
            )
        if repo is not None:
            difference = between_revisions(base, head, repo)
        else:
            assert git is not None
            difference = between_commits(base, head, git)
        verdict = check_difference(
            difference,
            load_cases(suite),
            rescore=rescore,
            limits=_limits(minutes, memory, download),
        )
        _record(verdict, record)
        said = "accepted" if verdict.accepted else "refused"
        console.print(f"{said}: {base}...{verdict.head}", soft_wrap=True)
        for line in in_words(verdict):
            console.print(f"  {line}", soft_wrap=True)
    if not verdict.accepted:
        raise typer.Exit(REFUSED)


def check_pulls(
    repo: Annotated[str, typer.Argument(help="Dataset of results on the Hub, as ORG/NAME.")],
    suite: Suite = "s2lct",
    rescore: Rescore = False,
    record: RecordIn = None,
    minutes: Minutes = 30,
    memory: Memory = 16,
    download: Download = 20,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Comment nothing.")] = False,
) -> None:
    """Check every open pull request of a dataset of results, and comment on each what came out."""
    from s2lct.cli.console import console, told_errors
    from s2lct.leaderboard.submission.changes import answer_pulls
    from s2lct.suite.cases import load_cases

    with told_errors():
        answers = answer_pulls(
            repo,
            load_cases(suite),
            rescore=rescore,
            limits=_limits(minutes, memory, download),
            dry_run=dry_run,
        )
        for answer in answers:
            if answer.verdict is not None:
                _record(answer.verdict, record)
            console.print(f"pull request {answer.number}: {answer.text}", soft_wrap=True)


def _limits(minutes: float, memory: float, download: float) -> Limits:
    from s2lct.leaderboard.submission.rescoring import Limits

    return Limits(
        download=int(download * 2**30), memory=int(memory * 2**30), seconds=int(60 * minutes)
    )


def _record(verdict: ChangesVerdict, file: Path | None) -> None:
    from s2lct.leaderboard.submission.check import record as record_verified

    for one in verdict.verdicts if file and verdict.accepted else ():
        if one.verified:
            record_verified(Path(one.file), one, file)
