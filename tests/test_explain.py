"""Explanations: words, contributions, fillings, the search for a minimal set, the page."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_papers import run
from tiny_models import tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.explain import search
from s2lct.analysis.explain.attribution import attribution_method_name, word_contributions
from s2lct.analysis.explain.report import Explanations
from s2lct.analysis.explain.search import (
    Explanation,
    choose_failures,
    explain_cases,
    smallest_set,
)
from s2lct.analysis.explain.words import MaskedLMFiller, origins_of, with_fillings, words_of
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.cli.main import app
from s2lct.leaderboard.models.network import Network
from s2lct.suite import cases as suite_cases
from s2lct.suite.cases import Case, load_suite

__all__ = ["run"]
pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]

NEUTRAL_WORDS = ("table", "window", "river", "paper", "garden", "number", "engine", "village")


class UniformFiller(MaskedLMFiller):
    """Every word of a vocabulary is as likely as any other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._fillings = tuple(words)
        self.description = self.fingerprint = " ".join(words)

    def _sample(self, text: str, hidden: tuple[int, ...], quantiles: Any) -> list[list[int]]:
        rows: list[list[int]] = (quantiles * len(self._fillings)).astype(int).tolist()
        return rows


FILLER = UniformFiller(NEUTRAL_WORDS)
KEYWORD = "unwatchableness"


def row(text: str, name: str = "a", **changed: Any) -> Case:
    values = {"capability": "LC8", "kind": "seed", "seed_id": name, "passes": frozenset({2})}
    values["source_texts"] = (text,)
    return Case(id=name, text=text, **{**values, **changed})  # type: ignore[arg-type]


class Rule:
    """A classifier that says negative of texts whose words meet a condition, positive of others."""

    name, revision, fingerprint, classes = "rule", "", "", ("negative", "neutral", "positive")

    def __init__(self, condition: Callable[[set[str]], bool]) -> None:
        self._condition = condition

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        negative = [self._condition({word.text for word in words_of(text)}) for text in texts]
        yield list(range(len(texts))), np.eye(3)[[0 if one else 2 for one in negative]]


def negative_if(condition: Callable[[set[str]], bool]) -> LabelledClassifier:
    return LabelledClassifier.from_classifier(Rule(condition))


def kept_words(explanation: Explanation) -> list[str]:
    return [word.text for word in explanation.kept]


TEXT = f"The first film of the year, with all its {KEYWORD}, is two hours long."


@pytest.mark.parametrize(
    ("condition", "text", "kept"),
    [
        (lambda words: KEYWORD in words, TEXT, [KEYWORD]),
        (
            lambda words: {"not", "good"} <= words,
            "The acting is not in any way as good as that.",
            ["not", "good"],
        ),
        (lambda words: True, TEXT, []),
    ],
)
def test_of_a_rule_the_words_that_it_needs_are_kept(
    condition: Callable[[set[str]], bool], text: str, kept: list[str]
) -> None:
    judge = negative_if(condition)
    assert attribution_method_name(judge) == "leaving out each word"
    (explained,) = explain_cases(judge, [row(text)], FILLER)
    assert kept_words(explained) == kept
    assert (explained.prediction, explained.probability) == ("negative", 1.0)
    assert explained.nothing_shown == float(not kept)
    assert [word.without for word in explained.kept] == [0.0] * len(kept)
    if text == TEXT and kept:
        expected = [float(word.text == KEYWORD) for word in words_of(TEXT)]
        assert word_contributions(judge, TEXT, 0) == pytest.approx(expected, abs=0.1)


def test_contributions_of_a_network_add_up_over_whole_words() -> None:
    tokenizer, model = tiny_classifier(("negative", "positive"), initializer_range=0.1)
    judge = LabelledClassifier.from_classifier(Network(tokenizer, model.eval(), "tiny"))
    assert attribution_method_name(judge) == "integrated gradients"
    assert len(tokenizer.tokenize(KEYWORD)) > 1
    for text in (TEXT, "Just a film.", f"{KEYWORD} {KEYWORD}"):
        blank = " ".join(["[MASK]"] * len(tokenizer.tokenize(text)))
        for label in (0, 2):
            shares = word_contributions(judge, text, label)
            assert len(shares) == len(words_of(text))
            before, after = np.log(judge.label_scores([blank, text])[:, label])
            gained = float(after - before)
            assert abs(gained) > 1e-4
            assert shares.sum() == pytest.approx(gained, abs=0.15 * abs(gained) + 1e-4)
    # Neutral between two classes has contributions too.
    shares = word_contributions(judge, TEXT, 1)
    assert np.isfinite(shares).all()
    assert np.abs(shares).sum() > 0


