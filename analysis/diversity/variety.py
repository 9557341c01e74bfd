"""How varied a suite is, in figures that cannot be reached by repeating oneself."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from s2lct.suite.capability_ids import natural_order

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a suite's variety, and the bar that is good enough."""

    name: str
    value: float
    sign: Literal[">=", "<="]
    bar: float

    @property
    def reached(self) -> bool:
        """Whether the bar is."""
        return self.value >= self.bar if self.sign == ">=" else self.value <= self.bar

    @property
    def shown(self) -> str:
        """The value to three digits; whole numbers in full."""
        return f"{self.value:,}" if float(self.value).is_integer() else f"{self.value:.3g}"


@dataclass(frozen=True, slots=True)
class Variety:
    """Seeds and expansions by capability, the commonest insertions, and figures with bars."""

    seeds: Mapping[str, int]
    expansions: Mapping[str, int]
    commonest: tuple[tuple[str, int], ...]
    figures: tuple[Figure, ...]


def variety_of(rows: Iterable[Row]) -> Variety:
    """Measure the rows of a suite; the same row twice counts once, contrasts do not count."""
    distinct = {(row["capability"], row["id"]): row for row in rows}.values()
    seeds = [row for row in distinct if row["kind"] == "seed"]
    expansions = [row for row in distinct if row["kind"] == "expansion"]
    seeds_of = Counter(row["capability"] for row in seeds)
    expansions_of = Counter(row["capability"] for row in expansions)
    insertions = Counter(
        " ".join(word["word"] for word in row["inserted"]).lower() for row in expansions
    )
    names = sorted(seeds_of, key=natural_order)
    each = sorted(seeds_of.values()) or [0]
    least = min((expansions_of[name] / seeds_of[name] for name in names), default=0)
    return Variety(
        {name: seeds_of[name] for name in names},
        {name: expansions_of[name] for name in names},
        tuple(insertions.most_common(8)),
        (
            Figure("seeds a capability, median", each[len(each) // 2], ">=", 100),
            Figure("seeds a capability, least", each[0], ">=", 50),
            Figure("expansions a seed, mean", len(expansions) / max(1, len(seeds)), ">=", 2),
            Figure("expansions a seed, least capability", least, ">=", 1),
            *_of_insertions(expansions, insertions),
            *_of_seeds(seeds),
        ),
    )


def _of_insertions(expansions: list[Row], insertions: Counter[str]) -> tuple[Figure, ...]:
    total = insertions.total() or 1
    top = sum(count for _, count in insertions.most_common(5)) / total
    entropy = sum(n / total * math.log2(total / n) for n in insertions.values())
    several = sum(sum(len(w["word"].split()) for w in row["inserted"]) > 1 for row in expansions)
    tags = Counter(word["tag"] for row in expansions for word in row["inserted"])
    common = sum(count >= 0.01 * tags.total() for count in tags.values())
    licences = [row["production"] for row in expansions if row["production"]]
    productions = {(one["lhs"], tuple(one["reference_rhs"])) for one in licences}
    return (
        Figure("top five insertions, share", top, "<=", 0.10),
        Figure("entropy of insertions, bits", entropy, ">=", 7),
        Figure("several words inserted, share", several / max(1, len(expansions)), ">=", 0.40),
        Figure("kinds of insertion", common, ">=", 8),
        Figure("reference productions", len(productions), ">=", 200),
    )


def _of_seeds(seeds: list[Row]) -> tuple[Figure, ...]:
    used = Counter(
        (row["capability"], source["text"]) for row in seeds for source in row["sources"]
    )
    distinct = len({text for _, text in used}) / (used.total() or 1)
    openings: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in seeds:
        openings[row["capability"]].add(tuple(re.findall(r"[\w']+", row["text"].lower())[:3]))
    quoting = sum('"' in row["text"] or "“" in row["text"] for row in seeds) / max(1, len(seeds))
    most = max(used.values(), default=0)
    return (
        Figure("one sentence's seeds in a capability, most", most, "<=", 2),
        Figure("source sentences, distinct a seed slot", distinct, ">=", 0.5),
        Figure(
            "openings a capability, least", min(map(len, openings.values()), default=0), ">=", 12
        ),
        Figure("seeds that quote, share", quoting, "<=", 0.50),
    )
