"""The leaderboard as one static page, with the same figures in files beside it."""

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

import numpy as np
from markupsafe import Markup

from s2lct.files import check_folder_out, write_bytes
from s2lct.hub_calls import is_hub_id
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import PREDICTED
from s2lct.leaderboard.models.record import BUILT_IN, OBTAINED, ModelRecord, stands_apart
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
from s2lct.leaderboard.scoring import statistics
from s2lct.leaderboard.scoring.figures import (
    CHANCE_WORDS,
    CONSISTENCY_WORDS,
    MEAN_WORDS,
    RANDOM,
    Reference,
    chance_corrected,
    chance_of,
    pairs_of,
    passing_expansions,
)
from s2lct.leaderboard.site.examples import cut
from s2lct.leaderboard.site.packed import packed_answers, packed_tests
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
from s2lct.plain_text import as_csv, plain
from s2lct.suite.tables import CONTRAST
from s2lct.tables import page_templates

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_KEY_LENGTH = 12
_SCRIPTS = ("basics", "plots", "address", "board", "details", "comparison", "pages")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LONGEST_SHOWN = 300
_DIGITS = 7
# The same for all models of a suite, and told once there.
_OF_SUITE = ("suite_version", "suite_fingerprint", "cases", "best_constant")
_OF_CAPABILITY = ("", "_ci_low", "_ci_high", "_seeds", "_expansions", "_consistency")


