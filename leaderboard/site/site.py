"""The leaderboard as one static page, with the same figures in files beside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from s2lct.files import check_folder_out, write_bytes
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import REFUSED, SAID, UNREADABLE
from s2lct.leaderboard.results.comparison import LEVEL, TEST_WORDS, shown_p
from s2lct.leaderboard.results.scored import (
    UNSCORED,
    Collection,
    LabelIds,
    passing,
    write_collection,
)
from s2lct.leaderboard.results.standings import (
    Standing,
    SuiteStandings,
    all_standings,
    pairwise_tests,
)
from s2lct.leaderboard.scoring import chance, statistics
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES, BOTH_SIDES_WORDS, Share
from s2lct.leaderboard.scoring.score import Silence
from s2lct.leaderboard.site.about import ANYWHERE, CITATION, Destination
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.leaderboard.site.model_facts import hub_page, licence_name
from s2lct.leaderboard.site.tables import TABLES, capability_columns, write_tables
from s2lct.pages import page_templates

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
OUTCOMES = "outcomes.parquet"
_DIGITS = 6  # the page shows three: rounding twice must not show
_KEY_LENGTH = 12
_MANTISSAS = 900
_OF_MODEL = ("options", "parameters", "date", "verified", "endpoint")
_SCRIPTS = ("basics", "plots", "address", "board", "details", "comparison", "pages")
_EXAMPLE_LENGTH = (20, 100)
"""In letters: an example shows what a capability is at a glance."""


def build_site(
    collection: Collection, out: Path, submit_to: Destination = ANYWHERE
) -> list[SuiteStandings]:
    """Write index.html and the files beside it; return the standings, suite by suite.

    leaderboard.csv, .json and .parquet have a row a model; from outcomes.parquet, a row a model and
    case, all can be built again. The page is written last; the same results give the same bytes.
    The page tells whoever wants to hand in a result to ``submit_to``.
    """
    check_folder_out(out, "--out")
    out.mkdir(parents=True, exist_ok=True)
    write_collection(collection, out / OUTCOMES)
    standings = all_standings(collection)
    write_tables(standings, out)
    write_bytes(out / PAGE, page(standings, submit_to).encode("utf-8"))
    return standings


def page(standings: Sequence[SuiteStandings], submit_to: Destination = ANYWHERE) -> str:
    """The page: it needs no network and no file beside it, except to download them."""
    environment = page_templates("s2lct.leaderboard.site").overlay(
        keep_trailing_newline=True, trim_blocks=False, lstrip_blocks=False
    )
    script = "".join(
        environment.get_template(f"site_{name}.js.jinja").render() for name in _SCRIPTS
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    ids = short_ids([one.suite.fingerprint for one in standings])
    data = {
        "title": TITLE,
        "labels": list(LABELS),
        "silent": list(SAID[len(LABELS) :]),
        "files": [*TABLES, OUTCOMES],
        "level": LEVEL,
        "words": {
            "mean": statistics.MEAN_WORDS,
            "chance": chance.CHANCE_WORDS,
            "test": TEST_WORDS,
            "both": BOTH_SIDES_WORDS,
        },
        "submit": submit_to.commands(),
        "citation": CITATION,
        "suites": [{"id": ids[one.suite.fingerprint]} | _suite_data(one) for one in standings],
    }
    words = [statistics.MEAN_WORDS, statistics.INTERVAL_WORDS, chance.CHANCE_WORDS]
    if any(of.both_sides for one in standings for of in one.standings):
        words.append(BOTH_SIDES_WORDS)
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


def short_ids(digests: Sequence[str]) -> dict[str, str]:
    """The first digits of each digest, as many as it takes to tell all of them apart."""
    length = _KEY_LENGTH
    while len({digest[:length] for digest in digests}) < len(set(digests)):
        length += 1
    return {digest: digest[:length] or "unknown" for digest in digests}


def _suite_data(one: SuiteStandings) -> dict[str, Any]:
    cases, names = one.suite.cases, one.capabilities
    keys = short_ids([standing.model.key for standing in one.standings])
    words = capability_words(names)
    number_of = {name: number for number, name in enumerate(names)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    columns = capability_columns(names)
    examples = _examples(one)
    tested, p_values = pairwise_tests(one)
    best, mean = chance.chance_of(chance.reference_means(one.references))
    return {
        "version": one.suite.version,
        "official": one.suite.official,
        "fingerprint": one.suite.fingerprint,
        "capabilities": [
            {"id": name, "column": columns[name], "example": examples[name]} | asdict(words[name])
            for name in names
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
        "models": [_model_data(of, names, keys[of.model.key]) for of in one.standings],
        "references": [
            {
                "name": reference.name,
                "overall": _rounded(reference.failure_rate),
                "corrected": _rounded(chance.chance_corrected(reference.failure_rate, mean)),
                "capabilities": [
                    [
                        _rounded(reference.capabilities[name].get(kind))
                        for kind in ("all", "seed", "expansion")
                    ]
                    for name in names
                ],
                "both": [
                    _rounded(reference.both_sides),
                    [_rounded(reference.capabilities[name].get(BOTH_SIDES)) for name in names],
                ],
            }
            for reference in one.references
        ],
        "chance": best,
        "random": chance.RANDOM,
        "tests": {"models": tested, "p": packed_p_values(p_values)},
    }


def _examples(one: SuiteStandings) -> dict[str, int]:
    """A seed of each capability: of those that are soon read, what most models fail, the shortest.

    A capability without seeds gives any case.
    """
    cases = one.suite.cases
    labels = np.stack([model.labels for model in one.suite.models])
    failed = ~passing(cases)[np.arange(len(cases)), labels] & (labels != UNSCORED)
    failing = failed.sum(axis=0)
    least, most = _EXAMPLE_LENGTH

    def order(number: int) -> tuple[bool, bool, int, int, int]:
        length = len(cases[number].text)
        soon_read = least <= length <= most
        return cases[number].kind != "seed", not soon_read, -int(failing[number]), length, number

    return {name: min(own, key=order) for name, own in statistics.by_name(cases).items()}


def _model_data(standing: Standing, capabilities: Sequence[str], key: str) -> dict[str, Any]:
    model, outside, of = standing.model, standing.outside_training, standing.capabilities
    sides = standing.both_sides
    return {
        "key": key,
        "sha256": model.key,
        "name": model.name,
        "revision": model.revision,
        "weights": model.weights_sha256,
        "rule": model.label_rule,
        **{name: getattr(model, name) for name in _OF_MODEL},
        "licence": licence_name(model.licence),
        "hub": hub_page(model.name, model.revision),
        "cases": standing.cases,
        "rank": standing.rank,
        "overall": _figure(standing.overall),
        "corrected": _rounded(standing.chance_corrected),
        "capabilities": [_figures(of[name]) if name in of else None for name in capabilities],
        "one": standing.one_answer and [LABELS[standing.one_answer[0]], standing.one_answer[1]],
        "both": None if sides is None else _share(sides.overall),
        "sides": [
            _share(sides.capabilities[name]) if sides and name in sides.capabilities else None
            for name in capabilities
        ],
        "prompts": _prompts(standing),
        "flips": [standing.pass_to_fail, standing.passing_expansions],
        "compared": [standing.training_known, " ".join(standing.compared_with)],
        "outside": None if outside is None else [*_figure(outside), outside.cases],
        "said": packed(model.labels),
        # Nothing of these for a model that gave every case a label.
        "unsaid": packed_silences(model.labels),
        "silent": [_silence(standing.silences.get(name)) for name in ("overall", *capabilities)]
        if standing.silences
        else None,
    }


def _silence(of: Silence | None) -> list[float | None]:
    """How many cases were refused and cannot be read, and the failure rate of the others."""
    if of is None:
        return [0, 0, None]
    rate = of.answered.failure_rate if of.answered else None
    return [of.refusals, of.unreadable, _rounded(rate)]


def _prompts(standing: Standing) -> dict[str, float] | None:
    """Which prompt of how many, and mean, lowest and highest rate over them."""
    if (of := standing.prompt) is None:
        return None
    rates = {name: round(rate, _DIGITS) for name, rate in asdict(of.spread).items()}
    return {"number": of.number, "count": of.count, **rates}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _figure(rate: statistics.Rate) -> list[float]:
    return [round(value, _DIGITS) for value in (rate.failure_rate, *rate.ci)]


def _share(of: Share) -> list[float]:
    """Share and bounds, and of how many pairs."""
    return [*(round(value, _DIGITS) for value in (of.share, *of.ci)), of.pairs]


def _figures(of: statistics.CapabilityResult) -> list[float | None]:
    """Rate and bounds on all cases, rates on seeds and on expansions."""
    kinds = [_rounded(one.failure_rate) if one.cases else None for one in (of.seed, of.expansion)]
    return [*_figure(of.all), *kinds]


def packed_p_values(p_values: statistics.Floats) -> str:
    """P-values as base64, two bytes each (the lower first): three digits and an exponent."""
    codes: list[int] = []
    for value in p_values.ravel().tolist():
        digits, exponent = f"{shown_p(value):.2e}".split("e")
        codes.append(-int(exponent) * _MANTISSAS + round(100 * float(digits)) - 100)
    return base64.b64encode(np.array(codes, dtype="<u2").tobytes()).decode()


def packed(labels: LabelIds) -> str:
    """Label ids as base64, two bits a case from the lowest on; 3 where the model gave none."""
    codes = np.where((labels == UNSCORED) | (labels > 2), 3, labels).astype(np.uint8)
    codes = np.pad(codes, (0, -len(codes) % 4), constant_values=3).reshape(-1, 4)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    return base64.b64encode((codes << shifts).sum(1, np.uint8)).decode()


def packed_silences(labels: LabelIds) -> str | None:
    """Which cases were refused (0) and cannot be read (1), as `packed` does; None without any."""
    silent = np.full(len(labels), UNSCORED, dtype=np.int8)
    silent[labels == REFUSED], silent[labels == UNREADABLE] = 0, 1
    return packed(silent) if (silent != UNSCORED).any() else None
