"""The standings as flat rows, one a model and one for each reference, and as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s2lct.files import write_bytes
from s2lct.labels import LABELS
from s2lct.leaderboard.results.standings import Standing, SuiteStandings
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES
from s2lct.leaderboard.scoring.chance import Reference, chance_corrected, chance_of, reference_means
from s2lct.leaderboard.scoring.statistics import Rate
from s2lct.plain_text import spreadsheet_cell

TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_OF_CAPABILITY = ("", "_ci_low", "_ci_high", "_seeds", "_expansions", "_both_sides")


def flat_rows(standings: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row a model and suite, and behind a suite's models one for each reference.

    Rates are in [0, 1], None where there is none. References are of the kind ``reference`` and
    have no rank. Capabilities that only some suites have are None elsewhere.
    """
    rows: list[dict[str, Any]] = []
    for one in standings:
        chance = chance_of(reference_means(one.references))[1]
        suite = {
            "suite_version": one.suite.version,
            "suite_fingerprint": one.suite.fingerprint,
            "cases": len(one.suite.cases),
            "chance": chance,
        }
        rows += [suite | _of_model(of) for of in one.standings]
        rows += [suite | _of_reference(of, chance) for of in one.references]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _of_model(of: Standing) -> dict[str, Any]:
    model, overall, prompt = of.scored.model, of.overall, of.prompt
    label, share = of.one_answer or (None, None)
    silence = of.silences.get("overall")
    answered = silence.answered if silence else overall
    both = of.both_sides.overall if of.both_sides else None
    of_name = of.both_sides.capabilities if of.both_sides else {}
    row = {
        "kind": "model",
        "rank_low": of.rank[0],
        "rank_high": of.rank[1],
        "model": model.name,
        "revision": model.revision,
        "options": of.scored.options or None,
        "failure_rate": overall.failure_rate,
        "ci_low": overall.ci[0],
        "ci_high": overall.ci[1],
        "chance_corrected": of.chance_corrected,
    }
    for name, figures in of.capabilities.items():
        sides = of_name[name].share if name in of_name else None
        rates = (figures.all.failure_rate, *figures.all.ci)
        row |= _rates(name, *rates, _known(figures.seed), _known(figures.expansion), sides)
    return row | {
        "pass_to_fail": of.pass_to_fail,
        "passing_expansions": of.passing_expansions,
        "both_sides": both.share if both else None,
        "both_sides_ci_low": both.ci[0] if both else None,
        "both_sides_ci_high": both.ci[1] if both else None,
        "both_sides_pairs": both.pairs if both else None,
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
        "parameters": model.parameters,
        "licence": " ".join((model.licence or "").lower().split()) or None,
        "date": of.scored.date,
        "verified": of.scored.verified or None,
        "endpoint": model.endpoint.url if model.endpoint else None,
        "label_rule": model.label_rule,
        "weights_sha256": model.weights_sha256,
        "result_sha256": of.scored.key,
    }


def _of_reference(reference: Reference, chance: float) -> dict[str, Any]:
    row = {
        "kind": "reference",
        "model": reference.name,
        "failure_rate": reference.failure_rate,
        "both_sides": reference.both_sides,
        "chance_corrected": chance_corrected(reference.failure_rate, chance),
    }
    for name, of in reference.capabilities.items():
        kinds = (of.get("seed"), of.get("expansion"), of.get(BOTH_SIDES))
        row |= _rates(name, of["all"], None, None, *kinds)
    return row


def _rates(name: str, *rates: float | None) -> dict[str, float | None]:
    return dict(zip((f"{name}{suffix}" for suffix in _OF_CAPABILITY), rates, strict=True))


def _known(rate: Rate) -> float | None:
    return rate.failure_rate if rate.cases else None


def write_tables(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Write rows as CSV, JSON and Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, table = io.StringIO(newline=""), io.BytesIO()
    writer = csv.writer(text)
    writer.writerows([spreadsheet_cell(name) for name in row] for row in rows[:1])
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), table)
    written = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    contents = (text.getvalue().encode("utf-8"), written.encode("utf-8"), table.getvalue())
    for name, content in zip(TABLES, contents, strict=True):
        write_bytes(out / name, content)
