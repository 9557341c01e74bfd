"""The leaderboard as one static page, with the same figures in files beside it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from s2lct.files import check_folder_out, write_bytes
from s2lct.labels import LABELS
from s2lct.leaderboard.results.collection import UNSCORED, Collection, LabelIds, write_collection
from s2lct.leaderboard.results.comparison import LEVEL, TEST_WORDS, shown_p
from s2lct.leaderboard.results.standings import (
    Standing,
    SuiteStandings,
    all_standings,
    pairwise_tests,
)
from s2lct.leaderboard.scoring.chance import (
    CHANCE_WORDS,
    RANDOM,
    Reference,
    chance_corrected,
    chance_of,
    reference_means,
)
from s2lct.leaderboard.scoring.statistics import (
    INTERVAL_WORDS,
    MEAN_WORDS,
    CapabilityResult,
    Floats,
    Rate,
)
from s2lct.plain_text import spreadsheet_cell

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
TABLES = ("leaderboard.csv", "leaderboard.json", "leaderboard.parquet")
OUTCOMES = "outcomes.parquet"
_DIGITS = 6  # the page shows three: rounding twice must not show
_KEY_LENGTH = 12
_MANTISSAS = 900
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
_RATE_SUFFIXES = ("", "_ci_low", "_ci_high", "_seeds", "_expansions")


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
    check_folder_out(out, "--out")
    out.mkdir(parents=True, exist_ok=True)
    write_collection(collection, out / OUTCOMES)
    standings = all_standings(collection)
    write_tables(standings, out)
    write_bytes(out / PAGE, page(standings).encode("utf-8"))
    return standings


def page(standings: Sequence[SuiteStandings], files: Sequence[str] = (*TABLES, OUTCOMES)) -> str:
    """The page: it needs no network and no file beside it, except to download ``files``."""
    environment = Environment(
        loader=PackageLoader("s2lct.leaderboard.site", "."),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    parts = ("site_parts.js.jinja", "site_views.js.jinja")
    script = "".join(environment.get_template(name).render() for name in parts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    ids = short_ids([one.suite.fingerprint for one in standings])
    data = {
        "title": TITLE,
        "labels": list(LABELS),
        "files": list(files),
        "level": LEVEL,
        "words": {"mean": MEAN_WORDS, "chance": CHANCE_WORDS, "test": TEST_WORDS},
        "suites": [_suite_data(one, ids[one.suite.fingerprint]) for one in standings],
    }
    return environment.get_template("site.html.jinja").render(
        title=TITLE,
        style=Markup(environment.get_template("site.css.jinja").render()),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        data=_script_safe(data),
        words=(MEAN_WORDS, INTERVAL_WORDS, CHANCE_WORDS),
    )


def _script_safe(data: Any) -> Markup:
    """JSON that cannot end a script element: text of models and cases is anybody's."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def capability_words() -> dict[str, tuple[str, str]]:
    """Title and expectation of the shipped capabilities, by id."""
    from s2lct.builder.capabilities import load_capabilities

    return {one.id: (one.title, one.expectation) for one in load_capabilities()}


def short_ids(digests: Sequence[str]) -> dict[str, str]:
    """The first digits of each digest, as many as it takes to tell all of them apart."""
    length = _KEY_LENGTH
    while len({digest[:length] for digest in digests}) < len(set(digests)):
        length += 1
    return {digest: digest[:length] or "unknown" for digest in digests}


