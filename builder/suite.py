"""Reading a written suite without the models that built it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.builder.capability_ids import spelled
from s2lct.builder.errors import SuiteError
from s2lct.builder.write import SUITE_FILE

_MEND = "name a folder that `s2lct build` wrote"


def read_description(folder: Path) -> dict[str, Any]:
    """The contents of ``suite.json``.

    Raises:
        SuiteError: the folder holds none, or it is broken.
    """
    path = folder / SUITE_FILE
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SuiteError(f"{folder}: no {SUITE_FILE} there", mend=_MEND) from None
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: {error}", mend=_MEND) from error
    if not isinstance(described, dict) or not isinstance(described.get("files"), dict):
        raise SuiteError(f"{path}: describes no suite", mend=_MEND)
    return described


def read_rows(folder: Path, file: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of one of the files that ``suite.json`` names.

    Raises:
        SuiteError: the file is missing or no Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / str(file["path"])
    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise SuiteError(f"{path}: {error}", mend="build the suite again") from error
    return rows


def chosen_files(
    described: Mapping[str, Any], capabilities: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """The files of the capabilities named, or all.

    Raises:
        SuiteError: the suite has no such capability.
    """
    files: dict[str, Mapping[str, Any]] = described["files"]
    order = [c["id"] for c in described["capabilities"] if c["id"] in files]
    capabilities = spelled(capabilities, order)
    for name in capabilities:
        if name not in files:
            raise SuiteError(
                f"--capability {name}: not in this suite", mend=f"it has {', '.join(order)}"
            )
    return {name: files[name] for name in (capabilities or order)}
