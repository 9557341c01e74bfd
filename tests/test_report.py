"""Reports and comparisons in the terminal and as a page."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from s2lct.cli.console import PlainConsole
from s2lct.cli.main import app
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.prompts import over_prompts
from s2lct.leaderboard.results.read import read_outcomes, read_result
from s2lct.leaderboard.results.record import RateRecord, Result
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.leaderboard.site.report import (
    ResultsTable,
    Scored,
    comparison_table,
    one_answer_warning,
)
from s2lct.leaderboard.site.report_grids import Grids
from s2lct.leaderboard.site.report_page import html_report
from s2lct.plain_text import spreadsheet_cell
from s2lct.suite.cases import Case, SuiteCases

WIDTH = 80
LONG = "cardiffnlp/twitter-roberta-base-sentiment-latest"
NAMES = [LONG, "vader", "afinn", "x" * 74, "embedded-2class", "a/b", "c/d", "e/f", "textblob"]
PASSES = {f"LC{n}": {n % 3} if n % 4 else {1, 2} for n in range(1, 12)}
CASES = tuple(
    Case(
        f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"Sentence {n} of {name}.",
        frozenset(passes), ("also",) if kind == "expansion" else (),
    )
    for name, passes in PASSES.items()
    for n in range(12)
    for kind in ("seed", "expansion")
)  # fmt: skip
SUITE = SuiteCases("mine", "1.0.0", "0" * 64, CASES)


def written(name: str, folder: Path, labels: np.ndarray | None = None) -> Path:
    rng = np.random.default_rng(len(name))
    said = rng.integers(0, 3, len(CASES)) if labels is None else labels
    failed = failed_cases(CASES, said)
    return write_result(Outcomes(name, "r1", "0" * 64, "", SUITE, said, failed), folder)


def printed(shown: object, width: int = WIDTH) -> list[str]:
    file = io.StringIO()
    PlainConsole(file=file, width=width, force_terminal=False).print(shown)
    return file.getvalue().splitlines()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("results")
    return [read_result(written(name, folder)) for name in NAMES]


def percent(rate: float) -> str:
    return f"{100 * rate:.1f}"


@pytest.mark.parametrize("count", [1, 3, 5, 9])
def test_tables_of_any_number_of_models_fit_80_columns(results: list[Result], count: int) -> None:
    chosen = results[:count]
    lines = printed(ResultsTable(chosen))
    assert max(map(len, lines)) <= WIDTH
    # No name and no number is broken: each stands whole on one line …
    for one in chosen:
        assert any(one.model.name in line.split() for line in lines)
    # … and every capability's figures of every model stand together, in the order of the blocks.
    ordered = sorted(chosen, key=lambda one: (-one.overall.failure_rate, one.model.name))
    for capability in PASSES:
        told = " ".join(line[4:] for line in lines if line.startswith(f"{capability} ")).split()
        expected: list[str] = []
        for one in ordered:
            of = one.capabilities[capability]
            assert of.all is not None
            rates = (of.all.failure_rate, of.seed.failure_rate, of.expansion.failure_rate)
            expected += [*map(percent, rates), str(of.pass_to_fail)]
        assert told == expected
    for one in ordered:
        low, high = one.overall.ci
        interval = f"[{percent(low)}, {percent(high)}]"
        assert any(percent(one.overall.failure_rate) in x and interval in x for x in lines)


def test_names_stay_whole_where_they_fit_though_there_are_many_columns(
    results: list[Result], tmp_path: Path
) -> None:
    both = tuple(replace(case, id=f"{case.id}-c", kind="counterpart") for case in CASES[:12])
    suite = replace(SUITE, counterparts=both)
    labels = np.random.default_rng(0).integers(0, 3, len(CASES))
    for prompt in ("{text} So:", "{text} Thus:"):
        asked = Outcomes(
            "embedded-2class", "r1", "0" * 64, "", suite, labels, failed_cases(CASES, labels),
            asks=LabelPrompt(prompt), counterpart_labels=labels[: len(both)],
        )  # fmt: skip
        write_result(asked, tmp_path)
    prompts = [read_result(path) for path in sorted(tmp_path.glob("*.json"))]
    assert prompts[0].overall.both_sides
    lines = printed(ResultsTable([*prompts, *results[:3]]))
    assert max(map(len, lines)) <= WIDTH
    figures = [line for line in lines if re.search(r" \d+\.\d ", line)]
    for name in ("(always-negative)", "vader", "afinn"):
        assert any(line.startswith(f"{name} ") for line in figures)
    # A wide name is cut where the figures are, and stands whole above them.
    assert any("cardiffnlp" in line for line in figures)
    assert any(line.endswith(LONG) for line in lines)
    # What figures mean is a line that says where it stands.
    end = max(number for number, line in enumerate(lines) if line.startswith("LC11"))
    (method,) = filter(None, lines[end + 1 :])
    assert "docs/scoring.md" in method


def test_what_chance_comes_to_stands_beside_the_models(results: list[Result]) -> None:
    (best,) = [line for line in printed(ResultsTable(results[:2])) if "= chance" in line]
    references = results[0].references
    assert references is not None
    least = min(references, key=lambda name: references[name].failure_rate)
    assert best.split()[:2] == [f"({least})", percent(references[least].failure_rate)]
    assert best.split()[-1] == "0.00"
    lines = printed(ResultsTable(results[:2]))
    for name, of in references.items():
        (line,) = [line for line in lines if line.startswith(f"({name})")]
        assert line.split()[1] == percent(of.failure_rate)
    assert results[0].overall.chance == references[least].failure_rate


def test_a_model_with_one_answer_is_warned_of(tmp_path: Path) -> None:
    always = written("no", tmp_path, np.zeros(len(CASES), dtype=np.int64))
    result = read_result(always)
    assert result.answers == {"negative": len(CASES), "neutral": 0, "positive": 0}
    assert "answers negative to 100.0 % of the cases" in one_answer_warning(result)
    assert any(
        "no: answers negative to 100.0 %" in line for line in printed(ResultsTable([result]))
    )
    page = html_report([Scored(result, read_outcomes(always))])
    assert "answers negative to 100.0 % of the cases" in page
    other = read_result(written("mixed", tmp_path))
    assert one_answer_warning(other) == ""


def tables(page: str) -> dict[str, list[list[str]]]:
    """The rows of a page's tables with their cells as text, by the headings above them."""
    found: dict[str, list[list[str]]] = {}
    for part in re.split(r"(?=<h[23]>)", page):
        heading = re.match(r"<h[23]>(.*?)</h[23]>", part)
        table = re.search(r"<table.*?</table>", part, re.DOTALL)
        if heading and table:
            found[heading[1]] = [
                [
                    " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
                    for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
                ]
                for row in table[0].split("<tr>")[1:]
            ]
    return found


