"""Leaving disputed cases out of a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_build import bytes_of, config_for
from typer.testing import CliRunner

from s2lct.builder import write
from s2lct.builder.pipeline import build_suite
from s2lct.builder.stages import compose, confirm
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import BuildError
from s2lct.suite.exclude import read_excluded
from s2lct.suite.read import read_description, read_suite

OPTIONS: dict[str, Any] = {"capabilities": ("LC8", "LC9"), "seeds": 3}
RUNNER = CliRunner(env={"COLUMNS": "200"})


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for rows in read_suite(folder).rows.values() for row in rows]


def write_list(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "suite"
    build_suite(config_for(corpus_path, out, **OPTIONS))
    return out


@pytest.fixture(scope="module")
def chosen(whole: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A seed that has expansions, and an expansion of another seed."""
    rows = rows_of(whole)
    expansions = [row for row in rows if row["kind"] == "expansion"]
    seed = next(row for row in rows if row["id"] == expansions[0]["seed_id"])
    other = next(row for row in expansions if row["seed_id"] != seed["id"])
    return seed, other


@pytest.fixture(scope="module")
def without(
    corpus_path: Path,
    chosen: tuple[dict[str, Any], dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("without")
    ids = [case["id"] for case in chosen]
    path = write_list(folder / "disputed.json", ids)
    build_suite(config_for(corpus_path, folder / "suite", exclude=path, **OPTIONS))
    return folder / "suite"


def test_excluded_cases_are_gone_and_another_seed_takes_the_place(
    whole: Path, without: Path, chosen: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    seed, expansion = chosen
    before, after = rows_of(whole), rows_of(without)
    assert not {seed["id"], expansion["id"]} & {row["id"] for row in after}
    assert seed["id"] not in {row["seed_id"] for row in after}
    assert seed["text"] not in {row["text"] for row in after}
    for name in OPTIONS["capabilities"]:
        for rows in (before, after):
            kinds = [row["kind"] for row in rows if row["capability"] == name]
            assert kinds.count("seed") == OPTIONS["seeds"]
    assert verify_suite(without) == []


def test_what_was_excluded_is_recorded(
    whole: Path, without: Path, chosen: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    described = read_description(without)
    assert described["options"]["exclude"] == sorted(case["id"] for case in chosen)
    assert sum(counts["excluded"] for counts in described["counts"].values()) == 2
    assert described["build_fingerprint"] != read_description(whole)["build_fingerprint"]
    assert "exclude" not in read_description(whole)["options"]


def test_the_file_may_move_but_not_change(corpus_path: Path, without: Path, tmp_path: Path) -> None:
    ids = read_description(without)["options"]["exclude"]
    before = bytes_of(without)
    moved = write_list(tmp_path / "moved.json", {"cases": [{"id": one} for one in reversed(ids)]})
    build_suite(config_for(corpus_path, without, exclude=moved, **OPTIONS))
    assert bytes_of(without) == before
    other = write_list(tmp_path / "other.json", ids[:1])
    with pytest.raises(BuildError, match="is there already"):
        build_suite(config_for(corpus_path, without, exclude=other, **OPTIONS))


@pytest.mark.parametrize("stage", ["seeds_of", "confirmed_all", "write_suite"])
def test_an_interrupted_build_ends_the_same(
    corpus_path: Path, without: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    path = write_list(tmp_path / "d.json", read_description(without)["options"]["exclude"])
    config = config_for(corpus_path, tmp_path / "again", exclude=path, **OPTIONS)
    owner = {"seeds_of": compose, "confirmed_all": confirm, "write_suite": write}[stage]
    with monkeypatch.context() as patched:
        patched.setattr(owner, stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            build_suite(config)
    assert not config.out.exists()
    build_suite(config)
    assert bytes_of(config.out) == bytes_of(without)


def test_ids_of_no_case_change_nothing_and_are_counted(
    corpus_path: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_list(tmp_path / "unknown.json", ["0123456789abcdef", "no such id"])
    sizes = "--seeds 3 --masks 20 --expansions 4 --capability LC8 --capability LC9"
    command = ["build", "--corpus", f"csv:{corpus_path}", "--out", str(tmp_path / "out")]
    result = RUNNER.invoke(app, [*command, *sizes.split(), "--exclude", str(path)])
    assert result.exit_code == 0, result.output
    assert "0 of the 2 cases" in result.output
    assert "2 not met" in result.output
    assert rows_of(tmp_path / "out") == rows_of(whole)


@pytest.mark.parametrize("content", ["", "{", '{"ids": []}', '{"cases": [{"text": "b"}]}', "[1]"])
def test_a_bad_file_is_named_before_the_build(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    result = RUNNER.invoke(app, ["build", "--out", str(tmp_path / "out"), "--exclude", str(path)])
    assert result.exit_code == 1
    assert "bad.json" in result.output
    assert not (tmp_path / "out").exists()
    with pytest.raises(BuildError, match="nowhere"):
        read_excluded(tmp_path / "nowhere.json")


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=12))
def test_expansions_of_an_excluded_seed_are_not_missed(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int | None]]
) -> None:
    cases = {f"e{number}" if seed is not None else f"s{number}": seed for number, seed in drawn}
    listed = [
        {"id": name, "seed_id": name if seed is None else f"s{seed}"}
        for name, seed in cases.items()
    ]
    path = write_list(tmp_path_factory.getbasetemp() / "cases.json", {"cases": listed})
    excluded = read_excluded(path)
    gone = {name for name, seed in cases.items() if seed is not None and f"s{seed}" in cases}
    assert excluded.ids == set(cases)
    assert excluded.with_their_seed == gone
    assert excluded.not_met(0) == len(cases) - len(gone)
    assert excluded.not_met(len(cases) - len(gone)) == 0