def build_site(
    collection: Leaderboard,
    out: Path,
    results: str = "ORG/s2lct-results",
    suite: str = "ORG/s2lct",
) -> tuple[SuiteStandings, ...]:
    """Write index.html and the files beside it; return the standings, suite by suite.

    leaderboard.csv, .json and .parquet have a row a model. The page is written last; the same
    results give the same bytes. It tells whoever wants to hand in a result to score on ``suite``
    and to publish to ``results``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_folder_out(out, "--out")
    out.mkdir(parents=True, exist_ok=True)
    rows = flat_rows(collection.suites)
    table = io.BytesIO()
    text = as_csv([rows[0], *(row.values() for row in rows)], end="\r\n")
    pq.write_table(pa.Table.from_pylist(rows), table)
    written = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    contents = (text.encode(), written.encode(), table.getvalue())
    for name, content in zip(TABLES, contents, strict=True):
        write_bytes(out / name, content)
    submit = (
        f"s2lct score ORG/MODEL --suite {suite} --out results/\n"
        f"s2lct publish results results/*.json --to {results} --create-pr"
    )
    write_bytes(out / PAGE, page(collection.suites, submit).encode())
    return collection.suites


# The files beside the page


def flat_rows(standings: Sequence[SuiteStandings]) -> list[dict[str, Any]]:
    """A row a model and suite, and behind a suite's models one for each reference.

    Rates are in [0, 1], None where there is none. References are of the kind ``reference`` and
    have no rank. Capabilities that only some suites have are None elsewhere.
    """
    rows: list[dict[str, Any]] = []
    for one in standings:
        least = chance_of(one.references)[1]
        suite = {
            "suite_version": one.suite.version,
            "suite_fingerprint": one.suite.fingerprint,
            "cases": len(one.suite.cases),
            "best_constant": least,
        }
        rows += [suite | _of_model(of) for of in one.standings]
        rows += [suite | _of_reference(*of, least) for of in one.references.items()]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _of_model(of: Standing) -> dict[str, Any]:
    result, outcomes = of.scored
    model, overall, share = result.model, result.overall, result.overall.consistency
    label, of_label = one_label_of(result) or (None, None)
    rate = overall.failure_rate
    answered = overall.answered if overall.refusals or overall.unreadable else rate
    row = {
        "kind": "model",
        "rank_low": of.rank[0],
        "rank_high": of.rank[1],
        "model": model.name,
        "revision": model.revision,
        "options": stands_apart(model) or None,
        "consistency_macro": share.macro if share else None,
        "consistency_macro_ci_low": share.macro_ci[0] if share else None,
        "consistency_macro_ci_high": share.macro_ci[1] if share else None,
        "consistency_micro": share.micro if share else None,
        "consistency_right": share.right if share else None,
        "consistency_pairs": share.pairs if share else None,
        "failure_rate_macro": rate.macro,
        "failure_rate_macro_ci_low": rate.macro_ci[0],
        "failure_rate_macro_ci_high": rate.macro_ci[1],
        "failure_rate_micro": rate.micro,
        "failures": rate.failures,
        "chance_corrected": overall.chance_corrected,
    }
    for name, figures in result.capabilities.items():
        kinds = (
            kind.failure_rate if kind.cases else None for kind in (figures.seed, figures.expansion)
        )
        right = figures.consistency.share if figures.consistency else None
        row |= _rates(name, figures.all.failure_rate, *figures.all.ci, *kinds, right)
    return row | {
        "pass_to_fail": sum(one.pass_to_fail for one in result.capabilities.values()),
        "passing_expansions": len(passing_expansions(outcomes.cases, outcomes.failed)),
        "refusals": overall.refusals,
        "unreadable": overall.unreadable,
        "answered_failure_rate_macro": answered.macro if answered else None,
        "one_answer": label,
        "one_answer_share": of_label,
        "parameters": model.parameters,
        "licence": " ".join((model.licence or "").lower().split()) or None,
        "date": result.date,
        "obtained": of.obtained,
        "endpoint": model.endpoint.url if model.endpoint else None,
        "label_rule": model.label_rule,
        "weights_sha256": model.weights_sha256,
        "result_sha256": of.sha256,
    }


def _of_reference(name: str, reference: Reference, least: float) -> dict[str, Any]:
    row = {
        "kind": "reference",
        "model": name,
        "consistency_macro": reference.consistency.macro if reference.consistency else None,
        "consistency_micro": reference.consistency.micro if reference.consistency else None,
        "failure_rate_macro": reference.failure_rate.macro,
        "failure_rate_micro": reference.failure_rate.micro,
        "chance_corrected": chance_corrected(reference.failure_rate.macro, least),
    }
    for capability, of in reference.capabilities.items():
        kinds = (of.get("seed"), of.get("expansion"), of.get("consistency"))
        row |= _rates(capability, of["all"], None, None, *kinds)
    return row


def _rates(name: str, *rates: float | None) -> dict[str, float | None]:
    return dict(zip((f"{name}{suffix}" for suffix in _OF_CAPABILITY), rates, strict=True))


# The page


def page(standings: Sequence[SuiteStandings], submit: str = "") -> str:
    """The page: it needs no network and no file beside it, except to download them."""
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
        "said": list(PREDICTED),
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
        "submit": submit,
        "suites": [_suite_data(one) for one in standings],
    }
    contrasts = any(one.suite.contrasts for one in standings)
    words = [*[CONSISTENCY_WORDS, LEAD_WORDS] * contrasts, MEAN_WORDS]
    words += [statistics.INTERVAL_WORDS, CHANCE_WORDS]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Nothing that could end a script element: text of models and cases is anybody's.
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


def _suite_data(one: SuiteStandings) -> dict[str, Any]:
    cases, names = one.suite.cases, one.capabilities
    words = capability_words(names)
    number_of = {name: number for number, name in enumerate(names)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    of_name = statistics.by_name(cases)
    own, contrasts = pairs_of(cases, one.suite.contrasts, CONTRAST)
    with_contrast = set(own.tolist())
    pairs = Counter(cases[number].capability for number in with_contrast)
    failures, consistency = pairwise_tests(one), pairwise_tests(one, consistency=True)
    rows = flat_rows([one])
    columns = [name for name in rows[0] if name not in _OF_SUITE]
    results = [of.scored.result for of in one.standings]
    shown = ShownNames(results)
    # Of the board's own names first, then of those that stand for something whoever submits.
    names_here = [result.model.name for result in results]
    like = look_alikes([*names_here, *BUILT_IN, *one.references])
    days = sorted(result.date[:10] for result in results)
    return {
        "id": one.suite.fingerprint[:_KEY_LENGTH],
        "name": cut(public_suite_name(one.suite.name)),
        "version": one.suite.version,
        "fingerprint": one.suite.fingerprint,
        "days": " to ".join(dict.fromkeys((days[0], days[-1]))),
        "notes": notes_on(results),
        "capabilities": [
            {
                "id": name,
                # A case that has a contrast, if any has.
                "example": next((n for n in of_name[name] if n in with_contrast), of_name[name][0]),
                "cases": len(of_name[name]),
                "pairs": pairs.get(name),
            }
            | asdict(words[name])
            for name in names
        ],
        "cases": {
            "id": [case.id for case in cases],
            "text": [cut(case.text) for case in cases],
            "capability": [number_of[case.capability] for case in cases],
            "seed": [seed_number.get(case.seed_id, -1) for case in cases],
            "passes": [sorted(case.passes) for case in cases],
            "inserted": [[cut(word) for word in case.inserted] for case in cases],
        },
        # In the order in which models were asked, behind the cases.
        "contrasts": {
            "case": own[np.argsort(contrasts)].tolist(),
            "text": [cut(case.text) for case in one.suite.contrasts],
            "passes": [sorted(case.passes) for case in one.suite.contrasts],
        },
        "columns": columns,
        "models": [
            {"key": of.sha256[:_KEY_LENGTH], "row": _row_data(row, columns)}
            | _model_data(of, names)
            | {
                "added": shown(result).removeprefix(result.model.name),
                "resembles": like.get(result.model.name),
                "note": next(iter(notes_on([result])), None),
            }
            for of, result, row in zip(one.standings, results, rows, strict=False)
        ],
        "references": [{"row": _row_data(row, columns)} for row in rows[len(one.standings) :]],
        "chance": chance_of(one.references)[0],
        "random": RANDOM,
        "tests": {
            "models": min(len(one.standings), MAX_TESTED_MODELS),
            "failures": packed_tests(failures),
            "consistency": packed_tests(consistency),
        },
    }


def _row_data(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """A row as the page has it: no more digits than it shows, and no text without end."""
    return [
        round(value, _DIGITS)
        if isinstance(value := row[name], float)
        else plain(value, _LONGEST_SHOWN)
        if isinstance(value, str)
        else value
        for name in columns
    ]


def _model_data(of: Standing, names: Sequence[str]) -> dict[str, Any]:
    """What the page says of a model and the tables do not."""
    result, outcomes = of.scored
    overall, figures = result.overall, [result.capabilities[name] for name in names]
    shares = [one.consistency for one in figures]
    data = {
        "said": packed_answers(outcomes.labels),
        "consistencies": [
            share and [round(value, _DIGITS) for value in (share.share, *share.ci)]
            for share in shares
        ],
        # How many cases were refused and cannot be read, and the failure rate of the others.
        "silent": [
            [overall.refusals, overall.unreadable, overall.answered and overall.answered.macro],
            *(
                [one.refusals, one.unreadable, one.answered and one.answered.failure_rate]
                for one in figures
            ),
        ]
        if overall.refusals or overall.unreadable
        else None,
        "hub": hub_page(result.model),
    }
    return {name: value for name, value in data.items() if value is not None}


def hub_page(model: ModelRecord) -> str | None:
    """The address of a model on the Hub that HF_ENDPOINT names; None for one that is not there.

    A model was loaded from the Hub where it has an owner and a commit: folders, word lists and what
    answers behind an address have no commit. What an endpoint or a file of predictions calls itself
    says nothing of the Hub's model of that name.
    """
    from huggingface_hub.constants import ENDPOINT

    on_hub = is_hub_id(model.name) and "@" not in model.name and _COMMIT.fullmatch(model.revision)
    return f"{ENDPOINT}/{model.name}" if on_hub and model.rescorable else None
