"""Blind forms for raters, and what their answers say."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.study.agreement import (
    alpha_estimate,
    disputed_cases,
    disputed_json,
    evaluate,
    label_of,
    mean_estimate,
)
from s2lct.analysis.study.answers import Answer, read_answers
from s2lct.analysis.study.form import (
    Key,
    KeyItem,
    Study,
    descriptions_for_raters,
    draw,
    form_csv,
    form_html,
    read_key,
    suite_titles,
    write_study,
)
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_cases
from s2lct.suite.exclude import read_excluded

RUNNER = CliRunner(env={"COLUMNS": "200"})
DESCRIPTIONS = descriptions_for_raters()
TITLES = {one.id: one.title for one in load_capabilities()}
HOSTILE = (
    "</script><script>document.title='broken'</script><img src=x onerror=alert(1)> \u2028 & \"x\""
)


def made_up_suite(
    capabilities: Sequence[str] = ("LC2", "LC4", "LC8"), seeds: int = 12, expansions: int = 2
) -> SuiteCases:
    cases: list[Case] = []
    for name in capabilities:
        for number in range(seeds):
            seed = f"case{name}{number:04}"
            passes = frozenset({(number + len(name)) % 3} | ({1} if number % 4 == 0 else set()))
            cases.append(Case(seed, name, "seed", seed, f"Film {name} number {number}.", passes))
            cases += [
                Case(
                    f"more{name}{number:04}{extra}",
                    name,
                    "expansion",
                    seed,
                    f"Film {name} number {number}, indeed {extra}.",
                    passes,
                    inserted=("indeed",),
                    production="NP -> DT NN",
                )
                for extra in range(expansions)
            ]
    return SuiteCases("its-name", "1.2.3", "f" * 64, tuple(cases))


def drawn(sets: int = 2, seeds: int = 6, seed: int = 0) -> Study:
    return draw(made_up_suite(), TITLES, sets=sets, seeds=seeds, seed=seed)


def sets_of(study: Study) -> list[list[KeyItem]]:
    numbers = sorted({item.set for item in study.key.items.values()})
    return [list(study.form(number).values()) for number in numbers]


def test_each_set_holds_seeds_with_one_expansion_each_and_no_seed_is_drawn_twice() -> None:
    study = draw(made_up_suite(seeds=60), TITLES)
    assert [len(items) for items in sets_of(study)] == [100, 100, 100]
    assert len({item.case for item in study.key.items.values()}) == 300
    for items in sets_of(study):
        seeds = {item.case for item in items if item.kind == "seed"}
        parents = [item.seed_id for item in items if item.kind == "expansion"]
        assert len(seeds) == 50
        assert sorted(parents) == sorted(seeds)
        assert set(Counter(item.capability for item in items).values()) <= {32, 34, 36}


def test_a_seed_and_its_expansion_stand_far_apart_and_either_comes_first() -> None:
    for items in sets_of(draw(made_up_suite(seeds=60), TITLES)):
        places: dict[str, list[int]] = {}
        first: Counter[str] = Counter()
        for place, item in enumerate(items):
            if item.seed_id not in places:
                first[item.kind] += 1
            places.setdefault(item.seed_id, []).append(place)
        assert min(late - early for early, late in places.values()) > 25
        assert min(first["seed"], first["expansion"]) > 10


def test_the_draw_depends_on_its_seed_and_on_nothing_else() -> None:
    suite = made_up_suite()
    shuffled = list(suite.cases)
    random.Random(1).shuffle(shuffled)
    again = draw(
        SuiteCases("its-name", "1.2.3", "f" * 64, tuple(shuffled)), TITLES, sets=2, seeds=6, seed=0
    )
    assert again == drawn()
    assert drawn(seed=1).key.study != drawn().key.study


def test_capabilities_with_few_seeds_are_used_up_and_too_few_are_refused() -> None:
    few = made_up_suite(("LC1",), seeds=2)
    many = made_up_suite(("LC8",), seeds=30)
    bare = made_up_suite(("LC9",), seeds=30, expansions=0)
    suite = SuiteCases("films", "", "", few.cases + many.cases + bare.cases)
    study = draw(suite, TITLES, sets=1, seeds=20)
    assert Counter(item.capability for item in sets_of(study)[0]) == {"LC1": 4, "LC8": 36}
    with pytest.raises(AnalysisError, match="32 of its seeds have expansions") as error:
        draw(suite, TITLES, sets=3, seeds=11)
    assert "--sets 3 --seeds 10" in error.value.hint
    assert len(sets_of(draw(suite, TITLES, sets=3, seeds=10))) == 3


def form_data(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="form">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_page_holds_nothing_but_texts_and_capabilities() -> None:
    study = drawn()
    for number, items in enumerate(sets_of(study), 1):
        page = form_html(study, number)
        data = form_data(page)
        assert set(data) == {"study", "set", "capabilities", "items"}
        assert [set(item) for item in data["items"]] == [{"id", "capability", "text"}] * len(items)
        assert [item["text"] for item in data["items"]] == [item.text for item in items]
        for name, shown in data["capabilities"].items():
            assert shown == {"title": TITLES[name], "description": DESCRIPTIONS[name]}
        for item in items:
            for secret in (item.case, item.seed_id, "NP ->"):
                assert secret not in page
        for word in ("expansion", "seed", "passes", "its-name", "1.2.3", "f" * 64, "inserted"):
            assert word not in page, word
        rows = list(csv.reader(io.StringIO(form_csv(study, number))))
        assert rows[0] == ["id", "capability", "description", "text", "relevance", "sentiment"]
        assert {tuple(row[4:]) for row in rows[1:]} == {("", "")}
        assert [row[3] for row in rows[1:]] == [item.text for item in items]


def test_no_description_names_the_label_that_passes() -> None:
    shipped = {one.id: one for one in load_capabilities()}
    assert set(DESCRIPTIONS) == set(shipped)
    for name, description in DESCRIPTIONS.items():
        assert not re.search(r"should|must|pass|positive|negative", description), name
        assert shipped[name].expectation not in description


def test_written_files_are_the_same_again_and_another_study_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    paths = write_study(drawn(), folder)
    names = ["set-1.html", "set-1.csv", "set-2.html", "set-2.csv", "key.json"]
    assert [path.name for path in paths] == names
    before = {path.name: path.read_bytes() for path in paths}
    assert read_key(paths[-1]) == drawn().key
    write_study(drawn(), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(AnalysisError, match="holds another study"):
        write_study(drawn(seed=1), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (tmp_path / "file").touch()
    with pytest.raises(AnalysisError, match="is no folder"):
        write_study(drawn(), tmp_path / "file")


# What answers say, against formulas written out.

RATING = st.none() | st.integers(1, 5)
STUDY = drawn()
KEY = STUDY.key
ITEMS = list(KEY.items)
ANSWERS = st.dictionaries(
    st.tuples(st.sampled_from(["Ada", "Émile", 'x, "y"', "=1+1"]), st.sampled_from(ITEMS)),
    st.tuples(RATING, RATING),
    max_size=30,
).map(
    lambda given: [
        Answer(rater, item, relevance, sentiment)
        for (rater, item), (relevance, sentiment) in given.items()
    ]
)


def naive_alpha(ratings: Iterable[tuple[str, int]]) -> float | None:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", ordinal."""
    units: dict[str, list[int]] = {}
    for item, rating in ratings:
        units.setdefault(item, []).append(rating)
    coincidences: Counter[tuple[int, int]] = Counter()
    for given_ratings in units.values():
        for first, second in itertools.permutations(given_ratings, 2):
            coincidences[first, second] += 1 / (len(given_ratings) - 1)  # type: ignore[assignment]
    totals: Counter[int] = Counter()
    for (first, _), count in coincidences.items():
        totals[first] += count
    if len(totals) < 2:
        return None

    def difference(first: int, second: int) -> float:
        low, high = sorted((first, second))
        between = sum(totals[value] for value in range(low, high + 1))
        return float((between - (totals[low] + totals[high]) / 2) ** 2)

    n = sum(totals.values())
    observed = sum(count * difference(*pair) for pair, count in coincidences.items()) / n
    expected = sum(
        totals[first] * totals[second] * difference(first, second)
        for first in totals
        for second in totals
    ) / (n * (n - 1))
    return 1 - observed / expected


