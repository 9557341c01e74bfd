"""Holding results against each other: `compare`, and `gate` for continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from s2lct.command import command
from s2lct.errors import GateError, S2lctError, ScoringError

if TYPE_CHECKING:
    from s2lct.leaderboard.results.comparison import Comparison, SidesCompared
    from s2lct.leaderboard.results.gate import Check
    from s2lct.leaderboard.results.read import Scored
    from s2lct.leaderboard.results.record import Result

SuitesOfResults = Annotated[
    list[str],
    typer.Option(
        "--suite",
        help="What the results were scored on, where its folder is no longer where it was: a "
        "folder, a Hub id, checklist:FILE …; may be given again.",
    ),
]


class Compared(NamedTuple):
    """The results of two files, how many cases both have, and a comparison a capability.

    ``both_sides`` has one for each that has counterparts which both models were asked.
    """

    results: tuple[Result, Result]
    cases: int
    by_capability: dict[str, Comparison]
    both_sides: dict[str, SidesCompared]

    def as_json(self) -> dict[str, Any]:
        """What a program is told; see docs/ci.md."""
        return {
            "suite": self.results[0].suite.model_dump(),
            "models": [result.model.name for result in self.results],
            "cases": self.cases,
            "capabilities": {name: one.as_json() for name, one in self.by_capability.items()},
            "both_sides": {
                name: {"shares": list(one.shares), **one.test.as_json()}
                for name, one in self.both_sides.items()
            },
        }


@command
def compare(
    first: Annotated[Path, typer.Argument(exists=True, help="A result file.")],
    second: Annotated[Path, typer.Argument(exists=True, help="Another, on the same suite.")],
    *,
    suite: SuitesOfResults = [],  # noqa: B006
) -> Compared:
    """Say which differences between two models are real."""
    from s2lct.leaderboard.results import comparison
    from s2lct.leaderboard.results.read import Suites, check_one_suite, read_scored

    suites = Suites(suite)
    read = {path: read_scored(path, suites) for path in (first, second)}
    check_one_suite(read)
    (one, before), (other, after) = read[first], read[second]
    cases, *failed = comparison.paired(before, after)
    if not cases:
        raise ScoringError(
            f"{first} and {second} have no case in common",
            hint="score both on the same capabilities and kinds",
        )
    by_capability = comparison.compare(cases, *failed)
    sides = comparison.compare_sides(before, after)
    return Compared((one, other), len(cases), by_capability, sides)


@dataclass(frozen=True)
class Gate:
    """What was held against what: the results, the earlier ones, and the checks in order."""

    results: dict[Path, Scored]
    before: dict[Path, Scored]
    checks: list[Check]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def detectable(self) -> str:
        """Which differences of failure rates the tests could have shown, in words."""
        points = {
            check.figure.capability: 100 * check.facts["detectable"]
            for check in self.checks
            if "detectable" in check.facts and not check.figure.both_sides
        }
        mean, own = points.pop("", None), sorted(points.values())
        told = [f"{mean:.1f} points of the mean"] if mean is not None else []
        told += [f"{own[0]:.1f} to {own[-1]:.1f} points of a capability"] if own else []
        return " and ".join(told)

    def as_json(self) -> dict[str, Any]:
        """What a program is told; see docs/ci.md."""
        first = next(iter(self.results.values())).result
        return {
            "passed": self.passed,
            "model": first.model.name,
            "suite": first.suite.model_dump(),
            "results": list(map(str, self.results)),
            "no_worse_than": list(map(str, self.before)),
            "checks": [check.as_json() for check in self.checks],
        }


@command
def gate(
    results: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            help="Result files of one model, or folders of them; of several (one a prompt) the "
            "mean counts.",
        ),
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
            help="Lowest share right on both sides in percent: both-sides=60, LC4/both-sides=50; "
            "may be given again."
        ),
    ] = [],  # noqa: B006
    no_worse_than: Annotated[
        list[Path],
        typer.Option(
            exists=True,
            help="Result file of another version of the model, or a folder: fail where the test "
            "of `s2lct compare` shows it to be better, in the mean or in a capability; may be "
            "given again.",
        ),
    ] = [],  # noqa: B006
    junit: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the checks as JUnit XML.")
    ] = None,
    suite: SuitesOfResults = [],  # noqa: B006
) -> Gate:
    """Pass or fail a model: bounds, and no worse than before.

    Every figure is computed from the outcomes beside a result file. The exit status is 0 where all
    checks pass, 1 where one fails, and 2 where nothing can be checked.
    """
    from s2lct.files import check_files_out, write_bytes
    from s2lct.leaderboard.results import gate as gates
    from s2lct.leaderboard.results.read import Suites

    try:
        bounds = [*gates.parse_bounds(max, "max"), *gates.parse_bounds(min, "min")]
        if not bounds and not no_worse_than:
            raise GateError(
                "nothing is asked of the results",
                hint="add --max LC4=20, --max mean=30, --min both-sides=60 or --no-worse-than FILE",
            )
        check_files_out(junit=junit)
        suites = Suites(suite)
        read, before = _read(results, suites), _read(no_worse_than, suites)
        checks: list[Check] = [gates.check_bound(read, bound) for bound in bounds]
        checks += gates.check_no_worse(read, before) if before else []
        found = Gate(read, before, checks)
        if junit is not None:
            write_bytes(junit, _junit(found))
    except GateError:
        raise
    except S2lctError as error:
        raise GateError(error.problem, hint=error.hint) from error
    except OSError as error:
        raise GateError(
            f"{error.filename or junit}: {error.strerror}", hint="choose another place"
        ) from error
    return found


def _read(paths: Sequence[Path], suites: Any) -> dict[Path, Scored]:
    from s2lct.leaderboard.results.gate import check_same
    from s2lct.leaderboard.results.read import read_scored, result_files

    found = {path: read_scored(path, suites) for path in result_files(paths)}
    if found:
        check_same(found)
    return found


def _junit(found: Gate) -> bytes:
    from s2lct.leaderboard.results.gate import junit_xml

    first = next(iter(found.results.values())).result
    facts = {
        "model": first.model.name,
        "revision": first.model.revision,
        "suite": first.suite.name,
        "suite version": first.suite.version,
        "suite fingerprint": first.suite.fingerprint,
        "results": ", ".join(map(str, found.results)),
        "no worse than": ", ".join(map(str, found.before)),
    }
    return junit_xml(first.model.name, found.checks, facts)
