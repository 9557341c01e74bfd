"""A collection of results as one Parquet file, a row a model and case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.files import whole_file
from s2lct.labels import LABELS
from s2lct.leaderboard.results.decoder import Decoder, DecoderError
from s2lct.leaderboard.results.outcomes import case_columns, outcomes_schema
from s2lct.leaderboard.results.scored import (
    UNSCORED,
    Collection,
    LabelIds,
    ScoredModel,
    SuiteOutcomes,
    passing,
)
from s2lct.leaderboard.results.untrusted import LONGEST_TEXT, checked_cases
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.leaderboard.results.words import LONGEST_NAME, SHA256, faults_of_names, moment
from s2lct.plain_text import plain
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    import pyarrow as pa

MOST_FILE_BYTES = 1 << 30
MOST_ROWS = 50_000_000
MOST_DECODED_BYTES = 8 << 30
_MODELS_A_ROW_GROUP = 64
_MODEL_FIELDS = (
    "key",
    "name",
    "revision",
    "weights_sha256",
    "label_rule",
    "options",
    "parameters",
    "licence",
    "date",
    "verified",
)
_COLUMN_OF = {"key": "result_sha256", "name": "model"}
_SUITE_COLUMNS = ("suite_version", "suite_fingerprint", "suite_official")


def write_collection(collection: Collection, path: Path) -> None:
    """Write one Parquet file with a row for each model and case, whole or not at all.

    The same collection gives the same bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        writer: pq.ParquetWriter | None = None
        for suite in collection.suites:
            cases = _case_table(suite.cases)
            for start in range(0, len(suite.models), _MODELS_A_ROW_GROUP):
                models = suite.models[start : start + _MODELS_A_ROW_GROUP]
                table = _table_of(suite, models, cases)
                if writer is None:
                    writer = pq.ParquetWriter(file, table.schema, compression="zstd")
                writer.write_table(table, row_group_size=len(table))
        if writer is None:
            pq.write_table(pa.table({}), file)
        else:
            writer.close()


def _case_schema() -> pa.Schema:
    import pyarrow as pa

    told = outcomes_schema()
    return pa.schema([told.field(name) for name in case_columns(())])


def _case_table(cases: Sequence[Case]) -> pa.Table:
    import pyarrow as pa

    return pa.table(case_columns(cases), schema=_case_schema())


def _table_of(suite: SuiteOutcomes, models: Sequence[ScoredModel], cases: pa.Table) -> pa.Table:
    import pyarrow as pa

    asked = [np.flatnonzero(model.labels != UNSCORED) for model in models]
    numbers = np.concatenate(asked)
    labels = np.concatenate(
        [model.labels[chosen] for model, chosen in zip(models, asked, strict=True)]
    )
    owner = pa.array(np.repeat(np.arange(len(models)), [len(chosen) for chosen in asked]))
    columns: dict[str, Any] = {
        "suite_version": pa.array([suite.version] * len(numbers)),
        "suite_fingerprint": pa.array([suite.fingerprint] * len(numbers)),
        "suite_official": pa.array([suite.official] * len(numbers), pa.bool_()),
    }
    for field in _MODEL_FIELDS:
        kind = pa.int64() if field == "parameters" else pa.string()
        values = pa.array([getattr(model, field) for model in models], kind)
        columns[_COLUMN_OF.get(field, field)] = values.take(owner)
    taken = cases.take(pa.array(numbers))
    columns |= {name: taken[name] for name in taken.column_names}
    columns["label"] = pa.array(LABELS).take(pa.array(labels))
    columns["failed"] = pa.array(~passing(suite.cases)[numbers, labels])
    return pa.table(columns)