@settings(deadline=None, max_examples=25)
@given(ANSWERS)
def test_figures_are_those_of_the_formulas(answers: list[Answer]) -> None:
    if all(one.relevance is None and one.sentiment is None for one in answers):
        with pytest.raises(AnalysisError, match="hold no rating"):
            evaluate(answers, KEY)
        return
    result = evaluate(answers, KEY)
    for kind, agreement in result.kinds.items():
        own = [one for one in answers if kind in ("all", KEY.items[one.item].kind)]
        said = [(one.item, one.sentiment) for one in own if one.sentiment]
        relevant = [(one.item, one.relevance) for one in own if one.relevance]
        assert agreement.answers == len(said)
        assert agreement.cases == len({item for item, _ in said + relevant})
        # Equation 1: the share of cases whose mean rating is a label that passes.
        matches = []
        for item in {item for item, _ in said}:
            ratings = [rating for of, rating in said if of == item]
            # On the scale of 0 to 1 that the corpus's scores have.
            score = Fraction(sum(ratings) - len(ratings), 4 * len(ratings))
            label = 0 if score <= Fraction(2, 5) else 1 if score <= Fraction(3, 5) else 2
            matches.append(LABELS[label] in KEY.items[item].passes)
        expected = sum(matches) / len(matches) if matches else None
        assert agreement.label_consistency.value == pytest.approx(expected)
        # Equation 2: the mean of relevance brought to 0 to 1.
        scores = [
            np.mean([(0, 0.25, 0.5, 0.75, 1)[rating - 1] for of, rating in relevant if of == item])
            for item in {item for item, _ in relevant}
        ]
        expected = sum(scores) / len(scores) if scores else None
        assert agreement.relevance.value == pytest.approx(expected)
        assert agreement.alpha_sentiment.value == pytest.approx(naive_alpha(said))
        assert agreement.alpha_relevance.value == pytest.approx(naive_alpha(relevant))
    assert set(result.capabilities) == {
        KEY.items[one.item].capability for one in answers if one.relevance or one.sentiment
    }


