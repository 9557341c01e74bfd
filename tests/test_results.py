"""Result files: where they go, what is read again, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_results import made_suite, make_outcomes, make_result, suite_at
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.files import sha256_of
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.results.read_results import (
    Suites,
    read_result,
    read_scored,
    recompute,
)
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.submission import check
from s2lct.leaderboard.results.write_results import repository_path, write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case, load_suite

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
CASES = tuple(
    Case(
        f"{name}-{n}-{kind}", name, kind, f"{name}-{n}-seed", f"Film {n} of {name}, {kind}.",
        frozenset({1, 2}), ("also",) if kind == "expansion" else (),
    )
    for name in ("LC4", "LC9") for n in range(3) for kind in ("seed", "expansion")
)  # fmt: skip
SUITE, OTHER = made_suite(CASES), made_suite(CASES[:-2], version="2.0.0")
SUITES = Suites([SUITE, OTHER])


def run(*arguments: object) -> Any:
    return runner.invoke(app, [*map(str, arguments)])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def made(name: str = "x/y", suite: Any = SUITE, **facts: Any) -> Callable[[], Outcomes]:
    return lambda: make_outcomes(suite, name=name, **facts)


DIFFERENT = {
    **{name: made(name) for name in ("x/y", "x--y", "x:y", "X/Y", "модель", "другая", "../..")},
    "revision": made(revision="r2"),
    "label map": made(label_map={"A": "negative", "B": "positive"}),
    "other label map": made(label_map={"A": "positive", "B": "negative"}),
    "bfloat16": made(dtype="bfloat16"),
    "prompt": made(asks=LabelPrompt("{text} So:", ("bad", "good"))),
    "other prompt": made(asks=LabelPrompt("{text} Thus:", ("bad", "good"))),
    "words": made(asks=LabelPrompt("{text} So:", ("poor", "good"))),
    "suite": made(suite=OTHER),
    "LC4": made(suite=SUITE.select(["LC4"])),
    "LC9": made(suite=SUITE.select(["LC9"])),
    "vader": made("vader"),
    "vader, LC4": made("vader", SUITE.select(["LC4"])),
    "vader, suite": made("vader", OTHER),
    "long": made("x/" + "y" * 500),
    "longer": made("x/" + "y" * 501),
}


def test_no_two_different_results_meet_and_the_same_replaces_its_own(tmp_path: Path) -> None:
    paths = {what: write_result(make(), tmp_path) for what, make in DIFFERENT.items()}
    assert len({path.name.lower() for path in paths.values()}) == len(DIFFERENT)
    assert all(path.parent == tmp_path and path.name.isascii() for path in paths.values())
    assert all(len(name) < 150 for name in names(tmp_path))
    for what, make in DIFFERENT.items():
        assert write_result(make(), tmp_path) == paths[what]
        assert recompute(paths[what], SUITES).model.name == make().model.name
    assert len(names(tmp_path)) == 2 * len(DIFFERENT)
    whole = [recompute(paths[what], SUITES) for what in DIFFERENT if "LC" not in what]
    assert len({repository_path(one) for one in whole}) == len(whole)


def test_what_is_there_stays_unless_it_is_the_same(tmp_path: Path) -> None:
    first = write_result(made("vader")(), tmp_path)
    content = first.read_bytes(), first.with_suffix(".parquet").read_bytes()
    assert write_result(made("vader", OTHER)(), tmp_path) != first
    assert (first.read_bytes(), first.with_suffix(".parquet").read_bytes()) == content
    # A new version of the package that says the same takes the place of the old one.
    assert write_result(made("vader", revision="r2")(), tmp_path) == first
    for number, mine in enumerate([b"{}", b"\xff", None]):
        file = tmp_path / str(number) / "vader.json"
        file.parent.mkdir()
        file.mkdir() if mine is None else file.write_bytes(mine)
        path = write_result(made("vader")(), file.parent)
        assert path != file and read_result(path).model.name == "vader"
        assert mine is None or file.read_bytes() == mine


def test_a_result_is_read_with_its_suite_and_no_other(tmp_path: Path) -> None:
    outcomes = make_outcomes(SUITE, lambda case: case.capability == "LC9")
    probabilities = np.eye(3)[outcomes.labels]
    path = write_result(replace(outcomes, probabilities=probabilities), tmp_path)
    columns = pq.read_table(path.with_suffix(".parquet")).to_pydict()
    assert [*columns] == ["id", "label", "negative", "neutral", "positive"]
    result, found = read_scored(path, SUITES)
    assert found.labels.tolist() == outcomes.labels.tolist() and found.cases == SUITE.cases
    assert (found.probabilities == probabilities).all()
    assert result.capabilities["LC9"].all.failure_rate == 1
    with pytest.raises(ScoringError) as error:
        read_scored(path, Suites([OTHER]))
    assert "--suite" in error.value.hint and str(path) in error.value.problem
    assert run("report", path).exit_code == 1
    done = run("report", path, "--suite", suite_at(tmp_path / "rows", SUITE))
    assert done.exit_code == 0 and "50.0" in done.output, done.output
    # The rows may stand in any order.
    told = json.loads(path.read_text())
    shuffled = path.with_suffix(".parquet")
    pq.write_table(pq.read_table(shuffled).take(pa.array(range(len(CASES))[::-1])), shuffled)
    told["outcomes"]["sha256"] = sha256_of(shuffled)
    path.write_text(json.dumps(told))
    assert read_scored(path, SUITES).result.overall == result.overall


def test_a_long_word_that_broke_a_model_is_written_and_read(tmp_path: Path) -> None:
    word = "x" * 5_000
    cases = [Case("a", "LC4", "seed", "a", "A film.", frozenset({0}))]
    cases.append(Case("b", "LC4", "expansion", "a", f"A {word} film.", frozenset({0}), (word,)))
    suite = made_suite(cases)
    path = make_result(suite, tmp_path, lambda case: case.id == "b")
    assert [of.item for of in recompute(path, Suites([suite])).flipping_words] == [word]


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        told = json.loads(path.read_text())
        change(told)
        path.write_text(json.dumps(told))

    return apply


def retabled(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Changes the Parquet file and names its new hash, as somebody who means it would."""

    def apply(path: Path) -> None:
        table = path.with_suffix(".parquet")
        columns = pq.read_table(table).to_pydict()
        schema = pq.read_schema(table)
        change(columns)
        fields = [field for field in schema if field.name in columns]
        known = pa.table({f.name: pa.array(columns[f.name], f.type) for f in fields})
        for name in columns.keys() - set(schema.names):
            known = known.append_column(name, pa.array(columns[name]))
        pq.write_table(known, table)
        facts = {"sha256": sha256_of(table), "rows": len(known)}
        changed(lambda told: told["outcomes"].update(facts))(path)

    return apply


