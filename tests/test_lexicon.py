"""Word sentiment: the score, pure neutrality, lookups and which words are safe to insert."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from compute_lexicon import entries_from_text
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.language.lexicon import (
    CLOSED_CLASS,
    POLARITY_SHIFTERS,
    Lexicon,
    Pos,
)
from s2lct.builder.language.tags import FUNCTION_TAGS

SHARED = Path(__file__).parents[2] / "shared"
NLTK_DATA = SHARED / "nltk_data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no original files in {SHARED}")

SENTIWORDNET = """\
# POS\tID\tPosScore\tNegScore\tSynsetTerms\tGloss
a\t1\t0.75\t0\tfine#1\tvery good
s\t2\t0\t0.5\tfine#3 thin#1\tnot thick
a\t3\t0\t0\tfine#2 wooden#1\tof wood
n\t4\t0\t0\tReel#1 spool#1 a_cappella#1\ta thing to wind on
n\t5\t0.125\t0.125\tmixture#1\tsome of each
n\t6\t0.25\t0\tthird#1\tone
n\t7\t0\t0.5\tthird#2\tother
v\t8\t0\t0.375\treel#1\tstagger
n\t9\t0\t0\tit#1\tinformation technology
n\t10\t0\t0\tn#1 moan#1\ta letter
v\t11\t0\t0.125\tspool#1\twind on
r\t12\t0\t0\tweekly#1 barely#1\tevery week
v\t13\t0\t0\tsaw#1\tcut
v\t14\t0.5\t0\tsee#1\tperceive
"""


@pytest.fixture
def lexicon() -> Lexicon:
    return Lexicon(entries_from_text(SENTIWORDNET.splitlines(), "own"))


def naive_score(senses: list[tuple[int, float, float]]) -> float:
    """Colhon et al.'s formula, term by term in floating point."""
    weighted = weights = 0.0
    for rank, positive, negative in senses:
        weighted += (positive - negative) / rank
        weights += 1 / rank
    return weighted / weights


def test_lemma_goes_before_form_and_letters_and_closed_classes_are_no_nouns(
    lexicon: Lexicon,
) -> None:
    assert lexicon.sentiment("saw", "verb") == "neutral"
    assert lexicon.sentiment("saw", "verb", lemma="see") == "positive"
    assert lexicon.sentiment("saw", "verb", lemma="unlisted") == "neutral"
    assert lexicon.sentiment("It", "noun") is None
    assert lexicon.sentiment("n", "noun") is None


@pytest.mark.parametrize(
    ("word", "tag", "lemma", "safe"),
    [
        ("spools", "NNS", "spool", True),
        ("predictable", "JJ", "predictable", False),
        ("wooden", "JJ", "wooden", True),
        ("fine", "JJ", "fine", False),
        ("saw", "VBD", "see", False),
        ("reel", "NN", "reel", False),
        ("it", "NN", "it", False),
        ("barely", "RB", "barely", False),
        ("the", "DT", "the", True),
        ("He\u2019s", "PRP", "he", False),
        ("1,200", "CD", "1,200", True),
        ("zero", "CD", "zero", False),
        ("Paris", "NNP", "paris", False),
    ],
)
def test_neutral_insertion(lexicon: Lexicon, word: str, tag: str, lemma: str, safe: bool) -> None:
    assert lexicon.is_neutral_insertion(word, tag, lemma) is safe


@given(
    st.sampled_from(sorted(POLARITY_SHIFTERS)),
    st.sampled_from(sorted(CLOSED_CLASS)),
    st.sampled_from(sorted(FUNCTION_TAGS | {"RB", "NN"})),
)
def test_polarity_shifters_and_closed_classes_are_never_inserted(
    word: str, closed: str, tag: str
) -> None:
    shipped = Lexicon.load()
    assert not shipped.is_neutral_insertion(word, tag, word)
    assert not shipped.is_neutral_insertion(word.upper(), tag, word)
    assert not shipped.is_neutral_insertion("weekly", tag, word)
    assert not shipped.is_neutral_insertion(f"half-{word}", tag, word)
    for content in ("NN", "NNS", "JJ", "VB", "VBZ"):
        assert not shipped.is_neutral_insertion(closed, content, closed)


@pytest.mark.shared_data
@needs_shared
def test_shipped_scores_match_the_formula() -> None:
    senses: defaultdict[tuple[str, str], list[tuple[int, float, float]]] = defaultdict(list)
    with zipfile.ZipFile(NLTK_DATA / "corpora" / "sentiwordnet.zip") as archive:
        text = archive.read("sentiwordnet/SentiWordNet_3.0.0.txt").decode()
    for line in text.splitlines():
        if not line.startswith("#"):
            letter, _, positive, negative, terms, _ = line.split("\t")
            for term in terms.split():
                word, _, rank = term.partition("#")
                senses[word, letter].append((int(rank), float(positive), float(negative)))
    shipped = Lexicon.load().entries
    letters: dict[Pos, str] = {"adj": "a", "noun": "n", "verb": "v", "adv": "r"}
    assert len(shipped) == sum("_" not in word for word, _ in senses)
    for (word, pos), entry in shipped.items():
        ranked = senses[word, letters[pos]]
        assert entry.score == pytest.approx(naive_score(ranked), abs=6e-5), (word, pos)
        assert entry.is_pure_neutral == all(p == n == 0 for _, p, n in ranked), (word, pos)
        assert (entry.score == 0) == (abs(naive_score(ranked)) < 1e-9), (word, pos)
