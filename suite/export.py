"""Export a suite to one file: JSON lines, CSV, or CheckList's test cases as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from s2lct.errors import SuiteError
from s2lct.files import check_file_out, write_text
from s2lct.json_lines import as_json_lines
from s2lct.labels import LABELS
from s2lct.plain_text import spreadsheet_cell
from s2lct.suite.read import WrittenSuite, read_suite
from s2lct.suite.tables import SUITE_FILE

Row = dict[str, Any]


def export_suite(folder: Path, out: Path, format: str) -> int:
    """Write every row to ``out``; how many there were.

    Args:
        folder: a built suite.
        out: the file to write.
        format: ``jsonl``: a row a line, labels by name; ``csv``: likewise, nested values as JSON
            and texts as `plain_text.spreadsheet_cell` has them;
            ``checklist``: the tests of a CheckList suite (Ribeiro et al. 2020) as JSON, each
            with its test cases and expected labels, and no pickle.

    Raises:
        OutputError: there can be no file of that name.
        SuiteError: the folder holds no suite or a damaged one, or ``out`` is one of its files.
    """
    check_file_out(out, "--out")
    if out.exists() and not out.is_file():
        raise SuiteError(f"--out {out}: is no regular file", mend="name another file")
    suite = read_suite(folder)
    _check_is_no_part(out, suite)
    rows = [_with_label_names(row) for part in suite.rows.values() for row in part]
    write_text(out.resolve(), _WRITERS[format](rows, suite.described))  # where a link leads
    return len(rows)


def _check_is_no_part(out: Path, suite: WrittenSuite) -> None:
    """Refuse to write over the suite itself."""
    files = [file["path"] for file in suite.described["files"].values()]
    for name in (SUITE_FILE, "README.md", *files):
        if out.resolve() == (suite.folder / name).resolve():
            raise SuiteError(
                f"--out {out}: is a file of the suite itself", mend="name another file"
            )


def _with_label_names(row: Row) -> Row:
    return row | {
        "labels": [LABELS[label] for label in row["labels"]],
        "label": LABELS[row["label"]],
        "sources": [source | {"label": LABELS[source["label"]]} for source in row["sources"]],
    }


def _jsonl(rows: Iterable[Row], _: Mapping[str, Any]) -> str:
    return as_json_lines(rows)


def _csv(rows: Iterable[Row], _: Mapping[str, Any]) -> str:
    rows = list(rows)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writerow({name: spreadsheet_cell(name) for name in writer.fieldnames})
    for row in rows:
        writer.writerow(
            {
                name: json.dumps(value, ensure_ascii=False)
                if isinstance(value, (list, dict))
                else spreadsheet_cell(value)
                for name, value in row.items()
            }
        )
    return file.getvalue()


def _checklist(rows: Iterable[Row], described: Mapping[str, Any]) -> str:
    """One test a capability and kind; a test case is a seed or all expansions of one."""
    cases: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cases[row["capability"], row["kind"]][row["seed_id"]].append(row)
    about = {c["id"]: c for c in described["capabilities"]}
    tests = [
        {
            "name": f"{about[capability]['title']} ({kind})",
            "capability": capability,
            "description": about[capability]["expectation"],
            "type": "MFT",
            "data": [[row["text"] for row in group] for group in groups.values()],
            "labels": [[row["labels"] for row in group] for group in groups.values()],
            "ids": [[row["id"] for row in group] for group in groups.values()],
        }
        for (capability, kind), groups in cases.items()
    ]
    return json.dumps({"tests": tests}, ensure_ascii=False, indent=1) + "\n"


_WRITERS: dict[str, Callable[[Iterable[Row], Mapping[str, Any]], str]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "checklist": _checklist,
}
