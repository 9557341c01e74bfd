"""No two models are called the same beside each other, and names that look alike are found."""

from __future__ import annotations

from typing import Any

import made_up_results
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.leaderboard.results.read_results import read_result
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.shown_names import ShownNames, look_alikes

SUITE = made_up_results.suite("1.0.0", seeds=2)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return read_result(made_up_results.write("./model", 0.2, SUITE, tmp_path_factory.mktemp("r")))


def variant(result: Result, date: str = "", **model: Any) -> Result:
    changed = result.model_copy(update={"model": result.model.model_copy(update=model)})
    return changed.model_copy(update={"date": date or result.date})


def test_equal_names_are_told_apart_by_their_weights(result: Result) -> None:
    weights = ("a" * 64, "b" * 64)
    results = [variant(result, weights_sha256=of) for of in weights]
    names = ShownNames([*results, variant(result, name="other")])
    assert [*map(names, results)] == [
        "./model [weights aaaaaaaa]",
        "./model [weights bbbbbbbb]",
    ]
    assert ShownNames(results[:1])(results[0]) == "./model"  # alone it needs no more
    long = [variant(result, name=f"./{'x' * 4_000}{n}", revision=f"r{n}") for n in range(2)]
    assert [len(name) < 250 for name in {*map(ShownNames(long), long)}] == [True, True]


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(["vader", "a/b"]),
                "weights_sha256": st.sampled_from(["", "a" * 64, "b" * 64]),
                "revision": st.sampled_from(["", "r1", "r2"]),
                "date": st.sampled_from(["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"]),
            }
        ),
        max_size=8,
    )
)
def test_no_two_are_called_the_same(result: Result, facts: list[dict[str, str]]) -> None:
    results = [variant(result, **each) for each in facts]
    names = ShownNames(results)
    assert len({*map(names, results)}) == len(results)
    assert all(names(each).startswith(each.model.name) for each in results)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("org/model", "0rg/model"),
        ("org/model", "org/mode1"),
        ("cardiffnlp/roberta", "cardiffn1p/roberta"),
        ("org/tiny", "ORG/tlny"),
        ("org/modern", "org/modem"),
        ("org/viewer", "org/vievver"),
        ("org/my-model", "org/my_model"),
        ("vader", "Vad3r"),
        ("always-neutral", "a1ways-neutra1"),
    ],
)
def test_names_that_look_alike_are_found(name: str, other: str) -> None:
    assert look_alikes([name, other, name]) == {name: other, other: name}


def test_names_that_differ_are_no_look_alikes() -> None:
    names = ["org/model", "org/models", "org2/model", "bert-v2", "bert-v3", "vader", "t5", "t6"]
    assert look_alikes(names) == {}
