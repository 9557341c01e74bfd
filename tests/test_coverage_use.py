"""Curves, tables and smaller suites: what coverage is used for, and its command line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.coverage.criteria import METRICS, Coverage, build_metrics
from s2lct.analysis.coverage.curves import CoverageReport, measure, together, write_curves
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.coverage.minimize import Reduced, Reduction, minimize, reductions, write_reduced
from s2lct.analysis.coverage.suites import (
    given,
    load_test_suite,
    named_suites,
    reference_and_held_out,
)
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import AnalysisError, OutputError
from s2lct.suite.cases import Case, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner(env={"COLUMNS": "200"})
REFERENCE = [
    "A dull film.",
    "The director tells a beautiful story with great warmth.",
    "Charming, happy and beautiful.",
    "Awful.",
    "I used to dislike it and would tell people so, but now I like it.",
]
CASES = tuple(
    Case(name, capability, kind, seed, text, frozenset({passes}))
    for name, capability, kind, seed, text, passes in (
        ("a", "LC9", "seed", "a", "Is the film dull? Yes.", 0),
        ("b", "LC9", "expansion", "a", "Is the film also dull? Yes.", 0),
        ("c", "LC9", "seed", "c", "Is the film dull? Yes.", 0),
        ("d", "LC9", "expansion", "c", "Is the second half of the film indeed dull? Yes.", 0),
        ("e", "LC2", "seed", "e", "The music is lovely.", 2),
        ("f", "LC2", "seed", "f", "The music is lovely and warm, and I like it very much.", 2),
        ("g", "LC2", "seed", "g", "Lovely.", 2),
    )
)
TEXTS = [case.text for case in CASES]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT sentiment classifier with random weights."""
    return save_tiny_classifier(
        tmp_path_factory.mktemp("models") / "tiny",
        hidden_size=12,
        num_attention_heads=3,
        max_position_embeddings=64,
    )


@pytest.fixture(scope="session")
def encoder(model_folder: Path) -> EncoderModel:
    return load_encoder(str(model_folder))


@pytest.fixture(scope="session")
def masks(encoder: EncoderModel) -> Masks:
    vocabulary = Vocabulary.of_texts(encoder, REFERENCE, 20)
    size, about = vocabulary.size, {"weights_sha256": encoder.fingerprint}
    return Masks(vocabulary, np.ones(size, bool), np.ones((size, size), bool), about)


@pytest.fixture
def metrics(encoder: EncoderModel, masks: Masks) -> dict[str, Coverage]:
    return build_metrics(METRICS, encoder, REFERENCE, masks=masks)


