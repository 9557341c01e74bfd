"""Ways to damage what a command reads: bytes, values of a tree, cells and columns of a table."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**70, 0.5, float("nan"), float("inf")),
    *("", " ", "\x00", "\x1b]52;c;eA==\x07", "[bold]", "../../x", "é" * 300, "\ud800", "label of"),
    *([], {}, [None], [[[]]], {"": {}}, ["a", 1], {"a": None}),
)
ODD_BYTES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b'"',
    b"{",
    b"[" * 2_000,
    b"\x1b[2J",
    b"- !!python/x",
)

Damage = Callable[[bytes], bytes]


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree with each of its keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def damaged_tree(tree: Any, draw: random.Random) -> Any:
    """A tree with a value replaced by an odd one, or taken away, or with one more."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places or draw.random() < 0.05:
        return draw.choice(ODD_VALUES)
    for _ in range(draw.choice((1, 1, 1, 3))):
        container, key = draw.choice(places)
        kind = draw.random()
        if kind < 0.2:
            container.pop(key) if not isinstance(container, dict) or key in container else None
            break
        if kind < 0.3 and isinstance(container, dict):
            container[f"{key}x"] = draw.choice(ODD_VALUES)
        else:
            container[key] = draw.choice(ODD_VALUES)
    return tree


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """A file cut off, or with bytes changed, inserted or repeated."""
    at = draw.randrange(len(content) + 1)
    to = min(len(content), at + draw.choice((0, 1, 8, 200)))
    return draw.choice(
        (
            content[:at],
            content[:at] + draw.choice(ODD_BYTES) + content[to:],
            content[:at] + bytes(draw.randrange(256) for _ in range(4)) + content[to:],
            content[:to] + content[at:],
        )
    )


def damaged_table(path: Path, draw: random.Random) -> None:
    """Damage a Parquet file in place: a cell, a column's name or its type, or its bytes."""
    table = pq.read_table(path)
    name = draw.choice(table.column_names)
    kind = draw.randrange(5)
    if kind == 0:
        path.write_bytes(damaged_bytes(path.read_bytes(), draw))
        return
    if kind == 1:
        table = table.drop_columns([name])
    elif kind == 2:
        table = table.rename_columns(
            [f"{one}x" if one == name else one for one in table.column_names]
        )
    elif kind == 3:
        odd = draw.choice((pa.nulls(len(table)), pa.array([0.5] * len(table))))
        table = table.set_column(table.column_names.index(name), name, odd)
    else:
        table = pa.concat_tables([table, table.slice(0, draw.choice((0, 1, 3)))])
        table = table.slice(draw.choice((0, 1)))
    pq.write_table(table, path)


def damaged_file(path: Path, draw: random.Random) -> None:
    """Damage a file in place, as what it is."""
    if path.suffix == ".parquet":
        damaged_table(path, draw)
    elif path.suffix == ".json" and draw.random() < 0.8:
        tree = damaged_tree(json.loads(path.read_text("utf-8")), draw)
        path.write_text(json.dumps(tree), "utf-8")
    else:
        path.write_bytes(damaged_bytes(path.read_bytes(), draw))


draws = st.randoms(use_true_random=False)