def test_krippendorffs_own_example() -> None:
    """Krippendorff (2011), section C and on: alpha is 0.815 for ordinal data."""
    raters = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    ratings = [
        (str(unit), int(rating))
        for row in raters
        for unit, rating in enumerate(row.split())
        if rating != "."
    ]
    estimate = alpha_estimate(ratings, {str(unit): str(unit) for unit in range(12)})
    assert estimate.value == pytest.approx(0.815, abs=0.0005)
    assert estimate.ci is not None
    assert estimate.ci[0] < 0.815 < estimate.ci[1] <= 1


def test_intervals_follow_whole_families() -> None:
    rng = np.random.default_rng(0)
    outcomes = rng.random(60) < 0.7
    alone = mean_estimate([(str(number), float(one)) for number, one in enumerate(outcomes)])
    copied = mean_estimate(
        [(str(number), float(one)) for number, one in enumerate(outcomes) for _ in range(9)]
    )
    assert alone.value == copied.value == pytest.approx(outcomes.mean())
    assert alone.ci == pytest.approx(copied.ci)
    assert alone.ci is not None
    # The normal approximation of a share of 60 independent cases.
    half = 1.96 * np.sqrt(outcomes.mean() * (1 - outcomes.mean()) / 60)
    assert alone.ci == pytest.approx((outcomes.mean() - half, outcomes.mean() + half), abs=0.03)
    assert mean_estimate([]).value is None


