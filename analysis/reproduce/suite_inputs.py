"""What the tables of the S²LCT paper are made of: models, a suite, CheckList's cases beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from s2lct.builder.capabilities.files import cases_beside
from s2lct.errors import AnalysisError
from s2lct.identity import content_id, shuffle_key
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.checklist import CheckListCase, read_checklist

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions

Given = TypeVar("Given")


def needed_models(options: ReproduceOptions) -> tuple[str, ...]:
    """The models, each once; an AnalysisError where there is none."""
    hint = "name one or more: --model embedded-2class --model embedded-3class"
    return tuple(dict.fromkeys(_needed(options, options.model, "model", hint)))


def needed_suite(options: ReproduceOptions) -> str:
    """The suite's name; an AnalysisError where there is none."""
    hint = "name the folder that `s2lct build` wrote, or a Hub id: --suite dist/s2lct"
    return _needed(options, options.suite, "suite", hint)


def needed_reference(options: ReproduceOptions) -> str:
    """The corpus that sets ranges; an AnalysisError where there is none."""
    hint = "name what sets the ranges, best what the model was trained on: --reference sst:PATH"
    return _needed(options, options.reference, "reference corpus", hint)


def _needed(options: ReproduceOptions, given: Given | None, what: str, hint: str) -> Given:
    if not given:
        raise AnalysisError(f"{options.name}: no {what} is named", hint=hint)
    return given


def needed_checklist(options: ReproduceOptions) -> list[CheckListCase]:
    """CheckList's cases of all files given.

    Raises:
        AnalysisError: none is given, or one cannot be read.
    """
    hint = "name the file of its tests: --checklist sentiment_mft.jsonl.gz"
    paths = _needed(options, options.checklist, "file of CheckList's cases", hint)
    return [case for path in paths for case in read_checklist(path)]


def of_families(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many cases of each capability: random seeds with their expansions, then a part.

    The cases stay in order, and an expansion never without its seed.
    """
    if most is None:
        return list(cases)
    members: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=lambda one: one.kind != "seed"):
        members.setdefault(case.capability, {}).setdefault(case.seed_id, []).append(case)
    chosen: set[str] = set()
    for families in members.values():
        drawn = sorted(families, key=lambda name: shuffle_key(seed, "reproduced", name))
        chosen.update([case.id for name in drawn for case in families[name]][:most])
    return [case for case in cases if case.id in chosen]


def beside(
    found: list[CheckListCase], capabilities: Iterable[str], most: int | None, seed: int
) -> dict[str, list[Case]]:
    """CheckList's cases of the test that each capability stands beside, at most so many at random.

    Capabilities without such a test have none. Their cases are seeds of families of their own,
    under the capability's name.
    """
    cases: dict[str, list[Case]] = {}
    for name in capabilities:
        own = cases_beside(found, name)
        if own is found:  # its file names no test, or one that is not there
            continue
        made = [_as_case(case, name, number) for number, case in enumerate(own)]
        drawn = sorted(made, key=lambda one: shuffle_key(seed, "reproduced", one.id))[:most]
        chosen = {case.id for case in drawn}
        cases[name] = [case for case in made if case.id in chosen]
    return cases


def _as_case(case: CheckListCase, capability: str, number: int) -> Case:
    own = content_id("checklist", case.test, str(number), case.text)
    passes = frozenset(LABELS.index(label) for label in case.passes)
    return Case(own, capability, "seed", own, case.text, passes)


def named(suite: SuiteCases) -> str:
    """A suite in a note: its folder's or repository's last name, and its version."""
    return f"{Path(suite.name).name}{f' {suite.version}' if suite.version else ''}"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
