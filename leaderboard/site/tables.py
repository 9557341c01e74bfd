"""The standings as flat tables: a row a model, and one for each reference."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from s2lct.files import write_bytes
from s2lct.labels import LABELS
from s2lct.leaderboard.results.standings import Standing, SuiteStandings
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES
from s2lct.leaderboard.scoring.chance import Reference, chance_corrected, chance_of, reference_means
from s2lct.leaderboard.scoring.statistics import Rate
from s2lct.leaderboard.site.model_facts import licence_name
from s2lct.plain_text import spreadsheet_cell

TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_COLUMNS_BEFORE = (
    "suite_version", "suite_fingerprint", "suite_official", "kind", "rank_low", "rank_high",
    "model", "revision", "options", "failure_rate", "ci_low", "ci_high", "chance",
    "chance_corrected",
)  # fmt: skip
_COLUMNS_BEHIND = (
    "pass_to_fail", "passing_expansions", "both_sides", "both_sides_ci_low", "both_sides_ci_high",
    "both_sides_pairs", "refusals", "unreadable", "answered_failure_rate", "prompt", "prompts",
    "prompts_mean", "prompts_low", "prompts_high", "prompts_pass_to_fail", "one_answer",
    "one_answer_share", "training_data_known",
    "compared_with", "outside_training", "outside_training_cases", "cases", "parameters",
    "licence", "date", "verified", "endpoint", "label_rule", "weights_sha256", "result_sha256",
)  # fmt: skip
_OF_MODEL = ("revision", "parameters", "date", "label_rule", "weights_sha256")
_RATE_SUFFIXES = ("", "_ci_low", "_ci_high", "_seeds", "_expansions", "_both_sides")


def flat_rows(standings: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row a model and suite, and behind a suite's models one for each reference.

    Rates are in [0, 1], None where there is none. References are of the kind ``reference`` and
    have no rank. Capabilities that only some suites have are None elsewhere.
    """
    names = dict.fromkeys(name for one in standings for name in one.capabilities)
    columns = capability_columns(names)
    of_rates = [f"{column}{suffix}" for column in columns.values() for suffix in _RATE_SUFFIXES]
    rows: list[dict[str, Any]] = []
    for one in standings:
        suite, chance = one.suite, chance_of(reference_means(one.references))[1]
        facts: dict[str, Any] = {"suite_version": suite.version, "suite_official": suite.official}
        facts["suite_fingerprint"] = suite.fingerprint
        values = [_of_model(of) for of in one.standings]
        values += [_of_reference(of, chance, len(suite.cases)) for of in one.references]
        for own in values:
            told = own | facts
            for name, of in own["rates"].items():
                pairs = zip(_RATE_SUFFIXES, of, strict=True)
                told |= {f"{columns[name]}{suffix}": value for suffix, value in pairs}
            ordered = (*_COLUMNS_BEFORE, *of_rates, *_COLUMNS_BEHIND)
            rows.append({name: told.get(name) for name in ordered})
    return rows


def capability_columns(names: Iterable[str]) -> dict[str, str]:
    """The column of each capability: its name, with a prefix where another column has it."""
    taken = {*_COLUMNS_BEFORE, *_COLUMNS_BEHIND}
    columns: dict[str, str] = {}
    for name in names:
        column = name
        while not taken.isdisjoint(own := [f"{column}{suffix}" for suffix in _RATE_SUFFIXES]):
            column = f"capability_{column}"
        taken.update(own)
        columns[name] = column
    return columns


def _of_model(standing: Standing) -> dict[str, Any]:
    model, outside, overall = standing.model, standing.outside_training, standing.overall
    label, share = standing.one_answer or (None, None)
    sides, prompt, silence = standing.both_sides, standing.prompt, standing.silences.get("overall")
    answered = silence.answered if silence else overall
    of_name = sides.capabilities if sides else {}
    return {name: getattr(model, name) for name in _OF_MODEL} | {
        "rates": {
            name: (
                *(of.all.failure_rate, *of.all.ci, _known(of.seed), _known(of.expansion)),
                of_name[name].share if name in of_name else None,
            )
            for name, of in standing.capabilities.items()
        },
        "kind": "model",
        **dict(zip(("rank_low", "rank_high"), standing.rank or (None, None), strict=True)),
        "model": model.name,
        "options": model.options or None,
        "licence": licence_name(model.licence),
        "failure_rate": overall.failure_rate,
        **dict(zip(("ci_low", "ci_high"), overall.ci, strict=True)),
        "chance": standing.chance,
        "chance_corrected": standing.chance_corrected,
        "pass_to_fail": standing.pass_to_fail,
        "passing_expansions": standing.passing_expansions,
        "both_sides": sides.overall.share if sides else None,
        "both_sides_ci_low": sides.overall.ci[0] if sides else None,
        "both_sides_ci_high": sides.overall.ci[1] if sides else None,
        "both_sides_pairs": sides.overall.pairs if sides else None,
        "refusals": silence.refusals if silence else 0,
        "unreadable": silence.unreadable if silence else 0,
        "answered_failure_rate": answered.failure_rate if answered else None,
        "prompt": prompt.number if prompt else None,
        "prompts": prompt.count if prompt else None,
        "prompts_mean": prompt.spread.mean if prompt else None,
        "prompts_low": prompt.spread.low if prompt else None,
        "prompts_high": prompt.spread.high if prompt else None,
        "prompts_pass_to_fail": prompt.pass_to_fail if prompt else None,
        "one_answer": None if label is None else LABELS[label],
        "one_answer_share": share,
        "training_data_known": standing.training_known,
        "compared_with": " ".join(standing.compared_with),
        "outside_training": outside.failure_rate if outside else None,
        "outside_training_cases": outside.cases if outside else 0,
        "cases": standing.cases,
        "verified": model.verified or None,
        "endpoint": model.endpoint or None,
        "result_sha256": model.key,
    }


def _known(rate: Rate) -> float | None:
    return rate.failure_rate if rate.cases else None


def _of_reference(reference: Reference, chance: float, cases: int) -> dict[str, Any]:
    return {
        "rates": {
            name: (of["all"], None, None, of.get("seed"), of.get("expansion"), of.get(BOTH_SIDES))
            for name, of in reference.capabilities.items()
        },
        "kind": "reference",
        "model": reference.name,
        "failure_rate": reference.failure_rate,
        "both_sides": reference.both_sides,
        "cases": cases,
        "chance": chance,
        "chance_corrected": chance_corrected(reference.failure_rate, chance),
    }


def write_tables(standings: Sequence[SuiteStandings], out: Path) -> None:
    """Write the rows of `flat_rows` as CSV, JSON and Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = flat_rows(standings)
    text, table = io.StringIO(newline=""), io.BytesIO()
    writer = csv.writer(text)
    writer.writerows([spreadsheet_cell(name) for name in row] for row in rows[:1])
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), table)
    written = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    contents = (text.getvalue().encode("utf-8"), written.encode("utf-8"), table.getvalue())
    for name, content in zip(TABLES, contents, strict=True):
        write_bytes(out / name, content)
