"""One meaning of a written label, wherever it is written."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest
from typer.testing import CliRunner

from s2lct.builder.corpus.read import read_corpus
from s2lct.cli.main import app
from s2lct.errors import CorpusError, S2lctError, ScoringError
from s2lct.labels import LABELS, check_label_map, example_map, meaning_of, written_label
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.answers.predictions import read_predictions
from s2lct.leaderboard.results.predictions_file import outcomes_of_predictions
from s2lct.suite.cases import load_suite

Cells = Sequence[object]
Reader = Callable[[Path, str, Cells, "dict[str, str] | None"], list[str]]


def write_table(path: Path, column: str, cells: Cells) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [(f"x{n}", f"It has {n} wheels.", cell) for n, cell in enumerate(cells)]
        csv.writer(file).writerows([("id", "text", column), *rows])
    return path


def of_corpus(path: Path, column: str, cells: Cells, label_map: Any) -> list[str]:
    write_table(path, column, cells)
    corpus = read_corpus(f"csv:{path}", label_column=column, label_map=label_map)
    return [sentence.label for sentence in corpus.sentences]


def of_suite(path: Path, column: str, cells: Cells, label_map: Any) -> list[str]:
    write_table(path, column, cells)
    suite = f"csv:{path}"
    if label_map or column not in ("label", "labels", "gold"):
        mapping = ",".join(f"{name}={label}" for name, label in (label_map or {}).items())
        options = ["--label-map", mapping] if mapping else []
        out = path.with_suffix(".jsonl")
        words = ["import", "table", path, "--label-column", column, *options, "--out", out]
        done = CliRunner().invoke(app, list(map(str, words)))
        if done.exit_code:
            raise ScoringError(done.output, hint="")
        suite = f"jsonl:{out}"
    cases = {case.id: case for case in load_suite(suite).cases}
    return [LABELS[min(cases[f"x{number}"].passes)] for number in range(len(cells))]


def of_predictions_file(path: Path, column: str, cells: Cells, label_map: Any) -> list[str]:
    asked = path.with_name("asked.csv")
    suite = load_suite(f"csv:{write_table(asked, 'label', ['neutral'] * len(cells))}")
    write_table(path, column, cells)
    outcomes = outcomes_of_predictions(path, suite, "team/model", label_map)
    return [LABELS[label] for label in outcomes.labels]


def of_function(path: Path, column: str, cells: Cells, label_map: Any) -> list[str]:
    labels = read_predictions(list(cells), len(cells), label_map=label_map).labels
    return [LABELS[label] for label in labels]


READERS: dict[str, Reader] = {
    "corpus": of_corpus,
    "suite": of_suite,
    "predictions file": of_predictions_file,
    "function": of_function,
}
WORDS = {
    "negative": "negative NEGATIVE Neg bad very_negative VERY-NEGATIVE strongly_negative",
    "neutral": "neutral Neu NEUTRAL",
    "positive": "positive pos GOOD very_positive Extremely_Positive slightly_positive",
}
STARS = {
    "negative": ["1 star", "2 stars", "1-star", "2_STARS", "two stars", "★★☆☆☆", "2.0 out of 5"],
    "neutral": ["3 stars", "three stars", "⭐⭐⭐", "3/5", "3.5 stars"],
    "positive": ["4 stars", "5 Stars", "five_stars", "★★★★", "4 out of 5 stars", "5/5"],
}
MEANINGS = {
    **{word: label for label, words in WORDS.items() for word in words.split()},
    **{stars: label for label, written in STARS.items() for stars in written},
}  # fmt: skip
UNCLEAR: list[Cells] = [
    *([0, 1], [1, 0, 1], [1, 1], [1, 2], [0, 2], [-1, 0, 1], [1, 2, 3, 4, 5], [0, 4]),
    *(["1.0", "0.0"], ["0", "1", "2", "positive"], ["True", "False"], ["LABEL_0", "LABEL_1"]),
    *(["mixed", "positive"], ["glad", "sad"], ["8/10", "3/10"], ["6 stars", "1 star"]),
    *(["-1 star", "1 star"], ["nan", "positive"], ["0.97", "0.03"]),
]


@pytest.mark.parametrize("place", READERS)
def test_words_and_stars_mean_the_same_everywhere(place: str, tmp_path: Path) -> None:
    found = READERS[place](tmp_path / "mine.csv", "label", [*MEANINGS], None)
    assert dict(zip(MEANINGS, found, strict=True)) == MEANINGS


@pytest.mark.parametrize("name", MEANINGS)
def test_the_classes_of_models_and_label_maps_mean_the_same(name: str) -> None:
    label = MEANINGS[name]
    assert meaning_of(name) == LABELS.index(label)
    others = [f"class {other}" for other in LABELS if other != label]
    mapped = {f"class {other}": other for other in LABELS if other != label}
    rule = rule_for([name, *others], label_map=mapped | {name: name})
    assert rule.meanings[0] == LABELS.index(label)
    assert check_label_map({"X": name}) == check_label_map(f"X={name}") == {"X": label}


@pytest.mark.parametrize("cells", UNCLEAR, ids=repr)
@pytest.mark.parametrize("place", READERS)
def test_what_may_mean_anything_is_asked_about_everywhere(
    place: str, cells: Cells, tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    with pytest.raises(S2lctError) as error:
        READERS[place](path, "label", cells, None)
    shown = " ".join(str(error.value).split())
    assert "nothing says what" in shown and "label-map" in shown.replace("_", "-"), shown
    if place != "function":
        assert "mine.csv, row" in shown and "column 'label'" in shown
    # The example of the error, with words in place of its choices, is a map that works.
    example = example_map({written_label(cell) for cell in cells if meaning_of(str(cell)) is None})
    label_map = check_label_map(example.replace("=negative|neutral|positive", "=negative"))
    assert len(READERS[place](path, "label", cells, label_map)) == len(cells)


@pytest.mark.parametrize("column", ["label", "labels", "gold", "sentiment"])
@pytest.mark.parametrize("place", ["corpus", "suite", "predictions file"])
def test_numbers_are_labels_where_all_three_stand_in_a_column_of_labels(
    place: str, column: str, tmp_path: Path
) -> None:
    column = "prediction" if place == "predictions file" else column
    for cells in ([2, 0, 1], ["2.0", "0.0", "1.0"]):
        found = READERS[place](tmp_path / "mine.csv", column, cells, None)
        assert found == ["positive", "negative", "neutral"]


@pytest.mark.parametrize("place", ["corpus", "suite"])
@pytest.mark.parametrize("column", ["stars", "Rating", "star_rating"])
def test_numbers_are_stars_where_the_column_is_called_so(
    place: str, column: str, tmp_path: Path
) -> None:
    read = READERS[place]
    found = read(tmp_path / "mine.csv", column, [5, "4.0", "2", "3.5", "one"], None)
    assert found == ["positive", "positive", "negative", "neutral", "negative"]
    for cells in ([0, 1, 2], [1, 2], [1, 10], [0, 5], [5, -1], ["5.5", "4"]):
        with pytest.raises(S2lctError, match=r"nothing\s+says"):
            read(tmp_path / "mine.csv", column, cells, None)


@pytest.mark.parametrize("place", READERS)
def test_a_label_map_comes_first_and_must_be_of_these_labels(place: str, tmp_path: Path) -> None:
    read, path = READERS[place], tmp_path / "mine.csv"
    turned = {"0": "positive", "1": "negative"}
    assert read(path, "label", [0, 1], turned) == ["positive", "negative"]
    if place != "function":
        assert read(path, "label", ["0.0", "1.0"], turned) == ["positive", "negative"]
    assert read(path, "label", ["good", "bad"], {"GOOD": "negative"}) == ["negative", "negative"]
    with pytest.raises(S2lctError, match=r"no\s+label"):
        read(path, "label", ["good", "bad"], {"glad": "positive"})


@pytest.mark.parametrize("label_map", [{}, {"a": 2}, {"a": "mixed"}, {1: "neg", "1.0": "pos"}, "a"])
def test_label_maps_that_say_nothing_are_refused(label_map: Any) -> None:
    with pytest.raises(ScoringError, match="--label-map"):
        check_label_map(label_map)


def test_a_parquet_file_says_what_its_numbers_of_classes_mean(tmp_path: Path) -> None:
    import datasets

    names = datasets.ClassLabel(names=["pos", "neg"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})
    rows = {"text": ["It sings.", "It drags."], "label": [0, 1]}
    path = tmp_path / "mine.parquet"
    datasets.Dataset.from_dict(rows, features=features).to_parquet(path)
    corpus = read_corpus(f"parquet:{path}")
    assert [sentence.label for sentence in corpus.sentences] == ["positive", "negative"]
    assert [min(case.passes) for case in load_suite(f"parquet:{path}").cases] == [2, 0]


def test_a_label_that_is_none_or_several_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for label in (["positive"], {"label": "positive"}, [], None, ""):
        path.write_text(json.dumps({"text": "It sings.", "label": label}))
        with pytest.raises(CorpusError, match=r"x\.jsonl, line 1: 'label'"):
            read_corpus(f"jsonl:{path}")
    rows = [{"text": f"It has {n} wheels.", "label": label} for n, label in enumerate((1, "pos"))]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(CorpusError, match=r"x\.jsonl, line 1: nothing says what '1'"):
        read_corpus(f"jsonl:{path}")


@pytest.mark.parametrize("cell", [None, float("nan"), pandas.NaT, pandas.NA])
def test_what_pandas_has_in_an_empty_cell_is_no_label(cell: object) -> None:
    assert written_label(cell) == ""
    assert written_label("nan") == "nan"
