"""The standings as flat tables: a row a model, and one for each reference."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.files import write_bytes
from s2lct.labels import LABELS
from s2lct.leaderboard.results.standings import Standing, SuiteStandings
from s2lct.leaderboard.scoring.chance import Reference, chance_corrected, chance_of, reference_means
from s2lct.leaderboard.scoring.statistics import Rate
from s2lct.plain_text import spreadsheet_cell

TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_COLUMNS_BEFORE = (
    "suite_version",
    "suite_fingerprint",
    "suite_official",
    "kind",
    "rank_low",
    "rank_high",
    "model",
    "revision",
    "options",
    "failure_rate",
    "ci_low",
    "ci_high",
    "chance",
    "chance_corrected",
)
_COLUMNS_BEHIND = (
    "pass_to_fail",
    "passing_expansions",
    "one_answer",
    "one_answer_share",
    "training_data_known",
    "compared_with",
    "outside_training",
    "outside_training_cases",
    "cases",
    "parameters",
    "licence",
    "date",
    "verified",
    "label_rule",
    "weights_sha256",
    "result_sha256",
)
_OF_MODEL = ("revision", "parameters", "licence", "date", "label_rule", "weights_sha256")
_RATE_SUFFIXES = ("", "_ci_low", "_ci_high", "_seeds", "_expansions")


def splits_in_words(standing: Standing) -> str:
    """The splits that a model's cases are held against."""
    return " ".join(standing.compared_with)


def flat_rows(standings: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row a model and suite, and behind a suite's models one for each reference.

    Rates are in [0, 1], None where there is none. References are of the kind ``reference`` and
    have no rank. Capabilities that only some suites have are None elsewhere.
    """
    names = dict.fromkeys(name for one in standings for name in one.capabilities)
    columns = capability_columns(names)
    rows: list[dict[str, Any]] = []
    for one in standings:
        rows += [_flat_row(one, standing, columns) for standing in one.standings]
        rows += [_flat_reference(one, reference, columns) for reference in one.references]
    return rows


def capability_columns(
    names: Iterable[str], others: Iterable[str] = (*_COLUMNS_BEFORE, *_COLUMNS_BEHIND)
) -> dict[str, str]:
    """The column of each capability: its name, with a prefix where another column has it."""
    taken = set(others)
    columns: dict[str, str] = {}
    for name in names:
        column = name
        while not taken.isdisjoint(own := [f"{column}{suffix}" for suffix in _RATE_SUFFIXES]):
            column = f"capability_{column}"
        taken.update(own)
        columns[name] = column
    return columns


def _flat_row(
    one: SuiteStandings, standing: Standing, columns: Mapping[str, str]
) -> dict[str, Any]:
    model, outside = standing.model, standing.outside_training
    low, high = standing.rank or (None, None)
    label, share = standing.one_answer or (None, None)
    rates = {
        name: (of.all.failure_rate, *of.all.ci, _known(of.seed), _known(of.expansion))
        for name, of in standing.capabilities.items()
    }
    return _row(
        one,
        columns,
        rates,
        kind="model",
        rank_low=low,
        rank_high=high,
        model=model.name,
        options=model.options or None,
        failure_rate=standing.overall.failure_rate,
        ci_low=standing.overall.ci[0],
        ci_high=standing.overall.ci[1],
        chance=standing.chance,
        chance_corrected=standing.chance_corrected,
        pass_to_fail=standing.pass_to_fail,
        passing_expansions=standing.passing_expansions,
        one_answer=None if label is None else LABELS[label],
        one_answer_share=share,
        training_data_known=standing.training_known,
        compared_with=splits_in_words(standing),
        outside_training=outside.failure_rate if outside else None,
        outside_training_cases=outside.cases if outside else 0,
        cases=standing.cases,
        verified=model.verified or None,
        result_sha256=model.key,
        **{name: getattr(model, name) for name in _OF_MODEL},
    )


def _known(rate: Rate) -> float | None:
    return rate.failure_rate if rate.cases else None


def _flat_reference(
    one: SuiteStandings, reference: Reference, columns: Mapping[str, str]
) -> dict[str, Any]:
    chance = chance_of(reference_means(one.references))[1]
    rates = {
        name: (of["all"], None, None, of.get("seed"), of.get("expansion"))
        for name, of in reference.capabilities.items()
    }
    return _row(
        one,
        columns,
        rates,
        kind="reference",
        model=reference.name,
        failure_rate=reference.failure_rate,
        chance=chance,
        chance_corrected=chance_corrected(reference.failure_rate, chance),
        cases=len(one.suite.cases),
    )


def _row(
    one: SuiteStandings,
    columns: Mapping[str, str],
    rates: Mapping[str, Sequence[float | None]],
    **values: Any,
) -> dict[str, Any]:
    suite = one.suite
    values |= {"suite_version": suite.version, "suite_fingerprint": suite.fingerprint}
    values["suite_official"] = suite.official
    row = {name: values.get(name) for name in _COLUMNS_BEFORE}
    for name, column in columns.items():
        own = rates.get(name, [None] * len(_RATE_SUFFIXES))
        row |= {f"{column}{end}": value for end, value in zip(_RATE_SUFFIXES, own, strict=True)}
    return row | {name: values.get(name) for name in _COLUMNS_BEHIND}


def write_tables(standings: Sequence[SuiteStandings], out: Path) -> None:
    """Write the rows of `flat_rows` as CSV, JSON and Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = flat_rows(standings)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([spreadsheet_cell(name) for name in rows[0]] if rows else [])
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    write_bytes(out / TABLES[0], text.getvalue().encode("utf-8"))
    write_bytes(
        out / TABLES[1], (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    )
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    write_bytes(out / TABLES[2], buffer.getvalue())
