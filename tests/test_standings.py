"""The leaderboard's figures: ranks, suite versions apart, broken files left out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2lct.errors import ScoringError
from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.comparison import compare
from s2lct.leaderboard.results.outcomes import LONGEST_TEXT
from s2lct.leaderboard.results.read import read_result, read_scored, recompute
from s2lct.leaderboard.results.record import FORMAT
from s2lct.leaderboard.results.scored import (
    UNSCORED,
    ScoredModel,
    SuiteOutcomes,
    read_collection,
    write_collection,
)
from s2lct.leaderboard.results.standings import (
    all_standings,
    pairwise_tests,
    rank_intervals,
    suite_standings,
)
from s2lct.leaderboard.results.untrusted import MOST_JSON_BYTES
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.scoring.statistics import CONFIDENCE, model_figures
from s2lct.leaderboard.scoring.training_data import TRAINED_ON
from s2lct.suite.cases import Case, SuiteCases, load_cases

OUTSIDE = frozenset({"sst:test", "rotten_tomatoes:train"})
# id, capability, kind, seed, passes: two families of LC4, one of LC9, one of LC10
CASES = (
    Case(
        "a",
        "LC4",
        "seed",
        "a",
        "It isn't bad.",
        frozenset({1, 2}),
        splits=frozenset({"sst:train"}),
        sources=("films:1",),
    ),
    Case(
        "b",
        "LC4",
        "expansion",
        "a",
        "It isn't also bad.",
        frozenset({1, 2}),
        ("also",),
        "X -> Y",
        frozenset({"sst:train"}),
        ("films:1",),
    ),
    Case(
        "c",
        "LC4",
        "seed",
        "c",
        "That isn't awful.",
        frozenset({1, 2}),
        splits=OUTSIDE,
        sources=("films:2", "sst:1"),
    ),
    Case("d", "LC9", "seed", "d", "Is it bad? Yes.", frozenset({0}), splits=OUTSIDE),
    Case(
        "e",
        "LC9",
        "expansion",
        "d",
        "Is it really bad? Yes.",
        frozenset({0}),
        ("really",),
        splits=OUTSIDE,
    ),
    Case("f", "LC10", "seed", "f", "Is it good? No.", frozenset({0}), splits=frozenset({""})),
)
ORDER = [[case.id, case.text, sorted(case.passes, reverse=True)] for case in CASES]
SUITE = SuiteCases("mine", "1.0.0", fingerprint_of(ORDER), CASES)


def outcomes(model: str, labels: list[int], suite: SuiteCases = SUITE, **facts: Any) -> Outcomes:
    said = np.array(labels)
    failed = failed_cases(suite.cases, said)
    return Outcomes(model, "r1", "0" * 64, "as it says", suite, said, failed, **facts)


RIGHT = [2, 2, 1, 0, 0, 0]
WRONG = [0, 0, 0, 1, 1, 1]


def model(name: str, labels: list[int]) -> ScoredModel:
    return ScoredModel(
        key=name, name=name, revision="", weights_sha256="", label_rule="", parameters=None,
        licence=None, date="2026-01-01T00:00:00+00:00", verified="",
        labels=np.array(labels, dtype=np.int8),
    )  # fmt: skip


def naive_ranks(rates: np.ndarray, samples: np.ndarray) -> list[list[int]]:
    """The definition in loops: a model's largest studentised difference decides."""
    models, ranks = len(rates), []
    for i in range(models):
        shown: dict[int, float] = {}
        largest = [0.0] * len(samples)
        errors: dict[int, float] = {}
        for j in range(models):
            differences = [float(row[j]) - float(row[i]) for row in samples]
            mean = sum(differences) / len(differences)
            variance = sum((one - mean) ** 2 for one in differences) / len(differences)
            errors[j] = variance**0.5 if variance**0.5 > 1e-7 else 0.0
            shown[j] = float(rates[j] - rates[i])
            if errors[j]:
                for n, one in enumerate(differences):
                    largest[n] = max(largest[n], abs(one - shown[j]) / errors[j])
        critical = float(np.quantile(largest, CONFIDENCE))
        better = sum(-shown[j] > critical * errors[j] + 1e-9 for j in shown)
        worse = sum(shown[j] > critical * errors[j] + 1e-9 for j in shown)
        ranks.append([1 + better, models - worse])
    return ranks


