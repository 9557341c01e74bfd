"""A callback that logs a suite's figures during training with a `transformers.Trainer`."""

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
"""Prefix of logged figures; the Trainer's ``metric_for_best_model`` must begin with eval_."""


class CapabilityCallback(TrainerCallback):
    """Scores the model on a suite at every evaluation, and logs the figures.

    It logs the macro figures ``eval_s2lct/failure_rate`` and, if the suite has contrasts,
    ``eval_s2lct/consistency``; both for each capability, such as ``eval_s2lct/LC4/consistency``;
    and both as micro figures, ``eval_s2lct/micro/failure_rate`` and
    ``eval_s2lct/micro/consistency``. They are added to the evaluation's own metrics, so
    ``metric_for_best_model="eval_s2lct/consistency", greater_is_better=True`` works.
    Callbacks that read them, such as `EarlyStoppingCallback`, must be added after this one.
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
        """Add this callback to a trainer, so that the trainer's loggers get the figures too.

        If it is passed as ``callbacks=[…]`` instead, they are only in ``state.log_history``.
        """
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Check, before training, that scoring will work and the best model will be kept."""
        network = Network(check_trainer_tokenizer(kwargs.get("processing_class")), kwargs["model"])
        rule_for(network.classes, label_map=self.label_map)
        metric = f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"
        higher_is_better = metric.endswith("consistency")
        if metric.startswith(PREFIX) and bool(args.greater_is_better) != higher_is_better:
            raise ScoringError(
                f"metric_for_best_model={metric} with greater_is_better={args.greater_is_better} "
                "would keep the model that does worst",
                hint=f"pass TrainingArguments(..., greater_is_better={higher_is_better})",
            )

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Score the model, and log its figures."""
        network = Network(check_trainer_tokenizer(kwargs.get("processing_class")), kwargs["model"])
        network.weights_sha256 = ""  # hashing them at every evaluation would take long
        figures = score(network, self.suite, label_map=self.label_map).figures
        rate, share = figures.overall.failure_rate, figures.overall.consistency
        logs = {f"{PREFIX}failure_rate": rate.macro, f"{PREFIX}micro/failure_rate": rate.micro}
        if share:
            logs[f"{PREFIX}consistency"] = share.macro
            logs[f"{PREFIX}micro/consistency"] = share.micro
        for name, capability in figures.capabilities.items():
            logs[f"{PREFIX}{name}/failure_rate"] = capability.all.failure_rate
            if capability.consistency:
                logs[f"{PREFIX}{name}/consistency"] = capability.consistency.share
        if kwargs.get("metrics") is not None:
            kwargs["metrics"].update(logs)
        if self.trainer is not None:
            self.trainer.log(logs)
        else:
            state.log_history.append(logs | {"step": state.global_step})
