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
from typer.testing import CliRunner

import s2lct
from s2lct.cli.main import app
from s2lct.errors import GateError, OptionError
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.bounds import Bound, Figure, parse_bounds
from s2lct.leaderboard.results.comparison import compare, compare_sides, paired
from s2lct.leaderboard.results.gate import ReadResult, check_no_worse, read_results
from s2lct.leaderboard.results.junit import JUnitCase, junit_xml
from s2lct.leaderboard.results.read import result_reader
from s2lct.leaderboard.results.record import SelectionRecord
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases

RUNNER = CliRunner()
SEEDS = 20
CAPABILITIES = ("LC1", "LC4", "LC10")
NEUTRAL, POSITIVE = 1, 2
CASES = tuple(
    Case(
        f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"Sentence {n} of {name}.",
        frozenset({NEUTRAL}), ("also",) if kind == "expansion" else (),
    )
    for name in CAPABILITIES
    for n in range(SEEDS)
    for kind in ("seed", "expansion")
)  # fmt: skip
COUNTERPARTS = tuple(
    Case(f"LC4-{n}-other", "LC4", "counterpart", f"LC4-{n}-seed", f"Other {n}.", frozenset({0}))
    for n in range(SEEDS)
)
SUITE = SuiteCases("mine", "1.0.0", "0" * 64, CASES, counterparts=COUNTERPARTS)


def outcomes_of(
    failing: Mapping[str, Collection[int]],
    wrong_sides: Collection[int] = (),
    *,
    name: str = "mine",
    revision: str = "r1",
    suite: SuiteCases = SUITE,
    prompt: str | None = None,
) -> Outcomes:
    """Of a model that fails seed and expansion of some numbers of each capability."""
    labels = np.array(
        [
            POSITIVE if int(case.id.split("-")[1]) in failing.get(case.capability, ()) else NEUTRAL
            for case in suite.cases
        ],
        dtype=np.int64,
    )
    others = [POSITIVE if n in wrong_sides else 0 for n in range(len(suite.counterparts))]
    return Outcomes(
        name, revision, "0" * 64, "", suite, labels, failed_cases(suite.cases, labels),
        counterpart_labels=np.array(others, dtype=np.int64) if others else None,
        asks=LabelPrompt(prompt) if prompt else None,
    )  # fmt: skip


def written(folder: Path, *failing: Any, **more: Any) -> Path:
    """The result file of `outcomes_of`."""
    outcomes = outcomes_of(*failing, **more)
    return write_result(outcomes, folder, SelectionRecord() if outcomes.suite.partial else None)


def gate(*arguments: object) -> Any:
    return RUNNER.invoke(app, ["gate", *map(str, arguments)], env={"COLUMNS": "100"})


def row(shown: str, figure: str) -> str:
    return next(line for line in shown.splitlines() if line.split()[:1] == [figure])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """LC1 fails 0 of 20 families, LC4 5, LC10 10: 0, 25 and 50 %, 25 % in the mean."""
    return written(tmp_path / "new", {"LC4": range(5), "LC10": range(10)}, wrong_sides=range(3, 9))


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (["--max", "LC4=25"], 0),
        (["--max", "lc4=25%"], 0),
        (["--max", "LC4=24.99"], 1),
        (["--max", "mean=25"], 0),
        (["--max", "overall=24.9"], 1),
        (["--max", "LC1=0"], 0),
        (["--max", "LC1=0", "--max", "LC10=49"], 1),
        # Seeds 0 to 4 fail, and of 3 to 8 the counterpart: 11 of 20 are right on both sides.
        (["--min", "both-sides=55"], 0),
        (["--min", "both_sides=56"], 1),
        (["--min", "LC4/both-sides=55", "--max", "LC4=30"], 0),
        (["--min", "LC4/both-sides=60"], 1),
    ],
)
def test_the_exit_status_says_whether_every_bound_is_kept(
    mine: Path, asked: list[str], status: int
) -> None:
    done = gate(mine, *asked)
    assert done.exit_code == status, done.output
    assert ("fail" in done.stdout.split("checks failed")[0]) == bool(status)


