"""Capabilities: those that are shipped, and files of a person's own, whose faults are named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from s2lct.builder.capabilities.files import (
    capability_files,
    load_capabilities,
    read_capability,
)
from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import load_tagger
from s2lct.builder.records import Sentence
from s2lct.builder.stages.search import may_meet, meets_without_tree
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


@pytest.mark.parametrize(
    ("capability", "text", "label", "score", "is_found"),
    [
        ("LC1", "A lovely woman reads a letter.", "neutral", 0.5, False),
        ("LC1", "A woman reads a letter.", "neutral", 0.42, True),
        ("LC1", "A woman reads a letter.", "neutral", 0.41, False),
        ("LC2", "A lovely and charming film.", "positive", 0.9, True),
        ("LC2", "A lovely film by an awful director.", "positive", 0.9, False),
        ("LC4", "This is a dull film.", "negative", 0.1, True),
        ("LC4", "This isn't a good film.", "negative", 0.1, False),
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
    assert any(meets_without_tree(sentence, tokens, r, Lexicon.load()) for r in rules) == is_found


FORM = ("forms", "fluent")
TEMPLATE = (*FORM, "templates", 0)
RULE = (*FORM, "search", "P", 0)


def written(folder: Path, content: str | bytes, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def changed(field: Sequence[str | int], value: object) -> str:
    data: Any = yaml.safe_load(OWN_CAPABILITY)
    target = data
    for name in field[:-1]:
        target = target[name]
    target[field[-1]] = value
    return yaml.safe_dump(data, allow_unicode=True)


def error_of(path: Path) -> CapabilityError:
    with pytest.raises(CapabilityError) as error:
        read_capability(path)
    assert str(path) in error.value.problem
    assert "\n" not in error.value.problem
    assert len(error.value.problem) < 1_500
    assert "s2lct capabilities --show" in error.value.hint
    return error.value


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (("id",), "all", "`all` is taken"),
        (("forms",), {}, "`fluent` is missing"),
        ((*TEMPLATE, "passes"), "label of Q", "no slot Q"),
        ((*RULE, "has_one_of"), ["cheerful adj"], "is not like"),
        ((*RULE, "matches_no"), "(", "not a regular expression"),
        ((*RULE, "has_no_words"), ["$swearing"], "no word list"),
        ((*FORM, "search", "P"), ["clear_positive"], "no search rule clear_positive"),
        ((*TEMPLATE, "text"), "{P} {3}", "braces"),
        ((*TEMPLATE, "text"), "{P|shout}", "no operation shout"),
        ((*TEMPLATE, "text"), "{P|negate|backshift}", "changes its verb twice"),
        ((*TEMPLATE, "text"), "{P} but {Q|denial}", "needs Q elsewhere"),
        ((*TEMPLATE, "weight"), 0, "weight"),
        ((*TEMPLATE, "passes"), ["negative", "neutral", "positive"], "no model can fail"),
        ((*TEMPLATE, "contrast"), {"passes": ["neutral", "positive"]}, "a label passes both"),
        ((*TEMPLATE, "text"), "A \u202eturned {P}", "U+202E"),
        ((*TEMPLATE, "choices"), {"who": ["a\u200bfriend"]}, "U+200B"),
        (("title",), "Hear\x1b[2Jsay", "U+001B"),
        ((*TEMPLATE, "contrast"), {"text": "{Q}", "passes": ["negative"]}, "uses Q"),
        ((*TEMPLATE, "contrast"), {"text": "{P}", "passes": "denial of Q"}, "has no slot Q"),
        ((*TEMPLATE, "choices"), {"who": [["my ally", "my foe"]]}, "in pairs, but no contrast"),
        ((*TEMPLATE, "rewrite"), {"P": {"find": "It", "replace": ["\\9"]}}, "does not go with"),
    ],
)
def test_what_cannot_work_is_named(
    tmp_path: Path, field: tuple[str | int, ...], value: object, told: str
) -> None:
    assert told in error_of(written(tmp_path, changed(field, value))).problem


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a: [",
        OWN_CAPABILITY.replace("title: Hearsay", "title: Hearsay\ntitle: Other").encode(),
        b"a: *b",
        b"x: !!python/object/apply:os.getcwd []",
        b"a: " + b"[" * 3_000,
    ],
)
def test_what_is_no_capability_is_one_error(tmp_path: Path, content: bytes) -> None:
    error_of(written(tmp_path, content))


def test_ids_differ_by_more_than_case(tmp_path: Path) -> None:
    own = written(tmp_path, OWN_CAPABILITY)
    other = written(tmp_path, OWN_CAPABILITY.replace("LC12", "lc12"), "other.yaml")
    for files in ([own, other], [capability_files()["LC1"][1]]):
        with pytest.raises(CapabilityError, match=files[-1].name):
            load_capabilities((), files)
    with pytest.raises(CapabilityError, match="LC99: unknown"):
        load_capabilities(["LC99"])
    mixed = written(tmp_path, OWN_CAPABILITY.replace("LC12", "MyOwn"), "mixed.yaml")
    assert [one.id for one in load_capabilities(["myOWN", "lc4"], [mixed])] == ["MyOwn", "LC4"]


def test_no_pattern_sees_a_text_without_end() -> None:
    rule = SearchRule(label="positive", matches_no=r"(\w+\s*)+x$")
    endless = Sentence("mine", "1", "the film is good " * 5_000, "positive")
    assert not may_meet(endless, rule)
    assert not meets_without_tree(endless, (), rule, Lexicon.load())