@settings(max_examples=50, deadline=None)
@given(
    failed=st.integers(2, 6).flatmap(lambda n: arrays(bool, (n, 12))),
    seed=st.integers(0, 2**32 - 1),
)
def test_ranks_are_those_of_the_definition(failed: np.ndarray, seed: int) -> None:
    drawn = np.random.default_rng(seed).multinomial(12, np.full(12, 1 / 12), size=200)
    samples = drawn.astype(float) @ failed.T.astype(float) / 12
    rates = failed.mean(axis=1)
    assert rank_intervals(rates, samples).tolist() == naive_ranks(rates, samples)


@settings(max_examples=40, deadline=None)
@given(labels=st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=1, max_size=6))
def test_rates_and_intervals_are_those_of_the_result_files(labels: list[list[int]]) -> None:
    models = tuple(model(f"m{n}", said) for n, said in enumerate(labels))
    found = suite_standings(SuiteOutcomes("1.0.0", "f", CASES, models))
    for standing in found.standings:
        alone = outcomes("one", standing.model.labels.tolist())
        (told,) = model_figures(CASES, alone.failed[None])
        assert standing.overall.failure_rate == pytest.approx(told.overall.failure_rate)
        assert standing.overall.ci == pytest.approx(told.overall.ci)
        assert standing.overall.failures == told.overall.failures
        assert standing.capabilities == told.capabilities
    rates = [standing.overall.failure_rate for standing in found.standings]
    assert rates == sorted(rates)


def test_equal_models_share_ranks_and_a_clear_winner_stands_alone() -> None:
    cases = tuple(
        Case(f"{n}", "LC4", "seed", f"{n}", f"Sentence {n}.", frozenset({1, 2})) for n in range(60)
    )
    good, poor = [2] * 58 + [0] * 2, [0] * 50 + [2] * 10
    suite = SuiteOutcomes(
        "1.0.0", "f", cases, (model("b", poor), model("a", good), model("c", poor))
    )
    ranks = {s.model.name: s.rank for s in suite_standings(suite).standings}
    assert ranks == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}


def test_pass_to_fail_and_what_lies_outside_training_data() -> None:
    said = [2, 0, 1, 0, 1, 1]  # the insertion of b breaks it, and that of e; f fails
    standing = suite_standings(SuiteOutcomes("", "", CASES, (model("m", said),))).standings[0]
    assert (standing.pass_to_fail, standing.passing_expansions) == (2, 2)
    # Known to be outside SST's train split are c, d and e: LC4 fails nothing, LC9 half.
    assert (standing.training_known, standing.compared_with) == (False, ("sst:train",))
    outside = standing.outside_training
    assert outside is not None
    assert (outside.failures, outside.cases, outside.failure_rate) == (1, 3, 0.25)
    assert standing.capabilities["LC4"].all.failure_rate == pytest.approx(1 / 3)
    assert standing.overall.failure_rate == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)
    # Always negative fails LC4 alone, and is the best answer that does not read.
    assert standing.chance == pytest.approx(1 / 3)
    assert standing.chance_corrected == pytest.approx(1 - (11 / 18) / (1 / 3))


def test_references_and_one_answer_are_told() -> None:
    models = (model("no", [0] * 6), model("m", RIGHT))
    found = suite_standings(SuiteOutcomes("", "", CASES, models))
    assert {one.name: pytest.approx(one.failure_rate) for one in found.references} == {
        "always-negative": 1 / 3,
        "always-neutral": 2 / 3,
        "always-positive": 2 / 3,
        "random": (1 / 3 + 2 / 3 + 2 / 3) / 3,
    }
    told = {standing.model.name: standing.one_answer for standing in found.standings}
    assert told == {"no": (0, 1.0), "m": None}
    (no,) = (standing for standing in found.standings if standing.model.name == "no")
    assert no.chance_corrected == 0


