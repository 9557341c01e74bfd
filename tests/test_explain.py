"""Explanations: words, contributions, samples, the search for a minimal set, reports."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.explain.attribution import attribute, method_of
from s2lct.analysis.explain.fillers import Draw, MaskedLMFiller
from s2lct.analysis.explain.report import (
    Explanation,
    ExplanationFile,
    Options,
    aggregate,
    html_page,
    read_explanations,
)
from s2lct.analysis.explain.search import (
    CASES_AT_ONCE,
    chosen_rows,
    explain,
    search,
)
from s2lct.analysis.explain.words import parts_of, words_of
from s2lct.analysis.judge import Judge
from s2lct.analysis.suite_rows import SuiteRow, load_rows
from s2lct.cli.main import app
from s2lct.leaderboard.models.network import Network
from s2lct.suite.cases import Case

pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]

runner = CliRunner()
NEUTRAL_WORDS = ("table", "window", "river", "paper", "garden", "number", "engine", "village")


class UniformFiller:
    """Every word of a vocabulary is as likely as any other."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.description = self.fingerprint = " ".join(words)

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        numbers = [
            draw.generator(seed).integers(len(self.words), size=(draw.samples, len(draw.hidden)))
            for draw in draws
        ]
        return [
            draw.texts(self.words, rows.tolist()) for draw, rows in zip(draws, numbers, strict=True)
        ]


FILLER = UniformFiller(NEUTRAL_WORDS)
KEYWORD = "unwatchableness"
MARKED_PIECE = "##ness"


def row(text: str, name: str = "a", **changed: Any) -> SuiteRow:
    values = {"capability": "LC8", "kind": "seed", "seed_id": name, "passes": frozenset({2})}
    case = Case(id=name, text=text, **{**values, **changed})  # type: ignore[arg-type]
    return SuiteRow(case, 2, "", (text,), ())


class Rule:
    """A classifier that says negative of texts whose words meet a condition, positive of others."""

    name, revision, fingerprint, classes = "rule", "", "", ("negative", "neutral", "positive")

    def __init__(self, condition: Callable[[set[str]], bool]) -> None:
        self._condition = condition

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        negative = [self._condition({word.text for word in words_of(text)}) for text in texts]
        yield list(range(len(texts))), np.eye(3)[[0 if one else 2 for one in negative]]


def says_negative_if(condition: Callable[[set[str]], bool]) -> Judge:
    return Judge(Rule(condition))


def kept_words(explanation: Explanation) -> list[str]:
    return [word.text for word in explanation.kept]


@pytest.fixture(scope="module")
def keyword_network() -> Network:
    """A BERT that says negative exactly where the text has a word with ``MARKED_PIECE``.

    Attention is uniform and its values see the marked piece alone, so that [CLS] turns to
    (1, -1, 0, 0) where the piece stands somewhere and stays (0, 0, 1, -1) elsewhere.
    """
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from s2lct.builder.models.encoder import encoder_path

    tokenizer = AutoTokenizer.from_pretrained(encoder_path())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=64,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "LayerNorm" not in name:
                weights.zero_()
        bert, layer = model.bert, model.bert.encoder.layer[0]
        bert.embeddings.word_embeddings.weight[:] = torch.tensor([0.0, 0.0, 1.0, -1.0])
        marked = tokenizer.convert_tokens_to_ids(MARKED_PIECE)
        bert.embeddings.word_embeddings.weight[marked] = torch.tensor([3.0, -3.0, 0.0, 0.0])
        layer.attention.self.value.weight[:] = torch.diag(torch.tensor([1.0, 1.0, 0.0, 0.0]))
        layer.attention.output.dense.weight[:] = 50 * torch.eye(4)
        bert.pooler.dense.weight[:] = torch.eye(4)
        model.classifier.weight[0, 0] = 10.0
        model.classifier.bias[1] = 5.0
    return Network(tokenizer, model, "keyword")


TEXT = f"The first film of the year, with all its {KEYWORD}, is two hours long."


