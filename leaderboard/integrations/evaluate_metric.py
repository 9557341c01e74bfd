"""The suite as a metric of `evaluate`."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

import datasets
import evaluate

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.predictions import listed
from s2lct.leaderboard.integrations.metric import compute

_DESCRIPTION = """
S²LCT tests what a sentiment model can do, one linguistic capability at a time (LC1 to LC11), on
seeds and their expansions, and gives a failure rate with an interval for each, how many
expansions turned a pass into a fail, and how many seeds are answered right on both sides: their
counterpart, the same sentence with the opposite answer, too.
"""
_CITATION = """
@article{s2lct,
  title = {S²LCT: Specification- and Syntax-based Linguistic Capability Testing
           for Sentiment Analysis},
}
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
            inputs_description=getdoc(compute) or "",
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
            raise ScoringError(
                "add_batch() takes predictions= and references=, and nothing else",
                hint="pass classes=, label_map= and the like to compute()",
            )
        predictions, references = listed(predictions), list(references)
        if len(predictions) != len(references):
            raise ScoringError(
                f"{len(predictions)} predictions for {len(references)} references",
                hint="give one prediction a reference, in the same order",
            )
        self._predictions += predictions
        self._references += references

    def compute(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any]:
        """`metric.compute` of a model, or of what was added and is given here."""
        if self._predictions and options.get("model") is not None:
            raise ScoringError(
                f"model= was given, and {len(self._predictions)} predictions were added",
                hint="compute() the predictions first, or load the metric anew",
            )
        if self._predictions:
            if predictions is not None or references is not None:
                self.add_batch(predictions=predictions, references=references)
            predictions, references = self._predictions, self._references
        result = compute(predictions=predictions, references=references, **options)
        self._predictions, self._references = [], []
        return result
