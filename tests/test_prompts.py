"""Results of one model with several prompts: means, spread, tables, pages and ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_results import made_suite

from s2lct.labels import LABELS, PROMPTS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.prompts import over_prompts
from s2lct.leaderboard.results.read import read_result
from s2lct.leaderboard.results.record import Result, own_options
from s2lct.leaderboard.results.standings import suite_standings
from s2lct.leaderboard.results.write import repository_path, write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases, rule_in_words
from s2lct.leaderboard.site.site import build_site
from s2lct.leaderboard.site.tables import flat_rows
from s2lct.suite.cases import Case

CASES = tuple(
    Case(
        f"{name}-{n}-{kind}",
        name,
        kind,
        f"{name}-{n}-seed",
        f"Sentence {n} of {name}, {kind}.",
        passes,
    )
    for name, passes in {"LC1": frozenset({0}), "LC2": frozenset({1, 2})}.items()
    for n in range(30)
    for kind in ("seed", "expansion")
)
SUITE = made_suite(CASES)


def written(name: str, folder: Path, prompt: str | None, seed: int, **more: object) -> Path:
    """A result of a model that answers at random."""
    labels = np.random.default_rng(seed).integers(0, 3, len(CASES))
    asks = None if prompt is None else LabelPrompt(prompt, chat_template=False)
    rule = rule_in_words(rule_for(LABELS, model=name), asks)
    outcomes = Outcomes(
        name, "r1", "1" * 64, rule, SUITE, labels, failed_cases(CASES, labels), asks=asks
    )
    return write_result(replace(outcomes, **more), folder)


@pytest.fixture
def results(tmp_path: Path) -> list[Result]:
    paths = [written("org/chat", tmp_path, prompt, n) for n, prompt in enumerate(PROMPTS)]
    return [read_result(path) for path in paths]


def test_the_default_prompts_are_three_and_each_has_its_own_place(results: list[Result]) -> None:
    assert len({*PROMPTS}) == 3
    assert all(prompt.count("{text}") == 1 for prompt in PROMPTS)
    assert own_options(results[0].model.options) == ""
    assert own_options(results[2].model.options) == "default prompt 3"
    assert len({repository_path(one) for one in results}) == 3


def test_mean_and_spread_over_prompts(results: list[Result]) -> None:
    (model,) = over_prompts(results[::-1])
    assert [one.model.options.prompt for one in model.results] == [*PROMPTS]
    rates = [one.overall.failure_rate for one in results]
    assert model.overall.mean == pytest.approx(sum(rates) / 3)
    assert (model.overall.low, model.overall.high) == (min(rates), max(rates))
    assert model.overall.low < model.overall.high
    for name in ("LC1", "LC2"):
        of_all = [one.capabilities[name].all for one in results]
        own = [of.failure_rate for of in of_all if of is not None]
        spread, figure = model.capabilities[name], model.figures.capabilities[name]
        assert (spread.low, spread.high) == (min(own), max(own))
        assert figure.all is not None
        assert figure.all.failure_rate == pytest.approx(spread.mean) == pytest.approx(sum(own) / 3)
        flips = [one.capabilities[name].pass_to_fail for one in results]
        assert figure.pass_to_fail == round(sum(flips) / 3)
    low, high = model.figures.overall.ci
    assert low < model.overall.mean < high


def test_only_what_differs_in_the_prompt_alone_is_put_together(
    results: list[Result], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    others = [
        written("org/chat", other, PROMPTS[0], 7, revision="r2"),
        written("org/chat", other, PROMPTS[1], 7, weights_sha256="2" * 64),
        written("org/chat", other, PROMPTS[1], 7, neutral_band=(0.1, 0.9)),
        written("org/else", other, PROMPTS[1], 7),
        written("org/chat", other, None, 7),
    ]
    asks = LabelPrompt(PROMPTS[1], chat_template=True)
    others.append(written("org/chat", other, PROMPTS[0], 7, asks=asks))
    again = read_result(written("org/chat", tmp_path / "again", PROMPTS[0], 8))
    read = [*results, *map(read_result, others), again]
    sizes = [len(one.results) for one in over_prompts(read)]
    assert sorted(sizes) == [1] * (len(others) + 1) + [3]
    single = [one for one in over_prompts(read) if not one.several]
    assert all(one.figures is one.results[0] for one in single)


def test_the_leaderboard_ranks_models_and_not_prompts(
    results: list[Result], tmp_path: Path
) -> None:
    del results  # written to the folder
    for n, name in enumerate(("org/a", "org/b")):
        written(name, tmp_path, None, 20 + n)
    collection = collect(tmp_path, [SUITE])
    build_site(collection, tmp_path / "site")
    for suite in collection.suites:
        standing = suite_standings(suite)
        asked = [one for one in standing.standings if one.prompt]
        assert [(one.prompt.number, one.prompt.count) for one in asked if one.prompt] == [
            (1, 3), (2, 3), (3, 3)
        ]  # fmt: skip
        assert [one.scored.prompt for one in asked] == [*PROMPTS]
        assert len({one.rank for one in asked}) == 1
        assert {one.rank[1] for one in standing.standings} <= {1, 2, 3}
        rates = [one.overall.failure_rate for one in asked]
        assert {one.mean for one in asked} == {np.mean(rates)}
        flips = np.mean([one.pass_to_fail for one in asked])
        rows = [row for row in flat_rows([standing]) if row["prompts"]]
        assert [row["prompt"] for row in rows] == [1, 2, 3]
        assert {row["prompts_low"] for row in rows} == {min(rates)}
        assert {row["prompts_pass_to_fail"] for row in rows} == {flips}
    alone = replace(
        collection.suites[0],
        models=tuple(one for one in collection.suites[0].models if one.model.name != "org/chat"),
    )
    assert all(one.prompt is None for one in suite_standings(alone).standings)
