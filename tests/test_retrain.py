"""Retraining: splits without leaks, training, what is learnt and forgotten, the matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from tiny_models import tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis import retrain
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.analysis.retrain import (
    Change,
    Retrainer,
    RetrainingMatrix,
    Training,
    change_of,
    sentence_key,
    sentence_keys,
    split_cases,
)
from s2lct.analysis.training import Example, TrainOptions, loss_for
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.records import Sentence
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS
from s2lct.leaderboard.models.network import Network
from s2lct.suite import cases
from s2lct.suite.cases import Case, SuiteCases, load_suite
from s2lct.tables import as_cell

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
) -> Case:
    kind = "expansion" if seed_id else "seed"
    fit = passes or frozenset({label})
    return Case(
        *(name, capability, kind, seed_id or name, text, fit),
        source_texts=tuple(sources),
        label=label,
        template="{S}",
    )


ADJECTIVES = ("dreadful", "lovely")
NOUNS = ["plot", "cast", "music", "ending", "story", "camera", "editing", "dialogue"]


def made_up_suite() -> SuiteCases:
    """LC9 flips nothing and LC10 flips the label; every third sentence is in both."""
    rows: list[Case] = []
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
        # A neutral sentence stands in several cases.
        sources = [other, f"It is one of {number % 12} films."]
        rows.append(case(f"n{number}", "LC10", text, 2 - label, sources))
    return SuiteCases("made up", "1.0.0", "1" * 64, tuple(rows))


SUITE = made_up_suite()


@pytest.mark.parametrize("trained_on", [("LC9",), ("LC10",), ("LC9", "LC10")])
def test_no_sentence_is_on_both_sides(trained_on: tuple[str, ...]) -> None:
    split = split_cases(SUITE.cases, trained_on)
    seen = sentence_keys(split.train)
    assert not seen & sentence_keys((*split.test, *split.other_capabilities))
    assert {row.capability for row in (*split.train, *split.test)} == set(trained_on)
    assert not {row.capability for row in split.other_capabilities} & set(trained_on)
    # Whatever shares no sentence is tested on.
    for row in SUITE.cases:
        if row.capability not in trained_on and not sentence_keys([row]) & seen:
            assert row in split.other_capabilities
    families = Counter((row.seed_id, n) for n, part in enumerate(split) for row in part)
    assert len({family for family, _ in families}) == len(families)
    assert len(split.train) > 4 * len(split.test) > 0


def test_too_few_sentences_and_models_without_weights_are_refused() -> None:
    with pytest.raises(AnalysisError, match="vader"):
        Retrainer(LabelledClassifier.load("vader"), SUITE, None, OPTIONS).matrix({"LC9": ["LC9"]})
    rows = [case(f"f{n}", "LC5", f"case {n}", 1, ["the same"]) for n in range(9)]
    with pytest.raises(AnalysisError, match="9 seeds"):
        split_cases(rows, ["LC5"])


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
    leaked = Sentence("mine", "leak", SUITE.cases[0].source_texts[0].upper(), "negative", "test")
    return Corpus("mine", (*sentences, leaked), "c" * 64, {}, "made up", "none")


def test_a_capability_is_learnt_and_forgetting_is_measured(tmp_path: Path) -> None:
    model, corpus = LabelledClassifier.from_classifier(tiny()), made_up_corpus()
    training = Retrainer(model, SUITE, corpus, OPTIONS, tmp_path).train("LC9", ["LC9"])
    change = training.changes["LC9"]
    assert change.failures_before == change.fail_to_pass > 0
    assert change.failures_after == 0
    # The saved model predicts the same, and is scored like any other.
    (folder,) = tmp_path.iterdir()
    saved = LabelledClassifier.load(str(folder))
    split = split_cases(SUITE.cases, ["LC9"])
    for name, of in training.changes.items():
        tested = [
            case for case in (*split.test, *split.other_capabilities) if case.capability == name
        ]
        for scored, count in ((model, of.failures_before), (saved, of.failures_after)):
            labels = scored.labels([case.text for case in tested]).tolist()
            passes = [label in case.passes for label, case in zip(labels, tested, strict=True)]
            assert passes.count(False) == count
    # Accuracy on the corpus's own test split, counted again.
    test = [one for one in corpus.sentences if one.split == "test"]
    unseen = [one for one in test if sentence_key(one.text) not in sentence_keys(split.train)]
    assert training.corpus is not None
    assert training.corpus.sentences == len(unseen)
    for scored, accuracy in ((model, training.corpus.before), (saved, training.corpus.after)):
        labels = scored.labels([one.text for one in unseen]).tolist()
        right = [LABELS[label] == one.label for label, one in zip(labels, unseen, strict=True)]
        assert accuracy == pytest.approx(np.mean(right))
    # Nothing pickled is left behind, and the model that was handed in is as it was.
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors"}
    assert (
        model.labels(["A film."]) == LabelledClassifier.from_classifier(tiny()).labels(["A film."])
    ).all()


def test_what_was_trained_is_not_trained_again_and_all_inputs_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []

    def counted(
        judge: LabelledClassifier, examples: Sequence[Example], *given: Any
    ) -> LabelledClassifier:
        trained.append(len(examples))
        return judge

    monkeypatch.setattr(retrain, "fine_tuned", counted)
    # Two seeds of each sentence, as "X is not good" and "X isn't good".
    rows = tuple(
        replace(row, kind="seed", seed_id=row.id, sources=row.source_texts)
        for row in SUITE.cases
        if row.capability == "LC9"
    )
    first, *others = rows
    altered = [
        replace(first, **change)
        for change in ({"text": "Another."}, {"passes": frozenset({0, 1})}, {"sources": ("a",)})
    ]
    for save_to in (None, tmp_path):
        trained.clear()
        for number, row in enumerate((first, *altered), 1):
            suite = replace(SUITE, cases=(row, *others))
            for _ in range(2):
                made = Retrainer(
                    LabelledClassifier.from_classifier(tiny()), suite, None, TrainOptions(), save_to
                )
                change = made.train("LC9", ["LC9"]).changes["LC9"]
                assert len(trained) == number
            assert change.cases == 2 * change.families > 0 or row is not first


@pytest.mark.parametrize("classes", [THREE, ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")])
def test_the_loss_is_that_of_all_classes_with_the_meaning(classes: tuple[str, ...]) -> None:
    import torch

    network = tiny(classes)
    examples = [Example(row.text, row.label) for row in SUITE.cases[:8]]
    encoded = network.tokenizer([one.text for one in examples], padding=True, return_tensors="pt")
    outputs = network.model.eval()(**encoded)
    of_label = {0: [0], 2: [2]} if len(classes) == 3 else {0: [0, 1], 2: [3, 4]}
    expected = np.mean(
        [
            -np.log(sum(float(row[n]) for n in of_label[example.label]))
            for row, example in zip(
                torch.softmax(outputs.logits.detach(), dim=-1), examples, strict=True
            )
        ]
    )
    loss = loss_for(LabelledClassifier.from_classifier(network).rule)(
        outputs, torch.tensor([one.label for one in examples])
    )
    assert loss.item() == pytest.approx(expected, rel=1e-4)


def test_binary_models_leave_out_neutral_cases() -> None:
    neutral = tuple(
        case(f"u{n}", "LC5", f"This is film {n}.", 1, [f"This is film {n}."]) for n in range(30)
    )
    suite = SuiteCases("mine", "1.0.0", "2" * 64, (*SUITE.cases, *neutral))
    judge = LabelledClassifier.from_classifier(tiny(("negative", "positive")))
    retrainer = Retrainer(judge, suite, made_up_corpus(), TrainOptions(epochs=0.1))
    training = retrainer.train("LC5+LC9", ["LC5", "LC9"])
    split = split_cases(suite.cases, ["LC5", "LC9"])
    assert 0 < sum(row.label == 1 for row in split.train) == training.not_learnt
    assert training.train == len(split.train) - training.not_learnt
    with pytest.raises(AnalysisError):
        retrainer.train("LC5", ["LC5"])


def changed(*outcomes: tuple[int, bool, bool]) -> Change:
    """The change on cases by family, whether they failed, and whether they fail."""
    families, before, after = zip(*outcomes, strict=True)
    return change_of(families, np.array(before), np.array(after))


def test_changes_are_counted_and_their_intervals_go_by_family() -> None:
    change = changed(*[(0, True, False)] * 3, (1, False, True), (2, True, True))
    assert (change.cases, change.families) == (5, 3)
    assert (change.failures_before, change.failures_after) == (4, 2)
    assert (change.fail_to_pass, change.pass_to_fail) == (3, 1)
    assert change.change == pytest.approx(-0.4)
    assert change.ci[0] <= -0.4 <= change.ci[1]
    assert not change.is_significant
    # Thirty cases of one family are one observation, thirty families are thirty.
    alike = changed(*((int(n >= 30), True, n >= 30) for n in range(60)))
    apart = changed(*((n, True, n >= 30) for n in range(60)))
    assert alike.ci == (-1.0, 0.0)
    assert apart.ci[0] > -0.7
    assert apart.is_significant
    # One family that got better shows nothing, however sure a bootstrap of it looks.
    alone = changed(*[(0, True, False)] * 30)
    assert alone.ci == (-1.0, -1.0)
    assert not alone.is_significant


def test_the_matrix_has_a_cell_for_each_pair() -> None:
    capabilities = ("LC9", "LC10")
    matrix = Retrainer(
        LabelledClassifier.from_classifier(tiny()), SUITE, None, TrainOptions(epochs=0.1)
    ).matrix({name: (name,) for name in capabilities})
    for training in matrix.trainings:
        assert set(training.changes) == set(capabilities)
        total = sum(one.capability == training.name for one in SUITE.cases)
        assert 0 < training.changes[training.name].cases < total / 2
    failed = Training("LC5", ("LC5",), "too few families")
    table = replace(matrix, trainings=(*matrix.trainings, failed)).table()
    of = matrix.trainings[0].changes["LC10"]
    assert [as_cell(cell).text for cell in table.rows[0]][2] == (
        f"{of.failures_before}→{of.failures_after}/{of.cases}"
    )
    assert [as_cell(cell).text for cell in table.rows[-1]] == ["LC5", "–", "–", "–"]


def test_the_command_trains_on_each_capability(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "load_suite", lambda suite: load_suite(suite).select(["LC2", "LC4"]))
    model, out = tmp_path / "tiny", tmp_path / "out"
    network = tiny()
    network.model.save_pretrained(model)
    network.tokenizer.save_pretrained(model)
    arguments = ["retrain", str(model), "--suite", str(suite_folder), "--out", str(out)]
    done = CliRunner().invoke(app, [*arguments, "--on", "each", "--epochs", "0.1"])
    assert done.exit_code == 0, done.output
    matrix = TypeAdapter(RetrainingMatrix).validate_json((out / "retrain.json").read_bytes())
    assert [training.name for training in matrix.trainings] == ["LC2", "LC4"]
    trained = [training for training in matrix.trainings if not training.problem]
    assert trained
    assert all(training.corpus is not None for training in trained)
    assert {path.name for path in out.iterdir()} == {"retrain.json"}
    done = CliRunner().invoke(app, [*arguments, "--on", "LC77"])
    assert done.exit_code == 1
    assert "LC77" in done.output
