"""Result files, read whoever wrote them: their suite, their predictions, and figures from these.

Sizes are checked before anything is read. A file that is unusable raises a `ScoringError`.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.files import is_folder, read_limited
from s2lct.hub_calls import repository_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.results.record import FORMAT, MAX_NAME_LENGTH, Result, model_identity
from s2lct.leaderboard.scoring import score
from s2lct.leaderboard.scoring.figures import flipping_words, references
from s2lct.leaderboard.scoring.statistics import Integers, cached_by_identity
from s2lct.plain_text import MAX_LINE_CHARACTERS, listed, plain
from s2lct.suite.cases import INSTALLED, Case, SuiteCases, installed_folder, load_suite

if TYPE_CHECKING:
    import pyarrow as pa

MAX_JSON_BYTES = 1 << 20
MAX_TABLE_BYTES = 64 << 20
MAX_FIGURE_DIFFERENCE = 1e-8
"""By how much a figure in a file may differ from the one computed here, on another machine."""
ANSWERS = {
    label: number for number, label in enumerate(LABELS)
} | {"refused": REFUSED, "unreadable": UNREADABLE}  # fmt: skip
"""What a prediction may be: a label, or why there is none."""
_COLUMNS = ("id", "label", *LABELS)
_MAX_ID_BYTES = 800
_MAX_FILES_LISTED = 5


class ScoredModel(NamedTuple):
    """A result whose figures are those of its outcomes, and the outcomes."""

    result: Result
    outcomes: score.Outcomes


class Suites:
    """The suites of results: those named here, folders that results name, and the installed one.

    Args:
        named: suites, or what `load_suite` takes.
        may_fetch: whether to fetch a suite that a result names by its Hub id.
    """

    def __init__(
        self, named: Iterable[str | Path | SuiteCases] = (), *, may_fetch: bool = False
    ) -> None:
        self._by_fingerprint = {suite.fingerprint: suite for suite in map(load_suite, named)}
        self._may_fetch = may_fetch

    def of(self, result: Result, path: Path) -> SuiteCases:
        """The suite of a result file; a `ScoringError` where it is not here."""
        stated = result.suite
        if stated.fingerprint not in self._by_fingerprint and self._may_load(stated.name):
            suite = load_suite(stated.name)
            self._by_fingerprint[suite.fingerprint] = suite
        if stated.fingerprint not in self._by_fingerprint:
            raise ScoringError(
                f"{path}: was scored on the suite {stated.name} {stated.version} "
                f"({stated.fingerprint[:12] or 'unknown'}), which is not here",
                hint=f"name it: --suite {plain(stated.name, MAX_NAME_LENGTH)}, or where it is now",
            )
        return self._by_fingerprint[stated.fingerprint]

    def _may_load(self, name: str) -> bool:
        if repository_of(name):
            return self._may_fetch
        return is_folder(Path(name)) or (name == INSTALLED and is_folder(installed_folder()))


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Result files, each once; of a folder those that lie in it.

    Raises:
        ScoringError: a folder holds none.
    """
    file_at: dict[Path, Path] = {}
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise ScoringError(
                f"{path}: holds no result file (*.json)",
                hint=f"write some with `s2lct score MODEL --suite DIR --out {path}`",
            )
        for file in files:
            file_at.setdefault(file.resolve(), file)
    return list(file_at.values())


def newest_result(path: Path) -> Path:
    """A result file, or the newest in a folder of results of one model.

    Older results of the model, which was trained anew since, are named in a warning.

    Raises:
        ScoringError: the folder holds none, or results of several models.
    """
    files = result_files([path])
    if len(files) == 1:
        return files[0]
    results = {file: read_result(file) for file in files}
    models = [model_identity(result.model, any_version=True) for result in results.values()]
    if any(model != models[0] for model in models):
        raise ScoringError(
            f"{path}: holds results of several models ({_names(files)})",
            hint="name one file; a model has one of each prompt, label map or type of numbers",
        )
    # Dates have whole seconds.
    *older, newest = sorted(files, key=lambda file: (results[file].moment, file.stat().st_mtime_ns))
    warnings.warn(
        f"{newest}: is the newest result of {results[newest].model.name}, and counts; older: "
        f"{_names(older)}",
        S2lctWarning,
        stacklevel=2,
    )
    return newest


