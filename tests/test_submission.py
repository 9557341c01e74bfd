"""Submissions: an honest one is accepted, and whatever is not honest is refused in plain lines."""

from __future__ import annotations

import copy
import json
import os
import re
import tracemalloc
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.cli.main import app as commands
from s2lct.errors import ScoringError
from s2lct.labels import LABELS, TASK
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.record import OptionsRecord
from s2lct.leaderboard.results.untrusted import read_verified
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.leaderboard.submission import check as submission
from s2lct.leaderboard.submission import rescoring
from s2lct.leaderboard.submission.check import Verdict, check, record
from s2lct.suite.cases import Case, SuiteCases, load_cases

runner = CliRunner()


def invoke(*arguments: str) -> Any:
    return runner.invoke(commands, ["leaderboard", *arguments])


ADVERBS = ("also", "indeed", "really", "ultimately")
SENTENCES = {
    "LC4": [("This isn't a bad film.", {1, 2}), ("That isn't an ugly picture.", {1, 2})],
    "LC9": [("Do I think it is dull? Yes.", {0}), ("Is it a lovely story? Yes.", {2})],
    "LC2": [("A charming comedy.", {2}), ("A horrible bore.", {0}), ("An awful mess.", {0})],
}


def small_suite() -> SuiteCases:
    cases: list[Case] = []
    for capability, sentences in SENTENCES.items():
        for number, (text, passes) in enumerate(sentences):
            seed = f"{capability}-{number}"
            known = {"capability": capability, "seed_id": seed, "passes": frozenset(passes)}
            splits = frozenset({"sst:train" if number % 2 else "sst:test"})
            cases.append(Case(seed, kind="seed", text=text, splits=splits, **known))
            for adverb in ADVERBS:
                cases.append(
                    Case(
                        f"{seed}-{adverb}",
                        kind="expansion",
                        text=f"{adverb.capitalize()}, {text}",
                        inserted=(adverb,),
                        production="S -> ADVP S",
                        splits=splits,
                        **known,
                    )
                )
    return SuiteCases("suites/films", "1.0.0", "a" * 64, tuple(cases))


SUITE = small_suite()
ROWS = len(SUITE.cases)


class Submission:
    """An honest result of vader, to be changed."""

    def __init__(self, folder: Path) -> None:
        self.path = write_result(score(load_classifier("vader"), SUITE), folder)
        self.table = self.path.with_suffix(".parquet")
        self.content: dict[str, Any] = json.loads(self.path.read_text())
        self.columns: dict[str, list[Any]] = pq.read_table(self.table).to_pydict()

    def save(self) -> Path:
        self.path.write_text(json.dumps(self.content))
        return self.path

    def save_text(self, text: str | bytes) -> Path:
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)
        return self.path

    def save_table(self, table: pa.Table | bytes | None = None, **options: Any) -> Path:
        """Write the outcomes, and their hash into the result."""
        if isinstance(table, bytes):
            self.table.write_bytes(table)
        else:
            pq.write_table(table or pa.table(self.columns), self.table, **options)
        self.content["outcomes"]["sha256"] = sha256(self.table.read_bytes()).hexdigest()
        return self.save()


@pytest.fixture
def sent(tmp_path: Path) -> Submission:
    return Submission(tmp_path / "sent")


def refusal(path: Path, **options: Any) -> str:
    """The reasons, each of which fits a line of a terminal."""
    verdict = check(path, SUITE, **options)
    assert not verdict.accepted
    assert verdict.reasons
    for reason in verdict.reasons:
        assert reason.isprintable()
        assert 3 < len(reason) <= submission.LONGEST_REASON
    assert json.loads(verdict.as_json())["reasons"] == list(verdict.reasons)
    return "\n".join(verdict.reasons)


def changed(content: dict[str, Any], place: str, value: Any) -> None:
    *path, last = place.split(".")
    for name in path:
        content = content[name]
    content[last] = value


def test_an_honest_result_is_accepted(sent: Submission) -> None:
    verdict = check(sent.path, SUITE)
    assert verdict.accepted
    assert (verdict.reasons, verdict.rescored) == ((), 0)
    assert verdict.sha256 == sha256(sent.path.read_bytes()).hexdigest()
    assert not verdict.verified
    again = check(sent.path, SUITE, rescore=True)
    assert (again.accepted, again.rescored) == (True, ROWS)
    assert again.verified and again.doubts == ()
    assert check(sent.save_table(), SUITE).accepted  # written anew, the same rows


