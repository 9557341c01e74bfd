"""What models predicted is kept by text and all that decides it, and answers for nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from s2lct import identity
from s2lct.cache import Cache
from s2lct.errors import OutputError, ScoringError
from s2lct.leaderboard.models import model as models
from s2lct.leaderboard.models.model import Classifier, ModelFacts
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import Case, SuiteCases

TEXTS = ("A good film.", "A bad film.")


class ByText(Classifier):
    """Says positive of texts with "good" in them, else negative, and counts what it is asked."""

    name, fingerprint = "by text", "f" * 64
    classes: tuple[str, ...] = ("NEGATIVE", "POSITIVE")
    positive = 0.9
    dies_after = 1_000

    def __init__(self) -> None:
        self.asked: list[str] = []

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray]]:
        for number, text in enumerate(texts):
            if number == self.dies_after:
                raise KeyboardInterrupt
            self.asked.append(text)
            positive = self.positive if "good" in text else 1 - self.positive
            yield [number], np.array([[1 - positive, positive]])


def suite_of(*texts: str) -> SuiteCases:
    """Cases that all have one id, as a hostile suite may."""
    cases = [Case("same", "LC4", "seed", "same", text, frozenset({2})) for text in texts]
    return SuiteCases("hostile", "1.0.0", "0" * 64, tuple(cases))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "predictions.sqlite"


def test_predictions_are_kept_by_text_alone(cache: Path) -> None:
    model = ByText()
    for texts in (TEXTS[:1], TEXTS[1:], (*TEXTS, *TEXTS)):
        found = score(model, suite_of(*texts), cache=cache).labels.tolist()
        assert found == [2 if "good" in text else 0 for text in texts]
    assert model.asked == [*TEXTS]


def newer_torch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(identity, "version", lambda name: "9.9" if name == "torch" else "1.0")
    identity.predicting_versions.cache_clear()


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "classes": lambda patch: patch.setattr(ByText, "classes", ("POSITIVE", "NEGATIVE")),
    "weights": lambda patch: patch.setattr(ByText, "fingerprint", "e" * 64),
    "no fingerprint": lambda patch: patch.setattr(ByText, "fingerprint", ""),
    "code": lambda patch: patch.setattr(models, "source_fingerprint", "other {}".format),
    "device": lambda patch: patch.setattr(ByText, "facts", ModelFacts(device="cuda")),
    "packages": newer_torch,
}


@pytest.mark.parametrize("change", CHANGES)
def test_predictions_of_another_model_place_or_version_do_not_count(
    change: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ByText()
    score(ByText(), suite_of(*TEXTS), cache=cache)
    CHANGES[change](monkeypatch)
    score(again, suite_of(*TEXTS), cache=cache)
    identity.predicting_versions.cache_clear()
    assert again.asked == [*TEXTS]


def test_an_interrupted_run_goes_on(cache: Path) -> None:
    interrupted, again = ByText(), ByText()
    interrupted.dies_after = 1
    with pytest.raises(KeyboardInterrupt):
        score(interrupted, suite_of(*TEXTS), cache=cache)
    score(again, suite_of(*TEXTS), cache=cache)
    assert again.asked == [TEXTS[1]]


@pytest.mark.parametrize("positive", [float("nan"), float("inf")])
def test_outputs_that_are_no_numbers_are_refused_and_not_kept(positive: float, cache: Path) -> None:
    broken = ByText()
    broken.positive = positive
    with pytest.raises(ScoringError):
        score(broken, suite_of(*TEXTS), cache=cache)
    with sqlite3.connect(cache) as connection:
        assert not connection.execute("SELECT * FROM predictions").fetchall()


def test_a_cache_that_cannot_be_opened_is_named_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"a file")
    (tmp_path / "broken.sqlite").write_bytes(b"not a data base" * 100)
    (tmp_path / "folder.sqlite").mkdir()
    for name in ("file/predictions.sqlite", "broken.sqlite", "folder.sqlite", "a\0b"):
        caplog.clear()
        for _ in range(2):
            found = score(ByText(), suite_of(*TEXTS), cache=tmp_path / name)
        assert found.labels.tolist() == [2, 0]
        (line,) = caplog.messages
        assert str(tmp_path / name) in line and "S2LCT_CACHE" in line


def test_a_path_may_be_text_and_nothing_else(tmp_path: Path) -> None:
    score(ByText(), suite_of(*TEXTS), cache=str(tmp_path / "x.sqlite"))  # type: ignore[arg-type]
    assert (tmp_path / "x.sqlite").exists()
    with pytest.raises(OutputError, match="cache: 5"):
        score(ByText(), suite_of(*TEXTS), cache=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", ["other", "short", "turned", "empty"])
def test_a_damaged_row_counts_as_missing(cache: Path, damage: str) -> None:
    score(ByText(), suite_of(*TEXTS), cache=cache)
    with sqlite3.connect(cache) as connection:
        rows = connection.execute("select text, prediction from predictions").fetchall()
        (first, one), (_, other) = rows
        new = {"other": other, "short": one[:-1], "turned": one[:8] + one[8:][::-1], "empty": b""}
        connection.execute(
            "update predictions set prediction = ? where text = ?", (new[damage], first)
        )
    again = ByText()
    found = score(again, suite_of(*TEXTS), cache=cache)
    assert found.labels.tolist() == [2, 0]
    assert len(again.asked) == 1


def test_a_cache_on_a_shared_disk_has_no_write_ahead_log(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = f"home /{cache.parts[1]} nfs4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n"
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda p, *a: mounts if str(p) == "/proc/mounts" else read(p, *a)
    )
    with Cache(cache) as kept:
        kept.store("model", {"text": b"prediction"})
        assert kept.lookup("model", ["text"]) == {"text": b"prediction"}
        assert not cache.with_name(f"{cache.name}-wal").exists()
        assert sqlite3.connect(cache).execute("pragma journal_mode").fetchone() == ("delete",)
