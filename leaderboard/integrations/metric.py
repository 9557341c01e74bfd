"""What ``evaluate.load("s2lct").compute(...)`` computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from s2lct.errors import ScoringError
from s2lct.labels import check_label_map
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND, checked_band
from s2lct.leaderboard.answers.prediction_labels import labels_of_predictions
from s2lct.leaderboard.models.load import as_classifier
from s2lct.leaderboard.scoring.score import (
    Outcomes,
    default_cache,
    failed_cases,
    figures,
    flattened,
    score,
)
from s2lct.suite.cases import SuiteCases, load_cases
from s2lct.suite.tables import KINDS


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
    """Failure rates of a model, or of predictions made elsewhere.

    Args:
        predictions: one a reference, see `prediction_labels.labels_of_predictions`.
        references: rows of a suite, or their ids (then pass ``suite`` too).
        model: a name (see `models.load_classifier`), a function from texts to predictions, a
            pipeline, a `transformers.Trainer`, a `transformers` model with ``tokenizer``, or the
            two as a pair.
        tokenizer: of a model in memory.
        classes: the names of all classes of the model, in its order, where a function or
            predictions do not tell: for rows with the best class alone, and for numbers and
            columns that do not run from negative to positive.
        suite: a folder, a Hub id or rows; with ``model``.
        capabilities: ids in any case, with ``model``; None for all.
        kind: ``seed`` or ``expansion``, with ``model``; None for both.
        limit: most cases of a capability, with ``model``.
        label_map: what the model's classes mean, by name or number, see `labels.check_label_map`.
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
        given = "neither model nor predictions" if model is None else "both model and predictions"
        raise ScoringError(
            f"compute() was given {given}",
            mend="pass model= and suite=, or predictions= and references=",
        )
    label_map, neutral_band = check_label_map(label_map), checked_band(neutral_band)
    only_of_other = (
        {"references": references}
        if model is not None
        else {
            "tokenizer": tokenizer,
            "capabilities": capabilities,
            "kind": kind,
            "limit": limit,
        }
    )
    if ignored := [f"{name}=" for name, value in only_of_other.items() if value is not None]:
        raise ScoringError(
            f"compute() was given {', '.join(ignored)} with "
            + ("a model" if model is not None else "predictions"),
            mend="leave references= out and pass suite="
            if model is not None
            else "choose among the references and predictions instead",
        )
    if model is not None:
        if suite is None:
            raise ScoringError(
                "compute(model=…) was given no suite",
                mend='pass suite="s2lct", a folder that `s2lct build` wrote, or rows',
            )
        chosen = selected(load_cases(suite), capabilities, kind, limit)
        outcomes = score(
            as_classifier(model, tokenizer=tokenizer, classes=classes),
            chosen,
            label_map=label_map,
            neutral_band=neutral_band,
            cache=default_cache(),
        )
    else:
        outcomes = _of_predictions(predictions, references, suite, neutral_band, classes, label_map)
    nested = figures(outcomes)
    return dict(flattened(nested)) if flat else nested


def selected(
    suite: SuiteCases,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: Any = None,
) -> SuiteCases:
    """Some cases of a suite, see `cases.SuiteCases.select`.

    Args:
        suite: the cases.
        capabilities: one id or several, in any case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability, at least 1; None for all.

    Raises:
        ScoringError: an argument that chooses nothing, or nothing is left.
    """
    if limit is not None and (type(limit) is bool or not isinstance(limit, Integral) or limit < 1):
        raise ScoringError(
            f"limit={limit!r}: no number of cases", mend="pass 1 or more, or None for all cases"
        )
    if kind is not None and kind not in KINDS:
        raise ScoringError(f"kind={kind!r}: no such", mend=f"pass {' or '.join(KINDS)}")
    names = [capabilities] if isinstance(capabilities, str) else capabilities
    if names is not None:
        names = list(names)
        if not names or not all(isinstance(name, str) for name in names):
            raise ScoringError(
                f"capabilities={names!r}: names no capability",
                mend='pass ids such as ["LC4"], or None for all',
            )
        own = {case.capability.lower(): case.capability for case in suite.cases}
        names = [own.get(name.lower(), name) for name in names]
    return suite.select(names, kind, None if limit is None else int(limit))


def _of_predictions(
    predictions: Any,
    references: Any,
    suite: Any,
    neutral_band: tuple[float, float],
    classes: Sequence[str] | None,
    label_map: Mapping[str, str] | None,
) -> Outcomes:
    cases = _referred(references, suite)
    labels, rule = labels_of_predictions(
        predictions,
        len(cases.cases),
        neutral_band=neutral_band,
        classes=classes,
        label_map=label_map,
    )
    return Outcomes(
        model="predictions",
        revision="",
        weights_sha256="",
        label_rule=rule,
        suite=cases,
        labels=labels,
        failed=failed_cases(cases.cases, labels),
        label_map=label_map,
        neutral_band=neutral_band,
    )


def _referred(references: Any, suite: Any) -> SuiteCases:
    mend = (
        'pass rows, references=suite["LC4"]["test"], or their ids with suite=, '
        'references=rows["id"]'
    )
    if references is None:
        raise ScoringError("predictions without references", mend=mend)
    if isinstance(references, (str, bytes)) or not isinstance(references, Iterable):
        raise ScoringError(f"references={shown(references)}: no rows", mend=mend)
    if isinstance(references, (Mapping, SuiteCases)):
        cases = load_cases(references)
    else:
        rows = list(references)
        ids = bool(rows) and isinstance(rows[0], str)
        for number, row in enumerate(rows):
            if not isinstance(row, str if ids else Mapping):
                raise ScoringError(
                    f"references[{number}] is {shown(row)}, no {'id' if ids else 'row'} of a suite",
                    mend=mend,
                )
        cases = _by_id(rows, suite) if ids else load_cases(rows)
    if not cases.cases:
        raise ScoringError("there are no references", mend=mend)
    return cases


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
    if len(set(ids)) < len(ids):
        twice = next(number for place, number in enumerate(ids) if number in ids[:place])
        raise ScoringError(
            f"references name case {twice} twice", mend="pass each case and its prediction once"
        )
    return SuiteCases(
        known.name,
        known.version,
        known.fingerprint,
        tuple(of_id[number] for number in ids),
        partial=known.partial or len(set(ids)) < len(of_id),
    )
