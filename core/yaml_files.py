"""YAML of unknown origin, with limits on its size, nesting and expanded aliases."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from s2lct.files import read_limited

MAX_BYTES = 1 << 20
MAX_NODES = 50_000
"""The maximum number of values and keys; those that an alias repeats are counted again."""
MAX_DEPTH = 50
_MAX_NUMBER_CHARACTERS = 100  # longer ones, and dates and the like, can take minutes
_SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SAFE_LOADER):  # type: ignore[misc]
    """Refuses mappings with duplicate keys, and very long numbers."""

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
        if node.tag != "tag:yaml.org,2002:str" and len(value) > _MAX_NUMBER_CHARACTERS:
            raise ValueError(f"line {node.start_mark.line + 1}: {value[:20]}… is too long")
        return value


def front_matter(card: str) -> dict[Any, Any]:
    """The metadata between ``---`` at the top of a model or dataset card; empty for none.

    Raises:
        ValueError: the metadata is no valid YAML within the limits of `parse_yaml`.
    """
    lines = card[: 2 * MAX_BYTES].lstrip("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    data = parse_yaml("\n".join(lines[1:end]))
    return data if isinstance(data, dict) else {}


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; see `parse_yaml`.

    Raises:
        OSError: the file is missing, not regular, or larger than `MAX_BYTES`.
        ValueError: the content is no valid YAML within the limits of `parse_yaml`.
    """
    return parse_yaml(read_limited(path, MAX_BYTES).decode("utf-8-sig"))


def parse_yaml(text: str) -> Any:
    """The content of YAML text, as plain Python values.

    Raises:
        ValueError: the text is no YAML, has a duplicate key, or exceeds `MAX_BYTES`,
            `MAX_NODES` or `MAX_DEPTH`; the message says where.
    """
    if len(text) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES:,} characters")
    try:
        _check_size(text)
        return yaml.load(text, Loader=_Loader)
    except Exception as error:  # values such as `!!int ''` fail in many classes
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(reason) from error


def _check_size(text: str) -> None:
    """Raise a ValueError for too many or too deep values, before any value is created."""
    nodes = 0
    size_of_anchor: dict[str | None, int] = {}
    open_collections: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_SAFE_LOADER):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in size_of_anchor:
                raise ValueError(f"*{event.anchor} stands for nothing before it")
            nodes += size_of_anchor[event.anchor]
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, nodes_before = open_collections.pop()
            size_of_anchor[anchor] = nodes - nodes_before
        elif isinstance(event, yaml.NodeEvent):
            if isinstance(event, yaml.CollectionStartEvent):
                open_collections.append((event.anchor, nodes))
            else:
                size_of_anchor[event.anchor] = 1
            nodes += 1
        if nodes > MAX_NODES or len(open_collections) > MAX_DEPTH:
            limit = f"{MAX_NODES:,} values" if nodes > MAX_NODES else f"{MAX_DEPTH} levels"
            raise ValueError(f"has more than {limit}, with those that aliases repeat")
