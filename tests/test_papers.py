"""The scripts of papers/, each in a small run, and their figures against second, naive ones."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import common
import mncover_figure4
import mncover_table1
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier

import s2lct
from s2lct.analysis.coverage.criteria import Criterion, build_criteria
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.measure import cover_texts
from s2lct.analysis.coverage.wimask import Masks, vocabulary_of
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_suite

pytestmark = pytest.mark.usefixtures("own_cache")
PAPERS = Path(__file__).parents[1] / "papers"
THINGS = ("film", "plot", "song", "cast", "joke", "scene", "score", "script")
CHECKLIST = [
    (test, f"{start} {thing}{end}", expected)
    for thing in THINGS
    for test, start, end, expected in (
        ("neutral words in context", "We saw this", ".", ["neutral"]),
        ("Sentiment-laden words in context", "I like that", ".", ["positive"]),
        ("Sentiment-laden words in context", "I dislike that", ".", ["negative"]),
        ("simple negations: not negative", "This is no bad", ".", ["positive", "neutral"]),
        ("used to, but now", "I used to hate this", ", but now I like it.", ["positive"]),
        ("Q & A: no", "Do I think it is a dull", "? No", ["positive", "neutral"]),
        ("Q & A: no", "Do I think it is a fine", "? No", ["negative"]),
        ("a test of nobody's", "Nobody asks of the", ".", ["neutral"]),
    )
]
TEST_OF = {
    "LC1": "neutral words in context",
    "LC2": "Sentiment-laden words in context",
    "LC3": "used to, but now",
    "LC4": "simple negations: not negative",
}
TRAIN = [
    "A dull film.",
    "The director tells a beautiful story with great warmth.",
    "Charming, happy and beautiful.",
    "The music is lovely, the plot is not.",
    "I used to dislike it, but now I like it.",
    "A film about two brothers at the coast.",
]
TEXTS = ["The film isn't dull.", "A happy film.", "The music is awful.", "A happy film.", "Dull."]
NEGATION = ["The film isn't dull.", "The music is awful.", "The film isn't dull.", "A happy film."]
TYPOS = ["The plot is dull.", "The plot is gray and long.", "A lovely film."]
Row = dict[str, Any]


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def checklist_file(path: Path, cases: Sequence[tuple[str, str, list[str]]]) -> Path:
    return write_rows(
        path,
        [
            {"test": test, "capability": "Made up", "texts": [text], "expected": expected}
            for test, text, expected in cases
        ],
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def checklist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checklist_file(tmp_path_factory.mktemp("checklist") / "cases.jsonl", CHECKLIST)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a script on its command line; the rows of its table, with numbers read."""

    def run_script(name: str, *arguments: object, status: int = 0) -> Any:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(PAPERS / f"{name}.py"), run_name="__main__")
        printed = capsys.readouterr()
        assert ended.value.code == status, printed.err
        if status:
            return printed.err
        lines = [line for line in printed.out.splitlines() if line.startswith("| ")]
        columns, alignment, *rows = ([*map(str.strip, line.split("|"))][1:-1] for line in lines)
        assert printed.out.startswith("**") and {*alignment} <= {"---", "--:"}
        return [dict(zip(columns, map(number_of, cells), strict=True)) for cells in rows]

    return run_script


def number_of(cell: str) -> Any:
    try:
        return float(cell.replace(",", "")) if cell else None
    except ValueError:
        return cell


