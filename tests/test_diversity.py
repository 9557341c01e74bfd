"""How diverse cases are, against naive implementations and on real texts."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.diversity import (
    read,
    self_bleu,
    sentences,
)
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.models import load_parser, load_tagger
from s2lct.builder.records import Token
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


def tokens_of(text: str) -> list[Token]:
    tokens, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        tag = "." if word in {".", "?", "!"} else "''" if word == "”" else "NN"
        tokens.append(Token(word, tag, word.lower(), at, at + len(word)))
        at += len(word)
    return tokens


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("It is dull", ["It is dull"]),
        ("It is dull .", ["It is dull ."]),
        ("I said , “ It is dull . ” But now I like it .",
         ["I said , “ It is dull . ”", "But now I like it ."]),
        ("“ Is it dull ? ” she asks .", ["“ Is it dull ? ” she asks ."]),
        ("Is it “ dull ” ? No .", ["Is it “ dull ” ?", "No ."]),
        ("Dull ! ! ? Yes . )", ["Dull ! ! ?", "Yes . )"]),
        (". .", [". ."]),
    ],
)  # fmt: skip
def test_texts_are_split_into_sentences(text: str, parts: list[str]) -> None:
    found = sentences(tokens_of(text))
    assert [" ".join(token.text for token in part) for part in found] == parts


def test_real_texts_are_read_sentence_by_sentence() -> None:
    texts = ["The film is dull.", "I liked it. The film is dull.", "word " * 2_000, "🎬"]
    first, second, endless, odd = read([*texts, texts[0]], load_tagger(), load_parser()).values()
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
    out = tmp_path / "d.csv"
    options = ["--checklist", checklist_path, "--csv", out]
    shown = invoke(suite_folder, *options, "--html", tmp_path / "d.html")
    cases = load_suite(suite_folder).cases
    counts: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(out.read_text("utf-8").splitlines()):
        counts.setdefault(row["group"], {})[row["source"]] = int(row["cases"])
    names = sorted({case.capability for case in cases}, key=lambda name: int(name[2:]))
    assert list(counts) == ["all", "seeds", "expansions", *names]
    for name, by_source in counts.items():
        own = [case for case in cases if name in ("all", f"{case.kind}s", case.capability)]
        expected = {"suite": len(own), "CheckList": len(own), "corpus": min(len(own), 36)}
        assert by_source == expected
    page = (tmp_path / "d.html").read_text("utf-8")
    assert all(name in shown and name in page for name in (*names, "CheckList", "corpus"))
    assert page.count("<svg") == 2
    assert not re.search(r"(src|href)=\"https?://", page)
    again = tmp_path / "again.html"
    invoke(suite_folder, *options, "--html", again)
    assert again.read_text("utf-8") == page
    assert invoke(suite_folder, "--corpus", "none", "--capability", "LC2")
