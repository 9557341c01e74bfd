"""The commands on results: report, compare, gate, and the leaderboard's build and check."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from s2lct.command import command
from s2lct.errors import S2lctError, S2lctWarning, ScoringError

if TYPE_CHECKING:
    from s2lct.leaderboard.results.comparison import Comparison
    from s2lct.leaderboard.results.gate import Check
    from s2lct.leaderboard.results.record import Result
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.results.submission import SubmissionCheck

SuitesOfResults = Annotated[
    list[str],
    typer.Option(
        "--suite",
        help="What the results were scored on, where its folder is no longer where it was: a "
        "folder, a Hub id, checklist:FILE …; may be given again.",
    ),
]


@command
def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            help="Result files that `s2lct score` wrote, or folders of them; of one suite or "
            "several.",
        ),
    ],
    *,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the report as an HTML page.")
    ] = None,
    suite: SuitesOfResults = [],  # noqa: B006
) -> list[Result]:
    """Put results side by side, best first, with examples.

    Results on several suites stand below each other; the suite of the first result comes first, and
    has examples. Every figure is computed from the predictions, whatever a result file says.
    """
    from s2lct.files import write_text
    from s2lct.leaderboard.results.read_results import Suites, read_scored, result_files
    from s2lct.leaderboard.site.report import html_report

    suites = Suites(suite)
    scored = [read_scored(path, suites) for path in result_files(results)]
    if html is not None:
        write_text(html, html_report(scored))
    return [model.result for model in scored]


class ComparedResults(NamedTuple):
    """The comparison of two results.

    Attributes:
        results: the results in the two files.
        cases: the number of cases in both.
        failures: the comparison of failure rates for each capability; ``mean`` first if several.
        consistency: the same for consistency; empty if the results share no contrasts.
    """

    results: tuple[Result, Result]
    cases: int
    failures: dict[str, Comparison]
    consistency: dict[str, Comparison]

    def as_json(self) -> dict[str, Any]:
        """The keys that docs/ci.md describes, with their values."""
        return {
            "suite": self.results[0].suite.model_dump(),
            "models": [result.model.name for result in self.results],
            "cases": self.cases,
            "failure_rates": {
                name: {"rates": list(test.rates), **test.as_json()}
                for name, test in self.failures.items()
            },
            "consistency": {
                name: {"shares": [1 - rate for rate in test.rates], **test.as_json()}
                for name, test in self.consistency.items()
            },
        }


@command
def compare(
    first: Annotated[Path, typer.Argument(exists=True, help="A result file.")],
    second: Annotated[Path, typer.Argument(exists=True, help="Another, on the same suite.")],
    *,
    suite: SuitesOfResults = [],  # noqa: B006
) -> ComparedResults:
    """Say which differences between two models are real.

    Consistency and failure rates are tested, in the mean over the capabilities and in each of them.
    """
    from s2lct.leaderboard.results import comparison
    from s2lct.leaderboard.results.read_results import Suites, check_one_suite, read_scored

    suites = Suites(suite)
    scored = {path: read_scored(path, suites) for path in (first, second)}
    check_one_suite(scored)
    (first_result, first_outcomes), (second_result, second_outcomes) = scored[first], scored[second]
    cases, *failed = comparison.paired_cases(first_outcomes, second_outcomes)
    if not cases:
        raise ScoringError(
            f"{first} and {second} have no case in common",
            hint="score both on the same capabilities and kinds",
        )
    return ComparedResults(
        (first_result, second_result),
        len(cases),
        comparison.compare(cases, *failed),
        comparison.compare(*comparison.paired_contrasts(first_outcomes, second_outcomes)),
    )


@dataclass(frozen=True)
class Gate:
    """The checks of a result, and the compared files with their results, the new one first."""

    results: list[tuple[Path, Result]]
    checks: list[Check]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def figures_without_power(self) -> str:
        """The names of the figures in which no loss could be shown, however large; may be empty."""
        return ", ".join(check.figure_name for check in self.checks if check.lacks_power)

    def as_json(self) -> dict[str, Any]:
        """The keys that docs/ci.md describes, with their values."""
        (file, result), *others = self.results
        return {
            "passed": self.passed,
            "model": result.model.name,
            "suite": result.suite.model_dump(),
            "result": str(file),
            "no_worse_than": str(others[0][0]) if others else None,
            "checks": [check.as_json() for check in self.checks],
        }


@command
def gate(
    result: Annotated[
        Path, typer.Argument(exists=True, help="A result file, or a folder with one.")
    ],
    *,
    max: Annotated[
        list[str],
        typer.Option(
            help="Highest failure rate in percent: LC4=20, or mean=30 for the mean; may be given "
            "again."
        ),
    ] = [],  # noqa: B006
    min: Annotated[
        list[str],
        typer.Option(
            help="Lowest consistency in percent: consistency=60, LC4/consistency=50; may be given "
            "again."
        ),
    ] = [],  # noqa: B006
    no_worse_than: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            help="The result of another version of the model: fail where the test of `s2lct "
            "compare` shows that to be better, in a mean or in a capability.",
        ),
    ] = None,
    suite: SuitesOfResults = [],  # noqa: B006
) -> Gate:
    """Pass or fail a model: bounds, and no worse than before.

    The exit status is 0 where all checks pass, 1 where one fails, and 2 where nothing can be
    checked.
    """
    from s2lct.leaderboard.results import gate as gates
    from s2lct.leaderboard.results.read_results import (
        Suites,
        check_one_suite,
        newest_result,
        read_scored,
    )

    try:
        if not (max or min or no_worse_than):
            raise ScoringError(
                "there is nothing to check",
                hint="add --max LC4=20, --max mean=30, --min consistency=60 or "
                "--no-worse-than FILE",
            )
        files = [newest_result(path) for path in (result, no_worse_than) if path]
        suites = Suites(suite)
        scored = [(file, read_scored(file, suites)) for file in files]
        check_one_suite(dict(scored))
        new = scored[0][1]
        checks = gates.check_bounds(new.result, max, "max")
        checks += gates.check_bounds(new.result, min, "min")
        checks += gates.check_no_worse(new, scored[1][1]) if no_worse_than else []
    except S2lctError as error:
        error.exit_status = 2
        raise
    return Gate([(file, model.result) for file, model in scored], checks)


@command
def build_leaderboard(
    results: Annotated[
        str, typer.Argument(help=r"Folder of result files, or Hub dataset ORG/NAME\[@REVISION].")
    ],
    *,
    suite: Annotated[
        list[str],
        typer.Option(
            help="The suite that the leaderboard is for: folder, Hub id@REVISION, or Hub id for "
            "all its versions; may be given again. Results on others are left out. "
            r"\[default: those that the results name, where their folders are here]"
        ),
    ] = [],  # noqa: B006
    rescored: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="What `s2lct leaderboard check --rescore --json` printed: rows of results whose "
            "models were asked again say so.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page and its data.")] = Path("site"),
) -> tuple[SuiteStandings, ...]:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.leaderboard.results.hub import is_on_hub, load_suites
    from s2lct.leaderboard.results.standings import collect
    from s2lct.leaderboard.results.submission import rescored_results
    from s2lct.leaderboard.site.site import build_site

    rescored_hashes = rescored_results(rescored) if rescored else frozenset()
    leaderboard = collect(results, load_suites(suite), rescored_hashes)
    for line in leaderboard.skip_reasons:
        warnings.warn(f"left out {line}", S2lctWarning, stacklevel=2)
    repositories = {}
    if is_on_hub(results):
        repositories["results"] = results.partition("@")[0]
    if suite_on_hub := next(filter(is_on_hub, suite), ""):
        repositories["suite"] = suite_on_hub
    return build_site(leaderboard, out, **repositories)


@command
def check(
    files: Annotated[
        list[Path], typer.Argument(help="Result files; each with its Parquet file beside it.")
    ],
    *,
    suite: Annotated[
        str, typer.Option(help=r"The suite, from a source you trust: folder or Hub id\[@REVISION].")
    ] = "s2lct",
    rescore: Annotated[
        bool,
        typer.Option(
            help="Load the models and ask them all cases again; best in a container with limits."
        ),
    ] = False,
) -> Iterator[SubmissionCheck]:
    """Accept or refuse submitted results, with reasons, a file at a time.

    The exit status is 1 where one is refused.
    """
    from s2lct.leaderboard.results import submission
    from s2lct.suite.cases import load_suite

    cases = load_suite(suite)
    return (submission.check(file, cases, rescore=rescore) for file in files)