def test_seeds_of_the_same_sentences_are_a_family_in_a_study() -> None:
    suite = made_up_suite(("LC2",), seeds=40)

    def spread(share: int) -> float:
        """Width of the interval where so many seeds stand on a sentence and are rated alike."""
        cases = tuple(
            replace(case, sources=(f"sst:{int(case.seed_id[-4:]) // share}",))
            for case in suite.cases
        )
        key = draw(replace(suite, cases=cases), TITLES, sets=1, seeds=40).key
        answers = [
            Answer("a", name, 1 + 4 * (int(item.seed_id[-4:]) // 4 % 2), 1)
            for name, item in key.items.items()
        ]
        low, high = evaluate(answers, key).kinds["all"].relevance.ci or (0.0, 0.0)
        return high - low

    assert spread(4) > 1.5 * spread(1)


def test_labels_of_ratings() -> None:
    assert [label_of(rating) for rating in (1, 2, 3, 4, 5)] == [
        "negative",
        "negative",
        "neutral",
        "positive",
        "positive",
    ]


@pytest.mark.parametrize(
    ("ratings", "label"),
    [
        ((2, 4), "neutral"),
        ((1, 5), "neutral"),
        ((2, 3), "negative"),
        ((3, 4), "positive"),
        ((3, 3, 4), "neutral"),
        ((2, 3, 3), "neutral"),
        ((2, 2, 3), "negative"),
        ((1, 2, 3, 3, 4), "negative"),
        ((3, 3, 3, 4, 4), "neutral"),
        ((3, 3, 4, 4, 4), "positive"),
    ],
)
def test_the_mean_of_a_cases_raters_is_its_label(ratings: tuple[int, ...], label: str) -> None:
    """Their labels one by one would say otherwise of ratings 2 and 4."""
    for item in {entry.passes: name for name, entry in KEY.items.items()}.values():
        answers = [Answer(str(number), item, 5, rating) for number, rating in enumerate(ratings)]
        found = evaluate(answers, KEY).kinds["all"].label_consistency.value
        assert found == float(label in KEY.items[item].passes)


def item_with(*passes: str) -> str:
    return next(name for name, item in KEY.items.items() if item.passes == passes)


@pytest.mark.parametrize(
    ("sentiments", "relevances", "by_majority", "by_any"),
    [
        ((1, 2, 2), (5, 5, 3), (), ()),
        ((1, 2, 4), (5, 5, 5), (), ("sentiment",)),
        ((1, 4, 5), (5, 5, 5), ("sentiment",), ("sentiment",)),
        ((1, 4), (5, 5), ("sentiment",), ("sentiment",)),
        ((3,), (2,), ("sentiment", "relevance"), ("sentiment", "relevance")),
        ((2, 2, 2), (1, 2, 5), ("relevance",), ("relevance",)),
        ((None, None, 1), (None, 3, None), (), ()),
        ((None,), (1,), ("relevance",), ("relevance",)),
    ],
)
def test_a_case_is_disputed_unless_a_majority_agrees(
    sentiments: tuple[int | None, ...],
    relevances: tuple[int | None, ...],
    by_majority: tuple[str, ...],
    by_any: tuple[str, ...],
) -> None:
    item = item_with("negative")
    answers = [
        Answer(str(number), item, relevance, sentiment)
        for number, (sentiment, relevance) in enumerate(zip(sentiments, relevances, strict=True))
    ]
    for by, expected in (("majority", by_majority), ("any", by_any)):
        reasons = [case.reasons for case in disputed_cases(answers, KEY, by=by)]  # type: ignore[arg-type]
        assert reasons == ([expected] if expected else [])


# Files that raters hand in.


def as_json(answers: Sequence[Answer], rater: str) -> str:
    return json.dumps(
        {
            "study": KEY.study,
            "set": 1,
            "rater": rater,
            "answers": [
                {"id": one.item, "relevance": one.relevance, "sentiment": one.sentiment}
                for one in answers
            ],
        }
    )


def as_csv(answers: Sequence[Answer], rater: str, delimiter: str, bom: bool) -> str:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=delimiter)
    writer.writerow(["id", "rater", "relevance", "sentiment"])
    for one in answers:
        writer.writerow([one.item, rater, one.relevance or "", one.sentiment or ""])
    return ("\ufeff" if bom else "") + table.getvalue()


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answers=ANSWERS, data=st.data())
def test_answers_come_back_whatever_the_files_and_their_order(
    tmp_path: Path, answers: list[Answer], data: st.DataObject
) -> None:
    by_rater: dict[str, list[Answer]] = {}
    for one in data.draw(st.permutations(answers)):
        by_rater.setdefault(one.rater, []).append(one)
    paths: list[Path] = []
    for number, (rater, own) in enumerate(by_rater.items()):
        cut = data.draw(st.integers(0, len(own)))
        # What was handed in before is handed in again with the rest.
        for part in (own[:cut], own):
            path = tmp_path / f"{number}-{len(paths)}.answers"
            written = (
                as_json(part, rater)
                if data.draw(st.booleans())
                else as_csv(
                    part, rater, data.draw(st.sampled_from(",;\t")), data.draw(st.booleans())
                )
            )
            path.write_text(written, encoding="utf-8")
            paths.append(path)
    read = read_answers(data.draw(st.permutations(paths)), KEY)
    assert sorted(read, key=str) == sorted(answers, key=str)
    if any(one.relevance or one.sentiment for one in answers):
        assert evaluate(read, KEY) == evaluate(answers, KEY)