def read_collection(path: Path) -> Collection:
    """Read what `write_collection` wrote.

    Raises:
        ScoringError: it is no such file, or larger than it may be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = bytes_of(path, MOST_FILE_BYTES)
        with Decoder(memory=MOST_DECODED_BYTES) as decoder:
            decoder.weigh(data, rows=MOST_ROWS, most_bytes=MOST_DECODED_BYTES)
        source = pa.BufferReader(data)
        schema = pq.read_schema(source)
        texts = [field.name for field in schema if field.type == pa.string()]
        source.seek(0)
        table = pq.read_table(source, read_dictionary=texts).unify_dictionaries().combine_chunks()
        return Collection(tuple(_suites(table)))
    except (
        OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, pa.ArrowException,
        RefusedError, DecoderError,
    ) as error:  # fmt: skip
        raise ScoringError(
            f"{path}: is no collection of outcomes ({plain(str(error), LONGEST_NAME)})",
            mend="make one with `s2lct leaderboard build RESULTS --out site/`; it is "
            "site/outcomes.parquet",
        ) from error


def _labels(column: pa.ChunkedArray) -> LabelIds:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(LABELS))
    if found.null_count or (len(found) and pc.max(found).as_py() is None):
        raise ValueError(f"a label is none of {', '.join(LABELS)}")
    return np.asarray(found.to_numpy(), dtype=np.int8)


def _suites(table: pa.Table) -> list[SuiteOutcomes]:
    def codes(name: str) -> npt.NDArray[np.int64]:
        return np.asarray(table[name].chunk(0).indices, dtype=np.int64)

    if not len(table):
        return []
    labels = _labels(table["label"].cast("string"))
    results, suites, ids = codes("result_sha256"), codes("suite_fingerprint"), codes("id")
    starts = np.flatnonzero(np.r_[True, (np.diff(results) != 0) | (np.diff(suites) != 0)])
    ends = np.r_[starts[1:], len(results)]
    runs_of: dict[int, list[tuple[int, int]]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        runs_of.setdefault(int(suites[start]), []).append((start, end))
    found: list[SuiteOutcomes] = []
    # Files of earlier versions have fewer columns.
    of_suite = [name for name in _SUITE_COLUMNS if name in table.column_names]
    of_case = [name for name in case_columns(()) if name in table.column_names]
    of_model = [name for name in _MODEL_FIELDS if _COLUMN_OF.get(name, name) in table.column_names]
    for runs in runs_of.values():
        start, end = max(runs, key=lambda run: run[1] - run[0])
        rows = table.select(of_case).slice(start, end - start)
        columns = {name: rows[name].to_pylist() for name in rows.column_names}
        cases = checked_cases(columns, "its suite", LONGEST_TEXT)
        place = np.full(int(ids.max()) + 1, -1, dtype=np.int64)
        place[ids[start:end]] = np.arange(end - start)
        heads = table.select([*of_suite, *(_COLUMN_OF.get(f, f) for f in of_model)]).take(
            [run[0] for run in runs]
        )
        models: list[ScoredModel] = []
        for head, (first, last) in zip(heads.to_pylist(), runs, strict=True):
            own = np.full(len(cases), UNSCORED, dtype=np.int8)
            where = place[ids[first:last]]
            if (where < 0).any():
                raise ValueError(f"{head['model']} has cases that its suite lacks")
            own[where] = labels[first:last]
            fields = {field: head[_COLUMN_OF.get(field, field)] for field in of_model}
            model = ScoredModel(**fields, labels=own)
            _check_head(model)
            models.append(model)
        head = heads.slice(0, 1).to_pylist()[0]
        suite = SuiteOutcomes(
            head["suite_version"],
            head["suite_fingerprint"],
            cases,
            tuple(models),
            head.get("suite_official"),
        )
        named = {"suite.version": suite.version, "suite.fingerprint": suite.fingerprint}
        if fault := next(faults_of_names(named), ""):
            raise ValueError(fault)
        found.append(suite)
    return found


def _check_head(model: ScoredModel) -> None:
    """The same bounds as for result files."""
    named = {"model.name": model.name, "model.revision": model.revision}
    if fault := next(faults_of_names(named), ""):
        raise ValueError(fault)
    if not SHA256.fullmatch(model.key):
        raise ValueError(f"{model.name} has no SHA-256 of its result")
    for text in (model.label_rule, model.options, model.licence or "", model.verified):
        if not text.isprintable() or len(text) > LONGEST_TEXT:
            raise ValueError(f"{model.name} holds control characters or too long a text")
    moment(model.date)
    if model.verified:
        moment(model.verified)
