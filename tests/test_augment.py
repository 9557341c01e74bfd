"""Transformations of texts, and the search that coverage guides."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.augment import transformations as module
from s2lct.analysis.augment.accuracy import Accuracies, accuracies
from s2lct.analysis.augment.search import (
    Augmenter,
    corpus_rows,
    embedding_similarity,
)
from s2lct.analysis.augment.transformations import (
    CITIES,
    CONTRACTIONS,
    HOMOGLYPHS,
    MEN,
    PLAIN,
    QWERTY_NEIGHBOURS,
    WOMEN,
    Entities,
    embedding_swap,
    load_transformations,
    masked_word_swap,
    random_swap,
    synonym_insertion,
    synonym_swap,
)
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import build_metrics
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.files import as_json_lines

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner()
PLAIN_BY_NAME = {one.name: one.apply for one in PLAIN}
contract, extend = PLAIN_BY_NAME["WordSwapContract"], PLAIN_BY_NAME["WordSwapExtend"]

words = st.sampled_from(
    ["film", "Wonderful", "isn't", "they’re", "I am", "12", "1,500", "three", "(plot)", "é", "x"]
)
texts = st.one_of(st.text(max_size=60), st.lists(words, max_size=8).map(" ".join))


@given(texts, st.sampled_from(PLAIN), st.integers(0, 9))
@settings(deadline=None)
def test_transformations_change_something_or_nothing_and_the_same_each_time(
    text: str, transformation: module.Transformation, seed: int
) -> None:
    changed = transformation.apply(text, Random(seed))
    assert changed is None or (changed != text and changed.strip())
    assert changed == transformation.apply(text, Random(seed))


def differing(one: str, other: str) -> list[tuple[str, str]]:
    assert len(one) == len(other)
    return [(a, b) for a, b in zip(one, other, strict=True) if a != b]


@given(texts, st.integers(0, 9))
@settings(deadline=None)
def test_a_single_letter_changes_and_nothing_else(text: str, seed: int) -> None:
    def changed(name: str) -> str | None:
        return PLAIN_BY_NAME[name](text, Random(seed))

    if (swapped := changed("WordSwapNeighboringCharacterSwap")) is not None:
        assert sorted(swapped) == sorted(text)
        assert len(differing(swapped, text)) == 2
    if (longer := changed("WordSwapRandomCharacterInsertion")) is not None:
        assert any(longer[:n] + longer[n + 1 :] == text for n in range(len(longer)))
    if (shorter := changed("WordSwapRandomCharacterDeletion")) is not None:
        assert any(text[:n] + text[n + 1 :] == shorter for n in range(len(text)))
    if (substituted := changed("WordSwapRandomCharacterSubstitution")) is not None:
        assert len(differing(substituted, text)) == 1
    if (lookalike := changed("WordSwapHomoglyphSwap")) is not None:
        ((new, old),) = differing(lookalike, text)
        assert HOMOGLYPHS[old] == new
    if (mistyped := changed("WordSwapQWERTY")) is not None:
        ((new, old),) = differing(mistyped, text)
        assert new.lower() in QWERTY_NEIGHBOURS[old.lower()]
        assert new.isupper() == old.isupper()


@given(st.text(alphabet="0123456789 ab.,-", max_size=30), st.integers(0, 9))
@settings(deadline=None)
def test_a_number_becomes_another_of_as_many_digits(text: str, seed: int) -> None:
    changed = PLAIN_BY_NAME["WordSwapChangeNumber"](text, Random(seed))
    if changed is not None:
        assert re.sub(r"\d", "0", changed) == re.sub(r"\d", "0", text)
    for none in ("a 2.5 rating", "1,500 extras", "the 90s", "R2D2"):
        assert PLAIN_BY_NAME["WordSwapChangeNumber"](none, Random(seed)) is None


@given(st.sampled_from(sorted(CONTRACTIONS.values())), st.booleans(), st.integers(0, 9))
@settings(deadline=None)
def test_a_contraction_written_out_and_contracted_is_itself(
    short: str, starts: bool, seed: int
) -> None:
    short = short.replace("i'", "I'")
    text = f"{short[0].upper()}{short[1:]} so." if starts else f"And that, {short} so."
    long = extend(text, Random(seed))
    assert long is not None
    assert "'" not in long
    assert contract(long, Random(seed)) == text


def test_contractions_with_a_typographic_apostrophe_are_written_out() -> None:
    assert extend("It isn’t a film.", Random(0)) == "It is not a film."
    assert contract("It is  not a film.", Random(0)) == "It isn't a film."
    assert extend("It's a film, he'd say.", Random(0)) is None  # each is short for two things


def test_names_and_places_change_and_the_rest_stays() -> None:
    entities = Entities()
    text = "Steven Spielberg filmed it in Paris with Anna."
    named = entities.change_name(text, Random(1))
    assert named is not None
    before, after = text.split(), named.split()
    ((new, old),) = [(b, a) for a, b in zip(before, after, strict=True) if a != b]
    assert (new.strip(".") in MEN) if old == "Steven" else (new.strip(".") in WOMEN)
    moved = entities.change_location(text, Random(1))
    assert moved is not None
    assert re.sub(rf"in ({'|'.join(CITIES)}) with", "in Paris with", moved) == text
    assert moved != text
    assert entities.change_name("The film is long.", Random(0)) is None
    assert entities.change_location("The film is long.", Random(0)) is None


class Proposer:
    """A masked language model that proposes given words, and remembers what it was asked."""

    def __init__(self, *proposals: str) -> None:
        self.proposals, self.asked = proposals, []  # type: ignore[var-annotated]

    def suggest(self, texts: list[str], top: int) -> list[tuple[tuple[str, float], ...]]:
        self.asked += texts
        return [tuple((word, 0.0) for word in self.proposals[:top]) for _ in texts]


def test_a_masked_word_is_swapped_for_none_that_is_opinionated() -> None:
    model: Any = Proposer("terrible", "never", "film", "movie", "of")
    assert masked_word_swap(model)("A wonderful film.", Random(0)) == "A wonderful movie."
    assert model.asked == ["A wonderful {mask}."]  # nor is an opinionated word masked
    assert masked_word_swap(model)("Wonderful!", Random(0)) is None
    opinionated: Any = Proposer("terrible", "not")
    assert masked_word_swap(opinionated)("A film.", Random(0)) is None


class WordNet:
    def synsets(self, word: str) -> list[Any]:
        names = ["film", "movie", "motion_picture", "Film"]
        return [type("Synset", (), {"lemma_names": lambda self: names})()] * (word == "film")


def test_a_word_is_swapped_for_a_synonym_or_given_company() -> None:
    wordnet = WordNet()
    assert synonym_swap(wordnet)("The town, the film.", Random(0)) == "The town, the movie."
    assert synonym_swap(wordnet)("The town.", Random(0)) is None
    longer = synonym_insertion(wordnet)("The film.", Random(0))
    assert longer in ("movie The film.", "The movie film.")


def test_what_cannot_run_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> None:
        raise LookupError

    monkeypatch.setattr(module, "local_wordnet", nowhere)
    loaded, skipped = load_transformations(["WordSwapWordNet", "WordSwapQWERTY"])
    assert [one.name for one in loaded] == ["WordSwapQWERTY"]
    assert list(skipped) == ["WordSwapWordNet"]
    monkeypatch.setattr(module, "local_wordnet", WordNet)
    loaded, skipped = load_transformations(["WordSwapWordNet"])
    assert not skipped
    assert loaded[0].apply("A film.", Random(0)) == "A movie."


def test_words_change_places() -> None:
    for seed in range(20):
        changed = random_swap("Two brothers see the old coast.", Random(seed))
        assert changed is not None
        assert changed != "Two brothers see the old coast."
        assert sorted(changed.lower().strip(".").split()) == sorted(
            ["two", "brothers", "see", "the", "old", "coast"]
        )
        assert changed[0].isupper()
        assert changed[1:].islower()
    assert random_swap("Film film.", Random(0)) is None


def test_embeddings_know_what_is_alike() -> None:
    similarity = embedding_similarity()
    text = "The film is a charming portrait of a small town."
    assert similarity(text, text) == pytest.approx(1.0)
    typo = similarity(text, text.replace("charming", "chraming"))
    assert similarity(text, "A train arrives at the station.") < 0.5 < typo < 1.0
    swap = embedding_swap()
    changed = {swap("She bought a guitar.", Random(seed)) for seed in range(8)}
    found = {word for text in changed if text for word in text.strip(".").split()}
    assert len(changed) > 1
    assert found & {"guitars", "guitarist", "piano", "violin", "buy", "buying", "purchased"}


@pytest.fixture(scope="module")
def classifier_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT classifier with random weights and the embedded encoder's tokenizer."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return save_tiny_classifier(folder, ("negative", "positive"))


@pytest.fixture(scope="module")
def tiny(classifier_folder: Path) -> EncoderModel:
    return load_encoder(str(classifier_folder), device="cpu")


ORIGINALS = [
    Sentence("films", str(number), text, "positive" if number % 2 else "negative")
    for number, text in enumerate(
        [
            "This is a dull and ugly film.",
            "The young actors aren't bad.",
            "Those are awful songs.",
            "It is a brilliant comedy about 2 happy brothers.",
            "An awful and boring drama.",
            "A delightful and funny comedy.",
        ]
    )
]


def length_similarity(one: str, other: str) -> float:
    """Falls with every character that differs, so that a bound bites."""
    shared = sum(a == b for a, b in zip(one, other, strict=False))
    return shared / max(len(one), len(other))


@pytest.mark.parametrize("by", ["cover", "boundary"])
def test_a_close_text_that_covers_more_than_its_original_is_kept(
    tiny: EncoderModel, by: str
) -> None:
    metric = build_metrics([by], tiny, [one.text for one in ORIGINALS])[by]
    augmenter = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6, tries=20)
    kept = augmenter.search(tiny, metric)
    assert kept
    assert metric.value == 0
    for one in kept:
        alone = metric.emptied().cover(tiny, [one.original.text]).value
        both = metric.emptied().cover(tiny, [one.original.text, one.text]).value
        assert one.growth == pytest.approx(both - alone)
        assert both > alone
        assert one.similarity == length_similarity(one.original.text, one.text) >= 0.6
        assert one.transformations
        assert set(one.transformations) <= {transformation.name for transformation in PLAIN}
    assert len({one.original.id for one in kept}) == len(kept)
    assert augmenter.search(tiny, metric) == kept
    assert not Augmenter(ORIGINALS, PLAIN, length_similarity, least=1.0).search(tiny, metric)


def test_random_texts_are_as_many_and_as_close() -> None:
    augmenter = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6)
    made = augmenter.at_random(9)
    assert len({one.text for one in made}) == 9
    assert all(one.similarity >= 0.6 and one.growth is None for one in made)
    assert made == augmenter.at_random(9)
    assert not Augmenter(ORIGINALS, PLAIN, length_similarity, least=1.0).at_random(2)


def test_an_augmented_corpus_is_a_corpus(tmp_path: Path) -> None:
    made = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6).at_random(5)
    test_sentence = Sentence("films", "t", "A train arrives.", "neutral")
    path = tmp_path / "augmented.jsonl"
    rows = corpus_rows(ORIGINALS, made, [("test", test_sentence)])
    path.write_text(as_json_lines(rows), encoding="utf-8")
    read = read_corpus(f"jsonl:{path}")
    assert [(one.text, one.label) for one in read.sentences] == [
        *((one.text, one.label) for one in ORIGINALS),
        *((one.text, one.original.label) for one in made),
        (test_sentence.text, "neutral"),
    ]
    assert [one.split for one in read.sentences] == ["train"] * 11 + ["test"]
    assert len({one.id for one in read.sentences}) == 12


@given(st.lists(st.sampled_from(["", "train", "dev", "test"]), min_size=30, max_size=50))
@settings(max_examples=50, deadline=None)
def test_parts_of_a_corpus_share_nothing(splits: list[str]) -> None:
    sentences = tuple(
        Sentence("c", str(n), f"text {n}", "neutral", split) for n, split in enumerate(splits)
    )
    corpus: Any = type("C", (), {"name": "c", "sentences": sentences})
    if splits.count("train" if "train" in splits else "") < 10:
        with pytest.raises(AnalysisError, match="corpus c"):
            parts_of_corpus(corpus)
        return
    parts = parts_of_corpus(corpus)
    named = [{one.text for one in part} for part in (parts.train, parts.dev, parts.test)]
    assert all(named)
    assert not (named[0] & named[1] or named[0] & named[2] or named[1] & named[2])
    if "test" in splits:
        assert named[2] == {one.text for one in sentences if one.split == "test"}


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_intervals_over_seeds_are_students(values: list[float], rng: Random) -> None:
    one, other = Accuracies(1, tuple(values)), Accuracies(1, tuple(rng.random() for _ in values))
    differences = np.array(values) - np.array(other.values)
    for found, sample in ((one.interval(), np.array(values)), (one.interval(other), differences)):
        assert found is not None
        if sample.std() < 1e-9:
            assert found == pytest.approx((sample.mean(), sample.mean()), abs=1e-6)
            continue
        expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        assert found == pytest.approx((expected.low, expected.high))
    assert Accuracies(1, (0.5,)).interval() is None


def test_accuracy_after_training_is_the_same_each_time(classifier_folder: Path) -> None:
    films: list[Any] = [
        (f"A {'great' if n % 2 else 'dull'} film, {n}.", "positive" if n % 2 else "negative")
        for n in range(32)
    ]
    sets = {"without": films[:16], "more": [*films, ("A train arrives.", "neutral")]}
    first, again = (
        accuracies(str(classifier_folder), sets, films[:10], [3], device="cpu") for _ in range(2)
    )
    assert first == again
    assert {name: found.texts for name, found in first.items()} == {"without": 16, "more": 32}
    assert all(0 <= found.mean <= 1 for found in first.values())
    with pytest.raises(AnalysisError, match="empty"):
        accuracies(str(classifier_folder), {"empty": []}, films, [3], device="cpu")


@pytest.fixture
def film_corpus(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for n in range(40):
            writer.writerow([f"A {'great' if n % 2 else 'dull'} film, number {n}.", n % 2])
        writer.writerow(["A train arrives.", 2])
    return path


LABELS = ("--label-map", "0=negative,1=positive,2=neutral")


def test_the_command_writes_a_corpus(
    film_corpus: Path, classifier_folder: Path, tmp_path: Path
) -> None:
    arguments = ["augment", f"csv:{film_corpus}", "--model", str(classifier_folder), *LABELS]
    arguments += ["--by", "boundary", "--similarity", "0.3", "--device", "cpu", "--limit", "24"]
    for name in ("WordSwapQWERTY", "WordSwapChangeNumber", "WordSwapHomoglyphSwap"):
        arguments += ["--transformation", name]
    out = [tmp_path / f"{name}.jsonl" for name in ("a", "b")]
    results = [runner.invoke(app, [*arguments, "--out", str(path)]) for path in out]
    assert [result.exit_code for result in results] == [0, 0], results[0].output
    assert out[0].read_bytes() == out[1].read_bytes()
    read = read_corpus(f"jsonl:{out[0]}")
    rows = [json.loads(line) for line in out[0].read_text(encoding="utf-8").splitlines()]
    added = [row for row in rows if row["transformations"]]
    assert added
    label_of = {row["id"]: row["label"] for row in rows if not row["transformations"]}
    for row in added:
        assert row["label"] == label_of[row["original_id"]] != "neutral"  # the model has no such
        assert row["growth"] > 0
        assert row["similarity"] >= 0.3
    assert {one.split for one in read.sentences} == {"train", "dev", "test"}
    assert len(read.sentences) == 41 + len(added)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--out", "x.csv"], "--out"),
        (["--similarity", "1.5"], "--similarity"),
        (["--by", "mncover"], "--by mncover"),
        (["--transformation", "WordSwapFoo"], "WordSwapFoo"),
        (["--transformation", "WordSwapQWERTY"], "--transformation"),
    ],
)
def test_bad_options_are_refused(
    film_corpus: Path, classifier_folder: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    arguments = ["augment", f"csv:{film_corpus}", "--model", str(classifier_folder), *LABELS]
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path / "x.jsonl"), *options])
    assert result.exit_code in (1, 2)
    assert problem in result.output
    assert not (tmp_path / "x.jsonl").exists()
