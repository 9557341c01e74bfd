"""The leaderboard as one static page, with the same figures in files beside it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from s2lct.files import check_folder_out, write_bytes
from s2lct.hub_calls import is_hub_id
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import SAID
from s2lct.leaderboard.results.collection import Collection
from s2lct.leaderboard.results.comparison import LEVEL, TEST_WORDS, shown_p
from s2lct.leaderboard.results.standings import (
    Standing,
    SuiteStandings,
    all_standings,
    pairwise_tests,
    passing,
)
from s2lct.leaderboard.scoring import chance, statistics
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES_WORDS, Share
from s2lct.leaderboard.scoring.score import Silence
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.leaderboard.site.tables import TABLES, flat_rows, write_tables
from s2lct.tables import page_templates

TITLE = "S²LCT leaderboard"
PAGE = "index.html"
CITATION = """\
@software{s2lct,
  title   = {s2lct: behavioural tests for sentiment models, one linguistic capability at a time},
  author  = {{The s2lct developers}},
  version = {0.1.0},
  license = {Apache-2.0}
}

@article{s2lct-method,
  title  = {S²LCT: Specification- and Syntax-based Linguistic Capability Testing
            for Sentiment Analysis},
  author = {{The S²LCT authors}},
  note   = {The method; this software is an independent implementation.}
}
"""
"""What CITATION.cff says, as BibTeX."""
_DIGITS = 6  # the page shows three: rounding twice must not show
_KEY_LENGTH = 12
_SCRIPTS = ("basics", "plots", "address", "board", "details", "comparison", "pages")
_EXAMPLE_LENGTH = (20, 100)
"""In letters: an example shows what a capability is at a glance."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


def build_site(
    collection: Collection,
    out: Path,
    results: str = "ORG/s2lct-results",
    suite: str = "ORG/s2lct",
) -> list[SuiteStandings]:
    """Write index.html and the files beside it; return the standings, suite by suite.

    leaderboard.csv, .json and .parquet have a row a model. The page is written last; the same
    results give the same bytes. It tells whoever wants to hand in a result to score on ``suite``
    and to publish to ``results``.
    """
    check_folder_out(out, "--out")
    out.mkdir(parents=True, exist_ok=True)
    standings = all_standings(collection)
    write_tables(flat_rows(standings), out)
    submit = (
        f"s2lct score ORG/MODEL --suite {suite} --out results/\n"
        f"s2lct publish results results/*.json --to {results} --create-pr"
    )
    write_bytes(out / PAGE, page(standings, submit).encode("utf-8"))
    return standings


def page(standings: Sequence[SuiteStandings], submit: str = "") -> str:
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
        "said": list(SAID),
        "files": TABLES,
        "level": LEVEL,
        "words": {
            "mean": statistics.MEAN_WORDS,
            "chance": chance.CHANCE_WORDS,
            "test": TEST_WORDS,
            "both": BOTH_SIDES_WORDS,
        },
        "submit": submit,
        "citation": CITATION,
        "suites": [{"id": ids[one.suite.fingerprint]} | _suite_data(one) for one in standings],
    }
    words = [statistics.MEAN_WORDS, statistics.INTERVAL_WORDS, chance.CHANCE_WORDS]
    if any(of.both_sides for one in standings for of in one.standings):
        words.append(BOTH_SIDES_WORDS)
    text = json.dumps(_rounded(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
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
    keys = short_ids([of.scored.key for of in one.standings])
    words = capability_words(names)
    number_of = {name: number for number, name in enumerate(names)}
    seed_number = {case.id: n for n, case in enumerate(cases) if case.kind == "seed"}
    examples = _examples(one)
    tested, p_values = pairwise_tests(one)
    rows = flat_rows([one])
    return {
        "version": one.suite.version,
        "fingerprint": one.suite.fingerprint,
        "capabilities": [
            {"id": name, "example": examples[name]} | asdict(words[name]) for name in names
        ],
        "cases": {
            "id": [case.id for case in cases],
            "text": [case.text for case in cases],
            "capability": [number_of[case.capability] for case in cases],
            "seed": [
                n if case.kind == "seed" else seed_number.get(case.seed_id, -1)
                for n, case in enumerate(cases)
            ],
            "passes": [sorted(case.passes) for case in cases],
            "inserted": [list(case.inserted) for case in cases],
        },
        "models": [
            {"key": keys[of.scored.key], "row": row} | _model_data(of, one)
            for of, row in zip(one.standings, rows, strict=False)
        ],
        "references": [{"row": row} for row in rows[len(one.standings) :]],
        "chance": chance.chance_of(chance.reference_means(one.references))[0],
        "random": chance.RANDOM,
        "tests": {
            "models": tested,
            "p": [[shown_p(value) for value in pair] for pair in p_values.tolist()],
        },
    }


def _examples(one: SuiteStandings) -> dict[str, int]:
    """A seed of each capability: of those that are soon read, what most models fail, the shortest.

    A capability without seeds gives any case.
    """
    cases = one.suite.cases
    labels = np.stack([of.scored.labels[: len(cases)] for of in one.standings])
    failing = (~passing(cases)[np.arange(len(cases)), labels]).sum(axis=0)
    least, most = _EXAMPLE_LENGTH

    def order(number: int) -> tuple[bool, bool, int, int, int]:
        length = len(cases[number].text)
        soon_read = least <= length <= most
        return cases[number].kind != "seed", not soon_read, -int(failing[number]), length, number

    return {name: min(own, key=order) for name, own in statistics.by_name(cases).items()}


def _model_data(of: Standing, one: SuiteStandings) -> dict[str, Any]:
    """What the page says of a model and the tables do not."""
    sides, names = of.both_sides, one.capabilities
    return {
        "hub": hub_page(of.scored.model.name, of.scored.model.revision),
        "said": "".join(map(str, of.scored.labels[: len(one.suite.cases)])),
        "sides": [
            _share(sides.capabilities[name]) if sides and name in sides.capabilities else None
            for name in names
        ],
        "silent": [_silence(of.silences.get(name)) for name in ("overall", *names)]
        if of.silences
        else None,
    }


def _share(of: Share) -> list[float]:
    """Share and bounds, and of how many pairs."""
    return [of.share, *of.ci, of.pairs]


def _silence(of: Silence | None) -> list[float | None]:
    """How many cases were refused and cannot be read, and the failure rate of the others."""
    if of is None:
        return [0, 0, None]
    return [of.refusals, of.unreadable, of.answered.failure_rate if of.answered else None]


def hub_page(name: str, revision: str) -> str | None:
    """The address of a model on the Hub that HF_ENDPOINT names; None for one that is not there.

    A model was loaded from the Hub where it has an owner and a commit: folders, word lists and what
    answers behind an address have no commit.
    """
    from huggingface_hub.constants import ENDPOINT

    on_hub = is_hub_id(name) and "@" not in name and _COMMIT.fullmatch(revision)
    return f"{ENDPOINT}/{name}" if on_hub else None


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
