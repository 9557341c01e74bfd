"""What models said is kept by text and by all that decides it, and answers for nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_language_model import llama_folder
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.leaderboard.models import word_lists as models
from s2lct.leaderboard.models.fingerprint import model_fingerprint
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.network import SequenceClassifier
from s2lct.leaderboard.scoring import ask as kept
from s2lct.leaderboard.scoring.ask import CacheWarning
from s2lct.leaderboard.scoring.score import figures, score
from s2lct.suite.cases import Case, SuiteCases, load_cases

__all__ = ["llama_folder"]

RUNNER = CliRunner(env={"COLUMNS": "200"})


class ByText:
    """Says positive of texts with "good" in them, else negative, and counts what it is asked."""

    name, revision, fingerprint = "by text", "", "f" * 64
    classes: tuple[str, ...] = ("NEGATIVE", "POSITIVE")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray]]:
        self.asked += texts
        for number, text in enumerate(texts):
            positive = 0.9 if "good" in text else 0.1
            yield [number], np.array([[1 - positive, positive]])


def suite_of(*texts: str) -> SuiteCases:
    """Cases that all have one id, as a hostile suite may."""
    cases = [Case("same", "LC4", "seed", "same", text, frozenset({2})) for text in texts]
    return SuiteCases("hostile", "1.0.0", "0" * 64, tuple(cases))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "outcomes.sqlite"


@pytest.fixture(scope="module")
def classifier_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "tiny")


def test_an_id_stands_for_no_text(cache: Path) -> None:
    model = ByText()
    assert score(model, suite_of("A good film."), cache=cache).labels.tolist() == [2]
    assert score(model, suite_of("A bad film."), cache=cache).labels.tolist() == [0]
    both = suite_of("A good film.", "A bad film.", "A good one.")
    assert score(model, both, cache=cache).labels.tolist() == [2, 0, 2]
    assert model.asked == ["A good film.", "A bad film.", "A good one."]


def test_a_suite_that_reuses_ids_changes_no_figure(suite_folder: Path, cache: Path) -> None:
    """Somebody's suite is scored first: official ids, other texts."""
    official, vader = load_cases(suite_folder), load_classifier("vader")
    expected = figures(score(vader, official))
    for text in ("A wonderful film.", "A terrible film."):
        cases = tuple(replace(case, text=text) for case in official.cases)
        score(vader, replace(official, cases=cases), cache=cache)
        assert figures(score(vader, official, cache=cache)) == expected


