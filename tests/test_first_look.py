"""What somebody sees of the leaderboard in ten seconds, and what its address holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_results import make_outcomes, suite, write

from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.site.site import build_site
from s2lct.suite.cases import SuiteCases

COMMIT = "0123456789" * 4


def always(name: str, label: int, of: SuiteCases, folder: Path, **facts: Any) -> None:
    write_result(make_outcomes(of, name=name, labels=[label] * len(of.cases), **facts), folder)


@pytest.fixture(scope="module")
def of() -> SuiteCases:
    return suite("1.0.0")


@pytest.fixture(scope="module")
def site(of: SuiteCases, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five models; LC9 and LC10 are harder than LC4 for all but one."""
    results, out = (tmp_path_factory.mktemp(name) for name in ("results", "site"))
    write("org/good", 0.05, of, results, licence="apache-2.0")
    write("org/fair", 0.3, of, results, licence="Apache-2.0")
    for number, name in enumerate(("a/yes", "a/yes-yes")):
        always(name, 2, of, results, weights_sha256=f"{number}" * 64)
    always("a/hub", 1, of, results, revision=COMMIT)
    build_site(collect(results, [of]), out, "org/results")
    return out


def at(site: Path, *route: str, query: str = "") -> str:
    name = json.loads((site / "leaderboard.json").read_text())[0]["suite_fingerprint"][:12]
    path = "/".join([name, *route])
    return f"{(site / 'index.html').as_uri()}#/{path}{query}"


@pytest.mark.browser
def test_the_board_says_what_is_measured_and_gives_examples_hardest_first(
    site: Path, of: SuiteCases, visit: Any
) -> None:
    board = visit(at(site))
    # A line of text, and the table.
    assert board.tab.locator("tbody tr").first.bounding_box()["y"] < 500
    assert "s2lct publish results results/*.json --to org/results" in (
        board.tab.locator("pre").inner_text()
    )
    heads = [one for one in board.headings() if "LC" in one]
    order = [one.rpartition(",")[0].split(" ")[-1] for one in heads]
    assert sorted(order) == ["LC10", "LC4", "LC9"] and order[-1] == "LC4"
    assert "negated negative LC4, 40 cases" in board.headings()
    rows = json.loads((site / "leaderboard.json").read_text())
    models = [row for row in rows if row["kind"] == "model"]
    medians = {name: np.median([row[name] for row in models]) for name in order}
    assert [medians[name] for name in order] == sorted(medians.values(), reverse=True)
    cards = board.tab.locator(".cards li").all_inner_texts()
    assert [card.partition("(")[2].partition(")")[0] for card in cards] == order
    # The shipped capability's own words, a seed of it, and what passes.
    card = cards[-1]
    assert "A negated negative sentence should be positive or neutral." in card
    texts = [case.text for case in of.cases if case.capability == "LC4" and case.kind == "seed"]
    assert any(f"“{text}” → neutral or positive" in card for text in texts)


@pytest.mark.browser
def test_the_address_holds_sort_filter_and_choice_and_back_undoes_them(
    site: Path, visit: Any
) -> None:
    board = visit(at(site))
    tab = board.tab
    usual = board.names()
    tab.get_by_role("button", name="LC9").click()
    by_capability = board.names()
    tab.get_by_label("Licence").select_option("apache-2.0")
    assert board.names() == ["org/good", "org/fair"]
    tab.get_by_label("Find").press_sequentially("fai")
    tab.get_by_label("Compare org/fair").check()
    assert board.names() == ["org/fair"]
    # Somebody else opens the same address.
    other = visit(tab.url, allowed=(site / "index.html").as_uri())
    assert other.names() == ["org/fair"]
    assert other.tab.get_by_label("Compare org/fair").is_checked()
    assert other.tab.get_by_label("Find").input_value() == "fai"
    sorted_by = other.tab.locator("th[aria-sort=ascending]").inner_text()
    assert "LC9" in sorted_by
    # A step back each: the tick, the search (whatever was typed of it), the licence, the order.
    for names in (["org/fair"], ["org/good", "org/fair"], by_capability, usual):
        tab.go_back()
        tab.wait_for_timeout(50)
        assert board.names() == names
    # From a model's page the board comes back as it was left.
    tab.get_by_label("Find").fill("good")
    tab.get_by_role("link", name="org/good").click()
    tab.get_by_role("link", name="all models").click()
    tab.get_by_role("region", name="Leaderboard").wait_for()
    assert board.names() == ["org/good"]


@pytest.mark.browser
def test_a_model_page_begins_with_what_it_fails_most_and_ends_with_hashes(
    site: Path, visit: Any
) -> None:
    board = visit(at(site))
    board.tab.get_by_role("link", name="a/yes", exact=True).click()
    board.tab.locator("h1", has_text="a/yes").wait_for()
    assert board.tab.locator("h2").first.inner_text() == "What it fails most"
    worst = board.tab.locator("h3").all_inner_texts()
    assert [one.partition("): ")[2] for one in worst] == ["fails 100.0 %", "fails 100.0 %"]
    first = board.tab.locator("section", has=board.tab.locator("h3")).first.inner_text()
    assert "Sentence " in first and "predicted positive" in first
    facts = board.tab.locator("dl dt").all_inner_texts()
    assert facts[-4:] == ["Revision", "Weights (SHA-256)", "Scored", "SHA-256"]
    rates = [float(cell.split()[0]) for cell in board.column(1)]
    assert rates == sorted(rates, reverse=True)
