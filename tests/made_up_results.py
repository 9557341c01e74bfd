"""A made-up suite, and results on it of models that fail a given share of its cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.identity import fingerprint_of
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.record import ModelRecord, OptionsRecord
from s2lct.leaderboard.results import read_results
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite import cases
from s2lct.suite.cases import Case, SuiteCases

PASSES = {"LC4": {1, 2}, "LC9": {0}, "LC10": {0}}


def suite(version: str, seeds: int = 20) -> SuiteCases:
    cases: list[Case] = []
    for capability, passes in PASSES.items():
        for number in range(seeds):
            seed = f"{capability}-{number}-{version}"
            text = f"Sentence {number} of {capability} & <b>more</b>."
            rest = (seed, text, frozenset(passes))
            cases.append(Case(seed, capability, "seed", *rest))
            cases.append(
                Case(
                    f"{seed}-x", capability, "expansion", seed, f"Also {text}",
                    frozenset(passes), ("Also",),
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
    return write_result(make_outcomes(of, name=name, labels=labels, **facts), folder)


_KNOWN: dict[str, SuiteCases] = {}


def suite_at(folder: Path, of: SuiteCases) -> str:
    """A name under which commands find the suite."""
    _KNOWN[f"made-up:{folder}"] = of
    return f"made-up:{folder}"


def _load_suite(source: Any) -> SuiteCases:
    return _KNOWN[source] if source in _KNOWN else cases.load_suite(source)


read_results.load_suite = _load_suite  # type: ignore[attr-defined]


def in_order(of: SuiteCases) -> list[Case]:
    """Rows as a suite has them: contrasts behind their seeds."""
    behind = {case.seed_id: case for case in of.contrasts}
    return [
        row
        for case in of.cases
        for row in (case, behind.get(case.id) if case.kind == "seed" else None)
        if row is not None
    ]


def made_suite(
    cases: Sequence[Case], contrasts: Sequence[Case] = (), version: str = "1.0.0"
) -> SuiteCases:
    """Cases as a suite, with the fingerprint of their rows."""
    suite = SuiteCases("mine", version, "", tuple(cases), contrasts=tuple(contrasts))
    rows = [[case.id, case.text, sorted(case.passes)] for case in in_order(suite)]
    return replace(suite, fingerprint=fingerprint_of(rows))


def make_outcomes(
    of: SuiteCases, wrong: Callable[[Case], bool] = lambda case: False, name: str = "org/mine",
    labels: Any = None, asks: LabelPrompt | None = None,
    label_map: Mapping[str, str] | None = None,
    **facts: Any,
) -> Outcomes:  # fmt: skip
    """A model that fails the cases, and contrasts, that are ``wrong`` or has labels."""
    answers = [
        min({0, 1, 2} - case.passes) if wrong(case) else min(case.passes)
        for case in of.with_contrasts
    ]
    labels = answers if labels is None else [*labels, *answers[len(labels) :]]
    known = {"revision": "r1", "weights_sha256": "0" * 64, "label_rule": "as is"}
    options = OptionsRecord.of(label_map, asks)
    model = ModelRecord.model_validate({"name": name, "options": options, **known, **facts})
    return Outcomes(model, of, np.array(labels, dtype=np.int64))


def make_result(
    of: SuiteCases, folder: Path, wrong: Callable[[Case], bool] = lambda case: False,
    name: str = "org/mine", **facts: Any,
) -> Path:  # fmt: skip
    """The result file of `make_outcomes`."""
    return write_result(make_outcomes(of, wrong, name, **facts), folder)
