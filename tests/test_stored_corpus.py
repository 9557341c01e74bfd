"""Corpora larger than memory: sentences on disk, and what is found of them by hashes."""

from __future__ import annotations

import contextlib
import gc
import json
import pickle
import resource
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_build import bytes_of, config_for

from s2lct.builder.corpus import repeats, store
from s2lct.builder.corpus.chained import Chained
from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.part import Part
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.corpus.rows import Columns, Row, corpus_of_rows
from s2lct.builder.corpus.store import ChangedSentences, SentenceWriter, kept
from s2lct.builder.neutral import read_neutral
from s2lct.builder.pipeline import build_suite
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.suite.records import Sentence

# What the store keeps

sentences = st.builds(
    Sentence,
    st.just("mine"),
    st.text(),
    st.text(),
    st.sampled_from(LABELS),
    st.text(),
    st.none() | st.floats(0, 1),
    st.text(),
)
bounds = st.none() | st.integers(-25, 25)
slices = st.builds(slice, bounds, bounds, bounds.filter(lambda step: step != 0))


def written(
    given_sentences: Sequence[Sentence], in_memory: int, rows_a_batch: int
) -> tuple[Sequence[Sentence], list[str]]:
    writer = SentenceWriter("mine", in_memory=in_memory, rows_a_batch=rows_a_batch)
    for number, sentence in enumerate(given_sentences):
        writer.append(sentence, f"row {number}")
    found, where = writer.finish()
    return found, [where(row) for row in range(len(given_sentences))]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(sentences, max_size=20),
    st.integers(0, 25),
    st.integers(1, 7),
    slices,
    st.data(),
)
def test_what_is_written_is_read(
    all_of_them: list[Sentence], in_memory: int, rows_a_batch: int, part: slice, data: st.DataObject
) -> None:
    found, where = written(all_of_them, in_memory, rows_a_batch)
    assert isinstance(found, tuple) == (len(all_of_them) <= in_memory)
    keep = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    chosen = kept(found, np.array(keep, dtype=bool))
    wanted = [one for one, is_kept in zip(all_of_them, keep, strict=True) if is_kept]
    for some, expected in ((found, all_of_them), (chosen, wanted)):
        assert len(some) == len(expected)
        assert list(some) == expected
        assert [some[at] for at in range(-len(expected), len(expected))] == expected * 2
        assert list(some[part]) == expected[part]
        assert list(reversed(some)) == expected[::-1]
        with pytest.raises(IndexError):
            some[len(expected)]
    assert where == [f"row {number}" for number in range(len(all_of_them))]


@settings(deadline=None)
@given(st.lists(st.lists(sentences, max_size=6), max_size=4), st.integers(0, 4), slices)
def test_sequences_are_chained_and_changed(
    parts: list[list[Sentence]], in_memory: int, part: slice
) -> None:
    def change(one: Sentence) -> Sentence:
        return Sentence("other", one.id, one.text, one.label)

    some = [written(some, in_memory, 2)[0] for some in parts]
    flat = [one for some in parts for one in some]
    for sequence, expected in (
        (Chained(some), flat),
        (Chained([ChangedSentences(one, change) for one in some]), list(map(change, flat))),
    ):
        assert len(sequence) == len(expected)
        assert list(sequence) == expected
        assert list(sequence[part]) == expected[part]
        assert [sequence[at] for at in range(-len(flat), len(flat))] == expected * 2


def test_sentences_on_disk_are_not_pickled() -> None:
    found, _ = written([Sentence("mine", "1", "Bees.", "neutral")] * 3, 0, 2)
    with pytest.raises(TypeError, match="pass a slice"):
        pickle.dumps(found)
    assert pickle.loads(pickle.dumps(found[:2])) == found[:2]


# What is found by hashes


def whole(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def first_half_alike(text: str) -> bytes:
    return bytes(8) + whole(text)[:8]


def second_half_alike(text: str) -> bytes:
    return whole(text)[:8] + bytes(8)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "", "a\0", "é"]), max_size=12),
    st.sampled_from([whole, first_half_alike, second_half_alike]),
    st.data(),
)
def test_repeats_are_those_of_the_texts(
    texts: list[str], hash_of: Callable[[str], bytes], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "_hash", hash_of)
        hashes = repeats.Hashes()
        for text in texts:
            assert (text in hashes) == (text in texts[: len(hashes)])
            hashes.append(text)
    of = st.none() | st.sets(st.integers(0, len(texts) - 1)) if texts else st.none()
    chosen = data.draw(of)
    rows = range(len(texts)) if chosen is None else sorted(chosen)
    first: dict[str, int] = {}
    expected = [
        (row, first[texts[row]]) for row in rows if first.setdefault(texts[row], row) != row
    ]
    found = hashes.repeats(None if chosen is None else np.array(rows, dtype=np.int64))
    assert sorted(zip(*(part.tolist() for part in found), strict=True)) == expected


