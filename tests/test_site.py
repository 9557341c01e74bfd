"""The leaderboard in a browser."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from made_up_results import make_outcomes, suite, write

from s2lct.files import sha256_of
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.results.comparison import compare, shown_p_value
from s2lct.leaderboard.results.standings import Leaderboard, Standing, collect
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.site.site import _CAPABILITY_SUFFIXES, build_site
from s2lct.leaderboard.site.words import BETTER_WORDS, FEW_PAIRS_WORDS, LEAD_WORDS
from s2lct.suite.capability_ids import is_capability_id

HOSTILE = (
    "</script><img src=x onerror=window.pwned=1><script>window.pwned=1</script>${window.pwned=1}"
)
FORMULA = "=HYPERLINK(0)"
# No result file may name a model so; what shows names bears them all the same.
NAMES = {f"org/{'x' * (len(name) - 4)}": name for name in (FORMULA, HOSTILE)}
ENDPOINT = EndpointUse(
    url="https://x.example/v1", model_reported="m", temperature=None, seed=None, max_tokens=9,
    requests=1, prompt_tokens=1, completion_tokens=1, first_day="2026-01-01", last_day="2026-01-01",
)  # fmt: skip
TODAY = datetime.now(timezone.utc).date().isoformat()
NOW, BEFORE = suite("1.1.0"), suite("1.0.0")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    now = NOW
    write("org/good", 0.05, now, folder, parameters=4_000_000, licence="mit")
    write("org/fair", 0.3, now, folder, parameters=110_000_000, licence="apache-2.0")
    formula, hostile = NAMES
    write(formula, 0.4, now, folder)
    write(hostile, 0.8, now, folder, licence="<u>mine</u>")
    write("org/older", 0.4, BEFORE, folder)
    return folder


@pytest.fixture(scope="module")
def collection(results: Path) -> Leaderboard:
    """The results, two of them under names that are harmful unless they are escaped."""
    found = collect(results, [NOW, BEFORE])

    def renamed(one: Standing) -> Standing:
        result = one.scored.result
        name = NAMES.get(result.model.name, result.model.name)
        model = result.model.model_copy(update={"name": name})
        scored = one.scored._replace(result=result.model_copy(update={"model": model}))
        return replace(one, scored=scored)

    return Leaderboard(
        tuple(replace(of, standings=tuple(map(renamed, of.standings))) for of in found.suites)
    )


@pytest.fixture(scope="module")
def site(collection: Leaderboard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    build_site(collection, out)
    return out


def address(site: Path, *route: str) -> str:
    return (site / "index.html").as_uri() + ("#/" + "/".join(route) if route else "")


def suite_id(site: Path) -> str:
    return json.loads((site / "leaderboard.json").read_text())[0]["suite_fingerprint"][:12]


@pytest.mark.browser
def test_the_board_ranks_the_newest_suite_alone(site: Path, visit: Any) -> None:
    board = visit(address(site))
    assert board.names() == ["org/good", "org/fair", FORMULA, HOSTILE]
    told = dict(zip(board.column(0), board.column(1), strict=True))
    assert [told.pop(name) for name in board.names()] == ["1", "2–3", "2–3", "4"]
    # What does not read the cases stands among them, unranked.
    assert told == {f"always-{one}": "–" for one in ("negative", "neutral", "positive")} | {
        "random": "–"
    }
    assert board.column(0)[-1] == HOSTILE
    told = board.tab.locator("main").inner_text()
    fingerprint = f"(fingerprint {suite_id(site)}), scored {TODAY}"
    assert f"4 models on suite made up 1.1.0 {fingerprint}: 120 cases (60 seeds" in told
    board.tab.get_by_role("link", name="suite made up 1.0.0, 1 model").click()
    board.tab.get_by_text("1 model on suite made up 1.0.0").wait_for()
    assert board.names() == ["org/older"]


@pytest.mark.browser
def test_columns_sort_both_ways_and_by_keyboard(site: Path, visit: Any) -> None:
    board = visit(address(site))
    board.tab.get_by_label("constant, random").uncheck()
    size = board.place("Size")
    for _ in range(2):
        board.tab.locator("thead th button").nth(size).focus()
        board.tab.keyboard.press("Enter")
        # Missing values stay last whichever way it goes.
        assert board.column(size)[2:] == ["–", "–"]
    board.tab.get_by_role("button", name="LC9").click()
    # The interval stands below the rate.
    rates = [float(text.split()[0]) for text in board.column(board.place("LC9,"))]
    assert rates == sorted(rates) and rates[0] < rates[-1]
    board.tab.get_by_role("button", name="LC9").click()
    again = [float(text.split()[0]) for text in board.column(board.place("LC9,"))]
    assert again == rates[::-1]


@pytest.mark.browser
def test_consistency_leads_the_board_where_there_are_contrasts(
    site: Path, tmp_path: Path, visit: Any
) -> None:
    of = suite("2.0.0")
    others = tuple(
        replace(case, id=f"{case.id}-c", kind="contrast", passes=frozenset({0}))
        for case in of.cases
        if (case.capability, case.kind) == ("LC4", "seed")
    )
    of = replace(of, contrasts=others)
    labels = [max(case.passes) for case in of.cases]
    worse = [
        1 if case.capability == "LC9" else label
        for case, label in zip(of.cases, labels, strict=True)
    ]
    for name, said in (
        ("org/reads", [*worse, *[0] * 15, *[2] * 5]),
        ("org/evades", [*labels, *[1] * 20]),
    ):
        write_result(make_outcomes(of, name=name, labels=said), tmp_path)
    build_site(collect(tmp_path, [of]), tmp_path / "site")
    board = visit(address(tmp_path / "site"))
    headings = board.tab.locator("thead th").all_inner_texts()
    number = headings.index("Consistency, macro ↑")
    assert number == 2
    text = " ".join(board.tab.locator("main").inner_text().split())
    assert f"{LEAD_WORDS}." in text and f"{BETTER_WORDS}." in text and f"{FEW_PAIRS_WORDS}." in text
    # A pair whose case alone the first model answers right stands beside its rank.
    pair = board.tab.locator("li.pair").first.inner_text()
    assert pair.count("org/reads predicted positive ✓") == 1
    assert "org/reads predicted positive ✗" in pair
    # org/evades fails fewer cases, and is the last of the models all the same.
    assert board.names() == ["org/reads", "org/evades"]
    told = dict(zip(board.column(0), board.column(number), strict=True))
    assert [told.pop(name).split()[0] for name in board.names()] == ["75.0", "0.0"]
    assert told == {f"always-{one}": "0.0" for one in ("negative", "neutral", "positive")} | {
        "random": "22.2"
    }
    # Columns and the plot show what ranks, failure rates behind a switch.
    assert "LC4, 20 pairs" in board.headings()[board.place("LC4,")] and "*" in str(board.headings())
    assert board.column(board.place("LC4,"))[0].split() == ["75.0", "53–89"]
    assert set(board.column(board.place("LC9,"))) == {"–"}
    figure = board.tab.locator("figure")
    assert "Consistency" in figure.locator("svg").get_attribute("aria-label")
    assert "random 22.2 %" in figure.inner_text()
    board.tab.get_by_label("Capabilities by").select_option("all")
    assert board.column(board.place("LC9,"))[0].split()[0] == "100.0"
    assert "Failure rate" in figure.locator("svg").get_attribute("aria-label")
    assert "best constant answer (always-negative) 33.3 %" in figure.inner_text()
    board.tab.get_by_label("Capabilities by").select_option("consistency")
    for name in ("org/reads", "org/evades"):
        board.tab.get_by_label(f"Compare {name}").check()
    board.tab.get_by_role("link", name="Compare the two").click()
    board.tab.get_by_text("better on 1, worse on 0, undecided on 0 by consistency").wait_for()
    board.tab.get_by_text("better on 0, worse on 1, undecided on 2 by failure rates").wait_for()
    board.tab.get_by_text(LEAD_WORDS, exact=False).first.wait_for()
    board.tab.go_back()
    board.tab.get_by_role("link", name="org/reads").click()
    board.tab.get_by_text("macro 75.0 % [").wait_for()
    headings = board.tab.locator("thead th").all_inner_texts()
    # Worst first, by what ranks; what has no contrasts stands behind.
    assert board.column(headings.index("Consistency ↑")) == ["75.0\n53–89", "–", "–"]
    assert board.column(headings.index("Pairs")) == ["20*", "–", "–"]
    assert "Consistency" not in visit(address(site)).tab.locator("body").inner_text()


def test_the_files_hold_the_figures_and_no_formula(site: Path) -> None:
    beside = list(csv.DictReader((site / "leaderboard.csv").open(encoding="utf-8", newline="")))
    table = pq.read_table(site / "leaderboard.parquet").to_pylist()
    assert table == json.loads((site / "leaderboard.json").read_text(encoding="utf-8"))
    # No capability may be called as a column beside its own.
    own = {f"{name}{end}" for name in ("LC4", "LC9", "LC10") for end in _CAPABILITY_SUFFIXES}
    assert not [name for name in {*table[0]} - own if is_capability_id(name)]
    assert (table[2]["model"], beside[2]["model"]) == (FORMULA, f"'{FORMULA}")
    assert len(table) == len(beside) == 5 + 2 * 4
    blind = {row["model"]: row for row in table if row["kind"] == "reference"}
    assert blind["random"]["failure_rate_macro"] == pytest.approx((1 / 3 + 2 / 3 + 2 / 3) / 3)
    assert blind["always-negative"]["chance_corrected"] == 0  # the best of them here


@pytest.mark.browser
def test_one_answer_and_chance_are_told_on_every_page(visit: Any, tmp_path: Path) -> None:
    of = suite("1.0.0")
    write_result(make_outcomes(of, name="org/no", labels=[0] * len(of.cases)), tmp_path / "in")
    write("org/good", 0.2, of, tmp_path / "in")
    build_site(collect(tmp_path / "in", [of]), tmp_path / "out")
    rows = json.loads((tmp_path / "out" / "leaderboard.json").read_text("utf-8"))
    one_answers = {row["model"]: row["one_answer"] for row in rows}
    assert one_answers["org/no"] == "negative" and one_answers["org/good"] is None
    board = visit(address(tmp_path / "out"))
    (row,) = [cell for cell in board.column(0) if "org/no" in cell]
    assert "answers negative to 100.0 % of the cases" in row
    plot = board.tab.locator("figure").inner_text()
    assert "best constant answer (always-negative) 33.3 %" in plot and "random 55.6 %" in plot
    board.tab.get_by_label("Capabilities by").select_option("seeds")
    good = next(row for row in rows if row["model"] == "org/good")
    assert board.column(board.place("LC4,"))[0] == f"{100 * good['LC4_seeds']:.1f}"
    board.tab.get_by_label("constant, random").uncheck()
    assert len(board.column(0)) == 2
    board.tab.get_by_role("link", name="org/no").click()
    board.tab.locator("h1", has_text="org/no").wait_for()
    facts = "\n".join(board.tab.locator("dl").all_inner_texts())
    assert "answers negative to 100.0 %" in facts
    assert "0.00 (1 is no failure, 0 is the best constant answer (always-negative), 33.3 %" in facts


@pytest.mark.browser
def test_two_models_are_compared_down_to_cases(
    site: Path, collection: Leaderboard, visit: Any
) -> None:
    board = visit(address(site))
    tab = board.tab
    tab.get_by_label("Compare org/good").check()
    tab.get_by_label("Compare org/older").wait_for(state="detached")
    tab.get_by_label(f"Compare {HOSTILE}").check()
    tab.get_by_role("link", name="Compare the two").click()
    tab.get_by_role("heading", name="org/good against").wait_for()
    (found, _) = collection.suites
    failed = {one.scored.result.model.name: one.scored.outcomes.failed for one in found.standings}
    cases, first, second = found.suite.cases, failed["org/good"], failed[HOSTILE]
    for row in tab.locator("tbody tr").all():
        cells = row.locator("td").all_inner_texts()
        told = compare(cases, first, second)
        one = told[cells[0].rpartition("(")[2].rstrip(")")]
        assert [int(cell) for cell in (cells[1], cells[4], cells[5])] == [
            one.case_count, one.first_only, one.second_only,
        ]  # fmt: skip
        assert float(cells[6]) == shown_p_value(one.adjusted_p_value)
        assert cells[7] == "org/good"
    assert "org/good: better on 3, worse on 0, undecided on 0" in tab.locator("main").inner_text()
    tab.get_by_role("button", name="Cases of LC9").click()
    only = tab.locator("section", has=tab.get_by_text("Only org/good fails")).first
    either = [
        n for n, case in enumerate(cases) if case.capability == "LC9" and first[n] and not second[n]
    ]
    assert f"({len(either)})" in only.inner_text()
    section = tab.locator("section", has_text=f"Only {HOSTILE} fails").first
    text = section.locator("li").first.inner_text()
    assert re.search(r"Sentence \d+ of LC9 & <b>more</b>\.", text)
    assert "org/good predicted negative" in text and "passes: negative" in text


@pytest.mark.browser
def test_a_capability_has_its_page(site: Path, visit: Any) -> None:
    board = visit(address(site, suite_id(site), "capability", "LC4"))
    tab = board.tab
    told = tab.locator("main").inner_text()
    assert "Negated negative" in told and "20 seeds, 20 expansions" in told
    assert "neutral or positive" in told
    best = tab.locator("section", has_text="Best models").locator("tbody tr").all_inner_texts()
    worst = tab.locator("section", has_text="Worst models").locator("tbody tr").all_inner_texts()
    assert best[0].startswith("org/good") and worst[0].startswith(HOSTILE)
    assert tab.locator("figure svg .rug").count() == 4
    assert tab.locator("mark").first.inner_text() == "Also"
    tab.get_by_role("link", name="LC9 →").click()
    tab.get_by_role("heading", name="LC9 Question and yes").wait_for()
    tab.go_back()
    tab.get_by_role("heading", name="LC4 Negated negative").wait_for()


@pytest.mark.browser
def test_a_model_has_its_page_and_a_wrong_address_says_so(site: Path, visit: Any) -> None:
    board = visit(address(site))
    board.tab.get_by_role("link", name=HOSTILE).click()
    board.tab.locator("h1", has_text=HOSTILE).wait_for()
    assert "<u>mine</u>" in "".join(board.tab.locator("dl").all_inner_texts())
    lost = visit(address(site, suite_id(site), "capability", "LC99"))
    assert "nothing under that address" in lost.tab.get_by_role("status").inner_text()
    assert len(lost.names()) == 4


@pytest.mark.browser
def test_a_phone_shows_a_card_a_model_and_scrolls_nothing_sideways(site: Path, visit: Any) -> None:
    board = visit(address(site), viewport={"width": 390, "height": 800})
    tab = board.tab
    for route in ("", f"#/{suite_id(site)}/capability/LC4"):
        tab.evaluate("route => { location.hash = route; }", route)
        tab.wait_for_timeout(100)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.evaluate("location.hash = ''")
    tab.get_by_role("region", name="Leaderboard").wait_for()
    cells = tab.locator("tbody tr").first.locator("td").all()
    boxes = [cell.bounding_box() for cell in cells]
    assert len(boxes) > 10
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    tab.get_by_text("Filter").click()
    tab.get_by_label("Order").select_option(label="Model")
    assert board.names() == sorted(board.names(), key=str.lower)


def test_the_page_holds_no_address_and_is_the_same_again(
    collection: Leaderboard, site: Path, tmp_path: Path
) -> None:
    build_site(collection, tmp_path)
    for file in site.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
    content = (site / "index.html").read_text(encoding="utf-8")
    assert "http://" not in content.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in content
    assert content.count("<script") == 2 and "<img" not in content


def weights(letter: str) -> dict[str, str]:
    return {"weights_sha256": letter * 64, "revision": letter * 40}


@pytest.mark.browser
def test_a_row_says_how_it_was_obtained_and_equal_names_are_told_apart(
    tmp_path: Path, visit: Any
) -> None:
    of = suite("1.0.0")
    write("org/model", 0.1, of, tmp_path / "1", licence="mit", **weights("a"))
    again = write("org/model", 0.2, of, tmp_path / "2", licence="mit", **weights("b"))
    write("0rg/mode1", 0.3, of, tmp_path, **weights("c"))
    write("Vad3r", 0.9, of, tmp_path, **weights("e"))
    served = {"endpoint": ENDPOINT, "revision": "", "weights_sha256": ""}
    write("org/served", 0.4, of, tmp_path, **served)
    build_site(collect(tmp_path, [of], {sha256_of(again)}), tmp_path / "site")
    board = visit(address(tmp_path / "site"))
    twins = [f"org/model [weights {letter * 8}]" for letter in "ab"]
    assert {*board.names()} == {*twins, "0rg/mode1", "org/served", "Vad3r"}
    text = board.tab.locator("main").inner_text()
    assert "looks like org/model" in text and "looks like 0rg/mode1" in text
    assert "looks like vader" in text  # though it is not on this board
    assert "asked every case" not in text and "How obtained says" in text
    board.tab.get_by_label("constant, random").uncheck()
    how = dict(zip(board.names(), board.column(board.place("How")), strict=True))
    assert how == {
        twins[0]: "as submitted",
        twins[1]: "rescored",
        "0rg/mode1": "as submitted",
        "Vad3r": "as submitted",
        "org/served": "endpoint",
    }
    # What nobody compared with the model is shown as a statement; an endpoint borrows no link.
    stated = board.tab.locator("tbody tr", has=board.tab.locator("td.stated"))
    assert stated.count() == 4
    links = board.tab.locator("a.hub").evaluate_all("links => links.map(link => link.href)")
    assert len(links) == 3 and not any(link.endswith("org/served") for link in links)
    board.tab.get_by_role("link", name=twins[0]).click()
    board.tab.get_by_role("heading", name="As the submitter states it").wait_for()
    board.tab.go_back()
    board.tab.get_by_role("link", name=twins[1]).click()
    board.tab.get_by_role("heading", name="Compared when the model was asked again").wait_for()
    rows = json.loads((tmp_path / "site" / "leaderboard.json").read_text("utf-8"))
    assert {row["obtained"] for row in rows} == {"as submitted", "rescored", "endpoint", None}


def test_texts_without_end_do_not_swell_the_page(tmp_path: Path) -> None:
    of = suite("1.0.0")
    of = replace(of, cases=tuple(replace(c, text=f"{c.text} {'x' * 9_000}") for c in of.cases))
    write("org/long", 0.5, of, tmp_path, licence="l" * 300, label_rule="r" * 9_000)
    build_site(collect(tmp_path, [of]), tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert len(page) < 250_000 and "x" * 500 not in page and "r" * 400 not in page


@pytest.mark.browser
def test_a_board_of_many_models_opens_at_once_and_stays_small(tmp_path: Path, visit: Any) -> None:
    of = suite("1.0.0")
    for number in range(250):
        write(f"org/m{number:03}", number / 250, of, tmp_path, licence="mit", **weights("a"))
    build_site(collect(tmp_path, [of]), tmp_path / "site")
    assert (tmp_path / "site" / "index.html").stat().st_size < 1_200_000
    board = visit(address(tmp_path / "site"))
    assert board.tab.locator("tbody tr").count() == 100
    assert "250 of 250 models" in board.tab.locator("main").inner_text()
    board.tab.get_by_role("button", name="Show more rows (154 left)").click()
    assert board.tab.locator("tbody tr").count() == 254
    board.tab.get_by_label("Find").fill("m249")
    assert board.names() == ["org/m249"]
