"""Result files: JSON with figures, and beside it a Parquet file with what was said of each case."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from s2lct.builder.checkpoint import whole_file, write_text
from s2lct.builder.hashing import sha256_of
from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import Case, SuiteCases
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.language_model import LabelPrompt
from s2lct.leaderboard.result_names import (
    digest_of,
    file_name,
    model_identity,
    plain_path,
    slug,
)
from s2lct.leaderboard.result_records import (
    CapabilityRecord,
    FlippingRecord,
    ModelRecord,
    OptionsRecord,
    OutcomesRecord,
    OverallRecord,
    RateRecord,
    Result,
    SelectionRecord,
    SuiteRecord,
)
from s2lct.leaderboard.scoring import (
    Outcomes,
    failed_cases,
    figures,
    flipping_productions,
    flipping_words,
    seen_in_training,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SCHEMA_FILE",
    "CapabilityRecord",
    "ModelRecord",
    "OptionsRecord",
    "OutcomesRecord",
    "OverallRecord",
    "RateRecord",
    "Result",
    "SelectionRecord",
    "SuiteRecord",
    "asked",
    "case_columns",
    "case_of_outcome",
    "check_out_folder",
    "figures_of",
    "file_name",
    "outcomes_schema",
    "read_outcomes",
    "read_result",
    "recompute",
    "schema",
    "write_result",
    "wrong_figures",
]

SCHEMA_FILE = Path(__file__).parent / "result.schema.json"
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")


def write_result(
    outcomes: Outcomes, folder: Path, selection: SelectionRecord | None = None
) -> Path:
    """Write a JSON file and the Parquet file beside it, each whole or not at all.

    A built-in model with default options on a whole suite is ``vader.json``, unless that file holds
    something else; all others have a hash of what they are in their names. So the same thing scored
    again replaces its own files and nothing else.

    Args:
        outcomes: what to write.
        folder: made if there is none.
        selection: what a part of the suite was chosen by; of no account for a whole suite.

    Returns:
        The path of the JSON file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = outcomes.suite.partial
    parts = figures_of(outcomes)
    suite = SuiteRecord(
        name=outcomes.suite.name,
        version=outcomes.suite.version,
        fingerprint=outcomes.suite.fingerprint,
    )
    model = ModelRecord(
        name=outcomes.model,
        revision=outcomes.revision,
        weights_sha256=outcomes.weights_sha256,
        label_rule=outcomes.label_rule,
        options=OptionsRecord(
            label_map=dict(outcomes.label_map) if outcomes.label_map is not None else None,
            neutral_band=outcomes.neutral_band,
            prompt=outcomes.asks.prompt if outcomes.asks else None,
            label_words=outcomes.asks.words if outcomes.asks else None,
        ),
        parameters=outcomes.parameters,
        licence=outcomes.licence,
    )
    stem = _stem(model, suite, outcomes.cases, partial, folder)
    table = folder / f"{stem}.parquet"
    _write_outcomes(outcomes, table)
    result = Result(
        suite=suite,
        selection=(selection or SelectionRecord()) if partial else None,
        model=model,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages=_versions(),
        outcomes=OutcomesRecord(path=table.name, rows=len(outcomes.cases), sha256=sha256_of(table)),
        **parts,
    )
    path = folder / f"{stem}.json"
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path


def check_out_folder(folder: Path) -> None:
    """Make a folder for results, before time goes into them.

    Raises:
        ScoringError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = "it is no folder" if os.path.isfile(folder) else error.strerror or error  # noqa: PTH113
        raise ScoringError(
            f"--out {folder}: no result can be written there ({why})",
            mend="choose a folder that can be written to, or one that does not exist yet",
        ) from error


def _stem(
    model: ModelRecord, suite: SuiteRecord, cases: Sequence[Case], partial: bool, folder: Path
) -> str:
    plain = None if partial else plain_path(model, folder)
    if plain is not None and (not os.path.lexists(plain) or _is_of(plain, model, suite, cases)):
        return plain.stem
    # The cases themselves tell suites without a fingerprint, and parts of a suite, apart.
    rows = [[case.id, case.text, sorted(case.passes)] for case in cases]
    digest = digest_of(model_identity(model), suite.fingerprint, rows)
    return f"{slug(model.name)}{'--partial' if partial else ''}--{digest}"


def _is_of(path: Path, model: ModelRecord, suite: SuiteRecord, cases: Sequence[Case]) -> bool:
    """Whether a file holds a result of the same model and options on the same whole suite."""
    try:
        found = read_result(path)
    except ScoringError:
        return False
    # The revision of a built-in model is a package's version: what it says hangs on its weights.
    same = found.model.model_copy(update={"revision": model.revision})
    return (
        model_identity(same) == model_identity(model)
        and found.suite.fingerprint == suite.fingerprint
        and found.outcomes.rows == len(cases)
        and not found.partial
    )


def figures_of(outcomes: Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    nested = figures(outcomes)
    return {
        "overall": nested.pop("overall"),
        "capabilities": nested,
        "seen_in_training": seen_in_training(outcomes),
        "flipping_words": _flipping(flipping_words(outcomes)),
        "flipping_productions": _flipping(flipping_productions(outcomes)),
    }


def _flipping(ranked: list[tuple[str, int, int]]) -> list[FlippingRecord]:
    return [
        FlippingRecord(item=item, pass_to_fail=flips, expansions=total)
        for item, flips, total in ranked
    ]


def case_columns(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """The columns of an outcomes file that the suite decides."""
    return {
        "id": [case.id for case in cases],
        "capability": [case.capability for case in cases],
        "kind": [case.kind for case in cases],
        "seed_id": [case.seed_id for case in cases],
        "text": [case.text for case in cases],
        "passes": [sorted(case.passes) for case in cases],
        "inserted": [list(case.inserted) for case in cases],
        "production": [case.production for case in cases],
        "splits": [sorted(case.splits) for case in cases],
    }


def outcomes_schema() -> pa.Schema:
    """The columns of a result's Parquet file."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        {
            "id": text,
            "capability": text,
            "kind": text,
            "seed_id": text,
            "text": text,
            "passes": pa.list_(pa.int64()),
            "inserted": pa.list_(text),
            "production": text,
            "splits": pa.list_(text),
            "label": text,
            "failed": pa.bool_(),
        }
    )


