"""Result files, read whoever wrote them: their suite, their predictions, and figures from these.

Sizes are checked before anything is read. A file that cannot be read, or says what no result may
say, raises a `ScoringError`.
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
from s2lct.files import is_folder, regular_bytes
from s2lct.hub_calls import repository_meant
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.models.record import stands_apart
from s2lct.leaderboard.results.record import FORMAT, LONGEST_NAME, Result, faults_of_words
from s2lct.leaderboard.scoring import score
from s2lct.leaderboard.scoring.figures import flipping_words, references
from s2lct.leaderboard.scoring.statistics import Integers, once_for_the_same_cases
from s2lct.plain_text import plain
from s2lct.suite.cases import INSTALLED, Case, SuiteCases, installed_folder, load_suite

if TYPE_CHECKING:
    import pyarrow as pa

MOST_JSON_BYTES = 1 << 20
MOST_TABLE_BYTES = 64 << 20
ANSWERS = {
    label: number for number, label in enumerate(LABELS)
} | {"refused": REFUSED, "unreadable": UNREADABLE}  # fmt: skip
"""What a prediction may be: a label, or why there is none."""
_COLUMNS = ("id", "label", *LABELS)
_LONGEST_ID = 800  # in bytes
_MOST_LISTED = 5


class Scored(NamedTuple):
    """A result with the figures of its outcomes, and these."""

    result: Result
    outcomes: score.Outcomes


class Suites:
    """The suites of results: those given, folders that results name, and the installed one.

    Args:
        given: suites, or what `load_suite` takes.
        fetched: whether one is fetched that a result names by its Hub id.
    """

    def __init__(
        self, given: Iterable[str | Path | SuiteCases] = (), *, fetched: bool = False
    ) -> None:
        self._known = {suite.fingerprint: suite for suite in map(load_suite, given)}
        self._fetched = fetched

    def of(self, result: Result, path: Path) -> SuiteCases:
        """The suite of a result file; a `ScoringError` where it is not here."""
        stated = result.suite
        if stated.fingerprint not in self._known and self._can_load(stated.name):
            found = load_suite(stated.name)
            self._known[found.fingerprint] = found
        if stated.fingerprint not in self._known:
            raise ScoringError(
                f"{path}: was scored on the suite {stated.name} {stated.version} "
                f"({stated.fingerprint[:12] or 'unknown'}), which is not here",
                hint=f"name it: --suite {plain(stated.name, LONGEST_NAME)}, or where it is now",
            )
        return self._known[stated.fingerprint]

    def _can_load(self, name: str) -> bool:
        """Whether the suite of a name that stands in a result may be read."""
        if repository_meant(name):
            return self._fetched
        return is_folder(Path(name)) or (name == INSTALLED and is_folder(installed_folder()))


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Result files by path, each once; of a folder those that lie in it.

    Raises:
        ScoringError: a folder holds none.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise ScoringError(
                f"{path}: holds no result file (*.json)",
                hint=f"write some with `s2lct score MODEL --suite DIR --out {path}`",
            )
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


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
    records = [result.model for result in results.values()]
    models = {(of.name, stands_apart(of), of.endpoint.url if of.endpoint else "") for of in records}
    if len(models) > 1:
        raise ScoringError(
            f"{path}: holds results of several models ({_listed(files)})",
            hint="name one file; a model has one of each prompt, label map or type of numbers",
        )
    # Dates have whole seconds.
    *older, newest = sorted(files, key=lambda file: (results[file].moment, file.stat().st_mtime_ns))
    warnings.warn(
        f"{newest}: is the newest result of {results[newest].model.name}, and counts; older: "
        f"{_listed(older)}",
        S2lctWarning,
        stacklevel=2,
    )
    return newest


def _listed(files: Sequence[Path]) -> str:
    """The names of files, of many the first."""
    more = f" and {len(files) - _MOST_LISTED} more" if len(files) > _MOST_LISTED else ""
    return ", ".join(file.name for file in files[:_MOST_LISTED]) + more


def check_one_suite(results: Mapping[Path, Scored]) -> None:
    """Refuse results of different suites with a `ScoringError`."""
    (first, one), *others = results.items()
    for path, other in others:
        if other.result.suite.fingerprint != one.result.suite.fingerprint:
            raise ScoringError(
                f"{first} and {path}: of different suites ({one.result.suite.fingerprint[:12]} and "
                f"{other.result.suite.fingerprint[:12]})",
                hint="score both on one suite",
            )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have what is wrong within a file named by its path."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, ValidationError):
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))[:100]
            why = f"is no result file ({place or 'the file'}: {fault['msg']})"
        raise ScoringError(
            plain(f"{path}: {why}", 1_000),
            hint="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def _format_of(content: bytes) -> Any:
    try:
        return json.loads(content).get("format")
    except (ValueError, AttributeError, RecursionError):
        return None


def read_result(path: Path) -> Result:
    """Read a result file without its outcomes."""
    with _named(path):
        content = regular_bytes(path, MOST_JSON_BYTES)
        if (of := _format_of(content)) not in (None, FORMAT):
            raise ValueError(f"is a result of format {of}; this version of s2lct reads {FORMAT}")
        result = Result.model_validate_json(content, strict=True)
        for fault in faults_of_words(result):
            raise ValueError(fault)
    return result


def read_scored(path: Path, suites: Suites | None = None) -> Scored:
    """Read a result file and its outcomes; every figure is computed from these."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).of(result, path))
    return Scored(with_figures(result, outcomes), outcomes)


