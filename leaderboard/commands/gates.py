"""Holding a model against bounds and against earlier results, for continuous integration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from s2lct.errors import GateError, S2lctError
from s2lct.options import Argument, Option, Printed, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.results.gate import Check, ReadResult


def _at_most(bounds: tuple[str, ...]) -> tuple[str, ...]:
    from s2lct.leaderboard.results.bounds import parse_bounds

    parse_bounds(bounds, "max")
    return bounds


def _at_least(bounds: tuple[str, ...]) -> tuple[str, ...]:
    from s2lct.leaderboard.results.bounds import parse_bounds

    parse_bounds(bounds, "min")
    return bounds


class GateOptions(Printed):
    """Options of `gate`."""

    results: Annotated[
        tuple[Path, ...],
        Argument(
            "Result files of one model, or folders of them; of several (one a prompt) the mean "
            "counts.",
            path="existing",
        ),
    ]
    max: Annotated[
        tuple[str, ...],
        AfterValidator(_at_most),
        Option(
            "Highest failure rate in percent: LC4=20, or mean=30 for the mean; may be given again."
        ),
    ] = ()
    min: Annotated[
        tuple[str, ...],
        AfterValidator(_at_least),
        Option(
            "Lowest share right on both sides in percent: both-sides=60, LC4/both-sides=50; may be "
            "given again."
        ),
    ] = ()
    no_worse_than: Annotated[
        tuple[Path, ...],
        Option(
            "Result file of another version of the model, or a folder: fail where the test of "
            "`s2lct compare` shows it to be better, in the mean or in a capability; may be given "
            "again.",
            path="existing",
        ),
    ] = ()
    junit: Annotated[Path | None, Option("Write the checks as JUnit XML.", path="file")] = None


@dataclass(frozen=True)
class Gate:
    """What was held against what: the results, the earlier ones, and the checks in order."""

    results: tuple[ReadResult, ...]
    before: tuple[ReadResult, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def detectable(self) -> str:
        """Which differences of failure rates the tests could have shown, in words."""
        from s2lct.leaderboard.results.gate import NoWorseCheck

        tested = [one for one in self.checks if isinstance(one, NoWorseCheck)]
        points = {
            one.figure.capability: 100 * one.detectable
            for one in tested
            if not one.figure.both_sides
        }
        mean, own = points.pop("", None), sorted(points.values())
        told = [f"{mean:.1f} points of the mean"] if mean is not None else []
        told += [f"{own[0]:.1f} to {own[-1]:.1f} points of a capability"] if own else []
        return " and ".join(told)

    def as_json(self) -> dict[str, Any]:
        """What a program is told."""
        first = self.results[0].result
        return {
            "passed": self.passed,
            "model": first.model.name,
            "suite": first.suite.model_dump(),
            "results": [str(one.path) for one in self.results],
            "no_worse_than": [str(one.path) for one in self.before],
            "checks": [check.as_json() for check in self.checks],
        }


@takes(GateOptions)
def gate(options: GateOptions, bars: Bars) -> Gate:
    """Pass or fail a model: bounds, and no worse than before.

    Every figure is computed again from the outcomes beside a result file. The exit status is 0
    where all checks pass, 1 where one fails, and 2 where nothing can be checked.
    """
    from s2lct.files import check_files_out, write_bytes
    from s2lct.leaderboard.results.bounds import parse_bounds
    from s2lct.leaderboard.results.gate import check_bound, check_no_worse, read_results
    from s2lct.leaderboard.results.read import result_reader

    bounds = (*parse_bounds(options.max, "max"), *parse_bounds(options.min, "min"))
    if not bounds and not options.no_worse_than:
        raise GateError(
            "nothing is asked of the results",
            hint="add --max LC4=20, --max mean=30, --min both-sides=60 or --no-worse-than FILE",
        )
    try:
        check_files_out(junit=options.junit)
        with result_reader() as reader:
            results = read_results(options.results, reader)
            before = read_results(options.no_worse_than, reader)
        checks: list[Check] = [check_bound(results, bound) for bound in bounds]
        if before:
            checks += check_no_worse(results, before)
        found = Gate(tuple(results), tuple(before), tuple(checks))
        if options.junit is not None:
            write_bytes(options.junit, _junit(found))
    except GateError:
        raise
    except S2lctError as error:
        raise GateError(error.problem, hint=error.hint) from error
    except OSError as error:
        raise GateError(
            f"{error.filename or options.junit}: {error.strerror}", hint="choose another place"
        ) from error
    return found


def _junit(found: Gate) -> bytes:
    from s2lct.leaderboard.results.gate import NoWorseCheck
    from s2lct.leaderboard.results.junit import JUnitCase, junit_xml

    first = found.results[0].result
    than = ", ".join(str(one.path) for one in found.before)
    cases: list[JUnitCase] = []
    for check in found.checks:
        name, told = f"{check.figure} {check.asked}", f"{check.figure}: {check.told}"
        asked = f"{check.asked} than {than}" if isinstance(check, NoWorseCheck) else check.asked
        cases.append(JUnitCase(name, told, "" if check.passed else f"{told}, asked: {asked}"))
    facts = {
        "model": first.model.name,
        "revision": first.model.revision,
        "suite": first.suite.name,
        "suite version": first.suite.version,
        "suite fingerprint": first.suite.fingerprint,
        "results": ", ".join(str(one.path) for one in found.results),
        "no worse than": than,
    }
    return junit_xml(f"s2lct {first.model.name}", f"s2lct.{first.model.name}", cases, facts)