def test_answers_of_another_version_of_ours_do_not_count(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(ByText(), suite_of("A good film."), cache=cache)
    monkeypatch.setattr(kept, "ANSWERS", kept.ANSWERS + 1)
    model = ByText()
    score(model, suite_of("A good film."), cache=cache)
    assert model.asked == ["A good film."]


def test_answers_of_other_classes_or_another_fingerprint_do_not_count(cache: Path) -> None:
    score(ByText(), suite_of("A good film."), cache=cache)
    turned, other, none = ByText(), ByText(), ByText()
    turned.classes = ("POSITIVE", "NEGATIVE")
    other.fingerprint = "e" * 64
    none.fingerprint = ""
    for model in (turned, other, none, none):
        model.asked.clear()
        score(model, suite_of("A good film."), cache=cache)
        assert model.asked == ["A good film."]


def test_a_table_of_before_is_dropped(cache: Path) -> None:
    """It answered by id."""
    cache.parent.mkdir()
    connection = sqlite3.connect(cache)
    connection.execute("CREATE TABLE outcomes (weights TEXT, case_id TEXT, probabilities BLOB)")
    blob = np.array([0.9, 0.1]).tobytes()
    connection.execute("INSERT INTO outcomes VALUES (?, 'same', ?)", (ByText.fingerprint, blob))
    connection.commit()
    connection.close()
    assert score(ByText(), suite_of("A good film."), cache=cache).labels.tolist() == [2]
    with sqlite3.connect(cache) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert [name for (name,) in tables] == ["answers"]
    connection.close()


@pytest.mark.parametrize(
    "blob", [b"", b"12345678", np.array([0.1, float("nan")]).tobytes(), "text", None, 7]
)
def test_a_kept_row_that_is_none_is_asked_anew(cache: Path, blob: object) -> None:
    score(ByText(), suite_of("A good film."), cache=cache)
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE answers SET probabilities = ?", (blob,))
    connection.close()
    model = ByText()
    assert score(model, suite_of("A good film."), cache=cache).labels.tolist() == [2]
    assert model.asked == ["A good film."]


def pages_limited(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 1")


def only_read(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")


@pytest.mark.parametrize(
    ("limit", "said"), [(pages_limited, "full"), (only_read, "readonly")], ids=["full", "readonly"]
)
@pytest.mark.parametrize("filled", [False, True])
def test_a_cache_that_cannot_be_written_costs_no_figure(
    cache: Path, monkeypatch: pytest.MonkeyPatch, limit: Any, said: str, filled: bool
) -> None:
    if filled:
        score(ByText(), suite_of("A good film."), cache=cache)
    connect = sqlite3.connect

    def limited(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        limit(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)
    model = ByText()
    texts = ["A good film.", *(f"A bad film, number {n}." for n in range(200))]
    with pytest.warns(CacheWarning, match=said) as told:
        labels = score(model, suite_of(*texts), cache=cache).labels.tolist()
    assert labels == [2] + [0] * 200
    assert len(told) == 1
    if filled:
        assert "A good film." not in model.asked  # what is kept still counts


def test_a_cache_that_another_process_holds_costs_no_figure(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(ByText(), suite_of("A good film."), cache=cache)
    monkeypatch.setattr(kept, "_PATIENCE", 0.05)
    holder = sqlite3.connect(cache)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.warns(CacheWarning, match="locked"):
        assert score(ByText(), suite_of("A bad film."), cache=cache).labels.tolist() == [0]
    holder.rollback()
    holder.close()


def test_a_cache_without_a_place_costs_no_figure(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "file"))
    options = ["--suite", str(suite_folder), "--out", str(tmp_path / "results")]
    done = RUNNER.invoke(app, ["score", "vader", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "Warning: cache" in done.stderr
    assert "answers are not kept" in done.stderr
    assert "kept.py" not in done.stderr
    assert (tmp_path / "results" / "vader.json").exists()


def test_a_damaged_cache_is_named_and_a_full_one_is_not_called_damaged(cache: Path) -> None:
    score(ByText(), suite_of(*(f"A film, number {n}." for n in range(500))), cache=cache)
    content = bytearray(cache.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    cache.write_bytes(content)
    for suffix in ("-wal", "-shm"):
        cache.with_name(cache.name + suffix).unlink(missing_ok=True)
    with pytest.raises(ScoringError, match="is damaged"), warnings.catch_warnings():
        warnings.simplefilter("error")
        score(ByText(), suite_of("A film, number 3."), cache=cache)


def test_the_fingerprint_of_a_classifier_covers_its_configuration(
    classifier_folder: Path, tmp_path: Path
) -> None:
    """Weights alike, answers not."""
    expected = SequenceClassifier(str(classifier_folder))
    again = SequenceClassifier(str(shutil.copytree(classifier_folder, tmp_path / "again")))
    assert again.fingerprint == expected.fingerprint
    for number, change in enumerate(
        (
            {"num_attention_heads": 4},
            {"hidden_act": "relu"},
            {"layer_norm_eps": 0.1},
            {"id2label": {"0": "positive", "1": "neutral", "2": "negative"}},
        )
    ):
        folder = Path(shutil.copytree(classifier_folder, tmp_path / str(number)))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | change))
        other = SequenceClassifier(str(folder))
        assert other.weights_sha256 == expected.weights_sha256, change
        assert other.fingerprint != expected.fingerprint, change


def test_the_fingerprint_of_a_classifier_covers_its_tokenizer(
    classifier_folder: Path, tmp_path: Path
) -> None:
    expected = SequenceClassifier(str(classifier_folder))
    changes = (
        ("tokenizer_config.json", {"model_max_length": 5}),
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer_config.json", {"do_lower_case": False}),
    )
    for number, (file, change) in enumerate(changes):
        folder = Path(shutil.copytree(classifier_folder, tmp_path / str(number)))
        content = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(content | change))
        other = SequenceClassifier(str(folder))
        assert other.weights_sha256 == expected.weights_sha256, change
        assert other.fingerprint != expected.fingerprint, change


def test_the_fingerprint_covers_tokenizers_written_in_python(
    classifier_folder: Path, tmp_path: Path
) -> None:
    """They have no backend that could be asked for all of itself."""
    from transformers import ByT5Tokenizer, CanineTokenizer, PreTrainedTokenizer

    class Words(PreTrainedTokenizer):  # type: ignore[misc]
        vocab_files_names = {"vocab_file": "words.txt"}  # noqa: RUF012

        def __init__(self, vocab_file: str, lower: bool = False, **more: Any) -> None:
            self.vocab_file = vocab_file
            words = Path(vocab_file).read_text().split()
            self.words = {word: number for number, word in enumerate(words)}
            super().__init__(lower=lower, **more)

        @property
        def vocab_size(self) -> int:
            return len(self.words)

        def get_vocab(self) -> dict[str, int]:
            return self.words

    model = SequenceClassifier(str(classifier_folder)).model
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("good bad <unk>")
    second.write_text("bad good <unk>")
    copied = Path(shutil.copy(first, tmp_path / "copied.txt"))
    tokenizers = [
        Words(str(first)),
        Words(str(second)),
        Words(str(first), lower=True),
        Words(str(first), model_max_length=4),
        ByT5Tokenizer(),
        ByT5Tokenizer(extra_ids=3),
        CanineTokenizer(),
    ]
    found = [model_fingerprint(tokenizer, model) for tokenizer in tokenizers]
    assert len(set(found)) == len(found)
    assert model_fingerprint(Words(str(copied)), model) == found[0]


def test_the_fingerprint_of_a_language_model_covers_what_it_is_asked(llama_folder: Path) -> None:
    name = str(llama_folder)
    found = {
        LanguageModel(name, LabelPrompt(prompt, words)).fingerprint
        for prompt in ("{text} It was", "{text} It is")
        for words in (("bad", "fine", "good"), ("bad", "okay", "good"))
    }
    assert len(found) == 4


def test_the_fingerprint_of_a_word_list_covers_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {load_classifier(name).fingerprint for name in models.WORD_LISTS}
    weights = models.WORD_LISTS["vader"].weights_sha256
    monkeypatch.setattr(models, "version", lambda _: "9.9.9")
    found |= {one.fingerprint for one in models.WORD_LISTS.values()}
    assert len(found) == 2 * len(models.WORD_LISTS)
    assert models.WORD_LISTS["vader"].weights_sha256 != weights


def test_the_fingerprint_of_an_embedded_model_covers_its_encoder_s_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from s2lct.builder.models import encoder

    here = load_classifier("embedded-3class")
    folder = Path(shutil.copytree(encoder.encoder_path(), tmp_path / "encoder"))
    told = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(told | {"do_lower_case": False}))
    monkeypatch.setattr(encoder, "encoder_path", lambda: folder)
    other = load_classifier("embedded-3class")
    assert other.fingerprint != here.fingerprint
    assert other.weights_sha256 == here.weights_sha256  # type: ignore[attr-defined]
