"""Where a result goes, here and in a repository of results, and how it is written."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from s2lct.errors import OutputError, ScoringError
from s2lct.files import check_folder_out, is_folder, sha256_of, whole_file, write_text
from s2lct.labels import LABELS
from s2lct.leaderboard.results import record
from s2lct.leaderboard.results.read import ANSWERS, figures_of, read_result
from s2lct.leaderboard.scoring.score import Outcomes

FOLDER = "results"
"""Of a repository of results, as ``results/VERSION-FINGERPRINT/MODEL--REVISION.json``."""
_SHORT = 12
_FAITHFUL = re.compile(r"(?:(?!.*--)[\w.-]+/)?(?!.*--)\w[\w.-]*", re.ASCII)
_LONGEST_SLUG = 100
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")


def file_name(model: str) -> str:
    """A name as a file name; different names may give the same one."""
    return re.sub(r"[^\w.-]+", "--", model).strip("-.") or "model"


def _digest_of(text: str) -> str:
    """Eight hex digits over what a file name tells only in part."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def write_result(
    outcomes: Outcomes, folder: Path, selection: record.SelectionRecord | None = None
) -> Path:
    """Write a JSON file, whose path is returned, and the Parquet file beside it.

    A built-in model with default options on a whole suite is ``vader.json``, unless that file holds
    something else; all others have a hash of what they are in their names. So the same thing scored
    again replaces its own files and nothing else. ``selection`` tells how a part was chosen.
    """
    check_out_folder(folder)
    suite = record.SuiteRecord.model_validate(outcomes.suite, from_attributes=True)
    model, partial = outcomes.model, outcomes.suite.partial
    stem = _stem(model, suite, outcomes, folder)
    path, table = folder / f"{stem}.json", folder / f"{stem}.parquet"
    _write_predictions(outcomes, table)
    versions: dict[str, str] = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    result = record.Result(
        suite=suite,
        selection=(selection or record.SelectionRecord()) if partial else None,
        model=model,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages=versions,
        outcomes=record.OutcomesRecord(
            path=table.name, rows=len(outcomes.labels), sha256=sha256_of(table)
        ),
        **figures_of(outcomes),
    )
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path


def _write_predictions(outcomes: Outcomes, path: Path) -> None:
    """Write a row a case, counterparts behind the cases: its label, and probabilities if any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name_of = {number: name for name, number in ANSWERS.items()}
    columns = {
        "id": pa.array([case.id for case in outcomes.suite.asked], pa.string()),
        "label": pa.array([name_of[number] for number in outcomes.labels.tolist()], pa.string()),
    }
    for number, label in enumerate(LABELS):
        found = outcomes.probabilities
        # The last digits hang on who computed, and how much at once.
        values = [None] * len(outcomes.labels) if found is None else found[:, number].round(4)
        columns[label] = pa.array(values, pa.float32())
    with whole_file(path) as file:
        pq.write_table(pa.table(columns), file)


def check_out_folder(folder: Path) -> None:
    """Make a folder for results, before time goes into them, or raise `OutputError`."""
    check_folder_out(folder, "--out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"--out {folder}: cannot be written ({error.strerror})", hint="choose another place"
        ) from error


def plain_path(model: record.ModelRecord, folder: Path) -> Path | None:
    """Where a whole result of a built-in model with default options belongs; None for others."""
    if model.name not in record.BUILT_IN or model.options != record.OptionsRecord():
        return None
    return folder / f"{model.name}.json"


def _stem(
    model: record.ModelRecord, suite: record.SuiteRecord, outcomes: Outcomes, folder: Path
) -> str:
    cases, partial = outcomes.cases, outcomes.suite.partial
    plain = None if partial else plain_path(model, folder)
    if plain and (not os.path.lexists(plain) or _is_of(plain, model, suite, len(cases))):
        return plain.stem
    told = {"name", "revision", "weights_sha256", "options", "dtype", "predictions"}
    identity: list[object] = [model.model_dump(mode="json", include=told)]
    if model.endpoint is not None:
        identity += [model.endpoint.url, model.endpoint.max_tokens]
    identity += [suite.fingerprint, [case.id for case in cases]]
    digest = _digest_of(json.dumps(identity, sort_keys=True))
    # A part of a file name on any system: not too long, ASCII, no leading dot.
    name = Path(model.name).resolve().name if is_folder(Path(model.name)) else model.name
    name = re.sub(r"[^A-Za-z0-9_.-]+", "--", name)[:_LONGEST_SLUG].strip("-.") or "model"
    parts = [name, record.other_dtype(model), "partial" if partial else "", digest]
    return "--".join(filter(None, parts))


def _is_of(path: Path, model: record.ModelRecord, suite: record.SuiteRecord, cases: int) -> bool:
    """Whether a file holds a result of the same model and options on the same whole suite."""
    try:
        found = read_result(path)
    except ScoringError:
        return False
    # The revision of a built-in model is a package's version: what it says hangs on its weights.
    of = found.model
    return (
        (of.name, of.weights_sha256, of.options)
        == (model.name, model.weights_sha256, model.options)
        and (found.suite.fingerprint, found.overall.cases) == (suite.fingerprint, cases)
        and not found.partial
    )


def repository_path(result: record.Result) -> str:
    """Where a result's JSON belongs; the Parquet file lies beside it under the same name.

    Two results that differ in suite, model, revision or options have two places.
    """
    model = result.model
    revision = (model.revision or model.weights_sha256)[:_SHORT]
    # What a file name cannot say, or says of others too, goes into a digest.
    rest = record.stands_apart(model)
    if model.endpoint is not None:
        rest += f"\n{model.endpoint.url}"
    if not _FAITHFUL.fullmatch(model.name):
        rest += f"\n{model.name}"
    # Of a folder its own name: whose it was, and where, is nobody's business.
    known = model.name if _FAITHFUL.fullmatch(model.name) else model.name.rstrip("/").split("/")[-1]
    name = file_name(f"{known}--{revision}") + (f"--{_digest_of(rest)}" if rest else "")
    return str(PurePosixPath(FOLDER, suite_folder(result), f"{name}.json"))


def suite_folder(result: record.Result) -> str:
    """The folder of all results on a suite."""
    parts = (result.suite.version, result.suite.fingerprint[:_SHORT])
    return file_name("-".join(filter(None, parts)) or "unversioned")
