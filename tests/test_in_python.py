"""``from s2lct import score, load_suite``: without `evaluate`, and light to import."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2lct
from s2lct import CapabilityCallback, load_suite, score, score_models, write_result
from s2lct.analysis.coverage.measure import CoverageResult
from s2lct.analysis.coverage.wimask import Masks
from s2lct.analysis.explain.report import Explanations
from s2lct.analysis.retrain import RetrainingMatrix
from s2lct.analysis.study import Key, StudyResult
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.curation.curate import Curated
from s2lct.errors import ScoringError
from s2lct.leaderboard.commands.score_models import Scores
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.results.read_results import recompute
from s2lct.leaderboard.results.standings import Leaderboard, SuiteStandings
from s2lct.leaderboard.scoring.figures import Pairs
from s2lct.leaderboard.scoring.score import SelectionRecord
from s2lct.suite.read import WrittenSuite

pytestmark = pytest.mark.usefixtures("own_cache")


def negative(texts: list[str]) -> list[str]:
    return ["negative"] * len(texts)


def python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_importing_is_light_and_so_is_reading_a_suite(suite_folder: Path) -> None:
    done = python(
        "import sys\n"
        "from s2lct import gate, load_suite, score\n"
        "heavy = {'torch', 'transformers', 'datasets', 'evaluate'}\n"
        "suite = load_suite(sys.argv[1], limit=2)\n"
        "score(lambda texts: ['neutral'] * len(texts), suite)\n"
        "score('vader', suite, cache=False)\n"
        "print(sorted(heavy & sys.modules.keys()))\n",
        suite_folder,
    )
    assert done.stdout.splitlines() == ["[]"], done.stderr


def test_a_suite_is_a_line_and_gives_its_capabilities(suite_folder: Path) -> None:
    suite = load_suite(suite_folder)
    assert repr(suite).startswith(f"<suite {suite_folder} ")
    assert repr(suite).endswith(f", contrasts: {len(suite.contrasts)}>")
    assert len(repr(suite)) < 300
    assert list(suite) == list(suite.capabilities)
    part = suite["lc4"]
    assert part == load_suite(suite_folder, capabilities="LC4") and "a part" in repr(part)
    assert "LC4" in suite and "LC44" not in suite
    with pytest.raises(ScoringError, match="no capability LC44") as error:
        suite["LC44"]
    assert "did you mean LC4?" in error.value.hint
    with pytest.raises(ScoringError, match="no capability 0"):
        suite[0]  # type: ignore[index]


@pytest.mark.parametrize(
    "kind",
    [
        *(Corpus, Curated, WrittenSuite, Scores, Leaderboard, SuiteStandings),
        *(Masks, CoverageResult, RetrainingMatrix, Explanations, Key, StudyResult),
    ],
)
def test_a_line_stands_for_what_holds_thousands_of_things(kind: Any) -> None:
    made = object.__new__(kind)
    for number, field in enumerate(fields(kind)):
        value = [dict.fromkeys(range(9999), "long " * 9), "long " * 9_999, ("x" * 999,) * 3]
        object.__setattr__(made, field.name, value[number % 3])
    assert repr(made).startswith(f"{kind.__name__}({fields(kind)[0].name}=<dict of 9,999>")
    assert len(repr(made)) < 1_500
    assert len(repr(Pairs([made] * 9_999, [], np.ones(9_999, bool)))) < 50


def test_figures_are_those_of_the_metric(suite_folder: Path) -> None:
    scores = score(negative, suite_folder)
    asked = scores.suite.with_contrasts
    given: dict[str, Any] = {"references": [case.id for case in asked], "suite": suite_folder}
    given["predictions"] = negative([case.text for case in asked])
    computed = compute(**given)
    assert scores.figures.nested() == computed
    assert scores.flat() == compute(**given, flat=True)
    assert scores.failure_rate == computed["overall"]["failure_rate"]["macro"]
    for name, of in scores.capabilities.items():
        assert of.all is not None
        assert of.all.failure_rate == computed[name]["all"]["failure_rate"]
        assert of.pass_to_fail == computed[name]["pass_to_fail"]
    assert "negative on " in repr(scores)
    rate = scores.overall.failure_rate
    of_all = f"fails {100 * rate.failures / rate.cases:.1f} % (macro: {100 * rate.macro:.1f} %) of "
    assert of_all in repr(scores)


def test_a_suite_is_read_once_and_scored_on_often(suite_folder: Path) -> None:
    suite = load_suite(suite_folder, capabilities="lc4", kind="seed", limit=2)
    assert [case.capability for case in suite.cases] == ["LC4"] * 2
    assert {case.kind for case in suite.cases} == {"seed"}
    asked: list[str] = []

    def counted(texts: list[str]) -> list[str]:
        asked.extend(texts)
        return negative(texts)

    assert set(score(counted, suite).capabilities) == {"LC4"}
    assert {case.text for case in suite.cases} <= set(asked)
    whole = load_suite(suite_folder)
    assert (
        score(negative, whole, capabilities=["LC4"], kind="seed", limit=2).capabilities
        == score(negative, suite).capabilities
    )
    with pytest.raises(ScoringError, match="has no capability LC77"):
        load_suite(suite_folder, capabilities=["LC77"])
    with pytest.raises(ScoringError, match="there is no such folder"):
        load_suite("no-such-suite")


def test_a_score_is_written_as_the_command_writes_it(suite_folder: Path, tmp_path: Path) -> None:
    by_command = score_models(["vader"], suite=str(suite_folder), out=tmp_path / "command")
    path = write_result(score("vader", suite_folder), tmp_path / "script")
    assert path.name == by_command.files[0].name == "vader.json"
    date = {"date": ""}
    written, expected = recompute(path), by_command.results[0]
    assert written.model_copy(update=date) == expected.model_copy(update=date)
    part = score("vader", suite_folder, capabilities="lc4", limit=3)
    chosen = write_result(part, tmp_path / "script")
    assert recompute(chosen).selection == SelectionRecord(capabilities=("LC4",), limit=3)
    assert s2lct.gate(path, no_worse_than=by_command.files[0]).passed


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("limit", "5"), ("limit", 2.5), ("limit", True), ("limit", 0), ("limit", [3]),
        ("capabilities", 4), ("capabilities", [4]), ("capabilities", []), ("kind", ["seed"]),
    ],
)  # fmt: skip
def test_a_choice_of_cases_that_is_none_is_one_error(
    option: str, value: object, suite_folder: Path
) -> None:
    with pytest.raises(ScoringError):
        load_suite(suite_folder, **{option: value})
    with pytest.raises(ScoringError):
        score("vader", suite_folder, **{option: value})
    with pytest.raises(ScoringError):
        CapabilityCallback(suite_folder, **{option: value})
