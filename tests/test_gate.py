"""`s2lct gate`: bounds, no worse than before, exit status, JUnit XML and a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_up_results import made_suite, make_outcomes, suite_at
from typer.testing import CliRunner

import s2lct
from s2lct.cli.main import app
from s2lct.errors import GateError
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.comparison import compare, compare_sides, paired
from s2lct.leaderboard.results.gate import (
    Check,
    Figure,
    check_no_worse,
    junit_xml,
    parse_bounds,
)
from s2lct.leaderboard.results.read import Scored, Suites, read_scored
from s2lct.leaderboard.results.record import SelectionRecord
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases

RUNNER = CliRunner()
SEEDS = 20
CAPABILITIES = ("LC1", "LC4", "LC10")
CASES = tuple(
    Case(
        f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"Sentence {n} of {name}, {kind}.",
        frozenset({1}), ("also",) if kind == "expansion" else (),
    )
    for name in CAPABILITIES
    for n in range(SEEDS)
    for kind in ("seed", "expansion")
)  # fmt: skip
CONTRASTS = tuple(
    Case(f"LC4-{n}-other", "LC4", "counterpart", f"LC4-{n}-seed", f"Other {n}.", frozenset({0}))
    for n in range(SEEDS)
)
SUITE = made_suite(CASES, CONTRASTS)
Failing = Mapping[str, Collection[int]]


@pytest.fixture(scope="module", autouse=True)
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = suite_at(tmp_path_factory.mktemp("suites") / "mine", SUITE)
    gate.suite = folder  # type: ignore[attr-defined]
    return folder


def outcomes_of(
    failing: Failing, wrong_sides: Collection[int] = (), *, suite: SuiteCases = SUITE, **facts: Any
) -> Outcomes:
    """Of a model that fails seed and expansion of some numbers of each capability."""

    def wrong(case: Case) -> bool:
        number = int(case.id.split("-")[1])
        if case.kind == "counterpart":
            return number in wrong_sides
        return number in failing.get(case.capability, ())

    if (prompt := facts.pop("prompt", None)) is not None:
        facts["asks"] = LabelPrompt(prompt)
    return make_outcomes(suite, wrong, **({"name": "mine"} | facts))


def written(folder: Path, *failing: Any, **more: Any) -> Path:
    """The result file of `outcomes_of`."""
    outcomes = outcomes_of(*failing, **more)
    return write_result(outcomes, folder, SelectionRecord() if outcomes.suite.partial else None)


def gate(*arguments: object, suite: Path | None = None) -> Any:
    folder = suite or gate.suite  # type: ignore[attr-defined]
    given = ["gate", *map(str, arguments), "--suite", str(folder)]
    return RUNNER.invoke(app, given, env={"COLUMNS": "100"})


def row(shown: str, figure: str) -> str:
    return next(line for line in shown.splitlines() if line.split()[:1] == [figure]).rstrip()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """LC1 fails 0 of 20 families, LC4 5, LC10 10: 0, 25 and 50 %, 25 % in the mean."""
    return written(tmp_path / "new", {"LC4": range(5), "LC10": range(10)}, range(3, 9))


@pytest.mark.parametrize(
    ("bounds", "status"),
    [
        (["--max", "LC4=25", "--max", "mean=25", "--max", "LC1=0"], 0),
        (["--max", "lc4=25%"], 0),
        (["--max", "LC4=24.99"], 1),
        (["--max", "overall=24.9"], 1),
        (["--max", "LC1=0", "--max", "LC10=49"], 1),
        # Seeds 0 to 4 fail, and of 3 to 8 the contrast: 11 of 20 are right on both sides.
        (["--min", "both-sides=55", "--min", "LC4/both-sides=55"], 0),
        (["--min", "both_sides=56"], 1),
    ],
)
def test_the_exit_status_says_whether_every_bound_is_kept(
    mine: Path, bounds: list[str], status: int
) -> None:
    done = gate(mine, *bounds)
    assert done.exit_code == status, done.output
    assert ("fail" in done.stdout.split("checks failed")[0]) == bool(status)


def test_what_is_shown_tells_a_figure_from_its_bound(mine: Path, tmp_path: Path) -> None:
    done = gate(mine, "--max", "LC4=24.96", "--max", "LC10=60")
    assert row(done.stdout, "LC4").endswith("fail") and row(done.stdout, "LC10").endswith("pass")
    assert "50.0 % [" in row(done.stdout, "LC10")
    close = written(tmp_path, {"LC1": range(20), "LC4": range(20), "LC10": range(1)})
    assert "68.33 %" in row(gate(close, "--max", "mean=68.3").stdout, "mean")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--max", "LC9=20"],
        ["--max", "LC4"],
        ["--max", "LC4=120"],
        ["--max", "LC4=nan"],
        ["--max", "both-sides=20"],
        ["--min", "LC4=20"],
        ["--max", "LC4=20", "--max", "lc4=30"],
        ["--min", "LC1/both-sides=20"],
    ],
)
def test_what_cannot_be_checked_is_no_verdict(
    mine: Path, options: list[str], tmp_path: Path
) -> None:
    done = gate(mine, *options, "--junit", tmp_path / "x.xml")
    assert done.exit_code == 2 and not done.stdout and "→" in done.stderr
    assert not options or options[-1] in done.stderr
    assert not (tmp_path / "x.xml").exists()


@given(st.sampled_from(["max", "min"]), st.text(max_size=20))
def test_any_text_is_a_bound_that_is_written_alike_or_a_clear_error(side: Any, text: str) -> None:
    try:
        (bound,) = parse_bounds([text], side)
    except GateError as error:
        assert error.hint
    else:
        assert parse_bounds([str(bound).partition(" ")[2]], side) == [bound]


def test_results_on_other_suites_are_refused_with_their_files(mine: Path, tmp_path: Path) -> None:
    other = made_suite(CASES[:-2], version="2.0.0")
    main = written(tmp_path / "main", {}, suite=other)
    folder = suite_at(tmp_path / "other", other)
    done = gate(mine, "--no-worse-than", main, "--suite", folder)
    assert done.exit_code == 2 and f"{main} and {mine}" in done.stderr
    assert gate(mine, "--no-worse-than", main).exit_code == 2


def test_a_bare_difference_is_not_worse_and_a_shown_one_is(tmp_path: Path) -> None:
    main = written(tmp_path / "main", {"LC4": range(2), "LC10": range(10)})
    # LC4 fails two families more, which may be chance; LC1 twelve more, which is not.
    new = written(tmp_path / "new", {"LC1": range(12), "LC4": range(4)}, revision="r2")
    done = gate(new, "--no-worse-than", main)
    assert done.exit_code == 1, done.output
    assert "60.0 %, was 0.0 %" in row(done.stdout, "LC1")
    endings = {"LC1": "fail", "LC4": "pass", "LC10": "pass: better"}
    assert all(row(done.stdout, name).endswith(ending) for name, ending in endings.items())
    assert gate(main, "--no-worse-than", main).exit_code == 0
    sides = gate(written(tmp_path / "x", {}, range(15)), "--no-worse-than", written(tmp_path, {}))
    assert sides.exit_code == 1 and row(sides.stdout, "LC4").endswith("pass")
    assert row(sides.stdout, "LC4/both-sides").endswith("fail")


def test_a_mean_that_got_worse_is_worse_though_no_capability_shows_it(tmp_path: Path) -> None:
    seeds = [40, 60, 25, 80, 30, 50, 20, 90, 35, 45, 30]
    sizes = {f"LC{n}": own for n, own in enumerate(seeds, 1)}
    cases = [
        Case(f"{name}-{n}-{k}", name, "expansion" if k else "seed", f"{name}-{n}-0",
             f"Sentence {n} of {name}, {k}.", frozenset({1}), ("also",) if k else ())
        for name, own in sizes.items() for n in range(own) for k in range(3)
    ]  # fmt: skip
    suite = made_suite(cases)
    folder = suite_at(tmp_path / "large", suite)
    draw = np.random.default_rng(0)

    def at_random(share: float, name: str) -> Path:
        outcomes = make_outcomes(suite, lambda _: bool(draw.random() < share), "mine")
        return write_result(outcomes, tmp_path / name)

    main, same, worse = (
        at_random(share, name) for share, name in ((0.1, "main"), (0.1, "same"), (0.15, "worse"))
    )
    done = gate(worse, "--no-worse-than", main, suite=folder)
    assert done.exit_code == 1, done.output
    assert row(done.stdout, "mean").endswith("fail")
    told = s2lct.gate([worse], no_worse_than=[main], suite=[str(folder)])
    (mean,) = (check.as_json() for check in told.checks if str(check.figure) == "mean")
    assert 0.02 < mean["detectable"] < mean["found"] - mean["before"]
    # What could be seen stands before what was.
    assert done.stdout.index(f"{100 * mean['detectable']:.1f} points") < done.stdout.index("fail")
    assert gate(same, "--no-worse-than", main, suite=folder).exit_code == 0
    assert gate(main, "--no-worse-than", worse, suite=folder).exit_code == 0


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return read_scored(written(tmp_path_factory.mktemp("read"), {}), Suites([SUITE]))


@given(
    *[st.dictionaries(st.sampled_from(CAPABILITIES), st.sets(st.integers(0, SEEDS - 1)))] * 2,
    *[st.sets(st.integers(0, SEEDS - 1))] * 2,
)
@example({}, dict.fromkeys(CAPABILITIES, range(SEEDS)), (), range(SEEDS))
@example({"LC10": range(SEEDS)}, {"LC4": range(12)}, range(SEEDS), ())
def test_worse_is_what_compare_says(
    read: Scored,
    failing_before: Failing,
    failing: Failing,
    wrong_before: Collection[int],
    wrong: Collection[int],
) -> None:
    main, new = outcomes_of(failing_before, wrong_before), outcomes_of(failing, wrong)
    tests = compare(*paired(main, new))
    sides = {f"{name}/both-sides": one.test for name, one in compare_sides(main, new).items()}
    mean, *checks = check_no_worse(
        {Path("new"): read._replace(outcomes=new)}, {Path("main"): read._replace(outcomes=main)}
    )
    assert str(mean.figure) == "mean"
    assert [str(check.figure) for check in checks] == [*tests, *sides]
    for check in checks:
        test = (tests | sides)[str(check.figure)]
        assert (check.passed, check.better) == (test.better != 0, test.better == 1)
        assert (check.facts["p_value"], check.facts["cases"]) == (test.adjusted, test.cases)


PROMPTS = ("Review: {text}\nSentiment:", "{text}\nIt was", "Is this good? {text}\nAnswer:")


def test_of_several_prompts_the_mean_counts(tmp_path: Path) -> None:
    failing = [range(2), range(4), range(9)]  # 10, 20 and 45 %: 25 % in the mean
    files = [
        written(tmp_path / "new", {"LC4": own}, prompt=prompt)
        for own, prompt in zip(failing, PROMPTS, strict=True)
    ]
    done = gate(tmp_path / "new", "--max", "LC4=25")
    assert done.exit_code == 0, done.output
    assert "25.0 %, mean of 3 (10.0 to 45.0)" in row(done.stdout, "LC4")
    assert gate(*files, "--max", "LC4=24.9").exit_code == 1
    assert gate(*files, files[0], "--max", "LC4=25").exit_code == 0


def test_several_prompts_are_tested_as_one(tmp_path: Path, suite_folder: Path) -> None:
    """Asked thrice, a family is no more than one: the p-value is that of one prompt."""
    for prompt in PROMPTS:
        written(tmp_path / "main", {"LC4": range(1)}, prompt=prompt)
        written(tmp_path / "new", {"LC4": range(8)}, revision="r2", prompt=prompt)
    one = compare(*paired(outcomes_of({"LC4": range(1)}), outcomes_of({"LC4": range(8)})))["LC4"]
    found = s2lct.gate(
        [tmp_path / "new"], no_worse_than=[tmp_path / "main"], suite=[str(suite_folder)]
    )
    (check,) = [check for check in found.checks if str(check.figure) == "LC4"]
    assert check.as_json()["p_value"] == pytest.approx(one.adjusted)
    first = next((tmp_path / "main").glob("*.json"))
    assert gate(tmp_path / "new", "--no-worse-than", first).exit_code == 2


def test_several_models_or_none_are_refused(mine: Path, tmp_path: Path) -> None:
    written(tmp_path / "new", {}, name="other")
    done = gate(tmp_path / "new", "--max", "mean=50")
    assert done.exit_code == 2 and "other" in done.stderr
    (tmp_path / "empty").mkdir()
    assert gate(tmp_path / "empty", "--max", "mean=50").exit_code == 2


def test_a_gate_is_not_passed_by_scoring_less(mine: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "part", {}, suite=SUITE.select(["LC1", "LC4"]))
    done = gate(new, "--no-worse-than", mine)
    assert done.exit_code == 2 and "LC10" in done.stderr
    # The other way round there is more than main has, which is left out and told.
    other = gate(mine, "--no-worse-than", new)
    assert other.exit_code == 1
    assert f"{new} is partial" in " ".join(other.stderr.split())
    assert "LC10" not in other.stdout


def test_junit_has_a_test_a_check_and_says_why_one_failed(tmp_path: Path, mine: Path) -> None:
    main, file = written(tmp_path / "main", {"LC4": range(5)}), tmp_path / "out" / "s2lct.xml"
    options = ("--max", "LC1=5", "--max", "LC4=20", "--no-worse-than", main, "--junit", file)
    assert gate(mine, *options).exit_code == 1
    again = file.read_bytes()
    gate(mine, *options)
    assert file.read_bytes() == again
    (suite,) = ElementTree.fromstring(again)
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"LC4 ≤ 20 %", "mean no worse", "LC10 no worse"}
    assert (suite.attrib["tests"], suite.attrib["failures"]) == (str(len(cases)), "3") == ("7", "3")
    assert str(main) in cases["LC10 no worse"].find("failure").attrib["message"]
    facts = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    assert (facts["suite fingerprint"], facts["model"]) == (SUITE.fingerprint, "mine")


@given(st.text())
def test_any_text_makes_xml_that_is_read_again(text: str) -> None:
    check = Check(Figure("LC4"), "≤ 5 %", text, False, {})
    root = ElementTree.fromstring(junit_xml(text, [check], {text: text, "\0": "<&\"'>]]>\x1b"}))
    (case,) = root.iter("testcase")
    assert case.attrib["classname"] == plain(f"s2lct.{text}")


def test_a_line_of_json_has_what_the_table_shows(mine: Path) -> None:
    done = gate(mine, "--max", "LC4=20", "--no-worse-than", mine, "--format", "json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and told["passed"] is False and told["model"] == "mine"
    first, *others = told["checks"]
    assert (first["figure"], first["found"], first["bound"]) == ("LC4", 0.25, 0.2)
    assert {one["p_value"] for one in others} == {1.0}
