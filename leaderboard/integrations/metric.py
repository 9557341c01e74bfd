"""What ``evaluate.load("s2lct").compute(...)`` computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.models.classifier import Function
from s2lct.leaderboard.models.load import as_classifier
from s2lct.leaderboard.scoring.score import default_cache, score
from s2lct.suite.cases import SuiteCases, load_cases
from s2lct.suite.tables import COUNTERPART, KINDS

_EVERY = (*KINDS, COUNTERPART)


def compute(
    *,
    predictions: Any = None,
    references: Any = None,
    model: Any = None,
    tokenizer: Any = None,
    classes: Sequence[str] | None = None,
    suite: str | Path | SuiteCases | Any = None,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
    label_map: Mapping[Any, Any] | None = None,
    flat: bool = False,
) -> dict[str, Any]:
    """Failure rates of a model on a suite, or of predictions made elsewhere.

    Either model= (a Hub id, a folder, "vader", "textblob", "afinn", "embedded-2class",
    "embedded-3class", a function from texts to labels or probabilities, a pipeline, a Trainer, a
    transformers model with tokenizer=, or the two as a pair) with suite= (a Hub id, a folder or
    rows) and capabilities= (ids in any case), kind=, limit=; or predictions= with references= (rows
    of the suite, or their ids with suite=; with counterparts among them also the share of seeds
    answered right on both sides).

    predictions are label ids (0 negative, 1 neutral, 2 positive), label names, probabilities from
    negative to positive or by class name, or what a pipeline returns. Probabilities lie in 0 to 1
    and sum to 1. A pipeline has to give all classes (top_k=None). classes= are the names of all
    classes of the model in its order; of two an uncertain answer is neutral.
    label_map= says what classes mean, such as {"LABEL_0": "negative", "LABEL_1": "positive"}, for
    models, pipelines, functions and predictions. flat=True names figures
    "LC4/expansion/failure_rate", which are else nested.
    """
    if (model is None) == (predictions is None):
        raise ScoringError(
            "compute() takes either a model or predictions",
            hint="pass model= and suite=, or predictions= and references=",
        )
    cache = None
    if model is None:
        idle = {"tokenizer": tokenizer, "capabilities": capabilities, "kind": kind, "limit": limit}
        asked: Any = Function(lambda _: predictions, "predictions", classes)
        cases = _referred(references, suite)
        if not any(case.kind in KINDS for case in cases.cases):
            raise ScoringError(
                "references name contrasts alone, which no failure rate counts",
                hint="pass seeds and expansions too",
            )
    else:
        idle = {"references": references}
        if suite is None:
            raise ScoringError(
                "compute(model=…) was given no suite",
                hint='pass suite="s2lct", a folder that `s2lct build` wrote, or rows',
            )
        cases = load_cases(suite).select(capabilities, kind, limit)
        asked, cache = as_classifier(model, tokenizer=tokenizer, classes=classes), default_cache()
    if ignored := [f"{name}=" for name, value in idle.items() if value is not None]:
        beside = "predictions" if model is None else "a model"
        raise ScoringError(
            f"compute() was given {', '.join(ignored)} with {beside}", hint="leave them out"
        )
    outcomes = score(asked, cases, label_map=label_map, cache=cache)
    return outcomes.figures.flat() if flat else outcomes.figures.nested()


def _referred(references: Any, suite: Any) -> SuiteCases:
    """The cases that predictions are for, given as rows or by their ids in a suite."""
    hint = (
        'pass rows, references=suite["LC4"]["test"], or their ids with suite=, '
        'references=rows["id"]'
    )
    if isinstance(references, (Mapping, SuiteCases)):
        return load_cases(references, _EVERY)
    text = isinstance(references, (str, bytes))
    rows = list(references) if isinstance(references, Iterable) and not text else []
    ids = bool(rows) and isinstance(rows[0], str)
    if not rows or not all(isinstance(row, str if ids else Mapping) for row in rows):
        raise ScoringError(f"references={shown(references)}: no rows of a suite", hint=hint)
    if not ids:
        return load_cases(rows, _EVERY)
    if suite is None:
        raise ScoringError(
            "references are ids, and there is no suite to look them up in",
            hint="pass suite= too, or pass rows as references",
        )
    known = load_cases(suite, _EVERY)
    of_id = {case.id: case for case in known.cases}
    if len(of_id.keys() & set(rows)) < len(rows):
        raise ScoringError(
            f"suite {known.name} {known.version}: references name cases that it does not have, or "
            "one twice",
            hint="pass the version of the suite that the predictions were made on "
            "(suite=ID@REVISION), and each case once",
        )
    partial = known.partial or len(rows) < len(of_id)
    return replace(known, cases=tuple(of_id[one] for one in rows), partial=partial)
