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
from damage import ODD_VALUES

from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.suite.read import read_suite
from s2lct.suite.tables import ORIGINS, SUITE_FILE, reading_of, table_of

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
    digest: list[list[Any]] = []
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
        digest += [[row.get(column) for column in ("id", "text", "labels")] for row in rows]
        suite["files"][name]["bytes"] = path.stat().st_size
        origins = (row.get("origin") for row in rows if row.get("kind") == "expansion")
        suite["files"][name]["origins"] = Counter(one for one in origins if one in ORIGINS)
        for kind in ("seed", "expansion", "counterpart"):
            count = sum(row.get("kind") == kind for row in rows)
            suite["counts"][name][f"{kind}s"] = count
    if every and all("verdicts" in row for row in every):
        suite["reading"] = reading_of(every)
    if fingerprint:
        suite["fingerprint"] = fingerprint_of(digest)
    describe(folder, suite)


def change_rows(folder: Path, name: str, change: Callable[[Rows], object]) -> None:
    """Change rows of a config; hashes stay as they were."""
    path = file_of(folder, name)
    rows: Rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(table_of(rows), path, compression="zstd", store_schema=True)


def change_table(folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    path = file_of(folder, name)
    pq.write_table(change(pq.read_table(path)), path)


def rewrite(folder: Path, name: str, change: Callable[[Rows], object]) -> None:
    """Change rows of a config so that no hash and no count shows it."""
    change_rows(folder, name, change)
    mend(folder)


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
    """An edit that leaves out a capability's last seed with its expansions."""

    def edit(name: str, rows: Rows) -> Rows:
        last = rows[-1]["seed_id"]
        return [row for row in rows if name != capability or row["seed_id"] != last]

    return edit


def loaded(folder: Path) -> dict[str, Any]:
    """A suite as `datasets` has it: by config, ``all`` last."""
    from datasets import Dataset, DatasetDict

    suite = read_suite(folder)
    rows = suite.rows | {"all": suite.all_rows}
    return {name: DatasetDict(test=Dataset(table_of(part))) for name, part in rows.items()}


def damage(folder: Path, draw: random.Random) -> str:
    """Damage a suite in one way; what was done, in words."""
    names = sorted(described(folder)["files"])
    kind = draw.choice(["bytes", "column", "value", "value", "json", "json", "json", "file"])
    name = draw.choice(names)
    told = _DAMAGES[kind](folder, name, draw)
    if kind in ("column", "value", "bytes") and draw.random() < 0.7:
        with suppress(ValueError):  # a broken description has no hashes to mend
            mend(folder, fingerprint=draw.random() < 0.8)
            told += ", hashes mended"
    return f"{kind} {name}: {told}"


def _bytes(folder: Path, name: str, draw: random.Random) -> str:
    path = draw.choice([file_of(folder, name)] * 3 + [folder / SUITE_FILE, folder / "README.md"])
    content = bytearray(path.read_bytes())
    way = draw.choice(["cut", "flip", "empty", "insert", "zero"])
    if way == "cut":
        del content[draw.randrange(len(content)) :]
    elif way == "flip":
        for _ in range(draw.randint(1, 8)):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif way == "empty":
        content.clear()
    elif way == "insert":
        place = draw.randrange(len(content))
        content[place:place] = draw.randbytes(16)
    else:
        place = draw.randrange(len(content))
        content[place : place + 64] = bytes(64)
    path.write_bytes(content)
    return f"{way} in {path.name}"


def _column(folder: Path, name: str, draw: random.Random) -> str:
    table = pq.read_table(file_of(folder, name))
    column = draw.choice(table.column_names)
    place = table.column_names.index(column)
    way = draw.choice(["drop", "rename", "twice", "null", "number", "large", "text"])
    if way == "drop":
        table = table.drop_columns([column])
    elif way == "rename":
        table = table.rename_columns({column: f"{column}s"})
    elif way == "twice":
        table = table.append_column(column, table[column])
    elif way == "null":
        table = table.set_column(place, column, pa.nulls(table.num_rows))
    elif way == "number":
        table = table.set_column(place, column, pa.array(range(table.num_rows), pa.int64()))
    elif way == "large":
        texts = [str(value) for value in table[column].to_pylist()]
        table = table.set_column(place, column, pa.array(texts, pa.large_string()))
    else:
        texts = [str(value) for value in table[column].to_pylist()]
        table = table.set_column(place, column, pa.array(texts))
    pq.write_table(table, file_of(folder, name))
    return f"{way} {column}"


def _value(folder: Path, name: str, draw: random.Random) -> str:
    rows: Rows = pq.read_table(file_of(folder, name)).to_pylist()
    row = draw.choice(rows)
    while True:
        where: Any = row
        path: list[Any] = [draw.choice(list(row))]
        while isinstance(where[path[-1]], (dict, list)) and where[path[-1]] and draw.random() < 0.7:
            where = where[path[-1]]
            path.append(
                draw.choice(list(where)) if isinstance(where, dict) else draw.randrange(len(where))
            )
        value = draw.choice(ODD_VALUES)
        before = where[path[-1]]
        where[path[-1]] = value
        try:
            table = table_of(rows)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            where[path[-1]] = before  # no such value can stand there
            continue
        pq.write_table(table, file_of(folder, name), compression="zstd", store_schema=True)
        return f"{path} is {value!r}"


def _json(folder: Path, name: str, draw: random.Random) -> str:
    suite: Any = described(folder)
    where, path = suite, [draw.choice(list(suite))]
    while isinstance(where[path[-1]], (dict, list)) and where[path[-1]] and draw.random() < 0.8:
        where = where[path[-1]]
        path.append(
            draw.choice(list(where)) if isinstance(where, dict) else draw.randrange(len(where))
        )
    if draw.random() < 0.3:
        del where[path[-1]]
        told = f"{path} is gone"
    else:
        where[path[-1]] = draw.choice(ODD_VALUES)
        told = f"{path} is {where[path[-1]]!r}"
    describe(folder, suite)
    return told


def _file(folder: Path, name: str, draw: random.Random) -> str:
    path = file_of(folder, name)
    way = draw.choice(["gone", "folder", "swapped", "link", "description gone", "card gone"])
    if way == "swapped":
        others = [one for one in sorted(described(folder)["files"]) if one != name]
        shutil.copy(file_of(folder, draw.choice(others)), path)
    elif way == "description gone":
        (folder / SUITE_FILE).unlink()
    elif way == "card gone":
        (folder / "README.md").unlink()
    else:
        path.unlink()
        if way == "folder":
            path.mkdir()
        elif way == "link":
            path.symlink_to(path)
    return way


_DAMAGES: dict[str, Callable[[Path, str, random.Random], str]] = {
    "bytes": _bytes,
    "column": _column,
    "value": _value,
    "json": _json,
    "file": _file,
}
