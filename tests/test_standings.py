"""The leaderboard's figures: which results are read, and the ranks that come of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made_up_results
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.read_results import read_result
from s2lct.leaderboard.results.standings import (
    Leaderboard,
    SuiteStandings,
    collect,
    pairwise_tests,
    rank_ranges,
)
from s2lct.leaderboard.site.report import one_label_of
from s2lct.leaderboard.site.site import flat_rows
from s2lct.suite.cases import Case

NEITHER, NEGATIVE = frozenset({1, 2}), frozenset({0})
CASES = (
    Case("a", "LC4", "seed", "a", "It isn't bad.", NEITHER),
    Case("b", "LC4", "expansion", "a", "It isn't so bad.", NEITHER, ("so",), "X -> Y"),
    Case("c", "LC4", "seed", "c", "That isn't awful.", NEITHER),
    Case("d", "LC9", "seed", "d", "Is it bad? Yes.", NEGATIVE),
    Case("e", "LC9", "expansion", "d", "Is it so bad? Yes.", NEGATIVE, ("so",)),
    Case("f", "LC10", "seed", "f", "Is it good? No.", NEGATIVE),
)  # fmt: skip
RIGHT = [2, 2, 1, 0, 0, 0]
SUITE = made_up_results.suite("1.0.0", seeds=4)


def ranked(
    folder: Path, *models: tuple[str, Any], cases: tuple[Case, ...] = CASES
) -> SuiteStandings:
    """The standings of models that predict these labels."""
    suite = made_up_results.made_suite(cases)
    for name, labels in models:
        made_up_results.make_result(suite, folder, name=name, labels=np.array(labels))
    (board,) = collect(folder, [suite]).suites
    return board


@given(failed=st.integers(2, 6).flatmap(lambda n: arrays(bool, (n, 12))))
def test_a_model_s_rank_counts_those_shown_to_be_better_or_worse(failed: np.ndarray) -> None:
    cases = [Case(f"{n}", "LC4", "seed", f"{n}", f"Film {n}.", NEITHER) for n in range(12)]
    ranks = rank_ranges(cases, failed)
    rates = failed.mean(axis=1)
    for (best, worst), rate in zip(ranks.tolist(), rates, strict=True):
        assert 1 <= best <= 1 + (rates < rate).sum()
        assert len(rates) - (rates > rate).sum() <= worst <= len(rates)


def test_models_that_are_equally_good_rarely_rank_apart() -> None:
    cases = [Case(f"{n}", "LC4", "seed", f"{n}", f"Film {n}.", NEITHER) for n in range(100)]
    rng = np.random.default_rng(0)
    boards = [rank_ranges(cases, rng.random((5, 100)) < 0.3) for _ in range(300)]
    assert np.mean([(ranks != [1, 5]).any(axis=1).mean() for ranks in boards]) < 0.05


def test_equal_models_share_ranks_and_a_clear_winner_stands_alone(tmp_path: Path) -> None:
    cases = tuple(Case(f"{n}", "LC4", "seed", f"{n}", f"Film {n}.", NEITHER) for n in range(60))
    good, poor = [2] * 58 + [0] * 2, [0] * 50 + [2] * 10
    found = ranked(tmp_path, ("b", poor), ("a", good), ("c", poor), cases=cases)
    ranks = [(one.scored.result.model.name, one.rank) for one in found.standings]
    assert ranks == [("a", (1, 1)), ("b", (2, 3)), ("c", (2, 3))]


def test_a_row_has_pass_to_fail_and_chance(tmp_path: Path) -> None:
    said = [2, 0, 1, 0, 1, 1]  # the insertion of b breaks it, and that of e; f fails
    found = ranked(tmp_path, ("m", said), ("no", [0] * 6))
    no, mine, *references = flat_rows([found])
    assert (mine["pass_to_fail"], mine["passing_expansions"]) == (2, 2)
    assert mine["failure_rate_macro"] == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)
    # Always negative fails LC4 alone, and is the best answer that does not read.
    assert mine["chance_corrected"] == pytest.approx(1 - (11 / 18) / (1 / 3))
    assert {row["model"]: pytest.approx(row["failure_rate_macro"]) for row in references} == {
        "always-negative": 1 / 3,
        "always-neutral": 2 / 3,
        "always-positive": 2 / 3,
        "random": (1 / 3 + 2 / 3 + 2 / 3) / 3,
    }
    assert mine["best_constant"] == pytest.approx(1 / 3)
    assert (no["one_answer"], mine["one_answer"], no["chance_corrected"]) == ("negative", None, 0)
    assert one_label_of(found.standings[0].scored.result) == ("negative", 1.0)


def test_every_pair_of_models_is_tested_as_compare_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = tuple(
        Case(f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"{name} {n} {kind}", NEGATIVE)
        for name in ("LC10", "LC2")
        for n in range(20)
        for kind in ("seed", "expansion")
    )
    rng = np.random.default_rng(3)
    models = [
        (f"m{n}", (rng.random(len(cases)) < share).astype(int))
        for n, share in enumerate((0.1, 0.5, 0.5, 0.9))
    ]
    found = ranked(tmp_path, *models, cases=cases)
    names, p_values, better = pairwise_tests(found)
    assert names == ["LC2", "LC10"] and p_values.shape == (6, 2)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for (a, b), adjusted, winners in zip(pairs, p_values, better, strict=True):
        one, other = (found.standings[n].scored.outcomes.failed for n in (a, b))
        compared = compare(found.suite.cases, one, other)
        expected = [compared[name].adjusted_p_value for name in ("LC2", "LC10")]
        assert adjusted.tolist() == pytest.approx(expected)
        assert winners == [compared[name].better for name in ("LC2", "LC10")]
    assert (p_values < 0.05).any() and (p_values >= 0.05).any()
    monkeypatch.setattr("s2lct.leaderboard.results.standings.MAX_TESTED_MODELS", 3)
    assert pairwise_tests(found).p_values.tolist() == p_values[[0, 1, 3]].tolist()


# Which results are read


def named(collection: Leaderboard) -> list[str]:
    return [one.scored.result.model.name for suite in collection.suites for one in suite.standings]


def test_figures_are_those_of_the_files_and_suites_stand_apart(tmp_path: Path) -> None:
    later = made_up_results.suite("1.10.0", seeds=4)
    path = made_up_results.write("org/a", 0.5, SUITE, tmp_path / "results")
    made_up_results.write("org/b", 0.2, SUITE, tmp_path / "results")
    made_up_results.write("org/a", 0.2, later, tmp_path / "deeper" / "results")
    for suites in ([later, SUITE], [SUITE, later]):
        collection = collect(tmp_path, suites)
        newer, older = collection.suites
        assert not collection.skip_reasons
        assert [newer.suite.version, older.suite.version] == ["1.10.0", "1.0.0"]
        assert len(newer.standings) == 1
    assert read_result(path) in [one.scored.result for one in older.standings]
    # What --suite does not name is left out.
    assert [one.suite for one in collect(tmp_path, [later]).suites] == [later]


def test_of_one_model_s_results_the_newest_counts(tmp_path: Path) -> None:
    for folder, day, failing in (("x", "01", 0.1), ("y", "03", 0.6), ("z", "02", 0.6)):
        name = "ORG/Model" if folder == "y" else "org/model"  # one model on the Hub
        path = made_up_results.write(name, failing, SUITE, tmp_path / folder)
        content = json.loads(path.read_text()) | {"date": f"2026-01-{day}T00:00:00+00:00"}
        path.write_text(json.dumps(content))
    collection = collect(tmp_path, [SUITE])
    assert named(collection) == ["ORG/Model"] and len(collection.skip_reasons) == 2


def test_parts_of_a_suite_and_given_predictions_are_not_ranked(tmp_path: Path) -> None:
    made_up_results.write("good", 0.2, SUITE, tmp_path)
    made_up_results.write("part", 0.2, SUITE.select(limit=2), tmp_path)
    predictions = {"file": "mine.csv", "sha256": "0" * 64}
    made_up_results.write("team/mine", 0.2, SUITE, tmp_path, predictions=predictions)
    collection = collect(tmp_path, [SUITE])
    assert named(collection) == ["good"]
    assert len(collection.skip_reasons) == 2


def test_the_command_finds_the_suite_and_says_what_it_left_out(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    run("score", "vader", "afinn", "--suite", suite_folder, "--out", "results")
    (tmp_path / "results" / "x.json").write_text("{}")
    told = run("leaderboard", "build", "results")
    assert "2 models" in " ".join(told.split()) and "left out x.json" in told
    for name in ("index.html", "leaderboard.csv", "leaderboard.json", "leaderboard.parquet"):
        assert (tmp_path / "site" / name).stat().st_size
    done = CliRunner().invoke(app, ["leaderboard", "build", "site"])
    assert done.exit_code == 1 and "Error: " in done.output
    with pytest.raises(ScoringError) as error:
        collect(tmp_path / "results", [SUITE])
    assert "--suite" in error.value.hint
