"""The suite as a metric of `evaluate`, which computes the figures of given predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from reprlib import repr as short_repr
from typing import Any

import datasets
import evaluate

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.predictions import as_list
from s2lct.leaderboard.models.model import Function
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import SuiteCases, load_suite, rows_in
from s2lct.suite.tables import KINDS

_DESCRIPTION = """
S²LCT tests what a sentiment model can do, one linguistic capability at a time (LC1 to LC11), on
seeds and their expansions, and gives its consistency (the share of cases answered right together
with their contrasts) and failure rate with an interval for each, both of all capabilities together
as a mean over them (macro) and as a share of all cases (micro), and how many expansions turned a
pass into a fail.
"""


def compute(
    *,
    predictions: Any,
    references: Any,
    suite: Any = None,
    classes: Sequence[str] | None = None,
    label_map: Mapping[Any, Any] | None = None,
    flat: bool = False,
) -> dict[str, Any]:
    """Consistency and failure rates of predictions; `s2lct.score` scores models.

    references= are rows of the suite, or their ids with suite= (a Hub id, a folder or rows). If
    there are contrasts among them, consistency is computed too.

    predictions= are label names, what a pipeline returns of all classes (top_k=None), numbers of
    classes, or probabilities by class name or in the classes' order, in 0 to 1 with the sum 1.
    Numbers and unnamed probabilities need the model's order, classes=model.config.id2label or a
    list of all classes: models differ in it. With two classes an uncertain answer is neutral.
    label_map= says what labels or classes mean, such as {"LABEL_0": "negative",
    "LABEL_1": "positive"}. flat=True gives figures names such as "LC4/expansion/failure_rate";
    without it they are nested.
    """
    cases = _cases_of(references, suite)
    if not any(case.kind in KINDS for case in cases.cases):
        raise ScoringError(
            "references name contrasts alone, which no failure rate counts",
            hint="pass seeds and expansions too",
        )
    model = Function(lambda _: predictions, "predictions", classes)
    figures = score(model, cases, label_map=label_map).figures
    return figures.flat() if flat else figures.nested()


def _cases_of(references: Any, suite: Any) -> SuiteCases:
    """The cases of the references (rows, or ids of a suite), in the order of the predictions."""
    hint = (
        'pass rows, references=suite["LC4"]["test"], or their ids with suite=, '
        'references=rows["id"]'
    )
    if isinstance(references, SuiteCases):
        suite, references = references, [case.id for case in references.with_contrasts]
    elif isinstance(references, Mapping):
        references = rows_in(references)
    is_text = isinstance(references, (str, bytes))
    rows = list(references) if isinstance(references, Iterable) and not is_text else []
    are_ids = bool(rows) and isinstance(rows[0], str)
    if not rows or not all(isinstance(row, str if are_ids else Mapping) for row in rows):
        raise ScoringError(f"references={short_repr(references)}: no rows of a suite", hint=hint)
    if are_ids and suite is None:
        raise ScoringError(
            "references are ids, and there is no suite to look them up in",
            hint="pass suite= too, or pass rows as references",
        )
    whole = load_suite(suite if are_ids else rows)
    ids = rows if are_ids else [row["id"] for row in rows]
    case_by_id = {case.id: case for case in whole.with_contrasts}
    if len(case_by_id.keys() & set(ids)) < len(ids):
        raise ScoringError(
            f"suite {whole.name} {whole.version}: references name cases that it does not have, or "
            "one twice",
            hint="pass the version of the suite that the predictions were made on "
            "(suite=ID@REVISION), and each case once",
        )
    cases = tuple(case_by_id[id] for id in ids)
    is_partial = whole.partial or len(cases) < len(case_by_id)
    return replace(whole, cases=cases, contrasts=(), partial=is_partial)


class S2lct(evaluate.Metric):  # type: ignore[misc]
    """The metric of `evaluate`.

    Added predictions are held in memory: files of evaluate's cache collide between processes, and
    its features allow only one type of predictions, labels or probabilities.
    """

    def _info(self) -> evaluate.MetricInfo:
        self._predictions: list[Any] = []
        self._references: list[Any] = []
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="see CITATION.cff",
            inputs_description=getdoc(compute) or "",
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            homepage="https://github.com/s2lct/s2lct",
        )

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one prediction, and the row or id of its case."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add predictions, and the rows or ids of their cases."""
        if kwargs or predictions is None or references is None:
            raise ScoringError(
                "add_batch() takes predictions= and references=, and nothing else",
                hint="pass classes=, label_map= and the like to compute()",
            )
        predictions, references = as_list(predictions), list(references)
        if len(predictions) != len(references):
            raise ScoringError(
                f"{len(predictions)} predictions for {len(references)} references",
                hint="give one prediction for each reference, in the same order",
            )
        self._predictions += predictions
        self._references += references

    def compute(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any]:
        """See the function `compute`; predictions that were added before are included."""
        if self._predictions:
            if predictions is not None or references is not None:
                self.add_batch(predictions=predictions, references=references)
            predictions, references = self._predictions, self._references
        result = compute(predictions=predictions, references=references, **options)
        self._predictions, self._references = [], []
        return result
