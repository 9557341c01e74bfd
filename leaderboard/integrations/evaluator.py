"""`evaluate`'s own evaluator and evaluation suite, with the S²LCT metric.

As soon as `evaluate` 0.4.6 is handed a pipeline or a function, it asks transformers for
TFPreTrainedModel, which transformers 5 no longer has. Here pipelines are prepared without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evaluate import EvaluationModule, EvaluationSuite, TextClassificationEvaluator
from evaluate.evaluation_suite import SubTask
from transformers import Pipeline, PreTrainedModel, pipeline

from s2lct.errors import ScoringError, SuiteError
from s2lct.files import is_folder
from s2lct.hub_calls import hub_call, said_by
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.predictions import listed
from s2lct.leaderboard.models.classifier import Classifier, Function
from s2lct.leaderboard.models.load import CLASSIFICATION as TASK
from s2lct.leaderboard.models.load import as_classifier, load_classifier
from s2lct.leaderboard.scoring.ask import probabilities_of
from s2lct.suite.capability_ids import natural_order, spelled
from s2lct.suite.cases import read_hub
from s2lct.suite.read import load_suite
from s2lct.suite.tables import ALL, SPLIT

if TYPE_CHECKING:
    from datasets import Dataset

Predictor = str | PreTrainedModel | Pipeline | Callable[[list[str]], Any]


class CapabilityEvaluator(TextClassificationEvaluator):  # type: ignore[misc]
    """Scores a pipeline, a model or a function on rows of a suite.

    ``CapabilityEvaluator().compute(pipeline, data=rows)`` gives what the metric gives, and how long
    the model took. `data` is a `datasets.Dataset` with a suite's rows, a folder that `s2lct build`
    wrote, or a data set's name (then ``subset`` is a capability, and None all of them).
    """

    def __init__(
        self,
        *,
        flat: bool = False,
        classes: Sequence[str] | None = None,
        neutral_band: tuple[float, float] = rules.NEUTRAL_BAND,
    ) -> None:
        super().__init__(TASK, default_metric_name="s2lct")
        self.classes = None if classes is None else rules.check_classes(classes)
        self.METRIC_KWARGS = {"flat": flat, "neutral_band": rules.checked_band(neutral_band)}

    def load_data(
        self, data: str | Path | Dataset, subset: str | None = None, split: str | None = None
    ) -> Dataset:
        """Rows of a suite."""
        return rows_of(data, subset, split or SPLIT) if isinstance(data, (str, Path)) else data

    def prepare_data(
        self, data: Dataset, input_column: str, second_input_column: str | None, label_column: str
    ) -> tuple[dict[str, Any], list[str]]:
        """The rows as references, and their texts."""
        self.check_required_columns(data, {"input_column": input_column})
        return {"references": list(data)}, list(data[input_column])

    def prepare_pipeline(
        self,
        model_or_pipeline: Predictor,
        tokenizer: Any = None,
        feature_extractor: Any = None,
        device: int | None = None,
    ) -> Classifier | Function:
        """What answers for a list of texts, else a ScoringError.

        A pipeline, a function from texts to labels or probabilities, a model, or a model's name or
        folder, such as ``vader``. ``device`` is -1 for the CPU, a GPU's number, or None for a GPU
        if there is one.
        """
        if isinstance(model_or_pipeline, str) and tokenizer is None:
            place = "auto" if device is None else "cpu" if device < 0 else f"cuda:{device}"
            return load_classifier(model_or_pipeline, device=place)
        if not isinstance(model_or_pipeline, (str, PreTrainedModel)):
            return as_classifier(model_or_pipeline, tokenizer=tokenizer)
        try:
            with hub_call():
                loaded = pipeline(
                    TASK,
                    model=model_or_pipeline,
                    tokenizer=tokenizer,
                    trust_remote_code=False,
                    device=self._infer_device() if device is None else device,
                )
            return as_classifier(loaded)
        except (OSError, ValueError) as error:
            named = model_or_pipeline if isinstance(model_or_pipeline, str) else "the model"
            raise ScoringError(
                f"{named}: cannot be loaded ({said_by(error)})",
                hint="check the name; with a model in memory pass tokenizer= too",
            ) from error

    def prepare_metric(self, metric: str | EvaluationModule | None) -> EvaluationModule:
        """The metric; None for this package's own."""
        if metric is None:
            from s2lct.leaderboard.integrations.evaluate_metric import S2lct

            return S2lct()
        return super().prepare_metric(metric)

    def call_pipeline(
        self, pipe: Classifier | Function, texts: list[str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is said of the texts, with the model's classes, and how long it took."""
        rules.same_classes(pipe.classes, self.classes)
        start = perf_counter()
        if isinstance(pipe, Function):
            said = listed(pipe.predict(texts))
        else:
            said = probabilities_of(pipe, texts).tolist()
        took = self._compute_time_perf(start, perf_counter(), len(said))
        classes = self.classes if pipe.classes is None else pipe.classes
        return {"predictions": said, "classes": classes}, took

    def predictions_processor(
        self, predictions: dict[str, Any], label_mapping: Mapping[Any, Any] | None
    ) -> dict[str, Any]:
        """What `call_pipeline` gave, with what the classes mean, for the metric."""
        return predictions | {"label_map": label_mapping}

    def compute_metric(
        self,
        metric: EvaluationModule,
        metric_inputs: dict[str, Any],
        strategy: str = "simple",
        **_: Any,
    ) -> dict[str, Any]:
        """The metric's figures; not by ``strategy="bootstrap"``, which tears families apart."""
        if strategy != "simple":
            raise ScoringError(
                f"strategy={strategy!r}: resamples cases, which are not independent",
                hint="leave it out: every rate has an interval (ci) from whole seed families",
            )
        figures: dict[str, Any] = super().compute_metric(metric, metric_inputs)
        return figures


class CapabilitySuite(EvaluationSuite):  # type: ignore[misc]
    """An evaluation suite with a task for each capability.

    ``CapabilitySuite("s2lct").run(pipeline)`` gives a dict a capability, ``task_name`` among its
    keys. A suite is rows, a folder that `s2lct build` wrote, or a data set's name.
    """

    def __init__(
        self, suite: str | Path | Dataset = "s2lct", capabilities: str | Sequence[str] | None = None
    ) -> None:
        named = isinstance(suite, (str, Path))
        super().__init__(str(suite) if named else "s2lct")
        rows = rows_of(suite) if isinstance(suite, (str, Path)) else suite
        column = list(rows["capability"])
        known = sorted(set(column), key=natural_order)
        asked = [capabilities] if isinstance(capabilities, str) else capabilities
        chosen = known if asked is None else spelled(asked, known)
        if unknown := [name for name in chosen if name not in known]:
            raise ScoringError(
                f"suite {self.name}: has no capability {', '.join(unknown)}",
                hint=f"choose among {', '.join(known)}",
            )
        if not chosen:
            problem = f"suite {self.name}: no capability is asked for"
            raise ScoringError(problem, hint="pass ids, or None for all")
        self.suite = []
        for name in chosen:
            own = rows.select([place for place, of in enumerate(column) if of == name])
            self.suite.append(SubTask(TASK, data=own, subset=name, args_for_task={}))

    def run(self, model_or_pipeline: Predictor, **options: Any) -> list[dict[str, Any]]:
        """Score a model, loaded once, on each capability.

        ``options`` are further arguments of `CapabilityEvaluator` and of its ``compute``.
        """
        self.assert_suite_nonempty()
        own = options.keys() & {"flat", "classes", "neutral_band"}
        judge = CapabilityEvaluator(**{name: options.pop(name) for name in own})
        prepared = judge.prepare_pipeline(
            model_or_pipeline, options.pop("tokenizer", None), device=options.pop("device", None)
        )
        return [
            judge.compute(prepared, data=task.data, **(task.args_for_task or {}), **options)
            | {"task_name": task.subset}
            for task in self.suite
        ]


def rows_of(suite: str | Path, capability: str | None = None, split: str = SPLIT) -> Dataset:
    """Rows of a suite in a folder, or of a data set, else a ScoringError."""
    config = capability or ALL
    if is_folder(Path(suite)):
        try:
            known = load_suite(Path(suite))
        except SuiteError as error:
            raise ScoringError(error.problem, hint=error.hint) from error
        rows = known[config].get(split) if config in known else None
    else:
        rows, _ = read_hub(str(suite), split)
        if capability is not None:
            places = [n for n, name in enumerate(rows["capability"]) if name == capability]
            rows = rows.select(places) if places else None
    if rows is None:
        raise ScoringError(
            f"suite {suite}: {config} cannot be loaded, it has no such capability or split",
            hint="name a capability of the suite, and no split",
        )
    return rows
