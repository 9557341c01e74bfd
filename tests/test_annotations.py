"""Annotations, the traps among them, and the file that keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.annotations import (
    Annotation,
    AnnotationFile,
    Annotations,
    read_index,
    write_index,
)
from s2lct.builder.config import SHIPPED_ANNOTATIONS
from s2lct.builder.curation.language_models import annotations_in
from s2lct.builder.curation.sheets import Candidate, items_to_annotate
from s2lct.errors import BuildError, S2lctError
from s2lct.identity import content_id
from s2lct.suite.annotation import Item, trap_id_of, with_traps

IDS = [content_id("verdict", str(number)) for number in range(40)]
LABELS = ("negative", "neutral", "positive")


def annotation(id: str, annotator: str, label: str = "neutral", natural: int = 2) -> Annotation:
    return Annotation(id=id, annotator=annotator, label=label, natural=natural)  # type: ignore[arg-type]


GIVEN = st.lists(
    st.builds(
        annotation,
        st.sampled_from(IDS[:4]),
        st.sampled_from("abc"),
        st.sampled_from([*LABELS, "mixed"]),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(GIVEN)
def test_what_passed_is_never_read_again_nor_what_was_refused(given: list[Annotation]) -> None:
    annotations = Annotations(given)
    candidates = [Candidate(Item(id=id, text="A film."), {"neutral"}) for id in IDS[:4]]
    left = {item.id for item in items_to_annotate(candidates, annotations)}
    for id in IDS[:4]:
        found = annotations.of(id)
        grades = sorted(each.natural for each in found)
        refused = any(each.natural < 2 or each.label != "neutral" for each in found)
        assert annotations.accepts(id, {"neutral"}) == (grades[-2:] == [2, 2] and not refused)
        # One annotator more can give a 2, and a third who does not takes it back.
        assert (id in left) == (grades in ([], [2]) and not refused)
    for annotator in "abcd":
        for item in items_to_annotate(candidates, annotations, annotator):
            assert item.id in left
            assert annotator not in {each.annotator for each in annotations.of(item.id)}


TEXTS = st.lists(
    st.lists(st.sampled_from(["the", "a", "film", "of", "town", "dull"]), min_size=1, max_size=12),
    min_size=1,
    max_size=60,
    unique_by=tuple,
).map(lambda texts: [Item(id=content_id(*words), text=" ".join(words)) for words in texts])


@given(TEXTS, st.integers(0, 9))
def test_a_trap_is_a_text_with_three_words_turned_round(items: list[Item], seed: int) -> None:
    sheet = with_traps(items, seed)
    assert with_traps(items, seed) == sheet
    originals = {trap_id_of(item.id): item for item in items}
    traps = [item for item in sheet if item.id in originals]
    assert sorted(item.id for item in sheet if item not in traps) == sorted(i.id for i in items)
    for trap in traps:
        own = originals[trap.id].text.split()
        changed = [n for n, (a, b) in enumerate(zip(own, trap.text.split(), strict=True)) if a != b]
        assert len(changed) == 2
        assert changed[1] - changed[0] == 2
        assert changed[1] < len(own) - 1
        assert sorted(own) == sorted(trap.text.split())
    if sum(len({*item.text.split()[1:-1]}) > 4 for item in items) >= 2:
        assert len(traps) >= 2


def test_the_annotations_of_a_careless_annotator_do_not_count() -> None:
    def file_of(passed: int, traps: int) -> list[Annotation]:
        own = [annotation(id, "a") for id in IDS]
        return own + [
            annotation(trap_id_of(id), "a", natural=2 if number < passed else 0)
            for number, id in enumerate(IDS[:traps])
        ]

    others = [annotation(id, "b") for id in IDS]
    for passed, traps, careless in [(1, 2, False), (2, 2, True), (2, 20, False), (3, 29, True)]:
        annotations = Annotations([*file_of(passed, traps), *others])
        assert list(annotations.careless) == (["a"] if careless else [])
        assert annotations.accepts(IDS[0], {"neutral"}) is not careless
        assert [one.annotator for one in annotations.of(IDS[0])] == (
            ["b"] if careless else ["a", "b"]
        )
        assert set(annotations) == set(IDS)


def test_a_file_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    AnnotationFile(path).append([annotation(IDS[0], "a")])
    path.write_bytes(path.read_bytes().rstrip())  # an editor took the end of the line
    AnnotationFile(path).append([annotation(IDS[0], "b")])
    assert [one.annotator for one in AnnotationFile(path).all] == ["a", "b"]


@pytest.mark.parametrize("content", ["text,label\nDull.,0", '{"id": 1}\n', "Half a li"])
def test_a_file_that_is_none_of_annotations_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(content)
    with pytest.raises(S2lctError, match=r"reviews\.csv.* line 1"):
        AnnotationFile(path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("1 pos 2\n2 neg 0", {0: ("positive", 2), 1: ("negative", 0)}),
        ("Here you are:\n1. positive, 1\n| 2 | neu | 2 |", {0: ("positive", 1), 1: ("neutral", 2)}),
        ("1 pos 0\n\nOn reflection:\n1 mix 1", {0: ("mixed", 1)}),
        ("1 pos 3\n0 pos 2\n3 pos 2\n99999999999999999999 pos 2\npos 2\n1", {}),
    ],
)
def test_answers_of_models_are_read_line_by_line(
    answer: str, found: dict[int, tuple[str, int]]
) -> None:
    items = [Item(id=id, text="A film.") for id in IDS[:2]]
    read = {one.id: (one.label, one.natural) for one in annotations_in(answer, items, "m")}
    assert read == {IDS[place]: given for place, given in found.items()}


def test_agreement_is_of_what_two_annotated() -> None:
    given = [("a", "neutral", 2), ("b", "neutral", 1), ("a", "positive", 2), ("b", "negative", 2)]
    both = [annotation(IDS[n // 2], *each) for n, each in enumerate(given)]
    alone = annotation(IDS[5], "a")
    assert Annotations([*both, alone]).agreement() == (2, 0.5, 0.5)


def test_what_was_reached_is_known_of_these_annotations_alone(tmp_path: Path) -> None:
    path = tmp_path / "read.jsonl"
    AnnotationFile(path).append([annotation(IDS[0], "a"), annotation(IDS[0], "b")])
    assert Annotations.read([path]).index is None
    write_index(path, [IDS[1]])
    assert Annotations.read([path]).index == {IDS[1]}
    AnnotationFile(path).append([annotation(IDS[3], "a")])
    assert Annotations.read([path]).index is None


def test_what_was_reached_is_known_of_the_shipped_annotations() -> None:
    """``python scripts/index_annotations.py`` writes it anew; without it builds take longer."""
    assert read_index(SHIPPED_ANNOTATIONS) is not None


def test_new_annotations_stand_beside_those_in_parquet_not_in_them(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    known = AnnotationFile(path, [SHIPPED_ANNOTATIONS]).all
    AnnotationFile(path).append([annotation(IDS[0], "a")])
    assert len(AnnotationFile(path, [SHIPPED_ANNOTATIONS]).all) == len(known) + 1
    with pytest.raises(BuildError, match="is only read"):
        AnnotationFile(SHIPPED_ANNOTATIONS)