def interval(ci: tuple[float, float]) -> str:
    return f"{100 * ci[0]:.0f}–{100 * ci[1]:.0f}"


def scored_page(results: list[Result], folder: Path) -> str:
    paths = [written(one.model.name, folder) for one in results]
    return html_report([Scored(read_result(path), read_outcomes(path)) for path in paths])


def test_the_html_report_shows_chance_and_both_kinds(tmp_path: Path) -> None:
    path = written("m", tmp_path)
    result = read_result(path)
    found = tables(html_report([Scored(result, read_outcomes(path))]))
    references = ["always-negative", "always-neutral", "always-positive", "random"]
    first = found["Failure rate on all cases"]
    assert first[0] == ["", "m", *references]
    assert first[1][:2] == [
        "mean", f"{percent(result.overall.failure_rate)} {interval(result.overall.ci)}",
    ]  # fmt: skip
    assert first[2][:2] == ["chance-corrected", f"{result.overall.chance_corrected:.2f}"]
    of = result.capabilities["LC3"]
    assert of.all is not None
    kinds = {"Failure rate on all cases": of.all, "Seeds": of.seed, "Expansions": of.expansion}
    for heading, rate in kinds.items():
        (row,) = [row for row in found[heading] if row[0] == "change over time LC3"]
        assert row[1] == f"{percent(rate.failure_rate)} {interval(rate.ci)}"
        assert set(row[2:]) <= {"0.0", "33.3", "66.7", "100.0"} and len(row) == 6
    flips = found["Expansions that fail though their seed passes"]
    assert ["change over time LC3", str(of.pass_to_fail)] in flips


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_models_stand_below_each_other_where_they_are_many(
    results: list[Result], count: int, tmp_path: Path
) -> None:
    chosen = results[:count]
    rows = tables(scored_page(chosen, tmp_path))["Failure rate on all cases"]
    names = {one.model.name for one in chosen}
    heads, lines = set(rows[0][1:]), {row[0] for row in rows[1:]}
    assert (names <= lines) == (count > 3) and (names <= heads) == (count <= 3)
    # Whichever way it goes: every model's rate and interval of every capability is there once.
    columns = [list(column) for column in zip(*rows, strict=True)]
    by_model = {row[0]: row for row in (rows if count > 3 else columns)}
    for one in chosen:
        for of in one.capabilities.values():
            assert of.all is not None
            shown = f"{percent(of.all.failure_rate)} {interval(of.all.ci)}"
            assert shown in by_model[one.model.name]


