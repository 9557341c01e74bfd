from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.errors import VersionError
from s2lct.suite.versions import Bump, Version, changelog_with, check_bump, compare

Rows = dict[str, list[dict[str, Any]]]


def case(number: int, capability: str, kind: str = "seed", **columns: Any) -> dict[str, Any]:
    return {
        "id": f"{number:016x}",
        "seed_id": f"{number:016x}",
        "capability": capability,
        "kind": kind,
        "text": f"Sentence {number}.",
        "labels": [number % 3],
        "label": number % 3,
        "template": "{S}",
        "sources": [],
        "masked_text": None,
        "production": None,
        "inserted": [],
        "score": None,
        "origin": "",
    } | columns


def suite() -> Rows:
    return {
        "LC4": [
            case(1, "LC4"),
            case(2, "LC4", "expansion", seed_id=f"{1:016x}", score=-1.5, origin="masked"),
            case(8, "LC4", "counterpart", seed_id=f"{1:016x}"),
        ],
        "LC9": [case(3, "LC9"), case(4, "LC9")],
    }


def bump_after(change: Any) -> tuple[Bump, list[str]]:
    changed = copy.deepcopy(suite())
    change(changed)
    comparison = compare(suite(), changed)
    return comparison.bump, list(comparison.changes)


def test_nothing_changed_is_a_patch() -> None:
    assert bump_after(lambda rows: None) == (Bump.PATCH, [])
    assert bump_after(lambda rows: rows["LC9"].reverse()) == (Bump.PATCH, [])


def test_added_cases_and_capabilities_are_minor() -> None:
    bump, lines = bump_after(lambda rows: rows["LC9"].append(case(5, "LC9", "expansion")))
    assert (bump, lines) == (Bump.MINOR, ["LC9: 1 expansion added"])
    bump, lines = bump_after(lambda rows: rows["LC9"].append(case(5, "LC9", "counterpart")))
    assert (bump, lines) == (Bump.MINOR, ["LC9: 1 counterpart added"])
    bump, lines = bump_after(lambda rows: rows.update(LC12=[case(6, "LC12"), case(7, "LC12")]))
    assert (bump, lines) == (Bump.MINOR, ["capability LC12 added", "LC12: 2 seeds added"])


def test_other_columns_are_minor() -> None:
    for column in ({"score": -2.0}, {"origin": "phrase"}):
        bump, lines = bump_after(lambda rows, column=column: rows["LC4"][1].update(column))
        assert bump is Bump.MINOR
        assert "LC4" in lines[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows["LC4"].pop(),
        lambda rows: rows.pop("LC9"),
        lambda rows: rows["LC4"][0].update(labels=[0], label=0),
        lambda rows: rows["LC4"][0].update(labels=[1, 2]),
        lambda rows: rows["LC4"][0].update(text="Another sentence."),
        lambda rows: rows["LC4"][1].update(seed_id=f"{3:016x}"),
        lambda rows: rows["LC4"][1].update(id="f" * 16),
        lambda rows: rows["LC4"][1].update(kind="counterpart"),
        lambda rows: rows["LC4"][2].update(labels=[0], label=0),
    ],
)
def test_what_makes_old_results_wrong_is_major(change: Any) -> None:
    bump, lines = bump_after(change)
    assert bump is Bump.MAJOR
    assert lines


def test_a_relabelled_case_is_named_with_both_labels() -> None:
    _, lines = bump_after(lambda rows: rows["LC4"][0].update(labels=[1, 2], label=2))
    assert lines == [f"LC4: {1:016x} relabelled from neutral to neutral or positive (positive)"]


def test_the_order_of_labels_means_nothing() -> None:
    before, after = suite(), suite()
    before["LC4"][0].update(labels=[1, 2])
    after["LC4"][0].update(labels=[2, 1])
    assert compare(before, after).bump is Bump.PATCH


numbers = st.integers(0, 10**6)
versions = st.builds(Version, numbers, numbers, numbers)


@given(versions)
def test_versions_read_back(version: Version) -> None:
    assert Version.read(str(version)) == Version.of_tag(version.tag) == version


@given(versions)
def test_bumps_rise_in_order(version: Version) -> None:
    patch, minor, major = (version.after(b) for b in (Bump.PATCH, Bump.MINOR, Bump.MAJOR))
    assert version < patch < minor < major


@pytest.mark.parametrize("text", ["", "1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.0.0\n"])
def test_other_texts_are_no_versions(text: str) -> None:
    with pytest.raises(VersionError):
        Version.read(text)
    assert Version.of_tag(text if not text.startswith("v") else text[1:]) is None


@given(versions, versions, st.sampled_from([0, 1, 2]))
def test_only_the_next_version_is_taken(last: Version, wanted: Version, change: int) -> None:
    changes = [
        lambda rows: None,
        lambda rows: rows["LC9"].append(case(5, "LC9")),
        lambda rows: rows["LC9"].pop(),
    ]
    changed = suite()
    changes[change](changed)
    comparison = compare(suite(), changed)
    right = last.after(comparison.bump)
    check_bump(last, right, comparison)
    if wanted != right:
        with pytest.raises(VersionError) as caught:
            check_bump(last, wanted, comparison)
        assert str(right) in caught.value.hint


def test_the_newest_entry_stands_first() -> None:
    first = changelog_with("", Version(1, 0, 0), None, ["LC4: 2 seeds"])
    both = changelog_with(first, Version(1, 1, 0), Bump.MINOR, ["LC4: 1 seed added"])
    assert both.startswith("# Changelog\n\n## 1.1.0\n")
    assert both.index("## 1.1.0") < both.index("- LC4: 1 seed added") < both.index("## 1.0.0")
    assert both.count("# Changelog") == 1
    assert both.rstrip().endswith("- LC4: 2 seeds")


def test_a_long_list_is_cut_and_says_so() -> None:
    before = {"LC4": [case(number, "LC4", labels=[0], label=0) for number in range(50)]}
    after = {"LC4": [case(number, "LC4", labels=[1], label=1) for number in range(50)]}
    lines = compare(before, after).changes
    assert len(lines) == 21
    assert lines[-1] == "and 30 more cases relabelled"