class NaiveCollector:
    """What a `Collector` gathers, by keeping every text."""

    def __init__(self, *, skip_duplicates: bool, labelled: bool) -> None:
        self.skip_duplicates, self.labelled = skip_duplicates, labelled
        self.kept: list[Sentence] = []
        self.ids: set[str] = set()
        self.taken = ""
        self.first: dict[str, tuple[Label, str]] = {}
        self.other: dict[str, tuple[Label, str]] = {}
        self.again: Counter[str] = Counter()

    def add(self, sentence: Sentence, where: str) -> None:
        text, label = sentence.text, sentence.label
        again = text in self.first
        known, _ = self.first.setdefault(text, (label, where))
        if known != label and self.labelled:
            self.other.setdefault(text, (label, where))
        if again and self.skip_duplicates:
            self.again[text] += 1
            return
        for name, value in (("id", sentence.id), ("split", sentence.split)):
            if "\n" in value:
                raise CorpusError(f"{where}: the {name} ", hint="")
        if sentence.id in self.ids and not self.taken:
            self.taken = f"{where}: the id {sentence.id!r} is already taken"
        self.ids.add(sentence.id)
        self.kept.append(sentence)

    def found(self) -> tuple[list[Sentence], dict[str, int], str]:
        if self.taken:
            raise CorpusError(self.taken, hint="")
        found = [one for one in self.kept if one.text not in self.other]
        conflicting = sum(self.again[text] for text in self.other)
        skipped = {
            "duplicate text": self.again.total() - conflicting,
            "conflicting labels": conflicting + len(self.kept) - len(found),
        }
        told = ", ".join(
            f"{self.first[text][1]} {self.first[text][0]} and {other[1]} {other[0]} ({text!r})"
            for text, other in list(self.other.items())[:3]
        )
        note = f"{len(self.other)}, such as {told}{', …' if len(self.other) > 3 else ''}"
        return found, {name: n for name, n in skipped.items() if n}, note if self.other else ""


rows_of_texts = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["1", "3", "x", "a\nb", "\ud800"]),
        st.sampled_from([f"Text {name}." for name in "abcdef"]),
        st.sampled_from(LABELS),
        st.sampled_from(["train", "", "te\nst"]),
    ),
    max_size=14,
)


@settings(max_examples=400, deadline=None)
@given(rows_of_texts, st.booleans(), st.booleans(), st.sampled_from([0, 3, 100]))
def test_a_collector_finds_what_one_with_all_texts_at_hand_finds(
    rows: list[tuple[str | None, str, Label, str]],
    skip_duplicates: bool,
    labelled: bool,
    in_memory: int,
) -> None:
    naive = NaiveCollector(skip_duplicates=skip_duplicates, labelled=labelled)
    collector = Collector("mine", skip_duplicates=skip_duplicates, labelled=labelled)
    collector._gathered._writer = SentenceWriter(  # type: ignore[union-attr]
        "mine", in_memory=in_memory, rows_a_batch=2
    )
    expected: tuple[list[Sentence], dict[str, int], str] | str
    try:
        for number, (id, text, label, split) in enumerate(rows):
            id = f"row{number}" if id is None else id.replace("\ud800", "\n")
            naive.add(Sentence("mine", id, text, label, split, None, text), f"row {number}")
        expected = naive.found()
    except CorpusError as error:
        expected = error.problem
    try:
        for number, (id, text, label, split) in enumerate(rows):
            id = f"row{number}" if id is None else id
            collector.add(id, text, label, split=split, raw=text, where=f"x, row {number}")
        corpus = collector.corpus(where="x", description="", licence="")
    except CorpusError as error:
        if isinstance(expected, str):
            assert error.problem.startswith(f"x, {expected}")
        else:
            assert not expected[0]
            assert "no usable sentence" in error.problem
            assert all(f"{number} {reason}" in str(error) for reason, number in expected[1].items())
        return
    assert not isinstance(expected, str)
    found, skipped, note = expected
    assert list(corpus.sentences) == found
    assert corpus.skipped == skipped
    assert [one.partition(": ")[2] for one in corpus.notes] == ([note] if note else [])