def test_what_is_shown_tells_a_figure_from_its_bound(mine: Path) -> None:
    done = gate(mine, "--max", "LC4=24.96", "--max", "LC10=60")
    assert "≤ 24.96 %" in row(done.stdout, "LC4")
    assert row(done.stdout, "LC4").rstrip().endswith("fail")
    assert "50.0 % [" in row(done.stdout, "LC10")
    assert row(done.stdout, "LC10").rstrip().endswith("pass")
    assert "1 of 2 checks failed" in done.stdout
    close = gate(mine, "--max", "LC4=25.0000001")
    assert close.exit_code == 0


def test_a_bound_past_one_decimal_is_not_shown_as_kept(tmp_path: Path) -> None:
    path = written(tmp_path, {"LC1": range(20), "LC4": range(20), "LC10": range(1)})
    shown = row(gate(path, "--max", "mean=68.3").stdout, "mean")
    assert "68.33 %" in shown, shown  # 205 / 3, which 68.3 would hide


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([], "nothing is asked"),
        (["--max", "LC9=20"], "has no LC9"),
        (["--max", "LC4"], "is no bound"),
        (["--max", "LC4=120"], "is no bound"),
        (["--max", "LC4=nan"], "is no bound"),
        (["--max", "LC4=-1"], "is no bound"),
        (["--max", "both-sides=20"], "--min both-sides=20"),
        (["--min", "LC4=20"], "--max LC4=20"),
        (["--max", "LC4=20", "--max", "lc4=30"], "bounded twice"),
        (["--min", "LC1/both-sides=20"], "no counterparts"),
        (["--max", "LC4=20", "--no-worse-than", "nowhere.json"], "nowhere.json"),
        (["--max", "LC4=20", "--junit", "."], "--junit"),
    ],
)
def test_what_cannot_be_checked_is_no_verdict(mine: Path, asked: list[str], told: str) -> None:
    done = gate(mine, *asked)
    assert done.exit_code == 2, done.output
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert not done.stdout


def test_figures_that_were_altered_count_for_nothing(mine: Path) -> None:
    said = json.loads(mine.read_text("utf-8"))
    said["capabilities"]["LC4"]["all"]["failure_rate"] = 0.05
    mine.write_text(json.dumps(said), "utf-8")
    done = gate(mine, "--max", "LC4=20")
    assert done.exit_code == 1
    assert "25.0 %" in row(done.stdout, "LC4")


def test_results_on_other_suites_are_refused_with_their_files(mine: Path, tmp_path: Path) -> None:
    other = SuiteCases("mine", "2.0.0", "1" * 64, CASES)
    main = written(tmp_path / "main", {}, suite=other)
    done = gate(mine, "--no-worse-than", main)
    assert done.exit_code == 2
    assert f"{mine} and {main} were scored on different suites (1.0.0 000000000000, 2.0.0" in (
        done.stderr
    )


def test_a_bare_difference_is_not_worse_and_a_shown_one_is(tmp_path: Path) -> None:
    main = written(tmp_path / "main", {"LC4": range(2), "LC10": range(10)})
    # LC4 fails two families more, which may be chance; LC1 twelve more, which is not.
    new = written(tmp_path / "new", {"LC1": range(12), "LC4": range(4)}, revision="r2")
    done = gate(new, "--no-worse-than", main)
    assert done.exit_code == 1, done.output
    assert row(done.stdout, "LC1").rstrip().endswith("fail")
    assert "60.0 %, was 0.0 %" in row(done.stdout, "LC1")
    assert "20.0 %, was 10.0 %" in row(done.stdout, "LC4")
    assert row(done.stdout, "LC4").rstrip().endswith("pass")
    assert row(done.stdout, "LC10").rstrip().endswith("pass: better")
    assert gate(main, "--no-worse-than", main).exit_code == 0


