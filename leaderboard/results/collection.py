"""Many models' results: read from files or a Hub dataset, put together suite by suite."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.results import scored, untrusted
from s2lct.leaderboard.results.hub_results import snapshot
from s2lct.leaderboard.results.read import Suites, read_outcomes, wrong_figures
from s2lct.leaderboard.results.record import stands_apart
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.tables import COUNTERPART, KINDS

MOST_OTHER_SUITES = 20
MOST_OTHER_CHARACTERS = 20_000_000
_MOST_ROWS_HASHED = 2_000_000
_LONGEST_LINE = 400
_NO_WHOLE = "covers a part of its suite, of which no whole result is here"


@dataclass(frozen=True)
class ReadResult:
    """A result file with its outcomes; equal cases are one object."""

    file: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]  # with counterparts, and so the labels of its model
    model: scored.ScoredModel
    partial: bool = False


class _Skipped(list[str]):
    """A line for each file that is left out."""

    def add(self, file: str, why: str) -> None:
        self.append(plain(f"{plain(file, untrusted.LONGEST_NAME)}: {why}", _LONGEST_LINE))


def collect(
    source: str | Path,
    advance: Callable[[int, int], None] | None = None,
    *,
    official: Sequence[SuiteCases] | None = None,
) -> scored.Collection:
    """Read results.

    A file that cannot be used is left out with a line that says why; of two files of the same
    model on the same suite the verified one counts, then the newer one. Which are verified says
    ``verified.json`` at the top of the folder or dataset, and no other.

    Args:
        source: a folder of result files, a Hub dataset ``ORG/NAME[@REVISION]`` of them, or a
            Parquet file that `write_collection` wrote.
        advance: told how many files of how many were read.
        official: the suites that the operator means; results on others stand apart. None if the
            operator names none.

    Raises:
        ScoringError: there is nothing at ``source``, or nothing usable.
    """
    path, skipped = Path(source), _Skipped()
    if path.is_file():
        collection = scored.read_collection(path)
        if official is None and collection.suites:
            return collection
        read = [
            ReadResult(model.key, suite.version, suite.fingerprint, suite.cases, model)
            for suite in map(scored.joined, collection.suites)
            for model in suite.models
        ]
    else:
        folder = path if path.is_dir() else snapshot(str(source))
        read = _read_folder(folder, official or (), advance, skipped)
    suites = _by_suite(read, official, skipped)
    if not suites:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            hint="make some with `s2lct score MODEL --suite DIR --out results/`",
        )
    return scored.Collection(tuple(suites), tuple(skipped))


def _read_folder(
    folder: Path,
    official: Sequence[SuiteCases],
    advance: Callable[[int, int], None] | None,
    skipped: _Skipped,
) -> list[ReadResult]:
    read: list[ReadResult] = []
    try:
        below = untrusted.files_below(folder, ".json")
    except untrusted.RefusedError as refusal:
        raise ScoringError(f"{folder}: {refusal}", hint="name a folder of result files") from None
    found = {file.relative_to(folder).as_posix(): file for file in below}
    # Lists further down may be anybody's, such as a part of what somebody submitted.
    for name in found:
        if name.endswith(f"/{untrusted.VERIFIED_FILE}"):
            skipped.add(name, "only the list of verified results at the top counts")
    top, verified = folder / untrusted.VERIFIED_FILE, dict[str, str]()
    try:
        verified = untrusted.read_verified(top)
    except ScoringError as error:
        problem = error.problem.removeprefix(f"{top}: ")
        skipped.add(untrusted.VERIFIED_FILE, f"is no list of verified results ({problem})")
    files = {name: file for name, file in found.items() if file.name != untrusted.VERIFIED_FILE}
    suites = Suites(official)
    for number, (name, file) in enumerate(files.items(), 1):
        try:
            read.append(_read(name, file, suites, verified))
        except untrusted.RefusedError as refusal:
            skipped.add(name, refusal.reasons[0])
        except ScoringError as error:
            skipped.add(name, error.problem.removeprefix(f"{file}: "))
        if advance:
            advance(number, len(files))
    return read


def _read(name: str, path: Path, suites: Suites, verified: Mapping[str, str]) -> ReadResult:
    data = untrusted.bytes_of(path, untrusted.MOST_JSON_BYTES)
    result = untrusted.checked_record(data, names=True)
    model = result.model
    if model.predictions is not None:
        raise untrusted.RefusedError(
            "holds given predictions, which nobody can score again; see them with s2lct report"
        )
    whole = suites.of(result, path)
    outcomes = read_outcomes(path, result, whole)
    for where in wrong_figures(result, outcomes):
        raise untrusted.RefusedError(f"{where} does not follow from its cases")
    key = sha256(data).hexdigest()
    said = dict(zip((case.id for case in outcomes.asked), outcomes.said.tolist(), strict=True))
    labels = np.array([said.get(case.id, scored.UNSCORED) for case in whole.asked], dtype=np.int8)
    verified_on = verified.get(key, "")
    prompt = model.options.prompt
    model_scored = scored.ScoredModel(
        key=key,
        **model.model_dump(
            exclude={"options", "endpoint", "predictions", "dtype", "device", "batch_size"}
        ),
        endpoint=model.endpoint.url if model.endpoint else "",
        # The day of a verified row is that of its check, since nobody can check the other.
        date=untrusted.moment(verified_on or result.date).isoformat(timespec="seconds"),
        verified=verified_on[:10],
        labels=labels,
        options=stands_apart(model),
        prompt="" if prompt is None else json.dumps(prompt, ensure_ascii=False),
    )
    suite = result.suite
    return ReadResult(
        name, suite.version, suite.fingerprint, whole.asked, model_scored, result.partial
    )


def _by_suite(
    read: Sequence[ReadResult], official: Sequence[SuiteCases] | None, skipped: _Skipped
) -> list[scored.SuiteOutcomes]:
    """Results by the suite that they were scored on, the suite that a page shows first in front."""
    named = {suite.fingerprint: suite for suite in official or () if suite.fingerprint}
    groups: dict[str, list[ReadResult]] = {fingerprint: [] for fingerprint in named}
    for one in read:
        groups.setdefault(one.fingerprint, []).append(one)
    for name, group in list(groups.items()):
        # Parts of a suite do not tell what the whole of it is.
        if name and name not in named and all(one.partial for one in group):
            for one in groups.pop(name):
                skipped.add(one.file, _NO_WHOLE)
    unnamed = groups.pop("", [])
    references = {
        name: named[name].asked if name in named else _reference(name, group)
        for name, group in groups.items()
    }
    known = {name: set(_bare(cases)) for name, cases in references.items()}
    for one in unnamed:
        # A suite loaded from a Hub has no fingerprint; its cases tell which it is.
        home = next((name for name, cases in known.items() if set(_bare(one.cases)) <= cases), "")
        groups.setdefault(home, []).append(one)
    if "" in groups:
        references[""] = _reference("", groups[""])
    suites: list[scored.SuiteOutcomes] = []
    files: dict[str, list[str]] = {}
    for name, group in groups.items():
        group.sort(key=lambda one: one.file)
        fitting = _fitting(group, references[name], skipped)
        told = Counter(one.version for one in fitting if one.version or not name)
        version = min(told, key=lambda version: (-told[version], version), default="")
        version = named[name].version if name in named else version
        meant = None if official is None else name in named
        rows = references[name]
        models = _best(fitting, skipped)
        suites.append(scored.parted(scored.SuiteOutcomes(version, name, rows, models, meant)))
        files[name] = [one.file for one in fitting]
    suites = sorted((one for one in suites if one.models), key=precedence, reverse=True)
    return _bounded(suites, files, skipped)


def precedence(suite: scored.SuiteOutcomes) -> tuple[object, ...]:
    """Which of several suites a page shows first: the one with the largest of these.

    That is the newest of the official ones. Where the operator named none, or for what is on none
    of them, a version is what strangers say it is: then the suite with most verified results, then
    that with most results.
    """
    newest = max((model.date for model in suite.models), default="")
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", suite.version, re.ASCII)
    version = tuple(map(int, match.groups())) if match else (-1,)
    verified = sum(bool(model.verified) for model in suite.models)
    if suite.official:
        return (True, version, verified, len(suite.models), newest, suite.fingerprint)
    return (False, (), verified, len(suite.models), (version, newest), suite.fingerprint)


def _bounded(
    suites: Sequence[scored.SuiteOutcomes], files: dict[str, list[str]], skipped: _Skipped
) -> list[scored.SuiteOutcomes]:
    """Without suites that nobody named, as far as they would swell everybody's page."""
    kept: list[scored.SuiteOutcomes] = []
    others = characters = 0
    for suite in suites:
        if kept and not suite.official:
            size = sum(
                len(case.id) + len(case.text) + sum(map(len, case.inserted)) for case in suite.cases
            )
            if others == MOST_OTHER_SUITES or characters + size > MOST_OTHER_CHARACTERS:
                shown = suite.fingerprint[:12] or "unnamed"
                for file in files[suite.fingerprint]:
                    skipped.add(file, f"its suite ({shown}) would be one too many beside the first")
                continue
            others, characters = others + 1, characters + size
        kept.append(suite)
    return kept


