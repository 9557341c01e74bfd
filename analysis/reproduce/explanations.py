"""RQ4 of the S²LCT paper: the smallest sets of words that hold a model's failures."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from s2lct.analysis.explain.attribution import method_of
from s2lct.analysis.explain.fillers import MaskedLMFiller
from s2lct.analysis.explain.report import Aggregate, Explanation, Options, aggregate
from s2lct.analysis.explain.search import chosen_rows, explain
from s2lct.analysis.judge import Judge, load_model
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import listed, needed_models, needed_suite
from s2lct.analysis.suite_rows import load_rows
from s2lct.labels import check_label_map

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

FAILURES = 5
"""Of a capability, where no limit is given: the paper gives no number."""
_SAID = TypeAdapter(list[int])
COLUMNS = (
    "model",
    "capability",
    "failures",
    "words kept",
    "words in all",
    "on the template",
    "on the sentence alone",
    "on nothing",
    "mean P",
    "words in most sets",
)


def table(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """The words that hold failures of each capability, model by model.

    Explanations are kept where `s2lct explain` keeps its own, so neither asks again what the other
    has asked.

    Raises:
        AnalysisError: models or a suite are missing.
        ScoringError: a model or the suite cannot be used.
    """
    models, suite = needed_models(options), load_rows(needed_suite(options))
    search = Options(seed=options.seed)
    filler = MaskedLMFiller("embedded")
    rows: list[list[Cell]] = []
    found: dict[str, list[Explanation]] = {}
    methods = []
    texts = [row.case.text for row in suite.rows]
    for number, model in enumerate(models):
        judge = Judge(
            load_model(model, device=options.device),
            label_map=check_label_map(options.label_map),
            neutral_band=options.neutral_band,
        )
        said = steps.kept(f"said-{number}", _SAID)
        if said is None:
            said = steps.keep(f"said-{number}", _SAID, judge.labels(texts).tolist())
        chosen = chosen_rows(
            suite.rows,
            said,
            limit=options.limit or FAILURES,
        )
        found[model] = explain(judge, chosen, filler, search)
        methods.append(method_of(judge))
        own = aggregate(found[model])
        rows += [_row(model, one, found[model]) for one in own]
    notes = [
        f"At most {options.limit or FAILURES} failures of a capability, of different seeds where "
        f"there are enough. Contributions: {listed(list(dict.fromkeys(methods)))}. Hidden words "
        f"are filled by {filler.description}. A set holds a failure where the model says the same "
        f"of at least {search.threshold:.0%} of the fillings; none of its words can be left out. "
        f"Mean P is of {search.samples} new fillings of each set. On nothing: the model says the "
        "same of the fully masked text.",
        "The paper gives the procedure and equation 5, and names neither the explanation method "
        "nor P_thresh nor the number of samples or sentences; its section of results is empty.",
    ]
    made = PaperTable(
        "RQ4 of S²LCT: the words that hold failures", COLUMNS, rows, notes, {"mean P": 2}
    )
    return Reproduction([made], _verdict(found, search))


def _row(model: str, one: Aggregate, explained: Sequence[Explanation]) -> list[Cell]:
    own = [each for each in explained if each.capability == one.capability and each.failed]
    words = ", ".join(f"{word.name} {word.held}/{word.cases}" for word in one.words[:5])
    template, *_ = one.kinds
    return [
        model,
        one.capability,
        one.failures,
        one.kept,
        one.words_in_all,
        template.held,
        one.source_alone,
        one.unprompted,
        fmean(each.probability for each in own),
        words,
    ]


def _verdict(found: dict[str, list[Explanation]], search: Options) -> str:
    """What was found, where the paper has no figure to set beside it."""
    told = []
    for model, explained in found.items():
        if not explained:
            told.append(f"{model} fails nothing")
            continue
        kept = fmean(len(one.kept) for one in explained)
        words = fmean(len(one.words) for one in explained)
        small = sum(one.ci[1] < search.threshold for one in explained)
        told.append(
            f"{kept:.1f} of {words:.1f} words hold a failure of {model} on average ({small} of "
            f"{len(explained)} sets are too small by new samples)"
        )
    return f"Cannot be compared: the paper prints no result. {'; '.join(told)}."
