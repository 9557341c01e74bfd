"""The leaderboard: one page that needs no network, and files with its data."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from s2lct.files import check_output_folder, write_bytes
from s2lct.hub_calls import is_hub_id
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import PREDICTION_WORDS
from s2lct.leaderboard.models.record import BUILT_IN, OBTAINED, ModelRecord
from s2lct.leaderboard.results.comparison import LEVEL, TEST_WORDS
from s2lct.leaderboard.results.hub import public_suite_name
from s2lct.leaderboard.results.shown_names import ShownNames, look_alikes
from s2lct.leaderboard.results.standings import (
    MAX_TESTED_MODELS,
    Leaderboard,
    Standing,
    SuiteStandings,
    pairwise_tests,
)
from s2lct.leaderboard.scoring.figures import (
    CHANCE_WORDS,
    CONSISTENCY_WORDS,
    MEAN_WORDS,
    RANDOM,
    OverallFigures,
    Reference,
    chance_corrected,
    chance_of,
    pairs_of,
    passing_expansions,
)
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS, indices_by_capability
from s2lct.leaderboard.site.examples import truncate_text
from s2lct.leaderboard.site.packed import BASE64, pack_answers, pack_tests
from s2lct.leaderboard.site.report import capability_words, one_label_of
from s2lct.leaderboard.site.words import (
    BEST_CONSTANT,
    BETTER_WORDS,
    FEW_PAIRS,
    FEW_PAIRS_SIGN,
    FEW_PAIRS_WORDS,
    LEAD_WORDS,
    notes_on,
)
from s2lct.plain_text import MAX_TEXT_CHARACTERS, as_csv, plain
from s2lct.suite.cases import Case
from s2lct.suite.tables import CONTRAST
from s2lct.tables import page_templates

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_KEY_LENGTH = 12
_SCRIPTS = ("basics", "plots", "address", "board", "details", "comparison", "pages")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DECIMALS = 7
# Columns equal for all models of a suite, which the page holds only once.
_SUITE_COLUMNS = ("suite_version", "suite_fingerprint", "cases", "best_constant")
_CAPABILITY_SUFFIXES = ("", "_ci_low", "_ci_high", "_seeds", "_expansions", "_consistency")


def build_site(
    leaderboard: Leaderboard,
    out: Path,
    results: str = "ORG/s2lct-results",
    suite: str = "ORG/s2lct",
) -> tuple[SuiteStandings, ...]:
    """Write index.html and the files beside it; return the standings of each suite.

    leaderboard.csv, .json and .parquet have a row for each model; equal results give equal bytes.
    The page tells readers to score models on ``suite`` and to submit results to ``results``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_output_folder(out, "--out")
    out.mkdir(parents=True, exist_ok=True)
    rows = flat_rows(leaderboard.suites)
    table = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), table)
    contents = (
        as_csv([rows[0], *(row.values() for row in rows)], end="\r\n").encode(),
        f"{json.dumps(rows, indent=1, ensure_ascii=False)}\n".encode(),
        table.getvalue(),
    )
    for name, content in zip(TABLES, contents, strict=True):
        write_bytes(out / name, content)
    how_to_submit = (
        f"s2lct score ORG/MODEL --suite {suite} --out results/\n"
        f"s2lct publish results results/*.json --to {results} --create-pr"
    )
    write_bytes(out / PAGE, page(leaderboard.suites, how_to_submit).encode())
    return leaderboard.suites


# The files beside the page


