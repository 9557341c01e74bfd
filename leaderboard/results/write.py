"""Where a result goes, and how it is written."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from s2lct.errors import OutputError, ScoringError
from s2lct.files import check_folder_out, sha256_of, write_text
from s2lct.leaderboard.results.figures import figures_of
from s2lct.leaderboard.results.outcomes import write_outcomes
from s2lct.leaderboard.results.read import read_result
from s2lct.leaderboard.results.record import (
    BUILT_IN,
    ModelRecord,
    OptionsRecord,
    OutcomesRecord,
    Result,
    SelectionRecord,
    SuiteRecord,
)
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case


def file_name(model: str) -> str:
    """A name as a file name; different names may give the same one."""
    return re.sub(r"[^\w.-]+", "--", model).strip("-.") or "model"


def slug(name: str) -> str:
    """A name as a part of a file name on any system: not too long, ASCII, no leading dot."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "--", name)[:_LONGEST_SLUG]
    return plain.strip("-.") or "model"


def digest_of(*parts: Any) -> str:
    """Eight hex digits over parts of which a slug tells only some."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def model_identity(model: ModelRecord) -> list[Any]:
    """What makes a scored model another one, with its options."""
    options = model.options.model_dump(mode="json")
    return [model.name, model.revision, model.weights_sha256, options]


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
    check_out_folder(folder)
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
    write_outcomes(outcomes, table)
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
        OutputError: it cannot be made or written to.
    """
    check_folder_out(folder, "--out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"--out {folder}: cannot be written ({error.strerror})", mend="choose another place"
        ) from error


def plain_path(model: ModelRecord, folder: Path) -> Path | None:
    """Where a whole result of a built-in model with default options belongs; None for others."""
    if model.name not in BUILT_IN or model.options != OptionsRecord():
        return None
    return folder / f"{model.name}.json"


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


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


_LONGEST_SLUG = 100
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")
