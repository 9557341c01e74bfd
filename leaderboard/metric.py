"""What ``evaluate.load("s2lct").compute(...)`` computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.leaderboard.cases import SuiteCases, load_cases
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.labels import NEUTRAL_BAND, labels_of_predictions
from s2lct.leaderboard.models import as_classifier
from s2lct.leaderboard.scoring import (
    Outcomes,
    default_cache,
    failed_cases,
    figures,
    flattened,
    score,
)


def compute(
    *,
    predictions: Iterable[Any] | None = None,
    references: Iterable[Any] | None = None,
    model: Any = None,
    suite: str | Path | SuiteCases | Any = None,
    capabilities: Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
    label_map: Mapping[str, str] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
    flat: bool = False,
) -> dict[str, Any]:
    """Failure rates of a model, or of predictions made elsewhere.

    Args:
        predictions: one a reference, see `labels.labels_of_predictions`.
        references: rows of a suite, or their ids (then pass ``suite`` too).
        model: a name (see `models.load_classifier`), a function from texts to predictions, a
            pipeline, or a `transformers.Trainer`.
        suite: a folder, a Hub id or rows; with ``model``.
        capabilities: which capabilities, with ``model``; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability.
        label_map: what the model's classes mean, by name or number.
        neutral_band: see `labels.LabelRule`.
        flat: name figures ``LC4/expansion/failure_rate`` instead of nesting them.

    Returns:
        ``overall`` with ``failure_rate``, ``ci`` and ``cases``, and for each capability ``seed``
        and ``expansion`` with ``cases``, ``failures``, ``failure_rate`` and ``ci``, and
        ``pass_to_fail`` and ``fail_to_pass``. Rates are in [0, 1].

    Raises:
        ScoringError: neither a model with a suite nor predictions with references, or they
            cannot be used.
    """
    if (model is None) == (predictions is None):
        given = "both model and predictions" if model else "neither model nor predictions"
        raise ScoringError(
            f"compute() was given {given}",
            mend="pass model= and suite=, or predictions= and references=",
        )
    if model is not None:
        if suite is None:
            raise ScoringError(
                "compute(model=…) was given no suite",
                mend='pass suite="s2lct", a folder that `s2lct build` wrote, or rows',
            )
        outcomes = score(
            as_classifier(model),
            load_cases(suite).select(capabilities, kind, limit),
            label_map=label_map,
            neutral_band=neutral_band,
            cache=default_cache(),
        )
    else:
        assert predictions is not None
        outcomes = _of_predictions(predictions, references, suite, neutral_band)
    nested = figures(outcomes)
    return dict(flattened(nested)) if flat else nested


def _of_predictions(
    predictions: Iterable[Any],
    references: Iterable[Any] | None,
    suite: Any,
    neutral_band: tuple[float, float],
) -> Outcomes:
    if references is None:
        raise ScoringError(
            "predictions without references",
            mend='pass references=suite["LC4"], the rows the predictions are for',
        )
    rows = references if isinstance(references, Mapping) else list(references)
    if rows and not isinstance(rows, Mapping) and all(isinstance(row, str) for row in rows):
        cases = _by_id(rows, suite)
    else:
        cases = load_cases(rows)
    labels, rule = labels_of_predictions(predictions, len(cases.cases), neutral_band=neutral_band)
    return Outcomes(
        model="predictions",
        revision="",
        weights_sha256="",
        label_rule=rule,
        suite=cases,
        labels=labels,
        failed=failed_cases(cases.cases, labels),
    )


def _by_id(ids: Sequence[str], suite: Any) -> SuiteCases:
    if suite is None:
        raise ScoringError(
            "references are ids, and there is no suite to look them up in",
            mend="pass suite= too, or pass rows as references",
        )
    known = load_cases(suite)
    of_id = {case.id: case for case in known.cases}
    if unknown := [number for number in ids if number not in of_id]:
        named = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3:,} more" if unknown[3:] else "")
        raise ScoringError(
            f"suite {known.name}{f' {known.version}' if known.version else ''}: has no case {named}"
            f" ({len(unknown):,} of {len(ids):,} references)",
            mend="pass the version of the suite that the predictions were made on "
            "(suite=ID@REVISION)",
        )
    return SuiteCases(
        known.name,
        known.version,
        known.fingerprint,
        tuple(of_id[number] for number in ids),
        partial=known.partial or len(set(ids)) < len(of_id),
    )
