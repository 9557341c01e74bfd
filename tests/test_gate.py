"""`s2lct gate`: bounds, no worse than before, exit status and a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_up_results import made_suite, make_outcomes, make_result, suite_at
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.results.comparison import compare, paired_cases, paired_contrasts
from s2lct.leaderboard.results.gate import check_no_worse
from s2lct.leaderboard.results.read_results import ScoredModel, Suites, read_scored
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.site.report import gate_table
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
    Case(f"LC4-{n}-other", "LC4", "contrast", f"LC4-{n}-seed", f"Other {n}.", frozenset({0}))
    for n in range(SEEDS)
)
SUITE = made_suite(CASES, CONTRASTS)
Failing = Mapping[str, Collection[int]]


@pytest.fixture(scope="module", autouse=True)
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: str = suite_at(tmp_path_factory.mktemp("suites") / "mine", SUITE)
    gate.suite = folder  # type: ignore[attr-defined]
    return folder


def outcomes_of(
    failing: Failing, wrong_sides: Collection[int] = (), *, suite: SuiteCases = SUITE, **facts: Any
) -> Outcomes:
    """Of a model that fails seed and expansion of some numbers of each capability."""

    def wrong(case: Case) -> bool:
        number = int(case.id.split("-")[1])
        if case.kind == "contrast":
            return number in wrong_sides
        return number in failing.get(case.capability, ())

    return make_outcomes(suite, wrong, **({"name": "mine"} | facts))


def written(folder: Path, *failing: Any, **more: Any) -> Path:
    """The result file of `outcomes_of`."""
    return write_result(outcomes_of(*failing, **more), folder)


def gate(*arguments: object, suite: str | None = None) -> Any:
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
    ("status", "options"),
    [
        (0, ["--max", "LC4=25", "--max", "mean=25", "--max", "LC1=0"]),
        (0, ["--max", "lc4= 25 %", "--max", "LC1=0.5%", "--max", "LC1=0.0"]),
        (1, ["--max", "LC4=0.25%"]),
        (1, ["--max", "LC4=24.99", "--max", "mean=1"]),
        # Seeds 0 to 4 fail, and of 3 to 8 the contrast: of 11 of 20 both pass.
        (0, ["--min", "consistency=55", "--min", "LC4/consistency=55"]),
        (1, ["--min", "consistency=56"]),
        (2, []),
        (2, ["--max", "LC9=20"]),
        (2, ["--max", "LC4"]),
        (2, ["--max", "LC4=120"]),
        (2, ["--max", "LC4=nan"]),
        (2, ["--max", "consistency=20"]),
        (2, ["--min", "LC4=20"]),
        (2, ["--min", "LC1/consistency=20"]),
        # It may be a proportion.
        (2, ["--max", "mean=0.6"]),
        (2, ["--max", "LC4=.5"]),
        (2, ["--max", "LC4=1.0"]),
        (2, ["--max", "mean=6e-1"]),
    ],
)
def test_the_exit_status_says_whether_every_bound_is_kept(
    mine: Path, status: int, options: list[str]
) -> None:
    done = gate(mine, *options)
    assert done.exit_code == status, done.output
    if status == 2:
        assert not done.stdout and "→" in done.stderr and all(o in done.stderr for o in options[1:])
        return
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert any(line.endswith(" fail") for line in lines) == bool(status)
    assert lines[-1].startswith("Passed: ") == (not status)


def test_a_bare_difference_is_not_worse_and_a_shown_one_is(tmp_path: Path) -> None:
    main = written(tmp_path / "main", {"LC4": range(2), "LC10": range(10)})
    # LC4 fails two families more, which may be chance; LC1 twelve more, which is not.
    new = written(tmp_path / "new", {"LC1": range(12), "LC4": range(4)}, revision="r2")
    done = gate(new, "--no-worse-than", main)
    assert done.exit_code == 1, done.output
    assert "0.0 %" in row(done.stdout, "LC1") and "60.0 %" in row(done.stdout, "LC1")
    endings = {"LC1": "fail", "LC4": "pass", "LC10": "pass: better"}
    assert all(row(done.stdout, name).endswith(ending) for name, ending in endings.items())
    assert gate(main, "--no-worse-than", main).exit_code == 0
    sides = gate(written(tmp_path / "x", {}, range(15)), "--no-worse-than", written(tmp_path, {}))
    assert sides.exit_code == 1 and row(sides.stdout, "LC4").endswith("pass")
    assert row(sides.stdout, "LC4/consistency").endswith("fail")


def test_a_mean_that_got_worse_is_worse_though_no_capability_shows_it(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    cases = [
        Case(f"LC{name}-{n}-{k}", f"LC{name}", "expansion" if k else "seed", f"LC{name}-{n}-0",
             f"Sentence {n} of LC{name}, {k}.", frozenset({1}))
        for name in range(1, 12) for n in range(20 + 5 * name) for k in range(3)
    ]  # fmt: skip
    suite = made_suite(cases)

    def at_random(share: float, name: str) -> ScoredModel:
        wrong = draw.random(len(cases)) < share
        chosen = {case.id for case, one in zip(cases, wrong, strict=True) if one}
        path = make_result(suite, tmp_path / name, lambda case: case.id in chosen)
        return read_scored(path, Suites([suite]))

    main, same, worse = (
        at_random(share, name) for share, name in ((0.1, "main"), (0.1, "same"), (0.15, "worse"))
    )
    checks = {check.figure_name: check for check in check_no_worse(worse, main)}
    mean = checks["mean"]
    assert not mean.passed and mean.detectable_change and mean.earlier_value
    assert 0.02 < mean.detectable_change < mean.value - mean.earlier_value
    assert not mean.lacks_power
    assert f"{100 * mean.detectable_change:.1f} points" in gate_table([mean]).rows[0]
    assert all(one.passed for one in check_no_worse(same, main))


def test_the_mean_decides_by_rates_and_not_by_how_many_cases_fail(tmp_path: Path) -> None:
    suite = made_suite(
        [
            Case(f"{name}-{n}", name, "seed", f"{name}-{n}", f"{n} of {name}.", frozenset({1}))
            for name, size in (("LC1", 16), ("LC4", 145))
            for n in range(size)
        ]
    )
    place = suite_at(tmp_path / "unequal", suite)
    # 30 cases of the large capability, a mean of 10 %, and all 16 of the small one, 50 %.
    many = written(tmp_path / "many", {"LC4": range(30)}, suite=suite, name="many")
    few = written(tmp_path / "few", {"LC1": range(16)}, suite=suite, name="few")
    for new, main, ending in ((few, many, "fail"), (many, few, "pass: better")):
        done = gate(new, "--no-worse-than", main, suite=place)
        assert done.exit_code == 1 and row(done.stdout, "mean").endswith(ending)
    arguments = ["compare", str(many), str(few), "--suite", place]
    compared = RUNNER.invoke(app, [*arguments, "--format", "json"])
    mean = json.loads(compared.stdout)["failure_rates"]["mean"]
    assert (mean["better"], mean["first_only"], mean["second_only"]) == ("first", 30, 16)
    assert mean["rates"] == pytest.approx([15 / 145, 0.5]) and mean["difference"] < 0
    shown = RUNNER.invoke(app, arguments, env={"COLUMNS": "100"}).stdout
    assert row(shown, "mean").endswith("many") and "better in the mean" in shown


def test_a_gate_says_where_it_is_blind(tmp_path: Path) -> None:
    # Of LC1 four sentences pass, of LC4 three pairs: all of them lost shows nothing.
    failing = {"LC1": range(16), "LC10": range(5)}
    main = written(tmp_path / "main", failing, range(17))
    done = gate(written(tmp_path / "new", failing, range(17)), "--no-worse-than", main)
    told = " ".join(done.stdout.split())
    of = "LC4/consistency, LC1"
    assert f"No loss can be shown, however large, in {of}: " in told
    assert done.exit_code == 0 and told.endswith("Passed: all 5 checks.")
    for name in ("LC1", "LC4/consistency"):
        assert "never" in row(done.stdout, name)
    lost = {**failing, "LC1": range(20), "LC4": range(20)}
    done = gate(written(tmp_path / "lost", lost, range(20)), "--no-worse-than", main)
    ends = {name: row(done.stdout, name).split()[-1] for name in ("LC1", "LC4/consistency", "LC4")}
    assert ends == {"LC1": "pass", "LC4/consistency": "pass", "LC4": "fail"}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> ScoredModel:
    return read_scored(written(tmp_path_factory.mktemp("read"), {}), Suites([SUITE]))


@given(
    *[st.dictionaries(st.sampled_from(CAPABILITIES), st.sets(st.integers(0, SEEDS - 1)))] * 2,
    *[st.sets(st.integers(0, SEEDS - 1))] * 2,
)
@example({}, dict.fromkeys(CAPABILITIES, range(SEEDS)), (), range(SEEDS))
@example({"LC10": range(SEEDS)}, {"LC4": range(12)}, range(SEEDS), ())
def test_worse_is_what_compare_says(
    read: ScoredModel,
    failing_before: Failing,
    failing: Failing,
    wrong_before: Collection[int],
    wrong: Collection[int],
) -> None:
    main, new = outcomes_of(failing_before, wrong_before), outcomes_of(failing, wrong)
    tests = compare(*paired_cases(main, new))
    pairs = {f"{n}/consistency": one for n, one in compare(*paired_contrasts(main, new)).items()}
    checks = check_no_worse(read._replace(outcomes=new), read._replace(outcomes=main))
    assert [check.figure_name for check in checks] == [*pairs, *tests]
    for check in checks:
        test = (tests | pairs)[check.figure_name]
        assert (check.passed, check.significant_change == "better") == (
            test.better != 0,
            test.better == 1,
        )
        assert (check.p_value, check.case_count) == (test.adjusted_p_value, test.case_count)


def test_a_gate_is_not_passed_by_scoring_less(mine: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "part", {}, suite=SUITE.select(["LC1", "LC4"]))
    done = gate(new, "--no-worse-than", mine)
    assert done.exit_code == 2 and "LC10" in done.stderr
    # The other way round there is more than main has, which is left out and told.
    other = gate(mine, "--no-worse-than", new)
    assert other.exit_code == 1
    assert f"{new} is partial" in " ".join(other.stderr.split())
    assert "LC10" not in other.stdout
