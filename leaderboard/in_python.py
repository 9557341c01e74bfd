"""What scripts import: ``from s2lct import score, load_suite``, without `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import ScoringError

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.scoring.figures import CapabilityFigures, OverallFigures
    from s2lct.leaderboard.scoring.score import Outcomes
    from s2lct.suite.cases import SuiteCases


@dataclass(frozen=True)
class ModelScore:
    """How a model does on a suite.

    ::

        scores.failure_rate
        scores.capabilities["LC4"].expansion.failure_rate
        scores.flat()["LC4/expansion/failure_rate"]

    Attributes:
        outcomes: what the model predicts of every case.
    """

    outcomes: Outcomes
    _selection: SelectionRecord | None = field(repr=False)

    def __repr__(self) -> str:
        suite = self.outcomes.suite
        part = ", a part of it" if suite.partial else ""
        return (
            f"<ModelScore of {self.outcomes.model.name} on {suite.name} {suite.version or '?'}"
            f"{part}: {100 * self.failure_rate:.1f} % of {self.overall.cases:,} cases fail>"
        )

    @property
    def overall(self) -> OverallFigures:
        """The mean of the capabilities' failure rates, with its interval and chance."""
        return self.outcomes.figures.overall

    @property
    def capabilities(self) -> dict[str, CapabilityFigures]:
        """Failure rates of each capability, on all its cases, seeds and expansions."""
        return self.outcomes.figures.capabilities

    @property
    def failure_rate(self) -> float:
        """The mean of the capabilities' failure rates, in [0, 1]."""
        return self.overall.failure_rate

    def flat(self) -> dict[str, float]:
        """Every figure under a name such as ``LC4/expansion/failure_rate``, as loggers take it."""
        return self.outcomes.figures.flat()

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
        cache: keep what named models predict, so that scoring again costs nothing.

    Raises:
        ScoringError: model or suite cannot be used as they are; it says which, and what to do.
    """
    from s2lct.leaderboard.models.load import as_classifier
    from s2lct.leaderboard.results.record import SelectionRecord
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
        cache=scoring.default_cache() if cache else None,
    )
    if name is not None:
        record = outcomes.model.model_copy(update={"name": name})
        outcomes = replace(outcomes, model=record)
    # A suite that was a part before says itself no more of how it was chosen.
    selection = None
    if not whole.partial:
        chosen = tuple(outcomes.figures.capabilities) if capabilities else None
        selection = SelectionRecord.model_validate(
            {"capabilities": chosen, "kind": kind, "limit": limit}
        )
    return ModelScore(outcomes, selection)


def load_suite(
    suite: str | Path | Any,
    *,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
) -> SuiteCases:
    """The cases of a suite, to look at and to score models on.

    Each of ``load_suite("s2lct").cases`` has ``text``, ``capability``, ``kind`` and ``passes``,
    the label ids that pass. For arguments see `score`; ``suite`` is a folder that `s2lct build`
    wrote, ``"s2lct"`` for the one that was installed, a Hub id (``ORG/s2lct@REVISION``), or rows as
    `datasets.load_dataset` gives them.

    Raises:
        ScoringError: there is no such suite or capability, or it is damaged.
    """
    from s2lct.suite.cases import load_cases

    return load_cases(suite).select(capabilities, kind, limit)
