"""Exports a suite to one file, JSON lines, CSV or CheckList's JSON, or shows it in a terminal."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from s2lct.errors import SuiteError
from s2lct.files import as_json_lines, check_output_file, write_text
from s2lct.labels import LABELS
from s2lct.plain_text import as_csv
from s2lct.suite.capability_ids import chosen_capabilities
from s2lct.suite.read import read_suite
from s2lct.suite.tables import CONTRAST, KINDS, Row
from s2lct.suite.write import files_of_suite

Family = list[Row]
_SIGNS = {"seed": "", "expansion": "  + ", CONTRAST: "  ↔ "}


def export_suite(folder: Path, out: Path, format: str) -> int:
    """Write the rows of a suite to a file, with names for labels.

    Args:
        folder: the suite.
        out: the file.
        format: ``jsonl``: one row per line; ``csv``: nested values as JSON, texts safe in
            spreadsheets; ``checklist``: tests of CheckList (Ribeiro et al. 2020), no contrasts.

    Returns:
        The number of rows.

    Raises:
        OutputError: no file can have that path.
        SuiteError: the folder holds no suite or a damaged one, or ``out`` is one of its files.
    """
    check_output_file(out, "--out")
    suite = read_suite(folder)
    if out.resolve() in [(folder / name).resolve() for name in files_of_suite(folder)]:
        raise SuiteError(f"--out {out}: is a file of the suite itself", hint="name another file")
    rows = [
        row
        | {
            "labels": [LABELS[label] for label in row["labels"]],
            "label": LABELS[row["label"]],
            "sources": [source | {"label": LABELS[source["label"]]} for source in row["sources"]],
        }
        for row in suite.all_rows
    ]
    write_text(out.resolve(), _WRITERS[format](rows, suite.described))  # where a link leads
    return len(rows)


def _csv(rows: list[Row], _: Mapping[str, Any]) -> str:
    cells = (
        [
            json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value
            for value in row.values()
        ]
        for row in rows
    )
    return as_csv([rows[0] if rows else (), *cells])


def _checklist(rows: Iterable[Row], described: Mapping[str, Any]) -> str:
    """A test for each capability and kind; a test case is a seed or all expansions of one seed."""
    tests_by_seed: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in (row for row in rows if row["kind"] in KINDS):
        tests_by_seed[row["capability"], row["kind"]][row["seed_id"]].append(row)
    described_capability = {c["id"]: c for c in described["capabilities"]}
    tests = [
        {
            "name": f"{described_capability[capability]['title']} ({kind})",
            "capability": capability,
            "description": described_capability[capability]["expectation"],
            "type": "MFT",
            "data": [[row["text"] for row in group] for group in groups.values()],
            "labels": [[row["labels"] for row in group] for group in groups.values()],
            "ids": [[row["id"] for row in group] for group in groups.values()],
        }
        for (capability, kind), groups in tests_by_seed.items()
    ]
    return json.dumps({"tests": tests}, ensure_ascii=False, indent=1) + "\n"


_WRITERS: dict[str, Callable[[list[Row], Mapping[str, Any]], str]] = {
    "jsonl": lambda rows, _: as_json_lines(rows),
    "csv": _csv,
    "checklist": _checklist,
}


def families(folder: Path, capabilities: Sequence[str], n: int) -> dict[str, list[Family]]:
    """Families of a suite by capability: a seed and its expansions, each followed by its contrast.

    Args:
        folder: the suite.
        capabilities: ids of capabilities; empty for all.
        n: the number of families of each capability; every call draws the same ones.

    Raises:
        SuiteError: the folder holds no suite, or a damaged one.
        ScoringError: the suite lacks a capability.
    """
    suite = read_suite(folder)
    families_of_capability: dict[str, list[Family]] = {}
    chosen = (
        chosen_capabilities(capabilities, list(suite.rows), str(folder))
        if capabilities
        else suite.rows
    )
    for name in chosen:
        rows = suite.rows[name]
        contrasts = {row["seed_id"]: row for row in rows if row["kind"] == CONTRAST}
        family_of_seed: dict[str, Family] = {}
        for row in sorted(rows, key=lambda row: row["kind"] != "seed"):
            if row["kind"] in KINDS:
                family = family_of_seed.setdefault(row["seed_id"], [])
                family += [row, *(contrasts[id] for id in (row["id"],) if id in contrasts)]
        all_families = list(family_of_seed.values())
        indices = random.Random(0).sample(range(len(all_families)), min(n, len(all_families)))
        families_of_capability[name] = [all_families[index] for index in sorted(indices)]
    return families_of_capability


def lines_of(family: Family) -> Iterator[Text]:
    """The rows of a family as lines of a terminal, with inserted words in brackets."""
    for row in family:
        labels = " or ".join(LABELS[label] for label in row["labels"])
        remark = f"  ({labels})"
        if row["kind"] == "expansion":
            production = row["production"]
            remark = f"  {production['lhs']} → {' '.join(production['reference_rhs'])}"
        text, end = Text(), 0
        for word in row["inserted"]:
            text.append(row["text"][end : word["start"]])
            text.append(f"[{row['text'][word['start'] : word['end']]}]", "bold green")
            end = word["end"]
        text.append(row["text"][end:])
        yield Text.assemble(_SIGNS[row["kind"]], text, (remark, "dim"))
