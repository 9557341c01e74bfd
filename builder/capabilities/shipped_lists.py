"""The lists of words and of search rules that capability files name as ``$name``."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml


def with_words(value: Any) -> Any:
    """Replace ``$name`` in a list of words by the shipped list of that name."""
    if not isinstance(value, list):
        return value
    lists = _shipped("word_lists.yaml")
    words: list[Any] = []
    for item in value:
        if not isinstance(item, str) or not item.startswith("$"):
            words.append(item)
        elif item[1:] in lists:
            words += lists[item[1:]]
        else:
            raise ValueError(f"no word list {item}; there are {_named(lists)}")
    return words


def with_rules(value: Any) -> Any:
    """Replace ``$name`` in a list of search rules by the shipped rule of that name."""
    if not isinstance(value, list):
        return value
    rules = _shipped("search_rules.yaml")
    for item in value:
        if isinstance(item, str) and (item[:1] != "$" or item[1:] not in rules):
            raise ValueError(f"no search rule {item}; there are {_named(rules)}")
    return [rules[item[1:]] if isinstance(item, str) else item for item in value]


@cache
def _shipped(name: str) -> dict[str, Any]:
    text = resources.files("s2lct.builder.data").joinpath(name).read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def _named(known: dict[str, Any]) -> str:
    return ", ".join(f"${name}" for name in known)
