"""Many models' outcomes, read from result files or a Hub dataset and kept in one Parquet file."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from s2lct.builder.config import fingerprint_of
from s2lct.builder.hashing import sha256_of
from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import KINDS, Case
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.results import Result, case_of_outcome, outcomes_schema

if TYPE_CHECKING:
    import pyarrow as pa

VERIFIED_FILE = "verified.json"
UNSCORED = -1
MOST_JSON_BYTES = 5_000_000
MOST_TABLE_BYTES = 50_000_000
MOST_UNPACKED_BYTES = 500_000_000
MOST_ROWS = 200_000
LONGEST_NAME = 200
LONGEST_TEXT = 5_000
HUB_ID = r"^[\w.-]+/[\w.-]+(@[\w./-]+)?$"
_MODELS_A_ROW_GROUP = 64
_MOST_ORDERS = 1_024

Advance = Callable[[int, int], None]
LabelIds = npt.NDArray[np.int8]


@dataclass(frozen=True)
class ScoredModel:
    """What one result file says.

    Attributes:
        key: SHA-256 of the result file.
        name, revision, weights_sha256, label_rule, parameters, licence: as in the result file.
        date: when it was scored, ISO 8601.
        verified: the day on which somebody scored it again and found the same; empty if nobody.
        labels: what it said, as label ids in the order of the suite's cases, shape (cases,);
            `UNSCORED` where it was not asked.
    """

    key: str
    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    parameters: int | None
    licence: str | None
    date: str
    verified: str
    labels: LabelIds


@dataclass(frozen=True)
class SuiteOutcomes:
    """Models that were scored on the same suite.

    Attributes:
        version: its semantic version; empty if unknown.
        fingerprint: SHA-256 over its rows; empty if unknown.
        cases: in the suite's order.
        models: in the order of their files.
    """

    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    models: tuple[ScoredModel, ...]


@dataclass(frozen=True)
class Collection:
    """Everything that was read.

    Attributes:
        suites: one for each suite version.
        skipped: a line for each file that was left out, saying why.
    """

    suites: tuple[SuiteOutcomes, ...]
    skipped: tuple[str, ...] = ()


class _UnusableError(Exception):
    """Why a result file is left out, in one line."""


@dataclass(frozen=True)
class _Read:
    """A result file with its outcomes; equal cases are one object."""

    file: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    model: ScoredModel
    partial: bool


def collect(source: str | Path, advance: Advance | None = None) -> Collection:
    """Read results.

    A file that cannot be used is left out with a line that says why; of two files of the same
    model on the same suite the verified one counts, then the newer one.

    Args:
        source: a folder of result files, a Hub dataset ``ORG/NAME[@REVISION]`` of them, or a
            Parquet file that `write_collection` wrote.
        advance: told how many files of how many were read.

    Raises:
        ScoringError: there is nothing at ``source``, or nothing usable.
    """
    path = Path(source)
    if path.is_file():
        return read_collection(path)
    folder = path if path.is_dir() else _snapshot(str(source))
    skipped: list[str] = []
    verified = _verified(folder, skipped)
    seen: list[tuple[Any, tuple[Case, ...]]] = []
    read: list[_Read] = []
    files = [file for file in sorted(folder.rglob("*.json")) if file.name != VERIFIED_FILE]
    for number, file in enumerate(files, 1):
        name = file.relative_to(folder).as_posix()
        try:
            read.append(_read(file, name, verified, seen))
        except _UnusableError as error:
            skipped.append(f"{_plain(name)}: {error}")
        if advance:
            advance(number, len(files))
    suites = _by_suite(read, skipped)
    if not suites:
        raise ScoringError(
            f"{source}: holds no usable result file"
            + (f"; {len(skipped)} left out, the first: {skipped[0]}" if skipped else ""),
            mend="make some with `s2lct score MODEL --suite DIR --out results/`",
        )
    return Collection(tuple(suites), tuple(skipped))


def _snapshot(name: str) -> Path:
    if not re.match(HUB_ID, name):
        raise ScoringError(
            f"{name}: neither a folder nor a Parquet file nor a Hub dataset",
            mend="name a folder of result files, or ORG/NAME",
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repo, _, revision = name.partition("@")
    try:
        return Path(
            snapshot_download(
                repo,
                repo_type="dataset",
                revision=revision or None,
                allow_patterns=["*.json", "*.parquet"],
            )
        )
    except (OSError, ValueError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        said = str(error).strip().splitlines()
        raise ScoringError(
            f"{name}: cannot be fetched ({type(error).__name__}: {said[0] if said else ''})",
            mend="check the name and the network; a private dataset needs `hf auth login`",
        ) from error


def _verified(folder: Path, skipped: list[str]) -> dict[str, str]:
    """Days of verification by SHA-256 of result files: they name it wherever they lie."""
    days: dict[str, str] = {}
    for path in sorted(folder.rglob(VERIFIED_FILE)):
        try:
            told = json.loads(_bytes_of(path))
            days |= {key: date.fromisoformat(day[:10]).isoformat() for key, day in told.items()}
        except (
            _UnusableError, OSError, ValueError, TypeError, AttributeError, RecursionError,
        ) as error:  # fmt: skip
            name = path.relative_to(folder).as_posix()
            skipped.append(f"{_plain(name)}: is no list of verified results ({_plain(str(error))})")
    return days


def _bytes_of(path: Path) -> bytes:
    if path.stat().st_size > MOST_JSON_BYTES:
        raise _UnusableError(f"larger than {MOST_JSON_BYTES:,} bytes")
    return path.read_bytes()


def _read(
    path: Path, name: str, verified: Mapping[str, str], seen: list[tuple[Any, tuple[Case, ...]]]
) -> _Read:
    try:
        raw = _bytes_of(path)
        result = Result.model_validate_json(raw)
    except OSError as error:
        raise _UnusableError(f"cannot be read ({error.strerror})") from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = _plain(".".join(map(str, fault["loc"])))
        raise _UnusableError(f"is no result file ({where}: {_plain(fault['msg'])})") from error
    _check_words(result)
    table = _read_table(path.parent, result)
    cases = next((known for kept, known in seen if kept.equals(table["cases"])), None)
    if cases is None:
        cases = _cases(table["cases"])
        seen.append((table["cases"], cases))
    labels = _labels(table["labels"])
    key = hashlib.sha256(raw).hexdigest()
    _check_figures(result, cases, labels)
    return _Read(
        file=name,
        version=result.suite.version,
        fingerprint=result.suite.fingerprint,
        cases=cases,
        model=ScoredModel(
            key=key,
            name=result.model.name,
            revision=result.model.revision,
            weights_sha256=result.model.weights_sha256,
            label_rule=result.model.label_rule,
            parameters=result.model.parameters,
            licence=result.model.licence,
            date=result.date,
            verified=verified.get(key, ""),
            labels=labels,
        ),
        partial=result.partial,
    )


def _plain(text: str) -> str:
    """A text of unknown origin on one line, without control characters, not too long."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in text)
    return plain if len(plain) <= LONGEST_NAME else plain[:LONGEST_NAME] + "…"


