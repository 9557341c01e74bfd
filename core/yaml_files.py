"""YAML of unknown origin: bounded in size, nesting and what its aliases come to."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from s2lct.files import read_limited

MOST_BYTES = 1 << 20
MOST_NODES = 50_000
"""Values and keys, those that an alias repeats counted again."""
MOST_DEPTH = 50
_LONGEST_NUMBER = 100  # longer ones, and dates and the like, can take minutes
_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SAFE):  # type: ignore[misc]
    """Refuses a mapping in which a key stands twice: the later would replace the earlier."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in keys:
                    line = key.start_mark.line + 1
                    raise ValueError(f"line {line}: the key {key.value[:60]} stands there twice")
                keys.add((key.tag, key.value))
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if node.tag != "tag:yaml.org,2002:str" and len(value) > _LONGEST_NUMBER:
            raise ValueError(f"line {node.start_mark.line + 1}: {value[:20]}… is too long")
        return value


def front_matter(card: str) -> dict[Any, Any]:
    """What stands between the ``---`` that open a card; empty where there is none.

    Raises:
        ValueError: it is no YAML that `parse_yaml` takes.
    """
    lines = card[: 2 * MOST_BYTES].lstrip("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    data = parse_yaml("\n".join(lines[1:end]))
    return data if isinstance(data, dict) else {}


def read_yaml(path: Path) -> Any:
    """What a YAML file holds; see `parse_yaml`.

    Raises:
        OSError: it is missing, no regular file, or has more than `MOST_BYTES`.
        ValueError: it is no such YAML.
    """
    return parse_yaml(read_limited(path, MOST_BYTES).decode("utf-8-sig"))


def parse_yaml(text: str) -> Any:
    """What YAML text holds, built of plain values alone.

    Raises:
        ValueError: it is no YAML, has a key twice, or comes to more than `MOST_BYTES`,
            `MOST_NODES` or `MOST_DEPTH`; the message says where.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"has more than {MOST_BYTES:,} characters")
    try:
        _check_size(text)
        return yaml.load(text, Loader=_Loader)
    except Exception as error:  # values such as `!!int ''` fail in many classes
        why = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(why) from error


def _check_size(text: str) -> None:
    """Refuse text whose values are too many or too deep, before any of them is made."""
    nodes = 0
    size_of: dict[str | None, int] = {}  # by anchor
    started: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_SAFE):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in size_of:
                raise ValueError(f"*{event.anchor} stands for nothing before it")
            nodes += size_of[event.anchor]
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = started.pop()
            size_of[anchor] = nodes - before
        elif isinstance(event, yaml.NodeEvent):
            if isinstance(event, yaml.CollectionStartEvent):
                started.append((event.anchor, nodes))
            else:
                size_of[event.anchor] = 1
            nodes += 1
        if nodes > MOST_NODES or len(started) > MOST_DEPTH:
            what = f"{MOST_NODES:,} values" if nodes > MOST_NODES else f"{MOST_DEPTH} levels"
            raise ValueError(f"has more than {what}, with those that aliases repeat")