def test_a_filled_table_without_names_is_called_as_its_file(tmp_path: Path) -> None:
    table = form_csv(STUDY, 1).splitlines()
    path = tmp_path / "Ada.csv"
    path.write_text("\r\n".join([table[0], table[1][:-1] + "4,2", table[2]]), encoding="utf-8-sig")
    answers = read_answers([path], KEY)
    assert answers == [Answer("Ada", ITEMS[0], 4, 2), Answer("Ada", ITEMS[1], None, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"", "has no column id, relevance, sentiment"),
        (b"id,relevance\n", "has no column sentiment"),
        (b"id,relevance,sentiment\nx-1-001,1,1\n", "'x-1-001' is no item of study"),
        (f"id,relevance,sentiment\n{ITEMS[0]},6,1\n".encode(), "row 1, relevance: '6'"),
        (f"id,relevance,sentiment\n{ITEMS[0]},1,good\n".encode(), "row 1, sentiment: 'good'"),
        (f"id,relevance,sentiment\n{ITEMS[0]},1,1\n{ITEMS[0]},1,2\n".encode(), "two answers"),
        (b"{", "Invalid JSON"),
        (b"[]", "Input should be an object"),
        (b'{"rater": "A"}', "answers: Field required"),
        (b'{"answers": [{"id": "a", "sentiment": 0}]}', "answers.0.sentiment"),
        (b'{"answers": [{"id": "a", "sentiment": true}]}', "answers.0.sentiment"),
        (b'{"answers": [{"relevance": 1}]}', "answers.0.id"),
    ],
)
def test_a_bad_file_gets_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.answers"
    path.write_bytes(content)
    with pytest.raises(AnalysisError) as error:
        read_answers([path], KEY)
    assert "bad.answers" in error.value.problem
    assert message in error.value.problem


def test_missing_or_broken_keys_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match=r"key\.json: No such file"):
        read_key(tmp_path / "key.json")
    (tmp_path / "key.json").write_text('{"study": 1}')
    with pytest.raises(AnalysisError, match=r"key\.json: study: "):
        read_key(tmp_path / "key.json")
    with pytest.raises(AnalysisError, match=r"none\.csv: No such file"):
        read_answers([tmp_path / "none.csv"], KEY)


