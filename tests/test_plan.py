"""What a build will cost, told beforehand: counts, estimates, and that nothing is built."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import SENTENCES
from test_capabilities import OWN_CAPABILITY
from typer.testing import CliRunner, Result

from s2lct.builder import commands, sampled
from s2lct.builder.commands import CurateOptions
from s2lct.builder.config import BuildConfig
from s2lct.builder.fluent_stages import FluentStages
from s2lct.builder.looking import Asked
from s2lct.builder.pipeline import build_suite
from s2lct.builder.plan import Plan, StageCost, plan_of
from s2lct.cli.main import app
from s2lct.errors import BuildError, OptionError

NUMBER = sum(map(len, SENTENCES.values()))


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock decides how much is sampled, however slow the machine is."""
    for name in ("LOOK", "SHORTEN", "EXTEND"):
        monkeypatch.setattr(sampled, f"SECONDS_TO_{name}", 3_600.0)


@pytest.fixture
def larger_corpus(tmp_path: Path) -> Path:
    """A hundred made-up sentences."""
    path = tmp_path / "larger.csv"
    days = ("Monday", "Tuesday")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for label, texts in SENTENCES.items():
            for text in texts:
                writer.writerow([text, label])
                writer.writerows([f"{text[:-1]} on {day}.", label] for day in days)
    return path


def config_for(corpus: Path, out: Path, **options: Any) -> BuildConfig:
    return BuildConfig.checked(**{"out": out, "corpus": f"csv:{corpus}"} | options)


def stage(plan: Plan, name: str) -> StageCost:
    return next(one for one in plan.stages if one.stage == name)


