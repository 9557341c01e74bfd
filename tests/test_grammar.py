"""The reference grammar: counting productions, and the extensions of Algorithm 1."""

from __future__ import annotations

import zipfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk import Tree

from s2lct.builder.language.grammar import (
    WORD_TAGS,
    AnyWordAnywhere,
    Extension,
    ReferenceGrammar,
    base_label,
    is_word_tag,
    productions,
)
from s2lct.errors import GrammarError

SHARED = Path(__file__).parents[2] / "shared"
TREEBANK = SHARED / "nltk_data" / "corpora" / "treebank.zip"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no original files in {SHARED}")

SENTENCE = "( (S (NP-SBJ (PRP it)) (VP (VBZ works)) (. .)) )"


def grammar(**counts: int) -> ReferenceGrammar:
    """Noun phrases by their symbols joined with underscores."""
    return ReferenceGrammar({("NP", tuple(rhs.split("_"))): n for rhs, n in counts.items()})


def test_an_added_noun_completes_a_bare_determiner() -> None:
    assert grammar(DT=1, DT_NNS=2, NNS_DT=1, DT_NP=4).extensions("NP", ("DT",)) == (
        Extension(("DT", "NNS"), 0.25, ((1, "NNS"),)),
        Extension(("NNS", "DT"), 0.125, ((0, "NNS"),)),
    )


def test_a_repeated_symbol_gives_each_alignment() -> None:
    assert [e.added for e in grammar(DT_NN_NN=1).extensions("NP", ("DT", "NN"))] == [
        ((1, "NN"),),
        ((2, "NN"),),
    ]


def test_phrases_and_punctuation_are_not_added() -> None:
    reference = ReferenceGrammar(
        {("NP", ("NN", extra)): 1 for extra in ("PP", ",", ".", ":", "``", "''", "-LRB-", "SYM")}
    )
    assert reference.extensions("NP", ("NN",)) == ()


def test_max_masks() -> None:
    reference = grammar(DT_JJ_JJ_NN=1)
    assert reference.extensions("NP", ("NN",)) == ()
    assert [e.added for e in reference.extensions("NP", ("NN",), max_masks=3)] == [
        ((0, "DT"), (0, "JJ"), (0, "JJ"))
    ]
    assert reference.extensions("NP", ("DT", "JJ", "NN"), max_masks=0) == ()
    assert reference.extensions("VP", ("NN",)) == ()


symbols = st.sampled_from(["DT", "JJ", "NN", "NP", ","])
right_hand_sides = st.lists(symbols, min_size=1, max_size=6).map(tuple)


def brute_force(
    counts: dict[tuple[str, ...], int], seed: tuple[str, ...], max_masks: int
) -> set[Extension]:
    """Try every choice of places for the seed's symbols in every reference production."""
    found = set()
    for rhs, count in counts.items():
        if not 1 <= len(rhs) - len(seed) <= max_masks:
            continue
        for kept in combinations(range(len(rhs)), len(seed)):
            extra = [i for i in range(len(rhs)) if i not in kept]
            if tuple(rhs[i] for i in kept) == seed and all(is_word_tag(rhs[i]) for i in extra):
                added = tuple((sum(k < i for k in kept), rhs[i]) for i in extra)
                found.add(Extension(rhs, count / sum(counts.values()), added))
    return found


@given(
    st.dictionaries(right_hand_sides, st.integers(1, 5), min_size=1, max_size=15),
    right_hand_sides,
    st.sampled_from([0, 1, 2, 3, 4, None]),
)
def test_extensions_are_those_of_a_brute_force_search(
    counts: dict[tuple[str, ...], int], seed: tuple[str, ...], max_masks: int | None
) -> None:
    reference = ReferenceGrammar({("NP", rhs): count for rhs, count in counts.items()})
    seeds = [seed, *(rhs[:i] + rhs[i + 1 :] for rhs in counts for i in range(len(rhs)))]
    for rhs in filter(None, seeds):
        found = reference.extensions("NP", rhs, max_masks)
        assert len(set(found)) == len(found)
        assert set(found) == brute_force(counts, rhs, 6 if max_masks is None else max_masks)
        keys = [(-e.probability, e.reference_rhs, e.added) for e in found]
        assert keys == sorted(keys)
        for extension in found:
            rebuilt = list(rhs)
            for place, tag in reversed(extension.added):
                rebuilt.insert(place, tag)
            assert tuple(rebuilt) == extension.reference_rhs


def test_without_a_grammar_any_word_goes_anywhere() -> None:
    found = AnyWordAnywhere().extensions("NP", ("DT", "NN"), None)
    assert {extension.added for extension in found} == {
        ((place, tag),) for place in range(3) for tag in WORD_TAGS
    }
    assert {e.reference_rhs for e in found if e.added == ((1, "JJ"),)} == {("DT", "JJ", "NN")}


@pytest.mark.parametrize(
    ("label", "base"),
    [
        ("NP-SBJ", "NP"), ("NP=2", "NP"), ("NP-SBJ-1", "NP"), ("ADVP-TMP=3", "ADVP"),
        ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("-NONE-", "-NONE-"), ("PRP$", "PRP$"),
        ("``", "``"), ("", ""),
    ],
)  # fmt: skip
def test_base_label(label: str, base: str) -> None:
    assert base_label(label) == base


