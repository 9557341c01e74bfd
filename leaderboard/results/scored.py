"""What models said of suites, side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND
from s2lct.leaderboard.models.language_model import PROMPT
from s2lct.leaderboard.results.record import OptionsRecord
from s2lct.suite.cases import Case

UNSCORED = -1
LabelIds = npt.NDArray[np.int8]


@dataclass(frozen=True)
class ScoredModel:
    """What one result file says.

    Attributes:
        key: SHA-256 of the result file.
        name, revision, weights_sha256, label_rule, parameters, licence: as in the result file.
        date: when it was scored, ISO 8601 in UTC.
        verified: the day on which somebody scored it again and found the same; empty if nobody.
        labels: what it said, as label ids in the order of the suite's cases, shape (cases,);
            `UNSCORED` where it was not asked.
        options: with which options of one's own it was scored, in words (see `own_options`); empty
            for the model's plain result, from which such a result stands apart.
    """

    key: str
    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    parameters: int | None
    licence: str | None
    date: str
    verified: str
    labels: LabelIds
    options: str = ""


@dataclass(frozen=True)
class SuiteOutcomes:
    """Models that were scored on the same suite.

    Attributes:
        version: its semantic version; empty if unknown.
        fingerprint: SHA-256 over its rows; empty if unknown.
        cases: in the suite's order.
        models: in the order of their files.
        official: whether it is one that the operator named; None where none was named.
    """

    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    models: tuple[ScoredModel, ...]
    official: bool | None = None


@dataclass(frozen=True)
class Collection:
    """Everything that was read.

    Attributes:
        suites: one for each suite version.
        skipped: a line for each file that was left out, saying why.
    """

    suites: tuple[SuiteOutcomes, ...]
    skipped: tuple[str, ...] = ()


def passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which labels pass which cases, shape (cases, labels)."""
    table = np.zeros((len(cases), len(LABELS)), dtype=bool)
    for number, case in enumerate(cases):
        table[number, list(case.passes)] = True
    return table


def own_options(options: OptionsRecord) -> str:
    """Options with which a model says something else than without, in words.

    Empty where a model was scored as it comes, a language model with the usual question.
    """
    words: list[str] = []
    if options.label_map is not None:
        meant = ", ".join(f"{name} → {label}" for name, label in sorted(options.label_map.items()))
        words.append(f"own label map {meant}")
    low, high = options.neutral_band
    if not (math.isclose(low, NEUTRAL_BAND[0]) and math.isclose(high, NEUTRAL_BAND[1])):
        words.append(f"own neutral band {low:.6g} to {high:.6g}")
    if options.prompt is not None and options.prompt != PROMPT:
        words.append(f"own prompt {json.dumps(options.prompt, ensure_ascii=False)}")
    if options.label_words is not None and tuple(options.label_words) != LABELS:
        words.append(f"own label words {', '.join(options.label_words)}")
    return "; ".join(words)
