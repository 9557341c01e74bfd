"""Seeds with their expansions, and how a terminal shows them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from s2lct.labels import LABELS
from s2lct.suite.read import read_suite

Family = list[dict[str, Any]]


def families(folder: Path, capabilities: Sequence[str], n: int) -> dict[str, list[Family]]:
    """Seeds of a suite with their expansions.

    Args:
        folder: the suite.
        capabilities: their ids; none for all.
        n: most seeds of each, the same ones every time.

    Returns:
        By capability, a list of rows a seed: the seed, then its expansions.

    Raises:
        SuiteError: the folder holds no suite, a damaged one, or not that capability.
    """
    suite = read_suite(folder)
    found: dict[str, list[Family]] = {}
    for name in suite.chosen(capabilities):
        rows = suite.rows[name]
        seeds = [row for row in rows if row["kind"] == "seed"]
        shown = sorted(random.Random(0).sample(range(len(seeds)), min(n, len(seeds))))
        found[name] = [
            [seed, *(row for row in rows if row["seed_id"] == seed["id"] and row is not seed)]
            for seed in (seeds[number] for number in shown)
        ]
    return found


def lines_of(family: Family) -> Iterator[Text]:
    """A seed and its expansions, the inserted words highlighted."""
    seed, *expansions = family
    labels = " or ".join(LABELS[label] for label in seed["labels"])
    yield Text.assemble(seed["text"], (f"  ({labels})", "dim"))
    for row in expansions:
        yield Text.assemble("  + ", _highlighted(row), _licence(row))


def _highlighted(row: Mapping[str, Any]) -> Text:
    text = Text(row["text"])
    for word in row["inserted"]:
        text.stylize("bold reverse green", word["start"], word["end"])
    return text


def _licence(row: Mapping[str, Any]) -> tuple[str, str]:
    production = row["production"]
    return (f"  {production['lhs']} → {' '.join(production['reference_rhs'])}", "dim")