@given(data=st.data(), size=st.integers(0, 6))
def test_the_search_ends_where_no_single_word_can_go(data: st.DataObject, size: int) -> None:
    order = data.draw(st.permutations(range(size)))
    table = {
        frozenset(subset): data.draw(st.booleans())
        for count in range(size)
        for subset in itertools.combinations(range(size), count)
    }
    found = smallest_set(order, table.__getitem__)
    table[frozenset(range(size))] = True
    assert table[found]
    assert not any(table[found - {word}] for word in found)


def test_the_reported_share_is_not_that_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "P_THRESHOLD", 0.4)
    # Either word beside "bad" decides, and 2 of 8 fillings are right: P = 1 - (6/8)².
    right = {*NEUTRAL_WORDS[:2], "film"}
    judge = negative_if(lambda words: "bad" in words and bool(words & right))
    runs = explain_cases(judge, [row(f"bad film {n}", str(n)) for n in range(60)], FILLER)
    # By chance a search may find too few right fillings and keep two words.
    found = [one for one in runs if kept_words(one) == ["bad"]]
    assert len(found) > 0.5 * len(runs)
    assert np.mean([one.probability for one in found]) == pytest.approx(1 - (6 / 8) ** 2, abs=0.03)


def test_the_masked_language_model_fills_hidden_words_alone() -> None:
    filler = MaskedLMFiller()
    text = 'They said, "The film is a very good film," and it was.'
    words = words_of(text)
    hidden = next(number for number, word in enumerate(words) if word.text == "film")
    every = frozenset(range(len(words)))

    def fill(shown: frozenset[int], samples: int) -> list[str]:
        return filler.fill(text, shown, samples, np.random.default_rng(0))

    start, end = words[hidden].start, words[hidden].end
    part = fill(every - {hidden}, 200)
    fills = [one[start : len(one) - len(text) + end] for one in part]
    assert part == [text[:start] + fill + text[end:] for fill in fills]
    # It reads the words around: films are commoner there than engines.
    assert sum(fill in ("film", "movie", "story", "cast") for fill in fills) > 30
    assert fill(every, 3) == [text] * 3
    assert fill(frozenset(), 2)[0][0].isupper()  # where the hidden word had a capital
    # Fills stay apart from the words beside them.
    marks = [n for n, word in enumerate(words) if not word.text[0].isalnum()]
    assert with_fillings(text, marks, [words[n].text for n in marks]) == text
    apart = with_fillings(text, marks, ["xx"] * len(marks))
    assert apart == "They said xx xx The film is a very good film xx xx and it was xx"


def test_a_killed_run_goes_on_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(f"{TEXT} Number {n}.", str(n)) for n in range(3)]
    judge = negative_if(lambda words: KEYWORD in words)
    without_a_cache = explain_cases(judge, rows, FILLER)
    judge.classifier.fingerprint = "f" * 64
    attributed: list[str] = []

    def counted(judge: LabelledClassifier, text: str, label: int) -> Any:
        attributed.append(text)
        if len(attributed) == 2:
            raise KeyboardInterrupt
        return word_contributions(judge, text, label)

    monkeypatch.setattr(search, "word_contributions", counted)
    with pytest.raises(KeyboardInterrupt):
        explain_cases(judge, rows, FILLER)
    assert explain_cases(judge, rows, FILLER) == without_a_cache
    assert attributed == [one.text for one in (rows[0], rows[1], rows[1], rows[2])]


