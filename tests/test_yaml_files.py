"""YAML that strangers wrote: read without code, and within bounds."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.capabilities.files import read_capability
from s2lct.builder.domains import load_domain
from s2lct.errors import CapabilityError, OptionError
from s2lct.leaderboard.models.model import card_licence
from s2lct.yaml_files import MAX_BYTES, front_matter, parse_yaml

LAUGHS = "a: &a [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD = {
    "aliases of aliases": LAUGHS,
    "an alias of itself": "a: &a [*a]",
    "an alias of nothing": "a: *b",
    "a key that stands there twice": "id: LC4\nid: LC5",
    "deep lists": "[" * 100_000,
    "deep blocks": "- " * 5_000,
    "deep mappings": "".join(f"{' ' * depth}a:\n" for depth in range(500)),
    "code": "!!python/object/apply:os.system [ls]",
    "no number": "!!int ''",
    "no truth": "!!bool x",
    "no date": "2020-13-45",
    "a number to the base of 60": ":".join(["1"] * 100_000),
    "a number of many digits": "1" * 5_000,
    "a null character": "a\0b",
    "a lone surrogate": "\ud800",
    "a list as a key": "? [a]\n: b",
    "many characters": "a" * (MAX_BYTES + 1),
    "many values": "- a\n" * 60_000,
}


@pytest.mark.parametrize("name", BAD)
def test_yaml_is_refused_at_once_and_in_words(name: str, tmp_path: Path) -> None:
    start = monotonic()
    with pytest.raises(ValueError, match=r"\w"):
        parse_yaml(BAD[name])
    path = tmp_path / "lc12.yaml"
    path.write_text(BAD[name], encoding="utf-8", errors="surrogatepass")
    with pytest.raises(CapabilityError, match=r"lc12\.yaml"):
        read_capability(path)
    with pytest.raises(OptionError, match=r"lc12\.yaml"):
        load_domain(str(path))
    (tmp_path / "README.md").write_text(
        f"---\nlicense: mit\n{BAD[name]}\n---\n", encoding="utf-8", errors="surrogatepass"
    )
    assert card_licence(str(tmp_path), "") is None
    assert monotonic() - start < 10


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab: -#*&!{}[]\n\"'"),
        lambda values: st.lists(values) | st.dictionaries(st.text("ab*&", min_size=1), values),
        max_leaves=20,
    )
)
def test_what_is_written_is_read(data: object) -> None:
    assert parse_yaml(yaml.safe_dump(data)) == data
    if isinstance(data, dict):
        assert front_matter(f"---\n{yaml.safe_dump(data)}---\n# Model\n") == data


def test_aliases_and_merged_mappings_are_read() -> None:
    text = "a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, x: 3}"
    assert parse_yaml(text) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 3, "y": 2}}


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\n---\n# Model\n", "apache-2.0"),
        ("\ufeff---\r\nlicense: [mit, cc0]\r\n---\r\n", "mit, cc0"),
        ("---\nlicense: mit\n", None),
        ("# Model\n\nlicense: mit\n", None),
        ("---\n- license\n---\n", None),
        ("---\nlicense: {a: b}\n---\n", "{'a': 'b'}"),
        ("", None),
    ],
)
def test_a_card_states_a_licence(card: str, licence: str | None, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(card.encode())
    assert card_licence(str(tmp_path), "") == licence