def _write_outcomes(outcomes: Outcomes, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        case_columns(outcomes.cases)
        | {
            "label": [LABELS[label] for label in outcomes.labels],
            "failed": outcomes.failed.tolist(),
        },
        schema=outcomes_schema(),
    )
    with whole_file(path) as file:
        pq.write_table(table, file)


def read_result(path: Path) -> Result:
    """Read a result file.

    Raises:
        ScoringError: it cannot be read, or is not of the schema.
    """
    try:
        return Result.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ScoringError(
            f"{path}: cannot be read ({error.strerror})",
            mend="make one with `s2lct score MODEL --suite DIR --out results/`",
        ) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise ScoringError(
            f"{path}: is no result file ({'.'.join(map(str, fault['loc']))}: {fault['msg']})",
            mend="make it again with `s2lct score`; its JSON Schema is "
            "leaderboard/result.schema.json",
        ) from error


def read_outcomes(path: Path) -> Outcomes:
    """The outcomes that a result file was made from.

    Raises:
        ScoringError: the Parquet file is missing, or is not the one that the result names.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    result = read_result(path)
    table = path.parent / result.outcomes.path
    if Path(result.outcomes.path).name != result.outcomes.path:
        raise ScoringError(
            f"{path}: its outcomes lie outside its folder ({result.outcomes.path})",
            mend="put the Parquet file beside the JSON file",
        )
    try:
        if sha256_of(table) != result.outcomes.sha256:
            raise ScoringError(
                f"{table}: is not the file that {path.name} was made from (SHA-256 differs)",
                mend="score the model again",
            )
        rows = pq.read_table(table).to_pylist()
        cases = tuple(case_of_outcome(row) for row in rows)
        labels = np.array([LABELS.index(row["label"]) for row in rows], dtype=np.int64)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise ScoringError(
            f"{table}: cannot be read ({error})", mend="score the model again"
        ) from error
    return Outcomes(
        model=result.model.name,
        revision=result.model.revision,
        weights_sha256=result.model.weights_sha256,
        label_rule=result.model.label_rule,
        label_map=result.model.options.label_map,
        neutral_band=result.model.options.neutral_band,
        asks=asked(result.model.options),
        suite=SuiteCases(
            result.suite.name,
            result.suite.version,
            result.suite.fingerprint,
            cases,
            result.partial,
        ),
        labels=labels,
        failed=failed_cases(cases, labels),
        parameters=result.model.parameters,
        licence=result.model.licence,
    )


def asked(options: OptionsRecord) -> LabelPrompt | None:
    """What a language model was asked; None for other models.

    Raises:
        ScoringError: it is no question.
    """
    if options.prompt is None or options.label_words is None:
        return None
    return LabelPrompt(options.prompt, options.label_words)


def case_of_outcome(row: Mapping[str, Any]) -> Case:
    """The case of a row of outcomes."""
    return Case(
        id=row["id"],
        capability=row["capability"],
        kind=row["kind"],
        seed_id=row["seed_id"],
        text=row["text"],
        passes=frozenset(row["passes"]),
        inserted=tuple(row["inserted"]),
        production=row["production"],
        splits=frozenset(row["splits"]),
    )


def recompute(path: Path) -> Result:
    """Compute every figure of a result file again from its outcomes.

    Returns:
        The result, as the file has it.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result = read_result(path)
    outcomes = read_outcomes(path)
    if (where := next(wrong_figures(result, outcomes), None)) is not None:
        raise ScoringError(
            f"{path}: {where} does not follow from its outcomes",
            mend="score the model again; do not publish this file",
        )
    return result


def wrong_figures(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """The figures of a result that do not follow from outcomes, as ``overall.failure_rate``."""
    told = json.loads(result.model_dump_json())
    found = figures_of(outcomes)
    if result.seen_in_training is None:
        found["seen_in_training"] = None  # a file of an older version
    follows = Result.model_validate(result.model_dump() | found)
    yield from _differences(told, json.loads(follows.model_dump_json()), "")


def _differences(told: Any, follows: Any, where: str) -> Iterator[str]:
    if isinstance(told, dict) and isinstance(follows, dict):
        for name in sorted(told.keys() | follows.keys()):
            if name in told and name in follows:
                yield from _differences(told[name], follows[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(told, list) and isinstance(follows, list) and len(told) == len(follows):
        for number, (one, other) in enumerate(zip(told, follows, strict=True)):
            yield from _differences(one, other, f"{where}{number}.")
    elif isinstance(told, float) and isinstance(follows, (int, float)):
        if not abs(told - follows) <= 1e-9:
            yield where.rstrip(".")
    elif told != follows:
        yield where.rstrip(".")


def schema() -> str:
    """The JSON Schema of a result file, as shipped in `SCHEMA_FILE`."""
    return json.dumps(Result.model_json_schema(), indent=2, sort_keys=True) + "\n"


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
