"""Many models' results, read from result files or a Hub dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.collection_file import read_collection, write_collection
from s2lct.leaderboard.results.hub_results import snapshot
from s2lct.leaderboard.results.scored import (
    UNSCORED,
    Collection,
    LabelIds,
    ScoredModel,
    SuiteOutcomes,
    own_options,
    passing,
)
from s2lct.leaderboard.results.suite_groups import ReadResult, by_suite
from s2lct.leaderboard.results.untrusted import LONGEST_TEXT, Untrusted, UntrustedReader
from s2lct.leaderboard.results.untrusted_files import RefusedError, files_below
from s2lct.leaderboard.results.verified import VERIFIED_FILE, read_verified
from s2lct.leaderboard.results.words import LONGEST_NAME, moment
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.tables import KINDS

__all__ = [
    "UNSCORED",
    "Collection",
    "LabelIds",
    "ScoredModel",
    "SuiteOutcomes",
    "collect",
    "passing",
    "read_collection",
    "write_collection",
]

_LONGEST_LINE = 400

Advance = Callable[[int, int], None]


def collect(
    source: str | Path,
    advance: Advance | None = None,
    *,
    official: Sequence[SuiteCases] | None = None,
) -> Collection:
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
    path = Path(source)
    skipped: list[str] = []
    if path.is_file():
        collection = read_collection(path)
        if official is None and collection.suites:
            return collection
        read = _read_again(collection)
    else:
        folder = path if path.is_dir() else snapshot(str(source))
        read = _read_folder(folder, official or (), advance, skipped)
    suites = by_suite(read, official, skipped)
    if not suites:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            mend="make some with `s2lct score MODEL --suite DIR --out results/`",
        )
    return Collection(tuple(suites), tuple(skipped))


def _read_again(collection: Collection) -> list[ReadResult]:
    return [
        ReadResult(model.key, suite.version, suite.fingerprint, suite.cases, model)
        for suite in collection.suites
        for model in suite.models
    ]


def _read_folder(
    folder: Path, official: Sequence[SuiteCases], advance: Advance | None, skipped: list[str]
) -> list[ReadResult]:
    longest = max((len(case.text) for suite in official for case in suite.cases), default=0)
    read: list[ReadResult] = []
    try:
        files = list(files_below(folder, ".json"))
    except RefusedError as refusal:
        raise ScoringError(f"{folder}: {refusal}", mend="name a folder of result files") from None
    verified = _verified(folder, files, skipped)
    files = [file for file in files if file.name != VERIFIED_FILE]
    counted: dict[int, _Counts] = {}
    with UntrustedReader(
        longest=max(longest, LONGEST_TEXT), known=[suite.cases for suite in official]
    ) as reader:
        for number, file in enumerate(files, 1):
            name = file.relative_to(folder).as_posix()
            try:
                found = reader.read(file)
                counts = counted.get(id(found.cases)) or _Counts(found.cases)
                counted[id(found.cases)] = counts
                counts.check(found)
                read.append(_read(name, found, verified))
            except RefusedError as refusal:
                line = f"{plain(name, LONGEST_NAME)}: {refusal.reasons[0]}"
                skipped.append(plain(line, _LONGEST_LINE))
            if advance:
                advance(number, len(files))
    return read


def _verified(folder: Path, files: Sequence[Path], skipped: list[str]) -> dict[str, str]:
    """Days of verification by SHA-256 of result files, as the list at the top says.

    Lists further down may be anybody's, such as a part of what somebody submitted.
    """
    top = folder / VERIFIED_FILE
    skipped += [
        f"{plain(file.relative_to(folder).as_posix(), LONGEST_NAME)}: only the list of verified "
        "results at the top counts"
        for file in files
        if file.name == VERIFIED_FILE and file != top
    ]
    try:
        return {key: day[:10] for key, day in read_verified(top).items()}
    except ScoringError as error:
        problem = error.problem.removeprefix(f"{top}: ")
        line = f"{VERIFIED_FILE}: is no list of verified results ({problem})"
        skipped.append(plain(line, _LONGEST_LINE))
        return {}


def _read(file: str, found: Untrusted, verified: Mapping[str, str]) -> ReadResult:
    model = found.result.model
    return ReadResult(
        file=file,
        version=found.result.suite.version,
        fingerprint=found.result.suite.fingerprint,
        cases=found.cases,
        model=ScoredModel(
            key=found.sha256,
            name=model.name,
            revision=model.revision,
            weights_sha256=model.weights_sha256,
            label_rule=model.label_rule,
            parameters=model.parameters,
            licence=model.licence,
            date=moment(found.result.date).isoformat(timespec="seconds"),
            verified=verified.get(found.sha256, ""),
            labels=found.labels.astype(np.int8),
            options=own_options(model.options),
        ),
        partial=found.result.partial,
    )


class _Counts:
    """How many cases of each capability and kind there are, and how many of them fail."""

    def __init__(self, cases: Sequence[Case]) -> None:
        number_of: dict[tuple[str, str], int] = {}
        self._group = np.array(
            [number_of.setdefault((case.capability, case.kind), len(number_of)) for case in cases]
        )
        self._groups = list(number_of)
        self._passing = passing(cases)

    def check(self, found: Untrusted) -> None:
        """Refuse counts that do not follow from the cases; no rate is taken from a result file.

        Raises:
            RefusedError: there is one.
        """
        groups = len(self._groups)
        failed = ~self._passing[np.arange(len(self._group)), found.labels]
        cases = np.bincount(self._group, minlength=groups).tolist()
        failures = np.bincount(self._group[failed], minlength=groups).tolist()
        counted = {
            (*self._groups[number], field): counts[number]
            for field, counts in (("cases", cases), ("failures", failures))
            for number in range(groups)
        }
        told = {
            (name, kind, field): getattr(getattr(one, kind), field)
            for name, one in found.result.capabilities.items()
            for kind in KINDS
            for field in ("cases", "failures")
        }
        for where in sorted(told.keys() | counted.keys()):
            if told.get(where, 0) != counted.get(where, 0):
                raise RefusedError(f"{'.'.join(where)} does not follow from its cases")