def test_a_mean_that_got_worse_is_worse_though_no_capability_shows_it(tmp_path: Path) -> None:
    seeds = [40, 60, 25, 80, 30, 50, 20, 90, 35, 45, 30]
    sizes = {f"LC{n}": own for n, own in enumerate(seeds, 1)}
    cases = [
        Case(f"{name}-{n}-{k}", name, "expansion" if k else "seed", f"{name}-{n}-0",
             f"Sentence {n} of {name}, {k}.", frozenset({NEUTRAL}), ("also",) if k else ())
        for name, own in sizes.items() for n in range(own) for k in range(3)
    ]  # fmt: skip
    suite = SuiteCases("mine", "1.0.0", "2" * 64, tuple(cases))
    draw = np.random.default_rng(0)

    def wrong(share: float, name: str) -> Path:
        labels = np.where(draw.random(len(cases)) < share, POSITIVE, NEUTRAL)
        failed = failed_cases(cases, labels)
        return write_result(Outcomes("mine", name, "", "", suite, labels, failed), tmp_path / name)

    main, same, worse = wrong(0.10, "main"), wrong(0.10, "same"), wrong(0.15, "worse")
    done = gate(worse, "--no-worse-than", main)
    assert done.exit_code == 1, done.output
    assert row(done.stdout, "mean").rstrip().endswith("fail")
    told = s2lct.gate(results=[worse], no_worse_than=[main])
    (mean,) = (check.as_json() for check in told.checks if str(check.figure) == "mean")
    assert 0.02 < mean["detectable"] < mean["found"] - mean["before"]
    # What could be seen stands before what was.
    assert done.stdout.index(f"{100 * mean['detectable']:.1f} points") < done.stdout.index("fail")
    assert gate(same, "--no-worse-than", main).exit_code == 0
    assert gate(main, "--no-worse-than", worse).exit_code == 0


def test_worse_on_both_sides_is_worse(tmp_path: Path) -> None:
    main = written(tmp_path / "main", {})
    new = written(tmp_path / "new", {}, wrong_sides=range(15))
    done = gate(new, "--no-worse-than", main)
    assert done.exit_code == 1
    assert row(done.stdout, "LC4").rstrip().endswith("pass")
    assert "25.0 %, was 100.0 %" in row(done.stdout, "LC4/both-sides")
    assert row(done.stdout, "LC4/both-sides").rstrip().endswith("fail")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> ReadResult:
    with result_reader() as reader:
        (found,) = read_results([written(tmp_path_factory.mktemp("read"), {})], reader)
    return found


@given(
    *[st.dictionaries(st.sampled_from(CAPABILITIES), st.sets(st.integers(0, SEEDS - 1)))] * 2,
    *[st.sets(st.integers(0, SEEDS - 1))] * 2,
)
@example({}, dict.fromkeys(CAPABILITIES, range(SEEDS)), (), range(SEEDS))
@example({"LC10": range(SEEDS)}, {"LC4": range(12)}, range(SEEDS), ())
def test_worse_is_what_compare_says(
    read: ReadResult,
    failing_before: Mapping[str, Collection[int]],
    failing: Mapping[str, Collection[int]],
    wrong_before: Collection[int],
    wrong: Collection[int],
) -> None:
    main, new = outcomes_of(failing_before, wrong_before), outcomes_of(failing, wrong)
    tests = compare(*paired(main, new))
    sides = {f"{name}/both-sides": one.test for name, one in compare_sides(main, new).items()}
    checks = check_no_worse([read._replace(outcomes=new)], [read._replace(outcomes=main)])
    mean, *checks = checks
    assert str(mean.figure) == "mean"
    assert {str(check.figure): check.test for check in checks} == tests | sides
    for check in checks:
        better = (tests | sides)[str(check.figure)].better
        assert (check.passed, check.better) == (better != 0, better == 1)


PROMPTS = ("Review: {text}\nSentiment:", "{text}\nIt was", "Is this good? {text}\nAnswer:")


