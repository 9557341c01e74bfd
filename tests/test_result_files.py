"""Result files: names that never meet, parts of a suite apart, older files, and `s2lct score`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.dataset_script.hub import Hub
from s2lct.dataset_script.publish.model_result import publish_model_result
from s2lct.dataset_script.publish.results import CheckedResult, publish_results
from s2lct.errors import PublishError, ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.read import read_outcomes, read_result, recompute, wrong_figures
from s2lct.leaderboard.results.record import BUILT_IN, SelectionRecord
from s2lct.leaderboard.results.standings import all_standings
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.site.report import Scored
from s2lct.leaderboard.site.report_page import html_report
from s2lct.suite.cases import Case, SuiteCases

runner = CliRunner()
CASES = tuple(
    Case(
        f"{capability}-{n}", capability, "seed", f"{capability}-{n}", f"Sentence {n}.",
        frozenset({label}), splits=frozenset({("sst:train", "sst:dev")[n % 2]}),
    )
    for capability, label in (("LC4", 2), ("LC9", 0))
    for n in range(6)
)  # fmt: skip
SUITE = SuiteCases(
    "mine", "1.0.0", fingerprint_of([[c.id, c.text, sorted(c.passes)] for c in CASES]), CASES
)
OTHER = SuiteCases("other", "1.0.0", "9" * 64, CASES[:8])


def outcomes(model: str, suite: SuiteCases = SUITE, label: int = 2, **facts: Any) -> Outcomes:
    labels = np.full(len(suite.cases), label)
    known: dict[str, Any] = {"revision": "r1", "weights_sha256": "0" * 64, "label_rule": "so"}
    return Outcomes(
        model=model, suite=suite, labels=labels, failed=failed_cases(suite.cases, labels),
        **(known | facts),
    )  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


DIFFERENT: dict[str, Callable[[], Outcomes]] = {
    "x/y": lambda: outcomes("x/y"),
    "x--y": lambda: outcomes("x--y"),
    "x:y": lambda: outcomes("x:y"),
    "X/Y": lambda: outcomes("X/Y"),
    "revision": lambda: outcomes("x/y", revision="r2"),
    "weights": lambda: outcomes("x/y", weights_sha256="1" * 64),
    "label map": lambda: outcomes("x/y", label_map={"A": "negative", "B": "positive"}),
    "other label map": lambda: outcomes("x/y", label_map={"A": "positive", "B": "negative"}),
    "band": lambda: outcomes("x/y", neutral_band=(0.2, 0.8)),
    "bfloat16": lambda: outcomes("x/y", dtype="bfloat16"),
    "prompt": lambda: outcomes("x/y", asks=LabelPrompt("{text} So:", ("bad", "good"))),
    "other prompt": lambda: outcomes("x/y", asks=LabelPrompt("{text} Thus:", ("bad", "good"))),
    "words": lambda: outcomes("x/y", asks=LabelPrompt("{text} So:", ("poor", "good"))),
    "suite": lambda: outcomes("x/y", OTHER),
    "no fingerprint": lambda: outcomes("x/y", replace(SUITE, fingerprint="")),
    "other without": lambda: outcomes("x/y", replace(OTHER, fingerprint="")),
    "LC4": lambda: outcomes("x/y", SUITE.select(["LC4"])),
    "LC9": lambda: outcomes("x/y", SUITE.select(["LC9"])),
    "limit": lambda: outcomes("x/y", SUITE.select(limit=2)),
    "vader": lambda: outcomes("vader"),
    "vader, LC4": lambda: outcomes("vader", SUITE.select(["LC4"])),
    "vader, band": lambda: outcomes("vader", neutral_band=(0.2, 0.8)),
    "vader, suite": lambda: outcomes("vader", OTHER),
    "long": lambda: outcomes("x/" + "y" * 500),
    "longer": lambda: outcomes("x/" + "y" * 501),
    "Cyrillic": lambda: outcomes("модель"),
    "other Cyrillic": lambda: outcomes("другая"),
    "dots": lambda: outcomes("../.."),
}


def test_no_two_different_results_meet_and_the_same_replaces_its_own(tmp_path: Path) -> None:
    paths = {what: write_result(made(), tmp_path) for what, made in DIFFERENT.items()}
    assert len({path.name.lower() for path in paths.values()}) == len(DIFFERENT)
    assert len(names(tmp_path)) == 2 * len(DIFFERENT)
    assert all(path.parent == tmp_path and path.name.isascii() for path in paths.values())
    assert all(len(name) < 150 for name in names(tmp_path))
    for what, made in DIFFERENT.items():
        assert write_result(replace(made()), tmp_path) == paths[what]
        assert recompute(paths[what]).model.name == made().model
    assert len(names(tmp_path)) == 2 * len(DIFFERENT)


def test_names_are_readable_and_those_of_built_in_models_plain(tmp_path: Path) -> None:
    for name in BUILT_IN:
        assert write_result(outcomes(name), tmp_path).name == f"{name}.json"
    assert write_result(outcomes("org/model"), tmp_path).name.startswith("org--model--")
    partial = write_result(outcomes("vader", SUITE.select(limit=1)), tmp_path).name
    assert partial.startswith("vader--partial--")


def test_a_result_on_another_suite_leaves_the_first_alone(tmp_path: Path) -> None:
    first = write_result(outcomes("vader"), tmp_path)
    content = first.read_bytes(), first.with_suffix(".parquet").read_bytes()
    second = write_result(outcomes("vader", OTHER), tmp_path)
    assert second != first
    assert (first.read_bytes(), first.with_suffix(".parquet").read_bytes()) == content
    assert write_result(outcomes("vader", OTHER, label=1), tmp_path) == second
    assert (first.read_bytes(), first.with_suffix(".parquet").read_bytes()) == content
    # A new version of the package that says the same takes the place of the old one.
    assert write_result(outcomes("vader", revision="r2"), tmp_path) == first
    assert write_result(outcomes("vader", weights_sha256="1" * 64), tmp_path) != first


@pytest.mark.parametrize("content", ["{}", "mine", b"\xff", None])
def test_a_file_that_is_no_result_is_left_alone(
    content: str | bytes | None, tmp_path: Path
) -> None:
    mine = tmp_path / "vader.json"
    if content is None:
        mine.mkdir()
    else:
        mine.write_bytes(content if isinstance(content, bytes) else content.encode())
    path = write_result(outcomes("vader"), tmp_path)
    assert path != mine and read_result(path).model.name == "vader"
    if content is not None:
        assert mine.read_bytes() == (content if isinstance(content, bytes) else content.encode())


def older(path: Path) -> Path:
    """A file as it was before selections and training data were told."""
    told = json.loads(path.read_text())
    for name in ("selection", "seen_in_training"):
        del told[name]
    rate = {"cases": 6, "failures": 1, "failure_rate": 1 / 6, "ci": [0.0, 0.5]}
    told["contamination"] = {"train": rate, "other": rate}
    path.write_text(json.dumps(told))
    return path


def test_older_files_are_read_with_defaults(tmp_path: Path) -> None:
    path = older(write_result(outcomes("vader"), tmp_path))
    assert recompute(path).seen_in_training is not None
    result = read_result(path)
    assert (result.selection, result.seen_in_training, result.partial) == (None, None, False)
    assert "contamination" not in result.model_dump()
    page = html_report([Scored(result, read_outcomes(path))])
    assert "not recorded: score it again" in page
    collection = collect(tmp_path)
    assert not collection.skipped
    assert CheckedResult.read(path).result.model.name == "vader"
    # It is known for the same thing and replaced.
    assert write_result(outcomes("vader"), tmp_path) == path
    assert read_result(path).seen_in_training is not None


def test_figures_by_training_data_must_follow_from_the_cases(tmp_path: Path) -> None:
    path = write_result(outcomes("org/model"), tmp_path)
    told = json.loads(path.read_text())
    told["seen_in_training"]["comparisons"][0]["train"]["failure_rate"] = 0.0
    path.write_text(json.dumps(told))
    with pytest.raises(
        ScoringError, match=r"seen_in_training\.comparisons\.0\.train\.failure_rate"
    ):
        recompute(path)
    told["seen_in_training"] |= {"known": True, "comparisons": []}
    path.write_text(json.dumps(told))
    assert set(wrong_figures(read_result(path), read_outcomes(path))) == {
        "seen_in_training.comparisons",
        "seen_in_training.known",
    }


def test_a_part_of_a_suite_is_marked_whatever_it_was_chosen_by(tmp_path: Path) -> None:
    assert SUITE.select().partial is False
    assert SUITE.select(["LC4", "LC9"], None, 6).partial is False
    part = SUITE.select(["LC4"], limit=2)
    assert part.partial and part.select().partial
    chosen = SelectionRecord(capabilities=("LC4",), limit=2)
    result = read_result(write_result(outcomes("vader", part), tmp_path, chosen))
    assert result.selection == chosen
    assert str(chosen) == "LC4; at most 2 of a capability"
    path = write_result(outcomes("vader", part), tmp_path)
    assert read_result(path).selection == SelectionRecord()
    assert read_outcomes(path).suite.partial
    whole = write_result(outcomes("vader"), tmp_path, chosen)
    assert read_result(whole).selection is None


def test_no_comparison_comes_from_a_part_of_a_suite(tmp_path: Path) -> None:
    whole = write_result(outcomes("afinn"), tmp_path)
    part = write_result(outcomes("vader", SUITE.select(["LC4"])), tmp_path)
    scored = [Scored(read_result(path), read_outcomes(path)) for path in (part, whole)]
    assert scored[0].result.overall.failure_rate == 0
    page = html_report(scored)
    assert "vader (partial: 6 cases)" in page
    assert page.index("afinn") < page.index("vader (partial")
    done = runner.invoke(app, ["report", str(part), str(whole)])
    assert done.exit_code == 0, done.output
    table = done.output
    assert "partial" in table and table.index("afinn") < table.index("vader")
    # The first line that names a model is its row of means.
    mean = {
        name: next(line for line in table.splitlines() if name in line)
        for name in ("afinn", "vader")
    }
    assert "–" in mean["vader"] and " 0.0 " not in mean["vader"]
    assert " 50.0 " in mean["afinn"]
    alone = runner.invoke(app, ["report", str(part)])
    assert re.search(r" 0\.0 +\[", alone.output)
    done = runner.invoke(app, ["compare", str(part), str(whole)])
    told = " ".join(done.output.split())
    assert "is partial (a choice of cases): the comparison is of the 6 cases that both" in told
    (found,) = all_standings(collect(tmp_path))
    assert [(s.model.name, s.rank) for s in found.standings] == [("afinn", (1, 1)), ("vader", None)]


def test_models_scored_on_one_part_are_compared(suite_folder: Path, tmp_path: Path) -> None:
    done = run("vader", "afinn", "--suite", suite_folder, "--limit", 4, "--out", tmp_path)
    for name in ("vader", "afinn"):
        line = next(line for line in done.stdout.splitlines() if name in line)
        assert re.search(r"\d\.\d +\[\d", line), done.stdout


def test_parts_alone_make_no_leaderboard(tmp_path: Path) -> None:
    part = write_result(outcomes("vader", SUITE.select(["LC4"])), tmp_path)
    with pytest.raises(ScoringError, match="covers a part of its suite"):
        collect(tmp_path)
    # The larger part does not pass for the whole, however many there are.
    for name in ("a", "b", "c"):
        write_result(outcomes(name, replace(SUITE, cases=CASES[:11], partial=True)), tmp_path)
    write_result(outcomes("whole", replace(SUITE, fingerprint=SUITE.fingerprint)), tmp_path)
    (found,) = all_standings(collect(tmp_path))
    assert len(found.suite.cases) == len(CASES)
    assert [s.model.name for s in found.standings if s.rank] == ["whole"]
    assert part.exists()


def test_parts_of_a_suite_are_not_published(tmp_path: Path) -> None:
    part = write_result(outcomes("org/model", SUITE.select(limit=1)), tmp_path)
    with pytest.raises(PublishError, match="is partial: it covers 2 cases"):
        publish_results([part], "org/results", Hub(dry_run=True))
    with pytest.raises(PublishError, match="is partial: it covers 2 cases"):
        publish_model_result(part, Hub(dry_run=True))


def test_published_results_do_not_meet_either(tmp_path: Path) -> None:
    # A revision has one set of weights, and what is published names its suite.
    alike = {"weights", "no fingerprint", "other without"}
    whole = {
        what: made
        for what, made in DIFFERENT.items()
        if what not in alike and not made().suite.partial
    }
    paths = []
    for n, made in enumerate(whole.values()):
        with suppress(PublishError):  # a name that no leaderboard shows
            paths.append(CheckedResult.read(write_result(made(), tmp_path / str(n))).path)
    assert len(paths) > len(whole) / 2
    assert len(set(paths)) == len(paths)
    assert all(path.isascii() and path.count("/") == 2 for path in paths)
    first = CheckedResult.read(write_result(outcomes("org/model"), tmp_path / "one"))
    again = CheckedResult.read(write_result(outcomes("org/model", label=1), tmp_path / "two"))
    assert first.path == again.path
    assert "/org--model--r1" in first.path


# The command


def run(*arguments: object) -> Any:
    return runner.invoke(app, ["score", *map(str, arguments), "--no-cache"])


def test_a_part_does_not_touch_the_whole_result(suite_folder: Path, tmp_path: Path) -> None:
    suite = ("--suite", suite_folder, "--out", tmp_path)
    assert run("vader", *suite).exit_code == 0
    before = (tmp_path / "vader.json").read_bytes()
    for options in (["--limit", 1], ["--capability", "LC9"], ["--kind", "seed"]):
        done = run("vader", *suite, *options)
        assert done.exit_code == 0, done.output
        assert "partial" in done.output
    assert (tmp_path / "vader.json").read_bytes() == before
    selections = {read_result(path).selection for path in tmp_path.glob("vader--partial--*.json")}
    assert selections == {
        SelectionRecord(limit=1),
        SelectionRecord(capabilities=("LC9",)),
        SelectionRecord(kind="seed"),
    }
    assert run("vader", *suite, "--limit", 10_000).exit_code == 0
    assert len(names(tmp_path)) == 8


def test_what_stays_is_told(suite_folder: Path, tmp_path: Path) -> None:
    first = write_result(outcomes("vader"), tmp_path)
    done = run("vader", "--suite", suite_folder, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "vader.json stays as it is" in " ".join(done.output.split())
    assert read_result(first).suite.name == "mine"


@pytest.mark.parametrize("place", ["file", "file/below", "n" * 300, "/proc/none", "link"])
def test_an_out_folder_is_checked_before_any_model_is_loaded(
    place: str, suite_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    done = run("no/such-model", "--suite", suite_folder, "--out", tmp_path / place)
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit), done.exception
    assert "--out" in done.output
    assert "no/such-model" not in done.output
    assert (tmp_path / "file").read_text() == "mine"


def test_one_model_that_fails_does_not_cost_the_others_results(
    suite_folder: Path, tmp_path: Path
) -> None:
    """One is missing; one has fewer word vectors than its tokenizer has words."""
    broken = save_tiny_classifier(tmp_path / "broken")
    tokenizer = json.loads((broken / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {
        word: number + 50_000 * (number > 999) for word, number in vocabulary.items()
    }
    (broken / "tokenizer.json").write_text(json.dumps(tokenizer))
    suite = ("--suite", suite_folder, "--out", tmp_path / "out")
    done = run("vader", "no/such-model", broken, "textblob", "vader", *suite)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    told = " ".join(done.output.split())
    assert "model no/such-model: cannot be loaded" in told
    assert f"model {broken}: " in told
    assert "2 of 4 models could not be scored" in told
    assert names(tmp_path / "out") == [
        "textblob.json", "textblob.parquet", "vader.json", "vader.parquet"
    ]  # fmt: skip
    assert "mean %" in done.output
    done = run("no/such-model", *suite)
    assert done.exit_code == 1 and "models could not be scored" not in done.output


def test_another_type_of_numbers_is_another_result_beside_the_first(
    suite_folder: Path, tmp_path: Path
) -> None:
    model = save_tiny_classifier(tmp_path / "somebody" / "tiny")
    out = tmp_path / "results"
    for dtype in ("float32", "bfloat16"):
        done = runner.invoke(
            app,
            [
                *("score", str(model), "--suite", str(suite_folder), "--capability", "LC4"),
                *("--dtype", dtype, "--device", "cpu", "--out", str(out)),
            ],
        )
        assert done.exit_code == 0, done.output
    files = sorted(out.glob("*.json"))
    assert len(files) == 2 and all(file.name.startswith("tiny--") for file in files)
    results = {read_result(file).model.dtype: (file, read_result(file)) for file in files}
    assert "bfloat16" in results["bfloat16"][0].name and "float" not in results["float32"][0].name
    for _, result in results.values():
        assert result.model.device == "cpu" and result.model.batch_size
    report = runner.invoke(app, ["report", *map(str, files)])
    assert "(bfloat16)" in report.output and "(float32)" not in report.output
