"""Seeds with their contrasts and expansions, and how a terminal shows them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from s2lct.labels import LABELS
from s2lct.suite.capability_ids import chosen
from s2lct.suite.read import read_suite
from s2lct.suite.tables import COUNTERPART

Family = list[dict[str, Any]]


def families(folder: Path, capabilities: Sequence[str], n: int) -> dict[str, list[Family]]:
    """Seeds of a suite, each with its counterpart and expansions behind it, by capability.

    Args:
        folder: the suite.
        capabilities: their ids; none for all.
        n: most seeds of each, the same ones every time.

    Raises:
        SuiteError: the folder holds no suite, or a damaged one.
        ScoringError: it lacks a capability.
    """
    suite = read_suite(folder)
    found: dict[str, list[Family]] = {}
    names = chosen(capabilities, list(suite.rows), str(folder)) if capabilities else suite.rows
    for name in names:
        of_seed: dict[str, Family] = {}
        for row in sorted(suite.rows[name], key=lambda row: row["kind"] != "seed"):
            of_seed.setdefault(row["seed_id"], []).append(row)
        all_families = list(of_seed.values())
        places = random.Random(0).sample(range(len(all_families)), min(n, len(all_families)))
        found[name] = [all_families[place] for place in sorted(places)]
    return found


def lines_of(family: Family) -> Iterator[Text]:
    """A seed, its counterpart and its expansions, the inserted words in brackets."""
    for row in family:
        if row["kind"] != "expansion":
            labels = " or ".join(LABELS[label] for label in row["labels"])
            sign = "  ↔ " if row["kind"] == COUNTERPART else ""
            yield Text.assemble(sign, row["text"], (f"  ({labels})", "dim"))
            continue
        text, last, production = Text(), 0, row["production"]
        for word in row["inserted"]:
            text.append(row["text"][last : word["start"]])
            text.append(f"[{row['text'][word['start'] : word['end']]}]", "bold green")
            last = word["end"]
        text.append(row["text"][last:])
        licence = f"  {production['lhs']} → {' '.join(production['reference_rhs'])}"
        yield Text.assemble("  + ", text, (licence, "dim"))
