"""What models said of suites, side by side, and all of it as one Parquet file, a row a case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.files import whole_file
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import ANSWER_IDS, REFUSED, UNREADABLE
from s2lct.leaderboard.models.classifier import DTYPES
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.outcomes import (
    LONGEST_TEXT,
    case_columns,
    case_table,
    checked_cases,
    said_columns,
)
from s2lct.leaderboard.scoring.both_sides import counted
from s2lct.plain_text import plain
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    import pyarrow as pa

UNSCORED = -1
MOST_FILE_BYTES = 1 << 30
MOST_ROWS = 50_000_000
MOST_DECODED_BYTES = 8 << 30
_MODELS_A_ROW_GROUP = 64
_SUITE_COLUMNS = ("suite_version", "suite_fingerprint", "suite_official")
_MODEL_COLUMNS = {
    "key": "result_sha256", "name": "model", "revision": "revision",
    "weights_sha256": "weights_sha256", "label_rule": "label_rule", "options": "options",
    "parameters": "parameters", "licence": "licence", "date": "date", "verified": "verified",
    "endpoint": "endpoint",
    "prompt": "prompt",
}  # fmt: skip
"""Columns by the fields of `ScoredModel`."""
LabelIds = npt.NDArray[np.int8]


@dataclass(frozen=True)
class ScoredModel:
    """What one result file says."""

    key: str  # SHA-256 of the file
    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    parameters: int | None
    licence: str | None
    date: str  # when it was scored, ISO 8601 in UTC
    verified: str  # the day on which it was scored again and found the same; empty if never
    labels: LabelIds  # of the suite's cases, shape (cases,); `UNSCORED` where it was not asked
    options: str = ""  # `record.own_options`; with some it stands apart from the plain one
    prompt: str = ""  # what a language model was asked, as JSON text; empty for others
    counterpart_labels: LabelIds | None = None  # of the suite's counterparts; None if asked none
    endpoint: str = ""  # the address of the server that answered; with one nobody can ask it again

    @property
    def but_prompt(self) -> tuple[str, ...]:
        """What results have in common that differ in the prompt alone; see `prompts`."""
        rule = self.label_rule.replace(self.prompt, "", 1)
        dtype = next((one for one in DTYPES if one in self.options.split("; ")), "")
        return self.name.casefold(), self.revision, self.weights_sha256, dtype, self.endpoint, rule


@dataclass(frozen=True)
class SuiteOutcomes:
    """Models that were scored on the same suite."""

    version: str  # its semantic version; empty if unknown
    fingerprint: str  # SHA-256 over its rows; empty if unknown
    cases: tuple[Case, ...]  # in the suite's order
    models: tuple[ScoredModel, ...]  # in the order of their files
    official: bool | None = None  # whether the operator named it; None where none was named
    counterparts: tuple[Case, ...] = ()  # of its seeds; no cases


@dataclass(frozen=True)
class Collection:
    """All suites that were read, and in ``skipped`` a line for each file left out, saying why."""

    suites: tuple[SuiteOutcomes, ...]
    skipped: tuple[str, ...] = ()


def passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which answers pass which cases, shape (cases, `ANSWER_IDS`): a label may, nothing else."""
    return np.array([[n in case.passes for n in range(ANSWER_IDS)] for case in cases], dtype=bool)


def parted(suite: SuiteOutcomes) -> SuiteOutcomes:
    """A suite whose cases hold its counterparts, with these apart from them."""
    cases = counted(suite.cases)
    chosen, others = (
        tuple(suite.cases[number] for number in np.flatnonzero(mask)) for mask in (cases, ~cases)
    )
    models: list[ScoredModel] = []
    for one in suite.models:
        said = one.labels[~cases]
        opposite = said if (said != UNSCORED).any() else None
        models.append(replace(one, labels=one.labels[cases], counterpart_labels=opposite))
    return replace(suite, cases=chosen, counterparts=others, models=tuple(models))