def test_every_pair_of_ranked_models_is_tested_as_compare_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = tuple(
        Case(f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"{n}", frozenset({0}))
        for name in ("LC10", "LC2")
        for n in range(20)
        for kind in ("seed", "expansion")
    )
    rng = np.random.default_rng(3)
    models = [
        model(f"m{n}", (rng.random(len(cases)) < share).astype(int).tolist())
        for n, share in enumerate((0.1, 0.5, 0.5, 0.9))
    ]
    partly = replace(models[0], key="part", name="part", labels=models[0].labels.copy())
    partly.labels[3] = UNSCORED
    found = suite_standings(SuiteOutcomes("1.0.0", "f", cases, (*models, partly)))
    models_tested, p_values = pairwise_tests(found)
    assert models_tested == 4 and p_values.shape == (6, 2)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for (a, b), adjusted in zip(pairs, p_values, strict=True):
        one, other = (found.standings[n].model.labels != 0 for n in (a, b))
        told = compare(cases, one, other)
        assert adjusted.tolist() == pytest.approx([told[name].adjusted for name in ("LC2", "LC10")])
    assert (p_values < 0.05).any() and (p_values >= 0.05).any()
    monkeypatch.setattr("s2lct.leaderboard.results.standings.MOST_TESTED", 3)
    fewer, their_p_values = pairwise_tests(found)
    assert fewer == 3 and their_p_values.tolist() == p_values[[0, 1, 3]].tolist()
    alone, no_p_values = pairwise_tests(
        suite_standings(SuiteOutcomes("", "", cases, (partly, models[0])))
    )
    assert alone == 1 and no_p_values.shape == (0, 2)


def test_models_are_held_against_their_own_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRAINED_ON, "org/tomatoes", frozenset({"rotten_tomatoes:train"}))
    models = tuple(model(name, RIGHT) for name in ("any", "embedded-3class", "org/tomatoes"))
    found = {
        s.model.name: s for s in suite_standings(SuiteOutcomes("", "", CASES, models)).standings
    }
    told = {
        name: (
            one.training_known,
            one.compared_with,
            one.outside_training and one.outside_training.cases,
        )
        for name, one in found.items()
    }
    assert told == {
        "any": (False, ("sst:train",), 3),
        "embedded-3class": (True, ("sst:train",), 3),
        "org/tomatoes": (True, ("rotten_tomatoes:train",), 2),
    }


def test_a_model_without_all_cases_has_no_rank_and_moves_nobody() -> None:
    whole = (model("a", RIGHT), model("b", WRONG))
    partly = model("part", [2, 2, 1, UNSCORED, UNSCORED, UNSCORED])
    alone = suite_standings(SuiteOutcomes("", "", CASES, whole)).standings
    found = suite_standings(SuiteOutcomes("", "", CASES, (partly, *whole))).standings
    assert [s.model.name for s in found] == ["a", "b", "part"]
    assert [s.rank for s in found] == [*(s.rank for s in alone), None]
    assert found[2].cases == 3 and list(found[2].capabilities) == ["LC4"]


def test_results_of_real_models_are_read_and_ranked(suite_folder: Path, tmp_path: Path) -> None:
    suite = load_cases(suite_folder)
    rng = np.random.default_rng(0)
    splits = [frozenset({f"sst:{split}"}) for split in ("train", "dev", "test")]
    # What the sentences of this suite are in, nobody knows: say it.
    marked = [
        replace(case, splits=splits[len(case.seed_id + case.text) % 3]) for case in suite.cases
    ]
    suite = replace(suite, cases=tuple(marked))
    paths = {
        name: write_result(
            outcomes(name, rng.integers(0, 3, len(suite.cases)).tolist(), suite), tmp_path
        )
        for name in ("one", "org/two", "embedded-2class")
    }
    collection = collect(tmp_path)
    assert not collection.skipped
    (found,) = all_standings(collection)
    assert found.suite.fingerprint == suite.fingerprint
    assert found.suite.cases == suite.cases
    for standing in found.standings:
        told = read_result(paths[standing.model.name])
        assert standing.overall.failure_rate == pytest.approx(told.overall.failure_rate)
        assert standing.overall.ci == pytest.approx(told.overall.ci)
        assert told.seen_in_training is not None
        known, outside = told.seen_in_training.known, standing.outside_training
        assert (known, standing.training_known) == (standing.model.name == "embedded-2class",) * 2
        compared = told.seen_in_training.comparisons[0]
        assert outside is not None
        assert standing.compared_with == compared.training_data
        assert outside.failure_rate == pytest.approx(compared.other.failure_rate)
        assert outside.ci == pytest.approx(compared.other.ci)
        assert (outside.cases, outside.failures) == (compared.other.cases, compared.other.failures)
        flipped = sum(one.pass_to_fail for one in told.capabilities.values())
        assert standing.pass_to_fail == flipped