def test_table_3_counts_what_models_fail_beside_the_papers_figures(
    suite_folder: Path, checklist: Path, model: Path, run: Any
) -> None:
    rows = run("s2lct_table3", "--model", model, "--suite", suite_folder, "--checklist", checklist)
    cases = load_suite(suite_folder).cases
    encoder = load_encoder(str(model))
    texts = list(dict.fromkeys([case.text for case in cases] + [text for _, text, _ in CHECKLIST]))
    logits = [computed.logits for computed in encoder.activations(texts)]
    labels = {text: int(row.argmax()) for text, row in zip(texts, logits, strict=True)}
    own = [row for row in rows if row["model"] == str(model)]
    assert {row["capability"] for row in own} == {case.capability for case in cases} | {"all"}
    for row in own:
        name = row["capability"]
        chosen = [case for case in cases if name in (case.capability, "all")]
        fails = {case.id: labels[case.text] not in case.passes for case in chosen}
        of_kind = {
            kind: [fails[case.id] for case in chosen if case.kind == kind]
            for kind in ("seed", "expansion")
        }
        for kind, outcomes in of_kind.items():
            assert row[f"{kind}s"] == len(outcomes)
            if outcomes:
                assert row[f"{kind}s fail %"] == pytest.approx(100 * fmean(outcomes), abs=0.06)
        turned = [(fails[c.id], fails[c.seed_id]) for c in chosen if c.kind == "expansion"]
        assert row["pass-to-fail"] == turned.count((True, False))
        assert row["fail-to-pass"] == turned.count((False, True))
        if name in TEST_OF:
            beside = [
                LABELS[labels[text]] not in expected
                for test, text, expected in CHECKLIST
                if test == TEST_OF[name]
            ]
            assert row["CheckList cases"] == len(beside)
            assert row["CheckList fails %"] == pytest.approx(100 * fmean(beside), abs=0.06)
        if name in ("LC5", "LC6", "LC7", "LC8", "LC9"):
            assert row["CheckList cases"] is None  # the file has no such test
        # What turns a fact around in the same test belongs to another capability.
        assert name not in ("LC10", "LC11") or row["CheckList cases"] == 8
    printed = {(row["capability"], row["model"]): row for row in rows}
    assert printed["LC9", "paper: BERT"]["pass-to-fail"] == 43
    assert printed["LC8", "paper: RoBERTa"]["expansions fail %"] == 31.2
    assert printed["LC3", "paper: DistilBERT"]["expansions"] is None
    sums = printed["all", "paper: BERT"]
    assert (sums["seeds"], sums["expansions"], sums["pass-to-fail"]) == (495, 12_592, 391)


@given(st.data())
def test_a_limit_takes_whole_families_and_no_expansion_without_its_seed(data: Any) -> None:
    cases = [
        Case(f"{name}{seed}-{place}", name, "expansion" if place else "seed", f"{name}{seed}-0",
             f"{name} {seed} {place}", frozenset({0}))
        for name in ("LC1", "LC2")
        for seed in range(data.draw(st.integers(1, 5)))
        for place in range(data.draw(st.integers(1, 5)))
    ]  # fmt: skip
    suite = SuiteCases("s", "", "", tuple(data.draw(st.permutations(cases))))
    limit = data.draw(st.integers(2, 12))
    kept = common.random_families(suite, limit, data.draw(st.integers(0, 3))).cases
    ids = {case.id for case in kept}
    assert [case.id for case in suite.cases if case.id in ids] == [case.id for case in kept]
    for name in ("LC1", "LC2"):
        own = [case for case in kept if case.capability == name]
        assert len(own) == min(limit, sum(case.capability == name for case in cases))
        assert all(case.seed_id in ids for case in own)
        left_out = [case for case in cases if case.capability == name and case.id not in ids]
        assert len({case.seed_id for case in left_out if case.seed_id in ids}) <= 1


def test_table_2_averages_annotators_before_it_labels(
    suite_folder: Path, tmp_path: Path, run: Any
) -> None:
    key = s2lct.export_study(suite=str(suite_folder), out=tmp_path, sets=1, seeds=3)[-1]
    items = json.loads(key.read_text(encoding="utf-8"))["items"]
    # The means are 3.5 (positive), 3 (neutral), 2.5 (negative) in turn.
    ratings = {item: (3 + (n % 3 < 1), 3 - (n % 3 > 1)) for n, item in enumerate(items)}
    for annotator in (0, 1):
        lines = [f"{item},{4 + annotator},{given[annotator]}\n" for item, given in ratings.items()]
        (tmp_path / f"annotator-{annotator}.csv").write_text(
            "id,relevance,sentiment\n" + "".join(lines), encoding="utf-8"
        )
    files = [tmp_path / f"annotator-{annotator}.csv" for annotator in (0, 1)]
    rows = {row["test cases"]: row for row in run("s2lct_table2", *files, "--key", key)}
    labels = ("positive", "neutral", "negative")
    differ = {
        item: LABELS.index(labels[number % 3]) not in items[item]["passes"]
        for number, item in enumerate(items)
    }
    for group, kind in (("seeds", "seed"), ("expansions", "expansion"), ("all", "")):
        of = [differ[item] for item in items if items[item]["kind"].startswith(kind)]
        assert rows[group]["cases"] == len(of)
        assert rows[group]["labels that differ"] == sum(of)
        assert rows[group]["label consistency"] == pytest.approx(1 - fmean(of), abs=0.006)
        assert rows[group]["relevancy"] == pytest.approx((4.5 - 1) / 4, abs=0.006)


