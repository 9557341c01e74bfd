"""What Sekhon et al. 2022 (MNCOVER) print in their tables, to stand beside what is measured here.

White-box Testing of NLP models with Mask Neuron Coverage, Findings of NAACL 2022 (arXiv
2205.05050): Tables 1 (BERT, SST-2), 3, 4, 5 and 6 and the caption of Figure 4. Percent, but for
Table 3.
"""

from __future__ import annotations

from typing import NamedTuple

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
TABLE_3 = {"A1": 0.175, "A1+A2": 0.182, "A1+A2+A3": 0.185, "A2": 0.179, "A3": 0.181}
TABLE_4 = {"without": 90.22, "random": 90.45, "MNCOVER": 90.41}
TABLE_4_ADDED = 6_541
TABLE_5 = "BERT: SST-2 99.31, QQP 99.77; RoBERTa: SST-2 97.36, QQP 99.66"
FIGURE_4 = {0.0: 28.83, 1e-4: 54.06, 1e-3: 71.48, 1e-2: 88.67, 1e-1: 97.17}
"""Mean reduction over transformations at each threshold."""
