"""Failure rates in the logs of a `transformers.Trainer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from s2lct.leaderboard.cases import SuiteCases, load_cases
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.models import Network
from s2lct.leaderboard.scoring import figures, flattened, score


class CapabilityCallback(TrainerCallback):
    """Scores the model on a suite at every evaluation and logs its failure rates.

    Logged are ``s2lct/overall/failure_rate`` and, for each capability, the rates on seeds and
    expansions with their intervals, as `s2lct.leaderboard.scoring.flattened` names them. The
    figures join the evaluation's own, so that ``metric_for_best_model`` may name one.

    Args:
        suite: a folder, a Hub id or rows; see `s2lct.leaderboard.cases.load_cases`.
        capabilities: ids; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability, to keep evaluations short.
    """

    def __init__(
        self,
        suite: str | Path | SuiteCases | Any,
        *,
        capabilities: list[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> None:
        self.suite = load_cases(suite).select(capabilities, kind, limit)
        self.trainer: Any = None

    def attach(self, trainer: Any) -> CapabilityCallback:
        """Add itself to a trainer, so that the trainer's own loggers get the rates too.

        Passed as ``callbacks=[…]`` instead, the rates stand in ``trainer.state.log_history``.
        """
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Score, and log."""
        tokenizer = kwargs.get("processing_class")
        if tokenizer is None:
            raise ScoringError(
                "the Trainer has no tokenizer", mend="pass Trainer(..., processing_class=tokenizer)"
            )
        rates = flattened(figures(score(Network(tokenizer, kwargs["model"]), self.suite)))
        logged = {f"s2lct/{name}": value for name, value in rates.items()}
        if kwargs.get("metrics") is not None:
            kwargs["metrics"].update(logged)
        if self.trainer is not None:
            self.trainer.log(logged)
        else:
            state.log_history.append(logged | {"step": state.global_step})
