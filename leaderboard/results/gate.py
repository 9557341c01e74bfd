"""Whether a model keeps bounds, and does no worse than another: what `s2lct gate` decides."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np

from s2lct.errors import GateError
from s2lct.leaderboard.results import comparison
from s2lct.leaderboard.results.comparison import shown_p
from s2lct.leaderboard.results.read import Scored, check_one_suite
from s2lct.leaderboard.results.record import CapabilityRecord, OverallRecord
from s2lct.leaderboard.scoring.statistics import Failed, by_name
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import ID_PATTERN, natural_order, spelled
from s2lct.suite.cases import Case

MEAN, BOTH_SIDES, NO_WORSE = "mean", "both-sides", "no worse"
"""What stands in a bound for all capabilities, and for the share right on both sides."""
_SAME = {"overall": MEAN, "both_sides": BOTH_SIDES}
_EXAMPLES = {"max": "LC4=20 or mean=30", "min": "both-sides=60 or LC4/both-sides=50"}
_ROUNDING = 1e-9
_MOST_DIGITS = 9
_SAME_CALLS = "score both with the same models, prompts and cases"


@dataclass(frozen=True, slots=True)
class Figure:
    """A failure rate, or a share right on both sides: of a capability, or the mean without one."""

    capability: str = ""
    both_sides: bool = False

    def __str__(self) -> str:
        if self.both_sides:
            return f"{self.capability}/{BOTH_SIDES}" if self.capability else BOTH_SIDES
        return self.capability or MEAN


@dataclass(frozen=True, slots=True)
class Bound:
    """The highest failure rate that passes, or the lowest share right on both sides."""

    figure: Figure
    percent: float

    @property
    def side(self) -> Literal["max", "min"]:
        """The option that sets it."""
        return "min" if self.figure.both_sides else "max"

    def __str__(self) -> str:
        return f"--{self.side} {self.figure}={self.percent:g}"


@dataclass(frozen=True, slots=True)
class Check:
    """A figure held against a bound, or against that of earlier results on the cases of both.

    ``condition`` is what it has to keep and ``told`` what was found, in words; ``facts`` are what
    a program is told, see docs/ci.md. It is ``better`` where earlier results are shown to be worse.
    """

    figure: Figure
    condition: str
    told: str
    passed: bool
    facts: Mapping[str, Any]
    better: bool = False

    def as_json(self) -> dict[str, Any]:
        """What a program is told."""
        return {"figure": str(self.figure), "passed": self.passed, **self.facts}


def parse_bounds(texts: Iterable[str], side: Literal["max", "min"]) -> list[Bound]:
    """Bounds as the options ``--max`` and ``--min`` take them, each figure once.

    Args:
        texts: ``FIGURE=PERCENT`` each. A figure is a capability's id or ``mean``, and for ``min``
            ``both-sides`` or ``CAPABILITY/both-sides``; a sign % behind the number is left away.
        side: which of the two options.

    Raises:
        GateError: one is no bound, or two are of the same figure; it says which.
    """
    bounds: dict[str, Bound] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        figure = _figure(name)
        try:
            percent = float(number.removesuffix("%"))
        except ValueError:
            percent = math.nan
        if figure is None or not 0 <= percent <= 100:
            raise GateError(
                f"--{side} {text}: is no bound from 0 to 100 %", hint=f"write {_EXAMPLES[side]}"
            )
        bound = Bound(figure, percent)
        if bound.side != side:
            better = "higher" if figure.both_sides else "lower"
            raise GateError(f"--{side} {text}: {better} is better", hint=f"write {bound}")
        if bounds.setdefault(str(figure).casefold(), bound) is not bound:
            raise GateError(
                f"--{side} {text}: {figure} is bounded twice", hint="give each figure one bound"
            )
    return list(bounds.values())


def _figure(name: str) -> Figure | None:
    *capability, last = name.split("/")
    last = _SAME.get(last.lower().replace("-", "_"), last)
    last = last.lower() if last.lower() in (MEAN, BOTH_SIDES) else last
    if not capability and last == MEAN:
        return Figure()
    if last == BOTH_SIDES and (not capability or capability == [MEAN]):
        return Figure(both_sides=True)
    of = capability[0] if last == BOTH_SIDES and len(capability) == 1 else name
    return Figure(of, last == BOTH_SIDES) if re.fullmatch(ID_PATTERN, of) else None


def check_same(results: Mapping[Path, Scored]) -> None:
    """Refuse results of several models with a `GateError`, or of several suites."""
    (first, one), *others = results.items()
    for path, other in others:
        if other.result.model.name != one.result.model.name:
            raise GateError(
                f"{first} and {path} are of different models "
                f"({one.result.model.name}, {other.result.model.name})",
                hint="hold each model against its bounds with a command of its own; several "
                "files are for several prompts of one model",
            )
    check_one_suite(results)


def check_bound(results: Mapping[Path, Scored], bound: Bound) -> Check:
    """Hold the mean of the results' figures against a bound.

    Raises:
        GateError: a result has no such figure.
    """
    both_sides = bound.figure.both_sides
    shares: list[float] = []
    for path, (result, _) in results.items():
        (name,) = spelled([bound.figure.capability], result.capabilities)
        if name and name not in result.capabilities:
            known = ", ".join(sorted(result.capabilities, key=natural_order))
            raise GateError(
                f"{bound}: {path} has no {name}",
                hint=f"choose among {known}, or score it on a suite that has {name}",
            )
        of = result.capabilities[name] if name else result.overall
        share, between = _share(of, both_sides=both_sides)
        if share is None:
            raise GateError(
                f"{bound}: {path} tells of no counterparts{f' in {name}' if name else ''}, and "
                "nothing is right on both sides without them",
                hint="leave that bound out, or score on a suite with counterparts",
            )
        shares.append(share)
    found, percent = float(np.mean(shares)), bound.percent
    low, high = between if len(shares) == 1 else (min(shares), max(shares))
    told = f"{_beside(100 * found, percent)} %"
    if len(shares) > 1:
        told += f", mean of {len(shares)} ({100 * low:.1f} to {100 * high:.1f})"
    else:
        told += f" [{100 * low:.1f}, {100 * high:.1f}]"
    past = percent - 100 * found if both_sides else 100 * found - percent
    return Check(
        Figure(name, both_sides),
        f"{'≥' if both_sides else '≤'} {percent:g} %",
        told,
        past <= _ROUNDING,
        {
            "asked": bound.side,
            "bound": round(percent / 100, 12),
            "found": found,
            "between": [low, high],
        },
    )


def _share(
    of: CapabilityRecord | OverallRecord, *, both_sides: bool
) -> tuple[float | None, tuple[float, float]]:
    if both_sides:
        return (of.both_sides.share, of.both_sides.ci) if of.both_sides else (None, (0.0, 1.0))
    rate = of if isinstance(of, OverallRecord) else of.all
    return rate.failure_rate, rate.ci


def check_no_worse(results: Mapping[Path, Scored], before: Mapping[Path, Scored]) -> list[Check]:
    """Hold results against earlier ones by `comparison.compare`: failure rates, then both sides.

    The mean of several capabilities comes first, tested by itself. Of several files of each, what
    a family fails is summed over them: its sign-flip test is then one of the means.

    Raises:
        GateError: they are of different suites, of different numbers of prompts, or the new ones
            lack capabilities or have no case in common with the earlier ones.
    """
    check_one_suite({**before, **results})
    named = f"{next(iter(results))} and {next(iter(before))}"
    if len(results) != len(before):
        raise GateError(
            f"{len(results)} result files are held against {len(before)} ({named})",
            hint="pass as many of each: one a prompt",
        )
    shared, sides = [], []
    for (path, new), (old_path, old) in zip(results.items(), before.items(), strict=True):
        lacking = old.result.capabilities.keys() - new.result.capabilities.keys()
        if lacking:
            missing = ", ".join(sorted(lacking, key=natural_order))
            raise GateError(f"{path} has no {missing}, which {old_path} has", hint=_SAME_CALLS)
        shared.append(comparison.paired(old.outcomes, new.outcomes))
        sides.append(comparison.paired_sides(old.outcomes, new.outcomes))
    if not all(cases for cases, *_ in shared):
        raise GateError(f"{named} have no case in common", hint=_SAME_CALLS)
    return [*_compared(shared, both_sides=False), *_compared(sides, both_sides=True)]


def _compared(
    parts: Sequence[tuple[list[Case], Failed, Failed]], *, both_sides: bool
) -> list[Check]:
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
    checks: list[Check] = []
    for name, (before, found) in figures.items():
        p_value = tests[name].adjusted
        shown, gain = p_value < comparison.LEVEL, found - before if both_sides else before - found
        checks.append(
            Check(
                Figure(name, both_sides),
                NO_WORSE,
                f"{100 * found:.1f} %, was {100 * before:.1f} % (p {shown_p(p_value):.3g})",
                # A bare difference shows nothing.
                gain > 0 or not shown,
                {
                    "asked": "no_worse",
                    "before": before,
                    "found": found,
                    "p_value": p_value,
                    "shown": ("better" if gain > 0 else "worse") if shown else None,
                    "cases": tests[name].cases,
                    "detectable": seen[name],
                },
                better=shown and gain > 0,
            )
        )
    return checks


def _beside(found: float, bound: float) -> str:
    """A percentage with as many digits as tell it apart from its bound, and one at least."""
    close = abs(found - bound) <= _ROUNDING
    for digits in range(1, _MOST_DIGITS):
        shown = f"{found:.{digits}f}"
        if close or float(shown) != bound:
            break
    return shown


def junit_xml(model: str, checks: Sequence[Check], properties: Mapping[str, str]) -> bytes:
    """Checks as JUnit XML, which GitHub's and GitLab's pages and Jenkins show as tests.

    What XML cannot hold is replaced; the same checks give the same bytes.

    Args:
        model: of which they are.
        checks: a test each.
        properties: facts about all of them; empty ones are left out.
    """
    failures = sum(not check.passed for check in checks)
    counts = {"tests": str(len(checks)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    named = {"name": plain(f"s2lct {model}")}
    suite = ElementTree.SubElement(root, "testsuite", named | counts)
    facts = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        if value:
            ElementTree.SubElement(facts, "property", name=plain(name), value=plain(value))
    for check in checks:
        test = ElementTree.SubElement(
            suite,
            "testcase",
            classname=plain(f"s2lct.{model}"),
            name=plain(f"{check.figure} {check.condition}"),
            time="0",
        )
        if not check.passed:
            than = properties.get("no worse than", "")
            condition = check.condition + (f" than {than}" if check.condition == NO_WORSE else "")
            why = plain(f"{check.figure}: {check.told}, asked: {condition}")
            ElementTree.SubElement(test, "failure", message=why, type="AssertionError").text = why
        ElementTree.SubElement(test, "system-out").text = plain(f"{check.figure}: {check.told}")
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"