PAIRED = made_suite(
    CASES,
    [
        Case(f"{case.id}-other", case.capability, "contrast", case.id, f"No {case.text}",
             frozenset({0}))
        for case in CASES
    ],
    version="3.0.0",
)  # fmt: skip


def without(path: Path, lacking: Callable[[str, str], bool], **selection: Any) -> None:
    """Leave rows out of a result, by id and label, and say of what part of the suite it is."""

    def fewer(columns: dict[str, Any]) -> None:
        rows = zip(columns["id"], columns["label"], strict=True)
        kept = [number for number, row in enumerate(rows) if not lacking(*row)]
        for name, values in columns.items():
            columns[name] = [values[number] for number in kept]

    retabled(fewer)(path)
    if selection:
        parts = {"capabilities": None, "kind": None, "limit": None} | selection
        changed(lambda told: told.update(selection=parts))(path)


@pytest.mark.parametrize(
    ("lacking", "selection"),
    [
        (lambda id, label: "other" in id and label != "negative", {}),
        (lambda id, label: "other" in id, {}),
        (lambda id, label: id == CASES[0].id, {}),
        (lambda id, label: id in (CASES[0].id, f"{CASES[0].id}-other"), {}),
        (lambda id, label: "other" in id and label != "negative", {"limit": 9}),
        (lambda id, label: "LC9" in id or ("other" in id and label != "negative"),
         {"capabilities": ["LC4"]}),
        (lambda id, label: id == CASES[0].id, {"limit": 9}),
    ],
)  # fmt: skip
def test_wrong_contrasts_cannot_be_left_out(
    tmp_path: Path, lacking: Callable[[str, str], bool], selection: dict[str, Any]
) -> None:
    folder = suite_at(tmp_path / "paired", PAIRED)
    failing = {f"{case.id}-other" for case in CASES[::2]}
    path, whole = (
        make_result(PAIRED, tmp_path / name, lambda case: case.id in failing, name)
        for name in ("mine", "other")
    )
    assert read_scored(path, Suites([PAIRED])).result.overall.consistency.macro == 0.5
    without(path, lacking, **selection)
    for command in (
        ("report", path),
        ("gate", path, "--min", "consistency=0"),
        ("gate", whole, "--no-worse-than", path),
        ("compare", path, whole),
        ("compare", whole, path),
    ):
        done = run(*command, "--suite", folder)
        assert done.exit_code and path.with_suffix(".parquet").name in done.stderr, done.output
        assert "lacks" in done.stderr and not done.stdout
    (reason,) = check(path, PAIRED).reasons[-1:]
    assert "lacks" in reason
    with pytest.raises(ScoringError, match=r"lacks|part of the suite"):
        collect(path.parent, [PAIRED])
    with pytest.raises(ScoringError, match="lacks"):
        recompute(path, Suites([PAIRED]))


