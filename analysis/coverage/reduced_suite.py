"""Write what is left of a suite as a suite of the same schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from s2lct.analysis.coverage.measured_suites import is_checklist
from s2lct.analysis.coverage.minimize import Reduced
from s2lct.cards import render_dataset_card
from s2lct.errors import AnalysisError, SuiteError
from s2lct.files import (
    check_folder_out,
    one_folder,
    sha256_of,
    whole_file,
    whole_folder,
    write_text,
)
from s2lct.suite.cases import SuiteCases
from s2lct.suite.checks import rows_fingerprint
from s2lct.suite.read import WrittenSuite, read_description, read_suite
from s2lct.suite.tables import SPLIT, SUITE_FILE, example_of, table_of

README = "README.md"


def write_reduced_suite(
    folder: Path, reduced: Reduced, out: Path, about: Mapping[str, Any]
) -> None:
    """Write the kept cases of a built suite as a suite of the same schema.

    The new folder must not exist or hold a reduced suite. ``about`` is recorded in ``suite.json``
    under ``reduced_from``.

    Raises:
        AnalysisError: ``out`` is in the way, or nothing stays.
        SuiteError: the suite cannot be read.
    """
    check_out(out)
    suite = read_suite(folder)
    with whole_folder(out) as work:
        _fill(work, suite, reduced, about)


def _fill(work: Path, suite: WrittenSuite, reduced: Reduced, about: Mapping[str, Any]) -> None:
    described = suite.described
    files: dict[str, dict[str, Any]] = {}
    every: list[dict[str, Any]] = []
    examples: dict[str, dict[str, str]] = {}
    kinds = {name: {"seed": 0, "expansion": 0} for name in described["counts"]}
    for capability, whole in suite.rows.items():
        rows = [row for row in whole if row["id"] in reduced.kept]
        if not rows:
            continue
        path = work / "data" / one_folder(capability) / f"{SPLIT}-00000-of-00001.parquet"
        table = table_of(rows)
        with whole_file(path) as written:
            pq.write_table(table, written, compression="zstd", store_schema=True)
        files[capability] = {
            "path": path.relative_to(work).as_posix(),
            "rows": len(rows),
            "bytes": path.stat().st_size,
            "memory": table.nbytes,
            "sha256": sha256_of(path),
        }
        every += rows
        examples[capability] = example_of(rows)
        for row in rows:
            kinds[capability][row["kind"]] += 1
    if not files:
        raise AnalysisError(
            f"threshold {reduced.threshold:g}: no case stays", mend="pass a lower --threshold"
        )
    new = dict(described) | {
        "fingerprint": rows_fingerprint(every),
        "files": files,
        "counts": {
            name: dict(counts)
            | {"seeds": kinds[name]["seed"], "expansions": kinds[name]["expansion"]}
            for name, counts in described["counts"].items()
        },
        "reduced_from": dict(about)
        | {
            "fingerprint": described["fingerprint"],
            "threshold": reduced.threshold,
            "seeds_kept_for_expansions": len(reduced.for_expansions),
        },
    }
    write_text(work / SUITE_FILE, json.dumps(new, indent=2, sort_keys=True) + "\n")
    write_text(work / README, render_dataset_card(new, examples))


def check_out(out: Path) -> None:
    """Refuse to write over what is no reduced suite.

    Raises:
        AnalysisError: something else is there.
    """
    check_folder_out(out, "--out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        if "reduced_from" in read_description(out):
            return
    except SuiteError:
        pass
    raise AnalysisError(
        f"--out {out}: something else is there", mend="name a folder that does not exist yet"
    )


def check_reducible(suite: SuiteCases) -> None:
    """Refuse a suite that cannot be written again: one of the Hub.

    Raises:
        AnalysisError: it is neither a folder nor CheckList's JSON lines.
    """
    if not Path(suite.name).is_dir() and not is_checklist(suite.name):
        raise AnalysisError(
            f"suite {suite.name}: no folder",
            mend="download it first: hf download --repo-type dataset ID --local-dir DIR",
        )
