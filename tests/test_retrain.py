"""Retraining: splits without leaks, training, what is learnt and forgotten, the matrix."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.judge import Judge
from s2lct.analysis.retrain.records import (
    CaseOutcome,
    Matrix,
    Row,
    Run,
    TrainOptions,
    change_of,
    row_of,
)
from s2lct.analysis.retrain.report import html_page
from s2lct.analysis.retrain.splits import FOLDS, sentence_key, sentences_of, split_of
from s2lct.analysis.retrain.train import Retrainer, mixed_sentences
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows
from s2lct.analysis.training import Example, fine_tune, learnable
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.records import Sentence
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.network import Network
from s2lct.suite.cases import Case

runner = CliRunner()
THREE = ("negative", "neutral", "positive")


def case(
    name: str,
    capability: str,
    text: str,
    label: int,
    sources: Sequence[str],
    *,
    seed_id: str = "",
    passes: frozenset[int] | None = None,
) -> SuiteRow:
    kind = "expansion" if seed_id else "seed"
    of = Case(name, capability, kind, seed_id or name, text, passes or frozenset({label}))
    return SuiteRow(of, label, "{S}", tuple(sources), ())


ADJECTIVES = ("dreadful", "lovely")
NOUNS = ["plot", "cast", "music", "ending", "story", "camera", "editing", "dialogue"]


def made_up_suite() -> SuiteRows:
    """LC9 flips nothing and LC10 flips the label; every third sentence is in both."""
    rows: list[SuiteRow] = []
    for number in range(48):
        word = ADJECTIVES[number % 2]
        sentence = f"The {NOUNS[number % 8]} of film {number} is {word}."
        label = 2 * (number % 2)
        name = f"y{number}"
        text = f'Do I say "{sentence}" Yes.'
        rows.append(case(name, "LC9", text, label, [sentence]))
        rows.append(case(f"{name}e", "LC9", f"Also: {text}", label, [sentence], seed_id=name))
        other = sentence if number % 3 == 0 else sentence.replace("film", "series")
        text = f'Do I say "{other}" No.'
        rows.append(case(f"n{number}", "LC10", text, 2 - label, [other]))
    return SuiteRows("made up", "1.0.0", "1" * 64, tuple(rows))


SUITE = made_up_suite()


@given(st.integers(0, 40), st.sampled_from([("LC9",), ("LC10",), ("LC9", "LC10")]))
@settings(max_examples=40)
def test_no_sentence_is_on_both_sides(seed: int, trained_on: tuple[str, ...]) -> None:
    split = split_of(SUITE.rows, trained_on, seed)
    parts = [getattr(split, name) for name in split.__dataclass_fields__]
    assert sorted(row.case.id for part in parts for row in part) == sorted(
        row.case.id for row in SUITE.rows
    )
    seen = sentences_of((*split.train, *split.validation))
    assert split.trained_sentences == seen
    assert not seen & sentences_of((*split.test, *split.unseen))
    assert not sentences_of(split.train) & sentences_of(split.validation)
    assert all(sentences_of([row]) & seen for row in split.shared)
    trained = {row.case.capability for row in (*split.train, *split.validation, *split.test)}
    assert trained == set(trained_on)
    family_parts = Counter((row.case.seed_id, n) for n, part in enumerate(parts) for row in part)
    assert len({family for family, _ in family_parts}) == len(family_parts)
    assert len(split.train) > 4 * len(split.test) > 0


def test_every_family_is_held_out_once_in_ten_seeds() -> None:
    for first in (0, FOLDS):
        tested = Counter(
            row.case.id
            for seed in range(first, first + FOLDS)
            for row in split_of(SUITE.rows, ["LC9"], seed).test
        )
        assert tested == Counter(r.case.id for r in SUITE.rows if r.case.capability == "LC9")


def test_cases_with_a_sentence_of_both_sides_are_left_out() -> None:
    # Two neutral sentences stand in all cases, a positive sentence joins cases of both.
    rows = [
        case(f"f{n}", "LC7", f"case {n}", 0, [f"hub {n % 2}", "both" if n in (4, 5) else f"p{n}"])
        for n in range(10)
    ] + [case(f"g{n}", "LC7", f"alone {n}", 0, [f"q{n}"]) for n in range(4)]
    splits = [split_of(rows, ["LC7"], seed) for seed in range(6)]
    left_out = [{row.case.id for row in split.left_out} for split in splits]
    assert {"f4", "f5"} >= set().union(*left_out)
    assert any(left_out)


def test_too_few_sentences_are_refused() -> None:
    rows = [case(f"f{n}", "LC5", f"case {n}", 1, ["the same"]) for n in range(9)]
    with pytest.raises(AnalysisError, match="9 seed families"):
        split_of(rows, ["LC5"])


def tiny(classes: Sequence[str] = THREE, seed: int = 0) -> Network:
    tokenizer, model = tiny_classifier(
        classes, seed=seed, hidden_size=32, num_hidden_layers=1, initializer_range=0.02
    )
    network = Network(tokenizer, model, "tiny")
    network.fingerprint = f"tiny {seed}"
    return network


OPTIONS = TrainOptions(epochs=12, lr=5e-3)


def made_up_corpus() -> Corpus:
    sentences = tuple(
        Sentence(
            "mine",
            str(number),
            f"This {NOUNS[number % 8]} number {number} is {ADJECTIVES[number % 2]}.",
            LABELS[2 * (number % 2)],
            ("train", "train", "dev", "test")[number % 4 if number < 80 else 1],
        )
        for number in range(100)
    )
    # One test sentence is what a case was made from.
    leaked = Sentence("mine", "leak", SUITE.rows[0].sources[0].upper(), "negative", "test")
    return Corpus("mine", (*sentences, leaked), "c" * 64, {}, "made up", "none")


def test_a_capability_is_learnt_and_forgetting_is_measured(tmp_path: Path) -> None:
    judge = Judge(tiny())
    corpus = made_up_corpus()
    retrainer = Retrainer(judge, SUITE, corpus, OPTIONS, tmp_path)
    run = retrainer.run("LC9", ["LC9"], 0)
    row = row_of("LC9", [run])
    own = row.unseen["LC9"]
    assert own.failures_before > 0
    assert own.failures_after == 0
    assert own.fail_to_pass == own.failures_before
    assert run.steps == 12 * -(-run.train // 16)
    # The saved model says the same, and is scored like any other.
    saved = retrainer.folder_of("LC9", 0)
    again = Judge(load_classifier(str(saved)))
    by_id = {one.case.id: one for one in SUITE.rows}
    said = again.labels([by_id[one.id].case.text for one in run.cases]).tolist()
    assert [one.after for one in run.cases] == [
        label not in by_id[one.id].case.passes for one, label in zip(run.cases, said, strict=True)
    ]
    # Accuracy on the corpus's own test split, counted again.
    seen = split_of(SUITE.rows, ["LC9"], 0).trained_sentences
    test = [one for one in corpus.sentences if one.split == "test"]
    kept = [one for one in test if sentence_key(one.text) not in seen]
    assert run.corpus is not None
    assert run.corpus.sentences == len(kept)
    assert run.corpus.left_out == len(test) - len(kept)
    for scored, told in ((judge, run.corpus.before), (again, run.corpus.after)):
        labels = scored.labels([one.text for one in kept]).tolist()
        right = [LABELS[label] == one.label for label, one in zip(labels, kept, strict=True)]
        assert told == pytest.approx(np.mean(right))
    # Nothing pickled is left behind, and the model that was handed in is as it was.
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {
        ".json",
        ".safetensors",
    }
    assert judge.labels(["A film."]).tolist() == Judge(tiny()).labels(["A film."]).tolist()


def test_a_run_counts_families_and_is_of_its_texts_and_passing_labels(tmp_path: Path) -> None:
    # Two seeds of each sentence, as "X is not good" and "X isn't good".
    rows = tuple(
        replace(
            row,
            case=replace(row.case, kind="seed", seed_id=row.case.id, sources=row.sources),
        )
        for row in SUITE.rows
        if row.case.capability == "LC9"
    )
    options = TrainOptions(epochs=0.1)

    def run(*rows: SuiteRow) -> Run:
        suite = replace(SUITE, rows=rows)
        return Retrainer(Judge(tiny()), suite, None, options, tmp_path).run("LC9", ["LC9"], 0)

    change = row_of("LC9", [run(*rows)]).unseen["LC9"]
    assert change.cases == 2 * change.families > 0
    first, *others = rows
    for altered in ({"text": "Another."}, {"passes": frozenset({0, 1})}, {"sources": ("a",)}):
        with pytest.raises(AnalysisError, match="--out"):
            run(replace(first, case=replace(first.case, **altered)), *others)


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    from transformers import TrainerCallback

    class Counting(TrainerCallback):
        steps = 0

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.steps += 1

    for save_to in (None, tmp_path):
        counting = Counting()
        retrainer = Retrainer(Judge(tiny()), SUITE, None, TrainOptions(), save_to)
        first = retrainer.run("LC9", ["LC9"], 0, callbacks=[counting])
        assert counting.steps == first.steps > 0
        assert retrainer.run("LC9", ["LC9"], 0, callbacks=[counting]) == first
        assert counting.steps == first.steps
    other = Retrainer(Judge(tiny()), SUITE, None, OPTIONS, tmp_path)
    with pytest.raises(AnalysisError, match="--out"):
        other.run("LC9", ["LC9"], 0)


@pytest.mark.parametrize("classes", [THREE, ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")])
def test_the_loss_is_that_of_all_classes_with_the_meaning(classes: tuple[str, ...]) -> None:
    import torch
    from transformers import TrainerCallback

    network = tiny(classes)
    judge = Judge(network)
    assert judge.rule is not None
    examples = [Example(row.case.text, row.label) for row in SUITE.rows[:8]]
    encoded = network.tokenizer([one.text for one in examples], padding=True, return_tensors="pt")
    network.model.eval()
    probabilities = torch.softmax(network.model(**encoded).logits.detach(), dim=-1)
    of_label = {0: [0], 2: [2]} if len(classes) == 3 else {0: [0, 1], 2: [3, 4]}
    expected = np.mean(
        [
            -np.log(sum(float(row[n]) for n in of_label[one.label]))
            for row, one in zip(probabilities, examples, strict=True)
        ]
    )
    heard: list[float] = []

    class Listening(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            heard.append(logs["train_loss"])

    for layer in network.model.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    fine_tune(network, judge.rule, examples, lr=1e-9, batch_size=8, callbacks=[Listening()])
    assert heard[-1] == pytest.approx(expected, rel=1e-4)


def test_binary_models_drop_neutral_cases() -> None:
    neutral = tuple(
        case(f"u{n}", "LC5", f"This is film {n}.", 1, [f"This is film {n}."]) for n in range(30)
    )
    suite = SuiteRows("mine", "1.0.0", "2" * 64, (*SUITE.rows, *neutral))
    judge = Judge(tiny(("negative", "positive")))
    assert judge.rule is not None
    assert learnable(judge.rule, [Example("a", 1), Example("b", 0)]) == [Example("b", 0)]
    corpus, options = made_up_corpus(), TrainOptions(mix=0.5)
    retrainer = Retrainer(judge, suite, corpus, options)
    run = retrainer.run("LC5+LC9", ["LC5", "LC9"], 0)
    assert run.mixed == len(mixed_sentences(corpus, suite.rows, 0.5, 0)) > 0
    assert run.steps == -(-(run.train + run.mixed) // 16)
    split = split_of(suite.rows, ["LC5", "LC9"], 0)
    dropped = sum(row.label == 1 for row in split.train)
    assert 0 < dropped == run.dropped_neutral
    assert run.train == len(split.train) - dropped
    with pytest.raises(AnalysisError, match="no neutral class"):
        retrainer.run("LC5", ["LC5"], 0)


def test_what_is_mixed_in_is_of_no_case_and_not_tested_on() -> None:
    corpus = made_up_corpus()
    used = corpus.sentences[0].text
    rows = (*SUITE.rows, case("m", "LC9", "Yes.", 0, [used.upper()]))
    everything = mixed_sentences(corpus, rows, 1.0, 0)
    texts = {sentence_key(one.text) for one in everything}
    assert sentence_key(used) not in texts
    assert not texts & {sentence_key(s.text) for s in corpus.sentences if s.split != "train"}
    train = sum(one.split == "train" for one in corpus.sentences)
    assert len(everything) == train - 1
    assert len(mixed_sentences(corpus, rows, 0.25, 0)) == round(0.25 * train)
    assert mixed_sentences(corpus, rows, 0.25, 0) != mixed_sentences(corpus, rows, 0.25, 1)


def test_models_without_weights_are_refused() -> None:
    with pytest.raises(AnalysisError, match="has no weights to train"):
        Retrainer(Judge(load_classifier("vader")), SUITE, None, OPTIONS)


def outcome(name: str, family: int, before: bool, after: bool) -> CaseOutcome:
    return CaseOutcome(
        id=name,
        capability="LC9",
        family=family,
        group="test",
        before=before,
        after=after,
    )


def test_changes_are_counted_and_their_intervals_go_by_family() -> None:
    outcomes = [
        *(outcome(f"a{n}", 0, True, False) for n in range(3)),
        outcome("b0", 1, False, True),
        outcome("c0", 2, True, True),
    ]
    change = change_of(outcomes)
    assert (change.cases, change.families) == (5, 3)
    assert (change.failures_before, change.failures_after) == (4, 2)
    assert (change.fail_to_pass, change.pass_to_fail) == (3, 1)
    assert change.change == pytest.approx(-0.4)
    assert change.ci[0] <= -0.4 <= change.ci[1]
    assert not change.clear
    # Thirty cases of one family are one observation, thirty families are thirty.
    alike = [outcome(f"a{n}", int(n >= 30), True, n >= 30) for n in range(60)]
    apart = [outcome(f"a{n}", n, True, n >= 30) for n in range(60)]
    assert change_of(alike).ci == (-1.0, 0.0)
    assert change_of(apart).ci[0] > -0.7
    assert change_of(apart).clear
    # One family that got better shows nothing, however sure a bootstrap of it looks.
    alone = change_of([outcome(f"a{n}", 0, True, False) for n in range(30)])
    assert alone.ci == (-1.0, -1.0)
    assert not alone.clear


def test_the_matrix_has_a_cell_for_each_pair() -> None:
    retrainer = Retrainer(Judge(tiny()), SUITE, None, TrainOptions())
    capabilities = ("LC9", "LC10")
    made = retrainer.matrix({name: (name,) for name in capabilities}, 2)
    rows = list(made.rows)
    for row in rows:
        assert set(row.unseen) == set(capabilities)
        # Over two seeds the held-out cases of two folds.
        total = sum(one.case.capability == row.name for one in SUITE.rows)
        assert row.unseen[row.name].cases == pytest.approx(0.2 * total, abs=4)
    failed = Row(name="LC5", trained_on=("LC5",), problem="too <few> families")
    matrix = made.model_copy(update={"model": "<i>tiny</i>", "rows": (*rows, failed)})
    page = html_page(matrix)
    own = [row.unseen[row.name] for row in rows]
    clear = sum(one.clear and one.change < 0 for one in own)
    lead = page.partition('class="lead">')[2].partition("</p>")[0]
    assert f"clearly lowered the failure rate of {clear} of 2" in " ".join(lead.split())
    assert page.count("<table") == 1 + 2
    assert "<i>" not in page
    assert "<few>" not in page
    assert "http" not in page


def test_the_embedded_models_train_as_transformers_models(tmp_path: Path) -> None:
    from s2lct.leaderboard.models.built_in import Embedded
    from s2lct.leaderboard.models.sentiment_head import embedded_network
    from s2lct.leaderboard.scoring.ask import probabilities_of

    texts = [row.case.text for row in SUITE.rows[:12]]
    for name in ("embedded-2class", "embedded-3class"):
        shipped = Embedded(name)
        tokenizer, model = embedded_network(name)
        network = Network(tokenizer, model, name)
        expected = probabilities_of(shipped, texts)
        assert probabilities_of(network, texts) == pytest.approx(expected, abs=1e-5)
    judge = Judge(network)
    assert judge.rule is not None
    examples = [Example(row.case.text, row.label) for row in SUITE.rows[:16]]
    before = judge.support(texts, [0] * len(texts))
    fine_tune(network, judge.rule, examples, lr=1e-4)
    after = judge.support(texts, [0] * len(texts))
    assert np.abs(before - after).max() > 0.01
    network.model.save_pretrained(tmp_path / "saved")
    network.tokenizer.save_pretrained(tmp_path / "saved")
    loaded = Judge(load_classifier(str(tmp_path / "saved"), device="cpu"))
    assert loaded.support(texts, [0] * len(texts)) == pytest.approx(after, abs=1e-5)


def test_the_command_trains_on_each_capability(
    suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    model, out = tmp_path / "tiny", tmp_path / "out"
    network = tiny()
    network.model.save_pretrained(model)
    network.tokenizer.save_pretrained(model)
    arguments = ["retrain", str(model), "--suite", str(suite_folder), "--out", str(out)]
    done = runner.invoke(app, [*arguments, "--on", "each"])
    assert done.exit_code == 0, done.output
    matrix = Matrix.model_validate_json((out / "retrain.json").read_text())
    capabilities = json.loads((suite_folder / "suite.json").read_text())["counts"]
    assert [row.name for row in matrix.rows] == list(matrix.capabilities)
    assert set(matrix.capabilities) <= set(capabilities)
    trained = [row for row in matrix.rows if not row.problem]
    assert trained
    assert all(row.corpus is not None for row in trained)
    assert {path.name for path in out.glob("retrain.*")} == {"retrain.html", "retrain.json"}
    before = (out / "retrain.json").read_bytes()
    done = runner.invoke(app, [*arguments, "--on", "each"])
    assert done.exit_code == 0, done.output
    assert (out / "retrain.json").read_bytes() == before
    done = runner.invoke(app, [*arguments, "--on", "LC77"])
    assert done.exit_code == 1
    assert "LC77" in done.output
