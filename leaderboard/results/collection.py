"""Many models' results, read from a folder or a Hub dataset, suite by suite."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.hub_results import snapshot
from s2lct.leaderboard.results.read import Suites, read_outcomes, read_result
from s2lct.leaderboard.results.record import ModelRecord, Result, stands_apart
from s2lct.plain_text import plain
from s2lct.progress import bar
from s2lct.suite.cases import SuiteCases

_LONGEST_LINE = 400


@dataclass(frozen=True)
class ScoredModel:
    """What a result file says of its model, and what the model said of a suite."""

    key: str  # SHA-256 of the file
    model: ModelRecord
    date: str  # when it was scored, or, of a verified result, checked: ISO 8601 in UTC
    verified: str  # the day on which it was scored again and found the same; empty if never
    labels: npt.NDArray[np.int8]  # ids as of `Outcomes`, of all that the suite asks

    @property
    def options(self) -> str:
        """`record.own_options`; with some it stands apart from the plain one."""
        return stands_apart(self.model)

    @property
    def prompt(self) -> str:
        """What a language model was asked; empty for others."""
        return self.model.options.prompt or ""

    @property
    def identity(self) -> tuple[str, ...]:
        """What results of the same model have in common, whatever the prompt.

        On the Hub ``ORG/Good`` and ``org/good`` are one model.
        """
        model = self.model
        address = model.endpoint.url if model.endpoint else ""
        options = model.options.model_copy(update={"prompt": None}).model_dump_json()
        name = model.name.casefold()
        return name, model.revision, model.weights_sha256, model.dtype, address, options


@dataclass(frozen=True)
class SuiteResults:
    """Models that were scored on the same suite, by the names of their files."""

    suite: SuiteCases
    models: tuple[ScoredModel, ...]


@dataclass(frozen=True)
class Collection:
    """All suites that were read, and in ``skipped`` a line for each file left out, saying why."""

    suites: tuple[SuiteResults, ...]
    skipped: tuple[str, ...] = ()


def collect(source: str | Path, suites: Sequence[SuiteCases] = ()) -> Collection:
    """Read results.

    A file that cannot be used is left out with a line that says why; of two files of the same model
    and prompt on the same suite the verified one counts, then the newer one. Which are verified
    says ``verified.json`` at the top of the folder or dataset, and no other.

    Args:
        source: a folder of result files, or a Hub dataset ``ORG/NAME[@REVISION]`` of them.
        suites: what the results may be on; without any, what their own suites' folders here hold.

    Raises:
        ScoringError: there is nothing at ``source``, or nothing usable.
    """
    folder = Path(source) if Path(source).is_dir() else snapshot(str(source))
    skipped: list[str] = []

    def skip(name: str, why: str) -> None:
        skipped.append(plain(f"{plain(name, untrusted.LONGEST_NAME)}: {why}", _LONGEST_LINE))

    try:
        files = untrusted.files_below(folder, ".json")
    except untrusted.RefusedError as refusal:
        raise ScoringError(f"{folder}: {refusal}", hint="name a folder of result files") from None
    verified: dict[str, str] = {}
    try:
        verified = untrusted.read_verified(folder / untrusted.VERIFIED_FILE)
    except ScoringError as error:
        skip(untrusted.VERIFIED_FILE, f"is no list of verified results ({error.problem})")
    known = Suites(suites)
    read: dict[str, tuple[SuiteCases, dict[str, ScoredModel]]] = {}
    step = bar("reading results", len(files))
    for file in files:
        name = file.relative_to(folder).as_posix()
        if file.name == untrusted.VERIFIED_FILE:
            if name != file.name:  # further down lists may be anybody's
                skip(name, "only the list of verified results at the top counts")
        else:
            try:
                suite, model = _read(file, known, verified, [one.fingerprint for one in suites])
                read.setdefault(suite.fingerprint, (suite, {}))[1][name] = model
            except ScoringError as error:
                skip(name, error.problem.removeprefix(f"{file}: "))
        step(1)
    found: list[SuiteResults] = []
    for suite, models in read.values():
        best = _best(models)
        for name, model in models.items():
            if (better := best[model.identity, model.prompt]) != name:
                skip(name, f"{plain(better, 100)} is a better result of the same model")
        kept = tuple(models[name] for name in sorted(best.values()))
        found.append(SuiteResults(suite, kept))
    if not found:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            hint="make some with `s2lct score MODEL --suite DIR --out results/`; name their suite "
            "with --suite where it is not here",
        )
    return Collection(tuple(sorted(found, key=_precedence, reverse=True)), tuple(skipped))


def _read(
    file: Path, known: Suites, verified: dict[str, str], wanted: Sequence[str]
) -> tuple[SuiteCases, ScoredModel]:
    """A result of a whole suite; a `ScoringError` for what a page cannot show."""
    result = read_result(file)
    if fault := _fault(result, wanted):
        raise ScoringError(f"{file}: {fault}", hint="leave it out")
    suite = known.of(result, file)
    labels = read_outcomes(file, result, suite).said
    if len(labels) < len(suite.asked):
        raise ScoringError(f"{file}: lacks counterparts of its suite", hint="score it again")
    key = hashlib.sha256(untrusted.bytes_of(file, untrusted.MOST_JSON_BYTES)).hexdigest()
    checked = verified.get(key, "")
    # The day of a verified row is that of its check, since nobody can check the other.
    date = untrusted.moment(checked or result.date).isoformat(timespec="seconds")
    return suite, ScoredModel(key, result.model, date, checked[:10], labels.astype(np.int8))


def _fault(result: Result, wanted: Sequence[str]) -> str:
    """Why a result is not shown, whatever its cases; empty if it is."""
    if fault := next(untrusted.faults_of_names(result), ""):
        return fault
    if result.partial:
        return "covers a part of its suite; see it with `s2lct report`"
    if result.model.predictions is not None:
        return "holds given predictions, which nobody can score again; see it with `s2lct report`"
    if wanted and result.suite.fingerprint not in wanted:
        shown = result.suite.fingerprint[:12] or "none"
        return f"is on another suite than --suite names ({result.suite.version}, {shown})"
    return ""


def _best(models: dict[str, ScoredModel]) -> dict[tuple[tuple[str, ...], str], str]:
    """The file that counts of each model and prompt: verified before not, newer before older."""
    best: dict[tuple[tuple[str, ...], str], str] = {}

    def worth(name: str) -> tuple[bool, str, str]:
        return bool(models[name].verified), models[name].date, name

    for name, model in models.items():
        what = model.identity, model.prompt
        best[what] = max(best.get(what, name), name, key=worth)
    return best


def _precedence(one: SuiteResults) -> tuple[object, ...]:
    """Which of several suites a page shows first: the one with the largest of these."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", one.suite.version, re.ASCII)
    version = tuple(map(int, match.groups())) if match else (-1,)
    return version, len(one.models), one.suite.fingerprint
