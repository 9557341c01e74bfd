"""Families: cases that are not independent of each other, and so count as one in statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from s2lct.suite.cases import Case


def families_of(cases: Sequence[Case], *, across: bool = False) -> npt.NDArray[np.int64]:
    """The number of each case's family, from 0 on; shape (cases,).

    Cases of a family are resampled and tested as one. A family is, within a capability, all seeds
    made of the same set of corpus sentences ("X is not good" and "X isn't good") with all their
    expansions; where a suite does not name its sentences, a seed with its expansions. Seeds that
    share one of several sentences are families apart: LC7 quotes few neutral sentences before many
    opinions, and models pass or fail by the opinion. A family ``across`` capabilities is one
    wherever these sentences are used.
    """
    keys = [
        ("" if across else case.capability, frozenset(case.sources) or case.seed_id)
        for case in cases
    ]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([number_of[key] for key in keys], dtype=np.int64)
