"""Transformations of texts, the search that coverage guides, and retraining."""

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
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.augment import transformations as module
from s2lct.analysis.augment.retrain import Accuracies, retrain
from s2lct.analysis.augment.search import (
    Augmenter,
    corpus_rows,
    embedding_similarity,
    write_corpus,
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
    is_opinionated,
    load_transformations,
    masked_word_swap,
    synonym_swap,
)
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.coverage.metrics import build_metrics
from s2lct.builder.corpus.read import read_corpus
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.suite.records import Sentence

runner = CliRunner()
PLAIN_BY_NAME = {one.name: one.apply for one in PLAIN}
contract, extend = PLAIN_BY_NAME["WordSwapContract"], PLAIN_BY_NAME["WordSwapExtend"]

words = st.sampled_from(
    ["film", "Wonderful", "isn't", "they’re", "I am", "12", "1,500", "three", "(plot)", "é", "x"]
)
texts = st.one_of(st.text(max_size=60), st.lists(words, max_size=8).map(" ".join))


@given(texts, st.sampled_from(PLAIN), st.integers(0, 9))
@settings(deadline=None)
def test_transformations_change_something_or_say_that_they_cannot(
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
def test_one_letter_changes_and_nothing_else(text: str, seed: int) -> None:
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


def test_versions_and_decimals_are_no_numbers_to_change() -> None:
    for text in ("a 2.5 rating", "1,500 extras", "the 90s", "R2D2"):
        assert PLAIN_BY_NAME["WordSwapChangeNumber"](text, Random(0)) is None
    assert PLAIN_BY_NAME["WordSwapChangeNumber"]("Three acts.", Random(0)) not in (
        None,
        "Three acts.",
    )


def test_keys_are_neighbours_of_each_other() -> None:
    assert set(QWERTY_NEIGHBOURS["g"]) == set("ftyhvb")
    assert set(QWERTY_NEIGHBOURS["q"]) == set("wa")
    assert all(a in QWERTY_NEIGHBOURS[b] for a in QWERTY_NEIGHBOURS for b in QWERTY_NEIGHBOURS[a])


def test_lookalikes_are_other_characters_than_they_look() -> None:
    assert all(latin.isascii() and not other.isascii() for latin, other in HOMOGLYPHS.items())
    assert len(set(HOMOGLYPHS.values())) == len(HOMOGLYPHS)


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


@pytest.fixture(scope="module")
def entities() -> Entities:
    return Entities()


def test_names_and_places_change_and_the_rest_stays(entities: Entities) -> None:
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
    model = Proposer("terrible", "never", "film", "movie", "of")
    swap = masked_word_swap(model)  # type: ignore[arg-type]
    assert swap("A wonderful film.", Random(0)) == "A wonderful movie."
    assert model.asked == ["A wonderful {mask}."]  # nor is an opinionated word masked
    assert swap("Wonderful!", Random(0)) is None
    assert masked_word_swap(Proposer("terrible"))("A film.", Random(0)) is None  # type: ignore[arg-type]
    assert is_opinionated("terrible")
    assert is_opinionated("not")
    assert not is_opinionated("film")


class Synset:
    def __init__(self, *names: str) -> None:
        self.names = names

    def lemma_names(self) -> list[str]:
        return list(self.names)


class WordNet:
    def synsets(self, word: str) -> list[Synset]:
        return [Synset("film", "movie", "motion_picture", "Film")] if word == "film" else []


def test_a_word_is_swapped_for_a_synonym() -> None:
    assert synonym_swap(WordNet())("The town, the film.", Random(0)) == "The town, the movie."
    assert synonym_swap(WordNet())("The town.", Random(0)) is None


def test_what_cannot_run_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "local_wordnet", lambda: None)
    loaded, skipped = load_transformations(["WordSwapWordNet", "WordSwapQWERTY"])
    assert [one.name for one in loaded] == ["WordSwapQWERTY"]
    assert "not on this machine" in skipped["WordSwapWordNet"]
    monkeypatch.setattr(module, "local_wordnet", WordNet)
    loaded, skipped = load_transformations(["WordSwapWordNet"])
    assert not skipped
    assert loaded[0].apply("A film.", Random(0)) == "A movie."
    with pytest.raises(AnalysisError, match="no transformation is called 'WordSwapFoo'"):
        load_transformations(["WordSwapFoo"])


@pytest.fixture(scope="module")
def classifier_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT classifier with random weights and the embedded encoder's tokenizer."""
    return save_tiny_classifier(
        tmp_path_factory.mktemp("models") / "tiny", ("negative", "positive")
    )


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


def coverage_of(encoder: EncoderModel, by: str = "cover") -> Coverage:
    reference = [one.text for one in ORIGINALS]
    return build_metrics([by], encoder, reference)[by].cover(encoder, reference)


