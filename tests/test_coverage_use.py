"""Curves, tables and smaller suites: what coverage is used for, and its command line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_fixtures import LEGIBLE, SHOWN_SIZES
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.commands.coverage import thresholds_of
from s2lct.analysis.coverage.criteria import (
    BoundaryCoverage,
    Coverage,
    parse_layers,
    set_ranges,
)
from s2lct.analysis.coverage.curves import measure, together
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.coverage.metrics import METRICS, build_metrics
from s2lct.analysis.coverage.minimize import Reduced, Reduction, minimize, overall, reductions
from s2lct.analysis.coverage.report import (
    CoverageReport,
    conclusion,
    coverage_page,
    percent,
    sentences,
    write_curves,
)
from s2lct.analysis.coverage.suites import (
    drawn,
    load_test_suite,
    named_suites,
    reference_and_held_out,
    write_reduced,
)
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.suite.cases import Case, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner()
CHROMIUM = Path("/usr/bin/chromium")
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


@pytest.fixture(autouse=True)
def wide_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are not cut, wherever the tests run."""
    monkeypatch.setattr("s2lct.cli.main.console._width", 200)


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


def test_bounds_are_kept_and_read_again(
    encoder: EncoderModel, masks: Masks, metrics: dict[str, Coverage], tmp_path: Path
) -> None:
    for _ in range(2):
        kept = build_metrics(METRICS, encoder, REFERENCE, masks=masks, cache=tmp_path / "bounds")
        assert {name: one.identity() for name, one in kept.items()} == {
            name: one.identity() for name, one in metrics.items()
        }
    assert len(list((tmp_path / "bounds").iterdir())) == 2
    other = build_metrics(["boundary"], encoder, REFERENCE[:3], cache=tmp_path / "bounds")
    assert other["boundary"].identity() != metrics["boundary"].identity()