def test_the_commands_from_a_built_suite_to_a_list_to_exclude(
    suite_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    command = ["study", "export", str(suite_folder), "--out", str(out), "--sets", "2"]
    exported = RUNNER.invoke(app, [*command, "--seeds", "4"])
    assert exported.exit_code == 0, exported.output
    assert suite_titles(str(suite_folder)) == TITLES
    key = read_key(out / "key.json")
    of_id = {case.id: case for case in load_cases(suite_folder).cases}
    files: list[str] = []
    for number in (1, 2):
        rows = list(csv.DictReader((out / f"set-{number}.csv").open(encoding="utf-8-sig")))
        assert len(rows) == 8
        for row in rows:
            case = of_id[key.items[row["id"]].case]
            assert row["text"] == case.text
            right = {0: "2", 1: "3", 2: "4"}[min(case.passes)]
            row |= {"relevance": "5", "sentiment": right}
        rows[0]["sentiment"] = {"2": "5", "3": "1", "4": "1"}[rows[0]["sentiment"]]
        path = tmp_path / f"rater{number}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        files.append(str(path))
    listed, figures = tmp_path / "disputed.json", tmp_path / "figures.json"
    command = ["study", "import", *files, "--key", str(out / "key.json")]
    result = RUNNER.invoke(app, [*command, "--disputed", str(listed), "--out", str(figures)])
    assert result.exit_code == 0, result.output
    assert "2 disputed cases" in result.output
    written = json.loads(figures.read_text(encoding="utf-8"))
    assert written["kinds"]["all"]["label_consistency"]["value"] == pytest.approx(14 / 16)
    assert written["kinds"]["all"]["relevance"]["value"] == 1
    wrong = {key.items[f"{key.study}-{number}-001"].case for number in (1, 2)}
    assert read_excluded(listed).ids == wrong
    assert {case["id"] for case in json.loads(listed.read_text())["cases"]} == wrong


def test_what_a_case_holds_is_shown_as_text_in_the_terminal() -> None:
    item = item_with("negative")
    key = Key.model_validate(
        KEY.model_dump()
        | {"items": {item: KEY.items[item].model_dump() | {"text": "[bold]x[/] [/nothing]"}}}
    )
    assert "[/nothing]" in disputed_json(evaluate([Answer("A", item, 1, 5)], key).disputed, key)
    from s2lct.analysis.study.tables import disputed_lines
    from s2lct.cli.console import PlainConsole

    console = PlainConsole(file=io.StringIO(), width=200)
    for line in disputed_lines(evaluate([Answer("A", item, 1, 5)], key)):
        console.print(line)
    assert "[bold]x[/] [/nothing]" in console.file.getvalue()  # type: ignore[attr-defined]


# The form, in a browser.


@pytest.fixture(scope="module")
def chromium() -> Any:
    path = Path("/usr/bin/chromium")
    if not path.exists():
        pytest.skip("no Chromium at /usr/bin/chromium")
    from playwright.sync_api import sync_playwright

    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
        "--disable-background-networking --disable-component-update"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(path), args=flags.split())
        yield browser
        browser.close()


@pytest.fixture
def study_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    write_study(drawn(sets=2, seeds=3), folder)
    return folder


def opened(chromium: Any, page_file: Path, width: int = 1000) -> Any:
    context = chromium.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("request", lambda request: failures.append(request.url))
    page.goto(page_file.as_uri())
    failures.remove(page_file.as_uri())
    page.failures = failures
    return page


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved(page: Any, key: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.keyboard.press(key)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.browser
def test_the_form_is_filled_with_the_keyboard_alone(
    chromium: Any, study_folder: Path, tmp_path: Path
) -> None:
    key = read_key(study_folder / "key.json")
    items = [name for name, item in key.items.items() if item.set == 1]
    page = opened(chromium, study_folder / "set-1.html")
    page.keyboard.type("Ada Łovelace")
    press(page, "Enter")
    expected: list[Answer] = []
    for number, name in enumerate(items):
        assert page.inner_text("#text") == key.items[name].text
        title = TITLES[key.items[name].capability]
        assert page.inner_text("#capability") == title
        assert page.inner_text("#description") == DESCRIPTIONS[key.items[name].capability]
        sentiment, relevance = 1 + number % 5, 5 - number % 3
        press(page, str(sentiment), str(relevance), "Enter")
        expected.append(Answer("Ada Łovelace", name, relevance, sentiment))
    assert page.inner_text("#end-title") == "Thank you, that was all"
    for ending in "jc":
        assert read_answers([saved(page, ending, tmp_path)], key) == expected
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        f"study-{key.study}-set-1-Ada-Łovelace.csv",
        f"study-{key.study}-set-1-Ada-Łovelace.json",
    ]
    assert page.failures == []
    page.context.close()


