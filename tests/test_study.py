"""Blind forms for annotators, and what their answers say."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.study import (
    Key,
    draw_study,
    evaluate_annotations,
    forms_of,
    krippendorff_alpha,
    read_key,
)
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.suite.annotation import Annotation
from s2lct.suite.cases import Case, SuiteCases, load_suite


def answer(annotator: str, item: str, relevance: int | None, sentiment: int | None) -> Annotation:
    given = {"relevance": relevance, "sentiment": sentiment}
    return Annotation(annotator, item, {name: str(one) for name, one in given.items() if one})


def made_up_suite(
    capabilities: Sequence[str] = ("LC2", "LC4", "LC8"), seeds: int = 12, expansions: int = 2
) -> SuiteCases:
    cases: list[Case] = []
    for name in capabilities:
        for number in range(seeds):
            seed = f"case{name}{number:04}"
            passes = frozenset({(number + len(name)) % 3} | ({1} if number % 4 == 0 else set()))
            text = f"Film {name} number {number}"
            cases.append(Case(seed, name, "seed", seed, f"{text}.", passes))
            for extra in range(expansions):
                id = f"more{name}{number:04}{extra}"
                more = f"{text}, indeed {extra}."
                cases.append(Case(id, name, "expansion", seed, more, passes, inserted=("indeed",)))
    return SuiteCases("its-name", "1.2.3", "f" * 64, tuple(cases))


def drawn(seed: int = 0) -> Key:
    return draw_study(made_up_suite(), n_sets=2, n_seeds=6, random_seed=seed)


def sets_of(study: Key) -> list[list[Case]]:
    numbers = sorted({id.split("-")[1] for id in study.items})
    return [[study.items[id] for id in study.items if f"-{n}-" in id] for n in numbers]


def test_seeds_and_their_expansions_are_drawn_once_and_stand_far_apart() -> None:
    study = draw_study(made_up_suite(seeds=60))
    assert [len(items) for items in sets_of(study)] == [100, 100, 100]
    assert len({case.id for case in study.items.values()}) == 300
    for items in sets_of(study):
        seeds = {item.id for item in items if item.kind == "seed"}
        parents = [item.seed_id for item in items if item.kind == "expansion"]
        assert len(seeds) == 50
        assert sorted(parents) == sorted(seeds)
        assert set(Counter(item.capability for item in items).values()) <= {32, 34, 36}
        places: dict[str, list[int]] = {}
        first: Counter[str] = Counter()
        for place, item in enumerate(items):
            first[item.kind] += item.seed_id not in places
            places.setdefault(item.seed_id, []).append(place)
        assert all(early < 50 <= late for early, late in places.values())
        assert min(first["seed"], first["expansion"]) > 10
    with pytest.raises(AnalysisError) as error:
        draw_study(made_up_suite(seeds=10), n_sets=3, n_seeds=11)
    assert "--sets 3 --seeds 10" in error.value.hint


def test_forms_hold_nothing_but_texts_and_capabilities() -> None:
    study = drawn()
    shipped = {one.id: one for one in load_capabilities()}
    for form, items in zip(forms_of(study).values(), sets_of(study), strict=True):
        assert [(item.text, item.title, item.description) for item in form.items] == [
            (item.text, shipped[item.capability].title, shipped[item.capability].raters)
            for item in items
        ]
        page = form.html() + form.csv()
        secrets = {secret for item in items for secret in (item.id, item.seed_id)}
        words = ("expansion", "seed", "passes", "its-name", "f" * 64, "inserted")
        assert not [secret for secret in (*secrets, *words) if secret in page]
    for capability in shipped.values():
        assert not re.search(r"should|must|pass|positive|negative", str(capability.raters))


# What answers say, against formulas written out.

RATING = st.none() | st.integers(1, 5)
KEY = drawn()
ANSWERS = st.dictionaries(
    st.tuples(st.sampled_from(["Ada", "Émile", 'x, "y"']), st.sampled_from(list(KEY.items))),
    st.tuples(RATING, RATING),
    max_size=30,
).map(lambda given: [answer(*key, *ratings) for key, ratings in given.items()])


@settings(deadline=None, max_examples=25)
@given(ANSWERS)
def test_figures_are_those_of_the_formulas(answers: list[Annotation]) -> None:
    if not any(one.answers for one in answers):
        with pytest.raises(AnalysisError):
            evaluate_annotations(answers, KEY)
        return
    for group, agreement in evaluate_annotations(answers, KEY).groups.items():
        ratings: dict[str, dict[str, list[int]]] = {"sentiment": {}, "relevance": {}}
        for one in answers:
            item = KEY.items[one.item]
            if group in ("all", f"{item.kind}s", item.capability):
                for name, rating in one.answers.items():
                    ratings[name].setdefault(one.item, []).append(int(rating))
        assert agreement.ratings == sum(map(len, ratings["sentiment"].values()))
        assert agreement.cases == len({*ratings["sentiment"], *ratings["relevance"]})
        # Equation 1: the share of cases whose mean rating, from 0 to 1, is a label that passes.
        matches = []
        for name, of in ratings["sentiment"].items():
            score = Fraction(sum(of) - len(of), 4 * len(of))
            label = 0 if score <= Fraction(2, 5) else 1 if score <= Fraction(3, 5) else 2
            matches.append(label in KEY.items[name].passes)
        # Equation 2: the mean of relevance brought to 0 to 1.
        scores = [np.mean(of) / 4 - 0.25 for of in ratings["relevance"].values()]
        means = (agreement.label_consistency, agreement.relevance)
        for found, values in zip(means, (matches, scores), strict=True):
            assert (found is None) == (not values)
            assert found is None or found[0] == pytest.approx(np.mean(values))


def test_krippendorffs_own_example() -> None:
    """Krippendorff (2011), section C and on: alpha is 0.815 for ordinal data."""
    annotators = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = zip(*(row.split() for row in annotators), strict=True)
    ratings = {
        str(number): [int(rating) for rating in unit if rating != "."]
        for number, unit in enumerate(units)
    }
    assert krippendorff_alpha(ratings) == pytest.approx(0.815, abs=0.0005)
    assert krippendorff_alpha({}) is None


@pytest.mark.parametrize(
    ("sentiments", "relevances", "expected"),
    [
        ((1, 2, 2), (5, 5, 3), False),
        ((1, 2, 4), (5, 5, 5), False),
        ((1, 4), (5, 5), True),
        ((3,), (2,), True),
        ((2, 2, 2), (1, 2, 5), True),
        ((None, None, 1), (None, 3, None), False),
        ((None,), (1,), True),
    ],
)
def test_a_case_is_disputed_unless_a_majority_agrees(
    sentiments: tuple[int | None, ...],
    relevances: tuple[int | None, ...],
    expected: bool,
) -> None:
    name = next(name for name, item in KEY.items.items() if item.passes == {0})
    answers = [
        answer(str(number), name, relevance, sentiment)
        for number, (sentiment, relevance) in enumerate(zip(sentiments, relevances, strict=True))
    ]
    disputed = evaluate_annotations(answers, KEY).disputed
    assert disputed == ((KEY.items[name].id,) if expected else ())


def test_the_commands_from_a_built_suite_to_disputed_cases(
    suite_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    runner = CliRunner(env={"COLUMNS": "200"})
    command = ["study", "export", str(suite_folder), "--out", str(out), "--sets", "2"]
    exported = runner.invoke(app, [*command, "--seeds", "4"])
    assert exported.exit_code == 0, exported.output
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for seed, code in (("0", 0), ("1", 1)):  # the same study is written again, another refused
        again = runner.invoke(app, [*command, "--seeds", "4", "--seed", seed])
        assert again.exit_code == code, again.output
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(before) == ["key.json", "set-1.csv", "set-1.html", "set-2.csv", "set-2.html"]
    key = read_key(out / "key.json")
    of_id = {case.id: case for case in load_suite(suite_folder).cases}
    files: list[str] = []
    for number in (1, 2):
        rows = list(csv.DictReader((out / f"set-{number}.csv").open(encoding="utf-8-sig")))
        assert len(rows) == 8
        for row in rows:
            case = of_id[key.items[row["id"].removeprefix("i")].id]
            assert row["text"] == case.text
            row |= {"relevance": "5", "sentiment": "234"[min(case.passes)]}
        rows[0]["sentiment"] = {"2": "5", "3": "1", "4": "1"}[rows[0]["sentiment"]]
        path = tmp_path / f"annotator{number}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        files.append(str(path))
    figures = tmp_path / "figures.json"
    command = ["study", "import", *files, "--key", str(out / "key.json"), "--out", str(figures)]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "2 cases that no majority" in " ".join(result.output.split())
    written = json.loads(figures.read_text(encoding="utf-8"))
    assert written["groups"]["all"]["label_consistency"][0] == pytest.approx(14 / 16)
    assert written["groups"]["all"]["relevance"][0] == 1
    wrong = {key.items[f"{key.study}-{number}-001"].id for number in (1, 2)}
    assert set(written["disputed"]) == wrong