def test_diversity_sets_as_many_cases_beside_each_other(
    suite_folder: Path, checklist: Path, corpus_path: Path, run: Any
) -> None:
    arguments = ("--suite", suite_folder, "--checklist", checklist)
    rows = run("s2lct_diversity", *arguments, "--reference", f"csv:{corpus_path}")
    groups = {(row["group"], row["source"]): row for row in rows}
    cases = load_suite(suite_folder).cases
    for group in ("all", "seeds", "LC2"):
        of = [case for case in cases if group in ("all", f"{case.kind}s", case.capability)]
        assert groups[group, "suite"]["cases"] == len(of)
        for source in ("CheckList", "corpus"):
            assert 0 < groups[group, source]["cases"] <= len(of)
            assert 0 < groups[group, source]["self-BLEU"] <= 100


def test_coverage_grows_with_the_cases(
    suite_folder: Path, checklist: Path, corpus_path: Path, model: Path, run: Any
) -> None:
    arguments = ("--model", model, "--suite", suite_folder, "--checklist", checklist)
    rows = run("s2lct_figure4", *arguments, "--reference", f"csv:{corpus_path}")
    for source in ("S²LCT", "CheckList", "random sentences"):
        curve = [row for row in rows if row["cases of"] == source]
        values = [row["BoundCov %"] for row in curve]
        assert 0 < values[-1] <= 100
        assert values == sorted(values)
        assert curve[-1]["cases"] == rows[-1]["cases"]
        assert all(row["SActCov from"] <= row["SActCov %"] <= row["SActCov to"] for row in curve)