def joined(suite: SuiteOutcomes) -> SuiteOutcomes:
    """The other way round: a suite with its counterparts behind its cases."""
    cases = (*suite.cases, *suite.counterparts)
    models = [
        replace(one, labels=np.concatenate([one.labels, said_of_counterparts(suite, one)]))
        for one in suite.models
    ]
    return replace(suite, cases=cases, counterparts=(), models=tuple(models))


def said_of_counterparts(suite: SuiteOutcomes, model: ScoredModel) -> LabelIds:
    """What a model said of a suite's counterparts, shape (counterparts,), or `UNSCORED`."""
    if model.counterpart_labels is None:
        return np.full(len(suite.counterparts), UNSCORED, dtype=np.int8)
    return model.counterpart_labels


def write_collection(collection: Collection, path: Path) -> None:
    """Write one Parquet file; the same collection gives the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        writer: pq.ParquetWriter | None = None
        for suite in map(joined, collection.suites):
            cases, passes = case_table(suite.cases), passing(suite.cases)
            for start in range(0, len(suite.models), _MODELS_A_ROW_GROUP):
                models = suite.models[start : start + _MODELS_A_ROW_GROUP]
                table = _table_of(suite, models, cases, passes)
                writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
                writer.write_table(table, row_group_size=len(table))
        if writer is None:
            pq.write_table(pa.table({}), file)
        else:
            writer.close()


def _table_of(
    suite: SuiteOutcomes,
    models: Sequence[ScoredModel],
    cases: pa.Table,
    passes: npt.NDArray[np.bool_],
) -> pa.Table:
    import pyarrow as pa

    labels = np.stack([model.labels for model in models])
    owners, numbers = np.nonzero(labels != UNSCORED)
    said = labels[owners, numbers]
    columns: dict[str, Any] = {
        "suite_version": pa.array([suite.version] * len(numbers)),
        "suite_fingerprint": pa.array([suite.fingerprint] * len(numbers)),
        "suite_official": pa.array([suite.official] * len(numbers), pa.bool_()),
    }
    for field, column in _MODEL_COLUMNS.items():
        kind = pa.int64() if field == "parameters" else pa.string()
        values = pa.array([getattr(model, field) for model in models], kind)
        columns[column] = values.take(pa.array(owners))
    taken = cases.take(pa.array(numbers))
    columns |= {name: taken[name] for name in taken.column_names}
    columns |= said_columns(said)
    columns["failed"] = pa.array(~passes[numbers, said])
    return pa.table(columns)


def read_collection(path: Path) -> Collection:
    """Read what `write_collection` wrote; of another file, or too large a one, a `ScoringError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = untrusted.bytes_of(path, MOST_FILE_BYTES)
        source = pa.BufferReader(data)
        described = pq.read_metadata(source)
        groups = [described.row_group(number) for number in range(described.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        if described.num_rows > MOST_ROWS or size > MOST_DECODED_BYTES:
            raise untrusted.RefusedError(
                f"has {described.num_rows:,} rows and {size:,} bytes, at most {MOST_ROWS:,} and "
                f"{MOST_DECODED_BYTES:,}"
            )
        source.seek(0)
        texts = [field.name for field in pq.read_schema(source) if field.type == pa.string()]
        source.seek(0)
        table = pq.read_table(source, read_dictionary=texts).unify_dictionaries().combine_chunks()
        return Collection(tuple(_suites(table)) if len(table) else ())
    except (
        OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, pa.ArrowException,
        untrusted.RefusedError,
    ) as error:  # fmt: skip
        raise ScoringError(
            f"{path}: is no collection of outcomes ({plain(str(error), untrusted.LONGEST_NAME)})",
            hint="make one with `s2lct leaderboard build RESULTS --out site/`; it is "
            "site/outcomes.parquet",
        ) from error


def _suites(table: pa.Table) -> list[SuiteOutcomes]:
    def codes(name: str) -> npt.NDArray[np.int64]:
        return np.asarray(table[name].chunk(0).indices, dtype=np.int64)

    labels = _said(table)
    results, suites, ids = codes("result_sha256"), codes("suite_fingerprint"), codes("id")
    starts = np.flatnonzero(np.r_[True, (np.diff(results) != 0) | (np.diff(suites) != 0)])
    ends = np.r_[starts[1:], len(results)]
    # Files of earlier versions have fewer columns.
    of_case = [name for name in case_columns(()) if name in table.column_names]
    fields = [field for field, name in _MODEL_COLUMNS.items() if name in table.column_names]
    of_suite = [name for name in _SUITE_COLUMNS if name in table.column_names]
    of_model = [_MODEL_COLUMNS[field] for field in fields]
    found: list[SuiteOutcomes] = []
    for suite in dict.fromkeys(suites[starts].tolist()):
        runs = [(a, b) for a, b in zip(starts, ends, strict=True) if suites[a] == suite]
        # No model need have been asked everything: what the longest run lacks comes behind it.
        place, numbers = np.full(int(ids.max()) + 1, -1, dtype=np.int64), list[int]()
        for first, last in sorted(runs, key=lambda run: run[0] - run[1]):
            new = first + np.flatnonzero(place[ids[first:last]] < 0)
            place[ids[new]] = len(numbers) + np.arange(len(new))
            numbers += new.tolist()
        rows = table.select(of_case).take(numbers)
        cases = checked_cases(rows.to_pydict(), "its suite", LONGEST_TEXT)
        heads = table.select([*of_suite, *of_model]).take([run[0] for run in runs]).to_pylist()
        models: list[ScoredModel] = []
        for head, (first, last) in zip(heads, runs, strict=True):
            own = np.full(len(cases), UNSCORED, dtype=np.int8)
            own[place[ids[first:last]]] = labels[first:last]
            facts = {field: head[_MODEL_COLUMNS[field]] for field in fields}
            models.append(_checked(ScoredModel(**facts, labels=own)))
        version, fingerprint = heads[0]["suite_version"], heads[0]["suite_fingerprint"]
        _refuse({"suite.version": version, "suite.fingerprint": fingerprint})
        official = heads[0].get("suite_official")
        read = parted(SuiteOutcomes(version, fingerprint, cases, tuple(models), official))
        if not read.cases:
            raise ValueError("a suite has no seed and no expansion")
        found.append(read)
    return found


def _said(table: pa.Table) -> LabelIds:
    """What was said in each row: a label, or null and one of two columns that say why."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = table["label"].cast("string")
    label = pc.index_in(words, value_set=pa.array(LABELS)).fill_null(UNSCORED)
    said = np.array(label.to_numpy(), dtype=np.int8)
    known = (said != UNSCORED).astype(np.int8)
    for name, number in (("refused", REFUSED), ("unreadable", UNREADABLE)):
        if name in table.column_names:
            silent = table[name].fill_null(False).to_numpy()
            said[silent & words.is_null().to_numpy()] = number
            known += silent
    if (said == UNSCORED).any() or (known != 1).any():
        raise ValueError(f"a label is none of {', '.join(LABELS)}")
    return said


def _checked(model: ScoredModel) -> ScoredModel:
    """The same bounds as for result files."""
    _refuse({"model.name": model.name, "model.revision": model.revision})
    if not untrusted.SHA256.fullmatch(model.key):
        raise ValueError(f"{model.name} has no SHA-256 of its result")
    words = (model.label_rule, model.options, model.licence or "", model.verified)
    for text in (*words, model.endpoint, model.prompt):
        if not text.isprintable() or len(text) > LONGEST_TEXT:
            raise ValueError(f"{model.name} holds control characters or too long a text")
    if model.prompt and not isinstance(json.loads(model.prompt), str):
        raise ValueError(f"{model.name} has a prompt that is no text")
    for date in filter(None, (model.date, model.verified)):
        untrusted.moment(date)
    return model


def _refuse(names: dict[str, str]) -> None:
    if fault := next(untrusted.faults_of_names(names), ""):
        raise ValueError(fault)
