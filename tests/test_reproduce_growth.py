"""MNCOVER's Figure 4 and Tables 3 to 5, on a tiny model and against obvious implementations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.augment.accuracy import Accuracies
from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.curves import measure
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.reproduce.mncover_growth import THRESHOLDS, Grown, grow, smaller
from s2lct.analysis.reproduce.mncover_tables import (
    accuracy_rows,
    accuracy_verdict,
    fidelity_verdict,
    union_rows,
)
from s2lct.builder.records import Sentence
from s2lct.cli.main import app

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner()
TRAIN = [
    "A dull film.",
    "The director tells a beautiful story with great warmth.",
    "Charming, happy and beautiful.",
    "The music is lovely, the plot is not.",
    "I used to dislike it, but now I like it.",
    "A film about two brothers at the coast.",
]
TEXTS = ["The film isn't dull.", "A happy film.", "The music is awful.", "A happy film.", "Dull."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> EncoderModel:
    return load_encoder(str(folder))


@pytest.fixture(scope="module")
def masks(encoder: EncoderModel) -> Masks:
    vocabulary = Vocabulary.of_texts(encoder, TRAIN, 20)
    rng, size = np.random.default_rng(0), vocabulary.size
    return Masks(vocabulary, rng.random(size) < 0.7, rng.random((size, size)) < 0.6)


@pytest.fixture(scope="module")
def metrics(encoder: EncoderModel, masks: Masks) -> dict[str, Coverage]:
    return build_metrics(("cover", "mncover"), encoder, TRAIN, masks=masks)


def value_of(encoder: EncoderModel, metric: Coverage, texts: list[str]) -> float:
    return metric.emptied().cover(encoder, texts).value


def test_texts_are_dropped_as_a_slow_filter_drops_them(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    metric = metrics["mncover"]
    found = grow(metric, map(metric.marks, encoder.activations(TEXTS)))
    assert len(found) == 1 + 2 * len(THRESHOLDS)
    for one in found:
        kept: list[str] = []
        values: list[float] = []
        for text in TEXTS:
            before = value_of(encoder, metric, kept)
            growth = value_of(encoder, metric, [*kept, text]) - before
            least = one.threshold or 0.0
            enough = growth >= least * (before if one.unit == "share" else 1)
            if one.threshold is None or (enough and growth > 1e-12):
                kept.append(text)
                values.append(before + growth)
        assert one.values == pytest.approx(values)
    # The repeated text goes at threshold 0, and nothing adds a tenth of all neurons' sections.
    assert len(found[1].values) == 4
    assert found[len(THRESHOLDS)].values == []
    assert metric.value == 0


def test_reductions_are_means_over_transformations(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    metric = metrics["cover"]
    parts = {"one": TEXTS, "other": TEXTS[:2]}
    found = []
    for name, texts in parts.items():
        growths = grow(metric, map(metric.marks, encoder.activations(texts)))
        found.append(Grown(name, len(texts), growths))
    means = smaller(found)
    assert means["coverage", 0.0] == pytest.approx(((1 / 5 + 0) / 2, 1.0))
    assert means["coverage", 0.1] == pytest.approx((1.0, 0.0))


def test_unions_are_what_all_texts_together_cover(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    sets = {"a": TEXTS[:2], "b": TEXTS[2:4], "c": ["A coast, a film, a brother.", "Charming."]}
    measured = [measure(name, texts, encoder, metrics, 0) for name, texts in sets.items()]
    rows = {row[0]: row for row in union_rows(measured)}
    assert list(rows) == ["a", "a + b", "a + b + c", "b", "c"]
    for told, row in rows.items():
        texts = [text for name in str(told).split(" + ") for text in sets[name]]
        assert row[1] == len(texts)
        for place, name in ((2, "cover"), (3, "mncover")):
            assert row[place] == pytest.approx(value_of(encoder, metrics[name], texts))


def sentence(text: str, number: int) -> Sentence:
    return Sentence("films", str(number), text, "positive", "train")


def test_accuracies_stand_against_random_texts() -> None:
    found = {
        "without": Accuracies(10, (0.5, 0.6, 0.7)),
        "random": Accuracies(12, (0.5, 0.61, 0.69)),
        "guided": Accuracies(12, (0.6, 0.71, 0.79)),
    }
    without, _, guided = accuracy_rows(found)
    assert guided[1:3] == [2, pytest.approx(70)]
    assert guided[4] == pytest.approx(10)
    assert without[-1] == 90.22
    assert "guided texts are better" in accuracy_verdict(found)
    found["guided"] = Accuracies(12, (0.52, 0.60, 0.69))
    assert "no difference" in accuracy_verdict(found)


def test_masks_that_keep_everything_say_nothing() -> None:
    about = {"fidelity": 0.99, "fidelity_untrained": 1.0, "words_kept": 9, "words_seen": 9}
    assert "says nothing" in fidelity_verdict(about)
    assert "comes back" in fidelity_verdict(about | {"words_kept": 4, "fidelity": 1.0})
    assert "costs 9.0 points" in fidelity_verdict(about | {"words_kept": 4, "fidelity": 0.91})


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = ["text,label,split"]
    for number in range(4):
        rows += [f'"{text[:-1]} {number}.",positive,train' for text in TRAIN]
    rows += [f'"{text[:-1]} again {n}.",negative,dev' for n, text in enumerate(TEXTS)]
    rows += [f'"{text[:-1]} indeed {n}.",positive,test' for n, text in enumerate(TEXTS)]
    path = tmp_path / "corpus.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mncover-table5", "untrained layer"),
        ("mncover-figure4", "0.0001"),
        ("mncover-table3", "random sentences of"),
    ],
)
def test_the_command_makes_each(
    folder: Path, corpus: Path, tmp_path: Path, name: str, told: str
) -> None:
    pairs = tmp_path / "more.jsonl"
    pairs.write_text(
        '{"test": "t", "capability": "c", "texts": ["A gray film."], "expected": ["neutral"]}\n'
        '{"test": "t", "capability": "c", "texts": ["A tall film."], "expected": ["neutral"]}\n',
        encoding="utf-8",
    )
    words = ["reproduce", name, "--model", str(folder), "--reference", f"csv:{corpus}"]
    words += ["--limit", "5", "--out", str(tmp_path / "out")]
    if name == "mncover-table3":
        words += ["--checklist", str(pairs)]
    done = runner.invoke(app, words)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / f"{name}.md").read_text(encoding="utf-8")
    assert told in page
    assert (tmp_path / "out" / f"{name}.csv").read_text(encoding="utf-8").count("\n") > 1
    assert (tmp_path / "out" / "mncover-figure4.png").exists() == (name == "mncover-figure4")