def _check_words(result: Result) -> None:
    model = result.model
    for field, text, most in (
        ("model.name", model.name, LONGEST_NAME),
        ("model.revision", model.revision, LONGEST_NAME),
        ("model.weights_sha256", model.weights_sha256, 64),
        ("model.licence", model.licence or "", LONGEST_NAME),
        ("model.label_rule", model.label_rule, LONGEST_TEXT),
        ("suite.version", result.suite.version, LONGEST_NAME),
        ("suite.fingerprint", result.suite.fingerprint, 64),
    ):
        if len(text) > most:
            raise _UnusableError(f"{field} is longer than {most} characters")
        if not text.isprintable():
            raise _UnusableError(f"{field} holds control characters")
    if not model.name.strip():
        raise _UnusableError("model.name is empty")
    if model.parameters is not None and model.parameters > 10**15:
        raise _UnusableError("model.parameters is too large to be true")
    try:
        datetime.fromisoformat(result.date.replace("Z", "+00:00"))
    except ValueError:
        raise _UnusableError(f"date {_plain(result.date)!r} is no ISO date") from None


def _schema() -> pa.Schema:
    """What is read of a result's Parquet file: a case, and the label last."""
    told = outcomes_schema()
    return told.remove(told.get_field_index("failed"))


def _read_table(folder: Path, result: Result) -> dict[str, Any]:
    """The case columns and the labels of a result's Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if Path(result.outcomes.path).name != result.outcomes.path:
        raise _UnusableError(
            f"its outcomes lie outside its folder ({_plain(result.outcomes.path)})"
        )
    path = folder / result.outcomes.path
    shown = _plain(path.name)
    try:
        if not path.is_file():
            raise _UnusableError(f"{shown} is missing beside it")
        if path.stat().st_size > MOST_TABLE_BYTES:
            raise _UnusableError(f"{shown} is larger than {MOST_TABLE_BYTES:,} bytes")
        if sha256_of(path) != result.outcomes.sha256:
            raise _UnusableError(f"{shown} is not the file that it was made from (SHA-256 differs)")
        wanted = _schema()
        told = pq.ParquetFile(path)
        _check_size(told, shown, result)
        for field in wanted:
            if told.schema_arrow.names.count(field.name) != 1 or not _holds(
                told.schema_arrow.field(field.name).type, field.type
            ):
                raise _UnusableError(f"{shown} lacks a column {field.name} of type {field.type}")
        leaves = [told.schema.column(number) for number in range(len(told.schema))]
        # Strings stay dictionaries until their true size is known.
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        file = pq.ParquetFile(path, read_dictionary=texts)
        table = _unpacked(file.read(columns=wanted.names), wanted, shown)
    except (OSError, ValueError, pa.ArrowException) as error:
        lines = str(error).splitlines()
        raise _UnusableError(
            f"{shown} cannot be read ({_plain(lines[0] if lines else '')})"
        ) from error
    return {"cases": table.drop_columns(["label"]), "labels": table["label"]}


def _holds(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column is of the type wanted; lists that are all empty may have none."""
    import pyarrow as pa

    return bool(found.equals(wanted) or (pa.types.is_list(wanted) and found == pa.list_(pa.null())))


