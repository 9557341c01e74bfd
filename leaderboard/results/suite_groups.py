"""Which results belong together: those on one suite, and of one model's the best."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2lct.identity import fingerprint_of
from s2lct.leaderboard.results.scored import UNSCORED, ScoredModel, SuiteOutcomes
from s2lct.leaderboard.results.words import LONGEST_NAME, moment
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases

MOST_OTHER_SUITES = 20
MOST_OTHER_CHARACTERS = 20_000_000
_MOST_ROWS_HASHED = 2_000_000


@dataclass(frozen=True)
class ReadResult:
    """A result file with its outcomes; equal cases are one object."""

    file: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    model: ScoredModel
    partial: bool = False


def by_suite(
    read: Sequence[ReadResult], official: Sequence[SuiteCases] | None, skipped: list[str]
) -> list[SuiteOutcomes]:
    """Results by the suite that they were scored on, the suite that a page shows first in front.

    Args:
        read: the results.
        official: suites that the operator named; what is on another stands apart, marked so. None
            if none was named.
        skipped: gets a line for each result that is left out.
    """
    named = {suite.fingerprint: suite for suite in official or () if suite.fingerprint}
    groups: dict[str, list[ReadResult]] = {fingerprint: [] for fingerprint in named}
    for one in read:
        groups.setdefault(one.fingerprint, []).append(one)
    for name, group in list(groups.items()):
        # Parts of a suite do not tell what the whole of it is.
        if name and name not in named and all(one.partial for one in group):
            skipped += [
                f"{plain(one.file, LONGEST_NAME)}: covers a part of its suite, of which no whole "
                "result is here"
                for one in groups.pop(name)
            ]
    unnamed = groups.pop("", [])
    references = {
        name: named[name].cases if name in named else _reference(name, group)
        for name, group in groups.items()
    }
    known = {name: set(_bare(cases)) for name, cases in references.items()}
    for one in unnamed:
        # A suite loaded from a Hub has no fingerprint; its cases tell which it is.
        home = next((name for name, cases in known.items() if set(_bare(one.cases)) <= cases), "")
        groups.setdefault(home, []).append(one)
    if "" in groups:
        references[""] = _reference("", groups[""])
    suites: list[SuiteOutcomes] = []
    files: dict[str, list[str]] = {}
    for name, group in groups.items():
        group.sort(key=lambda one: one.file)
        fitting = _fitting(group, references[name], skipped)
        files[name] = [one.file for one in fitting]
        told = Counter(one.version for one in fitting if one.version or not name)
        suites.append(
            SuiteOutcomes(
                version=named[name].version if name in named
                else min(told, key=lambda version: (-told[version], version), default=""),
                fingerprint=name,
                cases=references[name],
                models=tuple(_best(fitting, skipped)),
                official=None if official is None else name in named,
            )
        )  # fmt: skip
    suites = sorted((one for one in suites if one.models), key=precedence, reverse=True)
    return _bounded(suites, files, skipped)


def precedence(suite: SuiteOutcomes) -> tuple[object, ...]:
    """Which of several suites a page shows first: the one with the largest of these.

    That is the newest of the official ones. Where the operator named none, or for what is on none
    of them, a version is what strangers say it is: then the suite with most verified results, then
    that with most results.
    """
    newest = max((model.date for model in suite.models), default="")
    version = version_key(suite.version)
    verified = sum(bool(model.verified) for model in suite.models)
    if suite.official:
        return (True, version, verified, len(suite.models), newest, suite.fingerprint)
    return (False, (), verified, len(suite.models), (version, newest), suite.fingerprint)


def version_key(version: str) -> tuple[int, ...]:
    """Orders 1.9.0 before 1.10.0, and both behind what is no version."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version, re.ASCII)
    return tuple(map(int, match.groups())) if match else (-1,)


def _bounded(
    suites: Sequence[SuiteOutcomes], files: dict[str, list[str]], skipped: list[str]
) -> list[SuiteOutcomes]:
    """Without suites that nobody named, as far as they would swell everybody's page."""
    kept: list[SuiteOutcomes] = []
    others = characters = 0
    for suite in suites:
        if suite.official or not kept:
            kept.append(suite)
            continue
        size = sum(len(case.text) + sum(map(len, case.inserted)) for case in suite.cases)
        if others == MOST_OTHER_SUITES or characters + size > MOST_OTHER_CHARACTERS:
            skipped += [
                f"{plain(file, LONGEST_NAME)}: its suite ({suite.fingerprint[:12] or 'unnamed'}) "
                "would be one too many beside the first"
                for file in files[suite.fingerprint]
            ]
            continue
        others, characters = others + 1, characters + size
        kept.append(suite)
    return kept


