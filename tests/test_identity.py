"""What is another thing has another name: corpora, sentences, suites, models, results."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

from s2lct.builder.corpus.collect import with_distinct_names
from s2lct.builder.corpus.read import read_corpus
from s2lct.suite.cases import Case, families_of


def csv_corpus(path: Path, *rows: tuple[str, ...], header: str = "text,label") -> str:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return f"csv:{path}"


# Corpora and their sentences


def test_corpora_of_one_name_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    specs = [
        csv_corpus(tmp_path / folder / "data.csv", (f"A {word} film.", "positive"))
        for folder, word in (("a", "good"), ("b", "fine"), ("c", "good"))
    ]
    first, other, copy = map(read_corpus, specs)
    named = with_distinct_names([first, other, copy])
    assert len({corpus.name for corpus in named}) == 2
    assert named[0].name == named[2].name != named[1].name
    assert all(corpus.name.startswith("csv:data.csv#") for corpus in named)
    assert [corpus.sentences[0].corpus for corpus in named] == [corpus.name for corpus in named]
    assert with_distinct_names([first]) == [first]


def test_a_row_without_an_id_has_none_of_another_row(tmp_path: Path) -> None:
    rows = [("Good film.", "positive", ""), ("Bad film.", "negative", "1"), ("So.", "neutral", " ")]
    corpus = read_corpus(csv_corpus(tmp_path / "x.csv", *rows, header="text,label,id"))
    assert [sentence.id for sentence in corpus.sentences] == ["row-1", "1", "row-3"]
    path = tmp_path / "x.jsonl"
    lines = (
        {"text": text, "label": label} | ({"id": id} if id else {}) for text, label, id in rows
    )
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_corpus(f"jsonl:{path}").sentences[0].id == "row-1"


def test_sentences_of_one_number_and_other_texts_are_families_apart() -> None:
    case = Case("a", "LC4", "seed", "a", "A.", frozenset({0}), sources=("csv:data.csv:1",))
    texts = (("One.",), ("Two.",), ("One.",), ())
    cases = [replace(case, source_texts=of_case) for of_case in texts]
    assert families_of(cases).tolist() == [0, 1, 0, 2]