def _check_size(file: Any, shown: str, result: Result) -> None:
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if metadata.num_rows != result.outcomes.rows or not 0 < metadata.num_rows <= MOST_ROWS:
        raise _UnusableError(
            f"{shown} has {metadata.num_rows:,} rows (told {result.outcomes.rows:,}; "
            f"at most {MOST_ROWS:,})"
        )
    if sum(group.total_byte_size for group in groups) > MOST_UNPACKED_BYTES:
        raise _UnusableError(f"{shown} unpacks to more than {MOST_UNPACKED_BYTES:,} bytes")


def _unpacked(table: pa.Table, schema: pa.Schema, shown: str) -> pa.Table:
    """The table with plain columns of the schema's types, if it stays small and has no gaps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in table.columns:
        if column.null_count:
            raise _UnusableError(f"{shown} has gaps")
        values = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        if values.null_count:
            raise _UnusableError(f"{shown} has gaps")
        for chunk in values.chunks:
            if pa.types.is_dictionary(chunk.type):
                lengths = pc.binary_length(chunk.dictionary)
                if (pc.max(lengths).as_py() or 0) > 4 * LONGEST_TEXT:
                    raise _UnusableError(
                        f"{shown} has a text longer than {LONGEST_TEXT:,} characters"
                    )
                total += int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)
            else:
                total += chunk.nbytes
    if total > MOST_UNPACKED_BYTES:
        raise _UnusableError(f"{shown} unpacks to more than {MOST_UNPACKED_BYTES:,} bytes")
    plain = table.cast(schema).combine_chunks()
    plain.validate(full=True)  # such as text that is no UTF-8
    return plain


def _cases(table: pa.Table) -> tuple[Case, ...]:
    cases = tuple(case_of_outcome(row) for row in table.to_pylist())
    if len({case.id for case in cases}) != len(cases):
        raise _UnusableError("a case comes twice")
    for case in cases:
        if case.kind not in KINDS or not case.passes or not case.passes <= set(range(len(LABELS))):
            raise _UnusableError(
                f"case {_plain(case.id)} is of no known kind or has no known label"
            )
        if not case.capability or len(case.capability) > LONGEST_NAME:
            raise _UnusableError(f"case {_plain(case.id)} has no capability")
        if len(case.text) > LONGEST_TEXT:
            raise _UnusableError(
                f"case {_plain(case.id)} is longer than {LONGEST_TEXT:,} characters"
            )
    return cases


def _labels(column: pa.ChunkedArray) -> LabelIds:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(LABELS))
    if found.null_count:
        raise _UnusableError(f"a label is none of {', '.join(LABELS)}")
    return np.asarray(found.to_numpy(), dtype=np.int8)


def passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which labels pass which cases, shape (cases, labels)."""
    table = np.zeros((len(cases), len(LABELS)), dtype=bool)
    for number, case in enumerate(cases):
        table[number, list(case.passes)] = True
    return table


