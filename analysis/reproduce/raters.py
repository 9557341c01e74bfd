"""Table 2 of the S²LCT paper: whether people agree with seeds and with expansions."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.study.agreement import (
    Agreement,
    Estimate,
    StudyResult,
    case_values,
    evaluate,
    mean_estimate,
)
from s2lct.analysis.study.form import QUESTIONS, Key, read_key
from s2lct.errors import AnalysisError
from s2lct.extras import require
from s2lct.suite.annotation import Annotation, Question, read_annotations

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

LEAST_CONSISTENCY = 0.8
"""What the paper says that label consistency is over."""
COLUMNS = (
    "cases",
    "number",
    "labels that differ",
    "label consistency",
    "from",
    "to",
    "relevancy",
    "from ",
    "to ",
)
DIGITS = dict.fromkeys(COLUMNS[3:], 2)
KINDS = {"seed": "seed", "expansion": "expanded", "all": "all"}
LESS = "expanded less seed"


def table2(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Label consistency and relevance of seeds and expansions, from a study's answers.

    Nothing is kept: it takes a moment.

    Raises:
        AnalysisError: the key or answers are missing, cannot be read, or hold no rating.
    """
    require("krippendorff")
    if options.key is None or not options.answers:
        raise AnalysisError(
            f"{options.name}: a study's key and its answers are needed",
            hint="pass --key study/key.json --answers FILE; `s2lct study export` writes the forms",
        )
    key = read_key(options.key)
    answers = read_annotations(options.answers, QUESTIONS, key.items)
    found = evaluate(answers, key, seed=options.seed)
    rows: list[list[Cell]] = [_row(KINDS[kind], of) for kind, of in found.kinds.items()]
    apart = {
        question.name: _expanded_less_seed(answers, key, question, options.seed)
        for question in QUESTIONS
    }
    rows.append([LESS, None, None, *_bounded(apart["sentiment"]), *_bounded(apart["relevance"])])
    notes = [
        f"{len(found.annotators)} raters, {found.kinds['all'].answers} ratings of sentiment; "
        f"α (Krippendorff's, ordinal) {_told(found.kinds['all'].alpha_sentiment)} for sentiment "
        f"and {_told(found.kinds['all'].alpha_relevance)} for relevance, which the paper does not "
        "report.",
        "Equations 1 and 2: the raters' ratings of a case are averaged, then the mean is a label "
        "(up to 2.6 negative, up to 3.4 neutral: where the paper cuts the corpus's scores) and a "
        "share ((rating − 1)/4). Equation 1 as printed counts the labels that differ; label "
        "consistency is the share that does not. Bounds are 95 % bootstrap intervals of families. "
        f"{LESS.capitalize()}: over seeds rated together with expansions.",
        "The paper's table is in none of its drafts. Its text says: label consistency over 0.8, "
        "relevancy high, and no difference between seeds and expansions in either.",
    ]
    title = "Table 2 of S²LCT: label consistency and relevancy, by raters"
    table = PaperTable(title, COLUMNS, rows, notes, DIGITS)
    parts = [_row(name, of) for name, of in found.capabilities.items()]
    by_capability = PaperTable("The same by capability", COLUMNS, parts, (), DIGITS)
    return Reproduction([table, by_capability], _verdict(found, apart))


def _row(name: str, found: Agreement) -> list[Cell]:
    consistency = found.label_consistency
    rated = found.rated
    differ = None if consistency.value is None else round((1 - consistency.value) * rated)
    return [name, found.cases, differ, *_bounded(consistency), *_bounded(found.relevance)]


def _bounded(estimate: Estimate) -> tuple[Cell, Cell, Cell]:
    low, high = estimate.ci or (None, None)
    return estimate.value, low, high


def _expanded_less_seed(
    annotations: Sequence[Annotation], key: Key, question: Question, seed: int
) -> Estimate:
    """The mean difference over the seeds that were annotated with expansions of theirs."""
    of_seed: dict[str, dict[str, list[float]]] = {}
    cluster_of: dict[str, int | str] = {}
    for name, value in case_values(annotations, question, key.items).items():
        item = key.items[name]
        of_seed.setdefault(item.seed_id, {}).setdefault(item.kind, []).append(value)
        cluster_of[item.seed_id] = item.cluster
    differences = [
        (cluster_of[seed_id], fmean(kinds["expansion"]) - fmean(kinds["seed"]))
        for seed_id, kinds in of_seed.items()
        if len(kinds) > 1
    ]
    return mean_estimate(differences, seed)


def _told(estimate: Estimate) -> str:
    return "not defined" if estimate.value is None else f"{estimate.value:.2f}"


def _verdict(found: StudyResult, apart: dict[str, Estimate]) -> str:
    """Whether label consistency is over 0.8, and seeds and expansions do not differ."""
    told = []
    shares = {kind: found.kinds[kind].label_consistency for kind in ("seed", "expansion")}
    for kind, share in shares.items():
        if share.value is None:
            told.append(f"Cannot be compared: no sentiment of a {KINDS[kind]} case was rated.")
            continue
        over = "over" if share.value > LEAST_CONSISTENCY else "not over"
        comes = "Comes back" if share.value > LEAST_CONSISTENCY else "Does not come back"
        told.append(f"{comes}: label consistency of {KINDS[kind]} cases is {over} 0.8.")
    for scale, name in (("sentiment", "label consistency"), ("relevance", "relevancy")):
        ci = apart[scale].ci
        if ci is None:
            told.append(f"Cannot be compared: {name} of seeds beside their expansions.")
        elif ci[0] <= 0 <= ci[1]:
            told.append(
                f"Comes back: no difference in {name} between seeds and expansions is seen "
                f"(interval {ci[0]:+.2f} to {ci[1]:+.2f})."
            )
        else:
            told.append(
                f"Does not come back: {name} of seeds and expansions differs "
                f"(interval {ci[0]:+.2f} to {ci[1]:+.2f})."
            )
    return " ".join(told)
