"""Verdicts, the traps among them, the file that keeps them, and how far readers agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.curation.language_models import verdicts_in
from s2lct.builder.curation.sheets import Candidate, unread, with_traps
from s2lct.builder.curation.verdicts import (
    Grades,
    Verdict,
    VerdictFile,
    Verdicts,
    agreement,
    trap_of,
)
from s2lct.errors import S2lctError
from s2lct.identity import content_id
from s2lct.suite.annotation import Item

IDS = [content_id("verdict", str(number)) for number in range(40)]
LABELS = ("negative", "neutral", "positive")


def verdict(id: str, reader: str, label: str = "neutral", natural: int = 2) -> Verdict:
    return Verdict(id=id, reader=reader, label=label, natural=natural)  # type: ignore[arg-type]


VERDICTS = st.lists(
    st.builds(
        verdict,
        st.sampled_from(IDS[:4]),
        st.sampled_from("abc"),
        st.sampled_from([*LABELS, "mixed"]),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(VERDICTS, st.sampled_from(["2+2", "2+1"]))
def test_what_passed_is_never_read_again_nor_what_was_refused(
    given: list[Verdict], grades: Grades
) -> None:
    verdicts = Verdicts(given, grades)
    needed = 4 if grades == "2+2" else 3
    candidates = [Candidate(Item(id=id, text="A film."), {"neutral"}) for id in IDS[:4]]
    left = {item.id for item in unread(candidates, verdicts)}
    for id in IDS[:4]:
        found = verdicts.of(id)
        if verdicts.passes(id, {"neutral"}):
            assert len(found) >= 2
            assert {one.label for one in found} == {"neutral"}
            assert sum(sorted(one.natural for one in found)[-2:]) >= needed
            assert id not in left
        if any(one.natural == 0 or one.label != "neutral" for one in found):
            assert id not in left
        elif len(found) < 2:
            # One reader more can give a 2.
            assert (id in left) == (sum(one.natural for one in found) + 2 >= needed or not found)
    for reader in "abcd":
        for item in unread(candidates, verdicts, reader):
            assert item.id in left
            assert reader not in {one.reader for one in verdicts.of(item.id)}


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
    originals = {trap_of(item.id): item for item in items}
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


def test_the_verdicts_of_a_careless_reader_do_not_count() -> None:
    def file_of(passed: int, traps: int) -> list[Verdict]:
        own = [verdict(id, "a") for id in IDS]
        return own + [
            verdict(trap_of(id), "a", natural=2 if number < passed else 0)
            for number, id in enumerate(IDS[:traps])
        ]

    others = [verdict(id, "b") for id in IDS]
    for passed, traps, careless in [(1, 2, False), (2, 2, True), (2, 20, False), (3, 29, True)]:
        verdicts = Verdicts([*file_of(passed, traps), *others])
        assert verdicts.careless == (["a"] if careless else [])
        assert (verdicts.care["a"].passed, verdicts.care["a"].traps) == (passed, traps)
        assert verdicts.passes(IDS[0], {"neutral"}) is not careless
        assert [one.reader for one in verdicts.of(IDS[0])] == (["b"] if careless else ["a", "b"])
        assert set(verdicts) == set(IDS)


def test_who_reads_a_file_is_told_who_was_careless(tmp_path: Path) -> None:
    file = VerdictFile(tmp_path / "verdicts.jsonl")
    file.append([verdict(id, "Ada") for id in IDS])
    file.append([verdict(trap_of(id), "Ada") for id in IDS[:3]])
    with pytest.warns(UserWarning, match="Ada called 3 of 3 broken sentences natural"):
        assert not list(Verdicts.read([file.path]))


@given(VERDICTS, VERDICTS, st.data())
def test_a_file_that_was_cut_loses_the_cut_line_alone(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[Verdict],
    more: list[Verdict],
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("cut") / "verdicts.jsonl"
    VerdictFile(path).append(first)
    content = path.read_bytes()
    kept = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:kept])
    file = VerdictFile(path)
    whole = content[:kept].count(b"\n")
    assert file.all[:whole] == first[:whole]
    assert len(file.all) - whole in (0, 1)  # all but its end of line may be there
    before = list(file.all)
    file.append(more)
    assert VerdictFile(path).all == [*before, *more]


@pytest.mark.parametrize("content", ["text,label\nDull.,0", '{"id": 1}\n{"id": "', "Half a li"])
def test_a_file_that_is_none_of_verdicts_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(content)
    with pytest.raises(S2lctError, match=r"reviews\.csv, line 1"):
        VerdictFile(path)
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
    read = {one.id: (one.label, one.natural) for one in verdicts_in(answer, items, "m")}
    assert read == {IDS[place]: given for place, given in found.items()}


def test_of_a_case_a_model_must_say_whether_it_is_relevant() -> None:
    items = [Item(id=id, text="A film.", description="negation") for id in IDS[:3]]
    read = verdicts_in("1 pos 2\n1\n2 pos 2 1\n3 neu 1 0", items, "m")
    assert [(one.id, one.relevant) for one in read] == [(IDS[1], True), (IDS[2], False)]


@given(st.text("0123 negposmix|.\n", max_size=80))
def test_no_answer_breaks_the_reading(answer: str) -> None:
    items = [Item(id=id, text="A film.") for id in IDS[:3]]
    read = verdicts_in(answer, items, "m")
    assert len({one.id for one in read}) == len(read)


def naive_alpha(units: Sequence[Sequence[str]]) -> float:
    """Nominal alpha: one minus observed by expected disagreement, over pairs of values."""
    values = [value for unit in units for value in unit]
    observed = sum(
        2 * sum(a != b for a, b in combinations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(values)
    different = sum(a != b for a, b in combinations(values, 2))
    return 1 - observed / (different / (len(values) * (len(values) - 1) / 2))


@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=2, max_size=len(IDS)
    ).filter(lambda pairs: len({label for pair in pairs for label in pair}) > 1)
)
def test_agreement_of_two_readers(pairs: list[tuple[str, str]]) -> None:
    given = [
        verdict(id, reader, label)
        for id, labels in zip(IDS, pairs, strict=False)
        for reader, label in zip(("a", "b"), labels, strict=True)
    ]
    alone = verdict(content_id("read by one"), "a", "positive")
    found = agreement(Verdicts([*given, alone]))
    assert found.verdicts == {"a": len(pairs) + 1, "b": len(pairs)}
    assert found.shared == len(pairs)
    assert found.same_label == sum(a == b for a, b in pairs) / len(pairs)
    assert found.alpha_label == pytest.approx(naive_alpha(pairs))
    assert (found.same_grade, found.alpha_natural) == (1, None)


def test_agreement_is_shown(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from s2lct.cli.main import app

    path = tmp_path / "verdicts.jsonl"
    rows = [("a", "neutral", 2), ("b", "neutral", 1), ("a", "positive", 2), ("b", "positive", 2)]
    given = [
        verdict(IDS[number // 2], reader, label, natural)
        for number, (reader, label, natural) in enumerate(rows)
    ]
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in given))
    shown = CliRunner().invoke(app, ["agreement", str(path)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    cells = [line.split() for line in shown.output.splitlines()]
    assert ["label", "100.0", "1.00"] in cells
    assert ["natural", "50.0", "0.00"] in cells
    path.write_text(json.dumps({"id": "x"}))
    failed = CliRunner().invoke(app, ["agreement", str(path)], env={"COLUMNS": "200"})
    assert failed.exit_code == 1
    assert "verdicts.jsonl, line 1: id" in failed.output