def test_suite_versions_stand_apart(tmp_path: Path) -> None:
    later_cases = (*CASES[:5], replace(CASES[5], id="g", text="Is it fine? No."))
    later = SuiteCases(
        "mine", "1.10.0",
        fingerprint_of([[c.id, c.text, sorted(c.passes, reverse=True)] for c in later_cases]),
        later_cases,
    )  # fmt: skip
    write_result(outcomes("old", RIGHT), tmp_path / "1.0.0")
    write_result(outcomes("both", RIGHT), tmp_path / "1.0.0")
    write_result(outcomes("both", WRONG, later), tmp_path / "1.10.0")
    for official in ([later, SUITE], [SUITE, later]):
        collection = collect(tmp_path, official=official)
        found = all_standings(collection)
        assert [(one.suite.version, len(one.standings)) for one in found] == [
            ("1.10.0", 1),
            ("1.0.0", 2),
        ]
        assert found[0].standings[0].overall.failure_rate == 1
        assert {s.overall.failure_rate for s in found[1].standings} == {0}
        assert not collection.skipped


def test_a_suite_from_a_hub_without_fingerprint_joins_its_version(tmp_path: Path) -> None:
    write_result(outcomes("here", RIGHT), tmp_path)
    write_result(outcomes("hub", RIGHT, SuiteCases("org/mine", "v1.0.0", "", CASES)), tmp_path)
    (found,) = all_standings(collect(tmp_path))
    assert {standing.model.name for standing in found.standings} == {"here", "hub"}


def test_the_suite_is_what_its_fingerprint_says_not_what_most_claim(tmp_path: Path) -> None:
    extra = (*CASES, Case("x", "LC10", "seed", "x", "Is it dull? No.", frozenset({0})))
    write_result(outcomes("honest", RIGHT), tmp_path)
    for name in ("forger1", "forger2"):
        forged = SuiteCases("mine", "1.0.0", SUITE.fingerprint, extra)
        write_result(outcomes(name, [*RIGHT, 0], forged), tmp_path)
    collection = collect(tmp_path)
    (suite,) = collection.suites
    assert [one.name for one in suite.models] == ["honest"]
    assert len(collection.skipped) == 2
    assert all("case x is not of the suite" in line for line in collection.skipped)


def test_of_two_results_of_a_model_the_verified_then_the_newest_counts(tmp_path: Path) -> None:
    for folder, day, labels in (("x", "01", RIGHT), ("y", "02", WRONG), ("z", "03", WRONG)):
        path = write_result(outcomes("m", labels), tmp_path / folder)
        told = json.loads(path.read_text())
        told["date"] = f"2026-01-{day}T00:00:00+00:00"
        path.write_text(json.dumps(told))
    (standing,) = all_standings(collect(tmp_path))[0].standings
    assert standing.model.date.startswith("2026-01-03")
    (first,) = (tmp_path / "x").glob("*.json")
    verified = {sha256_of(first): "2026-02-01"}
    (tmp_path / "verified.json").write_text(json.dumps(verified))
    collection = collect(tmp_path)
    (standing,) = all_standings(collection)[0].standings
    assert standing.model.date.startswith("2026-02-01")  # of its check
    assert standing.model.verified == "2026-02-01"
    assert len(collection.skipped) == 2


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"a": 3}', '{"a": "soon"}', "[" * 100_000, f'{{"{"a" * 64}": "0001-01-01"}}'],
)
def test_a_broken_list_of_verified_results_verifies_nothing(content: str, tmp_path: Path) -> None:
    write_result(outcomes("m", RIGHT), tmp_path)
    (tmp_path / "verified.json").write_text(content)
    collection = collect(tmp_path)
    assert [one.verified for one in collection.suites[0].models] == [""]
    (line,) = collection.skipped
    assert line.startswith("verified.json: is no list of verified results")


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        told = json.loads(path.read_text())
        change(told)
        path.write_text(json.dumps(told))

    return apply


