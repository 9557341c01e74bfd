"""Word sentiment: the score, pure neutrality, lookups and which words are safe to insert."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from compute_lexicon import entries_from_text
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.language import lexicon as lexicon_module
from s2lct.builder.language.lexicon import (
    CLOSED_CLASS,
    FUNCTION_TAGS,
    POLARITY_SHIFTERS,
    Entry,
    Lexicon,
    Pos,
    is_polarity_shifter,
)

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


@pytest.mark.parametrize(
    ("word", "pos", "sentiment", "pure"),
    [
        ("fine", "adj", "positive", False),
        ("thin", "adj", "negative", False),
        ("wooden", "adj", "neutral", True),
        ("mixture", "noun", "neutral", False),
        ("third", "noun", "neutral", False),
        ("REEL", "noun", "neutral", True),
        ("reel", "verb", "negative", False),
        ("wooden", "noun", None, None),
        ("cappella", "noun", None, None),
    ],
)
def test_lookup(lexicon: Lexicon, word: str, pos: Pos, sentiment: str, pure: bool) -> None:
    assert lexicon.sentiment(word, pos) == sentiment
    entry = lexicon.entries.get((word.lower(), pos))
    assert (entry and entry.pure_neutral) is pure
    assert (lexicon.score(word, pos) is None) == (sentiment is None)


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
        ("moans", "NNS", "moan", True),
        ("wooden", "JJ", "wooden", True),
        ("weekly", "RB", "weekly", True),
        ("mixture", "NN", "mixture", False),
        ("fine", "JJ", "fine", False),
        ("unlisted", "NN", "unlisted", False),
        ("saw", "VBD", "see", False),
        ("reel", "NN", "reel", False),
        ("spool", "NN", "spool", True),
        ("it", "NN", "it", False),
        ("n", "NN", "n", False),
        ("his", "NN", "moan", False),
        ("", "NN", "moan", False),
        ("barely", "RB", "barely", False),
        ("the", "DT", "the", True),
        ("with", "IN", "with", True),
        ("He\u2019s", "PRP", "he", False),
        ("fine", "DT", "fine", False),
        ("without", "IN", "without", False),
        ("would", "MD", "would", False),
        ("twenty-one", "CD", "twenty-one", True),
        ("1,200", "CD", "1,200", True),
        ("zero", "CD", "zero", False),
        ("Paris", "NNP", "paris", False),
        ("oh", "UH", "oh", False),
        (",", ",", ",", False),
    ],
)
def test_neutral_insertion(lexicon: Lexicon, word: str, tag: str, lemma: str, safe: bool) -> None:
    assert lexicon.is_neutral_insertion(word, tag, lemma) is safe


@pytest.mark.parametrize(
    ("word", "tag", "lemma", "is_neutral"),
    [
        ("ways", "NNS", "way", True),
        ("pleasures", "NNS", "pleasure", False),
        ("disasters", "NNS", "disaster", False),
        ("zzyzx", "NN", "zzyzx", False),
        ("no", "DT", "no", True),
        ("Paris", "NNP", "paris", False),
        ("oh", "UH", "oh", False),
    ],
)
def test_the_papers_neutrality_is_a_score_of_0(
    word: str, tag: str, lemma: str, is_neutral: bool
) -> None:
    assert Lexicon.load().is_neutral(word, tag, lemma) is is_neutral


def test_weak_sentiment_as_another_part_of_speech_is_let_through() -> None:
    entries: dict[tuple[str, Pos], Entry] = {
        ("cut", "noun"): Entry(0.0, True, 1),
        ("cut", "verb"): Entry(-0.2499, False, 2),
    }
    assert Lexicon(entries).is_neutral_insertion("cut", "NN", "cut")
    entries["cut", "verb"] = Entry(-0.25, False, 2)
    assert not Lexicon(entries).is_neutral_insertion("cut", "NN", "cut")


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
    for content in ("NN", "NNS", "JJ", "VB", "VBZ"):
        assert not shipped.is_neutral_insertion(closed, content, closed)


@pytest.mark.parametrize(
    "word", ["didn't", "Didn\u2019t", "n't", "so-called", "anti-war", "half-baked"]
)
def test_contractions_and_compounds_shift_polarity(word: str) -> None:
    assert is_polarity_shifter(word)


DATA = Path(lexicon_module.__file__).parents[1] / "data"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.*")), ids=lambda path: path.name)
def test_every_file_of_data_names_its_source(path: Path) -> None:
    licences = (Path(__file__).parents[1] / "THIRD_PARTY.md").read_text(encoding="utf-8")
    head = path.read_bytes()[:400].decode("utf-8", "replace")
    assert f"builder/data/{path.name}" in licences or "# Source: " in head


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
        assert entry.pure_neutral == all(p == n == 0 for _, p, n in ranked), (word, pos)
        assert (entry.score == 0) == (abs(naive_score(ranked)) < 1e-9), (word, pos)
