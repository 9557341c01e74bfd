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
    """A seed with its expansions.

    Attributes:
        id: of the seed.
        cases: how many cases.
        sentences: keys of the corpus sentences that they were made from.
    """

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


def families_of(rows: Sequence[SuiteRow]) -> list[SeedFamily]:
    """The seed families of cases, by id."""
    members: dict[str, list[SuiteRow]] = defaultdict(list)
    for row in rows:
        members[row.case.seed_id].append(row)
    return [
        SeedFamily(name, len(members[name]), sentences_of(members[name]))
        for name in sorted(members)
    ]


def linked(families: Sequence[SeedFamily]) -> list[list[SeedFamily]]:
    """Connected components: families that share a sentence, directly or through others."""
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


def _cases(families: Iterable[SeedFamily]) -> int:
    return sum(family.cases for family in families)


def unlinked_groups(
    families: Sequence[SeedFamily], most: float
) -> tuple[list[list[SeedFamily]], list[SeedFamily]]:
    """Groups of families no two of which share a sentence.

    These are the connected components. One with more than ``most`` cases is cut: the families of
    its most used sentence become a group, and where these share another sentence with the rest,
    the fewer cases of the two sides are left out.

    Returns:
        The groups, and the families that are left out.
    """
    groups: list[list[SeedFamily]] = []
    left_out: list[SeedFamily] = []
    waiting = linked(sorted(families, key=lambda family: family.id))
    while waiting:
        group = waiting.pop()
        used = Counter[str]()
        for family in group:
            used.update(dict.fromkeys(family.sentences, family.cases))
        hub = min(used, key=lambda sentence: (-used[sentence], sentence))
        inside = [family for family in group if hub in family.sentences]
        if _cases(group) <= most or len(inside) == len(group):
            groups.append(group)
            continue
        outside = [family for family in group if hub not in family.sentences]
        while both := frozenset().union(*(f.sentences for f in inside)) & frozenset().union(
            *(f.sentences for f in outside)
        ):
            sentence = min(both)
            within = [family for family in inside if sentence in family.sentences]
            beyond = [family for family in outside if sentence in family.sentences]
            dropped = within if _cases(within) < _cases(beyond) else beyond
            left_out += dropped
            inside = [family for family in inside if family not in dropped]
            outside = [family for family in outside if family not in dropped]
        waiting += linked(outside)
        groups.append(inside)
    return [group for group in groups if group], left_out


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
            mend="build a suite with more seeds, or train on more capabilities",
        )

    def order(group: Sequence[SeedFamily]) -> tuple[int, bytes]:
        return -_cases(group), shuffle_key(seed, "fold", min(family.id for family in group))

    groups.sort(key=order)
    folds: list[list[SeedFamily]] = [[] for _ in range(min(FOLDS, len(groups)))]
    for group in groups:
        min(folds, key=_cases).extend(group)
    return folds


def split_of(rows: Sequence[SuiteRow], trained_on: Collection[str], seed: int = 0) -> Split:
    """Divide all of a suite's cases for training on some capabilities.

    Seed 0 tests on the first fold, 1 on the second, and so on; behind the last fold the families
    are shuffled anew. Every family is thus tested on once in as many seeds as there are folds.

    Raises:
        AnalysisError: too few families share no sentence.
    """
    own = [row for row in rows if row.case.capability in trained_on]
    families = families_of(own)
    count = len(folds_of(families))
    folds = folds_of(families, seed // count)
    place = {family.id: number for number, fold in enumerate(folds) for family in fold}
    tested = seed % count
    # Folds of like size take turns; a large one is rather trained on.
    validated = min(
        (number for number in range(count) if number != tested),
        key=lambda number: (_cases(folds[number]), (number - tested) % count),
    )
    parts: dict[str, list[SuiteRow]] = defaultdict(list)
    for row in own:
        fold = place.get(row.case.seed_id)
        part = {None: "left_out", tested: "test", validated: "validation"}.get(fold, "train")
        parts[part].append(row)
    seen = sentences_of((*parts["train"], *parts["validation"]))
    for row in rows:
        if row.case.capability not in trained_on:
            parts["shared" if sentences_of([row]) & seen else "unseen"].append(row)
    return Split(**{one.name: tuple(parts[one.name]) for one in fields(Split)})
