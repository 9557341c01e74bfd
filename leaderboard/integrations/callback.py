"""Failure rates in the logs of a `transformers.Trainer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from s2lct.errors import ScoringError
from s2lct.labels import check_label_map
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.models.load import trainers_tokenizer
from s2lct.leaderboard.models.network import Network
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import SuiteCases, load_suite

PREFIX = "eval_s2lct/"
"""`transformers.Trainer` looks for ``metric_for_best_model`` among names that begin so."""


class CapabilityCallback(TrainerCallback):
    """Scores the model on a suite at every evaluation and logs how it does.

    Logged are, where the suite has contrasts, ``eval_s2lct/consistency``, the mean of the
    capabilities' (macro), and that of each that has some, ``eval_s2lct/LC4/consistency``; and
    ``eval_s2lct/failure_rate`` (macro), and one for each capability over seeds and expansions. The
    shares of all pairs and all cases are ``eval_s2lct/micro/consistency`` and
    ``eval_s2lct/micro/failure_rate``. They join the evaluation's own figures, so that
    ``metric_for_best_model="eval_s2lct/consistency", greater_is_better=True`` may name one. A
    callback that reads them, such as `EarlyStoppingCallback`, stands behind this one.
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
        """Add itself to a trainer, so that the trainer's own loggers get the rates too.

        Passed as ``callbacks=[…]`` instead, the rates stand in ``trainer.state.log_history``.
        """
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuse what would fail, or keep the worst model, once training is under way."""
        network = Network(trainers_tokenizer(kwargs.get("processing_class")), kwargs["model"])
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
        network = Network(trainers_tokenizer(kwargs.get("processing_class")), kwargs["model"])
        network.weights_sha256 = ""  # to hash them at every evaluation takes long
        outcomes = score(network, self.suite, label_map=self.label_map)
        found = outcomes.figures
        rate, share = found.overall.failure_rate, found.overall.consistency
        logged = {f"{PREFIX}failure_rate": rate.macro, f"{PREFIX}micro/failure_rate": rate.micro}
        if share:
            logged[f"{PREFIX}consistency"] = share.macro
            logged[f"{PREFIX}micro/consistency"] = share.micro
        for name, of in found.capabilities.items():
            logged[f"{PREFIX}{name}/failure_rate"] = of.all.failure_rate
            if of.consistency:
                logged[f"{PREFIX}{name}/consistency"] = of.consistency.share
        if kwargs.get("metrics") is not None:
            kwargs["metrics"].update(logged)
        if self.trainer is not None:
            self.trainer.log(logged)
        else:
            state.log_history.append(logged | {"step": state.global_step})