def test_a_result_without_contrasts_says_so_and_is_no_whole_one(tmp_path: Path) -> None:
    folder = suite_at(tmp_path / "paired", PAIRED)
    whole = make_result(PAIRED, tmp_path / "whole", name="whole")
    part = make_result(PAIRED.restricted_to([case.id for case in CASES]), tmp_path, name="part")
    scored = read_scored(part, Suites([PAIRED]))
    assert scored.result.partial and scored.result.overall.consistency is None
    assert run("gate", whole, "--no-worse-than", part, "--suite", folder).exit_code == 0
    done = run("gate", part, "--no-worse-than", whole, "--suite", folder)
    assert done.exit_code == 2 and f"lacks {len(CASES)}" in done.stderr
    assert "is partial" in " ".join(run("compare", part, whole, "--suite", folder).output.split())
    assert check(part, PAIRED).reasons


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def first_row(**values: Any) -> Callable[[dict[str, Any]], Any]:
    def change(columns: dict[str, Any]) -> None:
        for name, value in values.items():
            columns[name][0] = value

    return change


SPOILS: dict[str, Callable[[Path], Any]] = {
    "an older format": changed(lambda told: told.update(format=3)),
    "a date to come": changed(lambda told: told.update(date="2999-01-01T00:00:00+00:00")),
    "a control character": changed(lambda told: told["model"].update(name="a\x1b[2Jb")),
    "another hash": changed(lambda told: told["outcomes"].update(sha256="0" * 64)),
    "a path": changed(lambda told: told["outcomes"].update(path="../x.parquet")),
    "a file that is none": lambda path: path.with_suffix(".parquet").write_bytes(b"PAR1"),
    "a device": linked,
    "a pipe": piped,
    "rows denied": changed(lambda told: told["outcomes"].update(rows=7)),
    "a label that is none": retabled(first_row(label="joyful")),
    "an id of no case": retabled(first_row(id="stranger")),
    "an id twice": retabled(lambda columns: columns["id"].__setitem__(0, columns["id"][1])),
    "a case left out": retabled(lambda columns: [values.pop() for values in columns.values()]),
    "another column": retabled(lambda columns: columns.update(passes=[1] * len(CASES))),
    "a long id again and again": retabled(
        lambda columns: columns.update(id=["x" * 100_000] * len(CASES))
    ),
}


@pytest.mark.parametrize("kind", SPOILS)
def test_what_is_no_result_is_refused_by_its_name(kind: str, tmp_path: Path) -> None:
    bad = make_result(SUITE, tmp_path, name="org/bad")
    SPOILS[kind](bad)
    with pytest.raises(ScoringError) as error:
        read_scored(bad, SUITES)
    assert bad.stem in error.value.problem and error.value.hint


# The command


def test_one_model_that_fails_does_not_cost_the_others_results(
    suite_folder: Path, tmp_path: Path
) -> None:
    suite = ("--suite", suite_folder, "--out", tmp_path / "out")
    done = run("score", "vader", tmp_path / "none", "textblob", "vader", *suite)
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit), done.output
    assert str(tmp_path / "none") in done.output.replace("\n", "") and "rate" in done.output
    assert names(tmp_path / "out") == [
        "textblob.json", "textblob.parquet", "vader.json", "vader.parquet"
    ]  # fmt: skip


def test_figures_are_those_of_the_outcomes_whatever_a_result_file_says(
    suite_folder: Path, tmp_path: Path
) -> None:
    done = run("score", "vader", "afinn", "--suite", suite_folder, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    path, page = tmp_path / "vader.json", tmp_path / "page.html"
    commands = (
        ("report", path),
        ("compare", path, tmp_path / "afinn.json", "--format", "json"),
        ("gate", path, "--max", "mean=100", "--format", "json"),
        ("report", path, "--html", page),
    )
    before = [run(*command).output for command in commands]
    shown = page.read_text()
    changed(lambda told: told.update(capabilities={}))(path)
    changed(lambda told: told["overall"]["failure_rate"].update(macro=0.01))(path)
    assert [run(*command).output for command in commands] == before
    assert page.read_text() == shown
    with pytest.raises(ScoringError):
        recompute(path, Suites([load_suite(suite_folder)]))
