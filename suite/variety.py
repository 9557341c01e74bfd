"""How varied a suite is, in figures that cannot be reached by repeating oneself."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from s2lct.suite.capability_ids import natural_order

OPENING_WORDS = 3
COMMONEST = 8
LEAST_SHARE_OF_A_KIND = 0.01
Sign = Literal[">=", "<="]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a suite's variety.

    Attributes:
        name: what is counted.
        value: the figure.
        sign, bar: ``>=`` the bar is enough, or ``<=``.
        meaning: what it says, where the name does not.
    """

    name: str
    value: float
    sign: Sign
    bar: float
    meaning: str = ""

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
    """How varied a suite is.

    Attributes:
        seeds, expansions: how many of each capability.
        commonest: the insertions that occur most, with how often.
        figures: each with its bar.
    """

    seeds: Mapping[str, int]
    expansions: Mapping[str, int]
    commonest: tuple[tuple[str, int], ...]
    figures: tuple[Figure, ...]

    @property
    def reached(self) -> bool:
        """Whether every bar is."""
        return all(figure.reached for figure in self.figures)


def variety_of(rows: Iterable[Mapping[str, Any]]) -> Variety:
    """Measure the rows of a suite; the same row twice counts once, counterparts do not count.

    Args:
        rows: as the suite's tables have them.
    """
    distinct = {(row["capability"], row["id"]): row for row in rows}.values()
    seeds = [row for row in distinct if row["kind"] == "seed"]
    expansions = [row for row in distinct if row["kind"] == "expansion"]
    seeds_of = Counter(row["capability"] for row in seeds)
    expansions_of = Counter(row["capability"] for row in expansions)
    words = [" ".join(one["word"] for one in row["inserted"]).lower() for row in expansions]
    insertions = Counter(words)
    figures = (
        *_numbers(seeds_of, expansions_of),
        *_insertions(expansions, insertions),
        *_seeds(seeds),
    )
    names = sorted(seeds_of, key=natural_order)
    return Variety(
        seeds={name: seeds_of[name] for name in names},
        expansions={name: expansions_of[name] for name in names},
        commonest=tuple(insertions.most_common(COMMONEST)),
        figures=figures,
    )


def _numbers(seeds: Counter[str], expansions: Counter[str]) -> tuple[Figure, ...]:
    each = sorted(seeds.values())
    return (
        Figure(
            "seeds a capability, median",
            each[len(each) // 2] if each else 0,
            ">=",
            100,
            "cases that a rate rests on",
        ),
        Figure(
            "seeds a capability, least",
            min(each, default=0),
            ">=",
            50,
            "where a corpus holds fewer, this is short and said so",
        ),
        Figure(
            "expansions a seed, mean",
            expansions.total() / max(1, seeds.total()),
            ">=",
            2,
        ),
        Figure(
            "expansions a seed, least capability",
            min((expansions[name] / number for name, number in seeds.items()), default=0),
            ">=",
            1,
            "no capability lives on seeds alone",
        ),
    )


def _insertions(
    expansions: list[Mapping[str, Any]], insertions: Counter[str]
) -> tuple[Figure, ...]:
    total = insertions.total() or 1
    kinds = Counter(one["tag"] for row in expansions for one in row["inserted"])
    productions = {
        (row["production"]["lhs"], tuple(row["production"]["reference_rhs"]))
        for row in expansions
        if row["production"]
    }
    several = sum(
        sum(len(one["word"].split()) for one in row["inserted"]) > 1 for row in expansions
    )
    return (
        Figure(
            "top five insertions, share",
            sum(count for _, count in insertions.most_common(5)) / total,
            "<=",
            0.10,
            "share of the five commonest insertions (a word or a phrase)",
        ),
        Figure(
            "entropy of insertions, bits",
            sum(count / total * math.log2(total / count) for count in insertions.values()),
            ">=",
            7,
            "Shannon entropy of what was inserted",
        ),
        Figure(
            "several words inserted, share",
            several / max(1, len(expansions)),
            ">=",
            0.40,
            "expansions that add two words or more",
        ),
        Figure(
            "kinds of insertion",
            sum(count >= LEAST_SHARE_OF_A_KIND * kinds.total() for count in kinds.values()),
            ">=",
            8,
            "tags or phrase labels that make up 1 % or more of all insertions",
        ),
        Figure(
            "reference productions",
            len(productions),
            ">=",
            200,
            "different productions that license the expansions",
        ),
    )


def _seeds(seeds: list[Mapping[str, Any]]) -> tuple[Figure, ...]:
    used = Counter((row["capability"], one["text"]) for row in seeds for one in row["sources"])
    openings: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in seeds:
        first = re.findall(r"[\w']+", row["text"].lower())[:OPENING_WORDS]
        openings[row["capability"]].add(tuple(first))
    return (
        Figure(
            "one sentence's seeds in a capability, most",
            max(used.values(), default=0),
            "<=",
            2,
            "seeds of one capability made from one sentence",
        ),
        Figure(
            "source sentences, distinct a seed slot",
            len({text for _, text in used}) / (used.total() or 1),
            ">=",
            0.5,
            "distinct source sentences over source slots, all capabilities",
        ),
        Figure(
            "openings a capability, least",
            min(map(len, openings.values()), default=0),
            ">=",
            12,
            "different first three words among the seeds of a capability",
        ),
        Figure(
            "seeds that quote, share",
            sum('"' in row["text"] or "“" in row["text"] for row in seeds) / max(1, len(seeds)),
            "<=",
            0.50,
            "seeds with a quotation mark",
        ),
    )