@pytest.mark.parametrize("by", ["cover", "boundary"])
def test_only_texts_that_grow_coverage_within_the_bound_are_kept(
    tiny: EncoderModel, by: str
) -> None:
    augmenter = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6, tries=4, most=3)
    coverage = coverage_of(tiny, by)
    kept = augmenter.by_coverage(tiny, coverage)
    assert kept
    replayed = coverage_of(tiny, by)
    names = {one.name for one in PLAIN}
    for one in kept:
        marks = next(tiny.in_order([one.text], replayed.marks))
        before = replayed.value
        replayed.add(marks)
        assert one.growth == pytest.approx(replayed.value - before)
        assert replayed.value > before
        assert one.similarity == length_similarity(one.original.text, one.text) >= 0.6
        assert one.transformations
        assert set(one.transformations) <= names
    assert replayed.value == coverage.value
    assert len({one.text for one in kept} | {one.text for one in ORIGINALS}) == len(kept) + 6
    for original in ORIGINALS:
        assert sum(one.original == original for one in kept) <= 3
    assert augmenter.by_coverage(tiny, coverage_of(tiny, by)) == kept


def test_a_bar_that_nothing_reaches_keeps_nothing(tiny: EncoderModel) -> None:
    for bar in ({"growth": 0.5}, {"least": 1.0}):
        coverage = coverage_of(tiny)
        before = coverage.value
        augmenter = Augmenter(ORIGINALS, PLAIN, length_similarity, **bar)  # type: ignore[arg-type]
        assert not augmenter.by_coverage(tiny, coverage)
        assert coverage.value == before


def test_a_pair_that_grew_coverage_is_tried_again_on_what_it_made(tiny: EncoderModel) -> None:
    calls: list[str] = []

    def transformation(name: str) -> module.Transformation:
        def add(text: str, rng: Random) -> str:
            calls.append(name)
            return f"{text} {name}"

        return module.Transformation(name, add)

    def all_alike(one: str, other: str) -> float:
        return 1.0

    transformations = [transformation(name) for name in ("red", "blue", "green", "old")]
    augmenter = Augmenter(ORIGINALS[:1], transformations, all_alike, most=3, tries=1)
    kept = augmenter.by_coverage(tiny, coverage_of(tiny))
    assert len(kept) == 3
    assert calls == calls[:2] * 3
    assert kept[2].transformations == tuple(calls)
    assert kept[2].text == " ".join([ORIGINALS[0].text, *calls])


def test_random_texts_are_as_many_and_as_close() -> None:
    augmenter = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6)
    made = augmenter.at_random(9)
    assert len({one.text for one in made}) == 9
    assert all(one.similarity >= 0.6 and one.growth is None for one in made)
    assert made == augmenter.at_random(9)
    assert not Augmenter(ORIGINALS, PLAIN, length_similarity, least=1.0).at_random(2)


def test_a_pair_takes_two_transformations() -> None:
    with pytest.raises(AnalysisError, match="1 transformation: a pair takes two"):
        Augmenter(ORIGINALS, PLAIN[:1], length_similarity)


def test_sentence_embeddings_know_what_is_alike() -> None:
    similarity = embedding_similarity()
    text = "The film is a charming portrait of a small town."
    assert similarity(text, text) == pytest.approx(1.0)
    typo = similarity(text, text.replace("charming", "chraming"))
    assert 0.7 < typo < 1.0
    assert similarity(text, "A train arrives at the station.") < 0.5 < typo


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_augmented_corpus_is_a_corpus(tmp_path: Path, suffix: str) -> None:
    made = Augmenter(ORIGINALS, PLAIN, length_similarity, least=0.6).at_random(5)
    test_sentence = Sentence("films", "t", "A train arrives.", "neutral")
    path = tmp_path / f"augmented.{suffix}"
    write_corpus(corpus_rows(ORIGINALS, made, [("test", test_sentence)]), path)
    first = path.read_bytes()
    write_corpus(corpus_rows(ORIGINALS, made, [("test", test_sentence)]), path)
    assert path.read_bytes() == first
    read = read_corpus(f"{suffix}:{path}")
    assert [(one.text, one.label) for one in read.sentences] == [
        *((one.text, one.label) for one in ORIGINALS),
        *((one.text, one.original.label) for one in made),
        (test_sentence.text, "neutral"),
    ]
    assert [one.split for one in read.sentences] == ["train"] * 11 + ["test"]
    assert len({one.id for one in read.sentences}) == 12
    if suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    else:
        import pyarrow.parquet as pq

        rows = pq.read_table(path).to_pylist()
    assert rows[6]["original_id"] == made[0].original.id
    assert rows[6]["transformations"] == list(made[0].transformations)
    assert rows[0]["transformations"] == []


def test_only_known_formats_are_written(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match=r"neither \.jsonl nor \.parquet"):
        write_corpus([], tmp_path / "augmented.csv")


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_intervals_over_seeds_are_students(values: list[float], rng: Any) -> None:
    from scipy import stats

    others = [rng.random() for _ in values]
    one, other = Accuracies(1, tuple(values)), Accuracies(1, tuple(others))
    for found, sample in (
        (one.interval(), np.array(values)),
        (one.interval(other), np.array(values) - np.array(others)),
    ):
        assert found is not None
        if sample.std() < 1e-9:
            assert found == pytest.approx((sample.mean(), sample.mean()), abs=1e-6)
            continue
        expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        assert found == pytest.approx((expected.low, expected.high))
    assert Accuracies(1, (0.5,)).interval() is None


