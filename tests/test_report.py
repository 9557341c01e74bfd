"""Reports and comparisons in the terminal and as a page."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_results import made_suite, make_outcomes, make_result, suite_at
from rich.console import Console
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.read_results import ScoredModel, Suites, read_scored
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.site.examples import mark_insertions
from s2lct.leaderboard.site.report import (
    comparison_tables,
    html_report,
    models_table,
    results_tables,
)
from s2lct.leaderboard.site.words import FEW_PAIRS_WORDS, LEAD_WORDS, notes_on
from s2lct.suite.cases import Case

WIDTH = 80
TODAY = datetime.now(timezone.utc).date().isoformat()
LONG = "cardiffnlp/twitter-roberta-base-sentiment-latest"
NAMES = [LONG, "vader", "afinn", "x" * 74, "embedded-2class", "a/b", "c/d", "e/f", "textblob"]
PASSES = {f"LC{n}": {n % 3} if n % 4 else {1, 2} for n in range(1, 12)}
CASES = tuple(
    Case(
        f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"Film {n} of {name} & {kind} also.",
        frozenset(passes), ("also",) if kind == "expansion" else (),
    )
    for name, passes in PASSES.items()
    for n in range(12)
    for kind in ("seed", "expansion")
)  # fmt: skip
CONTRASTS = tuple(
    Case(f"LC4-{n}-other", "LC4", "contrast", f"LC4-{n}-seed", f"Other {n}.", frozenset({0}))
    for n in range(12)
)
SUITE = made_suite(CASES, CONTRASTS)
SUITES = Suites([SUITE])


def written(name: str, folder: Path, labels: Any = None, **facts: Any) -> Path:
    """A model that answers as ``labels``, or at random."""
    rng = np.random.default_rng(len(name))
    said = rng.integers(0, 3, len(CASES)) if labels is None else labels
    outcomes = make_outcomes(SUITE, name=name, labels=said, **facts)
    return write_result(outcomes, folder)


def scored(*paths: Path) -> list[ScoredModel]:
    return [read_scored(path, SUITES) for path in paths]


def printed(*tables: object, width: int = WIDTH) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for table in tables:
        console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def percent(rate: float) -> str:
    return f"{100 * rate:.1f}"


def page_tables(page: str) -> dict[str, list[list[str]]]:
    """The tables of a page as cells of text, by the heading above each."""
    found: dict[str, list[list[str]]] = {}
    for heading, table in re.findall(
        r"<h[23]>([^<]*)</h[23]>(?:(?!<h[23]>).)*?<table class=\"grid\">(.*?)</table>",
        page,
        re.DOTALL,
    ):
        found[heading] = [
            [
                " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
                for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            ]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        ]
    return found


@pytest.mark.parametrize("count", [1, 2, len(NAMES)])
def test_tables_of_any_number_of_models_fit_80_columns_whole(count: int, tmp_path: Path) -> None:
    results = [one.result for one in scored(*(written(name, tmp_path) for name in NAMES[:count]))]
    lines = printed(*results_tables(results))
    assert max(map(len, lines)) <= WIDTH
    text = re.sub(r"\s", "", "".join(lines))
    for result in results:
        # A long name is folded, and none is cut.
        assert result.model.name in text or len(result.model.name) > WIDTH / 3
        assert percent(result.overall.failure_rate.macro) in text
        for of in result.capabilities.values():
            assert percent(of.all.failure_rate) in text
            assert of.consistency is None or f"{100 * of.consistency.ci[0]:.0f}–" in text
    assert "(always-neutral)" in text and "bestconstant" in text
    # Why consistency leads, and on what its figures rest.
    told = " ".join(" ".join(lines).split())
    assert LEAD_WORDS in told and FEW_PAIRS_WORDS in told and "LC4*" in text
    assert told.startswith(f"Suite mine, version 1.0.0: 264 cases and 12 pairs; scored {TODAY}")
    assert ("its pass-to-fail is 0 by construction" in told) == (count > 1)
    assert ("trained on SST's train split" in told) == (count > 2)


@pytest.mark.parametrize("count", [2, 5])
def test_the_page_has_the_figures_of_the_results(count: int, tmp_path: Path) -> None:
    """Few models stand beside each other, more below each other."""
    found = scored(*(written(name, tmp_path) for name in NAMES[:count]))
    tables = page_tables(html_report(found))
    (head, *rows) = tables["Failure rates by capability"]
    cells = {(row[0], name): cell for row in rows for name, cell in zip(head, row, strict=True)}
    (means, *of_means) = tables["All capabilities together"]
    shares = [float(row[means.index("consistency macro % ↑")].split()[0]) for row in of_means]
    assert shares == sorted(shares, reverse=True)
    for one in found:
        result = one.result
        name = result.model.name
        (row,) = [row for row in of_means if row[0] == name]
        mean = percent(result.overall.failure_rate.macro)
        assert dict(zip(means, row, strict=True))["failure macro % ↓"].split()[0] == mean
        rate, right = result.overall.failure_rate, result.overall.consistency
        assert right is not None and row[means.index("micro % ↑")] == (
            f"{percent(right.micro)} {right.right}/{right.pairs}"
        )
        assert row[means.index("micro % ↓")].split() == [
            percent(rate.micro), f"{rate.failures}/{rate.cases}",
        ]  # fmt: skip
        alone = {row[0].split()[0]: row for row in tables[name][1:]}
        for capability, of in result.capabilities.items():
            low, high = (f"{100 * bound:.0f}" for bound in of.all.ci)
            cell = f"{percent(of.all.failure_rate)} {low}–{high}"
            (both,) = [
                cells[key] for key in cells
                if {capability, name} == {*key[0].split()[:1], *key[1].split()[:1]}
            ]  # fmt: skip
            assert both == cell
            few = "*" * (capability == "LC4")  # the one that has contrasts
            assert percent(of.seed.failure_rate) in " ".join(alone[capability + few][4].split())
        share = result.capabilities["LC4"].consistency
        assert share is not None and alone["LC4*"][1].startswith(percent(share.share))
        assert alone["LC4*"][2] == "12"


def test_examples_show_the_worst_first_with_what_was_inserted(tmp_path: Path) -> None:
    labels = np.array([min(case.passes) for case in CASES])
    broken = [n for n, case in enumerate(CASES) if case.capability == "LC9" and n % 2]
    labels[broken] = 2
    page = html_report(scored(written("org/one", tmp_path, labels)))
    assert "org/one fails " in page and "The hardest capability: " in page
    examples = page.partition("Examples, hardest")[2].partition("</details>")[0]
    assert "LC9" in examples and "Film 0 of LC9 &amp; expansion <mark>also</mark>." in examples
    assert "also (12 of " in page


@pytest.mark.parametrize(("first", "second"), [("vader", "afinn"), (LONG, "x" * 74), ("a", "a")])
def test_a_comparison_says_its_outcome_first_and_fits_80_columns(first: str, second: str) -> None:
    rng = np.random.default_rng(1)
    good, poor = rng.random(len(CASES)) < 0.02, rng.random(len(CASES)) < 0.9
    poor[:48], good[:48] = good[:48].copy(), poor[:48].copy()  # LC1 and LC2 the other way round
    compared = compare(CASES, good, poor)
    lines = printed(*comparison_tables(first, second, compared, {}))
    assert max(map(len, lines)) <= WIDTH
    better = [one.better for name, one in compared.items() if name != "mean"]
    assert (better.count(0), better.count(1)) == (9, 2)
    assert "better on 9, worse on 2, undecided on 0" in " ".join(" ".join(lines[:4]).split())
    for capability, one in compared.items():
        cells = next(line for line in lines if line.startswith(f"{capability} ")).split()
        assert cells[1:7] == [
            str(one.case_count), str(one.family_count), *map(percent, one.rates),
            str(one.first_only), str(one.second_only),
        ]  # fmt: skip


def test_a_failing_pair_stands_beside_the_figure_that_leads(tmp_path: Path) -> None:
    other = made_suite(CASES, CONTRASTS, version="1.0.1")
    contrasts = [2] * 3 + [0] * 9  # of the first three contrasts it misses that nothing is denied
    labels = [*(min(case.passes) for case in CASES), *contrasts]
    path = write_result(make_outcomes(other, name="org/one", labels=labels), tmp_path)
    page = html_report([read_scored(path, Suites([other]))])
    first = " ".join(page.partition("Examples, hardest")[2].partition("</details>")[0].split())
    text = re.sub(r" +", " ", html.unescape(re.sub(r"<[^>]+>", " ", first)))
    assert "gets 9 of 12 pairs of a case and its contrast right" in text
    assert (
        "Film 0 of LC4 & seed also. predicted neutral ✓, passes neutral or positive "
        "Other 0. predicted positive ✗, passes negative"
    ) in text.replace("  ", " ")
    assert "is consistent on 75.0 % (macro: 75.0 %) of 12 pairs" in page
    assert "Failure rates by capability</h2></summary>" in page  # behind a switch
    assert f"scored {TODAY}" in page and LEAD_WORDS in page


def test_no_note_of_built_suites_stands_on_a_suite_of_others(tmp_path: Path) -> None:
    others = made_suite([case for case in CASES if case.kind == "seed"])
    path = make_result(others, tmp_path, name="vader")
    assert notes_on([read_scored(path, Suites([others])).result]) == []


def test_how_predictions_were_obtained_stands_in_the_report(tmp_path: Path) -> None:
    use = EndpointUse(
        url="https://x.example/v1", model_reported="m", temperature=None, seed=None, max_tokens=9,
        requests=1, prompt_tokens=1, completion_tokens=1, first_day=TODAY, last_day=TODAY,
    )  # fmt: skip
    given = {"file": "mine.csv", "sha256": "0" * 64}
    served = {"endpoint": use, "revision": "", "weights_sha256": ""}
    paths = [written("org/served", tmp_path, **served), written("a/b", tmp_path)]
    paths.append(written("org/mine", tmp_path, predictions=given))
    found = scored(*paths)
    lines = [line.strip() for line in printed(models_table([one.result for one in found]))]
    below = {line.split()[0]: lines[n + 1] for n, line in enumerate(lines[:-1]) if line}
    assert below["org/served"].startswith("endpoint") and "predictions file" in " ".join(lines)
    assert not below["a/b"].startswith(("endpoint", "predictions"))
    page = html_report(found)
    assert "Answers of the endpoint https://x.example/v1" in page
    assert "Predictions from the file mine.csv" in page


def test_results_on_several_suites_stand_below_each_other(tmp_path: Path) -> None:
    other = made_suite(CASES[: len(CASES) // 2], version="2.0.0")
    paths = [written("vader", tmp_path / "r"), written("afinn", tmp_path / "r")]
    paths.append(write_result(make_outcomes(other, name="vader"), tmp_path / "r"))
    folders = [suite_at(tmp_path / str(n), suite) for n, suite in enumerate((SUITE, other))]
    page = tmp_path / "page.html"
    suites = [text for folder in folders for text in ("--suite", folder)]
    done = CliRunner().invoke(
        app, ["report", *map(str, paths), *suites, "--html", str(page)], env={"COLUMNS": "80"}
    )
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= WIDTH
    assert page.read_text().count("Failure rates by capability on ") == 1
    done = CliRunner().invoke(app, ["compare", str(paths[0]), str(paths[2]), *suites])
    assert done.exit_code == 1 and "suites" in done.output


def test_a_page_shows_text_as_text_and_marks_inserted_words(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> isn't bad"
    cases = [Case("a", "LC4", "seed", "a", evil, frozenset({0}))]
    cases.append(Case("b", "LC4", "expansion", "a", f"also {evil}", frozenset({0}), ("also",)))
    cases.append(Case("c", "LC9", "seed", "c", "<b>" * 5_000, frozenset({0})))
    suite = replace(made_suite(cases), name="<b>mine</b>" * 400)
    path = make_result(suite, tmp_path, lambda case: True, label_rule="<b>" * 2_000)
    page = html_report([read_scored(path, Suites([suite]))])
    assert "<script>" not in page and "<b>mine</b>" not in page and "<b><b>" not in page
    assert "&lt;script&gt;" in page and "http" not in page  # it needs no network
    assert len(page) < 40_000
    case = replace(cases[1], text="An undo is so & also do-able.", inserted=("so",))
    assert str(mark_insertions(case)) == "An undo is <mark>so</mark> &amp; also do-able."