# Whole corpora


def made_up(number: int, words: int = 12) -> Iterator[tuple[Row, str]]:
    for row in range(number):
        text = " ".join(f"word{(row * 31 + at * at) % 977}" for at in range(words))
        yield {"text": f"{text} {row}", "label": LABELS[row % 3]}, f"made up, row {row}"


COLUMNS = Columns(None, None, {}, True)


def corpus_of(rows: Iterator[tuple[Row, str]], part: Part | None = None) -> Corpus:
    return corpus_of_rows(
        "made up",
        rows,
        COLUMNS,
        where="made up",
        description="",
        licence="",
        part=part or Part(),
    )


def test_on_disk_and_in_memory_a_corpus_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    rows = [row for row, _ in made_up(50)]
    rows += [{"text": rows[3]["text"], "label": rows[4]["label"]}, rows[7]]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    small = read_corpus(f"jsonl:{path}")
    neutral = read_neutral(f"jsonl:{path}")
    monkeypatch.setattr(store, "IN_MEMORY", 10)
    monkeypatch.setattr(store, "ROWS_A_BATCH", 7)
    large = read_corpus(f"jsonl:{path}")
    large_neutral = read_neutral(f"jsonl:{path}")
    assert isinstance(small.sentences, tuple)
    assert not isinstance(large.sentences, tuple)
    assert tuple(large.sentences) == small.sentences
    assert (large.fingerprint, large.skipped, large.notes) == (
        small.fingerprint,
        small.skipped,
        small.notes,
    )
    assert small.skipped == {"conflicting labels": 2, "duplicate text": 1}
    assert neutral is not None
    assert large_neutral is not None
    assert tuple(large_neutral.sentences) == tuple(neutral.sentences)
    assert large_neutral.fingerprint == neutral.fingerprint != small.fingerprint


def open_below(folder: Path) -> list[str]:
    """The files below a folder that this process has open, whether or not they have a name."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return [link for link in links if link.startswith(str(folder))]


@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the system does not say what is open"
)
def test_an_interrupted_reading_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[list[str]] = []

    def interrupted() -> Iterator[tuple[Row, str]]:
        yield from made_up(store.IN_MEMORY + 2_000)
        seen.append(open_below(tmp_path))
        assert list(tmp_path.iterdir()) == []
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus_of(interrupted())
    assert len(seen[0]) == 1
    assert list(tmp_path.iterdir()) == []
    gc.collect()
    assert open_below(tmp_path) == []


def test_a_full_disk_says_how_to_get_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", 2_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(CorpusError, match="cannot be kept in") as caught:
            corpus_of(made_up(3_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "TMPDIR" in caught.value.hint
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(CorpusError, match="cannot be kept in /nowhere"):
        corpus_of(made_up(3_000))


def peak_of(rows: int) -> int:
    """The most bytes that Python has while so many sentences are gathered and gone through."""
    tracemalloc.start()
    collector = Collector("made up", skip_duplicates=True)
    for row in range(rows):
        text = f"The film of number {row} has {row % 7} scenes by the sea." * 2
        where = f"row {row}"
        collector.add(str(row), text, LABELS[row % 3], raw=text, where=where)
    corpus = collector.corpus(where="made up", description="", licence="")
    assert sum(1 for _ in corpus.sentences) == rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_by_hashes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", 2_000)
    few, many = peak_of(3_000), peak_of(25_000)
    # Kept in memory, 22,000 sentences take more than 10 MB; their hashes, 0.7 MB.
    assert many - few < 3_000_000


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(row) for row, _ in made_up(2_500)), encoding="utf-8")
    told: list[int] = []
    read_corpus(f"jsonl:{path}", told=told.append)
    assert told == [1_000, 2_000]


def test_a_suite_of_sentences_on_disk_is_the_same(
    corpus_path: Path, suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", 5)
    monkeypatch.setattr(store, "ROWS_A_BATCH", 3)
    assert not isinstance(read_corpus(f"csv:{corpus_path}").sentences, tuple)
    build_suite(config_for(corpus_path, tmp_path / "again"))
    assert bytes_of(tmp_path / "again") == bytes_of(suite_folder)
