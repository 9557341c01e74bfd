"""Result files, read whoever wrote them: their suite, their predictions, and figures from these.

Sizes are checked before anything is read. A file that cannot be read, or says what no result may
say, raises a `ScoringError`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from s2lct.errors import ScoringError
from s2lct.files import is_folder
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.untrusted import (
    LONGEST_NAME,
    MOST_JSON_BYTES,
    MOST_TABLE_BYTES,
    RefusedError,
    bytes_of,
    checked_record,
)
from s2lct.leaderboard.scoring import score
from s2lct.leaderboard.scoring.figures import flipping_words, references
from s2lct.plain_text import plain
from s2lct.suite.cases import SuiteCases, check_same_suite, load_cases

if TYPE_CHECKING:
    import pyarrow as pa

ANSWERS = {
    label: number for number, label in enumerate(LABELS)
} | {"refused": REFUSED, "unreadable": UNREADABLE}  # fmt: skip
"""What a prediction may be: a label, or why there is none."""
_COLUMNS = {"id": "string", "label": "string", **dict.fromkeys(LABELS, "float")}


class Scored(NamedTuple):
    """A result with the figures of its outcomes, and these."""

    result: Result
    outcomes: score.Outcomes


class Suites:
    """The suites that results were scored on: those given, and folders that results name."""

    def __init__(self, given: Iterable[str | Path | SuiteCases] = ()) -> None:
        self._known = {suite.fingerprint: suite for suite in map(load_cases, given)}

    def of(self, result: Result, path: Path) -> SuiteCases:
        """The suite of a result file; a `ScoringError` where it is not here."""
        told = result.suite
        if told.fingerprint not in self._known and is_folder(Path(told.name)):
            found = load_cases(told.name)
            self._known[found.fingerprint] = found
        if told.fingerprint not in self._known:
            raise ScoringError(
                f"{path}: was scored on the suite {told.name} {told.version} "
                f"({told.fingerprint[:12] or 'unknown'}), which is not here",
                hint=f"name it: --suite {plain(told.name, LONGEST_NAME)}, or where it is now",
            )
        return self._known[told.fingerprint]


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Result files by path, each once; of a folder those that lie in it.

    Raises:
        ScoringError: a folder holds none.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(path.glob("*.json"))
        if not files:
            raise ScoringError(
                f"{path}: holds no result file (*.json)",
                hint=f"write some with `s2lct score MODEL --suite DIR --out {path}`",
            )
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def check_one_suite(results: Mapping[Path, Scored]) -> None:
    """Refuse results of different suites with a `ScoringError`."""
    check_same_suite({str(path): of.result.suite.fingerprint for path, of in results.items()})


def read_result(path: Path) -> Result:
    """Read a result file without its outcomes."""
    with _named(path):
        data = bytes_of(path, MOST_JSON_BYTES)
        return checked_record(data, names=False)


def read_scored(path: Path, suites: Suites | None = None) -> Scored:
    """Read a result file and its outcomes; every figure is computed from these."""
    result = read_result(path)
    outcomes = read_outcomes(path, result, (suites or Suites()).of(result, path))
    return Scored(with_figures(result, outcomes), outcomes)


def read_outcomes(path: Path, result: Result, suite: SuiteCases) -> score.Outcomes:
    """The predictions beside a result file, held against its suite."""
    with _named(path):
        table = _checked_table(path, result, len(suite.asked))
        ids: list[str] = table["id"].to_pylist()
        place = {one: number for number, one in enumerate(ids)}
        if len(place) < len(ids):
            raise RefusedError(f"{result.outcomes.path}: names an id twice")
        known = [case for case in suite.asked if case.id in place]
        if len(known) < len(ids):
            strange = set(ids) - {case.id for case in known}
            raise RefusedError(
                f"{result.outcomes.path}: has {len(strange):,} ids that the suite does not have "
                f"({plain(min(strange), 40)})"
            )
        whole = all(case.id in place for case in suite.cases)
        if not (whole or result.partial):
            raise RefusedError(f"{result.outcomes.path}: lacks cases of the suite")
        said = [ANSWERS.get(label, -1) for label in table["label"].to_pylist()]
        if -1 in said:
            raise RefusedError(f"{result.outcomes.path}: a label is none of {', '.join(ANSWERS)}")
        order = [place[case.id] for case in known]
        labels = np.array(said, dtype=np.int64)[order]
        probabilities = _probabilities(table)
    cases = tuple(case for case in suite.cases if case.id in place)
    if not cases:
        raise ScoringError(f"{path}: holds no case", hint="score the model again")
    part = replace(
        suite,
        cases=cases,
        counterparts=tuple(case for case in suite.counterparts if case.id in place),
        partial=result.partial,
    )
    if probabilities is not None:
        probabilities = probabilities[order]
    return score.Outcomes(result.model, part, labels, probabilities)


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


def figures_of(outcomes: score.Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    cases, contrasts = outcomes.cases, outcomes.suite.counterparts
    return dict(outcomes.figures) | {
        "answers": outcomes.label_counts,
        "references": references(cases, contrasts),
        "flipping_words": flipping_words(cases, outcomes.failed),
    }


def wrong_figures(result: Result, outcomes: score.Outcomes) -> Iterator[str]:
    """The figures of a result that do not follow from outcomes, as ``overall.failure_rate``."""
    told, true = (
        json.loads(one.model_dump_json()) for one in (result, with_figures(result, outcomes))
    )
    yield from _differences(told, true, "")


def with_figures(result: Result, outcomes: score.Outcomes) -> Result:
    """A result with the figures of its outcomes, whatever its file says."""
    return result.model_copy(update=figures_of(outcomes))


def _differences(told: Any, follows: Any, where: str) -> Iterator[str]:
    if isinstance(told, list) and isinstance(follows, list) and len(told) == len(follows):
        told, follows = dict(enumerate(told)), dict(enumerate(follows))
    if isinstance(told, dict) and isinstance(follows, dict):
        for name in sorted(told.keys() | follows.keys()):
            if name in told and name in follows:
                yield from _differences(told[name], follows[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(told, float) and isinstance(follows, (int, float)):
        if not abs(told - follows) <= 1e-9:
            yield where.rstrip(".")
    elif told != follows:
        yield where.rstrip(".")


def _checked_table(path: Path, result: Result, most_rows: int) -> pa.Table:
    """The Parquet file beside a result; what it says of itself is checked before it is decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    name = result.outcomes.path
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise RefusedError(f"outcomes.path: {name!r} is no plain name of a Parquet file beside it")
    data = bytes_of(path.parent / name, MOST_TABLE_BYTES)
    if hashlib.sha256(data).hexdigest() != result.outcomes.sha256:
        raise RefusedError(f"{name}: is not the file that the result names (SHA-256 differs)")
    try:
        file = pq.ParquetFile(
            pa.BufferReader(data),
            read_dictionary=["id", "label"],
            thrift_string_size_limit=1 << 20,
            thrift_container_size_limit=100_000,
        )
        rows, metadata = result.outcomes.rows, file.metadata
        if not metadata.num_rows == rows <= most_rows:
            raise ValueError(f"{metadata.num_rows:,} rows, of {most_rows:,} cases")
        sizes = [
            metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)
        ]
        if max(sizes, default=0) < 0 or sum(sizes) > MOST_TABLE_BYTES:
            raise ValueError(f"unfolds to {sum(sizes):,} bytes")
        columns = {field.name: str(field.type) for field in file.schema_arrow}
        wanted = {
            column: f"dictionary<values={kind}, indices=int32, ordered=0>"
            if kind == "string"
            else kind
            for column, kind in _COLUMNS.items()
        }
        if columns != wanted:
            raise ValueError(f"its columns are not {', '.join(_COLUMNS)}")
        table = file.read(use_threads=False).combine_chunks()
        table.validate(full=True)
        for column in ("id", "label"):
            # Repeated words stay codes until they are known to be short.
            longest = max(
                (
                    pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
                    for chunk in table[column].chunks
                ),
                default=0,
            )
            if longest > LONGEST_NAME * 4 or table[column].null_count:
                raise ValueError(f"its column {column} has gaps or a word of {longest:,} bytes")
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        lines = str(error).splitlines() or [""]
        raise RefusedError(
            f"{name}: is no Parquet file of outcomes ({plain(lines[0], 120)})"
        ) from None
    return table


def _probabilities(table: pa.Table) -> Array | None:
    """Shape (rows, labels); None where the model gave none."""
    columns: Sequence[pa.ChunkedArray] = [table[label] for label in LABELS]
    if any(column.null_count for column in columns):
        return None
    return np.stack([column.to_numpy() for column in columns], axis=1).astype(np.float64)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except RefusedError as refusal:
        raise ScoringError(
            plain(f"{path}: {refusal.reasons[0]}", 1_000),
            hint="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None