def test_a_curve_is_the_mean_over_shuffles_of_growing_prefixes(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    measured = measure("mine", TEXTS, encoder, metrics, shuffles=3, points=4, seed=5)
    rng = np.random.default_rng(5)
    ranks = [rng.permutation(len(TEXTS)) for _ in range(3)]
    for metric in metrics.values():
        for figure in metric.values:
            curve = measured.curves[figure]
            assert curve.sizes == (2, 4, 6, 7)
            rows = []
            for rank in ranks:
                order = np.argsort(rank)
                prefixes = [[TEXTS[n] for n in order[:size]] for size in curve.sizes]
                rows.append([metric.emptied().cover(encoder, p).values[figure] for p in prefixes])
            assert curve.mean == pytest.approx(np.mean(rows, axis=0))
            assert curve.low == pytest.approx(np.quantile(rows, 0.025, axis=0))
            assert curve.high == pytest.approx(np.quantile(rows, 0.975, axis=0))
            assert curve.mean[-1] == pytest.approx(measured.values[figure])
            assert list(curve.mean) == sorted(curve.mean)
        assert metric.value == 0


def test_suites_alone_in_parts_and_together(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    parts = {"first": CASES[:3], "second": CASES[3:5], "third": CASES[5:]}
    measured = [
        measure(
            name,
            [case.text for case in cases],
            encoder,
            metrics,
            0,
            kinds=[case.kind for case in cases] if name == "first" else (),
        )
        for name, cases in parts.items()
    ]
    rows = together(measured)
    assert [row.suite for row in rows] == [
        *("first", "first, seeds", "first, expansions", "second", "third"),
        "first + second + third",
    ]
    assert rows[-1].values == measure("all", TEXTS, encoder, metrics, 0).values
    assert rows[-1].cases == len(CASES)
    assert rows[2].values == measure("b", TEXTS[1:2], encoder, metrics, 0).values


def slow_greedy(encoder: EncoderModel, metric: Coverage, threshold: float) -> set[str]:
    """One case after the other, the whole coverage counted anew each time."""
    kept: set[str] = set()
    for capability in ("LC9", "LC2"):
        chosen: list[str] = []
        for case in CASES:
            if case.capability != capability:
                continue
            before = metric.emptied().cover(encoder, chosen).value
            if metric.emptied().cover(encoder, [*chosen, case.text]).value - before > threshold:
                chosen.append(case.text)
                kept.add(case.id)
    return kept | {case.seed_id for case in CASES if case.id in kept}


@pytest.mark.parametrize("name", METRICS)
def test_a_case_stays_only_if_it_raises_coverage_by_more_than_the_threshold(
    encoder: EncoderModel, metrics: dict[str, Coverage], name: str
) -> None:
    metric, thresholds = metrics[name], (0.0, 0.004, 0.02)
    found = minimize(encoder, CASES, metric, thresholds)
    assert [one.threshold for one in found] == list(thresholds)
    for one in found:
        assert one.kept == slow_greedy(encoder, metric, one.threshold)
        assert one.for_expansions <= one.kept
    # The same text again raises nothing; its seed stays only where its expansion does.
    assert ("c" in found[0].kept) == ("d" in found[0].kept) == ("c" in found[0].for_expansions)
    assert metric.value == 0


def test_reductions_count_cases_and_failures() -> None:
    failed = np.array([True, False, False, True, True, True, False])
    reduced = [
        Reduced(0.0, frozenset("abde"), frozenset()),
        Reduced(0.1, frozenset("ae"), frozenset()),
    ]
    table = reductions(CASES, failed, reduced)
    assert table["LC9"] == Reduction(4, (3, 1), 0.5, 0.5, pytest.approx(5 / 6), 1.0)
    assert table["LC2"] == Reduction(3, (1, 1), pytest.approx(2 / 3), 2 / 3, 1.0, 1.0)
    whole = table["all"]
    assert (whole.cases, whole.kept) == (7, (4, 2))
    for figure in ("before", "mean_after", "max_after", "smaller"):
        rows = [getattr(table[name], figure) for name in ("LC9", "LC2")]
        assert getattr(whole, figure) == pytest.approx(sum(rows) / 2)
    nothing = reductions(CASES, failed, [Reduced(1.0, frozenset(), frozenset())])
    assert nothing["LC9"].mean_after is nothing["all"].max_after is None


def test_curves_are_drawn_the_same_each_time(
    encoder: EncoderModel, metrics: dict[str, Coverage], tmp_path: Path
) -> None:
    measured = [
        measure(name, texts, encoder, metrics, shuffles=2, points=3)
        for name, texts in (("<b>", TEXTS), ("few", TEXTS[:1]))
    ]
    report = CoverageReport("tiny", encoder.fingerprint, "films", measured)
    for name in ("a.svg", "a.png", "b.png"):
        write_curves(report, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert "&lt;b&gt;" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def checklist(tmp_path: Path) -> Path:
    cases = [
        ("Q & A: yes", "Is it dull? Yes", ["negative"]),
        ("Q & A: yes", "Is it dull? Yes", ["negative"]),
        ("Q & A: yes", "Is it lovely? Yes", ["positive"]),
        ("simple negations", "It isn't bad at all, and I like it.", ["positive", "neutral"]),
    ]
    about = {"capability": "Negation", "type": "MFT"}
    rows = [
        {"test": test, **about, "case": number, "texts": [text], "expected": expected}
        for number, (test, text, expected) in enumerate(cases)
    ]
    return write_lines(tmp_path / "mft.jsonl.gz", rows)


def test_checklists_lines_are_a_suite(checklist: Path) -> None:
    suite = load_test_suite(str(checklist))
    assert [(case.text, case.passes, case.capability) for case in suite.cases] == [
        ("Is it dull? Yes", {0}, "Q & A: yes"),
        ("Is it lovely? Yes", {2}, "Q & A: yes"),
        ("It isn't bad at all, and I like it.", {1, 2}, "simple negations"),
    ]
    assert list(named_suites([f"CheckList={checklist}", str(checklist)])) == ["CheckList", "mft"]
    with pytest.raises(AnalysisError, match="mft"):
        named_suites([str(checklist), str(checklist)])


@pytest.mark.parametrize(
    "row",
    [
        {"test": "paraphrase", "capability": "", "texts": ["a", "b"], "expected": ["duplicate"]},
        {"test": "topic", "capability": "", "texts": ["a"], "expected": ["sports"]},
        {"text": "a", "text_pair": ""},
        {"text": "a", "text_pair": "b", "expected": "positive"},
    ],
)
def test_suites_that_cannot_be_measured_are_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "other.jsonl", [row])
    with pytest.raises(AnalysisError, match=r"other\.jsonl"):
        load_test_suite(str(path))


def test_pairs_of_texts_are_covered_as_pairs(
    model_folder: Path, encoder: EncoderModel, tmp_path: Path
) -> None:
    texts = [("A dull film.", "A gray film."), ("It is lovely.", "It is fine."), ("A.", "B.")]
    rows = [{"text": one, "text_pair": two} for one, two in (*texts, texts[0])]
    suite = load_test_suite(str(write_lines(tmp_path / "pairs.jsonl", rows)))
    assert [given(case) for case in suite.cases] == texts
    train = [{"text": text, "text_pair": "Awful."} for text in REFERENCE]
    spec = f"pairs:{write_lines(tmp_path / 'train.jsonl', train)}"
    reference, held_out = reference_and_held_out(spec, None, 0)
    assert not held_out.cases
    metric = build_metrics(["cover"], encoder, reference)["cover"]
    together_ = metric.emptied().cover(encoder, texts).value
    assert 0 < together_ != metric.emptied().cover(encoder, sum(texts, ())).value


def test_a_corpus_is_parted_into_reference_and_tests(tmp_path: Path) -> None:
    rows = [f"A film about the number {number}.,{number % 2}" for number in range(20)]
    path = tmp_path / "numbered.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")  # labels of no meaning
    reference, held_out = reference_and_held_out(f"csv:{path}", None, 0)
    tests = [case.text for case in held_out.cases]
    assert (len(reference), len(tests)) == (16, 4)
    assert not set(reference) & set(tests)
    few, same = reference_and_held_out(f"csv:{path}", 7, 0)
    assert len(few) == 7
    assert same == held_out
    path.write_text("text,label\nA dull film.,negative\n", encoding="utf-8")
    with pytest.raises(AnalysisError, match="csv:"):
        reference_and_held_out(f"csv:{path}", None, 0)


def test_a_reduced_suite_is_a_suite(suite_folder: Path, tmp_path: Path) -> None:
    cases = load_cases(suite_folder).cases
    expansion = next(case for case in cases if case.kind == "expansion")
    kept = frozenset({expansion.id, expansion.seed_id, cases[0].id, cases[0].seed_id})
    out = tmp_path / "small"
    write_reduced(suite_folder, Reduced(0.1, kept, frozenset()), out, {"by": "COVER"})
    assert verify_suite(out) == []
    assert {case.id for case in load_cases(out).cases} == kept
    described = json.loads((out / "suite.json").read_text())
    assert described["reduced_from"]["threshold"] == 0.1
    original = json.loads((suite_folder / "suite.json").read_text())
    assert described["reduced_from"]["fingerprint"] == original["fingerprint"]
    with pytest.raises(OutputError, match=re.escape(str(suite_folder))):
        write_reduced(suite_folder, Reduced(0.1, kept, frozenset()), suite_folder, {})
    with pytest.raises(AnalysisError, match=r"0\.9"):
        write_reduced(suite_folder, Reduced(0.9, frozenset(), frozenset()), tmp_path / "none", {})


def test_coverage_from_the_command_line(
    model_folder: Path,
    suite_folder: Path,
    corpus_path: Path,
    checklist: Path,
    masks: Masks,
    tmp_path: Path,
) -> None:
    masks.save(tmp_path / "masks.safetensors")
    arguments = [
        *("coverage", f"films={suite_folder}", str(checklist), "--model", str(model_folder)),
        *("--reference", f"csv:{corpus_path}", "--metric", "boundary,cover,mncover"),
        *("--masks", str(tmp_path / "masks.safetensors")),
        *("--curve", str(tmp_path / "curve.svg")),
    ]
    first = runner.invoke(app, arguments)
    assert first.exit_code == 0, first.output
    for expected in ("films", "mft", "random sentences", "BoundCov", "MNCOVER"):
        assert expected in first.output
    curve = (tmp_path / "curve.svg").read_bytes()
    again = runner.invoke(app, arguments)
    assert again.stdout == first.stdout
    assert (tmp_path / "curve.svg").read_bytes() == curve


def test_minimize_from_the_command_line(
    model_folder: Path, suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    arguments = [
        *("minimize", str(suite_folder), "--model", str(model_folder)),
        *("--reference", f"csv:{corpus_path}", "--by", "cover", "--convention", "reached"),
        *("--threshold", "0", "--threshold", "0.01", "--threshold", "0.9"),
        *("--out", str(tmp_path / "small")),
    ]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "Threshold 0.9" in done.output
    assert not (tmp_path / "small" / "threshold-0.9").exists()
    sizes = []
    for name in ("threshold-0", "threshold-0.01"):
        folder = tmp_path / "small" / name
        assert verify_suite(folder) == []
        cases = load_cases(folder).cases
        sizes.append(len(cases))
        seeds = {case.id for case in cases if case.kind == "seed"}
        assert {case.seed_id for case in cases} == seeds
    assert len(load_cases(suite_folder).cases) >= sizes[0] > sizes[1] > 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--metric", "speed"], "--metric speed"),
        (["--metric", "mncover"], "masks"),
        (["--metric", "mncover", "--masks", "nowhere.safetensors"], "--masks"),
        (["--metric", "mncover", "--masks", "OTHER"], "other.safetensors"),
        (["--curve", "curve.gif"], "--curve"),
        (["--curve", "curve.png"], "leave out --curve"),
        (["--cases", "0"], "--cases"),
    ],
)
def test_wrong_options_are_refused(
    model_folder: Path,
    corpus_path: Path,
    checklist: Path,
    masks: Masks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    problem: str,
) -> None:
    other = tmp_path / "other.safetensors"
    Masks(masks.vocabulary, masks.words, masks.pairs, {"weights_sha256": "0"}).save(other)
    if "leave out" in problem:
        monkeypatch.setattr("os.sysconf", lambda name: 100)
    done = runner.invoke(
        app,
        [
            *("coverage", str(checklist), "--model", str(model_folder)),
            *("--reference", f"csv:{corpus_path}"),
            *(str(other) if argument == "OTHER" else argument for argument in arguments),
        ],
    )
    assert done.exit_code in (1, 2), done.output
    assert problem in done.output.replace("\n", "")
