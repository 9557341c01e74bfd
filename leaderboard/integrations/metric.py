"""What ``evaluate.load("s2lct").compute(...)`` computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from s2lct.errors import ScoringError
from s2lct.labels import check_label_map
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND, checked_band
from s2lct.leaderboard.models.classifier import Classifier, Function
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
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
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
    and sum to 1. Rows with the best class alone need classes=, the names of all classes of the
    model in its order: of two an uncertain answer is neutral (neutral_band=), of three it is not.
    label_map= says what classes mean, such as {"LABEL_0": "negative", "LABEL_1": "positive"}, for
    models, pipelines, functions and predictions. flat=True names figures
    "LC4/expansion/failure_rate", which are else nested.
    """
    if (model is None) == (predictions is None):
        given = "neither model nor predictions" if model is None else "both model and predictions"
        raise ScoringError(
            f"compute() was given {given}",
            hint="pass model= and suite=, or predictions= and references=",
        )
    label_map, neutral_band = meanings(model, label_map, neutral_band)
    if model is None:
        with_model = {"capabilities": capabilities, "kind": kind, "limit": limit}
        _refuse_given(
            {"tokenizer": tokenizer} | with_model,
            "predictions",
            "choose among the references and predictions instead",
        )
        asked: Classifier | Function = Function(lambda _: predictions, "predictions", classes)
        cases = _referred(references, suite)
        if not any(case.kind in KINDS for case in cases.cases):
            raise ScoringError(
                "references name counterparts alone, which no failure rate counts",
                hint="pass seeds and expansions too",
            )
    else:
        hint = "leave references= out and pass suite="
        _refuse_given({"references": references}, "a model", hint)
        if suite is None:
            raise ScoringError(
                "compute(model=…) was given no suite",
                hint='pass suite="s2lct", a folder that `s2lct build` wrote, or rows',
            )
        cases = load_cases(suite).select(capabilities, kind, limit)
        asked = as_classifier(model, tokenizer=tokenizer, classes=classes)
    cache = None if model is None else default_cache()
    outcomes = score(asked, cases, label_map=label_map, neutral_band=neutral_band, cache=cache)
    return outcomes.figures.flat() if flat else outcomes.figures.nested()


def meanings(
    model: Any, label_map: Mapping[Any, Any] | None, neutral_band: tuple[float, float]
) -> tuple[dict[str, str] | None, tuple[float, float]]:
    """What classes mean, checked: of a Trainer as its `CapabilityCallback` reads them by default.

    Raises:
        ScoringError: a label map or a band that is none.
    """
    checked = check_label_map(label_map), checked_band(neutral_band)
    if checked == (None, NEUTRAL_BAND) and hasattr(model, "callback_handler"):
        from s2lct.leaderboard.integrations.callback import CapabilityCallback

        for callback in model.callback_handler.callbacks:
            if isinstance(callback, CapabilityCallback):
                return callback.label_map, callback.neutral_band
    return checked


def _refuse_given(arguments: Mapping[str, Any], beside: str, hint: str) -> None:
    if ignored := [f"{name}=" for name, value in arguments.items() if value is not None]:
        raise ScoringError(f"compute() was given {', '.join(ignored)} with {beside}", hint=hint)


def _referred(references: Any, suite: Any) -> SuiteCases:
    hint = (
        'pass rows, references=suite["LC4"]["test"], or their ids with suite=, '
        'references=rows["id"]'
    )
    if references is None:
        raise ScoringError("predictions without references", hint=hint)
    if isinstance(references, (str, bytes)) or not isinstance(references, Iterable):
        raise ScoringError(f"references={shown(references)}: no rows", hint=hint)
    if isinstance(references, (Mapping, SuiteCases)):
        return load_cases(references, _EVERY)
    rows = list(references)
    if not rows:
        raise ScoringError("there are no references", hint=hint)
    ids = isinstance(rows[0], str)
    for number, row in enumerate(rows):
        if not isinstance(row, str if ids else Mapping):
            raise ScoringError(
                f"references[{number}] is {shown(row)}, no {'id' if ids else 'row'} of a suite",
                hint=hint,
            )
    return _by_id(rows, suite) if ids else load_cases(rows, _EVERY)


def _by_id(ids: Sequence[str], suite: Any) -> SuiteCases:
    if suite is None:
        raise ScoringError(
            "references are ids, and there is no suite to look them up in",
            hint="pass suite= too, or pass rows as references",
        )
    known = load_cases(suite, _EVERY)
    of_id = {case.id: case for case in known.cases}
    if unknown := [number for number in ids if number not in of_id]:
        raise ScoringError(
            f"suite {known.name} {known.version}: has no case {', '.join(unknown[:3])} "
            f"({len(unknown):,} of {len(ids):,} references)",
            hint="pass the version of the suite that the predictions were made on "
            "(suite=ID@REVISION)",
        )
    if len(set(ids)) < len(ids):
        raise ScoringError(
            "references name a case twice", hint="pass each case and its prediction once"
        )
    cases = tuple(of_id[number] for number in ids)
    partial = known.partial or len(ids) < len(of_id)
    return SuiteCases(known.name, known.version, known.fingerprint, cases, partial)