def test_of_a_function_with_a_keyword_the_keyword_alone_is_kept() -> None:
    judge = says_negative_if(lambda words: KEYWORD in words)
    assert method_of(judge) == "Kernel SHAP"
    (explained,) = explain(judge, [row(TEXT)], FILLER)
    assert kept_words(explained) == [KEYWORD]
    assert (explained.said, explained.failed) == ("negative", True)
    assert explained.probability == 1.0
    assert explained.nothing_shown == 0.0
    assert explained.kept[0].without == 0.0


def test_of_a_network_with_a_keyword_the_whole_word_alone_is_kept(
    keyword_network: Network,
) -> None:
    assert len(keyword_network.tokenizer.tokenize(KEYWORD)) > 1
    judge = Judge(keyword_network)
    assert method_of(judge) == "integrated gradients"
    (explained,) = explain(judge, [row(TEXT)], FILLER)
    assert kept_words(explained) == [KEYWORD]
    by_share = sorted(explained.words, key=lambda word: -word.contribution)
    assert by_share[0].text == KEYWORD


def test_two_keywords_that_are_needed_together_are_both_kept() -> None:
    judge = says_negative_if(lambda words: {"not", "good"} <= words)
    text = "The acting is not in any way as good as that."
    (explained,) = explain(judge, [row(text)], FILLER)
    assert kept_words(explained) == ["not", "good"]


def test_an_answer_that_needs_no_word_rests_on_none() -> None:
    judge = says_negative_if(lambda words: True)
    (explained,) = explain(judge, [row(TEXT)], FILLER)
    assert explained.kept == ()
    assert explained.nothing_shown == 1.0


def test_contributions_add_up_over_whole_words(keyword_network: Network) -> None:
    judge = Judge(keyword_network)
    texts = [TEXT, "Just a film.", f"{KEYWORD} {KEYWORD}"]
    labels = judge.labels(texts).tolist()
    assert labels == [0, 1 + 1, 0]  # the label ids of negative and positive
    for text, label, shares in zip(texts, labels, attribute(judge, texts, labels), strict=True):
        assert len(shares) == len(words_of(text))
        blank = " ".join(["[MASK]"] * (len(keyword_network.tokenizer.tokenize(text))))
        gained = np.log(judge.support([text], [label])) - np.log(judge.support([blank], [label]))
        assert shares.sum() == pytest.approx(
            float(gained[0]), abs=0.15 * abs(float(gained[0])) + 0.01
        )


def test_a_networks_neutral_between_two_classes_has_contributions_too(
    keyword_network: Network,
) -> None:
    judge = Judge(keyword_network, neutral_band=(0.0, 1.0))
    assert judge.labels([TEXT]).tolist() == [1]
    (shares,) = attribute(judge, [TEXT], [1])
    assert np.isfinite(shares).all()
    assert np.abs(shares).sum() > 0


def test_black_boxes_contributions_are_those_of_the_rule() -> None:
    judge = says_negative_if(lambda words: KEYWORD in words)
    (shares,) = attribute(judge, [TEXT], [0])
    expected = [float(word.text == KEYWORD) for word in words_of(TEXT)]
    assert shares == pytest.approx(expected, abs=0.1)


