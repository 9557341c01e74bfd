"""Suites that are edited, damaged or altered, in ways that hashes show and that none does."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from damage import damaged_file, damaged_tree

from s2lct.files import sha256_of
from s2lct.suite.former_names import former_schema
from s2lct.suite.read import read_suite
from s2lct.suite.tables import ORIGINS, SUITE_FILE, annotation_counts, rows_fingerprint, table_of

Rows = list[dict[str, Any]]


def described(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / SUITE_FILE).read_text())
    return read


def describe(folder: Path, suite: object) -> None:
    (folder / SUITE_FILE).write_text(json.dumps(suite))


def file_of(folder: Path, name: str) -> Path:
    return folder / described(folder)["files"][name]["path"]


def mend(folder: Path, *, fingerprint: bool = True) -> None:
    """Let suite.json say of the files what they are, as whoever alters a suite would."""
    suite = described(folder)
    every: Rows = []
    for name in (c["id"] for c in suite["capabilities"] if c["id"] in suite["files"]):
        path = folder / suite["files"][name]["path"]
        suite["files"][name]["sha256"] = sha256_of(path)
        try:
            rows = pq.read_table(path).to_pylist()
        except (OSError, ValueError, pa.ArrowException):
            continue
        suite["files"][name]["rows"] = len(rows)
        every += rows
        suite["files"][name]["bytes"] = path.stat().st_size
        origins = (row.get("origin") for row in rows if row.get("kind") == "expansion")
        suite["files"][name]["origins"] = Counter(one for one in origins if one in ORIGINS)
        for kind in ("seed", "expansion", "contrast"):
            count = sum(row.get("kind") == kind for row in rows)
            suite["counts"][name][f"{kind}s"] = count
    if every and all("annotations" in row for row in every):
        suite["reading"] = annotation_counts(every)
    if fingerprint:
        with suppress(LookupError, TypeError):  # rows that lack something have none
            suite["fingerprint"] = rows_fingerprint(every)
    describe(folder, suite)


def change_rows(folder: Path, name: str, change: Callable[[Rows], object]) -> None:
    """Change rows of a config; hashes stay as they were."""
    path = file_of(folder, name)
    rows: Rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(table_of(rows), path, compression="zstd", store_schema=True)


def rewrite(folder: Path, name: str, change: Callable[[Rows], object]) -> None:
    """Change rows of a config so that no hash and no count shows it."""
    change_rows(folder, name, change)
    mend(folder)


def former_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row as suites before 4.0.0 had it."""
    former = {name: cell for name, cell in row.items() if name != "annotations"}
    kind = "counterpart" if row["kind"] == "contrast" else row["kind"]
    verdicts = [
        {"of": a["of"], "reader": a["annotator"], "natural": a["natural"]}
        for a in row["annotations"]
    ]
    return former | {"kind": kind, "verdicts": verdicts}


def write_former_suite(suite: Path, folder: Path, fingerprint: str) -> None:
    """Write a built suite as it would have been written before 4.0.0."""
    shutil.copytree(suite, folder)
    written = described(folder)
    for name, file in written["files"].items():
        path = folder / file["path"]
        rows = [former_row(row) for row in pq.read_table(path).to_pylist()]
        table = pa.Table.from_pylist(rows, schema=former_schema())
        pq.write_table(table, path, compression="zstd", store_schema=True)
        file["sha256"] = sha256_of(path)
        counts = written["counts"][name]
        counts["counterparts"] = counts.pop("contrasts")
    written["reading"] = {"read": 0, "readers": {}}
    describe(folder, written | {"fingerprint": fingerprint, "version": "3.0.0"})


def edited_suite(
    folder: Path,
    out: Path,
    version: str,
    edit: Callable[[str, Rows], Rows] = lambda _, rows: rows,
) -> Path:
    """Copy a suite with the rows of each capability edited, as if it was built later."""
    shutil.copytree(folder, out)
    for name in described(out)["files"]:

        def change(rows: Rows, name: str = name) -> None:
            rows[:] = edit(name, rows)

        change_rows(out, name, change)
    describe(out, described(out) | {"version": version})
    mend(out)
    return out


def without_last_family(capability: str) -> Callable[[str, Rows], Rows]:
    """An edit that leaves out a capability's last seed, its expansions and all their contrasts."""

    def edit(name: str, rows: Rows) -> Rows:
        if name != capability:
            return rows
        last = [row["id"] for row in rows if row["kind"] == "seed"][-1]
        cases = {row["id"] for row in rows if row["seed_id"] == last}
        return [row for row in rows if row["seed_id"] not in cases]

    return edit


def loaded(folder: Path) -> dict[str, Any]:
    """A suite as `datasets` has it: by config, ``all`` last."""
    from datasets import Dataset, DatasetDict

    suite = read_suite(folder)
    rows = suite.rows | {"all": suite.all_rows}
    return {name: DatasetDict(test=Dataset(table_of(part))) for name, part in rows.items()}


def damage(folder: Path, draw: random.Random) -> str:
    """Damage a suite in one way; what was done, in words."""
    description = folder / SUITE_FILE
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = draw.choice([description, draw.choice(files)])
    way = draw.choice(["gone", "value", "value", "bytes or column", "bytes or column"])
    if way == "gone":
        path.unlink()
    elif way == "value" and path.suffix == ".parquet":
        _damaged_value(path, draw)
    else:
        damaged_file(path, draw)
    if path != description and draw.random() < 0.7:
        with suppress(OSError, ValueError, TypeError, KeyError):  # hashes of what cannot be read
            mend(folder, fingerprint=draw.random() < 0.8)
            way += ", hashes mended"
    return f"{path.name}: {way}"


def _damaged_value(path: Path, draw: random.Random) -> None:
    rows: Rows = pq.read_table(path).to_pylist()
    while True:
        place = draw.randrange(len(rows))
        other = [*rows[:place], damaged_tree(rows[place], draw), *rows[place + 1 :]]
        # No table has a value that its column cannot hold.
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            return pq.write_table(table_of(other), path, compression="zstd", store_schema=True)
