"""A text without its inserted words, whoever says which these are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from damaged_suites import Rows, rewrite
from hypothesis import given
from hypothesis import strategies as st

from s2lct.errors import SuiteError
from s2lct.suite.read import read_suite
from s2lct.suite.rows import without

WORDS = st.lists(st.text("abcdef'-", min_size=1, max_size=6), min_size=1, max_size=8)


@given(WORDS, st.data())
def test_words_and_phrases_with_a_comma_go_without_a_trace(
    words: list[str], data: st.DataObject
) -> None:
    inserted: list[tuple[int, int]] = []
    text = ""
    for number, word in enumerate([*words, "."]):
        for place in range(data.draw(st.integers(0, 2))):
            piece = " ".join(data.draw(WORDS))
            if number and data.draw(st.booleans()) and not place:
                piece = f", {piece}{data.draw(st.sampled_from(['', ',']))}"
                inserted.append((len(text), len(text) + len(piece)))
                text += piece
                continue
            start = len(text) + bool(text)
            text += (" " if text else "") + piece
            inserted.append((start, len(text)))
        text += (" " if text and word != "." else "") + word
    expected = " ".join(words) + "."
    assert without(text, data.draw(st.permutations(inserted))) == expected.lstrip()


@given(
    st.text("ab ,.", min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6),
)
def test_places_that_overlap_or_lie_outside_break_nothing(
    text: str, places: list[tuple[int, int]]
) -> None:
    assert len(without(text, [place for place in places if place[0] < place[1]])) <= len(text)


def test_a_word_that_is_listed_twice_is_a_fault_and_no_crash(
    suite_folder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(suite_folder, tmp_path / "copy"))

    def end_with_a_word_twice(rows: Rows) -> None:
        row = next(row for row in rows if row["kind"] == "expansion")
        (start, end) = (row["text"].rindex(" ") + 1, len(row["text"]))
        word = {"word": row["text"][start:], "tag": "NN", "start": start, "end": end}
        row["inserted"] = [word, dict(word)]

    rewrite(copy, "LC4", end_with_a_word_twice)
    with pytest.raises(SuiteError, match="without its inserted words it is not its seed"):
        read_suite(copy)
