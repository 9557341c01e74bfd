"""Score a model on a suite: the one engine behind the command line, the metric and the callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.answers.label_rules import (
    NEUTRAL_BAND,
    LabelRule,
    Labels,
    checked_band,
    rule_for,
)
from s2lct.leaderboard.answers.prediction_labels import labels_of_predictions
from s2lct.leaderboard.models.classifier import Classifier, Function
from s2lct.leaderboard.models.facts import licence_of, parameters_of
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.scoring.ask import Advance, probabilities_of
from s2lct.leaderboard.scoring.chance import (
    chance_corrected,
    chance_of,
    reference_means,
    references,
)
from s2lct.leaderboard.scoring.statistics import Failed, flips, macro_average, model_figures
from s2lct.leaderboard.scoring.training_data import (
    GROUPS,
    comparisons_for,
    group_of,
    training_data_of,
)
from s2lct.suite.cases import Case, SuiteCases


@dataclass(frozen=True)
class Outcomes:
    """What a model said of each case.

    Attributes:
        model: its name.
        revision: its Hub commit or package version.
        weights_sha256: over its weights, see `models.weights_sha256`; empty for a function.
        label_rule: in words.
        suite: the cases, in order.
        labels: label ids, shape (cases,).
        failed: whether the label is none of those that pass, shape (cases,).
        parameters: the number of its weights; None if unknown.
        licence: as its card or package states it; None if unknown.
        label_map, neutral_band: as `score` was given them.
        asks: what a language model was asked; None for other models.
    """

    model: str
    revision: str
    weights_sha256: str
    label_rule: str
    suite: SuiteCases
    labels: Labels
    failed: Failed = field(repr=False)
    parameters: int | None = None
    licence: str | None = None
    label_map: Mapping[str, str] | None = None
    neutral_band: tuple[float, float] = NEUTRAL_BAND
    asks: LabelPrompt | None = None

    @property
    def cases(self) -> tuple[Case, ...]:
        """The suite's cases."""
        return self.suite.cases


