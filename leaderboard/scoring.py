"""Score a model on a suite: the one engine behind the command line, the metric and the callback."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.leaderboard.cases import Case, SuiteCases
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.known_splits import GROUPS, comparisons_for, group_of, training_data_of
from s2lct.leaderboard.labels import (
    NEUTRAL_BAND,
    Array,
    LabelRule,
    Labels,
    labels_of_predictions,
    rule_for,
)
from s2lct.leaderboard.language_model import LabelPrompt
from s2lct.leaderboard.model_facts import licence_of, parameters_of
from s2lct.leaderboard.models import Classifier, Function
from s2lct.leaderboard.statistics import Failed, by_capability, flips, macro_average

Advance = Callable[[int], None]


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
    label_map: Mapping[str, str] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Outcomes:
    """Score a model.

    Args:
        model: what gives probabilities or labels.
        suite: the cases.
        label_map: what its classes mean, where it does not say.
        neutral_band: for models without a neutral class, see `labels.LabelRule`.
        cache: a file that keeps what models said; None keeps nothing.
        advance: told how many cases were done.

    Raises:
        ScoringError: the model's classes or outputs cannot be used.
    """
    asks: LabelPrompt | None = getattr(model, "asks", None)
    if isinstance(model, Function):
        said = model.predict([case.text for case in suite.cases])
        labels, rule_text = labels_of_predictions(said, len(suite.cases), neutral_band=neutral_band)
    else:
        rule = rule_for(
            model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
        )
        labels = rule.labels(probabilities_of(model, suite.cases, cache, advance))
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
    folder = os.environ.get("S2LCT_CACHE")
    return Path(folder or Path.home() / ".cache" / "s2lct") / "outcomes.sqlite"


def probabilities_of(
    model: Classifier,
    cases: Sequence[Case],
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Array:
    """Probabilities of each case, shape (cases, classes); equal texts are asked once.

    Args:
        model: what is asked.
        cases: the cases.
        cache: see `score`.
        advance: see `score`.

    Raises:
        ScoringError: the outputs cannot be used.
    """
    known: dict[str, Array] = {}
    wanted = list(dict.fromkeys(case.text for case in cases))
    id_of = {case.text: case.id for case in cases}
    with _opened(cache if model.fingerprint else None) as kept:
        if kept is not None:
            by_id = kept.read(model.fingerprint)
            known = {text: by_id[id_of[text]] for text in wanted if id_of[text] in by_id}
        missing = [text for text in wanted if text not in known]
        if advance and known:
            advance(len(known))
        for numbers, batch in model.probabilities(missing) if missing else ():
            if batch.shape != (len(numbers), len(model.classes)):
                raise ScoringError(
                    f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
                    f"{len(model.classes)} classes",
                    mend="give one row a text and one column a class",
                )
            if not np.isfinite(batch).all():
                raise ScoringError(
                    f"model {model.name}: its output is not a number (NaN or infinite)",
                    mend="check the model's weights; in half precision try --dtype float32",
                )
            said = {missing[n]: row for n, row in zip(numbers, batch, strict=True)}
            known |= said
            if kept is not None:
                kept.write(model.fingerprint, {id_of[text]: row for text, row in said.items()})
            if advance:
                advance(len(numbers))
    if not cases:
        return np.zeros((0, len(model.classes)))
    return np.stack([known[case.text] for case in cases])


class _Kept:
    """Probabilities by weights and case, in SQLite: several processes may write, batch by batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS outcomes "
            "(weights TEXT, case_id TEXT, probabilities BLOB, PRIMARY KEY (weights, case_id))"
        )
        connection.commit()

    def read(self, weights: str) -> dict[str, Array]:
        rows = self._connection.execute(
            "SELECT case_id, probabilities FROM outcomes WHERE weights = ?", (weights,)
        )
        return {case_id: np.frombuffer(blob, dtype="<f8") for case_id, blob in rows}

    def write(self, weights: str, probabilities: Mapping[str, Array]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)",
            [
                (weights, case_id, row.astype("<f8").tobytes())
                for case_id, row in probabilities.items()
            ],
        )
        self._connection.commit()


@contextmanager
def _opened(path: Path | None) -> Iterator[_Kept | None]:
    if path is None:
        yield None
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=60)
    except (OSError, sqlite3.Error) as error:
        raise ScoringError(
            f"cache {path}: cannot be opened ({error})",
            mend="set S2LCT_CACHE to a folder that can be written, or pass --no-cache",
        ) from error
    with closing(connection):
        try:
            yield _Kept(connection)
        except sqlite3.DatabaseError as error:
            raise ScoringError(
                f"cache {path}: is damaged ({error})", mend=f"delete {path}; it is made anew"
            ) from error


def figures(outcomes: Outcomes) -> dict[str, Any]:
    """The nested result: ``overall``, and for each capability seeds, expansions and flips.

    Rates are in [0, 1]; ``ci`` is a list of two bounds.
    """
    cases, failed = outcomes.cases, outcomes.failed
    overall = macro_average(cases, failed)
    result: dict[str, Any] = {
        "overall": {
            "failure_rate": overall.failure_rate,
            "ci": list(overall.ci),
            "cases": overall.cases,
        }
    }
    for name, of in by_capability(cases, failed).items():
        result[name] = {
            kind: {
                "cases": one.cases,
                "failures": one.failures,
                "failure_rate": one.failure_rate,
                "ci": list(one.ci),
            }
            for kind, one in (("seed", of.seed), ("expansion", of.expansion))
        } | {"pass_to_fail": of.pass_to_fail, "fail_to_pass": of.fail_to_pass}
    return result


def flattened(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested figures as ``LC4/expansion/failure_rate``; ``ci`` as ``ci_low`` and ``ci_high``."""
    flat: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}/")
        elif name == "ci":
            flat[f"{prefix}ci_low"], flat[f"{prefix}ci_high"] = value
        else:
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
