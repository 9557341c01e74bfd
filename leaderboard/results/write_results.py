"""Write results, and name their files here and in a repository of results."""

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
    """Write a JSON file, whose path is returned, and beside it the Parquet file of predictions.

    The same thing scored again replaces its own files and nothing else, see `file_stem`.
    """
    return save_result(outcomes, folder)[0]


def save_result(outcomes: Outcomes, folder: str | Path) -> tuple[Path, record.Result]:
    """Write a result, see `write_result`, and return it with the path of its JSON file."""
    folder = Path(folder)
    check_out_folder(folder)
    suite = record.SuiteRecord.model_validate(outcomes.suite, from_attributes=True)
    model, partial = outcomes.model, outcomes.suite.partial
    ids = [case.id for case in outcomes.cases] if partial else []
    stem = file_stem(model, suite, ids)
    if stem == model.name and _holds_another(folder / f"{stem}.json", suite):
        stem = file_stem(model, suite, ids, plain=False)
    path, table = folder / f"{stem}.json", folder / f"{stem}.parquet"
    _write_predictions(outcomes, table)
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
            path=table.name, rows=len(outcomes.labels), sha256=sha256_of(table)
        ),
        **figures_of(outcomes),
    )
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path, result


def _write_predictions(outcomes: Outcomes, path: Path) -> None:
    """Write a row for each case and contrast: its label, and probabilities if there are any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name_of = {number: name for name, number in ANSWERS.items()}
    columns = {
        "id": pa.array([case.id for case in outcomes.suite.with_contrasts], pa.string()),
        "label": pa.array([name_of[number] for number in outcomes.labels.tolist()], pa.string()),
    }
    for number, label in enumerate(LABELS):
        table = outcomes.probabilities
        # The last digits depend on the machine, and on how many texts it computes at once.
        values = [None] * len(outcomes.labels) if table is None else table[:, number].round(4)
        columns[label] = pa.array(values, pa.float32())
    with atomic_file(path) as file:
        pq.write_table(pa.table(columns), file)


def check_out_folder(folder: Path) -> None:
    """Make a folder for results, before time goes into them, or raise `OutputError`."""
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
    """The name of a result's files without their ending: different results have different names.

    Args:
        model: what was scored.
        suite: what it was scored on.
        case_ids: the ids of the cases, where these are not the whole suite.
        plain: whether a built-in model with default options, on a whole suite, has its own name
            alone; all others have a hash behind it.
    """
    if plain and not case_ids and _is_plain(model):
        return model.name
    identity = [*record.model_identity(model), suite.fingerprint, list(case_ids)]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    # Of a folder its own name: where it lies is nobody's business.
    name = Path(model.name).resolve().name if is_folder(Path(model.name)) else model.name
    parts = [_file_name(name), model.other_dtype, "partial" if case_ids else "", digest]
    return "--".join(filter(None, parts))


def _file_name(text: str) -> str:
    """A part of a file name on any system: not too long, ASCII, no leading dot."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "--", text)[:_MAX_FILE_NAME_LENGTH].strip("-.") or "model"


def _is_plain(model: ModelRecord) -> bool:
    return model.name in BUILT_IN and model.options == OptionsRecord()


def _holds_another(path: Path, suite: record.SuiteRecord) -> bool:
    """Whether something else is there than a whole result of that name on the same suite."""
    if not os.path.lexists(path):
        return False
    try:
        result = read_result(path)
    except ScoringError:
        return True
    is_same = result.suite.fingerprint == suite.fingerprint and result.model.name == path.stem
    return result.partial or not is_same or not _is_plain(result.model)


def repository_path(result: record.Result) -> str:
    """Where a result of a whole suite belongs; the Parquet file lies beside it."""
    version_and_hash = filter(None, (result.suite.version, result.suite.fingerprint[:12]))
    folder = _file_name("-".join(version_and_hash))
    return f"results/{folder}/{file_stem(result.model, result.suite)}.json"