def answers(order: Sequence[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    running = search(order)
    try:
        asked = next(running)
        while True:
            asked = running.send(holds(asked))
    except StopIteration as done:
        found: frozenset[int] = done.value
        return found


@given(data=st.data(), size=st.integers(0, 6))
def test_the_search_ends_where_no_single_word_can_go(data: st.DataObject, size: int) -> None:
    order = data.draw(st.permutations(range(size)))
    table = {
        frozenset(subset): data.draw(st.booleans())
        for count in range(size)
        for subset in itertools.combinations(range(size), count)
    }
    table[frozenset(range(size))] = True
    found = answers(order, table.__getitem__)
    assert table[found]
    assert not any(table[found - {word}] for word in found)


@given(data=st.data(), size=st.integers(1, 9))
def test_where_more_words_never_hold_less_no_smaller_part_holds(
    data: st.DataObject, size: int
) -> None:
    order = data.draw(st.permutations(range(size)))
    needed = data.draw(st.lists(st.frozensets(st.integers(0, size - 1)), min_size=1, max_size=3))
    found = answers(order, lambda shown: any(one <= shown for one in needed) or len(shown) == size)
    assert found in needed
    assert not any(one < found for one in needed)


def test_the_interval_holds_the_true_probability_in_95_of_100_runs() -> None:
    # The second word decides beside "bad", and 6 of 8 fillings are right: P = 0.75.
    right = {*NEUTRAL_WORDS[:6], "film"}
    judge = says_negative_if(lambda words: "bad" in words and bool(words & right))
    runs = [
        explain(
            judge,
            [row("bad film")],
            FILLER,
            Options(threshold=0.6, samples=60, seed=seed),
        )[0]
        for seed in range(300)
    ]
    # By chance a search may find too few right fillings and keep both words.
    found = [one for one in runs if kept_words(one) == ["bad"]]
    assert len(found) > 0.9 * len(runs)
    assert np.mean([one.ci[0] <= 0.75 <= one.ci[1] for one in found]) >= 0.95
    assert len({one.probability for one in found}) > 5


def test_samples_depend_on_seed_and_template_alone() -> None:
    draws = [
        Draw(text, frozenset({0}), 5, ("test",)) for text in ("one two three", "one two three four")
    ]
    assert FILLER.fill(draws, 0) == FILLER.fill(draws[::-1], 0)[::-1]
    assert FILLER.fill(draws, 0) != FILLER.fill(draws, 1)


def test_fills_stay_apart_from_the_words_beside_them() -> None:
    text = '"Dull, dull," they say; it\'s 1,000 years-long…'
    words = words_of(text)
    hidden = [n for n, word in enumerate(words) if not word.text[0].isalnum()]
    draw = Draw(text, frozenset(range(len(words))) - set(hidden), 1, ())
    assert draw.filled([words[n].text for n in hidden]) == text
    filled = draw.filled(["xx"] * len(hidden))
    assert filled == "xx Dull xx dull xx xx they say xx it's 1,000 years-long xx"


def test_the_masked_language_model_fills_hidden_words_alone() -> None:
    filler = MaskedLMFiller("embedded")
    text = 'They said, "The film is a very good film," and it was.'
    words = words_of(text)
    hidden = next(number for number, word in enumerate(words) if word.text == "film")
    shown = frozenset(range(len(words))) - {hidden}
    draws = [
        Draw(text, shown, 200, ("test",)),
        Draw(text, frozenset(range(len(words))), 3, ("test",)),
        Draw(text, frozenset(), 2, ("test",)),
    ]
    some, whole, none = filler.fill(draws, 0)
    assert whole == [text] * 3
    start, end = words[hidden].start, words[hidden].end
    fills = [one[start : len(one) - len(text) + end] for one in some]
    assert all(
        one == text[:start] + fill + text[end:] for one, fill in zip(some, fills, strict=True)
    )
    # It reads the words around: films are commoner there than engines.
    assert sum(fill in ("film", "movie", "story", "cast") for fill in fills) > 30
    assert len(set(none)) == 2
    assert none[0][0].isupper()  # where the hidden word had a capital


def test_a_killed_run_goes_on_and_gives_the_same() -> None:
    rows = [row(f"{TEXT} Number {n}.", str(n)) for n in range(CASES_AT_ONCE + 2)]
    asked: list[int] = []

    class Counted:
        revision, fingerprint = "", "f" * 64
        name = "counted"
        classes = ("negative", "positive")
        dies = False

        def probabilities(self, texts: Sequence[str]) -> Any:
            if self.dies and any("Number 17" in text for text in texts):
                raise KeyboardInterrupt
            asked.append(len(texts))
            bad = np.array([KEYWORD in text for text in texts], dtype=float)
            yield list(range(len(texts))), np.stack([bad, 1 - bad], axis=1)

    dying = Counted()
    dying.dies = True
    with pytest.raises(KeyboardInterrupt):
        explain(Judge(dying), rows, FILLER)
    before = len(asked)
    whole = explain(Judge(Counted()), rows, FILLER)
    assert 0 < len(asked) - before < before
    asked.clear()
    assert explain(Judge(Counted()), rows, FILLER) == whole
    assert asked == []
    another = Counted()
    another.fingerprint = ""
    assert explain(Judge(another), rows, FILLER) == whole
    assert asked


@given(st.text())
def test_every_character_but_spaces_belongs_to_one_word(text: str) -> None:
    words = words_of(text)
    covered = [place for word in words for place in range(word.start, word.end)]
    assert len(covered) == len(set(covered))
    assert all(text[place].isspace() for place in set(range(len(text))) - set(covered))
    assert all(text[word.start : word.end] == word.text for word in words)


def test_template_source_and_inserted_words_are_told_apart(suite_folder: Path) -> None:
    rows = load_rows(suite_folder).rows
    assert rows
    for one in rows:
        parts = parts_of(one.case.text, one.template, one.inserted)
        words = words_of(one.case.text)
        assert len(parts) == len(words)
        inserted = [
            word.text for word, part in zip(words, parts, strict=True) if part.kind == "inserted"
        ]
        assert " ".join(inserted) == " ".join(one.case.inserted)
        of_template = {part.name for part in parts if part.kind == "template"}
        assert bool(of_template) == bool(one.template)
        source = " ".join(one.sources).lower()
        told = [word.text for word, part in zip(words, parts, strict=True) if part.kind == "source"]
        moved = {"was", "were"} if "|backshift" in one.template else set()
        moved |= {"to", "be"} if "|infinitive" in one.template else set()
        assert all(word.lower() in source for word in told if word not in moved), one.case.text


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("{N|negate}", "It isn't dull.", {"isn't": "negate"}),
        ("{N|negate}", "It doesn't work.", {"doesn't": "negate"}),
        ("{N|negate fully}", "It does not work.", {"does": "negate fully", "not": "negate fully"}),
        ("{N|negate fully}", "It cannot work.", {"cannot": "negate fully"}),
        ("{N|question} No.", "Does it do harm? No.", {"Does": "question", "No": "No"}),
        ("{N|question} No.", "Is it dull? No.", {"No": "No"}),
        (
            "{N|question} No, {N|denial}.",
            "Is it dull? No, it isn't.",
            {"No": "No", "it": "denial", "isn't": "denial"},
        ),
        (
            "I feared {N|backshift|clause}, but {N|past denial}.",
            "I feared it was dull, but it wasn't.",
            {"I": "I feared", "feared": "I feared", "but": "but"}
            | {"it": "past denial", "wasn't": "past denial"},
        ),
    ],
)
def test_words_that_operations_bring_are_of_the_template(
    template: str, text: str, expected: dict[str, str]
) -> None:
    named = {
        word.text: part.name
        for word, part in zip(words_of(text), parts_of(text, template), strict=True)
        if part.kind == "template" and word.text[0].isalpha()
    }
    assert named == expected