def _reference(fingerprint: str, group: Sequence[ReadResult]) -> tuple[Case, ...]:
    """The suite's cases: those that give its fingerprint, else those that hold most results.

    The fingerprint covers ids, texts and labels only; among cases that differ elsewhere, those of a
    verified result count, then those of most results.
    """
    all_sets = {id(one.cases): one.cases for one in group}
    whole = [one for one in group if not one.partial] or group
    sets = {id(one.cases): one.cases for one in whole}
    if fingerprint:
        sets = {n: cases for n, cases in sets.items() if proves(cases, fingerprint)} or sets
    if len(sets) == 1:
        return next(iter(sets.values()))
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

    It covers the order of rows, where a counterpart stands behind its seed, and that of a case's
    labels, which outcomes do not keep; it is one of two for all cases of a capability.
    """
    cases = _in_families(cases)
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


def _in_families(rows: Sequence[Case]) -> list[Case]:
    """Rows with each counterpart behind its seed, as a suite is written."""
    of_seed: dict[str, list[Case]] = {}
    for row in rows:
        if row.kind == COUNTERPART:
            of_seed.setdefault(row.seed_id, []).append(row)
    counted = (row for row in rows if row.kind in KINDS)
    return [one for row in counted for one in (row, *of_seed.pop(row.id, ()))]


def _fitting(
    group: Iterable[ReadResult], cases: tuple[Case, ...], skipped: _Skipped
) -> list[ReadResult]:
    """Results whose cases are among the suite's, their labels in the suite's order."""
    number_of = {case: number for number, case in enumerate(_bare(cases))}
    same = {id(cases)}
    fitting: list[ReadResult] = []
    for one in group:
        if id(one.cases) in same or one.cases == cases:
            same.add(id(one.cases))
            fitting.append(replace(one, cases=cases))
            continue
        numbers = [number_of.get(case) for case in _bare(one.cases)]
        if None in numbers:
            stranger = plain(one.cases[numbers.index(None)].id, 40)
            suite = one.fingerprint[:12]
            skipped.add(one.file, f"case {stranger} is not of the suite that it names ({suite})")
            continue
        labels = np.full(len(cases), scored.UNSCORED, dtype=np.int8)
        labels[np.array(numbers)] = one.model.labels
        fitting.append(replace(one, cases=cases, model=replace(one.model, labels=labels)))
    return fitting


def _best(group: Sequence[ReadResult], skipped: _Skipped) -> tuple[scored.ScoredModel, ...]:
    """Of results of the same model the verified, then the fullest, then the newest.

    On the Hub ``ORG/Good`` and ``org/good`` are one model.
    """
    of_model: dict[tuple[str, ...], list[ReadResult]] = {}
    for one in group:
        model = one.model
        names = (
            model.name.casefold(),
            model.revision,
            model.weights_sha256,
            model.label_rule,
            model.options,
        )
        of_model.setdefault((*names, model.endpoint), []).append(one)

    def worth(one: ReadResult) -> tuple[object, ...]:
        full = int((one.model.labels != scored.UNSCORED).sum())
        return bool(one.model.verified), full, untrusted.moment(one.model.date), one.file

    kept: list[scored.ScoredModel] = []
    for rivals in of_model.values():
        best = max(rivals, key=worth)
        kept.append(best.model)
        for one in rivals:
            if one is not best:
                better = plain(best.file, untrusted.LONGEST_NAME)
                skipped.add(one.file, f"{better} is a better result of the same model")
    return tuple(kept)