def _reference(fingerprint: str, group: Sequence[ReadResult]) -> tuple[Case, ...]:
    """The suite's cases: those that give its fingerprint, else those that hold most results.

    The fingerprint covers ids, texts and labels only; among cases that differ elsewhere, those of a
    verified result count, then those of most results.
    """
    whole = [one for one in group if not one.partial] or group
    sets: dict[int, tuple[Case, ...]] = {id(one.cases): one.cases for one in whole}
    proved = [cases for cases in sets.values() if fingerprint and proves(cases, fingerprint)]
    if proved:
        sets = {id(cases): cases for cases in proved}
    if len(sets) == 1:
        return next(iter(sets.values()))
    all_sets = {id(one.cases): one.cases for one in group}
    told = {number: set(_bare(cases)) for number, cases in all_sets.items()}
    results = Counter(id(one.cases) for one in group)
    verified = {id(one.cases) for one in group if one.model.verified}

    def support(number: int) -> tuple[bool, int, bool, int]:
        return (
            number in verified,
            sum(count for other, count in results.items() if told[other] <= told[number]),
            any(case.sources for case in sets[number]),
            -len(sets[number]),
        )

    return sets[max(sets, key=support)]


def _bare(cases: Sequence[Case]) -> list[Case]:
    """Cases without their sources, which results of format 1 do not tell."""
    return [replace(case, sources=()) for case in cases]


def proves(cases: Sequence[Case], fingerprint: str) -> bool:
    """Whether cases give a suite's fingerprint.

    It covers the order of a case's labels, which outcomes do not keep; it is one of two for all
    cases of a capability.
    """
    several = list(dict.fromkeys(case.capability for case in cases if len(case.passes) > 1))
    if 2 ** len(several) * len(cases) > _MOST_ROWS_HASHED:
        return False
    for orders in itertools.product((True, False), repeat=len(several)):
        backwards = dict(zip(several, orders, strict=True))
        rows = [
            [case.id, case.text, sorted(case.passes, reverse=backwards.get(case.capability, False))]
            for case in cases
        ]
        if fingerprint_of(rows) == fingerprint:
            return True
    return False


def _fitting(
    group: Iterable[ReadResult], cases: tuple[Case, ...], skipped: list[str]
) -> list[ReadResult]:
    """Results whose cases are among the suite's, their labels in the suite's order."""
    number_of = {case: number for number, case in enumerate(_bare(cases))}
    same = {id(cases)}
    fitting: list[ReadResult] = []
    for one in group:
        if id(one.cases) not in same and one.cases == cases:
            same.add(id(one.cases))
        if id(one.cases) in same:
            fitting.append(replace(one, cases=cases))
            continue
        numbers = [number_of.get(case) for case in _bare(one.cases)]
        if None in numbers:
            stranger = one.cases[numbers.index(None)]
            skipped.append(
                f"{plain(one.file, LONGEST_NAME)}: case {plain(stranger.id, 40)} is not of the "
                f"suite that it names ({one.fingerprint[:12]})"
            )
            continue
        labels = np.full(len(cases), UNSCORED, dtype=np.int8)
        labels[np.array(numbers)] = one.model.labels
        fitting.append(replace(one, cases=cases, model=replace(one.model, labels=labels)))
    return fitting


def _best(group: Sequence[ReadResult], skipped: list[str]) -> list[ScoredModel]:
    """Of results of the same model the verified, then the fullest, then the newest."""
    of_model: dict[tuple[str, ...], list[ReadResult]] = {}
    for one in group:
        model = one.model
        identity = (
            model.name, model.revision, model.weights_sha256, model.label_rule, model.options,
        )  # fmt: skip
        of_model.setdefault(identity, []).append(one)
    kept: list[ScoredModel] = []
    for rivals in of_model.values():
        best = max(
            rivals,
            key=lambda one: (
                bool(one.model.verified),
                int((one.model.labels != UNSCORED).sum()),
                moment(one.model.date),
                one.file,
            ),
        )
        kept.append(best.model)
        skipped += [
            f"{plain(one.file, LONGEST_NAME)}: {plain(best.file, LONGEST_NAME)} is a better result "
            "of the same model"
            for one in rivals
            if one is not best
        ]
    return kept
