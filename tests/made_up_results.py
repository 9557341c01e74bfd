"""A made-up suite, and results on it of models that fail a given share of its cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from s2lct.identity import fingerprint_of
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.suite.cases import Case, SuiteCases

PASSES = {"LC4": {1, 2}, "LC9": {0}, "LC10": {0}}


def suite(version: str, seeds: int = 20) -> SuiteCases:
    cases: list[Case] = []
    for capability, passes in PASSES.items():
        for number in range(seeds):
            seed = f"{capability}-{number}-{version}"
            text = f"Sentence {number} of {capability} & <b>more</b>."
            splits = frozenset({"sst:train" if number % 2 else "sst:test"})
            rest = (seed, text, frozenset(passes))
            cases.append(Case(seed, capability, "seed", *rest, splits=splits))
            cases.append(
                Case(
                    f"{seed}-x", capability, "expansion", seed, f"Also {text}",
                    frozenset(passes), ("Also",), "S -> ADVP NP", splits,
                )
            )  # fmt: skip
    rows = [[case.id, case.text, sorted(case.passes)] for case in cases]
    return SuiteCases("made up", version, fingerprint_of(rows), tuple(cases))


def write(name: str, failing: float, of: SuiteCases, folder: Path, **facts: Any) -> Path:
    """A model that fails this share of the cases, always the same of them."""
    draw = np.random.default_rng(len(name)).random(len(of.cases))
    labels = np.array(
        [
            min({0, 1, 2} - case.passes) if one < failing else min(case.passes)
            for case, one in zip(of.cases, draw, strict=True)
        ]
    )
    failed = failed_cases(of.cases, labels)
    return write_result(
        Outcomes(name, "r1", "0" * 64, "as it says", of, labels, failed, **facts), folder
    )
