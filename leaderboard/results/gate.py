"""Whether a model keeps bounds, and does no worse than another: what `s2lct gate` decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from s2lct.errors import GateError, S2lctError
from s2lct.leaderboard.results import comparison, untrusted
from s2lct.leaderboard.results.bounds import Bound, Figure
from s2lct.leaderboard.results.comparison import Comparison, shown_p
from s2lct.leaderboard.results.outcomes import UntrustedReader
from s2lct.leaderboard.results.read import read_scored
from s2lct.leaderboard.results.record import CapabilityRecord, OverallRecord, Result, SuiteRecord
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import Failed, by_name
from s2lct.suite.capability_ids import natural_order, spelled
from s2lct.suite.cases import Case

_ROUNDING = 1e-9
_MOST_DIGITS = 9
_SAME_CALLS = "score both with the same models, prompts and cases"


class ReadResult(NamedTuple):
    """A result file with the figures of its outcomes, and these."""

    path: Path
    result: Result
    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """A figure held against a bound. ``found`` is the mean of the results' shares, in [0, 1]."""

    bound: Bound
    found: float
    between: tuple[float, float]  # its interval; of several results the least and the greatest
    results: int

    @property
    def figure(self) -> Figure:
        """Which figure."""
        return self.bound.figure

    @property
    def better(self) -> bool:
        """No bound shows that anything has become better."""
        return False

    @property
    def passed(self) -> bool:
        """Whether the bare figure keeps the bound."""
        past = 100 * self.found - self.bound.percent
        return (-past if self.bound.side == "min" else past) <= _ROUNDING

    @property
    def asked(self) -> str:
        """The bound in words."""
        return f"{'≥' if self.bound.side == 'min' else '≤'} {self.bound.percent:g} %"

    @property
    def told(self) -> str:
        """What was found, in words."""
        low, high = (f"{100 * one:.1f}" for one in self.between)
        shown = _beside(100 * self.found, self.bound.percent)
        if self.results > 1:
            return f"{shown} %, mean of {self.results} ({low} to {high})"
        return f"{shown} % [{low}, {high}]"

    def as_json(self) -> dict[str, Any]:
        """What a program is told."""
        return {
            "figure": str(self.figure),
            "asked": self.bound.side,
            "passed": self.passed,
            "bound": round(self.bound.percent / 100, 12),
            "found": self.found,
            "between": list(self.between),
        }


@dataclass(frozen=True, slots=True)
class NoWorseCheck:
    """A figure held against that of earlier results, on the cases that both have."""

    figure: Figure
    before: float
    found: float
    test: Comparison  # of the earlier results (first) and those held against them (second)
    detectable: float
    """The difference that the test shows four times of five, see `comparison.detectable`."""

    @property
    def passed(self) -> bool:
        """Whether the earlier results are not shown to be better; a bare difference shows none."""
        return self.better or self.test.adjusted >= comparison.LEVEL

    @property
    def better(self) -> bool:
        """Whether they are shown to be worse than what is held against them."""
        gain = self.found - self.before if self.figure.both_sides else self.before - self.found
        return self.test.adjusted < comparison.LEVEL and gain > 0

    @property
    def asked(self) -> str:
        """What was asked, in words."""
        return "no worse"

    @property
    def told(self) -> str:
        """What was found, in words."""
        before, found = 100 * self.before, 100 * self.found
        return f"{found:.1f} %, was {before:.1f} % (p {shown_p(self.test.adjusted):.3g})"

    def as_json(self) -> dict[str, Any]:
        """What a program is told."""
        test = self.test
        return {
            "figure": str(self.figure),
            "asked": "no_worse",
            "passed": self.passed,
            "before": self.before,
            "found": self.found,
            "p_value": test.adjusted,
            "shown": "worse" if not self.passed else "better" if self.better else None,
            "cases": test.cases,
            "detectable": self.detectable,
        }


Check = BoundCheck | NoWorseCheck


def _beside(found: float, bound: float) -> str:
    """A percentage with as many digits as tell it apart from its bound, and one at least."""
    close = abs(found - bound) <= _ROUNDING
    for digits in range(1, _MOST_DIGITS):
        shown = f"{found:.{digits}f}"
        if close or float(shown) != bound:
            break
    return shown


def read_results(paths: Sequence[Path], reader: UntrustedReader) -> list[ReadResult]:
    """Result files of one model on one suite, and those of folders; each once.

    Args:
        paths: of the files and folders.
        reader: what reads them, see `read.result_reader`.

    Raises:
        GateError: a file cannot be read, its figures do not follow from its outcomes, a folder
            holds none, or they are of several models or suites.
    """
    files = {file.resolve(): file for path in paths for file in _files_of(path)}
    found: list[ReadResult] = []
    for path in files.values():
        try:
            found.append(ReadResult(path, *read_scored(path, reader)))
        except S2lctError as error:
            raise GateError(error.problem, hint=error.hint) from error
    for other in found[1:]:
        if other.result.model.name != found[0].result.model.name:
            raise GateError(
                f"{found[0].path} and {other.path} are of different models "
                f"({found[0].result.model.name}, {other.result.model.name})",
                hint="hold each model against its bounds with a command of its own; several "
                "files are for several prompts of one model",
            )
    check_one_suite(found)
    return found


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(one for one in path.glob("*.json") if one.name != untrusted.VERIFIED_FILE)
    if not files:
        raise GateError(
            f"{path}: holds no result file (*.json)",
            hint=f"write some with `s2lct score MODEL --suite DIR --out {path}`",
        )
    return files