def test_template_source_and_inserted_words_are_told_apart(suite_folder: Path) -> None:
    for case in load_suite(suite_folder).cases:
        by_origin: dict[str, list[str]] = {"template": [], "source": [], "inserted": []}
        for word, origin in zip(words_of(case.text), origins_of(case), strict=True):
            by_origin[origin].append(word.text)
        assert by_origin["inserted"] == " ".join(case.inserted).split()
        assert bool(by_origin["template"]) == bool(case.template)
        source = " ".join(case.source_texts).lower()
        assert all(word.lower()[:3] in source for word in by_origin["source"])


def test_failures_of_different_families_are_chosen_first() -> None:
    rows = [
        row("seed one", "a"),
        row("seed one, worse", "a1", kind="expansion", seed_id="a"),
        row("seed one, also worse", "a2", kind="expansion", seed_id="a"),
        row("seed two, worse", "b"),
        row("seed two, far worse", "b1", kind="expansion", seed_id="b"),
        row("seed three, worse", "c1", kind="expansion", seed_id="c"),
    ]
    predicted = [0 if "worse" in one.text else 2 for one in rows]

    def ids(most: int | None = None) -> list[str]:
        return [one.id for one in choose_failures(rows, predicted, most)]

    assert ids() == ["a1", "a2", "b", "b1", "c1"]
    assert ids(3) == ["a1", "b", "c1"]


def test_the_page_marks_the_words_and_the_table_counts_them() -> None:
    text = 'My <b>friend</b> says, "A dreadful feature film."'
    start = text.index("feature")
    case = row(
        text,
        "b",
        kind="expansion",
        template='My <b>friend</b> says, "{S}"',
        source_texts=("A dreadful film.",),
        places=((start, start + len("feature")),),
    )
    judge = negative_if(lambda words: {"dreadful", "feature", "friend"} <= words)
    explained = explain_cases(judge, [case], FILLER)
    result = Explanations(
        suite="s", suite_fingerprint="", model="m", model_fingerprint="", label_rule="",
        fillings="", attribution="", threshold=0.9, explanations=tuple(explained),
    )  # fmt: skip
    (cells,) = result.table().rows
    count = len(explained[0].words)
    assert cells[1:] == ["1", f"3.0 of {count}", "1", "0", "0",
                         "dreadful 1/1\nfeature 1/1\nfriend 1/1"]  # fmt: skip
    assert "dreadful 1/1" in str(result)
    assert result.to_dict()["explanations"][0]["text"] == text
    html = result.html()
    assert html.index(">dreadful</mark>") < html.index("<table")
    assert "<b>friend" not in html
    assert ">feature</mark> film.&#34; <small>" in html
    assert 'My &lt;b&gt;<mark class="template" title="P without it: 0.00">friend</mark>' in html
    assert "http" not in html  # it needs no network


def test_rq4_of_the_paper_counts_what_explain_finds(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    whole = load_suite(suite_folder)
    monkeypatch.setattr(suite_cases, "load_suite", lambda _: whole.select(["LC2", "LC4"]))
    options = ("--model", "vader", "--suite", suite_folder, "--limit", 2)
    rows = {row["capability"]: row for row in run("s2lct_explanations", *options)}
    out, page = tmp_path / "explain.json", tmp_path / "explain.html"
    arguments = ["--suite", str(suite_folder), "--limit", "2", "--out", str(out)]
    done = CliRunner().invoke(app, ["explain", "vader", *arguments, "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "what holds the failures of vader" in page.read_text(encoding="utf-8")
    failures = json.loads(out.read_text(encoding="utf-8"))["explanations"]
    assert set(rows) == {failure["capability"] for failure in failures}
    for name, row in rows.items():
        own = [failure for failure in failures if failure["capability"] == name]
        kept = [[word for word in failure["words"] if word["kept"]] for failure in own]
        parts = [{word["part"] for word in words} for words in kept]
        assert row["failures"] == len(own) <= 2
        assert row["words kept"] == pytest.approx(fmean(map(len, kept)), abs=0.006)
        assert row["on the template"] == sum("template" in kinds for kinds in parts)
        assert row["on the sentence alone"] == sum(kinds == {"source"} for kinds in parts)
        assert row["on nothing"] == sum(not kinds for kinds in parts)
        assert row["mean P"] == pytest.approx(fmean(of["probability"] for of in own), abs=0.006)