RATE = {"cases": 0, "failures": 0, "failure_rate": 0.0, "ci": [0.0, 0.0]}
FIGURES = {"seed": RATE, "expansion": RATE, "pass_to_fail": 0, "fail_to_pass": 0}


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("model.name", "<script>alert(1)</script>", "model.name: holds markup"),
        ("model.name", "org/model\x1b[31m", r"control character \(U\+001B\)"),
        ("model.name", "org/\u202eledom", r"control character \(U\+202E\)"),
        ("model.name", "../../etc/passwd", "neither a Hub id nor a built-in model"),
        ("model.name", "org/../model", "neither a Hub id"),
        ("model.name", "/tmp/model", "neither a Hub id"),
        ("model.name", "org/" + "m" * 5_000, "at most 4,096"),
        ("model.name", "org/model", "3.3.2' is no commit"),
        ("model.revision", "", "is no version of a package"),
        ("model.weights_sha256", "", "is no SHA-256"),
        ("model.label_rule", " ", "label_rule: is empty"),
        ("model.label_rule", "<img src=x onerror=alert(1)>", "label_rule: holds markup"),
        ("model.licence", "MIT\nand more", r"control character \(U\+000A\)"),
        ("model.options.prompt", "{text}", "belong together"),
        ("model.options.label_map", {"<svg/onload=alert(1)>": "negative"}, "holds markup"),
        ("suite.fingerprint", "b" * 64, "suite.fingerprint: is not the suite's"),
        ("suite.name", "\x00", "control character"),
        ("date", "yesterday", "is no ISO date"),
        ("date", "0001-01-01T00:00:00+00:00", "lies before 2020"),
        (
            "capabilities.failure_rate",
            {"seed": RATE, "expansion": RATE, "pass_to_fail": 0, "fail_to_pass": 0},
            "no name of a capability",
        ),
        ("date", "2026-01-01T00:00:00", "has no time zone"),
        ("date", "9999-01-01T00:00:00+00:00", "lies in the future"),
        ("packages", {}, "s2lct must be among"),
        ("packages", {"s2lct": "1 && rm"}, "is no package with a version"),
        ("format", 4, "format: "),
        ("format", True, "format: "),
        ("overall.cases", str(ROWS), "overall.cases: "),
        ("overall.cases", float(ROWS) + 0.5, "overall.cases: "),
        ("overall.cases", 10**400, "overall.cases does not follow"),
        ("overall.ci", [0.1], "overall.ci"),
        ("overall.failure_rate", 1.5, "overall.failure_rate: "),
        ("overall.failure_rate", None, "overall.failure_rate: "),
        ("capabilities", [], "capabilities: "),
        ("capabilities", {}, "capabilities.LC2 does not follow"),
        ("capabilities.LC4", "x" * 100_000, "capabilities.LC4: "),
        ("surprise\n\x1b]0;owned\x07", 1, "Extra inputs are not permitted"),
        ("outcomes.rows", ROWS - 1, f"outcomes.rows: is {ROWS - 1}, the suite has {ROWS}"),
        ("outcomes.path", "../vader.parquet", "is no plain name"),
        ("outcomes.path", "/etc/passwd", "is no plain name"),
        ("outcomes.path", "folder/vader.parquet", "is no plain name"),
        ("outcomes.path", "..\\vader.parquet", "is no plain name"),
        ("outcomes.path", "", "is no plain name"),
        ("outcomes.path", "nothing.parquet", "cannot be read"),
        ("outcomes.sha256", "0" * 64, "SHA-256 differs"),
    ],
)
def test_a_hostile_word_or_number_is_refused(
    sent: Submission, place: str, value: Any, problem: str
) -> None:
    changed(sent.content, place, value)
    assert re.search(problem, refusal(sent.save()))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no JSON"),
        (b"\xff\xfe{}", "is no JSON in UTF-8"),
        (b"\xef\xbb\xbf{}", "is no JSON in UTF-8"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
        ("[]", "the file: "),
        ("null", "the file: "),
        ('{"format": 1, "format": 1}', "the key 'format' twice"),
        ('{"overall": {"cases": NaN}}', "NaN, which is no number"),
        ('{"overall": {"cases": -Infinity}}', "-Infinity, which is no number"),
        ('{"overall": {"cases": 1e999}}', "1e999, which is no finite number"),
        ("9" * 5_000, "is no JSON"),
        ("{} {}", "is no JSON"),
        ('{"__reduce__": ["os.system", "true"]}', "format"),
    ],
)
def test_what_is_no_result_is_refused(sent: Submission, text: str | bytes, problem: str) -> None:
    reasons = refusal(sent.save_text(text))
    if problem == "format":  # an object, but none of ours: every missing field is named
        assert "suite: Field required" in reasons
        assert "__reduce__: Extra inputs are not permitted" in reasons
    else:
        assert problem in reasons