def read_outcomes(path: Path, result: Result, suite: SuiteCases) -> score.Outcomes:
    """The predictions beside a result file, held against its suite."""
    import pyarrow as pa

    with _named(path):
        table = _table(path, result, len(suite.with_contrasts))
        places = _places(table["id"], _ids(suite.cases, suite.contrasts))
        order = np.argsort(places)
        if (places < 0).any() or not np.diff(places[order]).all():
            raise ValueError(f"{result.outcomes.path}: an id is strange, or stands there twice")
        part = suite
        if len(order) < len(suite.cases) + len(suite.contrasts):
            rows = suite.with_contrasts
            part = suite.restricted_to({rows[place].id for place in places.tolist()})
        _check_completeness(result, suite, part)
        answers = _places(table["label"], pa.array(list(ANSWERS), pa.string()))[order]
        if (answers < 0).any():
            raise ValueError(f"{result.outcomes.path}: a label is none of {', '.join(ANSWERS)}")
        labels = np.array([*ANSWERS.values()])[answers]
    if part.partial != result.partial:
        part = replace(part, partial=result.partial)
    probabilities: Array | None = None
    missing = {table[label].null_count for label in LABELS}
    if missing not in ({0}, {len(table)}):
        with _named(path):
            raise ValueError(f"{result.outcomes.path}: probabilities of some texts are missing")
    if missing == {0}:
        columns = [table[label].to_numpy() for label in LABELS]
        probabilities = np.stack(columns, axis=1).astype(np.float64)[order]
    return score.Outcomes(result.model, part, labels, probabilities)


@once_for_the_same_cases
def _ids(cases: Sequence[Case], contrasts: Sequence[Case]) -> pa.Array:
    import pyarrow as pa

    return pa.array([case.id for case in (*cases, *contrasts)], pa.string())


def _places(column: pa.ChunkedArray, words: pa.Array) -> Integers:
    """Where among words those of a column stand, which holds them as codes; -1 of others."""
    import pyarrow.compute as pc

    places = [np.zeros(0, dtype=np.int64)]
    for chunk in column.chunks:
        of_code = pc.fill_null(pc.index_in(chunk.dictionary, value_set=words), -1)
        places.append(of_code.to_numpy(zero_copy_only=False)[chunk.indices.to_numpy()])
    return np.concatenate(places)


def _check_completeness(result: Result, suite: SuiteCases, part: SuiteCases) -> None:
    """Refuse a result that lacks cases or contrasts of what it says that it is of.

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


def _table(path: Path, result: Result, most_rows: int) -> pa.Table:
    """The Parquet file beside a result; what it says of itself is checked before it is decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    name = result.outcomes.path
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise ValueError(f"outcomes.path: {name!r} is no plain name of a Parquet file beside it")
    content = regular_bytes(path.parent / name, MOST_TABLE_BYTES)
    if hashlib.sha256(content).hexdigest() != result.outcomes.sha256:
        raise ValueError(f"{name}: is not the file that the result names (SHA-256 differs)")
    try:
        if tuple(pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names) != _COLUMNS:
            raise ValueError(f"its columns are not {', '.join(_COLUMNS)}")
        # Repeated words stay codes until they are known to be short.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=["id", "label"])
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        if not file.metadata.num_rows == result.outcomes.rows <= most_rows:
            raise ValueError(f"{file.metadata.num_rows:,} rows, of {most_rows:,} cases")
        if sum(group.total_byte_size for group in groups) > MOST_TABLE_BYTES:
            raise ValueError("unfolds to too much")
        words = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([("id", words), ("label", words), *((n, pa.float32()) for n in LABELS)])
        if not file.schema_arrow.equals(schema):
            raise ValueError(f"its columns {', '.join(_COLUMNS)} are not of texts and numbers")
        table = file.read(use_threads=False).combine_chunks()
        table.validate(full=True)
        for column in (table["id"], table["label"]):
            lengths = [pc.max(pc.binary_length(one.dictionary)).as_py() for one in column.chunks]
            if column.null_count or max(filter(None, lengths), default=0) > _LONGEST_ID:
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
    for where in wrong_figures(result, outcomes):
        raise ScoringError(
            f"{path}: {where} does not follow from its outcomes",
            hint="score the model again; do not publish this file",
        )
    return result


def wrong_figures(result: Result, outcomes: score.Outcomes) -> list[str]:
    """The fields of a result whose figures do not follow from outcomes."""
    stated, true = (
        json.loads(one.model_dump_json(), parse_float=lambda text: round(float(text), 9))
        for one in (result, with_figures(result, outcomes))
    )
    return [name for name in stated if stated[name] != true[name]]