def check_one_suite(results: Sequence[ReadResult]) -> None:
    """Refuse results on different suites with a `GateError`."""
    for other in results[1:]:
        suites: list[SuiteRecord] = [one.result.suite for one in (results[0], other)]
        if suites[0].fingerprint != suites[1].fingerprint:
            told = ", ".join(f"{one.version or '?'} {one.fingerprint[:12]}" for one in suites)
            raise GateError(
                f"{results[0].path} and {other.path} were scored on different suites ({told})",
                hint="score both on one version of the suite",
            )


def check_bound(results: Sequence[ReadResult], bound: Bound) -> BoundCheck:
    """Hold the mean of the results' figures against a bound.

    Raises:
        GateError: a result has no such figure.
    """
    shares: list[float] = []
    for path, result, _ in results:
        (name,) = spelled([bound.figure.capability], result.capabilities)
        bound = replace(bound, figure=replace(bound.figure, capability=name))
        if name and name not in result.capabilities:
            known = ", ".join(sorted(result.capabilities, key=natural_order))
            raise GateError(
                f"{bound}: {path} has no {name}",
                hint=f"choose among {known}, or score it on a suite that has {name}",
            )
        of = result.capabilities[name] if name else result.overall
        share, between = _share(of, both_sides=bound.figure.both_sides)
        if share is None:
            raise GateError(
                f"{bound}: {path} tells of no counterparts"
                + (f" in {name}" if name else "")
                + ", and nothing is right on both sides without them",
                hint="leave that bound out, or score on a suite with counterparts",
            )
        shares.append(share)
    if len(shares) > 1:
        between = min(shares), max(shares)
    return BoundCheck(bound, float(np.mean(shares)), between, len(shares))


def _share(
    of: CapabilityRecord | OverallRecord, *, both_sides: bool
) -> tuple[float | None, tuple[float, float]]:
    if both_sides:
        return (of.both_sides.share, of.both_sides.ci) if of.both_sides else (None, (0.0, 1.0))
    rate = of if isinstance(of, OverallRecord) else of.all
    assert rate is not None  # results of format 1 are without it until they are recomputed
    return rate.failure_rate, rate.ci


def check_no_worse(
    results: Sequence[ReadResult], before: Sequence[ReadResult]
) -> list[NoWorseCheck]:
    """Hold results against earlier ones by `comparison.compare`: failure rates, then both sides.

    The mean of several capabilities comes first, tested by itself.

    Of several files of each, what a family fails is summed over them: its sign-flip test is then
    one of the means.

    Raises:
        GateError: they are of different suites, of different numbers of prompts, or the new ones
            lack capabilities or have no case in common with the earlier ones.
    """
    check_one_suite([*results, *before])
    named = f"{results[0].path} and {before[0].path}"
    if len(results) != len(before):
        raise GateError(
            f"{len(results)} result files are held against {len(before)} ({named})",
            hint="pass as many of each: one a prompt",
        )
    for new, old in zip(results, before, strict=True):
        if lacking := sorted(
            old.result.capabilities.keys() - new.result.capabilities.keys(), key=natural_order
        ):
            raise GateError(
                f"{new.path} has no {', '.join(lacking)}, which {old.path} has", hint=_SAME_CALLS
            )
    pairs = [(old.outcomes, new.outcomes) for new, old in zip(results, before, strict=True)]
    shared = [comparison.paired(*pair) for pair in pairs]
    if not all(cases for cases, *_ in shared):
        raise GateError(f"{named} have no case in common", hint=_SAME_CALLS)
    sides = [comparison.paired_sides(*pair) for pair in pairs]
    return [*_compared(shared, both_sides=False), *_compared(sides, both_sides=True)]


def _compared(
    parts: Sequence[tuple[list[Case], Failed, Failed]], *, both_sides: bool
) -> list[NoWorseCheck]:
    """Checks of the mean and of each capability, of what was paired of each pair of files."""
    cases = [case for own, *_ in parts for case in own]
    if not cases:
        return []
    failed = [np.concatenate([part[place] for part in parts]) for place in (1, 2)]
    tests = comparison.compare(cases, *failed)
    seen = comparison.detectable(cases, failed[0])
    # What fails on both sides is a pair of which not both pass, and the figure is of the others.
    shares = [~one if both_sides else one for one in failed]
    figures = {
        name: (float(shares[0][own].mean()), float(shares[1][own].mean()))
        for name, own in by_name(cases).items()
    }
    if len(tests) > 1:
        before, found = np.mean([*figures.values()], axis=0).tolist()
        figures = {"": (before, found)} | figures
        tests[""] = comparison.compare_means(cases, *failed)
    return [
        NoWorseCheck(Figure(name, both_sides), before, found, tests[name], seen[name])
        for name, (before, found) in figures.items()
    ]
