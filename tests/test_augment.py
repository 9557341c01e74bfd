"""Transformations of texts, and the search that coverage guides."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import augmentation as augment
import pytest
from augmentation import (
    CONTRACTIONS,
    HOMOGLYPHS,
    QWERTY_NEIGHBOURS,
    TRANSFORMATIONS,
    embedding_similarity,
    guided_texts,
    random_texts,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import tiny_classifier

from s2lct.analysis.corpus_parts import split_corpus
from s2lct.analysis.coverage.criteria import build_criteria
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.measure import cover_texts
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError

pytestmark = pytest.mark.usefixtures("own_cache")

contract, extend = TRANSFORMATIONS["WordSwapContract"], TRANSFORMATIONS["WordSwapExtend"]

words = st.sampled_from(
    ["film", "Wonderful", "isn't", "they’re", "I am", "12", "1,500", "three", "(plot)", "é", "x"]
)
texts = st.one_of(st.text(max_size=60), st.lists(words, max_size=8).map(" ".join))


@given(texts, st.sampled_from(sorted(TRANSFORMATIONS)), st.integers(0, 9))
@settings(deadline=None)
def test_transformations_change_something_or_nothing_and_the_same_each_time(
    text: str, name: str, seed: int
) -> None:
    changed = TRANSFORMATIONS[name](text, Random(seed))
    assert changed is None or (changed != text and changed.strip())
    assert changed == TRANSFORMATIONS[name](text, Random(seed))


def changed_letters(old: str, new: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(old, new, strict=True) if a != b]


@given(texts, st.integers(0, 9))
@settings(deadline=None)
def test_a_single_letter_changes_and_nothing_else(text: str, seed: int) -> None:
    changed = {name: change(text, Random(seed)) for name, change in TRANSFORMATIONS.items()}
    if (swapped := changed["WordSwapNeighboringCharacterSwap"]) is not None:
        assert sorted(swapped) == sorted(text) and len(changed_letters(swapped, text)) == 2
    if (longer := changed["WordSwapRandomCharacterInsertion"]) is not None:
        assert any(longer[:n] + longer[n + 1 :] == text for n in range(len(longer)))
    if (shorter := changed["WordSwapRandomCharacterDeletion"]) is not None:
        assert any(text[:n] + text[n + 1 :] == shorter for n in range(len(text)))
    if (substituted := changed["WordSwapRandomCharacterSubstitution"]) is not None:
        assert len(changed_letters(text, substituted)) == 1
    if (lookalike := changed["WordSwapHomoglyphSwap"]) is not None:
        ((old, new),) = changed_letters(text, lookalike)
        assert HOMOGLYPHS[old] == new
    if (mistyped := changed["WordSwapQWERTY"]) is not None:
        ((old, new),) = changed_letters(text, mistyped)
        assert new.lower() in QWERTY_NEIGHBOURS[old.lower()] and new.isupper() == old.isupper()
    if (numbered := changed["WordSwapChangeNumber"]) is not None and not re.search("[a-z]", text):
        assert re.sub(r"\d", "0", numbered) == re.sub(r"\d", "0", text)


@pytest.mark.parametrize("text", ["a 2.5 rating", "1,500 extras", "the 90s", "R2D2"])
def test_no_digit_within_a_longer_number_or_word_changes(text: str) -> None:
    assert TRANSFORMATIONS["WordSwapChangeNumber"](text, Random(0)) is None


@pytest.mark.parametrize("text", ["{} so.", "And that, {} so."])
def test_a_contraction_written_out_and_contracted_is_itself(text: str) -> None:
    for contraction in CONTRACTIONS.values():
        short = text.format(contraction.replace("i'", "I'"))
        short = short[0].upper() + short[1:]
        long = extend(short, Random(0))
        assert long is not None and "'" not in long
        assert contract(long, Random(0)) == short


def test_embeddings_know_what_is_alike() -> None:
    similarity = embedding_similarity()
    text = "The film is a charming portrait of a small town."
    assert similarity(text, text) == pytest.approx(1.0)
    typo = similarity(text, text.replace("charming", "chraming"))
    assert similarity(text, "A train arrives at the station.") < 0.5 < typo < 1.0


ORIGINALS = [
    Sentence("films", str(number), text, "positive" if number % 2 else "negative")
    for number, text in enumerate(
        [
            "This is a dull and ugly film.",
            "The young actors aren't bad.",
            "Those are awful songs.",
            "It is a brilliant comedy about 2 happy brothers.",
            "An awful and boring drama.",
            "A delightful and funny comedy.",
        ]
    )
]


def equal_letters(original: str, text: str) -> float:
    """Falls with every character that differs, so that a bound bites."""
    equal = sum(a == b for a, b in zip(original, text, strict=False))
    return equal / max(len(original), len(text))


@pytest.mark.parametrize("by", ["cover", "boundary"])
def test_a_close_text_that_covers_more_than_its_original_is_kept(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(augment, "MIN_SIMILARITY", 0.6)
    monkeypatch.setattr(augment, "MAX_FAILURES", 20)
    tiny = EncoderModel(*tiny_classifier())
    metric = build_criteria([by], tiny, [original.text for original in ORIGINALS])[by]
    kept = guided_texts(ORIGINALS, equal_letters, tiny, metric)
    assert kept
    assert metric.value == 0
    by_id = {original.id: original for original in ORIGINALS}
    for sentence in kept:
        original = by_id.pop(sentence.id)  # at most one of each
        alone, both = (
            cover_texts({by: metric}, tiny, texts)[by].value
            for texts in ([original.text], [original.text, sentence.text])
        )
        assert both > alone
        assert equal_letters(original.text, sentence.text) >= 0.6
        assert sentence.label == original.label
    assert guided_texts(ORIGINALS, equal_letters, tiny, metric) == kept
    monkeypatch.setattr(augment, "MIN_SIMILARITY", 1.0)
    assert not guided_texts(ORIGINALS, equal_letters, tiny, metric)
    assert not random_texts(ORIGINALS, equal_letters, 2)


def test_random_texts_are_as_many_and_as_close() -> None:
    changed = random_texts(ORIGINALS, equal_letters, 9)
    assert len({sentence.text for sentence in changed}) == 9
    original_of = {original.id: original.text for original in ORIGINALS}
    assert all(equal_letters(original_of[s.id], s.text) >= 0.8 for s in changed)
    assert changed == random_texts(ORIGINALS, equal_letters, 9)


@given(st.lists(st.sampled_from(["", "train", "dev", "test"]), min_size=1, max_size=50))
@settings(max_examples=50, deadline=None)
def test_parts_of_a_corpus_share_nothing(splits: list[str]) -> None:
    sentences = tuple(
        Sentence("c", str(n), f"text {n}", "neutral", split) for n, split in enumerate(splits)
    )
    corpus: Any = type("C", (), {"name": "c", "sentences": sentences})
    name = "train" if "train" in splits else "" if "" in splits else splits[0]
    if splits.count(name) < 2 or (name in ("dev", "test") and len({*splits}) > 1):
        with pytest.raises(AnalysisError, match="corpus c"):
            split_corpus(corpus)
        return
    parts = split_corpus(corpus)
    train, dev, test = ({sentence.text for sentence in part} for part in parts)
    assert train and test
    assert not (train & dev or train & test or dev & test)
    if "test" in splits and len({*splits}) > 1:
        assert test == {sentence.text for sentence in sentences if sentence.split == "test"}