@pytest.mark.browser
def test_going_back_changing_and_leaving_out(
    chromium: Any, study_folder: Path, tmp_path: Path
) -> None:
    key = read_key(study_folder / "key.json")
    items = [name for name, item in key.items.items() if item.set == 1]
    page = opened(chromium, study_folder / "set-1.html")
    press(page, "Enter")
    assert page.is_visible("#start")  # a name is asked for
    page.keyboard.type("B")
    press(page, "Enter", "4", "5", "ArrowRight", "2", "ArrowRight", "3", "3")
    press(page, "Backspace", "ArrowLeft")
    assert page.inner_text("#text") == key.items[items[0]].text
    checked = page.locator('[aria-checked="true"]')
    assert checked.all_inner_texts() == ["4\npositive", "5\nfully"]
    press(page, "ArrowDown", "1", "ArrowUp", "5", "ArrowRight", "ArrowRight", "ArrowDown", "0", "e")
    assert page.inner_text("#end-title") == "Not all is answered yet"
    assert page.locator("#open button").all_inner_texts() == ["2", "3", "4", "5", "6"]
    path = saved(page, "j", tmp_path)
    answers = read_answers([path], key)
    assert answers[:3] == [
        Answer("B", items[0], 1, 5),
        Answer("B", items[1], None, 2),
        Answer("B", items[2], None, 3),
    ]
    assert {(one.relevance, one.sentiment) for one in answers[3:]} == {(None, None)}
    page.click("#open button >> nth=0")
    assert page.inner_text("#text") == key.items[items[1]].text
    press(page, "4", "e")
    assert page.locator("#open button").all_inner_texts() == ["3", "4", "5", "6"]
    page.context.close()


@pytest.mark.browser
def test_a_reload_keeps_answers_and_place_and_sets_do_not_mix(
    chromium: Any, study_folder: Path, tmp_path: Path
) -> None:
    key = read_key(study_folder / "key.json")
    items = [name for name, item in key.items.items() if item.set == 1]
    page = opened(chromium, study_folder / "set-1.html")
    page.keyboard.type("C")
    press(page, "Enter", "1", "2", "Enter", "3")
    page.reload()
    assert page.inner_text("#text") == key.items[items[1]].text
    assert page.locator('[aria-checked="true"]').all_inner_texts() == ["3\nneutral or mixed"]
    press(page, "5", "e")
    answers = read_answers([saved(page, "j", tmp_path)], key)
    assert answers[:2] == [Answer("C", items[0], 2, 1), Answer("C", items[1], 5, 3)]
    page.goto((study_folder / "set-2.html").as_uri())
    assert page.is_visible("#start")
    assert page.inner_text("#count") == "0 of 6 answered"
    page.goto((study_folder / "set-1.html").as_uri())
    assert page.inner_text("#count") == "text 2 of 6, 2 answered"
    page.on("dialog", lambda dialog: dialog.accept())
    press(page, "e")
    page.click("#anew")
    page.reload()
    assert page.inner_text("#count") == "0 of 6 answered"
    page.context.close()


@pytest.mark.browser
def test_a_phone_shows_it_whole_and_texts_are_only_texts(chromium: Any, tmp_path: Path) -> None:
    cases = (
        Case("s1", "LC8", "seed", "s1", HOSTILE, frozenset({0})),
        Case("e1", "LC8", "expansion", "s1", "W" * 300, frozenset({0})),
    )
    study = draw(
        SuiteCases("hostile", "", "", cases), {"LC8": "<b>title</b>"}, sets=1, seeds=1, seed=3
    )
    write_study(study, tmp_path / "study")
    page = opened(chromium, tmp_path / "study" / "set-1.html", width=390)
    page.fill("#rater", "<i>D</i>")
    page.click("#begin")
    texts: list[str] = []
    for _ in range(2):
        texts.append(page.text_content("#text"))
        assert page.inner_text("#capability") == "<b>title</b>"
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.click('[data-scale="sentiment"] button >> nth=4')
        page.click('[data-scale="relevance"] button >> nth=0')
        page.click("#next")
    assert sorted(texts) == sorted([HOSTILE, "W" * 300])
    assert page.title() == "S²LCT reading study, set 1"
    with page.expect_download() as download:
        page.click("#save-csv")
    path = tmp_path / "d.csv"
    download.value.save_as(path)
    answers = read_answers([path], study.key)
    assert [(one.rater, one.relevance, one.sentiment) for one in answers] == [
        ("<i>D</i>", 1, 5)
    ] * 2
    assert [url for url in page.failures if not url.startswith("blob:")] == []
    page.context.close()


def test_labels_are_those_of_the_suite() -> None:
    of_id = {case.id: case for case in made_up_suite().cases}
    for item in KEY.items.values():
        case = of_id[item.case]
        assert {LABELS.index(label) for label in item.passes} == case.passes
        assert (item.kind, item.seed_id, item.text) == (case.kind, case.seed_id, case.text)
