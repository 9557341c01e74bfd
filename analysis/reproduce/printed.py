"""Figures that the papers print, to stand beside what is measured here.

Of S²LCT (Lee et al.) those of its drafts, by capability; three figures each are of
textattack/bert-base-uncased-SST-2, textattack/roberta-base-SST-2 and
distilbert-base-uncased-finetuned-sst-2-english. Of MNCOVER (Sekhon et al. 2022, White-box Testing
of NLP models with Mask Neuron Coverage, Findings of NAACL 2022, arXiv 2205.05050) Tables 1 (BERT,
SST-2), 3, 4, 5 and 6 and the caption of Figure 4: percent, but for Table 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

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

MOST_TESTS, MOST_PAIR_TESTS, MOST_OF_A_SET = 1_500, 200, 1_000
"""The first so many cases of a test (Table 1, Table 6), and about so many of a set (Table 3)."""


class Row(NamedTuple):
    """A test's failure rate, maximum/mean over thresholds, and how much smaller it becomes."""

    whole: float
    cover: tuple[float, float]
    mncover: tuple[float, float]
    smaller: tuple[float, float]


TABLE_1 = {
    "change names": Row(5.14, (100, 16.86), (100, 16.86), (62.84, 62.84)),
    "add negative phrases": Row(6.8, (100, 19.16), (99.34, 19.16), (75.4, 75.99)),
    "protected: race": Row(68, (100, 73.02), (99.37, 72.13), (44.33, 43.54)),
    "used to, but now": Row(29.87, (53.3, 46.27), (53.3, 46.75), (84.61, 84.61)),
    "protected: sexual": Row(86.83, (100, 87.31), (100, 88.99), (83.83, 86.83)),
    "change locations": Row(8.69, (21.43, 8.31), (21.43, 8.31), (86.47, 86.93)),
    "change neutral words with BERT": Row(9.8, (20, 13.04), (20.84, 13.39), (73.4, 73.88)),
    "contractions": Row(2.9, (5.52, 3.94), (8.22, 4.34), (34.8, 34.8)),
    "2 typos": Row(11.6, (18, 11.14), (16, 10.87), (10, 10)),
    "change numbers": Row(3.2, (7.14, 3.94), (7.14, 3.29), (87.7, 88.44)),
    "typos": Row(6.6, (10, 6.45), (10, 6.24), (10, 10)),
    "neutral words in context": Row(96.73, (100, 96.91), (100, 96.82), (21.33, 28.5)),
    "protected: religion": Row(96.83, (100, 93.42), (100, 98.02), (89.67, 89.67)),
    "add random urls and handles": Row(15.4, (14.63, 9.17), (17.86, 11.56), (87.6, 87.6)),
    "simple negations: not neutral is still neutral": Row(
        97.93, (100, 98.49), (100, 98.34), (45.67, 46.03)
    ),
    "simple negations: not negative": Row(10.4, (12, 9.56), (12.42, 9.9), (80.11, 80.37)),
    "my opinion is what matters": Row(41.53, (42.49, 36.79), (43.14, 36.79), (84.16, 84.32)),
    "punctuation": Row(5.4, (6.8, 5.37), (6.8, 6.26), (10, 9.11)),
    "Q & A: yes": Row(0.4, (1.33, 0.5), (1.71, 0.49), (82.33, 83.14)),
    "Q & A: no": Row(85.2, (86.33, 76.42), (86.22, 77.16), (82.34, 83.12)),
    "simple negations: negative": Row(6.13, (7.33, 5.63), (7.12, 5.7), (78.63, 78.71)),
    "reducers": Row(0.13, (0.27, 0.1), (1.03, 0.1), (67, 66.77)),
    "intensifiers": Row(1.33, (1.05, 0.31), (1.83, 1.01), (66.65, 66.96)),
}
TABLE_6 = {
    "Change first name in one of the questions": Row(63, (100, 59.4), (100, 64.49), (98.2, 98.2)),
    "add one typo": Row(19.4, (28.57, 23.17), (29.41, 23.52), (88, 88)),
    "Product of paraphrases(q1) * paraphrases(q2)": Row(95, (100, 100), (100, 100), (99, 99)),
    "Replace synonyms in real pairs": Row(8.37, (13.33, 7.89), (12.5, 8.81), (73.31, 73.31)),
    "Symmetry: f(a, b) = f(b, a)": Row(6, (8.33, 4.83), (10, 4.61), (82, 82)),
    "Testing implications": Row(15.07, (15.25, 7.9), (15.25, 7.46), (99.29, 99.29)),
    "same adjectives, different people v3": Row(100, (100, 100), (100, 100), (81.82, 81.82)),
    "same adjectives, different people": Row(100, (100, 100), (100, 100), (81.48, 81.48)),
    "Change same location in both questions": Row(5, (0, 0), (0, 0), (96.6, 96.6)),
}
TABLE_3_SETS = {"A1": 0.175, "A1+A2": 0.182, "A1+A2+A3": 0.185, "A2": 0.179, "A3": 0.181}
TABLE_4 = {"without": 90.22, "random": 90.45, "MNCOVER": 90.41}
TABLE_5 = "BERT: SST-2 99.31, QQP 99.77; RoBERTa: SST-2 97.36, QQP 99.66"
FIGURE_4 = {0.0: 28.83, 1e-4: 54.06, 1e-3: 71.48, 1e-2: 88.67, 1e-1: 97.17}
"""Mean reduction over transformations at each threshold."""