def retabled(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    """Changes the Parquet file and names its new hash, as somebody who means it would."""

    def apply(path: Path) -> None:
        table = change(pq.read_table(path.with_suffix(".parquet")))
        pq.write_table(table, path.with_suffix(".parquet"))
        told = json.loads(path.read_text())
        told["outcomes"] |= {
            "sha256": sha256_of(path.with_suffix(".parquet")),
            "rows": table.num_rows,
        }
        path.write_text(json.dumps(told))

    return apply


def column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.schema.get_field_index(name), name, values)


BREAKS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no JSON": (lambda path: path.write_text("{"), "is no result file"),
    "no UTF-8": (lambda path: path.write_bytes(b'{"format": "\xff"}'), "is no result file"),
    "NaN": (
        lambda path: path.write_text(
            path.read_text().replace('"failure_rate": 0.0', '"failure_rate": NaN', 1)
        ),
        "is no result file",
    ),
    "huge": (lambda path: path.write_bytes(b" " * (MOST_JSON_BYTES + 1)), "at most 1,048,576"),
    "deep": (lambda path: path.write_text("[" * 100_000), "is no result file"),
    "wrong type": (changed(lambda told: told["model"].update(name=3)), "model.name"),
    "long name": (changed(lambda told: told["model"].update(name="m" * 1000)), "at most 200"),
    "control characters": (changed(lambda told: told["model"].update(name="a\x1b[2J")), "control"),
    "date": (changed(lambda told: told.update(date="yesterday")), "is no ISO date"),
    "path": (changed(lambda told: told["outcomes"].update(path="../a.parquet")), "no plain name"),
    "rows": (changed(lambda told: told["outcomes"].update(rows=5)), "has 6 rows for 5 cases"),
    "better count": (
        changed(lambda told: told["capabilities"]["LC9"]["seed"].update(failures=0)),
        "LC9.seed.failures does not follow",
    ),
    "other hash": (
        lambda path: path.with_suffix(".parquet").open("ab").write(b"x"),
        "SHA-256 differs",
    ),
    "no parquet": (lambda path: path.with_suffix(".parquet").unlink(), "cannot be read (No"),
    "twice": (retabled(lambda table: pa.concat_tables([table, table])), "'a' comes twice"),
    "no column": (retabled(lambda table: table.drop_columns(["splits"])), "0 too many, 1 missing"),
    "gaps": (retabled(column("text", pa.array([None] * 6, pa.string()))), "has gaps"),
    "label": (retabled(column("label", pa.array(["great"] * 6))), "a label is none of"),
    "passes": (retabled(column("passes", pa.array([[7]] * 6))), "no known label"),
    "long text": (retabled(column("text", pa.array(["é" * (LONGEST_TEXT + 1)] * 6))), "longer"),
    "bomb": (
        retabled(column("inserted", pa.array([["a" * 20_000] * 7_000] * 6))),
        "holds a column of 42,000 values",
    ),
    "text that is no UTF-8": (
        retabled(
            column("text", pa.array([b"\xff\xfe"] * 6, pa.binary()).view(pa.string()))
        ),
        "can be read (",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BREAKS)
def test_a_broken_file_is_left_out_with_one_line(fault: str, tmp_path: Path) -> None:
    write_result(outcomes("good", RIGHT), tmp_path)
    breaks, said = BREAKS[fault]
    path = write_result(outcomes("bad", WRONG), tmp_path)
    breaks(path)
    collection = collect(tmp_path)
    assert [one.name for suite in collection.suites for one in suite.models] == ["good"]
    (line,) = collection.skipped
    assert line.startswith(f"{path.name}: ") and said in line
    assert "\n" not in line and line.isprintable()


def format_1(path: Path) -> None:
    """A result file as the first format has it."""
    told = json.loads(path.read_text())
    told["format"] = 1
    del told["answers"], told["references"], told["overall"]["chance"]
    del told["overall"]["chance_corrected"]
    for one in told["capabilities"].values():
        del one["all"]
        for kind in ("seed", "expansion"):
            one[kind]["ci"] = [0, 0]
    path.write_text(json.dumps(told))
    retabled(lambda table: table.drop_columns(["sources", "refused", "unreadable"]))(path)


def test_results_of_the_first_format_are_read_and_take_their_suite_s_families(
    tmp_path: Path,
) -> None:
    old = write_result(outcomes("old", WRONG), tmp_path / "in")
    format_1(old)
    alone = collect(tmp_path / "in")
    assert not alone.skipped
    assert {case.sources for case in alone.suites[0].cases} == {()}
    write_result(outcomes("zzz", RIGHT), tmp_path / "in")
    both = collect(tmp_path / "in")
    assert not both.skipped
    (suite,) = both.suites
    assert suite.cases == CASES and len(suite.models) == 2
    write_collection(alone, tmp_path / "one.parquet")
    table = pq.read_table(tmp_path / "one.parquet").drop_columns(["sources"])
    pq.write_table(table, tmp_path / "one.parquet")
    assert read_collection(tmp_path / "one.parquet").suites[0].cases == alone.suites[0].cases
    # Its figures are those of this version, computed from its cases.
    now = read_scored(old)[0]
    assert now.format == FORMAT and now.overall.chance is not None
    assert now.capabilities["LC9"].seed.ci != (0, 0)
    assert recompute(old) == now
    changed(lambda told: told["capabilities"]["LC9"]["seed"].update(failures=0))(old)
    with pytest.raises(ScoringError, match=r"LC9\.seed\.failures does not follow"):
        recompute(old)


def test_nothing_usable_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ScoringError, match=r"no usable result file; 1 left out, the first: bad"):
        collect(tmp_path)
    with pytest.raises(ScoringError, match="neither a folder nor a Parquet file"):
        collect(tmp_path / "missing")


