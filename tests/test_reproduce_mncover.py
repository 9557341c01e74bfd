"""MNCOVER's tables and figure on a tiny model, against slow, obvious implementations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.reproduce import mncover_tables
from s2lct.analysis.reproduce.mncover_filtering import (
    FILTERS,
    filtered,
    pass_through,
    read_tests,
    reductions,
)
from s2lct.analysis.reproduce.mncover_tables import (
    neurons_of,
)
from s2lct.analysis.reproduce.runner import Inputs
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
NEGATION = ["The film isn't dull.", "The music is awful.", "The film isn't dull.", "A happy film."]
TEXTS = ["The film isn't dull.", "A happy film.", "The music is awful.", "A happy film.", "Dull."]
MORE = ["The plot is dull.", "The plot is gray and long.", "A lovely film."]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> EncoderModel:
    return load_encoder(str(folder))


def random_masks(encoder: EncoderModel) -> Masks:
    vocabulary = Vocabulary.of_texts(encoder, TRAIN, 20)
    rng, size = np.random.default_rng(0), vocabulary.size
    return Masks(vocabulary, rng.random(size) < 0.6, rng.random((size, size)) < 0.5)


@pytest.fixture(scope="module")
def metrics(encoder: EncoderModel) -> dict[str, Coverage]:
    return build_metrics(("cover", "mncover"), encoder, TRAIN, masks=random_masks(encoder))


@pytest.fixture
def files(tmp_path: Path, encoder: EncoderModel) -> dict[str, Path]:
    rows = [f'"{text[:-1]} {n}.",positive,train' for text in TRAIN for n in range(4)]
    rows += [f'"{text[:-1]} in {part} {n}.",negative,{part}'
             for n, text in enumerate(TEXTS) for part in ("dev", "test")]  # fmt: skip
    corpus = tmp_path / "corpus.csv"
    corpus.write_text("\n".join(["text,label,split", *rows]), encoding="utf-8")
    tests = {"negation": (NEGATION, ["positive"]), "typos": (MORE, ["neutral", "negative"])}
    mft = [
        {"test": test, "capability": "C", "texts": [text], "expected": expected}
        for test, (texts, expected) in tests.items()
        for text in texts
    ]
    masks = tmp_path / "masks.safetensors"
    random_masks(encoder).save(masks)
    return {"mft": write_rows(tmp_path / "mft.jsonl", mft), "masks": masks, "corpus": corpus}


def value_of(encoder: EncoderModel, metric: Coverage, texts: list[str]) -> float:
    return metric.emptied().cover(encoder, texts).value


def options_of(files: dict[str, Path], folder: Path, out: Path, name: str = "table1") -> list[str]:
    words = ["reproduce", f"mncover-{name}", "--model", str(folder), "--out", str(out)]
    words += ["--reference", f"csv:{files['corpus']}", "--masks", str(files["masks"])]
    return [*words, "--checklist", str(files["mft"])]


def test_cases_bring_what_coverage_of_the_training_set_grows_by(
    encoder: EncoderModel, folder: Path, files: dict[str, Path]
) -> None:
    inputs = Inputs(
        name="mncover-table1", model=[str(folder)], suite=None, checklist=[files["mft"]],
        reference=f"csv:{files['corpus']}", reference_cases=None, masks=files["masks"], key=None,
        annotations=[], limit=None, seed=0, label_map=None, device="cpu",
    )  # fmt: skip
    neurons = neurons_of(str(folder), inputs)
    passed = [
        pass_through(neurons.encoder, test, neurons.trained)
        for test in read_tests([files["mft"]], 100)
    ]
    for test, texts in zip(passed, (NEGATION, MORE), strict=True):
        for name, increments in test.increments.items():
            metric = neurons.metrics[name]
            reached = [
                value_of(encoder, metric, [*neurons.reference.texts, *texts[:n]])
                for n in range(len(texts) + 1)
            ]
            assert increments == pytest.approx(np.diff(reached), abs=1e-12)
    assert passed[0].increments["cover"][2] == 0  # a repeated case brings nothing
    assert any(passed[0].increments["cover"])
    logits = [computed.logits.argmax() for computed in encoder.activations([*NEGATION, *MORE])]
    failed = [*(label != 2 for label in logits[:4]), *(label == 2 for label in logits[4:])]
    assert [fails for test in passed for fails in test.failed] == failed


def naive_rates(increments: list[float], failed: list[bool]) -> tuple[list[int], list[float]]:
    kept = sorted(value for value in increments if value > 0)
    sizes, rates = [], []
    for tenth in range(1, 11):
        place = (len(kept) - 1) * tenth / 10
        low = int(place)
        high = min(low + 1, len(kept) - 1)
        bound = kept[low] + (place - low) * (kept[high] - kept[low])
        chosen = [f for i, f in zip(increments, failed, strict=True) if i >= bound - 1e-12]
        sizes.append(len(chosen))
        rates.append(sum(chosen) / len(chosen))
    return sizes, rates


@pytest.mark.parametrize("seed", range(5))
def test_deciles_of_the_increments_cut_the_subsets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    increments = (rng.random(40) * (rng.random(40) < 0.7)).tolist()
    failed = (rng.random(40) < 0.4).tolist()
    left = filtered(increments, failed)
    assert left is not None
    sizes, rates = naive_rates(increments, failed)
    assert left.sizes == sizes
    assert left.sizes[-1] == 1
    assert left.kept == sum(value > 0 for value in increments)
    assert left.figures == pytest.approx((max(rates), np.mean(rates)))
    # By chance the mean is that of all cases; the greatest of ten is above it.
    assert left.control[1] == pytest.approx(np.mean(failed), abs=0.06)
    assert left.control[0] > left.control[1] + 0.1
    assert filtered(increments, failed) == left


def test_pairs_run_through_the_table_of_pairs(
    folder: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    rows = [
        {"test": "symmetry", "text": one, "text_pair": other, "expected": ["positive"]}
        for one, other in (("A dull film.", "A gray film."), ("It is lovely.", "It is fine."))
    ]
    reference = [{"text": text, "text_pair": TRAIN[0]} for text in TRAIN]
    write_rows(tmp_path / "tests.jsonl", rows)
    write_rows(tmp_path / "train.jsonl", reference)
    *words, _ = options_of(files, folder, tmp_path / "out", "table6")
    words[words.index("--reference") + 1] = f"pairs:{tmp_path / 'train.jsonl'}"
    done = runner.invoke(app, [*words, str(tmp_path / "tests.jsonl")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "mncover-table6.md").read_text(encoding="utf-8")
    assert "| symmetry | 2 |" in page
    write_rows(tmp_path / "unknown.jsonl", [{**rows[0], "expected": ["duplicate"]}])
    unknown = runner.invoke(app, [*words, str(tmp_path / "unknown.jsonl")])
    assert unknown.exit_code == 1
    assert "duplicate" in unknown.output


def test_texts_are_dropped_as_a_slow_filter_drops_them(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    metric = metrics["mncover"]
    found = reductions(metric, map(metric.marks, encoder.activations(TEXTS)))
    for (unit, threshold), (dropped, left) in zip(FILTERS, found, strict=True):
        kept: list[str] = []
        for text in TEXTS:
            before = value_of(encoder, metric, kept)
            growth = value_of(encoder, metric, [*kept, text]) - before
            if growth > 1e-12 and growth >= threshold * (before if unit == "share" else 1):
                kept.append(text)
        assert dropped == pytest.approx(1 - len(kept) / len(TEXTS))
        whole = value_of(encoder, metric, TEXTS)
        assert left == pytest.approx(value_of(encoder, metric, kept) / whole)
    # The repeated text goes at threshold 0, and nothing adds a tenth of all neurons' sections.
    assert found[0] == (pytest.approx(1 / 5), pytest.approx(1.0))
    assert (1.0, 0.0) in found
    assert metric.value == 0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("table1", "| negation | 4 |"),
        ("table5", "untrained layer"),
        ("figure4", "0.0001"),
        ("table3", "random sentences of"),
        ("table4", "Algorithm 1 as printed"),
    ],
)
def test_the_command_makes_each(
    folder: Path,
    files: dict[str, Path],
    tmp_path: Path,
    name: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mncover_tables, "TRAININGS", 1)
    out = tmp_path / "out"
    words = [*options_of(files, folder, out, name), "--limit", "5"]
    done = runner.invoke(app, words, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert not re.search(r"\S…|│ *…", done.output)  # no figure is cut
    assert shown in (out / f"mncover-{name}.md").read_text(encoding="utf-8")
    assert (out / f"mncover-{name}.csv").read_text(encoding="utf-8").count("\n") > 1
