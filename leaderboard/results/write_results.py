"""Write result files, and choose their names in a folder and in a repository of results."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from s2lct.errors import OutputError, ScoringError
from s2lct.files import atomic_file, check_output_folder, is_folder, sha256_of, write_text
from s2lct.labels import LABELS
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord, OptionsRecord
from s2lct.leaderboard.results import record
from s2lct.leaderboard.results.read_results import ANSWERS, figures_of, read_result
from s2lct.leaderboard.scoring.score import Outcomes, SelectionRecord

_MAX_FILE_NAME_LENGTH = 100
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")


def write_result(outcomes: Outcomes, folder: str | Path = "results") -> Path:
    """Write a result as a JSON file and a Parquet file of predictions; return the JSON's path.

    A new result of the same model and cases replaces the earlier one; see `file_stem`.
    """
    return save_result(outcomes, folder)[0]


def save_result(outcomes: Outcomes, folder: str | Path) -> tuple[Path, record.Result]:
    """Write a result as `write_result` does; return the path of its JSON file and the result."""
    folder = Path(folder)
    check_out_folder(folder)
    suite = record.SuiteRecord.model_validate(outcomes.suite, from_attributes=True)
    model, partial = outcomes.model, outcomes.suite.partial
    case_ids = [case.id for case in outcomes.cases] if partial else []
    stem = file_stem(model, suite, case_ids)
    if stem == model.name and _holds_other_result(folder / f"{stem}.json", suite):
        stem = file_stem(model, suite, case_ids, plain=False)
    path, table_path = folder / f"{stem}.json", folder / f"{stem}.parquet"
    _write_predictions(outcomes, table_path)
    versions: dict[str, str] = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    result = record.Result(
        suite=suite,
        selection=(outcomes.selection or SelectionRecord()) if partial else None,
        model=model,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages=versions,
        outcomes=record.OutcomesRecord(
            path=table_path.name, rows=len(outcomes.labels), sha256=sha256_of(table_path)
        ),
        **figures_of(outcomes),
    )
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path, result


def _write_predictions(outcomes: Outcomes, path: Path) -> None:
    """Write a row for each case and contrast: id, predicted label, and any probabilities."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    answer_of = {number: answer for answer, number in ANSWERS.items()}
    columns = {
        "id": pa.array([case.id for case in outcomes.suite.with_contrasts], pa.string()),
        "label": pa.array([answer_of[number] for number in outcomes.labels.tolist()], pa.string()),
    }
    for label_number, label in enumerate(LABELS):
        table = outcomes.probabilities
        # Further digits depend on the machine and the batch size.
        values = [None] * len(outcomes.labels) if table is None else table[:, label_number].round(4)
        columns[label] = pa.array(values, pa.float32())
    with atomic_file(path) as file:
        pq.write_table(pa.table(columns), file)


def check_out_folder(folder: Path) -> None:
    """Create the folder for results, or raise an `OutputError`, before any model is scored."""
    check_output_folder(folder, "--out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"--out {folder}: cannot be written ({error.strerror})", hint="choose another place"
        ) from error


def file_stem(
    model: ModelRecord,
    suite: record.SuiteRecord,
    case_ids: Sequence[str] = (),
    *,
    plain: bool = True,
) -> str:
    """The name of a result's files without suffix, such as ``vader`` or ``ORG--NAME--1a2b3c4d``.

    Args:
        model: the model that was scored.
        suite: the suite that it was scored on.
        case_ids: the ids of the cases, if they are a part of the suite.
        plain: leave out the hash for a built-in model with default options on a whole suite.
    """
    if plain and not case_ids and _is_plain(model):
        return model.name
    identity = [*record.model_identity(model), suite.fingerprint, list(case_ids)]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    # Of the path of a model's folder, only the last part is published.
    name = Path(model.name).resolve().name if is_folder(Path(model.name)) else model.name
    parts = [_file_name(name), model.other_dtype, "partial" if case_ids else "", digest]
    return "--".join(filter(None, parts))


def _file_name(text: str) -> str:
    """A text as part of a file name on any system: not too long, ASCII, no leading dot."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "--", text)[:_MAX_FILE_NAME_LENGTH].strip("-.") or "model"


def _is_plain(model: ModelRecord) -> bool:
    return model.name in BUILT_IN and model.options == OptionsRecord()


def _holds_other_result(path: Path, suite: record.SuiteRecord) -> bool:
    """Whether a path exists and is not a plain model's result on the whole of the same suite."""
    if not os.path.lexists(path):
        return False
    try:
        result = read_result(path)
    except ScoringError:
        return True
    is_same = result.suite.fingerprint == suite.fingerprint and result.model.name == path.stem
    return result.partial or not is_same or not _is_plain(result.model)


def repository_path(result: record.Result) -> str:
    """The path of a result on a whole suite in a repository of results."""
    version_and_hash = filter(None, (result.suite.version, result.suite.fingerprint[:12]))
    folder = _file_name("-".join(version_and_hash))
    return f"results/{folder}/{file_stem(result.model, result.suite)}.json"
