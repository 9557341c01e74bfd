"""The reference grammar: counting productions, and the extensions of Algorithm 1."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from compute_reference_grammar import compute, productions
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.language.grammar import (
    LongerProduction,
    ReferenceGrammar,
)
from s2lct.builder.language.tags import WORD_TAGS

SHARED = Path(__file__).parents[2] / "shared"
TREEBANK = SHARED / "nltk_data" / "corpora" / "treebank.zip"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no original files in {SHARED}")

symbols = st.sampled_from(["DT", "JJ", "NN", "NP", ","])
right_hand_sides = st.lists(symbols, min_size=1, max_size=6).map(tuple)


def brute_force(
    counts: dict[tuple[str, ...], int], seed: tuple[str, ...], max_masks: int
) -> set[LongerProduction]:
    """Try every choice of places for the seed's symbols in every reference production."""
    found = set()
    for rhs, count in counts.items():
        if not 1 <= len(rhs) - len(seed) <= max_masks:
            continue
        for kept in combinations(range(len(rhs)), len(seed)):
            extra = [i for i in range(len(rhs)) if i not in kept]
            if tuple(rhs[i] for i in kept) == seed and all(rhs[i] in WORD_TAGS for i in extra):
                added = tuple((sum(k < i for k in kept), rhs[i]) for i in extra)
                found.add(LongerProduction(rhs, count / sum(counts.values()), added))
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
        keys = [(-e.probability, e.reference_rhs, e.added_tags) for e in found]
        assert keys == sorted(keys)
        for extension in found:
            rebuilt = list(rhs)
            for place, tag in reversed(extension.added_tags):
                rebuilt.insert(place, tag)
            assert tuple(rebuilt) == extension.reference_rhs


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


@pytest.mark.shared_data
@needs_shared
def test_shipped_grammar_equals_the_treebank() -> None:
    counted = {
        (row["lhs"], tuple(row["rhs"])): row["count"] for row in compute(TREEBANK).to_pylist()
    }
    assert counted == ReferenceGrammar.load().counts
