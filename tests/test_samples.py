"""Samples of a corpus: so many of its texts, drawn evenly, whatever their order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_build import bytes_of, config_for

from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.read import read_again, read_corpus
from s2lct.builder.corpus.sample import Draw
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import verify_suite
from s2lct.errors import CorpusError
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS, Label
from s2lct.suite.read import read_description

Labelled = tuple[str, Label]


def corpus_of(rows: Sequence[Labelled], draw: Draw | None) -> Corpus | str:
    """A corpus of texts and labels, or why there is none."""
    collector = Collector("mine", skip_duplicates=True, draw=draw)
    for number, (text, label) in enumerate(rows):
        collector.add(f"{number}", text, label, raw=text, where=f"x, row {number}")
    try:
        return collector.corpus(where="x", description="", licence="")
    except CorpusError as error:
        return error.problem


rows_of_texts = st.lists(
    st.tuples(st.integers(0, 12).map("Text {}.".format), st.sampled_from(LABELS)), max_size=30
)


@settings(max_examples=300, deadline=None)
@given(rows_of_texts, st.integers(1, 15), st.integers(0, 3), st.randoms())
def test_a_sample_is_the_corpus_of_the_rows_that_have_the_drawn_texts(
    rows: list[Labelled], number: int, seed: int, order: random.Random
) -> None:
    texts = sorted({text for text, _ in rows}, key=lambda text: shuffle_key(seed, "sample", text))
    drawn = set(texts[:number])
    sampled = corpus_of(rows, Draw(number, seed))
    whole = corpus_of([row if row[0] in drawn else ("", row[1]) for row in rows], None)
    # The others are one text, which is taken out again.
    left = sum(text not in drawn for text, _ in rows)
    if isinstance(sampled, str):
        assert "no usable sentence" in sampled
        assert isinstance(whole, str) or {one.text for one in whole.sentences} == {""}
        return
    assert not isinstance(whole, str)
    assert list(sampled.sentences) == [one for one in whole.sentences if one.text]
    assert sampled.skipped.get("not drawn", 0) == left
    assert sum(sampled.skipped.values()) + len(sampled.sentences) == len(rows)
    mixed = order.sample(rows, len(rows))
    again = corpus_of(mixed, Draw(number, seed))
    assert not isinstance(again, str)
    assert {one.text for one in again.sentences} == {one.text for one in sampled.sentences}
    assert again.skipped == sampled.skipped
    assert len(again.notes) == len(sampled.notes)


@given(rows_of_texts, st.integers(0, 3))
def test_a_sample_of_more_than_there_are_is_everything(rows: list[Labelled], seed: int) -> None:
    assert corpus_of(rows, Draw(13, seed)) == corpus_of(rows, None)


def test_every_text_is_drawn_as_often_as_another() -> None:
    rows: list[Labelled] = [(f"Text {number}.", "neutral") for number in range(40)]
    rows += rows[:20] * 3  # that half of the texts stand four times changes nothing
    counted: Counter[str] = Counter()
    for seed in range(400):
        corpus = corpus_of(rows, Draw(10, seed))
        assert not isinstance(corpus, str)
        counted.update(one.text for one in corpus.sentences)
    assert counted.total() == 4_000
    assert len(counted) == 40
    # Of 400 draws of a quarter: 100, with a standard deviation of 8.7. The seeds are fixed.
    assert all(abs(times - 100) < 4.5 * 8.7 for times in counted.values())
    often = sum(counted[text] for text, _ in rows[:20])
    assert abs(often - 2_000) < 200


def made_up(number: int) -> list[str]:
    return [
        json.dumps({"text": f"Film {row}, of the sea.", "label": LABELS[row % 3]})
        for row in range(number)
    ]


def test_how_a_corpus_is_divided_into_files_changes_no_sample(tmp_path: Path) -> None:
    lines = made_up(200)
    whole = tmp_path / "whole.jsonl"
    whole.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, start in enumerate(range(0, 200, 30)):
        part = "\n".join(lines[start : start + 30])
        (folder / f"{number}.jsonl").write_text(part, encoding="utf-8")
    one, many = (read_corpus(f"jsonl:{path}", sample=50, seed=7) for path in (whole, folder))
    assert len(one.sentences) == 50
    assert one.fingerprint == many.fingerprint
    assert one.skipped == {"not drawn": 150}
    assert [int(s.id) for s in one.sentences] == sorted(int(s.id) for s in one.sentences)
    others = {read_corpus(f"jsonl:{whole}", sample=50, seed=seed).fingerprint for seed in range(7)}
    assert len(others | {one.fingerprint}) == 8
    few = read_corpus(f"jsonl:{whole}", sample=50, rows=20)
    assert [s.id for s in few.sentences] == [str(row) for row in range(1, 21)]


@pytest.mark.parametrize("wrong", [{"id": "1"}, {"id": "a\nb"}, {"split": "x" * 300}])
def test_ids_of_a_sample_are_looked_at(tmp_path: Path, wrong: dict[str, str]) -> None:
    rows = [json.loads(line) for line in made_up(4)]
    rows[2] |= wrong
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"line 3: the (id|split)"):
        read_corpus(f"jsonl:{path}", sample=10)


def test_a_suite_of_a_sample_is_built_and_its_corpus_read_again(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    options = {"sample": 25, "seed": 5, "seeds": 2, "masks": 4, "expansions": 2}
    for name in ("one", "two"):
        build_suite(config_for(corpus_path, tmp_path / name, **options))
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")
    assert verify_suite(tmp_path / "one") == []
    described = read_description(tmp_path / "one")
    assert described["options"]["sample"] == 25
    assert described["corpus"]["sentences"] == 25
    whole = read_description(suite_folder)
    assert "sample" not in whole["options"]
    rows = whole["corpus"]["sentences"]
    assert described["corpus"]["skipped"]["not drawn"] == rows - 25
    for one in (described, whole):
        assert read_again(one["options"]).fingerprint == one["corpus"]["fingerprint"]