def test_of_several_prompts_the_mean_counts(tmp_path: Path) -> None:
    failing = [range(2), range(4), range(9)]  # 10, 20 and 45 %: 25 % in the mean
    files = [
        written(tmp_path / "new", {"LC4": own}, prompt=prompt)
        for own, prompt in zip(failing, PROMPTS, strict=True)
    ]
    assert len(set(files)) == 3
    done = gate(tmp_path / "new", "--max", "LC4=25")
    assert done.exit_code == 0, done.output
    assert "25.0 %, mean of 3 (10.0 to 45.0)" in row(done.stdout, "LC4")
    assert gate(*files, "--max", "LC4=24.9").exit_code == 1
    assert gate(*files, files[0], "--max", "LC4=25").exit_code == 0


def test_several_prompts_are_tested_as_one(tmp_path: Path) -> None:
    """Asked thrice, a family is no more than one: the p-value is that of one prompt."""
    for prompt in PROMPTS:
        written(tmp_path / "main", {"LC4": range(1)}, prompt=prompt)
        written(tmp_path / "new", {"LC4": range(8)}, revision="r2", prompt=prompt)
    one = s2lct.compare(
        first=written(tmp_path / "one", {"LC4": range(1)}),
        second=written(tmp_path / "one", {"LC4": range(8)}, revision="r2"),
    ).by_capability["LC4"]
    found = s2lct.gate(results=[tmp_path / "new"], no_worse_than=[tmp_path / "main"])
    (check,) = [check for check in found.checks if str(check.figure) == "LC4"]
    assert check.as_json()["p_value"] == pytest.approx(one.adjusted)
    assert (check.before, check.found) == (0.05, 0.4)
    first = next((tmp_path / "main").glob("*.json"))
    done = gate(tmp_path / "new", "--no-worse-than", first)
    assert done.exit_code == 2
    assert "3 result files are held against 1" in done.stderr


def test_several_models_are_refused(mine: Path, tmp_path: Path) -> None:
    written(tmp_path / "new", {}, name="other")
    done = gate(tmp_path / "new", "--max", "mean=50")
    assert done.exit_code == 2
    assert "are of different models (mine, other)" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "holds no result file" in gate(tmp_path / "empty", "--max", "mean=50").stderr


def test_what_main_was_asked_must_have_been_asked(mine: Path, tmp_path: Path) -> None:
    """A gate is not passed by scoring less."""
    part = SUITE.select(["LC1", "LC4"])
    new = written(tmp_path / "part", {}, suite=part)
    done = gate(new, "--no-worse-than", mine)
    assert done.exit_code == 2
    assert f"{new} has no LC10, which {mine} has" in done.stderr
    # The other way round there is more than main has, which is left out and told.
    other = gate(mine, "--no-worse-than", new)
    assert other.exit_code == 1
    assert f"{new} is partial" in " ".join(other.stderr.split())
    assert "LC10" not in other.stdout


def test_junit_has_a_test_a_check_and_says_why_one_failed(tmp_path: Path, mine: Path) -> None:
    main, file = written(tmp_path / "main", {"LC4": range(5)}), tmp_path / "out" / "s2lct.xml"
    asked = ("--max", "LC1=5", "--max", "LC4=20", "--no-worse-than", main, "--junit", file)
    assert gate(mine, *asked).exit_code == 1
    again = file.read_bytes()
    gate(mine, *asked)
    assert file.read_bytes() == again
    (suite,) = ElementTree.fromstring(again)
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert list(cases) == [
        "LC1 ≤ 5 %", "LC4 ≤ 20 %", "mean no worse", "LC1 no worse", "LC4 no worse", "LC10 no worse",
        "LC4/both-sides no worse",
    ]  # fmt: skip
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"LC4 ≤ 20 %", "mean no worse", "LC10 no worse"}
    assert suite.attrib == {
        "name": "s2lct mine", "tests": "7", "failures": "3", "errors": "0", "skipped": "0",
    }  # fmt: skip
    assert cases["LC4 ≤ 20 %"].find("failure").attrib["message"].startswith("LC4: 25.0 % [")
    assert str(main) in cases["LC10 no worse"].find("failure").attrib["message"]
    facts = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    assert facts["suite fingerprint"] == "0" * 64
    assert facts["model"] == "mine"