def _check_figures(result: Result, cases: Sequence[Case], labels: LabelIds) -> None:
    """Refuse counts that do not follow from the cases; no rate is taken from the result file."""
    failed = ~passing(cases)[np.arange(len(cases)), labels]
    counted: Counter[tuple[str, str, str]] = Counter()
    for case, fails in zip(cases, failed.tolist(), strict=True):
        counted[case.capability, case.kind, "cases"] += 1
        counted[case.capability, case.kind, "failures"] += fails
    told = {
        (name, kind, field): getattr(getattr(one, kind), field)
        for name, one in result.capabilities.items()
        for kind in KINDS
        for field in ("cases", "failures")
    }
    for where in sorted(told.keys() | counted.keys()):
        if told.get(where, 0) != counted[where]:
            raise _UnusableError(f"{_plain('.'.join(where))} does not follow from its cases")


def _by_suite(read: Sequence[_Read], skipped: list[str]) -> list[SuiteOutcomes]:
    groups: dict[str, list[_Read]] = {}
    for one in read:
        groups.setdefault(one.fingerprint, []).append(one)
    for name, group in list(groups.items()):
        # Parts of a suite do not tell what the whole of it is.
        if name and all(one.partial for one in group):
            skipped += [
                f"{_plain(one.file)}: covers a part of its suite, of which no whole result is here"
                for one in groups.pop(name)
            ]
    unnamed = groups.pop("", [])
    references = {name: _reference(name, group) for name, group in groups.items()}
    known = {name: set(cases) for name, cases in references.items()}
    for one in unnamed:
        # A suite loaded from a Hub has no fingerprint; its cases tell which it is.
        home = next((name for name, cases in known.items() if set(one.cases) <= cases), "")
        groups.setdefault(home, []).append(one)
    if "" in groups:
        references[""] = _reference("", groups[""])
    suites: list[SuiteOutcomes] = []
    for name, group in groups.items():
        group.sort(key=lambda one: one.file)
        cases = references[name]
        fitting = _fitting(group, cases, skipped)
        version = Counter(one.version for one in fitting if one.version or not name)
        suites.append(
            SuiteOutcomes(
                version=min(version, key=lambda v: (-version[v], v), default=""),
                fingerprint=name,
                cases=cases,
                models=tuple(_newest(fitting, skipped)),
            )
        )
    return sorted(suites, key=lambda suite: suite.fingerprint)


def _reference(fingerprint: str, group: Sequence[_Read]) -> tuple[Case, ...]:
    """The suite's cases: those that give its fingerprint, else those that hold most results."""
    whole = [one for one in group if not one.partial] or group
    sets: dict[int, tuple[Case, ...]] = {id(one.cases): one.cases for one in whole}
    for cases in sets.values():
        if fingerprint and _proves(cases, fingerprint):
            return cases
    as_sets = {number: set(cases) for number, cases in sets.items()}

    def support(number: int) -> tuple[bool, int, int]:
        inside = [one for one in group if as_sets[id(one.cases)] <= as_sets[number]]
        return (
            any(one.model.verified for one in group if id(one.cases) == number),
            len(inside),
            -len(sets[number]),
        )

    return sets[max(sets, key=support)]


def _proves(cases: Sequence[Case], fingerprint: str) -> bool:
    """Whether cases give a suite's fingerprint.

    It covers the order of a case's labels, which outcomes do not keep; it is one of two for all
    cases of a capability.
    """
    several = list(dict.fromkeys(case.capability for case in cases if len(case.passes) > 1))
    if 2 ** len(several) > _MOST_ORDERS:
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


def _fitting(group: Iterable[_Read], cases: tuple[Case, ...], skipped: list[str]) -> list[_Read]:
    """Results whose cases are among the suite's, their labels in the suite's order."""
    number_of = {case: number for number, case in enumerate(cases)}
    fitting: list[_Read] = []
    for one in group:
        if one.cases is not cases:
            numbers = [number_of.get(case) for case in one.cases]
            if None in numbers:
                stranger = one.cases[numbers.index(None)]
                skipped.append(
                    f"{_plain(one.file)}: case {_plain(stranger.id)} is not of the suite that it "
                    f"names ({one.fingerprint[:12]})"
                )
                continue
            labels = np.full(len(cases), UNSCORED, dtype=np.int8)
            labels[np.array(numbers)] = one.model.labels
            one = replace(one, cases=cases, model=replace(one.model, labels=labels))
        fitting.append(one)
    return fitting


