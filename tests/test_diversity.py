"""How diverse cases are, against naive implementations and on real texts."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.diversity import productions_of_texts, self_bleu
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.cli.main import app
from s2lct.suite.cases import load_suite

RUNNER = CliRunner(env={"COLUMNS": "200"})
WORDS = st.sampled_from(["a", "film", "the", "The", "is", "dull,", "good.", "not", "“so”", "n't"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=2, max_size=8)


@settings(deadline=None)
@given(TEXTS)
def test_self_bleu_is_sacrebleus_against_all_others(texts: list[str]) -> None:
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(effective_order=True)
    naive = [
        bleu.sentence_score(text, texts[:number] + texts[number + 1 :]).score
        for number, text in enumerate(texts)
    ]
    assert self_bleu(texts) == pytest.approx(naive)


def test_texts_are_parsed_sentence_by_sentence() -> None:
    texts = ["The film is dull.", "I liked it. The film is dull.", "word " * 2_000, "🎬"]
    first, second, endless, odd = productions_of_texts([*texts, texts[0]]).values()
    assert "NP -> DT NN" in first
    assert second > first
    assert endless == frozenset()
    assert not any("NN" in production for production in odd)


TEST_OF = {one.id: one.checklist.test for one in load_capabilities() if one.checklist}
CHECKLIST = [
    {"test": test, "capability": "X", "texts": [f"{text} {number}."], "expected": expected}
    for test, text, expected in [
        *((test, "That is not bad", ["positive", "neutral"]) for test in {*TEST_OF.values()}),
        ("Q & A: no", "Do I like it? No", ["negative"]),
    ]
    for number in range(30)
]


@pytest.fixture(scope="module")
def checklist_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checklist") / "mft.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in CHECKLIST)
    return path


def invoke(*arguments: str | Path, code: int = 0) -> str:
    result = RUNNER.invoke(app, ["diversity", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_sets_a_suite_beside_checklist_and_its_corpus(
    suite_folder: Path, checklist_path: Path, tmp_path: Path
) -> None:
    out, pictures = tmp_path / "d.csv", [tmp_path / "d.svg", tmp_path / "again.svg"]
    for picture in pictures:
        options = ["--checklist", checklist_path, "--csv", out, "--plot", picture]
        shown = invoke(suite_folder, *options)
    cases = load_suite(suite_folder).cases
    counts: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(out.read_text("utf-8").splitlines()):
        counts.setdefault(row["group"], {})[row["source"]] = int(row["cases"])
    names = sorted({case.capability for case in cases}, key=lambda name: int(name[2:]))
    assert list(counts) == ["all", "seeds", "expansions", *names]
    for name, by_source in counts.items():
        size = sum(name in ("all", f"{case.kind}s", case.capability) for case in cases)
        assert by_source == {"suite": size, "CheckList": size, "corpus": min(size, 36)}
    assert all(name in shown for name in (*names, "CheckList", "corpus"))
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert invoke(suite_folder, "--corpus", "none", "--capability", "LC2")
    assert "--plot" in invoke(suite_folder, "--plot", "d.txt", code=2)