def test_the_report_says_what_it_comes_to_and_shows_the_worst_first(
    results: list[Result], tmp_path: Path
) -> None:
    chosen = results[:5]
    page = scored_page(chosen, tmp_path)
    ranked = sorted(chosen, key=lambda one: (one.overall.failure_rate, one.model.name))
    lead = html.unescape(re.search(r'class="lead">(.*?)</p>', page)[1])  # type: ignore[index]
    assert f"{ranked[0].model.name} is wrong least often, about " in lead
    assert f"{ranked[-1].model.name} most often, about " in lead
    of_name = {
        name: float(np.mean([one.capabilities[name].all.failure_rate for one in chosen]))
        for name in PASSES
    }
    hardest = sorted(of_name, key=lambda name: -of_name[name])
    # The sentence, then the rates, then examples; the hashes at the end.
    places = [page.index(one) for one in ('class="lead"', 'class="grid"', "<details", "weights 0")]
    assert places == sorted(places)
    examples = page[page.index("Examples, worst first") : page.index("Seeds and expansions apart")]
    assert re.findall(r"<summary><b>.*?</b> <small>(.*?)</small>", examples) == hardest
    first = examples.partition("</details>")[0]
    rates = [float(one) for one in re.findall(r"</b> fails ([\d.]+) %", first)]
    assert len(rates) == 3 and rates == sorted(rates, reverse=True)
    assert "2 more models fail some of these cases." in first


def test_the_report_shows_how_far_a_rate_goes_with_the_prompt(tmp_path: Path) -> None:
    scored = []
    for number, prompt in enumerate(("One: {text}", "Two: {text}")):
        labels = np.random.default_rng(number).integers(0, 3, len(CASES))
        failed = failed_cases(CASES, labels)
        asks = LabelPrompt(prompt, ("bad", "so-so", "good"))
        outcomes = Outcomes("org/lm", "r1", "0" * 64, "", SUITE, labels, failed, asks=asks)
        path = write_result(outcomes, tmp_path / str(number))
        scored.append(Scored(read_result(path), read_outcomes(path)))
    rates = sorted(one.result.overall.failure_rate for one in scored)
    page = html_report(scored)
    assert f"prompts <span>{percent(rates[0])}–{percent(rates[1])}<" in page
    assert f"org/lm (2 prompts) is wrong about {percent(sum(rates) / 2)} %" in page
    assert "prompts" not in html_report(scored[:1])


def test_the_report_shows_what_got_no_label(results: list[Result]) -> None:
    plain = results[0]
    rate = plain.capabilities["LC4"].all
    assert rate is not None
    answered = RateRecord(cases=21, failures=3, failure_rate=1 / 7, ci=(0.05, 0.3))
    told = {"refusals": 2, "unreadable": 1, "answered": answered}
    capability = plain.capabilities["LC4"].model_copy(update=told)
    of = {"overall": plain.overall.model_copy(update=told), "capabilities": {"LC4": capability}}
    silent = plain.model_copy(update=of)
    words = capability_words(["LC4"])
    grids = Grids(over_prompts([silent, plain]), ["LC4"], words).silent()
    assert {
        name: [[cell.shown for cell in cells] for _, cells in grid.rows]
        for name, grid in grids.items()
    } == {
        "Refused": [["2", "0"], ["2", "0"]],
        "Unreadable": [["1", "0"], ["1", "0"]],
        "Failure rate without these": [
            ["14.3", percent(plain.overall.failure_rate)],
            ["14.3", percent(rate.failure_rate)],
        ],
    }
    assert Grids(over_prompts([plain]), ["LC4"], words).silent() == {}


@pytest.mark.parametrize(("first", "second"), [("vader", "afinn"), (LONG, "x" * 74), ("a", "a")])
def test_a_comparison_says_its_verdict_first_and_fits_80_columns(first: str, second: str) -> None:
    rng = np.random.default_rng(1)
    good = rng.random(len(CASES)) < 0.02
    poor = rng.random(len(CASES)) < 0.9
    poor[:48], good[:48] = good[:48].copy(), poor[:48].copy()  # LC1 and LC2 the other way round
    compared = compare(CASES, good, poor)
    lines = printed(comparison_table(first, second, compared))
    assert max(map(len, lines)) <= WIDTH
    better = [one.better for one in compared.values()]
    told = f"better on {better.count(0)}, worse on {better.count(1)}, undecided on "
    assert f"{told}{better.count(None)}" in " ".join(lines[:4])
    assert lines[0].startswith(first)
    assert better.count(0) == 9 and better.count(1) == 2
    names = ("vader", "afinn") if first == "vader" else ("first", "second")
    for capability, one in compared.items():
        (line,) = [line for line in lines if line.startswith(f"{capability} ")]
        cells = line.split()
        assert cells[1:5] == [
            str(one.cases), str(one.families), str(one.first_only), str(one.second_only),
        ]  # fmt: skip
        assert one.better is not None
        assert cells[-1] == names[one.better]


def test_the_commands_fit_80_columns(tmp_path: Path) -> None:
    files = [written(name, tmp_path) for name in NAMES[:5]]
    for args in (["report", *map(str, files)], ["compare", *map(str, files[:2])]):
        done = CliRunner().invoke(app, args, env={"COLUMNS": "80"})
        assert done.exit_code == 0, done.output
        assert max(map(len, done.output.splitlines())) <= WIDTH


def test_a_spreadsheet_runs_no_cell() -> None:
    for text in ("=1+1", "+1", "-1", "@x", "\tx", "\rx"):
        assert spreadsheet_cell(text) == f"'{text}"
    for value in ("a=1", "", " a", -1, 0.5, None, True):
        assert spreadsheet_cell(value) is value
