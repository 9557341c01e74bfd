"""Read result files of any origin: find their suite, read their predictions, compute figures.

Sizes are checked before anything is read. An unusable file raises a `ScoringError`.
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
"""The largest difference between a figure in a file and the one computed here."""
ANSWERS = {
    label: number for number, label in enumerate(LABELS)
} | {"refused": REFUSED, "unreadable": UNREADABLE}  # fmt: skip
"""The number of each text in the column ``label``: a label, or why there is none."""
_COLUMNS = ("id", "label", *LABELS)
_MAX_ID_BYTES = 800
_MAX_FILES_LISTED = 5


class ScoredModel(NamedTuple):
    """A result and the outcomes that its figures were computed from."""

    result: Result
    outcomes: score.Outcomes


class Suites:
    """Finds the suites of results: given ones, folders that results name, the installed one.

    Args:
        suites: suites, or their names for `load_suite`.
        may_fetch: whether to fetch a suite that a result names by its Hub id.
    """

    def __init__(
        self, suites: Iterable[str | Path | SuiteCases] = (), *, may_fetch: bool = False
    ) -> None:
        self._by_fingerprint = {suite.fingerprint: suite for suite in map(load_suite, suites)}
        self._may_fetch = may_fetch

    def suite_of(self, result: Result, path: Path) -> SuiteCases:
        """The suite of the result in the file ``path``, or a `ScoringError` if it is not here."""
        record = result.suite
        if record.fingerprint not in self._by_fingerprint and self._may_load(record.name):
            suite = load_suite(record.name)
            self._by_fingerprint[suite.fingerprint] = suite
        if record.fingerprint not in self._by_fingerprint:
            raise ScoringError(
                f"{path}: was scored on the suite {record.name} {record.version} "
                f"({record.fingerprint[:12] or 'unknown'}), which is not here",
                hint=f"name it: --suite {plain(record.name, MAX_NAME_LENGTH)}, or where it is now",
            )
        return self._by_fingerprint[record.fingerprint]

    def _may_load(self, name: str) -> bool:
        if repository_of(name):
            return self._may_fetch
        return is_folder(Path(name)) or (name == INSTALLED and is_folder(installed_folder()))


def result_files(paths: Iterable[Path]) -> list[Path]:
    """The given result files, and those in the given folders; each file once.

    Raises:
        ScoringError: a folder holds no result file.
    """
    file_of_resolved_path: dict[Path, Path] = {}
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise ScoringError(
                f"{path}: holds no result file (*.json)",
                hint=f"write some with `s2lct score MODEL --suite DIR --out {path}`",
            )
        for file in files:
            file_of_resolved_path.setdefault(file.resolve(), file)
    return list(file_of_resolved_path.values())


def newest_result(path: Path) -> Path:
    """The given result file, or the newest one in a folder of results of one model.

    A warning names older results, of earlier versions of the model.

    Raises:
        ScoringError: the folder holds no results, or results of several models.
    """
    files = result_files([path])
    if len(files) == 1:
        return files[0]
    results = {file: read_result(file) for file in files}
    identities = [model_identity(result.model, any_version=True) for result in results.values()]
    if any(identity != identities[0] for identity in identities):
        raise ScoringError(
            f"{path}: holds results of several models ({_listed_names(files)})",
            hint="name one file; a model has one of each prompt, label map or type of numbers",
        )
    # Dates have whole seconds, so the time of the file decides between equal ones.
    *older, newest = sorted(files, key=lambda file: (results[file].moment, file.stat().st_mtime_ns))
    warnings.warn(
        f"{newest}: is the newest result of {results[newest].model.name}, and counts; older: "
        f"{_listed_names(older)}",
        S2lctWarning,
        stacklevel=2,
    )
    return newest


def _listed_names(files: Sequence[Path]) -> str:
    return listed([file.name for file in files], _MAX_FILES_LISTED)


def check_one_suite(results: Mapping[Path, ScoredModel]) -> None:
    """Raise a `ScoringError` if results are on different suites."""
    (first_path, first_model), *other_models = results.items()
    for path, model in other_models:
        if model.result.suite.fingerprint != first_model.result.suite.fingerprint:
            raise ScoringError(
                f"{first_path} and {path}: on different suites "
                f"({first_model.result.suite.fingerprint[:12]} and "
                f"{model.result.suite.fingerprint[:12]})",
                hint="score both on one suite",
            )


@contextmanager
def _errors_with_path(path: Path) -> Iterator[None]:
    """Turn errors of reading a result file into a `ScoringError` that states its path."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, ValidationError):
            fault = error.errors(include_url=False, include_input=False)[0]
            location = ".".join(map(str, fault["loc"]))[:100] or "the file"
            message = fault["msg"].removeprefix("Value error, ")
            reason = f"is no result file ({location}: {message})"
        raise ScoringError(
            plain(f"{path}: {reason}", MAX_LINE_CHARACTERS),
            hint="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def read_result(path: Path) -> Result:
    """Read a result file without its outcomes."""
    with _errors_with_path(path):
        content = read_limited(path, MAX_JSON_BYTES)
        try:
            format = json.loads(content).get("format", FORMAT)
        except (ValueError, AttributeError, RecursionError):
            format = FORMAT  # pydantic then reports the fault
        if format != FORMAT:
            raise ValueError(f"is in format {format}; this version of s2lct reads {FORMAT}")
        return Result.model_validate_json(content, strict=True)


def read_scored(path: Path, suites: Suites | None = None) -> ScoredModel:
    """Read a result file and its outcomes, and compute every figure from the outcomes."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).suite_of(result, path))
    return ScoredModel(with_figures(result, outcomes), outcomes)


def read_outcomes(path: Path, result: Result, suite: SuiteCases) -> score.Outcomes:
    """Read the predictions beside a result file, and check them against its suite."""
    import pyarrow as pa

    with _errors_with_path(path):
        table = _read_table(path, result, len(suite.with_contrasts))
        case_numbers = _indices_in(table["id"], _id_array(suite.cases, suite.contrasts))
        order = np.argsort(case_numbers)
        if (case_numbers < 0).any() or not np.diff(case_numbers[order]).all():
            raise ValueError(f"{result.outcomes.path}: an id is unknown, or stands there twice")
        part = suite
        if len(order) < len(suite.cases) + len(suite.contrasts):
            rows = suite.with_contrasts
            part = suite.restricted_to({rows[number].id for number in case_numbers.tolist()})
        _check_completeness(result, suite, part)
        answer_indices = _indices_in(table["label"], pa.array(list(ANSWERS), pa.string()))[order]
        if (answer_indices < 0).any():
            raise ValueError(f"{result.outcomes.path}: a label is none of {', '.join(ANSWERS)}")
        labels = np.array([*ANSWERS.values()])[answer_indices]
        empty_cell_counts = {table[label].null_count for label in LABELS}
        if empty_cell_counts not in ({0}, {len(table)}):
            raise ValueError(f"{result.outcomes.path}: probabilities of some texts are missing")
    if part.partial != result.partial:
        part = replace(part, partial=result.partial)
    probabilities: Array | None = None
    if empty_cell_counts == {0}:
        columns = [table[label].to_numpy() for label in LABELS]
        probabilities = np.stack(columns, axis=1).astype(np.float64)[order]
    return score.Outcomes(result.model, part, labels, probabilities)


@cached_by_identity
def _id_array(cases: Sequence[Case], contrasts: Sequence[Case]) -> pa.Array:
    import pyarrow as pa

    return pa.array([case.id for case in (*cases, *contrasts)], pa.string())


def _indices_in(column: pa.ChunkedArray, texts: pa.Array) -> Integers:
    """The index in ``texts`` of each cell of a dictionary-encoded column; -1 for other cells."""
    import pyarrow.compute as pc

    indices = [np.zeros(0, dtype=np.int64)]
    for chunk in column.chunks:
        index_of_code = pc.fill_null(pc.index_in(chunk.dictionary, value_set=texts), -1)
        indices.append(index_of_code.to_numpy(zero_copy_only=False)[chunk.indices.to_numpy()])
    return np.concatenate(indices)


def _check_completeness(result: Result, suite: SuiteCases, part: SuiteCases) -> None:
    """Refuse a result that lacks cases or contrasts that it should cover.

    It must cover the whole suite, or a part of its cases with all or none of their contrasts:
    leaving out contrasts that a model gets wrong would raise its consistency.
    """
    name = result.outcomes.path
    if part is suite:
        return
    if not part.cases:
        raise ValueError(f"{name}: lacks all cases of the suite")
    if part.partial and not result.partial:
        missing_count = len(suite.with_contrasts) - len(part.with_contrasts)
        raise ValueError(f"{name}: lacks {missing_count:,} of the suite's cases and contrasts")
    contrasts_of_cases = suite.with_contrasts_of({case.id for case in part.cases}).contrasts
    if part.contrasts and part.contrasts != contrasts_of_cases:
        raise ValueError(f"{name}: lacks contrasts of its cases, or has contrasts without a case")


def _read_table(path: Path, result: Result, max_rows: int) -> pa.Table:
    """Read the Parquet file beside a result; its sizes are checked before it is decoded."""
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
        # Repeated texts stay dictionary codes until they are known to be short.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=["id", "label"])
        row_groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        if not file.metadata.num_rows == result.outcomes.rows <= max_rows:
            raise ValueError(f"{file.metadata.num_rows:,} rows, of {max_rows:,} cases")
        if sum(group.total_byte_size for group in row_groups) > MAX_TABLE_BYTES:
            raise ValueError(f"unpacks to more than {MAX_TABLE_BYTES >> 20} MiB")
        text_type = pa.dictionary(pa.int32(), pa.string())
        fields = [("id", text_type), ("label", text_type), *((n, pa.float32()) for n in LABELS)]
        if not file.schema_arrow.equals(pa.schema(fields)):
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
    """The fields of `Result` that are computed from outcomes."""
    cases, contrasts = outcomes.cases, outcomes.suite.contrasts
    return dict(outcomes.figures) | {
        "answers": outcomes.label_counts,
        "references": references(cases, contrasts),
        "flipping_words": flipping_words(cases, outcomes.failed),
    }


def with_figures(result: Result, outcomes: score.Outcomes) -> Result:
    """A result with the figures computed from its outcomes."""
    return result.model_copy(update=figures_of(outcomes))


def recompute(path: Path, suites: Suites | None = None) -> Result:
    """Read a result file, and raise a `ScoringError` if its outcomes give other figures."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).suite_of(result, path))
    for field in wrong_figures(result, outcomes):
        raise ScoringError(
            f"{path}: {field} does not follow from its outcomes",
            hint="score the model again; do not publish this file",
        )
    return result


def wrong_figures(result: Result, outcomes: score.Outcomes) -> list[str]:
    """The fields of a result that differ from those computed from its outcomes."""
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