def test_a_number_that_is_none_is_refused_wherever_it_stands(sent: Submission) -> None:
    sent.content["capabilities"]["LC4"]["seed"]["failure_rate"] = float("nan")
    assert "NaN" in refusal(sent.save())


def test_a_lone_surrogate_is_refused(sent: Submission) -> None:
    text = json.dumps(sent.content).replace("suites/films", "\\ud800")
    assert "Invalid JSON" in refusal(sent.save_text(text))


def test_sizes_are_looked_at_before_anything_is_read(sent: Submission) -> None:
    for path, most in (
        (sent.table, untrusted.MOST_TABLE_BYTES),
        (sent.path, untrusted.MOST_JSON_BYTES),
    ):
        os.truncate(path, 2 << 30)  # 2 GiB that take no room on the disk
        tracemalloc.start()
        reasons = refusal(sent.path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert f"{path.name}: has 2,147,483,648 bytes, at most {most:,}" in reasons
        assert peak < 32 << 20


def test_links_pipes_and_folders_are_not_opened(sent: Submission, tmp_path: Path) -> None:
    secret = tmp_path / "secret.parquet"
    sent.table.rename(secret)
    sent.table.symlink_to(secret)
    assert "vader.parquet: is no plain file" in refusal(sent.path)
    link = tmp_path / "link.json"
    link.symlink_to(sent.path)
    assert "link.json: is no plain file" in refusal(link)
    os.mkfifo(tmp_path / "pipe.json")
    assert "pipe.json: is no plain file" in refusal(tmp_path / "pipe.json")
    assert "is no plain file" in refusal(tmp_path)
    assert "cannot be read" in refusal(tmp_path / "nothing.json")


def with_column(columns: dict[str, list[Any]], name: str, values: Any) -> pa.Table:
    return pa.table(columns | {name: values})


TABLES: dict[str, tuple[Callable[[dict[str, list[Any]]], pa.Table | bytes], str]] = {
    "no Parquet": (lambda columns: b"PAR1 nothing here PAR1", "is no Parquet file"),
    "empty": (lambda columns: b"", "is no Parquet file"),
    "a zip": (lambda columns: b"PK\x03\x04" + b"\0" * 500, "is no Parquet file"),
    "cut off": (lambda columns: written(pa.table(columns))[:-40], "is no Parquet file"),
    "too few rows": (lambda columns: pa.table(columns)[:-1], f"has {ROWS - 1} rows for {ROWS}"),
    "too many rows": (
        lambda columns: pa.concat_tables([pa.table(columns)] * 2),
        f"has {2 * ROWS} rows for {ROWS}",
    ),
    "one column more": (lambda columns: with_column(columns, "more", [1] * ROWS), "1 too many"),
    "one column less": (
        lambda columns: pa.table(columns).drop_columns(["failed"]),
        "0 too many, 1 missing",
    ),
    "a nested column": (
        lambda columns: with_column(columns, "label", [{"a": [{"b": "x"}]}] * ROWS),
        "column label is of type struct",
    ),
    "deeper lists": (
        lambda columns: with_column(columns, "inserted", [[["also"]]] * ROWS),
        "column inserted is of type list<element: list",
    ),
    "numbers for labels": (
        lambda columns: with_column(columns, "label", [1] * ROWS),
        "column label is of type int64",
    ),
    "no label at all": (
        lambda columns: with_column(columns, "label", [None, *columns["label"][1:]]),
        "label is no label in 1 case",
    ),
    "another label": (
        lambda columns: with_column(columns, "label", ["joyful", *columns["label"][1:]]),
        "label is no label in 1 case",
    ),
    "an id twice": (
        lambda columns: with_column(columns, "id", [columns["id"][1], *columns["id"][1:]]),
        "has 1 id (first 'LC4-0-also') more than once",
    ),
    "a strange id": (
        lambda columns: with_column(columns, "id", ["\x1b[2J<b>", *columns["id"][1:]]),
        "that the suite does not have",
    ),
    "another order": (lambda columns: pa.table(columns)[::-1], "in another order"),
    "another text": (
        lambda columns: with_column(columns, "text", ["Great!", *columns["text"][1:]]),
        "text is not the suite's in 1 case (first 'LC4-0')",
    ),
    "its own passing labels": (
        lambda columns: with_column(columns, "passes", [[0, 1, 2]] * ROWS),
        f"passes is not the suite's in {ROWS} cases",
    ),
    "another capability": (
        lambda columns: with_column(columns, "capability", ["LC2"] * ROWS),
        "capability is not the suite's",
    ),
    "nothing failed": (
        lambda columns: with_column(columns, "failed", [False] * ROWS),
        "failed does not follow from the label",
    ),
    "a text that is none": (
        lambda columns: with_column(
            columns, "text", pa.array([b"\xff"] * ROWS, pa.binary()).view(pa.string())
        ),
        "is no Parquet file that can be read",
    ),
    "a long text": (
        lambda columns: with_column(columns, "text", ["a" * 100_000, *columns["text"][1:]]),
        "column text holds a text of 100,000 bytes",
    ),
}


def written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", TABLES)
def test_hostile_outcomes_are_refused(sent: Submission, kind: str) -> None:
    make, problem = TABLES[kind]
    assert problem in refusal(sent.save_table(make(sent.columns)))


def test_bombs_are_defused(sent: Submission) -> None:
    # 60 MB of zeros that compress to a few kB, told by the file itself.
    large = ["0" * 60_000_000, *sent.columns["text"][1:]]
    path = sent.save_table(with_column(sent.columns, "text", large), compression="zstd")
    assert sent.table.stat().st_size < 1_000_000
    assert "bytes uncompressed, at most" in refusal(path)
    # A dictionary of one text, which the file counts once and every row repeats.
    repeated = with_column(sent.columns, "text", ["0" * 1_000_000] * ROWS)
    path = sent.save_table(repeated, compression="zstd", use_dictionary=True)
    assert "column text holds a text of 1,000,000 bytes" in refusal(path)
    # A list of a million words in one row.
    words = with_column(sent.columns, "inserted", [["a"] * 1_000_000, *[[]] * (ROWS - 1)])
    assert "holds a column of 1,000,034 values" in refusal(
        sent.save_table(words, compression="zstd")
    )


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    return Submission(tmp_path_factory.mktemp("honest"))


@pytest.fixture
def decoded_once(honest: Submission, monkeypatch: pytest.MonkeyPatch) -> Iterator[Submission]:
    """The honest submission; its table is not decoded again for each change of its JSON."""
    columns = json.loads(json.dumps(honest.columns))
    monkeypatch.setattr(submission, "decoded", lambda *_, **__: (pa.table(columns), 0))
    before = honest.path.read_bytes()
    yield honest
    honest.path.write_bytes(before)


def figures_in(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from figures_in(part, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from figures_in(part, f"{place}.{number}")
    elif isinstance(value, (int, float)) and place not in NO_FIGURES:
        yield place


NO_FIGURES = (
    "format",
    "model.options.neutral_band.0",
    "model.options.neutral_band.1",
    # Without the model nobody can know them.
    "model.parameters",
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_change_of_a_figure_is_refused(decoded_once: Submission, data: st.DataObject) -> None:
    content = copy.deepcopy(decoded_once.content)
    place = data.draw(st.sampled_from(sorted(figures_in(content))))
    parent = content
    *path, last = [int(name) if name.isdigit() else name for name in place.split(".")]
    for name in path:
        parent = parent[name]
    told = parent[last]
    if isinstance(told, int):
        parent[last] = data.draw(st.integers(0, 10_000).filter(lambda new: new != told))
    else:
        parent[last] = data.draw(
            st.one_of(
                st.floats(0, 1), st.floats(0, 1).map(lambda step: told + step / 1_000)
            ).filter(lambda new: abs(new - told) > 1e-8)
        )
    decoded_once.save_text(json.dumps(content))
    assert place.rsplit(".ci.", 1)[0] in refusal(decoded_once.path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_change_of_the_file_makes_a_traceback(
    decoded_once: Submission, data: st.DataObject
) -> None:
    raw = bytearray(json.dumps(decoded_once.content).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    decoded_once.save_text(bytes(raw))
    verdict = check(decoded_once.path, SUITE)
    assert verdict.accepted != bool(verdict.reasons)
    assert all(reason.isprintable() for reason in verdict.reasons)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_change_of_the_outcomes_makes_a_traceback(sent: Submission, data: st.DataObject) -> None:
    raw = bytearray(written(pa.table(sent.columns)))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    verdict = check(sent.save_table(bytes(raw)), SUITE)
    assert verdict.accepted != bool(verdict.reasons)
    assert all(reason.isprintable() for reason in verdict.reasons)


def flattered(sent: Submission) -> Path:
    """A result in which every case that failed passes, with every figure made to fit."""
    outcomes = score(load_classifier("vader"), SUITE)
    failing = np.flatnonzero(outcomes.failed)
    for number in failing:
        outcomes.labels[number] = min(SUITE.cases[number].passes)
        outcomes.failed[number] = False
    assert len(failing)
    return write_result(outcomes, sent.path.parent)


def test_a_flattered_result_is_found_by_asking_the_model(sent: Submission) -> None:
    path = flattered(sent)
    assert check(path, SUITE).accepted  # its figures do follow from its cases
    verdict = check(path, SUITE, rescore=True)
    assert not verdict.accepted
    assert "the model says something else of" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("model.revision", "1.0", "the model here is"),
        ("model.weights_sha256", "0" * 64, "is not that of the model"),
        ("model.label_rule", "the largest wins", "is not that of the model with these options"),
        ("model.parameters", 7, "the model's is None"),
        ("model.licence", "proprietary", "model.licence: is 'proprietary'"),
        ("model.options.neutral_band", [0.9, 0.1], "cannot be scored again: neutral band"),
        ("model.options.label_map", {"negative": "positive"}, "cannot be scored again"),
    ],
)
def test_what_a_result_says_of_its_model_is_checked(
    sent: Submission, place: str, value: Any, problem: str
) -> None:
    changed(sent.content, place, value)
    path = sent.save()
    assert check(path, SUITE).accepted  # without the model nobody can tell
    assert problem in refusal(path, rescore=True)


def test_a_folder_named_like_the_model_is_not_loaded(
    sent: Submission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent.content["model"] |= {"name": "org/model", "revision": "c" * 40}
    save_tiny_classifier(tmp_path / "org" / "model")
    monkeypatch.chdir(tmp_path)
    told = refusal(sent.save(), rescore=True)
    assert "cannot be scored again: model org/model: cannot be fetched" in told


@settings(deadline=None)
@given(
    st.sampled_from([(0, 2), (0, 1, 2), (0, 0, 1, 2, 2)]),
    st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
    st.integers(0, 2),
)
def test_only_a_near_tie_excuses_another_label(
    meanings: tuple[int, ...], weights: list[float], label: int
) -> None:
    rule = LabelRule(tuple(map(str, range(len(meanings)))), meanings)
    odds = np.array([weights[: len(meanings)]])
    probabilities = odds / odds.sum()
    own = rule.labels(probabilities)
    assert rule.could_be(own, probabilities, 0.0).all()
    told = np.array([label])
    excused = bool(rule.could_be(told, probabilities, 0.02)[0])
    # Naively: move half of it from one class to another, and look.
    reached = label == own[0]
    for source in range(len(meanings)):
        for target in range(len(meanings)):
            moved = probabilities.copy()
            step = min(0.00999, moved[0, source])
            moved[0, source] -= step
            moved[0, target] += step
            reached = reached or rule.labels(moved)[0] == label
    assert excused or not reached


def test_a_clear_answer_excuses_no_other_label() -> None:
    three = LabelRule(("a", "b", "c"), (0, 1, 2))
    two = LabelRule(("a", "b"), (0, 2))
    for rule, clear in ((three, [0.5, 0.4, 0.1]), (two, [0.8, 0.2])):
        for label in (1, 2):
            assert not rule.could_be(np.array([label]), np.array([clear]), 0.02)[0]
    assert two.could_be(np.array([1]), np.array([[0.67, 0.33]]), 0.02)[0]
    assert not two.could_be(np.array([2]), np.array([[0.67, 0.33]]), 0.02)[0]


CASES = 1_973


class Said:
    """A stand-in for a built-in model that says what it is told to say."""

    name, revision, fingerprint = "vader", "3.3.2", "0" * 64
    classes = ("negative", "neutral", "positive")

    def __init__(self, probabilities: np.ndarray) -> None:
        self.said = probabilities

    def probabilities(self, texts: Any) -> Iterator[tuple[list[int], np.ndarray]]:
        yield list(range(len(texts))), self.said


def near_uniform(rng: np.random.Generator) -> np.ndarray:
    odds = 1 + 1e-6 * rng.random((CASES, 3))
    return odds / odds.sum(axis=1, keepdims=True)


def ordinary(rng: np.random.Generator) -> np.ndarray:
    odds = np.exp(3 * rng.standard_normal((CASES, 3)))
    return odds / odds.sum(axis=1, keepdims=True)


def certain(rng: np.random.Generator) -> np.ndarray:
    return np.eye(3)[rng.integers(0, 3, CASES)]


def asked_again(
    probabilities: np.ndarray, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> rescoring.AskedAgain:
    """What is said of labels of a suite as large as the default one."""
    cases = [
        Case(f"{n}", "LC4", "seed", f"{n}", f"Sentence {n}.", frozenset({0})) for n in range(CASES)
    ]
    monkeypatch.setattr(rescoring, "load_classifier", lambda *_, **__: Said(probabilities))
    rule = LabelRule(Said.classes, (0, 1, 2))
    told = SimpleNamespace(
        model=SimpleNamespace(
            name="vader", revision=Said.revision, weights_sha256=Said.fingerprint,
            label_rule=str(rule), parameters=None, licence=None, options=OptionsRecord(),
            endpoint=None,
        )
    )  # fmt: skip
    return rescoring.ask_again(told, cases, labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [near_uniform, ordinary, certain])
@pytest.mark.parametrize("seed", range(6))
def test_twenty_false_labels_never_pass(
    model: Callable[[np.random.Generator], np.ndarray], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    probabilities = model(rng)
    honest = probabilities.argmax(axis=1)
    again = asked_again(probabilities, honest, monkeypatch)
    assert (again.faults, again.asked, again.doubts) == ((), CASES, ())
    false = honest.copy()
    chosen = rng.choice(CASES, 20, replace=False)
    false[chosen] = (false[chosen] + rng.integers(1, 3, 20)) % 3
    (fault,) = asked_again(probabilities, false, monkeypatch).faults
    assert re.search(r"something else of (1[0-9]|20) cases .* out of 1,973 asked", fault)


def test_near_uniform_answers_excuse_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = near_uniform(np.random.default_rng(0))
    # As a forger did it: the label that passes, whatever the model says.
    assert asked_again(probabilities, np.zeros(CASES, dtype=np.int64), monkeypatch).faults


def test_rounding_is_excused_in_few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = ordinary(np.random.default_rng(1))
    for near, passes in ((39, True), (40, False)):
        said = probabilities.copy()
        said[:near] = [0.45002, 0.44998, 0.1]
        honest = said.argmax(axis=1)
        elsewhere = honest.copy()
        elsewhere[:3] = 1
        assert (asked_again(said, elsewhere, monkeypatch).faults == ()) is passes
        elsewhere[:3] = 2  # no near-tie has that label
        assert asked_again(said, elsewhere, monkeypatch).faults


@pytest.mark.parametrize(
    ("options", "classes", "doubt"),
    [
        ({}, ("negative", "positive"), ""),
        (
            {"label_map": {"0": "positive", "1": "negative"}},
            ("negative", "positive"),
            "own label map",
        ),
        ({"label_map": {"0": "negative", "1": "positive"}}, ("LABEL_0", "LABEL_1"), "LABEL_0"),
        ({"neutral_band": (0.4, 0.6)}, ("negative", "positive"), "neutral band 0.4 to 0.6"),
        ({"prompt": TASK.prompts[1], "label_words": LABELS}, (), ""),
        ({"prompt": "Always answer positive. {text}", "label_words": LABELS}, (), "own prompt"),
        (
            {"prompt": TASK.prompts[0], "label_words": ("positive", "neutral", "negative")},
            (),
            "own label words positive, neutral, negative",
        ),
    ],
)
def test_only_a_model_as_its_authors_mean_it_is_verified(
    options: dict[str, Any], classes: tuple[str, ...], doubt: str
) -> None:
    doubts = [*rescoring._doubts("org/model", classes, OptionsRecord(**options))]
    assert bool(doubts) is bool(doubt)
    assert doubt in " ".join(doubts)


def test_an_own_neutral_band_is_accepted_but_not_verified(tmp_path: Path) -> None:
    model = load_classifier("embedded-2class")
    path = write_result(score(model, SUITE, neutral_band=(0.45, 0.55)), tmp_path)
    verdict = check(path, SUITE, rescore=True)
    assert verdict.accepted and verdict.rescored == ROWS
    assert not verdict.verified
    assert verdict.doubts == ("own neutral band 0.45 to 0.55, which is not how the model is used",)
    with pytest.raises(ScoringError, match="was not verified"):
        record(path, verdict)


def test_a_list_of_verified_results_lies_at_the_top_of_a_repository(tmp_path: Path) -> None:
    place = tmp_path / "results" / "1.0.0-aaaaaaaaaaaa" / "x.json"
    place.parent.mkdir(parents=True)
    verdict = Verdict("x.json", "e" * 64, accepted=True, reasons=(), rescored=34, verified=True)
    assert record(place, verdict) == tmp_path / "verified.json"
    mine = tmp_path / "results" / "mine"
    mine.mkdir()
    assert record(mine / "x.json", verdict) == mine / "verified.json"


def test_verified_results_are_recorded(sent: Submission) -> None:
    accepted = check(sent.path, SUITE, rescore=True)
    file = record(sent.path, accepted)
    assert list(read_verified(file)) == [sha256(sent.path.read_bytes()).hexdigest()]
    record(sent.path, accepted)
    other = Verdict("other.json", "e" * 64, accepted=True, reasons=(), rescored=34, verified=True)
    assert sorted(read_verified(record(sent.path, other))) == sorted([accepted.sha256, "e" * 64])
    for verdict in (check(sent.path, SUITE), check(flattered(sent), SUITE, rescore=True)):
        with pytest.raises(ScoringError, match="only what was accepted with --rescore"):
            record(sent.path, verdict)
    file.write_text('{"x": 1}')
    with pytest.raises(ScoringError, match=r"verified\.json: cannot be read"):
        record(sent.path, accepted)
    file.unlink()
    file.symlink_to(sent.path)
    with pytest.raises(ScoringError, match=r"verified\.json: cannot be read"):
        record(sent.path, accepted)


@pytest.fixture(scope="module")
def scored_folder(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    arguments = ["score", "vader", "afinn", "--suite", str(suite_folder), "--out", str(out)]
    done = runner.invoke(commands, [*arguments])
    assert done.exit_code == 0, done.output
    return out


def test_the_command_answers_by_lines_json_and_exit_code(
    suite_folder: Path, scored_folder: Path, tmp_path: Path
) -> None:
    files = [str(scored_folder / f"{name}.json") for name in ("vader", "afinn")]
    suite = ["--suite", str(suite_folder)]
    done = runner.invoke(
        commands, ["leaderboard", "check", *files, *suite, "--rescore", "--record"]
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("accepted: ") == 2
    texts = len(load_cases(suite_folder).asked)
    assert done.output.count(f"all {texts} texts scored again: verified") == 2
    assert len(read_verified(scored_folder / "verified.json")) == 2
    bad = tmp_path / "bad.json"
    bad.write_text(Path(files[0]).read_text().replace('"vader"', '"<script>"'))
    done = invoke("check", files[0], str(bad), *suite)
    assert done.exit_code == 1
    accepted, refused, *reasons = done.output.splitlines()
    assert accepted.startswith("accepted: ")
    assert refused == f"refused: {bad}"
    assert all(line.startswith("  ") for line in reasons)
    assert "  model.name: holds markup" in reasons
    done = invoke("check", files[0], str(bad), *suite, "--json")
    assert done.exit_code == 1
    answers = [json.loads(line) for line in done.output.splitlines()]
    assert [answer["accepted"] for answer in answers] == [True, False]
    assert answers[1]["reasons"] == [line.strip() for line in reasons]
    done = invoke("check", files[0], *suite, "--record")
    assert done.exit_code == 1
    assert "Error: --record" in done.output and "→" in done.output


def test_a_part_of_the_suite_is_no_submission(suite_folder: Path, tmp_path: Path) -> None:
    arguments = ["--suite", str(suite_folder), "--out", str(tmp_path)]
    done = runner.invoke(commands, ["score", "vader", "--capability", "LC9", *arguments])
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.glob("*.json")
    done = runner.invoke(
        commands, ["leaderboard", "check", str(path), "--suite", str(suite_folder)]
    )
    assert done.exit_code == 1
    assert "score the model on all of them" in done.output
