"""How far readers agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from s2lct.builder.curation.verdicts import BEST, Answer, Care, Verdict, Verdicts
from s2lct.labels import LABELS
from s2lct.suite.annotation import alpha

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ANSWERS: tuple[Answer, ...] = (*LABELS, "mixed")


@dataclass(frozen=True)
class Agreement:
    """Verdicts of readers, and how far they agree.

    Attributes:
        verdicts: of each reader, how many count.
        care: of each reader, how many broken sentences were called natural.
        shared: what at least two readers read.
        same_label: of two readers of the same, how often they give the same label.
        same_grade: likewise the same grade of naturalness.
        alpha_label: Krippendorff's alpha of the labels, nominal.
        alpha_natural: of the grades of naturalness, ordinal.

    Shares and alphas are None where they are not defined.
    """

    verdicts: dict[str, int]
    care: dict[str, Care]
    shared: int
    same_label: float | None
    same_grade: float | None
    alpha_label: float | None
    alpha_natural: float | None


def agreement(verdicts: Verdicts) -> Agreement:
    """How far readers agree on what at least two of them read."""
    found = [verdicts.of(id) for id in verdicts]
    counts = dict.fromkeys(verdicts.care, 0)
    for some in found:
        for verdict in some:
            counts[verdict.reader] += 1
    shared = [some for some in found if len(some) > 1]
    pairs = [pair for some in shared for pair in combinations(some, 2)]
    return Agreement(
        verdicts=counts,
        care=dict(verdicts.care),
        shared=len(shared),
        same_label=_share(one.label == other.label for one, other in pairs),
        same_grade=_share(one.natural == other.natural for one, other in pairs),
        alpha_label=alpha(_counted(shared, "label"), "nominal"),
        alpha_natural=alpha(_counted(shared, "natural"), "ordinal"),
    )


def _counted(
    shared: Sequence[Sequence[Verdict]], field: Literal["label", "natural"]
) -> npt.NDArray[np.int64]:
    import numpy as np

    values: Sequence[object] = _ANSWERS if field == "label" else range(BEST + 1)
    counts = np.zeros((len(shared), len(values)), dtype=np.int64)
    for row, some in enumerate(shared):
        for verdict in some:
            counts[row, values.index(getattr(verdict, field))] += 1
    return counts


def _share(answers: Iterable[bool]) -> float | None:
    found = list(answers)
    return sum(found) / len(found) if found else None
