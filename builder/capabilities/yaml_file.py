"""A YAML file of a person's hand, read without surprises: small, plain, each key once."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import yaml

from s2lct.errors import CapabilityError
from s2lct.plain_text import plain

MOST_BYTES = 1 << 18
MOST_VALUES = 20_000
_DEEPEST = 40
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")
)
_MERGE = "tag:yaml.org,2002:merge"
_MEND = "start from the file that `s2lct capabilities --show LC4 --yaml` prints"


def read_yaml(path: Path) -> Any:
    """What a YAML file holds: mappings, lists, texts, numbers, truth values, null.

    Raises:
        CapabilityError: it cannot be read, or is more than a person writes.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise _fault(path, f"larger than {MOST_BYTES >> 10} KB")
        loader = yaml.SafeLoader(content.decode("utf-8-sig"))
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _values(path, node, {}, 0)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except CapabilityError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f" (line {mark.line + 1})"
        raise _fault(path, f"cannot be read as YAML: {error.problem}{place}") from error
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise _fault(path, f"cannot be read as YAML: {lines[0]}") from error


def _fault(path: Path, problem: str) -> CapabilityError:
    return CapabilityError(f"{path}: {plain(problem, 300)}", hint=_MEND)


def _values(path: Path, node: yaml.Node, counted: dict[int, int], depth: int) -> int:
    """How many values a node stands for, those behind aliases as often as they are named."""
    if (known := counted.get(id(node))) is not None:
        if known == 0:
            raise _fault(path, f"line {node.start_mark.line + 1} holds itself")
        return known
    if depth > _DEEPEST:
        raise _fault(path, f"line {node.start_mark.line + 1} lies too deep")
    if node.tag not in _PLAIN_TAGS and node.tag != _MERGE:
        raise _fault(path, f"line {node.start_mark.line + 1}: a value of the type {node.tag}")
    counted[id(node)] = 0
    number = 1
    if isinstance(node, yaml.ScalarNode):
        _check_text(path, node)
    elif isinstance(node, yaml.SequenceNode):
        number += sum(_values(path, child, counted, depth + 1) for child in node.value)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            number += _values(path, key, counted, depth + 1)
            number += _values(path, value, counted, depth + 1)
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in keys:
                    line = key.start_mark.line + 1
                    raise _fault(path, f"line {line} names {plain(key.value, 60)!r} again")
                keys.add(key.value)
    if number > MOST_VALUES:
        raise _fault(path, f"stands for more than {MOST_VALUES:,} values")
    counted[id(node)] = number
    return number


def _check_text(path: Path, node: yaml.ScalarNode) -> None:
    if any(
        unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"
        for letter in node.value
    ):
        raise _fault(path, f"line {node.start_mark.line + 1} holds a control character")
