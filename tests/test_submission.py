"""Submissions: an honest one is accepted, and whatever is not honest is refused in plain lines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_results import made_suite, make_outcomes, suite
from typer.testing import CliRunner

from s2lct.cli.main import app as commands
from s2lct.errors import MissingPackageError, ScoringError
from s2lct.files import sha256_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.results import submission
from s2lct.leaderboard.results.read_results import read_outcomes, read_result
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.submission import check, rescored_results
from s2lct.leaderboard.results.write_results import repository_path, write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.plain_text import MAX_TEXT_CHARACTERS
from s2lct.suite.cases import Case, load_suite

SUITE = suite("1.0.0", seeds=6)
ROWS = len(SUITE.cases)


class Submission:
    """An honest result of vader, to be changed."""

    def __init__(self, folder: Path) -> None:
        self.path = write_result(score(load_model("vader"), SUITE), folder)
        self.content: dict[str, Any] = json.loads(self.path.read_text())

    def save(self, place: str = "", value: Any = None) -> Path:
        if place:
            changed(self.content, place, value)
        self.path.write_text(json.dumps(self.content))
        return self.path


def changed(content: Any, place: str, value: Any) -> None:
    *path, last = place.split(".")
    for name in path:
        content = content[int(name) if isinstance(content, list) else name]
    content[int(last) if isinstance(content, list) else last] = value


@pytest.fixture
def sent(tmp_path: Path) -> Submission:
    return Submission(tmp_path / "sent")


def refusal(path: Path, **options: Any) -> str:
    """The reasons, each of which fits a line of a terminal."""
    checked = check(path, SUITE, **options)
    assert not checked.accepted and checked.reasons
    for reason in checked.reasons:
        assert reason.isprintable()
        assert 3 < len(reason) <= MAX_TEXT_CHARACTERS + 1
    assert json.loads(checked.as_json())["reasons"] == list(checked.reasons)
    return "\n".join(checked.reasons)


def test_an_honest_result_is_accepted(sent: Submission) -> None:
    first = check(sent.path, SUITE)
    assert (first.accepted, first.reasons, first.rescored) == (True, (), 0)
    again = check(sent.path, SUITE, rescore=True)
    assert (again.accepted, again.rescored) == (True, ROWS)


ENDPOINT = {
    "url": "https://x.example/v1", "model_reported": "m", "temperature": None, "seed": None,
    "max_tokens": 9, "requests": 1, "prompt_tokens": 1, "completion_tokens": 1,
    "first_day": "2026-01-01", "last_day": "2026-01-01",
}  # fmt: skip
FORGERIES: list[tuple[dict[str, Any], str]] = [
    ({"model.name": "<script>alert(1)</script>"}, "model.name"),
    ({"model.name": "my folder"}, "model.name"),
    ({"model.name": "VADER"}, "looks like 'vader'"),
    ({"model.name": "textb1ob"}, "looks like 'textblob'"),
    ({"model.revision": "main; rm"}, "model.revision"),
    ({"model.weights_sha256": "0"}, "model.weights_sha256"),
    ({"model.answers_sha256": "0" * 64}, "answers_sha256"),
    ({"model.parameters": 2**63}, "parameters"),
    ({"model.predictions": {"file": "x.csv", "sha256": "0" * 64}}, "model.predictions"),
    ({"suite.fingerprint": "b" * 64}, "suite.fingerprint"),
    ({"suite.version": "9.9.9"}, "suite.version"),
    ({"suite.version": ""}, "suite.version"),
    ({"date": "2199-01-01T00:00:00+00:00"}, "date"),
    ({"selection": {"capabilities": None, "kind": None, "limit": 3}}, "selection"),
    ({"format": 1}, "format"),
    ({"outcomes.path": "../vader.parquet"}, "path"),
    ({"model.options.label_map": {"negative": "Negative", "positive": "positive"}}, "label_map"),
    ({"model.options.label_map": {" negative": "negative"}}, "label_map"),
    ({"model.options.label_map": {"negative": "0"}}, "label-map"),
    ({"model.options.label_map": {}}, "label-map"),
    ({"model.options.prompt": "Is it {text}?"}, "go together"),
    ({"model.options.label_words": ["bad", "good"]}, "go together"),
    ({"model.options.chat_template": True}, "chat_template"),
    ({"model.endpoint": ENDPOINT | {"requests": 2**63}}, "requests"),
    ({"model.endpoint": ENDPOINT}, "has no revision"),
    ({"model.endpoint": ENDPOINT, "model.revision": "", "model.weights_sha256": ""}, "licence"),
    ({"overall.failure_rate.macro": 0.01}, "overall"),
    ({"overall.failure_rate.cases": 7}, "overall"),
    ({"capabilities.LC4.all.failures": 99}, "capabilities"),
    ({"capabilities.LC9.seed.ci.0": 0.123}, "capabilities"),
    ({"capabilities.LC10.pass_to_fail": 99}, "capabilities"),
    ({"answers.neutral": 99}, "answers"),
    ({"references.random.failure_rate.macro": 0.01}, "references"),
]


@pytest.mark.parametrize(("changes", "named"), FORGERIES)
def test_a_forged_word_or_figure_is_refused(
    sent: Submission, changes: dict[str, Any], named: str
) -> None:
    for place, value in changes.items():
        sent.save(place, value)
    assert named in refusal(sent.path)


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("model.revision", "1.0", "model.revision"),
        ("model.weights_sha256", "0" * 64, "model.weights_sha256"),
        ("model.label_rule", "the largest wins", "model.label_rule"),
        ("model.parameters", 7, "model.parameters"),
        ("model.licence", "proprietary", "model.licence"),
        ("model.dtype", "bfloat16", "model.dtype"),
        ("model.dtype", "float32", "model.dtype"),
        ("model.options.prompt", "Is {text} good?", "model.options"),
        ("model.options.label_map", {"negative": "positive"}, "cannot be scored again"),
    ],
)
def test_what_a_result_says_of_its_model_is_checked(
    sent: Submission, place: str, value: Any, named: str
) -> None:
    if place == "model.options.prompt":
        sent.save("model.options.label_words", ["bad", "good"])
    path = sent.save(place, value)
    assert check(path, SUITE).accepted  # without the model nobody can tell
    assert named in refusal(path, rescore=True)


def retabled(sent: Submission, change: Callable[[pa.Table], pa.Table]) -> Path:
    """A submission whose Parquet file is another, by its right hash."""
    table = sent.path.with_suffix(".parquet")
    changed_table = change(pq.read_table(table))
    pq.write_table(changed_table, table)
    sent.content["outcomes"] |= {"sha256": sha256_of(table), "rows": changed_table.num_rows}
    return sent.save()


def put(column: str, *values: Any) -> Callable[[pa.Table], pa.Table]:
    """Put other values at the top of a column."""

    def change(table: pa.Table) -> pa.Table:
        cells = [*values, *table[column].to_pylist()[len(values) :]]
        place = table.schema.get_field_index(column)
        return table.set_column(place, column, pa.array(cells, table[column].type))

    return change


TABLES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "NaN": put("neutral", float("nan")),
    "infinite": put("positive", float("inf")),
    "7": put("positive", 7.0),
    "below 0": put("negative", -0.5),
    "all 0": lambda table: put("positive", 0.0)(put("neutral", 0.0)(put("negative", 0.0)(table))),
    "contrary to the label": lambda table: put("positive", *table["negative"].to_pylist())(
        put("negative", *table["positive"].to_pylist())(table)
    ),
    "of some texts missing": put("negative", None),
    "no column label": lambda table: table.drop_columns(["label"]),
    "no column id": lambda table: table.drop_columns(["id"]),
    "no column positive": lambda table: table.drop_columns(["positive"]),
    "a column more": lambda table: table.append_column("passes", table["label"]),
    "ids that are numbers": lambda table: table.set_column(0, "id", pa.array(range(len(table)))),
    "ids that are lists": lambda table: table.set_column(
        0, "id", pa.array([[id] for id in table["id"].to_pylist()])
    ),
    "no row": lambda table: table.slice(0, 0),
    "a column twice": lambda table: table.append_column("label", table["label"]),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_bad_table_is_a_line_and_costs_the_others_nothing(what: str, sent: Submission) -> None:
    other = write_result(score(load_model("afinn"), SUITE), sent.path.parent)
    path = retabled(sent, TABLES[what])
    assert "\n" not in refusal(path)
    assert check(other, SUITE).accepted
    collection = collect(path.parent, [SUITE])
    (board,) = collection.suites
    assert "afinn" in [standing.scored.result.model.name for standing in board.standings]
    assert len(collection.skip_reasons) + len(board.standings) == 2


def test_a_model_that_fails_costs_the_others_nothing(
    sent: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("index out of range in self\nand more")

    monkeypatch.setattr(submission, "load_model", fail)
    assert "RuntimeError: index out of range" in refusal(sent.path, rescore=True)


def softer(table: pa.Table) -> pa.Table:
    for label in LABELS:
        cells = [0.1 + 0.7 * cell for cell in table[label].to_pylist()]
        table = put(label, *cells)(table)
    return table


def without_probabilities(table: pa.Table) -> pa.Table:
    for label in LABELS:
        table = put(label, *[None] * len(table))(table)
    return table


def flattered(table: pa.Table) -> pa.Table:
    """Another label, and the probabilities that belong to it, for a single case."""
    label = LABELS[LABELS.index(table["label"][0].as_py()) - 1]
    for name in LABELS:
        table = put(name, float(name == label))(table)
    return put("label", label)(table)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (softer, "other probabilities"),
        (without_probabilities, "that the model gives are missing"),
        (flattered, "the model says something else of 1 out of"),
    ],
)
def test_answers_that_the_model_does_not_give_are_refused(
    sent: Submission, change: Callable[[pa.Table], pa.Table], named: str
) -> None:
    retabled(sent, change)
    outcomes = read_outcomes(sent.path, read_result(sent.path), SUITE)
    path = write_result(outcomes, sent.path.parent)  # every figure fits
    assert check(path, SUITE).accepted
    assert named in refusal(path, rescore=True)


def test_a_few_labels_may_differ_by_rounding_and_no_more() -> None:
    cases = [Case(f"{n}", "LC4", "seed", f"{n}", f"Film {n}.", frozenset({0})) for n in range(100)]
    rule = LabelRule(LABELS, (0, 1, 2))
    odds = np.add(np.full((100, 3), 1 / 3), [1e-5, 0, -1e-5])
    honest = make_outcomes(made_suite(cases), labels=rule.labels(odds))
    honest = replace(honest, probabilities=odds)
    for different, is_refused in ((0, False), (2, False), (3, True)):
        labels = honest.labels.copy()
        labels[:different] = 1
        stated = replace(honest, labels=labels)
        assert bool([*submission._outcome_faults(stated, honest)]) == is_refused


def test_a_package_that_the_checker_lacks_is_said_and_refuses_nothing(
    sent: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s2lct.errors.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="vaderSentiment"):
        check(sent.path, SUITE, rescore=True)


def test_a_result_lies_where_it_belongs(sent: Submission, tmp_path: Path) -> None:
    target = tmp_path / repository_path(read_result(sent.path))
    target.parent.mkdir(parents=True)
    for name in (
        target,
        target.with_name("VADER.json"),
        target.parents[1] / "9-0123456789ab" / target.name,
    ):
        name.parent.mkdir(exist_ok=True)
        shutil.copy(sent.path, name)
        shutil.copy(sent.path.with_suffix(".parquet"), name.parent / "vader.parquet")
        assert check(name, SUITE).accepted == (name == target)


def test_only_what_was_rescored_and_accepted_says_so_on_a_board(
    suite_folder: Path, tmp_path: Path
) -> None:
    def invoke(*arguments: str) -> Any:
        return CliRunner().invoke(commands, [*arguments, "--suite", str(suite_folder)])

    results, file = str(tmp_path / "results"), tmp_path / "rescored.jsonl"
    assert invoke("score", "vader", "afinn", "--out", results).exit_code == 0
    done = invoke("leaderboard", "check", f"{results}/vader.json", "--rescore", "--json")
    file.write_text(done.output)
    # Forged: as new as can be, and the same model by name; and one that was only checked.
    forged = json.loads(Path(results, "vader.json").read_text())
    forged["date"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    Path(results, "zzz.json").write_text(json.dumps(forged))
    checked = invoke("leaderboard", "check", f"{results}/afinn.json", "--json")
    file.write_text(file.read_text() + checked.output)
    build = ("leaderboard", "build", results, "--out", str(tmp_path / "site"))
    done = invoke(*build, "--rescored", str(file))
    assert done.exit_code == 0, done.output
    assert "left out zzz.json" in done.output
    rows = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    how = {row["model"]: row["obtained"] for row in rows if row["kind"] == "model"}
    assert how == {"vader": "rescored", "afinn": "as submitted"}


@pytest.mark.parametrize(
    "line", ["", "[]", "7", "null", "{}", '{"accepted": true, "rescored": "9", "sha256": "a"}',
             "[" * 100_000, '{"accepted": true, "rescored": 1, "sha256": [1]}', "\udcff"]
)  # fmt: skip
def test_what_is_no_check_is_named_by_its_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "rescored.jsonl"
    file.write_bytes(
        b'{"accepted": false, "rescored": 0}\n' + line.encode(errors="surrogateescape")
    )
    if not line:
        assert rescored_results(file) == frozenset()
        return
    with pytest.raises(ScoringError, match="line 2: is not the check of a result"):
        rescored_results(file)


def test_the_command_answers_by_lines_json_and_exit_code(
    suite_folder: Path, tmp_path: Path
) -> None:
    def invoke(*arguments: str) -> Any:
        return CliRunner().invoke(commands, [*arguments, "--suite", str(suite_folder)])

    out = str(tmp_path / "results")
    done = invoke("score", "vader", "afinn", "--out", out)
    assert done.exit_code == 0, done.output
    files = [str(path) for path in sorted(Path(out).glob("*.json"))]
    done = invoke("leaderboard", "check", *files, "--rescore")
    assert done.exit_code == 0, done.output
    texts = len(load_suite(suite_folder).with_contrasts)
    assert done.output.count("accepted: ") == 2
    assert done.output.count(f"all {texts} texts scored again") == 2
    bad = Path(out, "bad.json")
    bad.write_text(Path(files[0]).read_text().replace('"afinn"', '"<script>"'))
    done = invoke("leaderboard", "check", files[0], str(bad))
    accepted, refused, *reasons = done.output.splitlines()
    assert done.exit_code == 1 and accepted.startswith("accepted: ")
    assert refused == f"refused: {bad}" and reasons[0].startswith("  model.name: ")
    done = invoke("leaderboard", "check", files[0], str(bad), "--json")
    answers = [json.loads(line) for line in done.output.splitlines()]
    assert done.exit_code == 1 and [answer["accepted"] for answer in answers] == [True, False]
    assert answers[1]["reasons"] == [line.strip() for line in reasons]
