"""How diverse cases are, against naive implementations and on real texts."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.diversity import (
    Comparison,
    Groups,
    Reading,
    Text,
    as_html,
    compare,
    growth,
    measure,
    productions_of,
    read,
    self_bleu,
    sentences,
    table,
)
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.models import load_parser, load_tagger
from s2lct.builder.records import Token
from s2lct.cli.main import app
from s2lct.suite.cases import load_cases

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


TREES = st.recursive(
    st.sampled_from(["DT", "NN", "VB"]).map(lambda tag: (tag, ())),
    lambda below: st.tuples(
        st.sampled_from(["S", "NP", "VP"]), st.lists(below, min_size=1, max_size=3)
    ),
    max_leaves=12,
).filter(lambda tree: bool(tree[1]))


def bracketed(tree: tuple[str, Sequence[Any]], counter: Any) -> str:
    label, children = tree
    inside = " ".join(bracketed(child, counter) for child in children) or str(next(counter))
    return f"({label} {inside})"


@given(TREES)
def test_productions_are_those_above_the_words(tree: tuple[str, Sequence[Any]]) -> None:
    def below(node: tuple[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
        yield node
        for child in node[1]:
            yield from below(child)

    expected = {
        f"{label} -> {' '.join(child for child, _ in children)}"
        for label, children in below(tree)
        if children
    }
    assert productions_of(bracketed(tree, itertools.count())) == expected


READINGS = st.lists(
    st.builds(
        Reading,
        words=st.lists(st.sampled_from("abcd"), max_size=6).map(tuple),
        productions=st.frozensets(st.sampled_from([f"S -> {n}" for n in range(9)]), max_size=5),
    ),
    min_size=1,
    max_size=60,
)


@settings(deadline=None)
@given(READINGS)
def test_measures_of_readings(readings: list[Reading]) -> None:
    texts = [Text(f"text {n % 3} and {n}", f"family {n % 4}") for n in range(len(readings))]
    of = {text: reading for (text, _), reading in zip(texts, readings, strict=True)}
    measured = measure(texts, of)
    every = {one for reading in readings for one in reading.productions}
    assert measured["productions"] == len(every)
    if len(texts) > 1:
        scores = self_bleu([one.text for one in texts])
        bleu = measured.figures["self_bleu"]
        assert bleu.value == pytest.approx(scores.mean())
        assert bleu.low is not None and bleu.high is not None
        assert bleu.low - 1e-9 <= bleu.value <= bleu.high + 1e-9
    pairs = [pair for one in readings for pair in zip(one.words, one.words[1:], strict=False)]
    expected = len(set(pairs)) / len(pairs) if pairs else 0
    assert measured["distinct_2"] == pytest.approx(expected)
    curve = growth(texts, of)
    assert curve[-1] == (len(readings), len(every))
    sizes = [size for _, size in curve]
    assert sizes == sorted(sizes)


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
    assert first.words == ("the", "film", "is", "dull")
    assert "NP -> DT NN" in first.productions
    assert second.productions > first.productions
    assert endless.productions == frozenset()
    assert odd.words == ()


def made_up_sources() -> dict[str, Groups]:
    own = {
        "all": [Text(f"Film {n} is dull.", f"s{n // 2}") for n in range(6)],
        "LC2": [Text(f"Film {n} is dull.", f"s{n // 2}") for n in range(4)],
    }
    other = [Text(f"Number {n} of {'the good ' * (n % 7)}series.", str(n)) for n in range(20)]
    few = [Text("A village by the sea.", "0"), Text("A train arrives.", "1")]
    return {
        "suite": own,
        "other": {"all": other, "LC2": other[:9]},
        "few": {"all": few, "LC2": few},
    }


def compared_by(seed: int = 0) -> Comparison:
    return compare(made_up_sources(), load_tagger(), load_parser(), draws=2, seed=seed)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compared_by()


def test_every_source_gives_the_same_number_of_cases(compared: Comparison) -> None:
    counts = {
        group: [measured.cases for measured in by_source.values()]
        for group, by_source in compared.groups.items()
    }
    assert counts == {"all": [6, 6, 2], "LC2": [4, 4, 2]}
    assert list(compared.growth) == ["suite", "other", "few"]
    assert compared_by() == compared
    reseeded = compared_by(7)
    assert reseeded.groups["all"]["suite"] == compared.groups["all"]["suite"]
    assert reseeded.groups["all"]["other"] != compared.groups["all"]["other"]


def test_pages_and_tables_are_the_same_again_and_hold_the_figures(compared: Comparison) -> None:
    page = as_html(compared, "<b>suite</b>")
    assert page == as_html(compared, "<b>suite</b>")
    assert "<b>suite</b>" not in page
    of_suite = compared.groups["all"]["suite"]
    lead = page.partition('class="lead">')[2].partition("<svg")[0]
    assert f"{of_suite['productions']:,.0f} distinct productions" in lead
    assert f"self-BLEU of {of_suite['self_bleu']:.1f}" in lead
    assert "nan" not in page.lower().replace("nano", "")
    assert not re.search(r"(src|href)=\"https?://", page)
    rows = csv.DictReader(table(compared).csv().splitlines())
    of = {(row["group"], row["source"]): float(row["self-BLEU"]) for row in rows}
    assert of["LC2", "suite"] == compared.groups["LC2"]["suite"]["self_bleu"]
    assert of["all", "other"] == compared.groups["all"]["other"]["self_bleu"]


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
    options = ["--checklist", checklist_path, "--draws", 1, "--csv", out]
    shown = invoke(suite_folder, *options, "--html", tmp_path / "d.html")
    cases = load_cases(suite_folder).cases
    counts: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(out.read_text("utf-8").splitlines()):
        counts.setdefault(row["group"], {})[row["source"]] = int(row["cases"])
    names = sorted({case.capability for case in cases}, key=lambda name: int(name[2:]))
    assert list(counts) == ["all", "seeds", "expansions", *names]
    for name, by_source in counts.items():
        own = [case for case in cases if name in ("all", f"{case.kind}s", case.capability)]
        expected = {"suite": len(own), "CheckList": len(own), "corpus": min(len(own), 33)}
        assert by_source == expected
    page = (tmp_path / "d.html").read_text("utf-8")
    assert all(name in shown and name in page for name in (*names, "CheckList", "corpus"))
    assert invoke(suite_folder, "--corpus", "none", "--capability", "LC2")


def test_bad_options_get_one_clear_error(suite_folder: Path, tmp_path: Path) -> None:
    for options, named in (
        (["--checklist", "/nowhere/x.jsonl"], "/nowhere/x.jsonl"),
        (["--corpus", "csv:/nowhere/films.csv"], "films.csv"),
        (["--capability", "LC77"], "LC77"),
    ):
        assert named in invoke(suite_folder, *options, code=1)
    gone = tmp_path / "suite"
    shutil.copytree(suite_folder, gone)
    described = json.loads((gone / "suite.json").read_text())
    described["options"]["corpus"] = "csv:/gone/films.csv"
    (gone / "suite.json").write_text(json.dumps(described))
    assert "--corpus none" in invoke(gone, code=1)