def test_one_parquet_file_holds_the_whole_collection(tmp_path: Path) -> None:
    write_result(outcomes("a", RIGHT, parameters=7, licence="mit"), tmp_path / "in")
    write_result(outcomes("b", WRONG), tmp_path / "in")
    part = SuiteCases("mine", "1.0.0", SUITE.fingerprint, CASES[2:4])
    write_result(outcomes("part", [1, 1], part), tmp_path / "in")
    other = SuiteCases("mine", "2.0.0", "9" * 64, CASES[:2])
    write_result(outcomes("other", [1, 1], other), tmp_path / "in")
    collection = collect(tmp_path / "in")
    assert not collection.skipped
    write_collection(collection, tmp_path / "one.parquet")
    again = read_collection(tmp_path / "one.parquet")
    assert [(s.version, s.fingerprint, s.cases) for s in again.suites] == [
        (s.version, s.fingerprint, s.cases) for s in collection.suites
    ]
    for suite, other_suite in zip(collection.suites, again.suites, strict=True):
        for one, same in zip(suite.models, other_suite.models, strict=True):
            assert one.labels.tolist() == same.labels.tolist()
            assert replace(one, labels=same.labels) == same
    write_collection(again, tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    table = pq.read_table(tmp_path / "one.parquet")
    assert table.num_rows == 6 + 6 + 2 + 2
    assert sum(table["failed"].to_pylist()) == sum(
        int(read_scored(path).outcomes.failed.sum()) for path in (tmp_path / "in").glob("*.json")
    )


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    shutil.copy(__file__, tmp_path / "text.parquet")
    for name in ("other", "text"):
        with pytest.raises(ScoringError, match="is no collection of outcomes"):
            collect(tmp_path / f"{name}.parquet")


def test_reading_results_needs_neither_torch_nor_gradio() -> None:
    script = (
        "import sys; import s2lct.leaderboard.results.standings, s2lct.leaderboard.site.site, "
        "s2lct.leaderboard.site.server, s2lct.cli.leaderboard; "
        "print([m for m in ('torch', 'gradio', 'datasets', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