def test_no_junit_is_written_where_nothing_was_checked(mine: Path, tmp_path: Path) -> None:
    assert gate(mine, "--max", "LC9=20", "--junit", tmp_path / "x.xml").exit_code == 2
    assert not (tmp_path / "x.xml").exists()


@given(st.text(), st.text(), st.text())
def test_any_text_makes_xml_that_is_read_again(name: str, told: str, failure: str) -> None:
    cases = [JUnitCase(name, told, failure), JUnitCase("<&\"'>]]>", "\0\x1b", "")]
    root = ElementTree.fromstring(junit_xml(name, told, cases, {"model": name}))
    first, second = root.iter("testcase")
    assert first.attrib["name"] == plain(name)
    assert (first.findtext("system-out") or "") == plain(told)
    assert (first.find("failure") is not None) == bool(failure)
    assert second.attrib["name"] == "<&\"'>]]>"


def test_json_is_one_line_with_the_checks(mine: Path, tmp_path: Path) -> None:
    main = written(tmp_path / "main", {"LC4": range(5)})
    done = gate(mine, "--max", "LC4=20", "--no-worse-than", main, "--format", "json")
    assert done.exit_code == 1
    (line,) = done.stdout.splitlines()
    said = json.loads(line)
    assert not said["passed"]
    assert said["suite"] == {"name": "mine", "version": "1.0.0", "fingerprint": "0" * 64}
    assert (said["results"], said["no_worse_than"]) == ([str(mine)], [str(main)])
    bound, *others = said["checks"]
    assert (bound["figure"], bound["asked"], bound["bound"], bound["found"], bound["passed"]) == (
        "LC4", "max", 0.2, 0.25, False,
    )  # fmt: skip
    shown = {check["figure"]: (check["shown"], check["passed"]) for check in others}
    assert shown["LC10"] == ("worse", False)
    assert shown["LC1"] == (None, True)


def test_gate_is_a_function_too(mine: Path) -> None:
    found = s2lct.gate(results=[mine], max=["LC4=20", "mean=30"], min=["both-sides=50"])
    assert not found.passed
    assert [check.passed for check in found.checks] == [False, True, True]
    assert [check.found for check in found.checks] == pytest.approx([0.25, 0.25, 0.55])
    with pytest.raises(OptionError, match=r"--max: 'LC4' is no bound from 0 to 100 %"):
        s2lct.gate(results=[mine], max=["LC4"])
    with pytest.raises(GateError, match="has no LC9"):
        s2lct.gate(results=[mine], max=["LC9=4"])


FIGURES = st.builds(
    Figure,
    st.sampled_from(["", "LC4", "LC10", "own_one", "b-c"]),
    st.booleans(),
)


@given(FIGURES, st.floats(0, 100).map(lambda value: float(f"{value:g}")))
def test_a_bound_is_read_as_it_is_written(figure: Figure, percent: float) -> None:
    bound = Bound(figure, percent)
    option, text = str(bound).split(" ")
    assert parse_bounds([text], option.removeprefix("--")) == (bound,)  # type: ignore[arg-type]


@given(st.text() | st.from_regex(r"[A-Za-z/-]{0,12}=[0-9.e%-]{0,6}", fullmatch=True))
def test_anything_else_is_refused_in_words(text: str) -> None:
    for side in ("max", "min"):
        try:
            (bound,) = parse_bounds([text], side)  # type: ignore[arg-type]
        except ValueError as error:
            assert "write " in str(error)
        else:
            assert bound.side == side
            assert 0 <= bound.percent <= 100