def flat_rows(boards: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row for each model of each suite, followed by a row for each reference of that suite.

    Rates are in [0, 1], or None if missing. References have the kind ``reference`` and no rank.
    """
    rows: list[dict[str, Any]] = []
    for board in boards:
        least_rate = chance_of(board.references)[1]
        suite_columns = {
            "suite_version": board.suite.version,
            "suite_fingerprint": board.suite.fingerprint,
            "cases": len(board.suite.cases),
            "best_constant": least_rate,
        }
        rows += [suite_columns | _model_row(standing) for standing in board.standings]
        for name, reference in board.references.items():
            rows.append(suite_columns | _reference_row(name, reference, least_rate))
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _model_row(standing: Standing) -> dict[str, Any]:
    result, outcomes = standing.scored
    model, overall = result.model, result.overall
    label, label_share = one_label_of(result) or (None, None)
    is_unanswered = overall.refusals or overall.unreadable
    answered_rate = overall.answered if is_unanswered else overall.failure_rate
    row = {
        "kind": "model",
        "rank_low": standing.rank[0],
        "rank_high": standing.rank[1],
        "model": model.name,
        "revision": model.revision,
        "options": model.unusual_options or None,
        **_overall_columns(overall),
        "chance_corrected": overall.chance_corrected,
    }
    for name, figures in result.capabilities.items():
        kinds = (
            rate.failure_rate if rate.cases else None for rate in (figures.seed, figures.expansion)
        )
        consistency = figures.consistency.share if figures.consistency else None
        rates = (figures.all.failure_rate, *figures.all.ci, *kinds, consistency)
        row |= _capability_columns(name, *rates)
    return row | {
        "pass_to_fail": sum(figures.pass_to_fail for figures in result.capabilities.values()),
        "passing_expansions": len(passing_expansions(outcomes.cases, outcomes.failed)),
        "refusals": overall.refusals,
        "unreadable": overall.unreadable,
        "answered_failure_rate_macro": answered_rate.macro if answered_rate else None,
        "one_answer": label,
        "one_answer_share": label_share,
        "parameters": model.parameters,
        "licence": " ".join((model.licence or "").lower().split()) or None,
        "date": result.date,
        "obtained": standing.how_obtained,
        "endpoint": model.endpoint.url if model.endpoint else None,
        "label_rule": model.label_rule,
        "weights_sha256": model.weights_sha256,
        "result_sha256": standing.sha256,
    }


def _reference_row(name: str, reference: Reference, least_rate: float) -> dict[str, Any]:
    corrected = chance_corrected(reference.failure_rate.macro, least_rate)
    row = {"kind": "reference", "model": name, **_overall_columns(reference)}
    row["chance_corrected"] = corrected
    for capability, rates in reference.capabilities.items():
        kinds = (rates.get("seed"), rates.get("expansion"), rates.get("consistency"))
        row |= _capability_columns(capability, rates["all"], None, None, *kinds)
    return row


def _overall_columns(figures: OverallFigures | Reference) -> dict[str, Any]:
    """Columns for consistency and failure rate over all capabilities; references have no counts."""
    consistency, rate = figures.consistency, figures.failure_rate
    columns: dict[str, Any] = {}
    for name, figure in (("consistency", consistency), ("failure_rate", rate)):
        low, high = getattr(figure, "macro_ci", (None, None))
        columns[f"{name}_macro"] = figure.macro if figure else None
        columns |= {f"{name}_macro_ci_low": low, f"{name}_macro_ci_high": high}
        columns[f"{name}_micro"] = figure.micro if figure else None
        if name == "consistency":
            columns["consistency_right"] = getattr(figure, "right", None)
            columns["consistency_pairs"] = getattr(figure, "pairs", None)
    columns["failures"] = getattr(rate, "failures", None)
    return columns


def _capability_columns(name: str, *rates: float | None) -> dict[str, float | None]:
    columns = (f"{name}{suffix}" for suffix in _CAPABILITY_SUFFIXES)
    return dict(zip(columns, rates, strict=True))


# The page


def page(boards: Sequence[SuiteStandings], how_to_submit: str = "") -> str:
    """The HTML page, which needs no network; it links the files beside it for download."""
    environment = page_templates("s2lct.leaderboard.site").overlay(
        keep_trailing_newline=True, trim_blocks=False, lstrip_blocks=False
    )
    script = "".join(
        environment.get_template(f"site_{name}.js.jinja").render() for name in _SCRIPTS
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = {
        "title": TITLE,
        "labels": list(LABELS),
        "predicted": list(PREDICTION_WORDS),
        "base64": BASE64,
        "files": TABLES,
        "level": LEVEL,
        "words": {
            "chance": CHANCE_WORDS,
            "test": TEST_WORDS,
            "consistency": CONSISTENCY_WORDS,
            "lead": LEAD_WORDS,
            "better": BETTER_WORDS,
            "constant": BEST_CONSTANT,
        },
        "few": {"pairs": FEW_PAIRS, "sign": FEW_PAIRS_SIGN, "words": FEW_PAIRS_WORDS},
        "obtained": OBTAINED,
        "submit": how_to_submit,
        "suites": [_suite_data(board) for board in boards],
    }
    has_contrasts = any(board.suite.contrasts for board in boards)
    words = [*[CONSISTENCY_WORDS, LEAD_WORDS] * has_contrasts]
    words += [MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Escape characters that could end a script element: models and cases hold foreign text.
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return environment.get_template("site.html.jinja").render(
        title=TITLE,
        style=Markup(environment.get_template("site.css.jinja").render()),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        data=Markup(text),
        words=words,
    )


def _suite_data(board: SuiteStandings) -> dict[str, Any]:
    """The page's data on a suite, its cases and its models."""
    suite, names = board.suite, board.capabilities
    rows = flat_rows([board])
    columns = [name for name in rows[0] if name not in _SUITE_COLUMNS]
    values = [_row_values(row, columns) for row in rows]
    results = [standing.scored.result for standing in board.standings]
    shown_names = ShownNames(results)
    # Names on the board come first, then reserved names: built-in models and references.
    look_alike_of = look_alikes(
        [*(result.model.name for result in results), *BUILT_IN, *board.references]
    )
    dates = sorted(result.date[:10] for result in results)
    case_numbers, contrast_numbers = pairs_of(suite.cases, suite.contrasts, CONTRAST)
    models = [
        {
            "key": standing.sha256[:_KEY_LENGTH],
            "row": row,
            **_model_data(standing, names),
            "added": shown_names(result).removeprefix(result.model.name),
            "resembles": look_alike_of.get(result.model.name),
            "note": next(iter(notes_on([result])), None),
        }
        for standing, result, row in zip(board.standings, results, values, strict=False)
    ]
    return {
        "id": suite.fingerprint[:_KEY_LENGTH],
        "name": truncate_text(public_suite_name(suite.name)),
        "version": suite.version,
        "fingerprint": suite.fingerprint,
        "days": " to ".join(dict.fromkeys((dates[0], dates[-1]))),
        "notes": notes_on(results),
        "capabilities": _capabilities_data(suite.cases, names, case_numbers.tolist()),
        "cases": _cases_data(suite.cases, names),
        # In the order of the models' answers, where contrasts follow the cases.
        "contrasts": {
            "case": case_numbers[contrast_numbers.argsort()].tolist(),
            "text": [truncate_text(case.text) for case in suite.contrasts],
            "passes": [sorted(case.passes) for case in suite.contrasts],
        },
        "columns": columns,
        "models": models,
        "references": [{"row": row} for row in values[len(models) :]],
        "chance": chance_of(board.references)[0],
        "random": RANDOM,
        "tests": {
            "models": min(len(models), MAX_TESTED_MODELS),
            "failures": pack_tests(pairwise_tests(board)),
            "consistency": pack_tests(pairwise_tests(board, consistency=True)),
        },
    }


def _capabilities_data(
    cases: Sequence[Case], names: Sequence[str], numbers_with_contrast: Sequence[int]
) -> list[dict[str, Any]]:
    """Capabilities in words; the example is a case's number, of one with a contrast if any."""
    words, numbers_of = capability_words(names), indices_by_capability(cases)
    with_contrast = set(numbers_with_contrast)
    pairs = Counter(cases[number].capability for number in with_contrast)
    return [
        {
            "id": name,
            "example": next(
                (n for n in numbers_of[name] if n in with_contrast), numbers_of[name][0]
            ),
            "cases": len(numbers_of[name]),
            "pairs": pairs.get(name),
            **asdict(words[name]),
        }
        for name in names
    ]


def _cases_data(cases: Sequence[Case], names: Sequence[str]) -> dict[str, list[Any]]:
    """The cases in columns; capabilities and seeds are given by their numbers."""
    number_of = {name: number for number, name in enumerate(names)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    return {
        "id": [case.id for case in cases],
        "text": [truncate_text(case.text) for case in cases],
        "capability": [number_of[case.capability] for case in cases],
        "seed": [seed_number.get(case.seed_id, -1) for case in cases],
        "passes": [sorted(case.passes) for case in cases],
        "inserted": [[truncate_text(word) for word in case.inserted] for case in cases],
    }


def _row_values(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """The values of a row for the page: numbers rounded, texts truncated."""
    values: list[Any] = []
    for name in columns:
        value = row[name]
        if isinstance(value, float):
            value = round(value, _DECIMALS)
        elif isinstance(value, str):
            value = plain(value, MAX_TEXT_CHARACTERS)
        values.append(value)
    return values


def _model_data(standing: Standing, names: Sequence[str]) -> dict[str, Any]:
    """The page's data on a model that are not in its row of the tables."""
    result, outcomes = standing.scored
    overall, capabilities = result.overall, [result.capabilities[name] for name in names]
    consistencies = [figures.consistency for figures in capabilities]
    data: dict[str, Any] = {
        "predictions": pack_answers(outcomes.labels),
        "consistencies": [
            share and [round(value, _DECIMALS) for value in (share.share, *share.ci)]
            for share in consistencies
        ],
    }
    if overall.refusals or overall.unreadable:
        # The numbers of refusals and unreadable answers, and the failure rate without them.
        rates = [overall.answered.macro if overall.answered else None]
        rates += [
            figures.answered.failure_rate if figures.answered else None for figures in capabilities
        ]
        data["silent"] = [
            [figures.refusals, figures.unreadable, rate]
            for figures, rate in zip((overall, *capabilities), rates, strict=True)
        ]
    if hub := hub_page(result.model):
        data["hub"] = hub
    return data


def hub_page(model: ModelRecord) -> str | None:
    """The URL of a model on the Hub at HF_ENDPOINT; None for a model that is not from the Hub.

    Models from the Hub have an owner and a commit; folders and word lists have no commit. A model
    behind an endpoint or in a file of predictions is never linked, whatever its name is.
    """
    from huggingface_hub.constants import ENDPOINT

    is_name_without_revision = is_hub_id(model.name) and "@" not in model.name
    is_on_hub = is_name_without_revision and _COMMIT.fullmatch(model.revision)
    return f"{ENDPOINT}/{model.name}" if is_on_hub and model.rescorable else None
