"""Figures that the drafts of the S²LCT paper print (Lee et al.), by capability.

Three figures each are of textattack/bert-base-uncased-SST-2, textattack/roberta-base-SST-2 and
distilbert-base-uncased-finetuned-sst-2-english.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAPER_MODELS = ("paper: BERT", "paper: RoBERTa", "paper: DistilBERT")
Three = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class FailuresPrinted:
    """A row of Table 3: counts, failures in percent, and expansions that turn a pass into a fail.

    Of the newest draft, the CheckList columns of the draft before, the only one that has them.
    None where a draft prints none.
    """

    seeds: int
    expansions: int | None
    seeds_fail: Three
    expansions_fail: Three | None
    pass_to_fail: tuple[int, int, int] | None
    checklist: int | None
    checklist_fail: Three | None


TABLE_3: Mapping[str, FailuresPrinted] = {
    "LC1": FailuresPrinted(
        19, 210, (78.95, 89.47, 100.0), (86.67, 76.19, 94.29), (19, 9, 0),
        1716, (77.51, 81.06, 96.79),
    ),
    "LC2": FailuresPrinted(
        50, 394, (4.0, 4.0, 2.0), (4.31, 4.82, 2.79), (4, 5, 8),
        8658, (0.30, 1.61, 1.44),
    ),
    "LC3": FailuresPrinted(
        50, None, (24.0, 56.0, 78.0), None, None,
        8000, (21.0, 10.36, 31.65),
    ),
    "LC4": FailuresPrinted(
        50, 1784, (92.0, 82.0, 88.0), (94.17, 86.15, 88.51), (49, 64, 26),
        6786, (11.77, 3.21, 10.82),
    ),
    "LC5": FailuresPrinted(
        26, 1009, (92.31, 92.31, 92.31), (92.37, 93.06, 95.24), (62, 38, 74),
        2496, (97.24, 92.31, 98.16),
    ),
    "LC6": FailuresPrinted(
        50, 1486, (100.0, 100.0, 100.0), (100.0, 100.0, 100.0), (0, 0, 0),
        2124, (88.09, 20.95, 100.0),
    ),
    "LC7": FailuresPrinted(
        50, 1634, (84.0, 42.0, 76.0), (88.0, 40.64, 78.34), (40, 54, 9),
        1000, (86.0, 41.6, 86.5),
    ),
    "LC8": FailuresPrinted(
        50, 2323, (44.0, 26.0, 40.0), (50.06, 31.21, 44.77), (134, 78, 31),
        8528, (43.87, 31.57, 41.45),
    ),
    "LC9": FailuresPrinted(
        50, 1373, (4.0, 2.0, 6.0), (2.69, 4.15, 5.54), (43, 46, 14),
        9204, (19.48, 13.71, 16.92),
    ),
    "LC10": FailuresPrinted(
        50, 1218, (42.0, 58.0, 92.0), (46.14, 64.53, 87.60), (40, 18, 8),
        None, None,
    ),
    "LC11": FailuresPrinted(
        50, 1161, (100.0, 100.0, 94.0), (100.0, 100.0, 98.97), (0, 0, 4),
        None, None,
    ),
}  # fmt: skip
QUESTION_NO = (7644, (53.06, 59.86, 84.25))
"""CheckList's cases and failures of LC10 and LC11, which the draft that has them takes as one."""


@dataclass(frozen=True, slots=True)
class RetrainingPrinted:
    """A row of an older draft's Table 2, of BERT on CheckList's cases of a capability."""

    fail_to_pass: int
    before: tuple[int, int]
    after: tuple[int, int]


RETRAINING: Mapping[str, RetrainingPrinted] = {
    "LC1": RetrainingPrinted(1330, (1330, 386), (0, 1716)),
    "LC2": RetrainingPrinted(0, (26, 8632), (8658, 0)),
    "LC3": RetrainingPrinted(0, (1680, 6320), (8000, 0)),
    "LC5": RetrainingPrinted(2427, (2427, 69), (0, 2496)),
    "LC7": RetrainingPrinted(0, (860, 140), (1000, 0)),
    "LC8": RetrainingPrinted(0, (3741, 4787), (8528, 0)),
    "LC9": RetrainingPrinted(1540, (1793, 7411), (7644, 1560)),
}
"""By the capability that is tested, told from the number of cases: the names are garbled there."""
