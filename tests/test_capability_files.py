"""Capability files of a person's hand: what is wrong is told, and nothing takes for ever."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_capabilities import OWN_CAPABILITY
from typer.testing import CliRunner

from s2lct.builder.capabilities.files import load_capabilities, read_capability
from s2lct.cli.main import app
from s2lct.errors import CapabilityError

FORM = ("forms", "fluent")
TEMPLATE = (*FORM, "templates", 0)
RULE = (*FORM, "search", "P", 0)
FIELDS = [
    ("id",),
    ("title",),
    ("expectation",),
    ("forms",),
    FORM,
    (*FORM, "search"),
    (*FORM, "search", "P"),
    RULE,
    (*RULE, "label"),
    (*RULE, "score_at_least"),
    (*RULE, "words_below"),
    (*RULE, "matches"),
    (*RULE, "has_one_of"),
    (*RULE, "has_words"),
    (*RULE, "complete"),
    (*FORM, "keep_search_rule"),
    (*FORM, "choices_made"),
    (*FORM, "templates"),
    TEMPLATE,
    (*TEMPLATE, "text"),
    (*TEMPLATE, "choices"),
    (*TEMPLATE, "rewrite"),
    (*TEMPLATE, "passes"),
    (*TEMPLATE, "weight"),
    (*TEMPLATE, "counterpart"),
]


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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@given(st.sampled_from(FIELDS), VALUES)
def test_any_value_in_any_field_fits_or_is_told(
    tmp_path_factory: pytest.TempPathFactory, field: tuple[str | int, ...], value: object
) -> None:
    path = written(tmp_path_factory.mktemp("own"), changed(field, value))
    try:
        read_capability(path)
    except CapabilityError:
        error_of(path)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ((*RULE, "matches"), ["x"], "matches"),
        ((*RULE, "words_below"), True, "words_below"),
        ((*RULE, "complete"), "yes", "complete"),
        ((*RULE, "score_at_least"), float("nan"), "finite"),
        ((*FORM, "search", "P"), ["clear_positive"], "no search rule clear_positive"),
        ((*FORM, "search", "Q"), [{"label": "neutral"}], ""),
        ((*TEMPLATE, "text"), "{P} {3}", "braces"),
        ((*TEMPLATE, "text"), "{P|shout}", "no operation shout"),
        ((*TEMPLATE, "text"), "{P|negate|backshift}", "changes its verb twice"),
        ((*TEMPLATE, "text"), "{P|clause|clause}", "changes its verb twice"),
        ((*TEMPLATE, "text"), "{P|backshift|clause} and {P|past assent}", ""),
        ((*TEMPLATE, "text"), "{P} and {P}", "each used once"),
        ((*TEMPLATE, "text"), "{P} but {Q|denial}", "needs Q elsewhere"),
        ((*TEMPLATE, "text"), "{P} but {P|clause|denial}", "no other operation"),
        ((*TEMPLATE, "text"), "{P|denial}", "needs P elsewhere"),
        ((*TEMPLATE, "weight"), 0, "weight"),
        ((*TEMPLATE, "weight"), float("inf"), "weight"),
        ((*TEMPLATE, "counterpart"), {"text": "{P}", "passes": ["negative"]}, ""),
        ((*TEMPLATE, "counterpart"), {"text": "{Q}", "passes": ["negative"]}, "its slots"),
        ((*TEMPLATE, "counterpart"), {"text": "{P}", "passes": "label of Q"}, "label of no slot"),
        (
            (*TEMPLATE, "counterpart"),
            {"text": "{c} {P}", "choices": {"c": ["No."]}, "passes": ["negative"]},
            "as many wordings",
        ),
        ((*TEMPLATE, "passes"), ["neutral", "neutral"], "names one twice"),
        ((*TEMPLATE, "rewrite"), {"P": {"find": "It", "replace": ["\\9"]}}, "does not go with"),
        ((*TEMPLATE, "rewrite"), {"P": {"find": "It", "replace": ["{x}"]}}, "braces"),
    ],
)
def test_what_cannot_work_is_named(
    tmp_path: Path, field: tuple[str | int, ...], value: object, told: str
) -> None:
    path = written(tmp_path, changed(field, value))
    if told:
        assert told in error_of(path).problem
    else:
        read_capability(path)


def test_one_slot_keeps_its_search_rule(tmp_path: Path) -> None:
    data = yaml.safe_load(changed((*FORM, "keep_search_rule"), True))
    path = written(tmp_path, yaml.safe_dump(data))
    read_capability(path)
    data["forms"]["fluent"]["search"]["Q"] = [{"label": "neutral"}]
    written(tmp_path, yaml.safe_dump(data))
    assert "more than one slot" in error_of(path).problem


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"- a\n- b",
        b"a: [",
        b"a: *b",
        b"id: 2020-99-99",
        b"x: !!python/object/apply:os.getcwd []",
        b"a: " + b"[" * 3_000,
        b"title: caf\xe9 au lait",
        b"\0" * 10,
    ],
)
def test_what_is_no_capability_is_one_error(tmp_path: Path, content: bytes) -> None:
    error_of(written(tmp_path, content))


def test_a_folder_is_no_capability(tmp_path: Path) -> None:
    assert "cannot be read" in error_of(tmp_path).problem


def test_ids_differ_by_more_than_case(tmp_path: Path) -> None:
    own = written(tmp_path, OWN_CAPABILITY)
    other = written(tmp_path, OWN_CAPABILITY.replace("LC12", "lc12"), "other.yaml")
    with pytest.raises(CapabilityError, match="there is a capability lc12 already"):
        load_capabilities((), [own, other])
    mixed = written(tmp_path, OWN_CAPABILITY.replace("LC12", "MyOwn"), "mixed.yaml")
    assert [one.id for one in load_capabilities(["myOWN", "lc4"], [mixed])] == ["MyOwn", "LC4"]


@pytest.mark.parametrize("name", ["LC12", "lc12"])
def test_the_file_of_ones_own_capability_is_printed(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, OWN_CAPABILITY, "named otherwise.yaml")
    arguments = ["capabilities", "--capabilities", str(path), "--show", name]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert result.output == OWN_CAPABILITY


def test_an_unknown_capability_is_told() -> None:
    for name in ("", "LC99", "x" * 3_000):
        result = CliRunner().invoke(app, ["capabilities", "--show", name])
        assert result.exit_code == 1
        assert "unknown" in result.output
