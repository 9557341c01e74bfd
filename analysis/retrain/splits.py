"""Divide a suite's cases so that no seed family and no corpus sentence is on both sides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from s2lct.analysis.suite_rows import SuiteRow
from s2lct.errors import AnalysisError
from s2lct.identity import shuffle_key

FOLDS = 10
"""One to test on, one to validate on, the rest to train on: 8:1:1."""
LARGEST_GROUP = 2 / FOLDS
"""Groups of linked families with a larger share of the cases are cut."""
LEAST_GROUPS = 3


@dataclass(frozen=True, slots=True)
class SeedFamily:
    """A seed's id, how many cases it has with its expansions, and keys of their sentences."""

    id: str
    cases: int
    sentences: frozenset[str]


@dataclass(frozen=True, slots=True)
class Split:
    """The cases of a training run.

    Attributes:
        train, validation, test: cases of the capabilities that are trained on.
        left_out: cases of them that would put a sentence on both sides.
        unseen: cases of other capabilities that share no sentence with train or validation.
        shared: cases of other capabilities that do.
    """

    train: tuple[SuiteRow, ...]
    validation: tuple[SuiteRow, ...]
    test: tuple[SuiteRow, ...]
    left_out: tuple[SuiteRow, ...]
    unseen: tuple[SuiteRow, ...]
    shared: tuple[SuiteRow, ...]

    @property
    def trained_sentences(self) -> frozenset[str]:
        """Keys of the corpus sentences in train and validation."""
        return sentences_of((*self.train, *self.validation))


def sentence_key(text: str) -> str:
    """Equal for sentences that differ in spaces and capitals alone."""
    return " ".join(text.split()).casefold()


def sentences_of(rows: Iterable[SuiteRow]) -> frozenset[str]:
    """Keys of the corpus sentences that cases were made from; of a case without any, its text."""
    return frozenset(sentence_key(text) for row in rows for text in row.sources or (row.case.text,))


def _cases(families: Iterable[SeedFamily]) -> int:
    return sum(family.cases for family in families)


def _linked(families: Sequence[SeedFamily]) -> list[list[SeedFamily]]:
    """Families that share a sentence, directly or through others, together."""
    number_of: dict[str, int] = {}
    links = [
        (number, len(families) + number_of.setdefault(sentence, len(number_of)))
        for number, family in enumerate(families)
        for sentence in family.sentences
    ]
    ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
    nodes = len(families) + len(number_of)
    graph = coo_array((np.ones(len(links)), (ends[0], ends[1])), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=False)
    groups: dict[int, list[SeedFamily]] = defaultdict(list)
    for family, number in zip(families, component.tolist(), strict=False):
        groups[number].append(family)
    return list(groups.values())


def unlinked_groups(
    families: Sequence[SeedFamily], most: float
) -> tuple[list[list[SeedFamily]], list[SeedFamily]]:
    """Groups of families no two of which share a sentence, and the families that are left out.

    The groups are connected components. One with more than ``most`` cases is cut: the families of
    its most used sentence become a group, and where these share another sentence with the rest,
    the fewer cases of the two sides are left out.
    """
    groups: list[list[SeedFamily]] = []
    left_out: list[SeedFamily] = []
    waiting = _linked(sorted(families, key=lambda family: family.id))
    while waiting:
        group = waiting.pop()
        used = Counter[str]()
        for family in group:
            used.update(dict.fromkeys(family.sentences, family.cases))
        hub = min(used, key=lambda sentence: (-used[sentence], sentence))
        inside, outside = _parted(group, hub)
        if outside and _cases(group) > most:
            while both := _sentences(inside) & _sentences(outside):
                within, inside_rest = _parted(inside, min(both))
                beyond, outside_rest = _parted(outside, min(both))
                if _cases(within) < _cases(beyond):
                    left_out, inside = left_out + within, inside_rest
                else:
                    left_out, outside = left_out + beyond, outside_rest
            waiting += _linked(outside)
            group = inside
        groups.append(group)
    return [group for group in groups if group], left_out


def _parted(
    families: Sequence[SeedFamily], sentence: str
) -> tuple[list[SeedFamily], list[SeedFamily]]:
    """The families with a sentence, and those without."""
    having = [family for family in families if sentence in family.sentences]
    return having, [family for family in families if sentence not in family.sentences]


def _sentences(families: Sequence[SeedFamily]) -> frozenset[str]:
    return frozenset().union(*(family.sentences for family in families))


def folds_of(families: Sequence[SeedFamily], seed: int = 0) -> list[list[SeedFamily]]:
    """Up to `FOLDS` folds of like size in cases; no sentence is in two of them.

    The seed decides the order among groups of the same size.

    Raises:
        AnalysisError: fewer than `LEAST_GROUPS` groups of families share no sentence.
    """
    groups, _ = unlinked_groups(families, LARGEST_GROUP * _cases(families))
    if len(groups) < LEAST_GROUPS:
        raise AnalysisError(
            f"{len(families)} seed families in {len(groups)} groups that share no sentence: too "
            "few to train, validate and test on",
            hint="build a suite with more seeds, or train on more capabilities",
        )

    def order(group: Sequence[SeedFamily]) -> tuple[int, bytes]:
        return -_cases(group), shuffle_key(seed, "fold", min(family.id for family in group))

    folds: list[list[SeedFamily]] = [[] for _ in range(min(FOLDS, len(groups)))]
    for group in sorted(groups, key=order):
        min(folds, key=_cases).extend(group)
    return folds


def split_of(rows: Sequence[SuiteRow], trained_on: Collection[str], seed: int = 0) -> Split:
    """Divide all of a suite's cases for training on some capabilities.

    Seed 0 tests on the first fold, 1 on the second, and so on; behind the last fold the families
    are shuffled anew. Every family is thus tested on once in as many seeds as there are folds.

    Raises:
        AnalysisError: too few families share no sentence.
    """
    members: dict[str, list[SuiteRow]] = defaultdict(list)
    for row in rows:
        if row.case.capability in trained_on:
            members[row.case.seed_id].append(row)
    families = [
        SeedFamily(name, len(own), sentences_of(own)) for name, own in sorted(members.items())
    ]
    count = len(folds_of(families))
    folds = folds_of(families, seed // count)
    tested = seed % count
    # Folds of like size take turns; a large one is rather trained on.
    validated = min(
        (number for number in range(count) if number != tested),
        key=lambda number: (_cases(folds[number]), (number - tested) % count),
    )
    parts: dict[str, list[SuiteRow]] = defaultdict(list)
    part_of = {
        family.id: {tested: "test", validated: "validation"}.get(number, "train")
        for number, fold in enumerate(folds)
        for family in fold
    }
    others: list[SuiteRow] = []
    for row in rows:
        if row.case.capability in trained_on:
            parts[part_of.get(row.case.seed_id, "left_out")].append(row)
        else:
            others.append(row)
    seen = sentences_of((*parts["train"], *parts["validation"]))
    for row in others:
        parts["shared" if sentences_of([row]) & seen else "unseen"].append(row)
    return Split(**{one.name: tuple(parts[one.name]) for one in fields(Split)})
