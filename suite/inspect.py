"""Show seeds with their expansions on a terminal."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from s2lct.labels import LABELS
from s2lct.suite.read import read_suite


def show_families(console: Console, folder: Path, capabilities: Sequence[str], n: int) -> None:
    """Print ``n`` seeds of each capability with their expansions, the inserted words highlighted.

    Raises:
        SuiteError: the folder holds no suite, a damaged one, or not that capability.
    """
    suite = read_suite(folder)
    titles = {c["id"]: c["title"] for c in suite.described["capabilities"]}
    for name in suite.chosen(capabilities):
        rows = suite.rows[name]
        seeds = [row for row in rows if row["kind"] == "seed"]
        shown = sorted(random.Random(0).sample(range(len(seeds)), min(n, len(seeds))))
        console.rule(f"{name} {titles[name]}", align="left")
        for seed in (seeds[number] for number in shown):
            labels = " or ".join(LABELS[label] for label in seed["labels"])
            console.print(Text.assemble(seed["text"], (f"  ({labels})", "dim")))
            for row in rows:
                if row["seed_id"] == seed["id"] and row["kind"] == "expansion":
                    console.print(Text.assemble("  + ", _highlighted(row), _licence(row)))


def _highlighted(row: Mapping[str, Any]) -> Text:
    text = Text(row["text"])
    for word in row["inserted"]:
        text.stylize("bold reverse green", word["start"], word["end"])
    return text


def _licence(row: Mapping[str, Any]) -> tuple[str, str]:
    production = row["production"]
    return (f"  {production['lhs']} → {' '.join(production['reference_rhs'])}", "dim")