def test_a_curve_is_the_mean_over_shuffles_of_growing_prefixes(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    texts = [case.text for case in CASES]
    measured = measure("mine", texts, encoder, metrics, shuffles=3, points=4, seed=5)
    rng = np.random.default_rng(5)
    ranks = [rng.permutation(len(texts)) for _ in range(3)]
    for metric in metrics.values():
        for figure in metric.values:
            curve = measured.curves[figure]
            assert curve.sizes == (2, 4, 6, 7)
            rows = []
            for rank in ranks:
                order = np.argsort(rank)
                prefixes = [[texts[n] for n in order[:size]] for size in curve.sizes]
                rows.append([metric.emptied().cover(encoder, p).values[figure] for p in prefixes])
            assert curve.mean == pytest.approx(np.mean(rows, axis=0))
            assert curve.low == pytest.approx(np.quantile(rows, 0.025, axis=0))
            assert curve.high == pytest.approx(np.quantile(rows, 0.975, axis=0))
            assert curve.mean[-1] == pytest.approx(measured.values[figure])
            assert list(curve.mean) == sorted(curve.mean)
        assert metric.value == 0


def test_suites_together_cover_what_their_union_covers(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    parts = {"first": CASES[:3], "second": CASES[3:5], "third": CASES[5:]}
    rows = together(
        [
            measure(name, [case.text for case in cases], encoder, metrics, shuffles=0)
            for name, cases in parts.items()
        ]
    )
    assert [row.suite for row in rows] == [
        "first",
        "second",
        "third",
        "first + second",
        "first + third",
        "second + third",
        "first + second + third",
    ]
    whole = measure("all", [case.text for case in CASES], encoder, metrics, shuffles=0)
    assert rows[-1].values == whole.values
    assert rows[-1].cases == len(CASES)
    assert rows[0].values != whole.values


def test_seeds_and_expansions_are_told_apart(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    texts, kinds = [case.text for case in CASES], [case.kind for case in CASES]
    measured = measure("mine", texts, encoder, metrics, shuffles=0, kinds=kinds)
    assert [part.suite for part in measured.parts] == ["mine, seeds", "mine, expansions"]
    for kind, part in zip(("seed", "expansion"), measured.parts, strict=True):
        own = [case.text for case in CASES if case.kind == kind]
        assert part.cases == len(own)
        assert part.values == measure("own", own, encoder, metrics, shuffles=0).values
    other = measure("other", texts[:2], encoder, metrics, shuffles=0, kinds=["seed", "seed"])
    assert not other.parts
    rows = [row.suite for row in together([measured, other])]
    assert rows == ["mine", "mine, seeds", "mine, expansions", "other", "mine + other"]


def test_the_page_says_first_what_covers_most(
    encoder: EncoderModel, metrics: dict[str, Coverage]
) -> None:
    report = page_of("mine", encoder, metrics)
    count = len(report.figures)
    expected = f"Most of tiny is covered by mine, by {count} of {count} figures."
    assert conclusion(report) == expected
    lines = sentences(report)
    assert len(lines) == count
    for figure, line in zip(report.figures, lines, strict=True):
        for one in report.measured:
            assert f"{one.suite} {percent(one.values[figure])} %" in line


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


@pytest.mark.parametrize("name", ["boundary", "cover", "mncover"])
def test_a_case_stays_only_if_it_raises_coverage_by_more_than_the_threshold(
    encoder: EncoderModel, metrics: dict[str, Coverage], name: str
) -> None:
    metric = metrics[name]
    thresholds = (0.0, 0.004, 0.02)
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
    assert table["LC9"] == Reduction(4, (3, 1), 0.5, (2 / 3, 1.0))
    assert table["LC2"] == Reduction(3, (1, 1), 2 / 3, (1.0, 1.0))
    assert table["LC9"].mean_reduction == 0.5
    assert table["LC9"].max_after == 1.0
    whole = overall(table)
    assert (whole.cases, whole.kept) == (7, (4, 2))
    assert whole.before == pytest.approx((0.5 + 2 / 3) / 2)
    for figure in ("mean_after", "max_after", "mean_reduction"):
        rows = [getattr(row, figure) for row in table.values()]
        assert getattr(whole, figure) == pytest.approx(sum(rows) / 2)
    nothing = reductions(CASES, failed, [Reduced(1.0, frozenset(), frozenset())])
    assert nothing["LC9"].after == (None,)
    assert nothing["LC9"].mean_after is overall(nothing).max_after is None
    some = reductions(CASES, failed, [reduced[1], Reduced(1.0, frozenset(), frozenset())])
    assert some["LC9"].mean_after == some["LC9"].max_after == 1.0


@pytest.mark.parametrize("thresholds", ["", "-0.1", "0.0,-1e-9", "inf", "much"])
def test_thresholds_below_zero_are_refused(thresholds: str) -> None:
    with pytest.raises(AnalysisError, match="--threshold"):
        thresholds_of(thresholds)


def page_of(name: str, encoder: EncoderModel, metrics: dict[str, Coverage]) -> CoverageReport:
    measured = (
        measure(name, [case.text for case in CASES], encoder, metrics, shuffles=2, points=3),
        measure("few", [CASES[0].text], encoder, metrics, shuffles=2, points=3),
    )
    return CoverageReport("tiny", encoder.fingerprint, "films", 2, measured, ("a note",))


def test_the_page_shows_every_figure_and_escapes_names(
    encoder: EncoderModel, metrics: dict[str, Coverage], tmp_path: Path
) -> None:
    report = page_of("<script>alert(1)</script>", encoder, metrics)
    page = coverage_page(report)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<figure>") == 6
    # What was changed in order to look into the model is told on the terminal.
    assert "a note" not in page
    places = [page.index(one) for one in ('class="lead"', "<li>", "<figure>", "<table>")]
    assert places == sorted(places)
    assert page.count("<polyline") == 12
    assert "http" not in page
    for path in (tmp_path / "a.html", tmp_path / "a.png", tmp_path / "b.png"):
        write_curves(report, path)
    assert (tmp_path / "a.html").read_text() == page
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")
def test_the_plots_stay_within_their_frames(
    encoder: EncoderModel, metrics: dict[str, Coverage], tmp_path: Path
) -> None:
    from playwright.sync_api import sync_playwright

    path = tmp_path / "page.html"
    write_curves(page_of("mine", encoder, metrics), path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(path.as_uri())
        outside = page.evaluate(
            """() => [...document.querySelectorAll(
                "figure svg :is(text, line, polyline, polygon)")].filter(part => {
                const own = part.getBoundingClientRect();
                const frame = part.ownerSVGElement.getBoundingClientRect();
                return own.left < frame.left - 1 || own.right > frame.right + 1 ||
                    own.top < frame.top - 8 || own.bottom > frame.bottom + 8;
            }).map(part => part.outerHTML)"""
        )
        wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        sizes = page.evaluate(SHOWN_SIZES)
        browser.close()
    assert min(sizes) >= LEGIBLE
    assert outside == []
    assert not wide


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def checklist_rows() -> list[dict[str, Any]]:
    return [
        {
            "test": test,
            "capability": "Negation",
            "type": "MFT",
            "case": number,
            "texts": [text],
            "expected": expected,
        }
        for number, (test, text, expected) in enumerate(
            [
                ("Q & A: yes", "Is it dull? Yes", ["negative"]),
                ("Q & A: yes", "Is it dull? Yes", ["negative"]),
                ("Q & A: yes", "Is it lovely? Yes", ["positive"]),
                (
                    "simple negations",
                    "It isn't bad at all, and I like it.",
                    ["positive", "neutral"],
                ),
            ]
        )
    ]


def test_checklists_lines_are_a_suite(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "mft.jsonl.gz", checklist_rows())
    suite = load_test_suite(str(path))
    assert [case.text for case in suite.cases] == [
        "Is it dull? Yes",
        "Is it lovely? Yes",
        "It isn't bad at all, and I like it.",
    ]
    assert suite.cases[2].passes == {1, 2}
    assert suite.cases[0].capability == "Q & A: yes"
    assert list(named_suites([f"CheckList={path}", str(path)])) == ["CheckList", "mft"]
    with pytest.raises(AnalysisError, match="called 'mft' too"):
        named_suites([str(path), str(path)])


@pytest.mark.parametrize(
    "row",
    [
        {"test": "paraphrase", "capability": "", "texts": ["a", "b"], "expected": ["duplicate"]},
        {"test": "topic", "capability": "", "texts": ["a"], "expected": ["sports"]},
    ],
)
def test_a_suite_of_another_task_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "other.jsonl", [row])
    with pytest.raises(AnalysisError, match="another task"):
        load_test_suite(str(path))


def test_drawn_cases_are_distinct_and_the_same_each_time() -> None:
    assert [case.id for case in drawn(CASES, None, 0)] == ["c", "b", "d", "e", "f", "g"]
    few = drawn(CASES, 3, 1)
    assert len({case.text for case in few}) == 3
    assert few == drawn(CASES, 3, 1)
    assert any(drawn(CASES, 3, seed) != few for seed in range(2, 6))


def test_a_corpus_is_parted_into_reference_and_tests(corpus_path: Path, tmp_path: Path) -> None:
    reference, held_out = reference_and_held_out(f"csv:{corpus_path}", None, 0)
    tests = [case.text for case in held_out.cases]
    assert len(tests) == (len(reference) + len(tests)) // 5
    assert not set(reference) & set(tests)
    few, same = reference_and_held_out(f"csv:{corpus_path}", 7, 0)
    assert len(few) == 7
    assert same == held_out
    one = tmp_path / "one.csv"
    one.write_text("text,label\nA dull film.,negative\n", encoding="utf-8")
    with pytest.raises(AnalysisError, match="one sentence"):
        reference_and_held_out(f"csv:{one}", None, 0)


def test_labels_of_a_reference_need_no_map(tmp_path: Path) -> None:
    rows = [f"A film about the number {number}.,{number % 2}" for number in range(20)]
    path = tmp_path / "numbered.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    reference, held_out = reference_and_held_out(f"csv:{path}", None, 0)
    assert len(reference) + len(held_out.cases) == 20


def test_a_reduced_suite_is_a_suite(suite_folder: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    cases = load_cases(suite_folder).cases
    expansion = next(case for case in cases if case.kind == "expansion")
    kept = frozenset({expansion.id, expansion.seed_id, cases[0].id, cases[0].seed_id})
    out = tmp_path / "small"
    for _ in range(2):
        write_reduced(str(suite_folder), Reduced(0.1, kept, frozenset()), out, {"by": "COVER"})
    assert verify_suite(out) == []
    assert {case.id for case in load_cases(out).cases} == kept
    rows = load_dataset(str(out), "all", split="test", cache_dir=str(tmp_path / "cache"))
    assert {row["id"] for row in rows} == kept
    described = json.loads((out / "suite.json").read_text())
    assert described["reduced_from"]["threshold"] == 0.1
    original = json.loads((suite_folder / "suite.json").read_text())
    assert described["reduced_from"]["fingerprint"] == original["fingerprint"]
    with pytest.raises(AnalysisError, match="something else"):
        write_reduced(str(suite_folder), Reduced(0.1, kept, frozenset()), suite_folder, {})
    nothing = Reduced(0.9, frozenset(), frozenset())
    with pytest.raises(AnalysisError, match="no case stays"):
        write_reduced(str(suite_folder), nothing, tmp_path / "none", {})


def test_coverage_from_the_command_line(
    model_folder: Path, suite_folder: Path, corpus_path: Path, masks: Masks, tmp_path: Path
) -> None:
    checklist = write_lines(tmp_path / "mft.jsonl", checklist_rows())
    masks.save(tmp_path / "masks.safetensors")
    arguments = [
        "coverage",
        f"films={suite_folder}",
        str(checklist),
        *("--model", str(model_folder), "--reference", f"csv:{corpus_path}"),
        *("--metric", "boundary,cover,mncover,neurons,top"),
        *("--masks", str(tmp_path / "masks.safetensors"), "--shuffles", "2"),
        *("--curve", str(tmp_path / "curve.html"), "--save", str(tmp_path / "states")),
    ]
    first = runner.invoke(app, arguments)
    assert first.exit_code == 0, first.output
    for expected in (
        "films",
        "mft",
        "random sentences",
        "BoundCov",
        "MNCOVER",
        "switched to eager",
    ):
        assert expected in first.output
    page = (tmp_path / "curve.html").read_text()
    state = (tmp_path / "states" / "films-cover.safetensors").read_bytes()
    again = runner.invoke(app, arguments)
    assert again.exit_code == 0
    assert (tmp_path / "curve.html").read_text() == page
    assert (tmp_path / "states" / "films-cover.safetensors").read_bytes() == state
    loaded = Coverage.load(tmp_path / "states" / "films-cover.safetensors")
    assert loaded.texts == 3
    assert f"{100 * loaded.value:.2f}" in again.output


def test_minimize_from_the_command_line(
    model_folder: Path, suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    arguments = [
        "minimize",
        str(suite_folder),
        *("--model", str(model_folder), "--reference", f"csv:{corpus_path}"),
        *("--by", "cover", "--threshold", "0,0.01,0.9", "--out", str(tmp_path / "small")),
        *("--convention", "reached"),
    ]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "smaller, %" in done.output
    assert "Threshold 0.9: no case stays" in done.output
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
    scored = runner.invoke(
        app,
        [
            *("score", str(model_folder), "--suite", str(tmp_path / "small" / "threshold-0.01")),
            *("--out", str(tmp_path / "results")),
        ],
    )
    assert scored.exit_code == 0, scored.output


def test_checklists_suite_is_reduced_to_its_own_format(
    model_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    checklist = write_lines(tmp_path / "mft.jsonl.gz", checklist_rows())
    arguments = [
        "minimize",
        str(checklist),
        *("--model", str(model_folder), "--reference", f"csv:{corpus_path}"),
        *("--by", "cover", "--out", str(tmp_path / "small")),
    ]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    kept = load_test_suite(str(tmp_path / "small.jsonl")).cases
    assert {case.id for case in kept} <= {case.id for case in load_test_suite(str(checklist)).cases}
    assert {case.capability for case in kept} == {"Q & A: yes", "simple negations"}


def test_pairs_of_texts_are_covered_and_reduced(
    model_folder: Path, encoder: EncoderModel, tmp_path: Path
) -> None:
    texts = [("A dull film.", "A gray film."), ("It is lovely.", "It is fine."), ("A.", "B.")]
    rows = [
        {"test": "para", "text": one, "text_pair": two, "expected": [encoder.classes[0]]}
        for one, two in (*texts, texts[0])
    ]
    pairs = write_lines(tmp_path / "pairs.jsonl", rows)
    train = write_lines(
        tmp_path / "train.jsonl", [{"text": text, "text_pair": "Awful."} for text in REFERENCE]
    )
    common = ("--model", str(model_folder), "--reference", f"pairs:{train}")
    done = runner.invoke(app, ["coverage", str(pairs), *common, "--save", str(tmp_path / "s")])
    assert done.exit_code == 0, done.output
    state = Coverage.load(tmp_path / "s" / "pairs-cover.safetensors")
    assert state.texts == 3  # the fourth is the first again
    assert state.value == state.emptied().cover(encoder, texts).value > 0
    apart = [text for pair in texts for text in pair]
    assert state.value != state.emptied().cover(encoder, apart).value
    arguments = ["minimize", str(pairs), *common, "--by", "cover", "--out", str(tmp_path / "few")]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    kept = load_test_suite(str(tmp_path / "few.jsonl")).cases
    assert {case.id for case in kept} <= {case.id for case in load_test_suite(str(pairs)).cases}
    unknown = write_lines(tmp_path / "pairs.jsonl", [{**rows[0], "expected": ["purple"]}])
    done = runner.invoke(app, ["minimize", str(unknown), *common, "--out", str(tmp_path / "no")])
    assert done.exit_code == 1
    assert "expects purple" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--metric", "speed"], "metric speed"),
        (["--metric", "mncover"], "needs masks"),
        (["--metric", "mncover", "--masks", "nowhere.safetensors"], "does not exist"),
        (["--curve", "curve.gif"], "name a file .html or .png"),
        (["--layers", "9"], "no such layer"),
        (["--metric", "cover", "--layers", "embeddings"], "no attention neurons"),
        (["--neurons", "words", "--metric", "cover"], "--convention reached"),
        (["--neurons", "words", "--metric", "cover", "--convention", "reached"], "GB"),
    ],
)
def test_wrong_options_are_told_in_one_line(
    model_folder: Path,
    corpus_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    checklist = write_lines(tmp_path / "mft.jsonl", checklist_rows())
    monkeypatch.setattr("s2lct.analysis.arrays.machine_memory", lambda: 100_000)
    done = runner.invoke(
        app,
        [
            *("coverage", str(checklist), "--model", str(model_folder)),
            *("--reference", f"csv:{corpus_path}", *arguments),
        ],
    )
    assert done.exit_code in (1, 2), done.output
    assert told in done.output
    assert "Traceback" not in done.output


def test_masks_of_another_model_are_refused(
    model_folder: Path, corpus_path: Path, masks: Masks, tmp_path: Path
) -> None:
    Masks(masks.vocabulary, masks.words, masks.pairs, {"weights_sha256": "0"}).save(
        tmp_path / "masks.safetensors"
    )
    done = runner.invoke(
        app,
        [
            *("coverage", str(write_lines(tmp_path / "mft.jsonl", checklist_rows()))),
            *("--model", str(model_folder), "--reference", f"csv:{corpus_path}"),
            *("--metric", "mncover", "--masks", str(tmp_path / "masks.safetensors")),
        ],
    )
    assert done.exit_code == 1
    assert "another model" in done.output


def test_help_needs_no_torch() -> None:
    code = (
        "import sys; from s2lct.cli.main import app; from typer.testing import CliRunner; "
        "CliRunner().invoke(app, ['coverage', '--help']); "
        "sys.exit(bool({'torch', 'matplotlib', 'datasets'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_boundary_coverage_by_hand(encoder: EncoderModel) -> None:
    """The README's few lines."""
    settings = {"layers": parse_layers("encoder", encoder), "tokens": "all"}
    coverage = BoundaryCoverage.unset(encoder.fingerprint, settings, 12 * encoder.layers)
    set_ranges(encoder, REFERENCE, coverage)
    assert coverage.cover(encoder, REFERENCE).value == 0
    assert coverage.cover(encoder, [case.text for case in CASES]).value > 0
