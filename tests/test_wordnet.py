"""Synonyms from a WordNet of a few synsets, read by NLTK as the real one is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nltk
import pytest

from s2lct.builder.config import BuildConfig
from s2lct.builder.language.wordnet import WordNet
from s2lct.builder.pipeline import build_suite
from s2lct.builder.stages.fill import fill
from s2lct.builder.verify import verify_suite
from s2lct.errors import LexiconError, OptionError
from s2lct.suite.read import read_suite
from s2lct.suite.records import Mask, MaskedSentence, Production, Reading

LICENCE = "  1 made up, after WordNet 3.0 Copyright 2006\n"
SYNSETS = {
    "noun": (
        "n",
        [("film", "picture", "moving_picture"), ("camera", "TV", "radio", "school", "police")],
    ),
    "verb": ("v", [("shoot", "take")]),
    "adj": ("a", [("rural", "short", "wooden")]),
    "adv": ("r", [("ultimately", "finally")]),
}


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "nltk_data" / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for name, (pos, synsets) in SYNSETS.items():
        data, index = LICENCE, LICENCE
        for words in synsets:
            offset = len(data)
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{offset:08} 00 {pos} {len(words):02x} {listed} 000 | made up  \n"
            index += "".join(f"{word.lower()} {pos} 1 0 1 0 {offset:08}  \n" for word in words)
        (folder / f"data.{name}").write_text(data)
        (folder / f"index.{name}").write_text(index)
        (folder / f"{name}.exc").write_text("")
    (folder / "lexnames").write_text("00\tmade.up\t3\n")
    for name in ("cntlist.rev", "index.sense"):
        (folder / name).write_text("")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    return folder


def test_synonyms_are_single_words_of_the_same_part_of_speech(wordnet: Path) -> None:
    synonyms = WordNet().synonyms
    assert synonyms("film", "NN") == {"picture"}
    assert synonyms("Films", "NNS") == {"film", "picture"}
    assert synonyms("camera", "NN") == {"tv", "radio", "school", "police"}
    assert synonyms("film", "VB") == frozenset()
    assert synonyms("this", "DT") == frozenset()
    assert synonyms("unheard", "JJ") == frozenset()


def test_another_wordnet_has_another_fingerprint(wordnet: Path) -> None:
    before = WordNet().fingerprint
    assert WordNet().fingerprint == before
    path = wordnet / "data.noun"
    path.write_text(path.read_text().replace("radio", "tubes"))
    assert WordNet().fingerprint != before


def test_without_wordnet_one_error_says_how_to_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(LexiconError, match="lack WordNet") as error:
        WordNet()
    assert "nltk.download('wordnet')" in error.value.hint


def test_a_damaged_wordnet_is_told(wordnet: Path) -> None:
    (wordnet / "index.noun").write_text("film n x\n")
    with pytest.raises(LexiconError, match=r"index\.noun"):
        WordNet()


class OneWord:
    """Knows three words; the likeliest is all that it says unless it is asked for others."""

    fingerprint = "one word"
    words: Sequence[str] = ("film", "picture", "lens")

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        return [
            tuple(
                (word, -1.0 - number)
                for number, word in enumerate(self.words)
                if chosen is None or word in chosen
            )[:top]
            for chosen in among or [None] * len(texts)
        ]


def test_masks_are_offered_synonyms_of_the_models_words(wordnet: Path) -> None:
    production = Production("NP", ("DT",), ("DT", "NN"), 0.1)
    masked = MaskedSentence(
        "seed",
        "A {mask} and a {mask}.",
        (Mask(2, "NN"), Mask(15, "NN")),
        (Reading(production, (0, 1)),),
        (1, 3),
    )
    (plain,) = fill([masked], OneWord(), suggestions=1)
    assert [one.words for one in plain.suggestions] == [("film", "film")]
    (both,) = fill([masked], OneWord(), suggestions=1, synonyms=WordNet().synonyms)
    assert [(one.words, one.score, one.origin) for one in both.suggestions] == [
        (("film", "film"), -1.0, "masked"),
        (("film", "picture"), -1.5, "synonym"),
    ]


def test_a_suite_says_which_words_are_synonyms(
    wordnet: Path, corpus_path: Path, tmp_path: Path
) -> None:
    options = {
        "corpus": f"csv:{corpus_path}",
        "templates": "paper",
        "capabilities": ("LC6",),
        "seeds": 3,
        "masks": 200,
        "masks_per_sentence": 1,
        "suggestions": 2,
        "expansions": 1_000,
    }
    rows = {}
    for synonyms in (False, True):
        out = tmp_path / str(synonyms)
        build_suite(BuildConfig.checked(out=out, synonyms=synonyms, **options))
        rows[synonyms] = {row["text"]: row["origin"] for row in read_suite(out).rows["LC6"]}
        assert verify_suite(out) == []
    assert set(rows[False].values()) == {"", "masked"}
    assert set(rows[True].values()) == {"", "masked", "synonym"}
    assert rows[False].items() <= rows[True].items()
    assert "synonyms of these from WordNet" in (tmp_path / "True" / "README.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"synonyms": True}, "only the paper form"),
        ({"grammar": "none"}, "only the paper form"),
        (
            {"grammar": "none", "templates": "paper", "mask_order": "probability"},
            "no probabilities",
        ),
    ],
)
def test_what_the_fluent_form_does_not_have_is_refused(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=message):
        BuildConfig.checked(out=tmp_path / "suite", **options)


def test_the_ablation_builds_without_a_grammar(corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    build_suite(
        BuildConfig.checked(
            out=out,
            corpus=f"csv:{corpus_path}",
            templates="paper",
            grammar="none",
            capabilities=("LC6",),
            seeds=3,
            masks=500,
        )
    )
    expansions = [row for row in read_suite(out).rows["LC6"] if row["kind"] == "expansion"]
    assert expansions
    assert {row["production"]["probability"] for row in expansions} == {0.0}
    assert verify_suite(out) == []
