"""Write what is left of a suite as a suite of the same schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from s2lct.analysis.coverage.measured_suites import is_checklist
from s2lct.analysis.coverage.minimize import Reduced
from s2lct.errors import AnalysisError, SuiteError
from s2lct.files import check_folder_out, whole_folder
from s2lct.suite.cases import SuiteCases
from s2lct.suite.read import WrittenSuite, read_description, read_suite
from s2lct.suite.write import write_suite_files

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
    rows_of = {
        name: [row for row in rows if row["id"] in reduced.kept]
        for name, rows in suite.rows.items()
    }
    if not any(rows_of.values()):
        raise AnalysisError(
            f"threshold {reduced.threshold:g}: no case stays", mend="pass a lower --threshold"
        )
    counts: dict[str, dict[str, Any]] = {}
    for name, before in described["counts"].items():
        kinds = Counter(row["kind"] for row in rows_of.get(name, ()))
        counts[name] = {**before, "seeds": kinds["seed"], "expansions": kinds["expansion"]}
    reduced_from = {
        **about,
        "fingerprint": described["fingerprint"],
        "threshold": reduced.threshold,
        "seeds_kept_for_expansions": len(reduced.for_expansions),
    }
    write_suite_files(work, rows_of, {**described, "counts": counts, "reduced_from": reduced_from})


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