class Seen:
    """What the stages of builds are given, each sentence once."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.shortened: set[str] = set()
        self.extended: set[str] = set()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    found = Seen()
    look, shorten, extended = FluentStages.look, FluentStages.shorten, FluentStages.extended

    def seen_look(stages: FluentStages, asked: Sequence[Asked]) -> Any:
        found.rows.update(one.row for one in asked)
        return look(stages, asked)

    def seen_shorten(stages: FluentStages, sources: Any) -> Any:
        found.shortened.update(one.text for one in sources)
        return shorten(stages, sources)

    def seen_extended(stages: FluentStages, sources: Any) -> Any:
        found.extended.update(one.text for one in sources)
        return extended(stages, sources)

    with monkeypatch.context() as patched:
        patched.setattr(FluentStages, "look", seen_look)
        patched.setattr(FluentStages, "shorten", seen_shorten)
        patched.setattr(FluentStages, "extended", seen_extended)
        yield found


def test_of_a_corpus_that_is_sampled_whole_the_plan_of_every_seed_is_what_the_build_does(
    corpus_path: Path, tmp_path: Path, seen: Seen
) -> None:
    config = config_for(corpus_path, tmp_path / "out", seeds="all")
    plan = plan_of(config)
    for some in (seen.rows, seen.shortened, seen.extended):
        some.clear()
    counts = build_suite(config)
    assert plan.sentences.value == stage(plan, "screen").items.value == NUMBER
    look = stage(plan, "look").items
    assert (look.value, look.basis) == (len(seen.rows), "counted")
    assert stage(plan, "shorten").items.value == len(seen.shortened)
    assert stage(plan, "extend").items.value == len(seen.extended)
    assert {one.capability: one.seeds.value for one in plan.capabilities} == {
        name: count.seeds for name, count in counts.items()
    }
    assert {one.capability: one.found.value for one in plan.capabilities} == {
        name: count.found for name, count in counts.items()
    }


def test_what_is_counted_is_exact(corpus_path: Path, tmp_path: Path) -> None:
    with corpus_path.open(encoding="utf-8") as file:
        labels = Counter(row["label"] for row in csv.DictReader(file))
    own = tmp_path / "own.yaml"
    own.write_text(OWN_CAPABILITY.replace("          has_one_of: [positive adj]\n", ""), "utf-8")
    config = config_for(
        corpus_path, tmp_path / "out", capabilities=("LC12",), capability_files=(own,)
    )
    (praise,) = plan_of(config).capabilities
    assert praise.candidates.basis == "counted"
    assert praise.candidates.value == labels["positive"]


@pytest.mark.parametrize("seconds", [0.0, 3_600.0])
@pytest.mark.parametrize("seeds", [1, 4, "all"])
def test_a_build_stays_within_what_was_planned_at_most(
    larger_corpus: Path,
    tmp_path: Path,
    seen: Seen,
    monkeypatch: pytest.MonkeyPatch,
    seeds: int | str,
    seconds: float,
) -> None:
    for name in ("LOOK", "SHORTEN", "EXTEND"):
        monkeypatch.setattr(sampled, f"SECONDS_TO_{name}", seconds)
    config = config_for(larger_corpus, tmp_path / "out", seeds=seeds, expansions=2)
    plan = plan_of(config)
    is_part = stage(plan, "look").sampled < stage(plan, "look").items.value
    assert is_part or seconds or seeds == 1
    seen.rows.clear()
    counts = build_suite(config)
    everything = plan_of(config.model_copy(update={"seeds": 0, "out": tmp_path / "other"}))
    assert len(seen.rows) <= stage(everything, "look").items.value
    assert stage(plan, "look").items.value <= stage(everything, "look").items.value
    for one in plan.capabilities:
        assert counts[one.capability].found <= one.candidates.value
        assert counts[one.capability].seeds <= one.most_seeds.value
        assert one.seeds.value <= one.most_seeds.value
        assert one.most_seeds.basis == "computed"


def test_a_corpus_too_large_to_be_screened_is_sampled_evenly_and_scaled_up(
    larger_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_for(larger_corpus, tmp_path / "out", seeds="all")
    whole = plan_of(config)
    monkeypatch.setattr(sampled, "MOST_SCREENED", 55)
    part = plan_of(config)
    assert part.sentences == whole.sentences
    assert stage(part, "screen").sampled == 55
    assert stage(part, "screen").items.value == whole.sentences.value
    for name in ("look", "shorten", "extend"):
        found, known = stage(part, name).items, stage(whole, name).items
        assert found.basis == "estimated"
        assert known.value / 2 < found.value < 2 * known.value
    for few, all_of_them in zip(part.capabilities, whole.capabilities, strict=True):
        assert (few.candidates.basis, few.most_seeds.basis) == ("estimated", "estimated")
        assert all_of_them.candidates.basis == "counted"


def test_nothing_is_written(corpus_path: Path, tmp_path: Path) -> None:
    built = commands.build(out=tmp_path / "a" / "out", corpus=f"csv:{corpus_path}", plan=True)
    assert built.plan is not None
    assert not built.counts
    assert not list(tmp_path.iterdir())


def test_an_out_that_a_build_refuses_is_refused(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "todo.txt").write_text("1", encoding="utf-8")
    for out in (notes, suite_folder):
        config = config_for(corpus_path, out, seeds=2)
        with pytest.raises(BuildError) as of_build:
            build_suite(config)
        with pytest.raises(BuildError) as of_plan:
            plan_of(config)
        assert str(of_plan.value) == str(of_build.value)
    before = sorted(suite_folder.rglob("*"))
    assert plan_of(config_for(corpus_path, suite_folder, overwrite=True)).is_built is False
    again = config_for(corpus_path, suite_folder, seeds=4, masks=20, expansions=4)
    assert plan_of(again).is_built
    assert sorted(suite_folder.rglob("*")) == before


def test_workers_share_what_stages_do(larger_corpus: Path, tmp_path: Path) -> None:
    plan = plan_of(
        config_for(larger_corpus, tmp_path / "out", seeds="all", engine="ray", workers=4)
    )
    assert plan.workers == 4
    minutes = [plan.minutes(number).value for number in (1, 2, 4, 64)]
    assert minutes == sorted(minutes, reverse=True)
    assert len(set(minutes)) == len(minutes)
    shared = sum(one.seconds.value for one in plan.stages if one.on_workers)
    assert 60 * (minutes[0] - minutes[1]) == pytest.approx(shared / 2)
    assert 60 * (minutes[0] - plan.minutes().value) == pytest.approx(plan.loading.value)
    assert plan_of(config_for(larger_corpus, tmp_path / "out")).workers is None


def test_a_corpus_in_which_nothing_fits_has_a_plan_too(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("text,label\nGood,positive\n", encoding="utf-8")
    plan = plan_of(config_for(path, tmp_path / "out"))
    assert plan.sentences.value == 1
    assert plan.masked.value == stage(plan, "extend").items.value == 0
    assert stage(plan, "extend").per_second is None
    assert not any(one.seeds.value for one in plan.capabilities)


def test_a_plan_does_not_decide_what_is_built(corpus_path: Path, tmp_path: Path) -> None:
    planned = config_for(corpus_path, tmp_path, plan=True)
    assert planned.result_options == config_for(corpus_path, tmp_path).result_options


def test_only_a_build_is_planned(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="plan"):
        CurateOptions.checked(out=tmp_path, verdicts=(tmp_path / "v.jsonl",), plan=True)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "80"})


def test_the_command_line_shows_it_in_80_columns(corpus_path: Path, tmp_path: Path) -> None:
    options = ["build", "--out", tmp_path / "out", "--corpus", f"csv:{corpus_path}", "--plan"]
    done = run(*options, "--engine", "ray", "--workers", 3)
    assert done.exit_code == 0, done.output
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    words = (*("screen", "look", "extend", "trees", "masked sentences"), "3 workers", "LC11")
    assert [word for word in words if word not in done.stdout] == []
    assert f" {NUMBER} " in done.stdout
    assert not (tmp_path / "out").exists()
    refused = run(*options, "--templates", "paper")
    assert refused.exit_code == 1
    assert "--plan" in refused.stderr
    assert "fluent" in refused.stderr
