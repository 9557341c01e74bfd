"""Writes a suite's files, which form a Hugging Face dataset; `read` reads them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.cards import render_dataset_card
from s2lct.files import atomic_file, files_in, sha256_of, write_text
from s2lct.identity import fingerprint_of
from s2lct.suite.tables import (
    SPLIT,
    SUITE_FILE,
    annotation_counts,
    family_example,
    rows_fingerprint,
    table_of,
)

CARD = "README.md"
_DATA_FILE = re.compile(rf"data/[^/]+/{SPLIT}-\d+-of-\d+\.parquet")


def files_of_suite(folder: Path) -> list[str]:
    """The files of the suite in a folder, relative to it; empty if the folder holds no suite.

    If ``suite.json`` is damaged, the files are recognised by their names.
    """
    if not (folder / SUITE_FILE).is_file():
        return []
    try:
        described = json.loads((folder / SUITE_FILE).read_text(encoding="utf-8"))
        files = [str(file["path"]) for file in described["files"].values()]
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        files = [name for name in files_in(folder) if _DATA_FILE.fullmatch(name)]
    return [SUITE_FILE, CARD, *files]


def write_suite_files(
    folder: Path,
    rows_of: Mapping[str, Sequence[Mapping[str, Any]]],
    described: Mapping[str, Any],
) -> None:
    """Write card, suite.json and a Parquet file for each capability that has rows.

    Args:
        folder: an empty folder.
        rows_of: the rows of each capability, each seed before its expansions.
        described: the content of ``suite.json`` without files, fingerprints and annotators.

    Raises:
        OutputError: a capability's name cannot be the name of a folder.
    """
    import pyarrow.parquet as pq

    filled = {name: rows for name, rows in rows_of.items() if rows}
    files: dict[str, dict[str, Any]] = {}
    for name, rows in filled.items():
        path = folder / "data" / name / f"{SPLIT}-00000-of-00001.parquet"
        table = table_of(rows)
        with atomic_file(path) as file:
            pq.write_table(table, file, compression="zstd", store_schema=True)
        origins = Counter(row["origin"] for row in rows if row["kind"] == "expansion")
        files[name] = {
            "path": path.relative_to(folder).as_posix(),
            "rows": len(rows),
            "bytes": path.stat().st_size,
            "memory": table.nbytes,
            "sha256": sha256_of(path),
            "origins": dict(sorted(origins.items())),
        }
    all_rows = [row for rows in filled.values() for row in rows]
    description = {
        **described,
        "fingerprint": rows_fingerprint(all_rows),
        "capabilities_sha256": fingerprint_of(described["capabilities"]),
        "files": files,
        "reading": annotation_counts(all_rows),
    }
    examples = {name: family_example(rows) for name, rows in filled.items()}
    write_text(folder / SUITE_FILE, json.dumps(description, indent=2, sort_keys=True) + "\n")
    write_text(folder / CARD, render_dataset_card(description, examples))
