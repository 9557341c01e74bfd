"""Checks of results that somebody hands in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from s2lct.errors import ScoringError
from s2lct.options import Argument, Option, Options, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.submission.check import Verdict


class CheckOptions(Options):
    """Options of `check`."""

    files: Annotated[
        tuple[Path, ...], Argument("Result files; each with its Parquet file beside it.")
    ]
    suite: Annotated[
        str, Option("The suite, from a source you trust: folder or Hub id\\[@REVISION].")
    ] = "s2lct"
    rescore: Annotated[
        bool,
        Option("Load the models and ask them all cases again; run it in a container with limits."),
    ] = False
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
    for file in options.files:
        verdict = verdict_on(file, cases, rescore=options.rescore)
        yield verdict
        if options.record and verdict.verified:
            record(file, verdict)