def _names(files: Sequence[Path]) -> str:
    return listed([file.name for file in files], _MAX_FILES_LISTED)


def check_one_suite(results: Mapping[Path, ScoredModel]) -> None:
    """Refuse results of different suites with a `ScoringError`."""
    (first, scored), *others = results.items()
    for path, other in others:
        if other.result.suite.fingerprint != scored.result.suite.fingerprint:
            raise ScoringError(
                f"{first} and {path}: on different suites "
                f"({scored.result.suite.fingerprint[:12]} and "
                f"{other.result.suite.fingerprint[:12]})",
                hint="score both on one suite",
            )


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Turn errors within a result file into a `ScoringError` that names its path."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, ValidationError):
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))[:100] or "the file"
            message = fault["msg"].removeprefix("Value error, ")
            reason = f"is no result file ({place}: {message})"
        raise ScoringError(
            plain(f"{path}: {reason}", MAX_LINE_CHARACTERS),
            hint="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def read_result(path: Path) -> Result:
    """Read a result file without its outcomes."""
    with _errors_named(path):
        content = read_limited(path, MAX_JSON_BYTES)
        try:
            format = json.loads(content).get("format", FORMAT)
        except (ValueError, AttributeError, RecursionError):
            format = FORMAT  # pydantic says where the fault is
        if format != FORMAT:
            raise ValueError(f"is in format {format}; this version of s2lct reads {FORMAT}")
        return Result.model_validate_json(content, strict=True)


def read_scored(path: Path, suites: Suites | None = None) -> ScoredModel:
    """Read a result file and its outcomes; every figure is computed from these."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).of(result, path))
    return ScoredModel(with_figures(result, outcomes), outcomes)


def read_outcomes(path: Path, result: Result, suite: SuiteCases) -> score.Outcomes:
    """The predictions beside a result file, checked against its suite."""
    import pyarrow as pa

    with _errors_named(path):
        table = _read_table(path, result, len(suite.with_contrasts))
        numbers = _positions(table["id"], _ids(suite.cases, suite.contrasts))
        order = np.argsort(numbers)
        if (numbers < 0).any() or not np.diff(numbers[order]).all():
            raise ValueError(f"{result.outcomes.path}: an id is unknown, or stands there twice")
        part = suite
        if len(order) < len(suite.cases) + len(suite.contrasts):
            rows = suite.with_contrasts
            part = suite.restricted_to({rows[number].id for number in numbers.tolist()})
        _check_completeness(result, suite, part)
        answers = _positions(table["label"], pa.array(list(ANSWERS), pa.string()))[order]
        if (answers < 0).any():
            raise ValueError(f"{result.outcomes.path}: a label is none of {', '.join(ANSWERS)}")
        labels = np.array([*ANSWERS.values()])[answers]
        empty_cells = {table[label].null_count for label in LABELS}
        if empty_cells not in ({0}, {len(table)}):
            raise ValueError(f"{result.outcomes.path}: probabilities of some texts are missing")
    if part.partial != result.partial:
        part = replace(part, partial=result.partial)
    probabilities: Array | None = None
    if empty_cells == {0}:
        columns = [table[label].to_numpy() for label in LABELS]
        probabilities = np.stack(columns, axis=1).astype(np.float64)[order]
    return score.Outcomes(result.model, part, labels, probabilities)


@cached_by_identity
def _ids(cases: Sequence[Case], contrasts: Sequence[Case]) -> pa.Array:
    import pyarrow as pa

    return pa.array([case.id for case in (*cases, *contrasts)], pa.string())


def _positions(column: pa.ChunkedArray, words: pa.Array) -> Integers:
    """Where among ``words`` each word of a dictionary-encoded column stands; -1 for others."""
    import pyarrow.compute as pc

    positions = [np.zeros(0, dtype=np.int64)]
    for chunk in column.chunks:
        of_code = pc.fill_null(pc.index_in(chunk.dictionary, value_set=words), -1)
        positions.append(of_code.to_numpy(zero_copy_only=False)[chunk.indices.to_numpy()])
    return np.concatenate(positions)


def _check_completeness(result: Result, suite: SuiteCases, part: SuiteCases) -> None:
    """Refuse a result that lacks cases or contrasts of what it claims to cover.

    That is the whole suite, or a part of its cases with all their contrasts, or with none. Whoever
    left out contrasts that a model gets wrong would raise its consistency.
    """
    name = result.outcomes.path
    if part is suite:
        return
    if not part.cases:
        raise ValueError(f"{name}: lacks all cases of the suite")
    if part.partial and not result.partial:
        lacking = len(suite.with_contrasts) - len(part.with_contrasts)
        raise ValueError(f"{name}: lacks {lacking:,} of the suite's cases and contrasts")
    of_cases = suite.with_contrasts_of({case.id for case in part.cases}).contrasts
    if part.contrasts and part.contrasts != of_cases:
        raise ValueError(f"{name}: lacks contrasts of its cases, or has contrasts without a case")


def _read_table(path: Path, result: Result, max_rows: int) -> pa.Table:
    """The Parquet file beside a result; its sizes are checked before it is decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    name = result.outcomes.path
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise ValueError(f"outcomes.path: {name!r} is no plain name of a Parquet file beside it")
    content = read_limited(path.parent / name, MAX_TABLE_BYTES)
    if hashlib.sha256(content).hexdigest() != result.outcomes.sha256:
        raise ValueError(f"{name}: is not the file that the result names (SHA-256 differs)")
    try:
        if tuple(pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names) != _COLUMNS:
            raise ValueError(f"its columns are not {', '.join(_COLUMNS)}")
        # Repeated words stay codes until they are known to be short.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=["id", "label"])
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        if not file.metadata.num_rows == result.outcomes.rows <= max_rows:
            raise ValueError(f"{file.metadata.num_rows:,} rows, of {max_rows:,} cases")
        if sum(group.total_byte_size for group in groups) > MAX_TABLE_BYTES:
            raise ValueError(f"unpacks to more than {MAX_TABLE_BYTES >> 20} MiB")
        words = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([("id", words), ("label", words), *((n, pa.float32()) for n in LABELS)])
        if not file.schema_arrow.equals(schema):
            raise ValueError(f"its columns {', '.join(_COLUMNS)} are not of texts and numbers")
        table = file.read(use_threads=False).combine_chunks()
        table.validate(full=True)
        for column in (table["id"], table["label"]):
            lengths = [pc.max(pc.binary_length(part.dictionary)).as_py() for part in column.chunks]
            if column.null_count or max(filter(None, lengths), default=0) > _MAX_ID_BYTES:
                raise ValueError("an id or a label is missing or too long")
    except (
        pa.ArrowException, OSError, ValueError, TypeError, LookupError, MemoryError
    ) as error:  # fmt: skip
        lines = str(error).splitlines() or [""]
        raise ValueError(f"{name}: is no Parquet file of outcomes ({lines[0][:120]})") from None
    return table


def figures_of(outcomes: score.Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    cases, contrasts = outcomes.cases, outcomes.suite.contrasts
    return dict(outcomes.figures) | {
        "answers": outcomes.label_counts,
        "references": references(cases, contrasts),
        "flipping_words": flipping_words(cases, outcomes.failed),
    }


def with_figures(result: Result, outcomes: score.Outcomes) -> Result:
    """A result with the figures of its outcomes, whatever its file says."""
    return result.model_copy(update=figures_of(outcomes))


def recompute(path: Path, suites: Suites | None = None) -> Result:
    """Read a result file, and refuse one whose figures do not follow from its outcomes."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).of(result, path))
    for field in wrong_figures(result, outcomes):
        raise ScoringError(
            f"{path}: {field} does not follow from its outcomes",
            hint="score the model again; do not publish this file",
        )
    return result


def wrong_figures(result: Result, outcomes: score.Outcomes) -> list[str]:
    """The fields of a result whose figures do not follow from outcomes."""
    stated, computed = result.model_dump(), with_figures(result, outcomes).model_dump()
    return [field for field in stated if not _are_equal(stated[field], computed[field])]


def _are_equal(stated: Any, computed: Any) -> bool:
    """Whether two nested values are equal, up to the rounding of their numbers."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        return stated.keys() == computed.keys() and all(
            _are_equal(value, computed[key]) for key, value in stated.items()
        )
    if isinstance(stated, (list, tuple)) and isinstance(computed, (list, tuple)):
        return len(stated) == len(computed) and all(map(_are_equal, stated, computed))
    if isinstance(stated, float) and isinstance(computed, float):
        return abs(stated - computed) <= MAX_FIGURE_DIFFERENCE
    return bool(stated == computed)
