"""Which version of a suite is due after which change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.errors import PublishError
from s2lct.suite.versions import (
    Bump,
    compare,
    next_version,
    read_version,
    tag_of,
    version_of_tag,
)

Rows = dict[str, list[dict[str, Any]]]


def case(number: int, capability: str, kind: str = "seed", **columns: Any) -> dict[str, Any]:
    id = f"{number:016x}"
    about = {"id": id, "seed_id": id, "capability": capability, "kind": kind}
    labels = {"labels": [number % 3], "label": number % 3}
    return about | labels | {"text": f"Sentence {number}.", "score": None, "origin": ""} | columns


SUITE: Rows = {
    "LC4": [
        case(1, "LC4"),
        case(2, "LC4", "expansion", seed_id=f"{1:016x}", score=-1.5, origin="masked"),
        case(8, "LC4", "contrast", seed_id=f"{1:016x}"),
    ],
    "LC9": [case(3, "LC9"), case(4, "LC9", labels=[1, 2])],
}


def after(change: Callable[[Rows], object]) -> tuple[Bump, list[str]]:
    changed = copy.deepcopy(SUITE)
    change(changed)
    return compare(SUITE, changed)


@pytest.mark.parametrize(
    "change",
    [lambda rows: rows["LC9"].reverse(), lambda rows: rows["LC9"][1].update(labels=[2, 1])],
)
def test_the_order_means_nothing(change: Callable[[Rows], object]) -> None:
    assert after(change)[0] is Bump.PATCH


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda rows: rows["LC9"].append(case(5, "LC9", "expansion")), ["LC9: 1 expansion added"]),
        (
            lambda rows: rows.update(LC12=[case(6, "LC12"), case(7, "LC12")]),
            ["capability LC12 added", "LC12: 2 seeds added"],
        ),
        (
            lambda rows: rows["LC4"][1].update(origin="phrase"),
            ["LC4: 1 expansion described or annotated anew"],
        ),
    ],
)
def test_what_comes_to_it_is_minor(change: Callable[[Rows], object], lines: list[str]) -> None:
    assert after(change) == (Bump.MINOR, lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows["LC4"].pop(),
        lambda rows: rows.pop("LC9"),
        lambda rows: rows["LC4"][0].update(labels=[0], label=0),
        lambda rows: rows["LC9"][1].update(label=2),
        lambda rows: rows["LC4"][0].update(text="Another sentence."),
        lambda rows: rows["LC4"][1].update(seed_id=f"{3:016x}"),
        lambda rows: rows["LC4"][1].update(id="f" * 16),
        lambda rows: rows["LC4"][1].update(kind="contrast"),
    ],
)
def test_what_makes_old_results_wrong_is_major(change: Callable[[Rows], object]) -> None:
    bump, lines = after(change)
    assert bump is Bump.MAJOR
    assert lines


NUMBERS = st.integers(0, 10**6)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_versions_read_back_and_rise_in_order(major: int, minor: int, patch: int) -> None:
    version = read_version(f"{major}.{minor}.{patch}")
    assert version_of_tag(tag_of(version)) == read_version(str(version)) == version
    rising = [next_version(version, bump) for bump in (Bump.PATCH, Bump.MINOR, Bump.MAJOR)]
    assert version < rising[0] < rising[1] < rising[2]


@pytest.mark.parametrize("text", ["", "1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.0.0\n"])
def test_other_texts_are_no_versions(text: str) -> None:
    with pytest.raises(PublishError):
        read_version(text)
    assert version_of_tag(text.removeprefix("v") if text != "v1.0.0" else "1.0.0") is None