def test_retraining_is_tested_on_the_other_suite(
    suite_folder: Path, checklist: Path, model: Path, monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    whole = load_suite(suite_folder)
    monkeypatch.setattr(s2lct, "load_suite", lambda suite: whole.select(["LC2", "LC10"]))
    arguments = ("--suite", suite_folder, "--checklist", checklist, "--limit", 8)
    rows = run("s2lct_retraining", "--model", model, *arguments)
    own = {row["trained on"]: row for row in rows if row["model"] == str(model)}
    assert own and {*own} <= {"LC2", "LC10", "LC2*", "LC10*"}
    for name, row in own.items():
        assert {name, row["tested on"]} == {name.strip("*"), name.strip("*") + "*"}
        assert row["fail before"] + row["pass before"] == row["cases"] > 0
        assert row["fail after"] + row["pass after"] == row["cases"]
        turned = row["pass-to-fail"] - row["fail-to-pass"]
        assert row["fail before"] + turned == row["fail after"]
    assert sum(row["model"] == "paper: BERT" for row in rows) == 7


# MNCOVER


@pytest.fixture(scope="module")
def encoder(model: Path) -> EncoderModel:
    return load_encoder(str(model))


def random_masks(encoder: EncoderModel) -> Masks:
    pieces = vocabulary_of(encoder, TRAIN, 20)
    rng, size = np.random.default_rng(0), len(pieces) + 1
    return Masks(pieces, rng.random(size) < 0.6, rng.random((size, size)) < 0.5)


@pytest.fixture
def files(tmp_path: Path, encoder: EncoderModel) -> dict[str, Path]:
    rows = [f'"{text[:-1]} {n}.",positive,train' for text in TRAIN for n in range(4)]
    rows += [f'"{text[:-1]} in {part} {n}.",negative,{part}'
             for n, text in enumerate(TEXTS) for part in ("dev", "test")]  # fmt: skip
    corpus = tmp_path / "corpus.csv"
    corpus.write_text("\n".join(["text,label,split", *rows]), encoding="utf-8")
    cases = [("negation", text, ["positive"]) for text in NEGATION]
    cases += [("typos", text, ["neutral", "negative"]) for text in TYPOS]
    masks = tmp_path / "masks.safetensors"
    random_masks(encoder).save(masks)
    return {"mft": checklist_file(tmp_path / "mft.jsonl", cases), "masks": masks, "corpus": corpus}


def options_of(files: dict[str, Path], model: Path) -> list[object]:
    reference = ["--reference", f"csv:{files['corpus']}"]
    return ["--model", model, *reference, "--masks", files["masks"], "--device", "cpu"]


@pytest.mark.parametrize(
    ("script", "arguments", "column", "names"),
    [
        ("mncover_table1", ["--checklist", "mft"], "test", {"negation", "typos", "mean of rows"}),
        ("mncover_table3", ["mft"], "texts", {6.0, 12.0}),
        ("mncover_table4", ["--limit", 5], "paper", {90.22, 90.45, 90.41}),
        ("mncover_figure4", ["--limit", 5], "threshold", {0.0, 0.0001, 0.001, 0.01, 0.1}),
    ],
)
def test_a_table_of_mncover_is_printed(
    script: str,
    arguments: list[object],
    column: str,
    names: set[object],
    files: dict[str, Path],
    model: Path,
    run: Any,
) -> None:
    words = [*options_of(files, model), *(files.get(str(word), word) for word in arguments)]
    rows = run(script, *words)
    assert {row[column] for row in rows} == names
    assert run(script, *words) == rows


def test_table_5_sets_the_untrained_layer_beside(
    files: dict[str, Path], model: Path, run: Any
) -> None:
    arguments = ("--model", model, "--reference", f"csv:{files['corpus']}", "--limit", 6)
    row, paper = run("mncover_table5", *arguments)
    assert (row["held out"], paper["model"]) == (6, "paper")
    assert 0 <= row["fidelity"] <= row["untrained layer"] <= 1
    assert row["words kept"] <= row["words seen"]


def test_pairs_of_texts_make_table_6(model: Path, tmp_path: Path, run: Any) -> None:
    tests = [
        {"test": "symmetry", "text": one, "text_pair": other, "expected": ["positive"]}
        for one, other in (("A dull film.", "A gray film."), ("It is lovely.", "It is fine."))
    ]
    train = write_rows(
        tmp_path / "train.jsonl", [{"text": text, "text_pair": TRAIN[0]} for text in TRAIN]
    )
    arguments = ["--model", model, "--reference", f"pairs:{train}", "--checklist"]
    rows = run("mncover_table1", *arguments, write_rows(tmp_path / "tests.jsonl", tests))
    assert [(row["test"], row["n"]) for row in rows] == [("symmetry", 2), ("mean of rows", None)]
    unknown = write_rows(tmp_path / "unknown.jsonl", [{**tests[0], "expected": ["duplicate"]}])
    assert "duplicate" in run("mncover_table1", *arguments, unknown, status=1)


def value_of(encoder: EncoderModel, criterion: Criterion, texts: Sequence[Any]) -> float:
    return cover_texts({"one": criterion}, encoder, texts)["one"].value


@pytest.mark.parametrize("seed", range(3))
def test_deciles_of_the_increments_cut_the_subsets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    increments = (rng.random(40) * (rng.random(40) < 0.7)).tolist()
    failed = (rng.random(40) < 0.4).tolist()
    raising = sorted(value for value in increments if value > 0)
    rates, sizes = [], []
    for tenth in range(1, 11):
        place = (len(raising) - 1) * tenth / 10
        low = int(place)
        high = min(low + 1, len(raising) - 1)
        bound = raising[low] + (place - low) * (raising[high] - raising[low])
        chosen = [f for i, f in zip(increments, failed, strict=True) if i >= bound - 1e-12]
        sizes.append(len(chosen))
        rates.append(100 * fmean(chosen))
    cells = mncover_table1.metric_cells(increments, failed, 80, [seed])
    assert cells[:2] == pytest.approx([max(rates), np.mean(rates)])
    assert cells[4:] == pytest.approx(
        [len(raising), 100 * (1 - sizes[0] / 40), 100 * (1 - sizes[0] / 80)]
    )
    # By chance the mean is that of all cases; the greatest of ten is above it.
    assert cells[3] == pytest.approx(100 * np.mean(failed), abs=6)
    assert cells[2] > cells[3] + 10
    assert mncover_table1.metric_cells(increments, failed, 80, [seed]) == cells


def test_texts_are_dropped_as_a_slow_filter_drops_them(encoder: EncoderModel) -> None:
    criterion = build_criteria(("mncover",), encoder, TRAIN, masks=random_masks(encoder))["mncover"]
    flags = map(criterion.flags_of, encoder.activations(TEXTS))
    reductions = mncover_figure4.reductions_of(criterion, flags)
    for (unit, threshold), (dropped, left) in zip(mncover_figure4.FILTERS, reductions, strict=True):
        kept: list[str] = []
        for text in TEXTS:
            before = value_of(encoder, criterion, kept)
            growth = value_of(encoder, criterion, [*kept, text]) - before
            if growth > 1e-12 and growth >= threshold * (before if unit == "share" else 1):
                kept.append(text)
        assert dropped == pytest.approx(1 - len(kept) / len(TEXTS))
        whole = value_of(encoder, criterion, TEXTS)
        assert left == pytest.approx(value_of(encoder, criterion, kept) / whole)
    # The repeated text goes at threshold 0, and nothing adds a tenth of all neurons' sections.
    assert reductions[0] == (pytest.approx(1 / 5), pytest.approx(1.0))
    assert (1.0, 0.0) in reductions
    assert criterion.value == 0