def _suite_data(one: SuiteStandings, id: str) -> dict[str, Any]:
    cases = one.suite.cases
    keys = short_ids([standing.model.key for standing in one.standings])
    words = capability_words()
    number_of = {name: number for number, name in enumerate(one.capabilities)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    columns = capability_columns(one.capabilities)
    tests = pairwise_tests(one)
    chance, mean = chance_of(reference_means(one.references))
    return {
        "id": id,
        "version": one.suite.version,
        "official": one.suite.official,
        "fingerprint": one.suite.fingerprint,
        "capabilities": [
            {
                "id": name,
                "column": columns[name],
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
        "models": [
            _model_data(standing, one.capabilities, keys[standing.model.key])
            for standing in one.standings
        ],
        "references": [
            _reference_data(reference, mean, one.capabilities) for reference in one.references
        ],
        "chance": chance,
        "random": RANDOM,
        "tests": {"models": tests.models, "p": packed_p_values(tests.adjusted)},
    }


def _reference_data(
    reference: Reference, chance: float, capabilities: Sequence[str]
) -> dict[str, Any]:
    rates = (reference.capabilities[name] for name in capabilities)
    return {
        "name": reference.name,
        "overall": _rounded(reference.failure_rate),
        "corrected": _rounded(chance_corrected(reference.failure_rate, chance)),
        "capabilities": [
            [_rounded(rate.get(kind)) for kind in ("all", "seed", "expansion")] for rate in rates
        ],
    }


def _model_data(standing: Standing, capabilities: Sequence[str], key: str) -> dict[str, Any]:
    model = standing.model
    outside = standing.outside_training
    return {
        "key": key,
        "sha256": model.key,
        "name": model.name,
        "revision": model.revision,
        "weights": model.weights_sha256,
        "rule": model.label_rule,
        "options": model.options,
        "parameters": model.parameters,
        "licence": model.licence,
        "date": model.date,
        "verified": model.verified,
        "cases": standing.cases,
        "rank": standing.rank,
        "overall": _figure(standing.overall),
        "corrected": _rounded(standing.chance_corrected),
        "capabilities": [
            _figures(standing.capabilities[name]) if name in standing.capabilities else None
            for name in capabilities
        ],
        "one": standing.one_answer and [LABELS[standing.one_answer[0]], standing.one_answer[1]],
        "flips": [standing.pass_to_fail, standing.passing_expansions],
        "compared": [standing.training_known, _splits_in_words(standing)],
        "outside": None if outside is None else [*_figure(outside), outside.cases],
        "said": packed(model.labels),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _splits_in_words(standing: Standing) -> str:
    return " ".join(standing.compared_with)


def _figure(rate: Rate) -> list[float]:
    return [round(value, _DIGITS) for value in (rate.failure_rate, *rate.ci)]


def _figures(of: CapabilityResult) -> list[float | None]:
    """Rate and bounds on all cases, rates on seeds and on expansions."""
    return [
        *_figure(of.all),
        *(_rounded(one.failure_rate) if one.cases else None for one in (of.seed, of.expansion)),
    ]


def packed_p_values(p_values: Floats) -> str:
    """P-values as base64, two bytes each (the lower first): three digits and an exponent."""
    codes: list[int] = []
    for value in p_values.ravel().tolist():
        digits, exponent = f"{shown_p(value):.2e}".split("e")
        codes.append(-int(exponent) * _MANTISSAS + round(100 * float(digits)) - 100)
    return base64.b64encode(np.array(codes, dtype="<u2").tobytes()).decode()


def packed(labels: LabelIds) -> str:
    """Label ids as base64, two bits a case from the lowest on; 3 where the model was not asked."""
    codes = np.where(labels == UNSCORED, 3, labels).astype(np.uint8)
    codes = np.pad(codes, (0, -len(codes) % 4), constant_values=3).reshape(-1, 4)
    return base64.b64encode(
        (codes << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(1, np.uint8)
    ).decode()


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
        revision=model.revision,
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
        compared_with=_splits_in_words(standing),
        outside_training=outside.failure_rate if outside else None,
        outside_training_cases=outside.cases if outside else 0,
        cases=standing.cases,
        parameters=model.parameters,
        licence=model.licence,
        date=model.date,
        verified=model.verified or None,
        label_rule=model.label_rule,
        weights_sha256=model.weights_sha256,
        result_sha256=model.key,
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