def _newest(group: Sequence[_Read], skipped: list[str]) -> list[ScoredModel]:
    """Of results of the same model the verified, then the fullest, then the newest."""
    of_model: dict[tuple[str, ...], list[_Read]] = {}
    for one in group:
        model = one.model
        identity = (model.name, model.revision, model.weights_sha256, model.label_rule)
        of_model.setdefault(identity, []).append(one)
    kept: list[ScoredModel] = []
    for rivals in of_model.values():
        best = max(
            rivals,
            key=lambda one: (
                bool(one.model.verified),
                int((one.model.labels != UNSCORED).sum()),
                _moment(one.model.date),
                one.file,
            ),
        )
        kept.append(best.model)
        skipped += [
            f"{_plain(one.file)}: {_plain(best.file)} is a better result of the same model"
            for one in rivals
            if one is not best
        ]
    return kept


def _moment(date: str) -> float:
    return datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()


_MODEL_FIELDS = (
    "key",
    "name",
    "revision",
    "weights_sha256",
    "label_rule",
    "parameters",
    "licence",
    "date",
    "verified",
)
_COLUMN_OF = {"key": "result_sha256", "name": "model"}


def write_collection(collection: Collection, path: Path) -> None:
    """Write one Parquet file with a row for each model and case, whole or not at all.

    The same collection gives the same bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    writer: pq.ParquetWriter | None = None
    try:
        for suite in collection.suites:
            cases = _case_table(suite.cases)
            for start in range(0, len(suite.models), _MODELS_A_ROW_GROUP):
                models = suite.models[start : start + _MODELS_A_ROW_GROUP]
                table = _table_of(suite, models, cases)
                if writer is None:
                    writer = pq.ParquetWriter(partial, table.schema, compression="zstd")
                writer.write_table(table, row_group_size=len(table))
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        pq.write_table(pa.table({}), partial)
    partial.replace(path)


def _case_table(cases: Sequence[Case]) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {
            "id": [case.id for case in cases],
            "capability": [case.capability for case in cases],
            "kind": [case.kind for case in cases],
            "seed_id": [case.seed_id for case in cases],
            "text": [case.text for case in cases],
            "passes": [sorted(case.passes) for case in cases],
            "inserted": [list(case.inserted) for case in cases],
            "production": [case.production for case in cases],
            "splits": [sorted(case.splits) for case in cases],
        },
        schema=_schema().remove(_schema().get_field_index("label")),
    )


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
        ScoringError: it is no such file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        texts = [
            name for name, kind in zip(*_names_and_types(path), strict=True) if kind == "string"
        ]
        table = pq.read_table(path, read_dictionary=texts).unify_dictionaries().combine_chunks()
        return Collection(tuple(_suites(table)))
    except (OSError, ValueError, KeyError, IndexError, pa.ArrowException, _UnusableError) as error:
        raise ScoringError(
            f"{path}: is no collection of outcomes ({_plain(str(error))})",
            mend="make one with `s2lct leaderboard build RESULTS --out site/`; it is "
            "site/outcomes.parquet",
        ) from error


def _names_and_types(path: Path) -> tuple[list[str], list[str]]:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    return schema.names, [str(kind) for kind in schema.types]


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
    for runs in runs_of.values():
        start, end = max(runs, key=lambda run: run[1] - run[0])
        names = _schema().names[:-1]
        cases = _cases(table.select(names).slice(start, end - start))
        place = np.full(int(ids.max()) + 1, -1, dtype=np.int64)
        place[ids[start:end]] = np.arange(end - start)
        heads = table.select(
            ["suite_version", "suite_fingerprint"] + [_COLUMN_OF.get(f, f) for f in _MODEL_FIELDS]
        ).take([run[0] for run in runs])
        models: list[ScoredModel] = []
        for head, (first, last) in zip(heads.to_pylist(), runs, strict=True):
            own = np.full(len(cases), UNSCORED, dtype=np.int8)
            where = place[ids[first:last]]
            if (where < 0).any():
                raise ValueError(f"{head['model']} has cases that its suite lacks")
            own[where] = labels[first:last]
            fields = {field: head[_COLUMN_OF.get(field, field)] for field in _MODEL_FIELDS}
            models.append(ScoredModel(**fields, labels=own))
        head = heads.slice(0, 1).to_pylist()[0]
        found.append(
            SuiteOutcomes(head["suite_version"], head["suite_fingerprint"], cases, tuple(models))
        )
    return found
