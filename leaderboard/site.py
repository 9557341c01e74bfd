"""The leaderboard as one static page, with the same figures in files beside it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from s2lct.builder.checkpoint import write_bytes
from s2lct.builder.records import LABELS
from s2lct.leaderboard.collection import UNSCORED, Collection, LabelIds, write_collection
from s2lct.leaderboard.standings import Standing, SuiteStandings, all_standings
from s2lct.leaderboard.statistics import Rate

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
OUTCOMES = "outcomes.parquet"
_DIGITS = 6  # the page shows three: rounding twice must not show
_KEY_LENGTH = 12
_FORMULA = re.compile(r"[=+\-@\t\r]")


def build_site(collection: Collection, out: Path) -> list[SuiteStandings]:
    """Write the page and the files beside it.

    Each file is written whole or not at all, the page last. The same results give the same bytes.

    Args:
        collection: the results.
        out: folder for index.html, leaderboard.csv, .json and .parquet (a row a model), and
            outcomes.parquet (a row a model and case), from which all of them can be built again.

    Returns:
        The standings, suite by suite.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_collection(collection, out / OUTCOMES)
    standings = all_standings(collection)
    write_tables(standings, out)
    write_bytes(out / PAGE, page(standings).encode("utf-8"))
    return standings


def page(standings: Sequence[SuiteStandings], files: Sequence[str] = (*TABLES, OUTCOMES)) -> str:
    """The page: it needs no network and no file beside it, except to download ``files``."""
    environment = Environment(
        loader=PackageLoader("s2lct.leaderboard", "."),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    parts = ("site_parts.js.jinja", "site_views.js.jinja")
    script = "".join(environment.get_template(name).render() for name in parts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = {
        "title": TITLE,
        "labels": list(LABELS),
        "files": list(files),
        "suites": [_suite_data(one) for one in standings],
    }
    return environment.get_template("site.html.jinja").render(
        title=TITLE,
        style=Markup(environment.get_template("site.css.jinja").render()),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        data=_script_safe(data),
    )


def _script_safe(data: Any) -> Markup:
    """JSON that cannot end a script element: text of models and cases is anybody's."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def capability_words() -> dict[str, tuple[str, str]]:
    """Title and expectation of the shipped capabilities, by id."""
    from s2lct.builder.capabilities import read_capability, shipped_capability_files

    read = [read_capability(path) for path in shipped_capability_files()]
    return {one.id: (one.title, one.expectation) for one in read}


def _suite_data(one: SuiteStandings) -> dict[str, Any]:
    cases = one.suite.cases
    words = capability_words()
    number_of = {name: number for number, name in enumerate(one.capabilities)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    return {
        "id": one.suite.fingerprint[:_KEY_LENGTH] or "unknown",
        "version": one.suite.version,
        "fingerprint": one.suite.fingerprint,
        "capabilities": [
            {
                "id": name,
                "title": words.get(name, ("", ""))[0],
                "expectation": words.get(name, ("", ""))[1],
            }
            for name in one.capabilities
        ],
        "cases": {
            "id": [case.id for case in cases],
            "text": [case.text for case in cases],
            "capability": [number_of[case.capability] for case in cases],
            "seed": [
                n if case.kind == "seed" else seed_number.get(case.seed_id, -1)
                for n, case in enumerate(cases)
            ],
            "passes": [sum(1 << label for label in case.passes) for case in cases],
            "inserted": [list(case.inserted) or 0 for case in cases],
        },
        "models": [_model_data(standing, one.capabilities) for standing in one.standings],
    }


def _model_data(standing: Standing, capabilities: Sequence[str]) -> dict[str, Any]:
    model = standing.model
    outside = standing.outside_training
    return {
        "key": model.key[:_KEY_LENGTH],
        "sha256": model.key,
        "name": model.name,
        "revision": model.revision,
        "weights": model.weights_sha256,
        "rule": model.label_rule,
        "parameters": model.parameters,
        "licence": model.licence,
        "date": model.date,
        "verified": model.verified,
        "cases": standing.cases,
        "rank": standing.rank,
        "overall": _figure(standing.overall),
        "capabilities": [
            _figure(standing.capabilities[name]) if name in standing.capabilities else None
            for name in capabilities
        ],
        "flips": [standing.pass_to_fail, standing.passing_expansions],
        "compared": [standing.training_known, _splits_in_words(standing)],
        "outside": None if outside is None else [*_figure(outside), outside.cases],
        "said": packed(model.labels),
    }


def _splits_in_words(standing: Standing) -> str:
    return " ".join(standing.compared_with)


def _figure(rate: Rate) -> list[float]:
    return [round(value, _DIGITS) for value in (rate.failure_rate, *rate.ci)]


def packed(labels: LabelIds) -> str:
    """Label ids as base64, two bits a case from the lowest on; 3 where the model was not asked."""
    codes = np.where(labels == UNSCORED, 3, labels).astype(np.uint8)
    codes = np.pad(codes, (0, -len(codes) % 4), constant_values=3).reshape(-1, 4)
    return base64.b64encode(
        (codes << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(1, np.uint8)
    ).decode()


def flat_rows(standings: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row a model and suite; rates in [0, 1], None where there is none.

    Capabilities that only some suites have are None elsewhere.
    """
    names = dict.fromkeys(name for one in standings for name in one.capabilities)
    return [
        _flat_row(one, standing, list(names)) for one in standings for standing in one.standings
    ]


def _flat_row(one: SuiteStandings, standing: Standing, names: Sequence[str]) -> dict[str, Any]:
    model, outside = standing.model, standing.outside_training
    low, high = standing.rank or (None, None)
    row: dict[str, Any] = {
        "suite_version": one.suite.version,
        "suite_fingerprint": one.suite.fingerprint,
        "rank_low": low,
        "rank_high": high,
        "model": model.name,
        "revision": model.revision,
        "failure_rate": standing.overall.failure_rate,
        "ci_low": standing.overall.ci[0],
        "ci_high": standing.overall.ci[1],
    }
    for name in names:
        rate = standing.capabilities.get(name)
        row[name] = rate.failure_rate if rate else None
        row[f"{name}_ci_low"], row[f"{name}_ci_high"] = rate.ci if rate else (None, None)
    return row | {
        "pass_to_fail": standing.pass_to_fail,
        "passing_expansions": standing.passing_expansions,
        "training_data_known": standing.training_known,
        "compared_with": _splits_in_words(standing),
        "outside_training": outside.failure_rate if outside else None,
        "outside_training_cases": outside.cases if outside else 0,
        "cases": standing.cases,
        "parameters": model.parameters,
        "licence": model.licence,
        "date": model.date,
        "verified": model.verified or None,
        "label_rule": model.label_rule,
        "weights_sha256": model.weights_sha256,
        "result_sha256": model.key,
    }


def write_tables(standings: Sequence[SuiteStandings], out: Path) -> None:
    """Write the rows of `flat_rows` as CSV, JSON and Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = flat_rows(standings)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(list(rows[0]) if rows else [])
    writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
    write_bytes(out / TABLES[0], text.getvalue().encode("utf-8"))
    write_bytes(
        out / TABLES[1], (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    )
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    write_bytes(out / TABLES[2], buffer.getvalue())


def _csv_cell(value: Any) -> Any:
    # A spreadsheet would run a cell that starts like a formula.
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