def test_word_tags() -> None:
    assert all(map(is_word_tag, ["DT", "PRP$", "VBZ", "WRB", "CD", "RP"]))
    assert not any(
        map(is_word_tag, ["NP", "S", ",", ".", "$", "#", "-RRB-", "LS", "SYM", "-NONE-"])
    )


def test_wrappers_and_words_are_left_out() -> None:
    expected = [("S", ("NP", "VP", ".")), ("NP", ("PRP",)), ("VP", ("VBZ",))]
    assert list(productions(SENTENCE)) == expected
    for wrapper in ("TOP", "ROOT"):
        assert (
            list(productions(Tree.fromstring(SENTENCE.replace("(", f"({wrapper}", 1)))) == expected
        )


def test_traces_and_emptied_nodes_are_left_out() -> None:
    tree = """
        (S (NP-SBJ-1 (DT the) (NN film))
           (VP (VBD was) (VP (VBN made) (NP (-NONE- *-1)) (SBAR (-NONE- 0) (S (-NONE- *T*-2)))))
           (-LRB- -LRB-) (. .))
    """
    assert list(productions(tree)) == [
        ("S", ("NP", "VP", "-LRB-", ".")),
        ("NP", ("DT", "NN")),
        ("VP", ("VBD", "VP")),
        ("VP", ("VBN",)),
    ]


def test_a_node_that_only_repeats_its_parent_is_left_out() -> None:
    tree = "(NP (NP-SBJ (NN film) (-NONE- *)) (PP (-NONE- *)))"
    assert list(productions(tree)) == [("NP", ("NN",))]


def test_probabilities_are_shares_of_the_left_hand_side() -> None:
    reference = ReferenceGrammar.from_trees(
        [SENTENCE, Tree.fromstring("(S (NP (NN film)) (VP (VBZ works)))"), "(NP (PRP it))"]
    )
    assert reference.probability("NP", ("PRP",)) == pytest.approx(2 / 3)
    assert reference.probability("NP", ("NN",)) == pytest.approx(1 / 3)
    assert reference.probability("NP", ("DT",)) == 0
    assert reference.probability("QP", ("CD",)) == 0
    assert len(reference) == 5


def test_loads_file_folder_and_zip(tmp_path: Path) -> None:
    (tmp_path / "combined").mkdir()
    file = tmp_path / "combined" / "a.mrg"
    file.write_text(f"\n{SENTENCE}\n{SENTENCE}\n", encoding="utf-8")
    (tmp_path / "README").write_text("Not trees.", encoding="utf-8")
    (tmp_path / "combined" / "notes.txt").write_text("Not trees either.", encoding="utf-8")
    archive_path = tmp_path / "corpora" / "treebank.zip"
    archive_path.parent.mkdir()
    with zipfile.ZipFile(archive_path, "w") as archive:
        archive.write(file, "treebank/combined/a.mrg")
        archive.writestr("treebank/parsed/a.prd", "(S (NP it) (VP works))")
    expected = ReferenceGrammar.from_trees([SENTENCE] * 2)
    for path in (file, tmp_path / "combined", archive_path, tmp_path):
        reference = ReferenceGrammar.load(path)
        assert reference.counts == expected.counts
        assert reference.fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("missing.mrg", None, "no reference trees at"),
        ("missing.parquet", None, "no grammar table at"),
        ("empty.mrg", b"", "no bracketed trees in"),
        ("words.mrg", b"(NP (NN film)", "brackets do not match"),
        ("prose.txt", b"Once upon a time", "not a bracketed tree"),
        ("untagged.prd", b"(S (NP the film) (VP works))", "without part-of-speech tags"),
        ("binary.mrg", b"\xff\xfe\xfa", "cannot read"),
        ("broken.parquet", b"PAR1 and no more", "cannot read"),
    ],
)
def test_bad_files_are_named(
    tmp_path: Path, name: str, content: bytes | None, problem: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GrammarError, match=problem) as caught:
        ReferenceGrammar.load(path)
    assert name in caught.value.problem
    assert "bracketed trees" in caught.value.hint


def test_bad_trees_are_named() -> None:
    with pytest.raises(GrammarError, match="not a bracketed tree"):
        ReferenceGrammar.from_trees(["(NP (NN film)"])
    with pytest.raises(GrammarError, match="no productions"):
        ReferenceGrammar.from_trees([])


def test_parquet_of_something_else() -> None:
    words = Path(__file__).parents[1] / "builder" / "data" / "sentiwordnet.parquet"
    with pytest.raises(GrammarError, match="not a grammar table"):
        ReferenceGrammar.load(words)


def test_shipped_grammar_extends_everyday_phrases() -> None:
    shipped = ReferenceGrammar.load()
    assert shipped is ReferenceGrammar.load()
    assert any(
        e.reference_rhs == ("DT", "NNS") and e.added == ((1, "NNS"),)
        for e in shipped.extensions("NP", ("DT",))
    )
    totals: dict[str, float] = {}
    for lhs, rhs in shipped.counts:
        totals[lhs] = totals.get(lhs, 0) + shipped.probability(lhs, rhs)
    assert all(total == pytest.approx(1) for total in totals.values())


@pytest.mark.shared_data
@needs_shared
def test_shipped_grammar_equals_the_treebank() -> None:
    original = ReferenceGrammar.load(TREEBANK)
    assert original.counts == ReferenceGrammar.load().counts
    assert original.fingerprint == ReferenceGrammar.load().fingerprint