def test_failures_are_chosen_beside_their_passing_seeds() -> None:
    rows = [
        row("seed one", "a"),
        row("seed one, worse", "a1", kind="expansion", seed_id="a"),
        row("seed one, also worse", "a2", kind="expansion", seed_id="a"),
        row("seed two, worse", "b"),
        row("seed two, far worse", "b1", kind="expansion", seed_id="b"),
        row("seed three", "c"),
        row("seed three, worse", "c1", kind="expansion", seed_id="c"),
    ]
    said = [0 if "worse" in one.case.text else 2 for one in rows]

    def ids(**options: Any) -> list[str]:
        return [one.case.id for one in chosen_rows(rows, said, **options)]

    assert ids(pass_to_fail=True) == ["a", "a1", "a2", "c", "c1"]
    assert ids(pass_to_fail=True, limit=2) == ["a", "a1", "c", "c1"]  # of two families
    assert ids() == ["a1", "a2", "b", "b1", "c1"]
    assert ids(limit=3) == ["a1", "b", "c1"]


@pytest.fixture(scope="module")
def explained_pairs() -> list[Explanation]:
    template = '{before} says, "{S}"'
    text = 'My <b>friend</b> says, "A dreadful film."'
    worse = text.replace("film", "feature film")
    start = worse.index("feature")
    passing = SuiteRow(
        Case("a", "LC8", "seed", "a", text, frozenset({2})), 2, template, ("A dreadful film.",), ()
    )
    failing = SuiteRow(
        Case("b", "LC8", "expansion", "a", worse, frozenset({2}), ("feature",)),
        2,
        template.replace("{before}", "My <b>friend</b>"),
        ("A dreadful film.",),
        ((start, start + len("feature")),),
    )
    judge = says_negative_if(lambda words: {"dreadful", "feature", "friend"} <= words)
    return explain(judge, [passing, failing], FILLER)


