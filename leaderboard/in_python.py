"""What scripts import: ``from s2lct import score, load_suite``, without `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import ScoringError

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import (
        CapabilityRecord,
        OverallRecord,
        SelectionRecord,
        ShareRecord,
    )
    from s2lct.leaderboard.scoring.score import Outcomes
    from s2lct.suite.cases import SuiteCases


@dataclass(frozen=True, eq=False)
class ModelScore(Mapping[str, Any]):
    """How a model does on a suite: figures as attributes, and as the metric's nested dict.

    As a mapping it holds what ``evaluate``'s metric computes::

        scores.failure_rate
        scores.capabilities["LC4"].expansion.failure_rate
        scores["LC4"]["expansion"]["failure_rate"]
        scores.flat()["LC4/expansion/failure_rate"]

    Attributes:
        outcomes: what the model said of every case.
        overall: the mean of the capabilities' failure rates, with its interval and chance.
        capabilities: failure rates of each capability, on all its cases, seeds and expansions.
    """

    outcomes: Outcomes
    overall: OverallRecord
    capabilities: dict[str, CapabilityRecord]
    _figures: dict[str, Any] = field(repr=False)
    _selection: SelectionRecord | None = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        suite = self.outcomes.suite
        part = ", a part of it" if suite.partial else ""
        return (
            f"<ModelScore of {self.outcomes.model} on {suite.name} {suite.version or '?'}{part}: "
            f"{100 * self.failure_rate:.1f} % of {self.overall.cases:,} cases fail>"
        )

    @property
    def failure_rate(self) -> float:
        """The mean of the capabilities' failure rates, in [0, 1]."""
        return self.overall.failure_rate

    @property
    def both_sides(self) -> ShareRecord | None:
        """The share of seeds right on both sides; None where the suite has no contrasts."""
        return self.overall.both_sides

    def flat(self) -> dict[str, float]:
        """Every figure under a name such as ``LC4/expansion/failure_rate``, as loggers take it."""
        from s2lct.leaderboard.scoring.score import flattened

        return flattened(self._figures)

    def write(self, folder: str | Path = "results") -> Path:
        """Write a result file, whose path is returned, as `s2lct score` does.

        `s2lct report`, `compare` and `gate` read it. An `OutputError` is raised where nothing can
        be written.
        """
        from s2lct.leaderboard.results.write import write_result

        return write_result(self.outcomes, Path(folder), self._selection)


def score(
    model: Any,
    suite: str | Path | SuiteCases | Any,
    *,
    name: str | None = None,
    tokenizer: Any = None,
    classes: Sequence[str] | None = None,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
    label_map: Mapping[Any, Any] | None = None,
    neutral_band: tuple[float, float] | None = None,
    cache: bool = True,
) -> ModelScore:
    """Score a model on a suite: a failure rate for each capability.

    Args:
        model: a Hub id (``ID@REVISION`` pins one), a folder, ``vader``, ``textblob``, ``afinn``,
            ``embedded-2class``, ``embedded-3class``, a function from texts to labels or
            probabilities, a text-classification pipeline, a Trainer, a `LanguageModel`, a
            transformers model with ``tokenizer``, or the two as a pair.
        suite: what `load_suite` gives, or takes.
        name: what results call a model that has no name of its own.
        tokenizer: of a transformers model in memory.
        classes: the names of all classes of the model behind a function, in its order.
        capabilities: ids in any case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability; None for all.
        label_map: what classes mean, such as ``{"LABEL_0": "negative", "LABEL_1": "positive"}``.
        neutral_band: binary models say neutral where p(positive) is strictly between; None for a
            third and two thirds.
        cache: keep what named models say, so that scoring again costs nothing.

    Raises:
        ScoringError: model or suite cannot be used as they are; it says which, and what to do.
    """
    from dataclasses import replace

    from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND
    from s2lct.leaderboard.models.load import as_classifier
    from s2lct.leaderboard.results.record import CapabilityRecord, OverallRecord, SelectionRecord
    from s2lct.leaderboard.scoring import score as scoring
    from s2lct.suite.cases import load_cases

    if name is not None and isinstance(model, (str, Path)):
        raise ScoringError(
            f"name={name!r} of model {model}, which has one",
            hint="leave name= out; it is for functions and models in memory",
        )
    whole = load_cases(suite)
    outcomes = scoring.score(
        as_classifier(model, tokenizer=tokenizer, classes=classes),
        whole.select(capabilities, kind, limit),
        label_map=label_map,
        neutral_band=NEUTRAL_BAND if neutral_band is None else neutral_band,
        cache=scoring.default_cache() if cache else None,
    )
    outcomes = outcomes if name is None else replace(outcomes, model=name)
    figures = scoring.figures(outcomes)
    # A suite that was a part before says itself no more of how it was chosen.
    selection = None
    if not whole.partial:
        chosen = dict.fromkeys(case.capability for case in outcomes.cases)
        selection = SelectionRecord.model_validate(
            {"capabilities": tuple(chosen) if capabilities else None, "kind": kind, "limit": limit}
        )
    overall = OverallRecord.model_validate(figures["overall"])
    of_name = {
        name: CapabilityRecord.model_validate(of)
        for name, of in figures.items()
        if name != "overall"
    }
    return ModelScore(outcomes, overall, of_name, figures, selection)


def load_suite(
    suite: str | Path | Any,
    *,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
) -> SuiteCases:
    """The cases of a suite, to look at and to score models on.

    Each of ``load_suite("s2lct").cases`` has ``text``, ``capability``, ``kind`` and ``passes``,
    the label ids that pass.

    Args:
        suite: a folder that `s2lct build` wrote, ``"s2lct"`` for the one that was installed, a Hub
            id (``ORG/s2lct@REVISION``), or rows as `datasets.load_dataset` gives them.
        capabilities: ids in any case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability; None for all.

    Raises:
        ScoringError: there is no such suite or capability, or it is damaged.
    """
    from s2lct.suite.cases import load_cases

    return load_cases(suite).select(capabilities, kind, limit)
