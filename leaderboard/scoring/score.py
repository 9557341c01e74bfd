"""Score a model on a suite: the one engine behind the command line, the metric and the callback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.cache import FILE
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND, LabelRule, Labels
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.models.classifier import Classifier, Function, facts_of
from s2lct.leaderboard.models.endpoint import EndpointModel, EndpointUse
from s2lct.leaderboard.models.language_model import LabelPrompt, TextModel
from s2lct.leaderboard.scoring import chance
from s2lct.leaderboard.scoring.ask import answers_of, probabilities_of, read_labels
from s2lct.leaderboard.scoring.both_sides import (
    BOTH_SIDES,
    BothSides,
    Pairs,
    both_sides,
    counted,
    pairs_of,
)
from s2lct.leaderboard.scoring.statistics import Failed, Rate, by_name, flips, model_figures
from s2lct.suite.cases import Case, SuiteCases

_MOST_FLIPPING = 10


@dataclass(frozen=True)
class Outcomes:
    """What a model said of each case: label ids, and whether they fail, both of shape (cases,).

    Ids beyond those of labels are of cases that it refused or answered in a way that cannot be
    read, see `text_answers`: they fail.

    ``weights_sha256`` is empty for a function; ``parameters`` (how many weights) and ``licence``
    are None if unknown; ``label_map`` and ``neutral_band`` are as `score` was given them; ``asks``
    is what a language model was asked; ``counterpart_labels`` are what it said of the suite's
    counterparts, shape (counterparts,), None where it was not asked them; ``endpoint`` is what an
    endpoint says of itself and took, ``predictions`` are file and sha256 of what a team gave
    instead of a model: None for a model that can be asked again. ``probabilities`` are those of the
    labels, of all that was asked, shape (asked, labels); None of a model that says labels alone.
    ``dtype``, ``device`` and ``batch_size`` are those of `ModelFacts`.
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
    counterpart_labels: Labels | None = None
    endpoint: EndpointUse | None = None
    predictions: Mapping[str, str] | None = None
    probabilities: rules.Array | None = field(default=None, repr=False)
    dtype: str = ""
    device: str = ""
    batch_size: str = ""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The suite's cases."""
        return self.suite.cases

    @property
    def counterparts(self) -> tuple[Case, ...]:
        """The counterparts that the model was asked."""
        return () if self.counterpart_labels is None else self.suite.counterparts

    @property
    def asked(self) -> tuple[Case, ...]:
        """All that the model was asked: the cases, and the counterparts behind them."""
        return (*self.cases, *self.counterparts)

    @property
    def said(self) -> Labels:
        """What it said of what it was `asked`, shape (asked,)."""
        more = () if self.counterpart_labels is None else self.counterpart_labels
        return np.concatenate([self.labels, np.array(more, dtype=self.labels.dtype)])

    def pairs(self) -> Pairs:
        """The seeds with a counterpart that it was asked."""
        seeds, others = pairs_of(self.cases, self.counterparts)
        wrong = failed_cases(self.asked, self.said)
        right = ~(wrong[seeds] | wrong[len(self.cases) + others])
        opposite = [self.counterparts[number] for number in others]
        return Pairs([self.cases[number] for number in seeds], opposite, right)

    def both_sides(self) -> BothSides | None:
        """The share of these pairs of which both pass; None where there is none."""
        pairs = self.pairs()
        return both_sides(pairs.seeds, pairs.right[None])[0]


def score(
    model: Classifier | Function | TextModel,
    suite: SuiteCases,
    *,
    label_map: Mapping[Any, Any] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
    cache: Path | None = None,
) -> Outcomes:
    """Score a model.

    ``label_map`` (see `labels.check_label_map`) and ``neutral_band`` (see `LabelRule`) say what its
    classes mean; predictions are kept in the file ``cache``. Contrasts are asked too, and taken out
    of the cases where they stand among these. Raises a ScoringError where the model's classes or
    outputs cannot be used, or a model that answers in words does not answer.
    """
    endpoint: EndpointUse | None = None
    probabilities: rules.Array | None = None
    asks: LabelPrompt | None = getattr(model, "asks", None)
    label_map, neutral_band = check_label_map(label_map), rules.checked_band(neutral_band)
    if not suite.cases:
        raise ScoringError(f"suite {suite.name}: has no case", hint="pass a suite with cases")
    texts = [case.text for case in suite.asked]
    if isinstance(model, Function):
        labels, label_rule = labels_of_predictions(
            model.predict(texts),
            len(texts),
            neutral_band=neutral_band,
            classes=model.classes,
            label_map=label_map,
        )
    elif isinstance(model, TextModel):
        if label_map is not None or neutral_band != NEUTRAL_BAND:
            raise ScoringError(
                f"model {model.name}: answers in words, which no label map and no neutral band is "
                "for",
                hint="leave them out: its label words say what its answers mean",
            )
        written, reused = answers_of(model, texts, cache)
        labels, label_rule = read_labels(model, texts, written), model.label_rule
        if isinstance(model, EndpointModel):
            endpoint = model.use(written.values(), reused)
    else:
        rule = rules.rule_for(
            model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
        )
        found = probabilities_of(model, texts, cache)
        labels, label_rule = rule.labels(found), rule_in_words(rule, asks)
        probabilities = rule.folded(found)
    if probabilities is not None:
        cases = counted(suite.asked)
        probabilities = np.concatenate([probabilities[cases], probabilities[~cases]])
    suite, labels, counterpart_labels = parted(suite, labels)
    return Outcomes(
        model=model.name,
        revision=model.revision,
        weights_sha256=getattr(model, "weights_sha256", model.fingerprint),
        label_rule=label_rule,
        suite=suite,
        labels=labels,
        failed=failed_cases(suite.cases, labels),
        label_map=label_map,
        neutral_band=neutral_band,
        asks=asks,
        counterpart_labels=counterpart_labels,
        endpoint=endpoint,
        probabilities=probabilities,
        **facts_of(model)._asdict(),
    )


