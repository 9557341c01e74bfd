"""The table at the end of a build, in a terminal of the usual width."""

from __future__ import annotations

import io
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from s2lct.builder.write import CapabilityCounts
from s2lct.cli.closing_table import ClosingTable

WIDTH = 80
NAMES = [f"LC{number}" for number in range(1, 12)]


def shown(counts: dict[str, CapabilityCounts]) -> str:
    console = Console(width=WIDTH, file=io.StringIO(), record=True, markup=False, highlight=False)
    console.print(ClosingTable(counts))
    return console.export_text()


def all_numbers(counts: dict[str, CapabilityCounts]) -> set[str]:
    return {
        f"{getattr(count, field.name):,}"
        for count in counts.values()
        for field in fields(count)
        if getattr(count, field.name)
    }


def test_a_default_build_fits_in_one_table() -> None:
    # The largest counts of a default build, for all alike.
    largest = CapabilityCounts(
        found=2_000,
        seeds=100,
        suggestions=69_420,
        rejected_specification=25_591,
        duplicates=37,
        expansions=400,
        counterparts=100,
    )
    text = shown(dict.fromkeys(NAMES, largest))
    assert text.count("S²LCT suite") == 1
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "763,620" in text
    for word in ("found", "seeds", "tried", "broken", "expansions", "counter-"):
        assert word in text
    for word in ("masked", "speech", "neutral", "unlikely"):
        assert word not in text


def test_a_build_of_the_paper_form_fits_in_one_table() -> None:
    largest = CapabilityCounts(644, 50, 2_314, 69_420, 1_705, 0, 25_591, 43_529, 0, 255)
    text = shown(dict.fromkeys(NAMES, largest))
    assert text.count("S²LCT suite") == 1
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "763,620" in text
    for word in ("found", "seeds", "masked", "speech", "unlikely", "expansions"):
        assert word in text
    assert "neutral" not in text
    assert "counter-" not in text


@given(
    st.lists(
        st.builds(CapabilityCounts, *[st.integers(0, 9_999_999)] * len(fields(CapabilityCounts))),
        min_size=1,
        max_size=11,
    )
)
def test_no_number_and_no_word_is_broken(rows: list[CapabilityCounts]) -> None:
    counts = dict(zip(NAMES, rows, strict=False))
    text = shown(counts)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert all_numbers(counts) <= set(re.findall(r"[\d,]*\d", text))
    assert "…" not in re.sub(r"speech\s+…\s+unlikely", "", text)


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("counterparts", "counter-"),
        ("duplicates", "twice"),
        ("masked", "masked"),
        ("rejected_part_of_speech", "speech"),
        ("rejected_not_neutral", "neutral"),
        ("rejected_sentiment", "sentiment"),
    ],
)
def test_what_never_happened_has_no_column(field: str, word: str) -> None:
    assert word not in shown({"LC1": CapabilityCounts(found=1)})
    assert word in shown({"LC1": CapabilityCounts(found=1, **{field: 1})})