def score(
    model: Classifier | Function,
    suite: SuiteCases,
    *,
    label_map: Mapping[Any, Any] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Outcomes:
    """Score a model.

    Args:
        model: what gives probabilities or labels.
        suite: the cases.
        label_map: what its classes mean, where it does not say; see `labels.check_label_map`.
        neutral_band: for models without a neutral class, see `labels.LabelRule`.
        cache: a file that keeps what models said; None keeps nothing.
        advance: told how many cases were done.

    Raises:
        ScoringError: the model's classes or outputs cannot be used.
    """
    asks: LabelPrompt | None = getattr(model, "asks", None)
    label_map, neutral_band = check_label_map(label_map), checked_band(neutral_band)
    if not suite.cases:
        raise ScoringError(f"suite {suite.name}: has no case", mend="pass a suite with cases")
    if isinstance(model, Function):
        said = model.predict([case.text for case in suite.cases])
        labels, rule_text = labels_of_predictions(
            said,
            len(suite.cases),
            neutral_band=neutral_band,
            classes=model.classes,
            label_map=label_map,
        )
    else:
        rule = rule_for(
            model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
        )
        labels = rule.labels(
            probabilities_of(model, [case.text for case in suite.cases], cache, advance)
        )
        rule_text = rule_in_words(rule, asks)
    return Outcomes(
        model=model.name,
        revision=model.revision,
        weights_sha256=getattr(model, "weights_sha256", model.fingerprint),
        label_rule=rule_text,
        suite=suite,
        labels=labels,
        failed=failed_cases(suite.cases, labels),
        parameters=parameters_of(model),
        licence=licence_of(model),
        label_map=label_map,
        neutral_band=neutral_band,
        asks=asks,
    )


def rule_in_words(rule: LabelRule, asks: LabelPrompt | None) -> str:
    """How answers became labels, as recorded with a result."""
    return f"{rule}; {asks}" if asks else str(rule)


def failed_cases(cases: Sequence[Case], labels: Labels) -> Failed:
    """Which cases' labels are none of those that pass, shape (cases,)."""
    return np.array(
        [int(label) not in case.passes for case, label in zip(cases, labels, strict=True)],
        dtype=bool,
    )


def default_cache() -> Path:
    """Where outcomes are kept: ``$S2LCT_CACHE`` or ``~/.cache/s2lct``."""
    return cache_folder() / "outcomes.sqlite"


def figures(outcomes: Outcomes) -> dict[str, Any]:
    """The nested result: ``overall``, and for each capability its rates and flips.

    Rates are in [0, 1], on ``all`` cases, on each ``seed`` and each ``expansion``; ``ci`` is a
    list of two bounds. ``overall`` is the mean of the capabilities' rates on all cases, with the
    ``chance`` of failing that answering without reading has, and the mean ``chance_corrected``.
    """
    found = model_figures(outcomes.cases, outcomes.failed[None])[0]
    _, chance = chance_of(reference_means(references(outcomes.cases)))
    result: dict[str, Any] = {
        "overall": {
            "failure_rate": found.overall.failure_rate,
            "ci": list(found.overall.ci),
            "cases": found.overall.cases,
            "chance": chance,
            "chance_corrected": chance_corrected(found.overall.failure_rate, chance),
        }
    }
    for name, of in found.capabilities.items():
        result[name] = {
            kind: asdict(one) | {"ci": list(one.ci)}
            for kind, one in (("all", of.all), ("seed", of.seed), ("expansion", of.expansion))
        } | {"pass_to_fail": of.pass_to_fail, "fail_to_pass": of.fail_to_pass}
    return result


def answers(outcomes: Outcomes) -> dict[Label, int]:
    """How often the model gave each label."""
    return {label: int((outcomes.labels == n).sum()) for n, label in enumerate(LABELS)}


def flattened(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested figures as ``LC4/expansion/failure_rate``; ``ci`` as ``ci_low`` and ``ci_high``.

    What there is no number for is left out.
    """
    flat: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}/")
        elif name == "ci":
            flat[f"{prefix}ci_low"], flat[f"{prefix}ci_high"] = value
        elif value is not None:
            flat[f"{prefix}{name}"] = value
    return flat


def seen_in_training(outcomes: Outcomes) -> dict[str, Any]:
    """Failure rates of cases made from training data, and of the rest.

    A model that does better on sentences it was trained on remembers them.

    Returns:
        ``known``: whether the model's own training data is known; and ``comparisons``, one for it
        or one for each known train split, see `known_splits.comparisons_for`. Each has the splits
        as ``training_data``, and for each group of `known_splits.group_of` the mean of the failure
        rates of the capabilities that have such cases, None where there are none.
    """
    splits = [case.splits for case in outcomes.cases]
    comparisons: list[dict[str, Any]] = []
    for training in comparisons_for(outcomes.model, splits):
        groups = np.array([group_of(one, training) for one in splits], dtype=object)
        comparison: dict[str, Any] = {"training_data": sorted(training)}
        for name in GROUPS:
            numbers = np.flatnonzero(groups == name)
            cases = [outcomes.cases[n] for n in numbers]
            one = macro_average(cases, outcomes.failed[numbers])
            comparison[name] = {
                "cases": len(cases),
                "capabilities": len({case.capability for case in cases}),
                "failures": one.failures,
                "failure_rate": one.failure_rate if cases else None,
                "ci": list(one.ci) if cases else None,
            }
        comparisons.append(comparison)
    return {
        "known": training_data_of(outcomes.model) is not None,
        "comparisons": comparisons,
    }


def flipping_words(outcomes: Outcomes, most: int = 10) -> list[tuple[str, int, int]]:
    """Inserted words by how often they turned a pass into a fail: word, flips, expansions."""
    return _flipping(outcomes, lambda case: case.inserted, most)


def flipping_productions(outcomes: Outcomes, most: int = 10) -> list[tuple[str, int, int]]:
    """Productions by how often their expansions turned a pass into a fail."""
    return _flipping(outcomes, lambda case: (case.production,), most)


def _flipping(
    outcomes: Outcomes, of: Callable[[Case], Sequence[str]], most: int
) -> list[tuple[str, int, int]]:
    flipped, total = dict[str, int](), dict[str, int]()
    to_fail = set(flips(outcomes.cases, outcomes.failed)[0])
    for number, case in enumerate(outcomes.cases):
        for item in of(case) if case.kind == "expansion" else ():
            total[item] = total.get(item, 0) + 1
            flipped[item] = flipped.get(item, 0) + (number in to_fail)
    ranked = sorted((item for item in total if flipped[item]), key=lambda i: (-flipped[i], i))
    return [(item, flipped[item], total[item]) for item in ranked[:most]]
