"""Reports and comparisons in the terminal and as a page."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from s2lct.cli.console import PlainConsole
from s2lct.cli.main import app
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.read import read_outcomes, read_result
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.site.report import (
    ResultsTable,
    Scored,
    comparison_table,
    html_report,
    one_answer_warning,
)
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


def test_the_html_report_shows_chance_and_both_kinds(tmp_path: Path) -> None:
    path = written("m", tmp_path)
    result = read_result(path)
    page = html_report([Scored(result, read_outcomes(path))])
    for name in ("always-negative", "always-neutral", "always-positive", "random"):
        assert page.count(f">{name}</th>") == 2
    of = result.capabilities["LC3"]
    assert of.all is not None
    rows = [row for row in page.split("<tr>") if row.startswith("<td>LC3</td>")]
    assert len(rows) == 2
    assert f">{percent(of.all.failure_rate)}</td>" in rows[0]
    assert re.findall(r">([\d.]+)</td>", rows[1])[:3] == [
        percent(of.seed.failure_rate), percent(of.expansion.failure_rate), str(of.pass_to_fail),
    ]  # fmt: skip
    assert f"{result.overall.chance_corrected:.2f}" in page


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
