"""Checks of results that somebody hands in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from s2lct.errors import ScoringError
from s2lct.options import Argument, Number, Option, Options, Seed, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.submission.changes import Answer, ChangesVerdict
    from s2lct.leaderboard.submission.check import Verdict
    from s2lct.leaderboard.submission.rescoring import Limits


RecordFile = Annotated[Path | None, Option("With --rescore: note in this file what is verified.")]


class CheckLimits(Options):
    """What scoring again may cost."""

    suite: Annotated[
        str, Option("The suite, from a source you trust: folder or Hub id\\[@REVISION].")
    ] = "s2lct"
    rescore: Annotated[bool, Option("Load the models and ask them all cases again.")] = False
    minutes: Annotated[
        Number, Field(ge=0.1), Option("With --rescore: for all models together.")
    ] = 30
    memory: Annotated[Number, Field(ge=1), Option("With --rescore: GiB for a model.")] = 16
    download: Annotated[Number, Field(ge=0), Option("With --rescore: GiB of a model's files.")] = 20

    def limits(self) -> Limits:
        """In bytes and seconds."""
        from s2lct.leaderboard.submission.rescoring import Limits

        return Limits(
            download=int(self.download * 2**30),
            memory=int(self.memory * 2**30),
            seconds=int(60 * self.minutes),
        )


class CheckOptions(CheckLimits):
    """Options of `check`."""

    files: Annotated[
        tuple[Path, ...], Argument("Result files; each with its Parquet file beside it.")
    ]
    first_look: Annotated[bool, Option("Ask a random 2 % of the cases only; verifies nothing.")] = (
        False
    )
    seed: Annotated[
        Seed | None, Option(r"With --first-look: which cases \[default: nobody can know].")
    ] = None
    record: Annotated[bool, Option("With --rescore: note what is verified in verified.json.")] = (
        False
    )
    as_json: Annotated[
        bool, Option("Answer with a line of JSON for each file.", flags="--json")
    ] = False


@takes(CheckOptions)
def check(options: CheckOptions, bars: Bars) -> Iterator[Verdict]:
    """Accept or refuse submitted results, with reasons, a file at a time.

    The exit status is 1 where one is refused.
    """
    if options.seed is not None and not options.first_look:
        raise ScoringError("--seed without --first-look", hint="add --first-look")
    if options.rescore and options.first_look:
        raise ScoringError(
            "--rescore and --first-look", hint="give one: all cases, or a sample of them"
        )
    if options.record and not options.rescore:
        raise ScoringError(
            "--record without --rescore",
            hint="add --rescore: only what said the same of all cases again is verified",
        )
    return _verdicts(options)


def _verdicts(options: CheckOptions) -> Iterator[Verdict]:
    from s2lct.leaderboard.submission.check import check as verdict_on
    from s2lct.leaderboard.submission.check import record
    from s2lct.suite.cases import load_cases

    cases = load_cases(options.suite)
    limits = options.limits()
    deadline = time.monotonic() + limits.seconds
    for file in options.files:
        verdict = verdict_on(
            file,
            cases,
            rescore=options.rescore,
            first_look=options.first_look,
            seed=options.seed,
            limits=replace(limits, seconds=max(1, int(deadline - time.monotonic()))),
        )
        yield verdict
        if options.record and verdict.verified:
            record(file, verdict)


class ChangesOptions(CheckLimits):
    """Options of `check_changes`."""

    base: Annotated[str, Argument("What is to take the change: main, or a commit.")]
    head: Annotated[str, Argument("The change: refs/pr/3 on the Hub, or a commit.")]
    repo: Annotated[str | None, Option("Dataset of results on the Hub, as ORG/NAME.")] = None
    git: Annotated[Path | None, Option("Or a git clone of it, with the history of both.")] = None
    record: RecordFile = None


@takes(ChangesOptions)
def check_changes(options: ChangesOptions, bars: Bars) -> ChangesVerdict:
    """Accept or refuse a change to a repository of results.

    It may add pairs of new JSON and Parquet files where `s2lct publish results` puts them, and
    change nothing else. The exit status is 1 where it is refused.
    """
    from s2lct.leaderboard.submission.changes import between_commits, between_revisions
    from s2lct.leaderboard.submission.changes import check_changes as verdict_on
    from s2lct.suite.cases import load_cases

    if options.repo is not None and options.git is None:
        difference = between_revisions(options.base, options.head, options.repo)
    elif options.git is not None and options.repo is None:
        difference = between_commits(options.base, options.head, options.git)
    else:
        raise ScoringError(
            "--repo or --git", hint="say where the change lies: --repo ORG/NAME or --git DIR"
        )
    verdict = verdict_on(
        difference, load_cases(options.suite), rescore=options.rescore, limits=options.limits()
    )
    _record(verdict, options.record)
    return verdict


class PullsOptions(CheckLimits):
    """Options of `check_pulls`."""

    repo: Annotated[str, Argument("Dataset of results on the Hub, as ORG/NAME.")]
    record: RecordFile = None
    dry_run: Annotated[bool, Option("Comment nothing.")] = False


@takes(PullsOptions)
def check_pulls(options: PullsOptions, bars: Bars) -> Iterator[Answer]:
    """Check every open pull request of a dataset of results, and comment on each what came out."""
    from s2lct.leaderboard.submission.changes import answer_pulls
    from s2lct.suite.cases import load_cases

    for answer in answer_pulls(
        options.repo,
        load_cases(options.suite),
        rescore=options.rescore,
        limits=options.limits(),
        dry_run=options.dry_run,
    ):
        if answer.verdict is not None:
            _record(answer.verdict, options.record)
        yield answer


def _record(verdict: ChangesVerdict, file: Path | None) -> None:
    from s2lct.leaderboard.submission.check import record

    for one in verdict.verdicts if file and verdict.accepted else ():
        if one.verified:
            record(Path(one.file), one, file)