def test_aggregates_count_words_and_parts_of_failures_alone(
    explained_pairs: list[Explanation],
) -> None:
    (of_lc8,) = aggregate(explained_pairs)
    assert of_lc8.failures == 1
    assert of_lc8.kept == 3
    assert {share.name: (share.kind, share.held) for share in of_lc8.words} == {
        "dreadful": ("source", 1),
        "feature": ("inserted", 1),
        "friend": ("template", 1),
    }
    assert [(share.kind, share.held, share.cases) for share in of_lc8.kinds] == [
        ("template", 1, 1),
        ("source", 1, 1),
        ("inserted", 1, 1),
    ]
    assert of_lc8.source_alone == 0
    held = {share.name: share.held for share in of_lc8.parts}
    assert held == {"My <b>friend</b> says": 1, "sentence S": 1, "inserted words": 1, "quotes": 0}


def test_marked_texts_are_escaped(explained_pairs: list[Explanation]) -> None:
    file = ExplanationFile(
        suite="s", suite_fingerprint="", model="m", model_fingerprint="", label_rule="",
        fillings="", attribution="", options=Options(), explanations=tuple(explained_pairs),
    )  # fmt: skip
    html = html_page(file)
    words = f"{len(explained_pairs[1].words)}"
    assert f"m is held to wrong answers by 3.0 of {words} words in the mean; 0 of 1" in html
    # The sentence that says it, the case, and figures behind.
    assert html.index('class="lead"') < html.index(">dreadful</mark>") < html.index("<table>")
    assert "<b>friend" not in html
    assert ">dreadful</mark> <mark" in html
    assert ">feature</mark> film.&#34; <small>" in html
    assert 'My &lt;b&gt;<mark class="template" title="P without it: 0.00">friend</mark>' in html


def test_explanations_from_the_command_line_join_the_report(
    suite_folder: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "explain.json", tmp_path / "explain.html"
    arguments = ["--suite", str(suite_folder), "--capability", "LC7"]
    arguments += ["--out", str(out), "--html", str(page)]
    done = runner.invoke(
        app,
        ["explain", "vader", "--limit", "2", "--samples", "20", *arguments],
    )
    assert done.exit_code == 0, done.output
    file = read_explanations(out)
    assert len(file.explanations) == 2
    assert file.attribution == "Kernel SHAP"
    assert all(one.failed and one.capability == "LC7" for one in file.explanations)
    assert page.read_text() == html_page(file)
    assert "http" not in page.read_text()  # it needs no network
    done = runner.invoke(
        app, ["score", "vader", "--suite", str(suite_folder), "--out", str(tmp_path / "r")]
    )
    assert done.exit_code == 0, done.output
    result, report = tmp_path / "r" / "vader.json", tmp_path / "report.html"
    join = ["report", str(result), "--explanations", str(out), "--html", str(report)]
    done = runner.invoke(app, join)
    assert done.exit_code == 0, done.output
    assert "What holds the failures of vader" in report.read_text()
    other = json.loads(out.read_text()) | {"suite_fingerprint": "1" * 64}
    out.write_text(json.dumps(other))
    done = runner.invoke(app, join)
    assert done.exit_code == 1
    assert "another suite" in " ".join(done.output.split())
