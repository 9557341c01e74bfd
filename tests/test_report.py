"""Reports and comparisons in the terminal and as a page."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_results import made_suite, make_outcomes, make_result, suite_at
from rich.console import Console
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.read import Scored, Suites, read_scored
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.site.report import (
    comparison_tables,
    html_report,
    marked,
    results_tables,
)
from s2lct.suite.cases import Case

WIDTH = 80
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
    Case(f"LC4-{n}-other", "LC4", "counterpart", f"LC4-{n}-seed", f"Other {n}.", frozenset({0}))
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


def scored(*paths: Path) -> list[Scored]:
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
    assert "(always-neutral)" in text and "=chance" in text


@pytest.mark.parametrize("count", [2, 5])
def test_the_page_has_the_figures_of_the_results(count: int, tmp_path: Path) -> None:
    """Few models stand beside each other, more below each other."""
    found = scored(*(written(name, tmp_path) for name in NAMES[:count]))
    tables = page_tables(html_report(found))
    (head, *rows) = tables["Failure rates by capability"]
    cells = {(row[0], name): cell for row in rows for name, cell in zip(head, row, strict=True)}
    (means, *of_means) = tables["Means"]
    shares = [float(row[means.index("consistency % (macro)")].split()[0]) for row in of_means]
    assert shares == sorted(shares, reverse=True)
    for one in found:
        result = one.result
        name = result.model.name
        (row,) = [row for row in of_means if row[0] == name]
        mean = percent(result.overall.failure_rate.macro)
        assert dict(zip(means, row, strict=True))["failure rate % (macro)"].split()[0] == mean
        alone = {row[0].split()[0]: row for row in tables[name][1:]}
        for capability, of in result.capabilities.items():
            low, high = (f"{100 * bound:.0f}" for bound in of.all.ci)
            cell = f"{percent(of.all.failure_rate)} {low}–{high}"
            (both,) = [
                cells[key] for key in cells
                if {capability, name} == {*key[0].split()[:1], *key[1].split()[:1]}
            ]  # fmt: skip
            assert both == cell
            assert percent(of.seed.failure_rate) in " ".join(alone[capability][3].split())
        share = result.capabilities["LC4"].consistency
        assert share is not None and alone["LC4"][1].startswith(percent(share.share))


def test_examples_show_the_worst_first_with_what_was_inserted(tmp_path: Path) -> None:
    labels = np.array([min(case.passes) for case in CASES])
    broken = [n for n, case in enumerate(CASES) if case.capability == "LC9" and n % 2]
    labels[broken] = 2
    page = html_report(scored(written("org/one", tmp_path, labels)))
    assert "org/one answers " in page and "Hardest is: " in page
    examples = page.partition("Examples, hardest")[2].partition("</details>")[0]
    assert "LC9" in examples and "Film 0 of LC9 &amp; expansion <mark>also</mark>." in examples
    assert "also (12 of " in page


@pytest.mark.parametrize(("first", "second"), [("vader", "afinn"), (LONG, "x" * 74), ("a", "a")])
def test_a_comparison_says_its_verdict_first_and_fits_80_columns(first: str, second: str) -> None:
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
            str(one.cases), str(one.families), *map(percent, one.rates),
            str(one.first_only), str(one.second_only),
        ]  # fmt: skip


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
    suite = replace(made_suite(cases), name="<b>mine</b>")
    path = make_result(suite, tmp_path, lambda case: True)
    page = html_report([read_scored(path, Suites([suite]))])
    assert "<script>" not in page and "<b>mine</b>" not in page
    assert "&lt;script&gt;" in page and "http" not in page  # it needs no network
    case = replace(cases[1], text="An undo is so & also do-able.", inserted=("so",))
    assert str(marked(case)) == "An undo is <mark>so</mark> &amp; also do-able."
