"""S²LCT: failure rates of a sentiment model, one linguistic capability at a time."""

from typing import Any

import datasets
import evaluate

from s2lct.leaderboard.metric import compute

_DESCRIPTION = """
S²LCT tests what a sentiment model can do, one linguistic capability at a time (LC1 to LC11), on
seeds and their expansions, and gives a failure rate with an interval for each, and how many
expansions turned a pass into a fail.
"""
_CITATION = """
@article{s2lct,
  title = {S²LCT: Specification- and Syntax-based Linguistic Capability Testing
           for Sentiment Analysis},
}
"""
_INPUTS = """
Either model= (a Hub id, a folder, "vader", "textblob", "afinn", "embedded-2class",
"embedded-3class", a function from texts to labels or probabilities, a pipeline or a Trainer) with
suite= (a Hub id, a folder or rows) and capabilities=, kind=, limit=; or predictions= with
references= (rows of the suite, or their ids with suite=). flat=True names figures
"LC4/expansion/failure_rate".
"""


class S2lct(evaluate.Metric):  # type: ignore[misc]
    """The metric.

    What is added is kept in memory: evaluate's own cache collides between processes, and its
    features would not let predictions be labels or probabilities alike.
    """

    def _info(self) -> evaluate.MetricInfo:
        self._predictions: list[Any] = []
        self._references: list[Any] = []
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            homepage="https://github.com/s2lct/s2lct",
        )

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one prediction and the row it is for."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add predictions and the rows they are for."""
        if kwargs or predictions is None or references is None:
            raise ValueError("add_batch takes predictions= and references=, and nothing else")
        predictions, references = list(predictions), list(references)
        if len(predictions) != len(references):
            raise ValueError(
                f"{len(predictions)} predictions for {len(references)} references: give one each"
            )
        self._predictions += predictions
        self._references += references

    def compute(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any]:
        """Failure rates; what was added before counts where no predictions are given."""
        if predictions is None and options.get("model") is None:
            predictions, references = self._predictions or None, self._references
        result = compute(predictions=predictions, references=references, **options)
        self._predictions, self._references = [], []
        return result

    def _compute(self, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        return compute(predictions=predictions, references=references, **options)