def parted(suite: SuiteCases, labels: Labels) -> tuple[SuiteCases, Labels, Labels]:
    """A suite without counterparts among its cases, and what was said of cases and counterparts.

    ``labels`` are of all that the suite asks, shape (asked,), whatever their order.
    """
    rows, cases = suite.asked, counted(suite.asked)
    chosen, others = (
        tuple(rows[number] for number in np.flatnonzero(mask)) for mask in (cases, ~cases)
    )
    return replace(suite, cases=chosen, counterparts=others), labels[cases], labels[~cases]


def rule_in_words(rule: LabelRule, asks: LabelPrompt | None) -> str:
    """How answers became labels, as recorded with a result."""
    return f"{rule}; {asks}" if asks else str(rule)


def failed_cases(cases: Sequence[Case], labels: npt.NDArray[np.integer[Any]]) -> Failed:
    """Which cases' labels are none of those that pass, shape (cases,)."""
    pairs = zip(cases, labels.tolist(), strict=True)
    return np.array([label not in case.passes for case, label in pairs], dtype=bool)


def default_cache() -> Path:
    """Where outcomes are kept: ``$S2LCT_CACHE`` or ``~/.cache/s2lct``."""
    return cache_folder() / FILE


def figures(outcomes: Outcomes) -> dict[str, Any]:
    """The nested result: ``overall``, and for each capability its rates and flips.

    Rates are in [0, 1], on ``all`` cases, on each ``seed`` and each ``expansion``; ``ci`` is a
    list of two bounds. ``overall`` is the mean of the capabilities' rates on all cases, with the
    ``chance`` of failing that answering without reading has, and the mean ``chance_corrected``.
    What has counterparts has ``both_sides``, see `both_sides.Share`; elsewhere it is missing. What
    has cases without a label tells ``refusals`` and ``unreadable``, and the rate without them.
    """
    found = model_figures(outcomes.cases, outcomes.failed[None])[0]
    overall = found.overall
    _, least = chance.chance_of(chance.reference_means(chance.references(outcomes.cases)))
    result: dict[str, Any] = {
        "overall": {
            "failure_rate": overall.failure_rate,
            "ci": list(overall.ci),
            "cases": overall.cases,
            "chance": least,
            "chance_corrected": chance.chance_corrected(overall.failure_rate, least),
        }
    }
    for name, of in found.capabilities.items():
        result[name] = {
            kind: asdict(rate) | {"ci": list(rate.ci)}
            for kind, rate in (("all", of.all), ("seed", of.seed), ("expansion", of.expansion))
        } | {"pass_to_fail": of.pass_to_fail, "fail_to_pass": of.fail_to_pass}
    if (sides := outcomes.both_sides()) is not None:
        for name, share in {"overall": sides.overall, **sides.capabilities}.items():
            result[name][BOTH_SIDES] = asdict(share) | {"ci": list(share.ci)}
    for name, silence in silences(outcomes.cases, outcomes.labels).items():
        answered = silence.answered and asdict(silence.answered) | {"ci": list(silence.answered.ci)}
        counts = {"refusals": silence.refusals, "unreadable": silence.unreadable}
        result[name] |= counts | {"answered": answered}
    return result


@dataclass(frozen=True, slots=True)
class Silence:
    """How many cases got no label, and the failure rate of the others; None where all got none.

    ``refusals`` were refused, ``unreadable`` answered in a way that cannot be read.
    """

    refusals: int
    unreadable: int
    answered: Rate | None


def silences(cases: Sequence[Case], labels: npt.NDArray[np.integer[Any]]) -> dict[str, Silence]:
    """What got no label, of all cases below ``overall`` and of each capability that has some.

    The rate without these is of ``overall`` the mean of the capabilities that have others. Empty
    where every case got a label; ``labels`` are ids as of `Outcomes`, shape (cases,).
    """
    silent = (labels == REFUSED) | (labels == UNREADABLE)
    if not silent.any():
        return {}
    others = np.flatnonzero(~silent).tolist()
    answered = [cases[number] for number in others]
    found = model_figures(answered, failed_cases(answered, labels[others])[None])[0]
    counts = {"overall": list(range(len(cases)))} | by_name(cases)
    rates = {name: result.all for name, result in found.capabilities.items()}
    if answered:
        rates["overall"] = found.overall
    return {
        name: Silence(
            int((labels[numbers] == REFUSED).sum()),
            int((labels[numbers] == UNREADABLE).sum()),
            rates.get(name),
        )
        for name, numbers in counts.items()
        if silent[numbers].any()
    }


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


def flipping_words(outcomes: Outcomes) -> list[dict[str, Any]]:
    """The ten inserted words that most often turned a pass into a fail."""
    expansions = [case for case in outcomes.cases if case.kind == "expansion"]
    to_fail = [outcomes.cases[number] for number in flips(outcomes.cases, outcomes.failed)[0]]
    total = Counter(word for case in expansions for word in case.inserted)
    flipped = Counter(word for case in to_fail for word in case.inserted)
    ranked = sorted(flipped, key=lambda word: (-flipped[word], word))[:_MOST_FLIPPING]
    return [
        {"item": word, "pass_to_fail": flipped[word], "expansions": total[word]} for word in ranked
    ]
