"""Suites that differ a little from another, as if built or published later."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from s2lct.cards import render_dataset_card
from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.suite.tables import SUITE_FILE, example_of, table_of

Rows = Sequence[dict[str, Any]]


def edited_suite(
    folder: Path,
    out: Path,
    version: str,
    edit: Callable[[str, Rows], Rows] = lambda _, rows: rows,
) -> Path:
    """Copy a suite, rows of each capability edited and everything that follows from them mended."""
    shutil.copytree(folder, out)
    described = json.loads((out / SUITE_FILE).read_text())
    digest: list[list[Any]] = []
    examples: dict[str, dict[str, str]] = {}
    for name in (c["id"] for c in described["capabilities"] if c["id"] in described["files"]):
        file = described["files"][name]
        path = out / file["path"]
        rows = edit(name, pq.read_table(path).to_pylist())
        table = table_of(rows)
        pq.write_table(table, path, compression="zstd", store_schema=True)
        file |= {
            "rows": len(rows),
            "bytes": path.stat().st_size,
            "memory": table.nbytes,
            "sha256": sha256_of(path),
        }
        kinds = [row["kind"] for row in rows]
        described["counts"][name] |= {
            "seeds": kinds.count("seed"),
            "expansions": kinds.count("expansion"),
            "counterparts": kinds.count("counterpart"),
        }
        examples[name] = example_of(rows)
        digest += [[row["id"], row["text"], row["labels"]] for row in rows]
    described |= {"version": version, "fingerprint": fingerprint_of(digest)}
    (out / SUITE_FILE).write_text(json.dumps(described, indent=2, sort_keys=True) + "\n")
    (out / "README.md").write_text(render_dataset_card(described, examples))
    return out


def without_last_family(capability: str) -> Callable[[str, Rows], Rows]:
    """An edit that leaves out a capability's last seed with its expansions."""

    def edit(name: str, rows: Rows) -> Rows:
        last = rows[-1]["seed_id"]
        return [row for row in rows if name != capability or row["seed_id"] != last]

    return edit
