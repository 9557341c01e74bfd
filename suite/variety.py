"""How varied a suite is, in figures that cannot be reached by repeating oneself."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from s2lct.suite.capability_ids import natural_order

_OPENING_WORDS = 3
_COMMONEST = 8
_LEAST_SHARE_OF_A_KIND = 0.01
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a suite's variety.

    Attributes:
        name: what is counted.
        value: the figure.
        sign, bar: ``>=`` the bar is enough, or ``<=``.
        meaning: of the figure, where the name does not say it.
    """

    name: str
    value: float
    sign: Literal[">=", "<="]
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


def variety_of(rows: Iterable[Row]) -> Variety:
    """Measure the rows of a suite; the same row twice counts once, contrasts do not count.

    Args:
        rows: as the suite's tables have them.
    """
    distinct = {(row["capability"], row["id"]): row for row in rows}.values()
    seeds = [row for row in distinct if row["kind"] == "seed"]
    expansions = [row for row in distinct if row["kind"] == "expansion"]
    seeds_of = Counter(row["capability"] for row in seeds)
    expansions_of = Counter(row["capability"] for row in expansions)
    insertions = Counter(
        " ".join(word["word"] for word in row["inserted"]).lower() for row in expansions
    )
    names = sorted(seeds_of, key=natural_order)
    return Variety(
        seeds={name: seeds_of[name] for name in names},
        expansions={name: expansions_of[name] for name in names},
        commonest=tuple(insertions.most_common(_COMMONEST)),
        figures=(
            *_numbers(seeds_of, expansions_of),
            *_insertions(expansions, insertions),
            *_seeds(seeds),
        ),
    )


def _numbers(seeds: Counter[str], expansions: Counter[str]) -> tuple[Figure, ...]:
    each = sorted(seeds.values())
    median = each[len(each) // 2] if each else 0
    mean = expansions.total() / max(1, seeds.total())
    least = min((expansions[name] / number for name, number in seeds.items()), default=0)
    few = "where a corpus holds fewer, this is short and said so"
    none = "no capability lives on seeds alone"
    return (
        Figure("seeds a capability, median", median, ">=", 100, "cases that a rate rests on"),
        Figure("seeds a capability, least", min(each, default=0), ">=", 50, few),
        Figure("expansions a seed, mean", mean, ">=", 2),
        Figure("expansions a seed, least capability", least, ">=", 1, none),
    )


def _insertions(expansions: list[Row], insertions: Counter[str]) -> tuple[Figure, ...]:
    total = insertions.total() or 1
    top = sum(count for _, count in insertions.most_common(5)) / total
    entropy = sum(n / total * math.log2(total / n) for n in insertions.values())
    several = sum(sum(len(w["word"].split()) for w in row["inserted"]) > 1 for row in expansions)
    kinds = Counter(word["tag"] for row in expansions for word in row["inserted"])
    common = sum(count >= _LEAST_SHARE_OF_A_KIND * kinds.total() for count in kinds.values())
    productions = {
        (row["production"]["lhs"], tuple(row["production"]["reference_rhs"]))
        for row in expansions
        if row["production"]
    }
    of_five = "share of the five commonest insertions (a word or a phrase)"
    of_all = "tags or phrase labels that make up 1 % or more of all insertions"
    licences = "different productions that license the expansions"
    more = "expansions that add two words or more"
    share = several / max(1, len(expansions))
    return (
        Figure("top five insertions, share", top, "<=", 0.10, of_five),
        Figure(
            "entropy of insertions, bits", entropy, ">=", 7, "Shannon entropy of what was inserted"
        ),
        Figure("several words inserted, share", share, ">=", 0.40, more),
        Figure("kinds of insertion", common, ">=", 8, of_all),
        Figure("reference productions", len(productions), ">=", 200, licences),
    )


def _seeds(seeds: list[Row]) -> tuple[Figure, ...]:
    used = Counter((row["capability"], one["text"]) for row in seeds for one in row["sources"])
    distinct = len({text for _, text in used}) / (used.total() or 1)
    openings: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in seeds:
        first = re.findall(r"[\w']+", row["text"].lower())[:_OPENING_WORDS]
        openings[row["capability"]].add(tuple(first))
    least = min(map(len, openings.values()), default=0)
    quoting = sum('"' in row["text"] or "“" in row["text"] for row in seeds) / max(1, len(seeds))
    of_one = "seeds of one capability made from one sentence"
    slots = "distinct source sentences over source slots, all capabilities"
    words = "different first three words among the seeds of a capability"
    most = max(used.values(), default=0)
    return (
        Figure("one sentence's seeds in a capability, most", most, "<=", 2, of_one),
        Figure("source sentences, distinct a seed slot", distinct, ">=", 0.5, slots),
        Figure("openings a capability, least", least, ">=", 12, words),
        Figure("seeds that quote, share", quoting, "<=", 0.50, "seeds with a quotation mark"),
    )
