from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from s2lct.builder.capabilities.files import (
    load_capabilities,
    read_capability,
    shipped_capability_files,
)
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import load_tagger
from s2lct.builder.records import Sentence
from s2lct.builder.stages.search import meets_words, number_of_words
from s2lct.errors import CapabilityError

pytestmark = pytest.mark.shipped_models

OWN_CAPABILITY = """
id: LC12
title: Hearsay
expectation: What others say does not count.
forms:
  fluent:
    search:
      P:
        - label: positive
          has_one_of: [positive adj]
    templates:
      - text: 'I have not seen it, but a friend says: "{P}"'
        passes: [neutral]
"""


def test_eleven_capabilities_are_shipped_in_two_forms() -> None:
    capabilities = load_capabilities()
    assert [c.id for c in capabilities] == [f"LC{n}" for n in range(1, 12)]
    for capability in capabilities:
        assert set(capability.forms) == {"paper", "fluent"}
        assert capability.form("fluent").choices_made, "a narrowing needs its reason"
        assert not capability.form("paper").choices_made


def test_a_capability_of_ones_own_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(OWN_CAPABILITY, encoding="utf-8")
    capabilities = load_capabilities(["LC4", "LC12"], [path])
    assert [c.id for c in capabilities] == ["LC4", "LC12"]


def test_an_unknown_name_gets_a_near_one_back() -> None:
    with pytest.raises(CapabilityError, match="LC44: unknown") as error:
        load_capabilities(["LC44"])
    assert "LC4" in error.value.hint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "all"}, "`all` is taken"),
        ({"id": "Model"}, "`Model` is taken"),
        ({"tilte": "x"}, "tilte"),
        ({"forms": {}}, "`fluent` is missing"),
        ({"passes": ["happy"]}, "passes"),
        ({"passes": "label of Q"}, "no slot Q"),
        ({"text": "{Q} it is"}, "uses Q"),
        ({"text": "no slot"}, "needs slots"),
        ({"has_one_of": ["cheerful adj"]}, "is not like"),
        ({"matches": "("}, "not a regular expression"),
        ({"has_no_words": ["$swearing"]}, "no word list"),
    ],
)
def test_a_broken_file_is_refused_with_its_field(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    data = yaml.safe_load(OWN_CAPABILITY)
    template = data["forms"]["fluent"]["templates"][0]
    rule = data["forms"]["fluent"]["search"]["P"][0]
    for key, value in change.items():
        target = (
            template
            if key in template
            else rule
            if key in ("has_one_of", "matches", "has_no_words")
            else data
        )
        target[key] = value
    path = tmp_path / "broken.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    with pytest.raises(CapabilityError, match=message) as error:
        read_capability(path)
    assert "broken.yaml" in error.value.problem


def test_not_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(CapabilityError, match="cannot be read as YAML"):
        read_capability(path)


def test_two_capabilities_of_one_name_are_refused() -> None:
    with pytest.raises(CapabilityError, match="there is a capability LC1 already"):
        load_capabilities((), shipped_capability_files()[:1])


@pytest.mark.parametrize(
    ("capability", "text", "label", "score", "is_found"),
    [
        ("LC1", "A woman reads a letter.", "neutral", 0.5, True),
        ("LC1", "A lovely woman reads a letter.", "neutral", 0.5, False),
        ("LC1", "A woman reads a letter.", "neutral", 0.42, True),
        ("LC1", "A woman reads a letter.", "neutral", 0.41, False),
        ("LC1", "A woman reads a letter.", "positive", 0.5, False),
        ("LC2", "A lovely and charming film.", "positive", 0.9, True),
        ("LC2", "A lovely and charming film.", "positive", 0.65, False),
        ("LC2", "A lovely film by an awful director.", "positive", 0.9, False),
        ("LC4", "This is a dull film.", "negative", 0.1, True),
        ("LC4", "This isn't a good film.", "negative", 0.1, False),
        ("LC4", "It is a dull film.", "negative", 0.38, True),
        ("LC4", "It is a dull film.", "negative", 0.39, False),
        ("LC4", "I saw a dull film.", "negative", 0.1, False),
        ("LC4", "Is it a dull film?", "negative", 0.1, False),
        ("LC4", "It is a dull, excellent film.", "negative", 0.1, False),
    ],
)
def test_the_fluent_search(
    capability: str, text: str, label: str, score: float, is_found: bool
) -> None:
    (specified,) = load_capabilities([capability])
    sentence = Sentence("made", "1", text, label, score=score)  # type: ignore[arg-type]
    (tokens,) = load_tagger().tag([text])
    (rules,) = specified.form("fluent").search.values()
    assert any(meets_words(sentence, tokens, r, Lexicon.load()) for r in rules) == is_found


def test_words_are_counted_without_punctuation() -> None:
    (tokens,) = load_tagger().tag(["Well, this is short!"])
    assert number_of_words(tokens) == 4
