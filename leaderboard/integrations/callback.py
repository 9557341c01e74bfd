"""Figures of a suite in the logs of a `transformers.Trainer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from s2lct.errors import ScoringError
from s2lct.labels import check_label_map
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.models.load import check_trainer_tokenizer
from s2lct.leaderboard.models.network import Network
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import SuiteCases, load_suite

PREFIX = "eval_s2lct/"
"""`transformers.Trainer` looks for ``metric_for_best_model`` among names that start with it."""


class CapabilityCallback(TrainerCallback):
    """Scores the model on a suite at every evaluation, and logs its figures.

    They are ``eval_s2lct/failure_rate`` and, if the suite has contrasts,
    ``eval_s2lct/consistency``, both macro; the same of each capability, such as
    ``eval_s2lct/LC4/consistency``; and ``eval_s2lct/micro/failure_rate`` and
    ``eval_s2lct/micro/consistency``. They join the evaluation's own figures, so that
    ``metric_for_best_model="eval_s2lct/consistency", greater_is_better=True`` works.
    Callbacks that read them, such as `EarlyStoppingCallback`, have to be added after this one.
    """

    def __init__(
        self,
        suite: str | Path | SuiteCases | Any,
        *,
        capabilities: str | Sequence[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
        label_map: Mapping[Any, Any] | None = None,
    ) -> None:
        self.label_map = check_label_map(label_map)
        self.suite = load_suite(suite, capabilities=capabilities, kind=kind, limit=limit)
        self.trainer: Any = None

    def attach(self, trainer: Any) -> CapabilityCallback:
        """Add itself to a trainer, so that the trainer's own loggers get the figures too.

        If it is passed as ``callbacks=[…]`` instead, they are in ``trainer.state.log_history``.
        """
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuse, before time goes into training, what would fail or keep the worst model."""
        network = Network(check_trainer_tokenizer(kwargs.get("processing_class")), kwargs["model"])
        rule_for(network.classes, label_map=self.label_map)
        best = f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"
        more_is_better = best.endswith("consistency")
        if best.startswith(PREFIX) and bool(args.greater_is_better) != more_is_better:
            raise ScoringError(
                f"metric_for_best_model={best} with greater_is_better={args.greater_is_better} "
                "would keep the model that does worst",
                hint=f"pass TrainingArguments(..., greater_is_better={more_is_better})",
            )

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Score, and log."""
        network = Network(check_trainer_tokenizer(kwargs.get("processing_class")), kwargs["model"])
        network.weights_sha256 = ""  # hashing them at every evaluation would take long
        figures = score(network, self.suite, label_map=self.label_map).figures
        rate, share = figures.overall.failure_rate, figures.overall.consistency
        logged = {f"{PREFIX}failure_rate": rate.macro, f"{PREFIX}micro/failure_rate": rate.micro}
        if share:
            logged[f"{PREFIX}consistency"] = share.macro
            logged[f"{PREFIX}micro/consistency"] = share.micro
        for name, capability in figures.capabilities.items():
            logged[f"{PREFIX}{name}/failure_rate"] = capability.all.failure_rate
            if capability.consistency:
                logged[f"{PREFIX}{name}/consistency"] = capability.consistency.share
        if kwargs.get("metrics") is not None:
            kwargs["metrics"].update(logged)
        if self.trainer is not None:
            self.trainer.log(logged)
        else:
            state.log_history.append(logged | {"step": state.global_step})