@given(st.lists(st.sampled_from(["", "train", "dev", "test"]), min_size=30, max_size=50))
@settings(max_examples=50, deadline=None)
def test_parts_of_a_corpus_share_nothing(splits: list[str]) -> None:
    sentences = tuple(
        Sentence("c", str(n), f"text {n}", "neutral", split) for n, split in enumerate(splits)
    )
    corpus: Any = type("C", (), {"name": "c", "sentences": sentences})
    if splits.count("train" if "train" in splits else "") < 10:
        with pytest.raises(AnalysisError, match="train on"):
            parts_of_corpus(corpus)
        return
    parts = parts_of_corpus(corpus)
    named = [{one.text for one in part} for part in (parts.train, parts.dev, parts.test)]
    assert not (named[0] & named[1] or named[0] & named[2] or named[1] & named[2])
    assert named[1]
    assert named[2]
    if "test" in splits:
        assert named[2] == {one.text for one in sentences if one.split == "test"}


def films(count: int) -> list[tuple[str, Any]]:
    return [
        (f"A {'great' if n % 2 else 'dull'} film, number {n}.", "positive" if n % 2 else "negative")
        for n in range(count)
    ]


def test_heads_of_the_embedded_models_are_trained_anew() -> None:
    sets = {"without": films(12), "more": films(20)}
    found = retrain("embedded-2class", sets, films(6), films(8), [0, 1])
    assert [found[name].texts for name in ("without", "more")] == [12, 20]
    assert all(len(one.values) == 2 for one in found.values())
    assert found["more"].mean > 0.7  # great and dull can be told apart
    again = retrain("embedded-2class", {"more": films(20)}, films(6), films(8), [0, 1])
    assert again["more"] == found["more"]


def test_other_models_go_on_from_their_own_weights(classifier_folder: Path) -> None:
    sets = {"without": films(32)}
    found = retrain(str(classifier_folder), sets, films(4), films(10), [3], epochs=2, device="cpu")
    assert found["without"].texts == 32
    assert 0 <= found["without"].mean <= 1
    assert found == retrain(
        str(classifier_folder), sets, films(4), films(10), [3], epochs=2, device="cpu"
    )


@pytest.fixture
def film_corpus(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([*films(40), ("A train arrives.", "neutral")])
    return path


def test_the_command_writes_a_corpus_and_a_table(
    film_corpus: Path, classifier_folder: Path, tmp_path: Path
) -> None:
    arguments = ["augment", f"csv:{film_corpus}", "--model", str(classifier_folder)]
    arguments += ["--by", "boundary", "--similarity", "0.3", "--device", "cpu", "--limit", "12"]
    for name in ("WordSwapQWERTY", "WordSwapChangeNumber", "WordSwapHomoglyphSwap"):
        arguments += ["--transformation", name]
    out = [tmp_path / f"{name}.jsonl" for name in ("a", "b")]
    results = [
        runner.invoke(app, [*arguments, "--out", str(out[0]), "--retrain", "--seeds", "1"]),
        runner.invoke(app, [*arguments, "--out", str(out[1])]),
    ]
    assert [result.exit_code for result in results] == [0, 0], results[0].output
    assert out[0].read_bytes() == out[1].read_bytes()
    assert "without" in results[0].output
    assert "random" in results[0].output
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


def test_masks_of_another_model_are_refused(
    film_corpus: Path, classifier_folder: Path, tmp_path: Path
) -> None:
    vocabulary = Vocabulary(("film",))
    masks = Masks(vocabulary, np.ones(2, bool), np.ones((2, 2), bool), {"weights_sha256": "0"})
    masks.save(tmp_path / "masks")
    arguments = ["augment", f"csv:{film_corpus}", "--model", str(classifier_folder)]
    arguments += ["--by", "mncover", "--masks", str(tmp_path / "masks"), "--device", "cpu"]
    arguments += ["--transformation", "WordSwapQWERTY", "--transformation", "WordSwapExtend"]
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path / "x.jsonl")])
    assert result.exit_code == 1
    assert "were learned for another model" in result.output


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--out", "x.csv"], "neither .jsonl nor .parquet"),
        (["--similarity", "1.5"], "'--similarity'"),
        (["--threshold", "1"], "--threshold 1"),
        (["--by", "mncover"], "--by mncover needs masks"),
        (["--transformation", "WordSwapFoo"], "no transformation is called 'WordSwapFoo'"),
    ],
)
def test_bad_options_are_told(
    film_corpus: Path, classifier_folder: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    arguments = ["augment", f"csv:{film_corpus}", "--model", str(classifier_folder)]
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path / "x.jsonl"), *options])
    assert result.exit_code in (1, 2)
    assert problem in result.output
    assert not (tmp_path / "x.jsonl").exists()
