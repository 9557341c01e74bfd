"""The leaderboard as one static page, with the same figures in files beside it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from s2lct.files import check_folder_out, write_bytes
from s2lct.hub_calls import is_hub_id
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import PREDICTED
from s2lct.leaderboard.models.record import stands_apart
from s2lct.leaderboard.results.comparison import LEVEL, TEST_WORDS, shown_p
from s2lct.leaderboard.results.standings import (
    MOST_TESTED,
    Collection,
    PairTests,
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
    passing_expansions,
)
from s2lct.leaderboard.site.report import capability_words, one_label_of
from s2lct.plain_text import as_csv
from s2lct.tables import page_templates

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
_KEY_LENGTH = 12
_SCRIPTS = ("basics", "plots", "address", "board", "details", "comparison", "pages")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OF_CAPABILITY = ("", "_ci_low", "_ci_high", "_seeds", "_expansions", "_consistency")


def build_site(
    collection: Collection,
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
            "chance": least,
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
        "words": {"chance": CHANCE_WORDS, "test": TEST_WORDS, "consistency": CONSISTENCY_WORDS},
        "submit": submit,
        "suites": [_suite_data(one) for one in standings],
    }
    contrasts = any(one.suite.contrasts for one in standings)
    words = [*[CONSISTENCY_WORDS] * contrasts, MEAN_WORDS]
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
    examples = {name: numbers[0] for name, numbers in statistics.by_name(cases).items()}
    failures, consistency = pairwise_tests(one), pairwise_tests(one, consistency=True)
    rows = flat_rows([one])
    return {
        "id": one.suite.fingerprint[:_KEY_LENGTH],
        "version": one.suite.version,
        "fingerprint": one.suite.fingerprint,
        "capabilities": [
            {"id": name, "example": examples[name]} | asdict(words[name]) for name in names
        ],
        "cases": {
            "id": [case.id for case in cases],
            "text": [case.text for case in cases],
            "capability": [number_of[case.capability] for case in cases],
            "seed": [seed_number.get(case.seed_id, -1) for case in cases],
            "passes": [sorted(case.passes) for case in cases],
            "inserted": [list(case.inserted) for case in cases],
        },
        "models": [
            {"key": of.sha256[:_KEY_LENGTH], "row": row} | _model_data(of, names)
            for of, row in zip(one.standings, rows, strict=False)
        ],
        "references": [{"row": row} for row in rows[len(one.standings) :]],
        "chance": chance_of(one.references)[0],
        "random": RANDOM,
        "tests": {
            "models": min(len(one.standings), MOST_TESTED),
            "failures": _tests_data(failures),
            "consistency": _tests_data(consistency),
        },
    }


def _tests_data(tests: PairTests) -> dict[str, Any]:
    """Tests of pairs for the page: p-values, and who is better: 0, 1 or null."""
    return {
        "capabilities": tests.capabilities,
        "p": [[shown_p(value) for value in pair] for pair in tests.p_values.tolist()],
        "better": tests.better,
    }


def _model_data(of: Standing, names: Sequence[str]) -> dict[str, Any]:
    """What the page says of a model and the tables do not."""
    result, outcomes = of.scored
    overall, figures = result.overall, [result.capabilities[name] for name in names]
    shares = [one.consistency for one in figures]
    return {
        "hub": hub_page(result.model.name, result.model.revision),
        "said": "".join(map(str, outcomes.labels[: len(outcomes.cases)])),
        "consistencies": [share and [share.share, *share.ci, share.pairs] for share in shares],
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
    }


def hub_page(name: str, revision: str) -> str | None:
    """The address of a model on the Hub that HF_ENDPOINT names; None for one that is not there.

    A model was loaded from the Hub where it has an owner and a commit: folders, word lists and what
    answers behind an address have no commit.
    """
    from huggingface_hub.constants import ENDPOINT

    on_hub = is_hub_id(name) and "@" not in name and _COMMIT.fullmatch(revision)
    return f"{ENDPOINT}/{name}" if on_hub else None
