"""Which words hold a model's failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from s2lct.errors import AnalysisError
from s2lct.options import (
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    ModelClasses,
    OnDevice,
    Option,
    Seed,
    Share,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.explain.report import ExplanationFile

WHICH, HOW = "Which failures", "How"
METHODS = {"gradients": "integrated gradients", "shap": "Kernel SHAP", "occlusion": "occlusion"}
NOTHING = {
    False: ("it passes every case", "ask for other capabilities"),
    True: (
        "no expansion of these capabilities turns a pass into a fail",
        "ask for other capabilities, or leave out --pass-to-fail",
    ),
}


class ExplainOptions(ChosenCases, ModelClasses, OnDevice):
    """Options of `explain`."""

    model: Annotated[
        str,
        Argument(
            "vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
            "(ID@REVISION pins one)."
        ),
    ]
    suite: Annotated[str, Option("Folder of a built suite, or Hub id\\[@REVISION].")]
    out: Annotated[Path, Option("JSON file to write.", path="file")] = Path("explain.json")
    html: Annotated[Path | None, Option("Write them as an HTML page too.", path="file")] = None
    pass_to_fail: Annotated[
        bool, Option("Failing expansions beside their passing seeds.", WHICH)
    ] = False
    limit: Annotated[
        int, Field(ge=0), Option("Most failures of a capability; 0 for all.", WHICH)
    ] = 5
    attribution: Annotated[
        Literal["auto", "gradients", "shap", "occlusion"],
        Option("How contributions are told; auto: gradients, of black boxes shap.", HOW),
    ] = "auto"
    fill: Annotated[
        Literal["mlm", "uniform"],
        Option("Hidden words: samples of --mlm, or any word of its vocabulary.", HOW),
    ] = "mlm"
    mlm: Annotated[str, Option("Masked language model: embedded, a Hub id or a folder.", HOW)] = (
        "embedded"
    )
    threshold: Annotated[Share, Option("Share of fillings that must get the same answer.", HOW)] = (
        0.9
    )
    samples: Annotated[Count, Option("Fillings that a reported P rests on.", HOW)] = 100
    search_samples: Annotated[
        Count, Option("Most fillings of a set of words in the search.", HOW)
    ] = 50
    seed: Annotated[Seed, Option("Seed of all samples.", RUNNING)] = 0
    cache: Annotated[bool, Option("Keep explanations; an interrupted run goes on.", RUNNING)] = True


@takes(ExplainOptions)
def explain(options: ExplainOptions, bars: Bars) -> ExplanationFile:
    """Find the words that hold a model's failures."""
    from s2lct.analysis.explain.attribution import default_method
    from s2lct.analysis.explain.fillers import load_filler
    from s2lct.analysis.explain.report import (
        ExplanationFile,
        Options,
        html_page,
        write_explanations,
    )
    from s2lct.analysis.explain.search import chosen_rows
    from s2lct.analysis.explain.search import explain as explained
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.analysis.suite_rows import load_rows, select_rows
    from s2lct.files import check_files_out, write_text
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.scoring.score import default_cache

    label_map = check_label_map(options.label_map)
    check_files_out(out=options.out, html=options.html)
    chosen = select_rows(load_rows(options.suite), list(options.capability))
    judge = Judge(
        load_model(options.model, device=options.device),
        label_map=label_map,
        neutral_band=options.neutral_band,
    )
    rows = chosen_rows(
        chosen.rows,
        judge.labels([row.case.text for row in chosen.rows]).tolist(),
        pass_to_fail=options.pass_to_fail,
        limit=options.limit or None,
    )
    if not rows:
        why, hint = NOTHING[options.pass_to_fail]
        raise AnalysisError(f"{options.model}: nothing to explain: {why}", hint=hint)
    search = Options(
        **options.model_dump(include={"threshold", "samples", "search_samples", "seed"}),
        method=None if options.attribution == "auto" else options.attribution,
    )
    filler = load_filler(options.fill, options.mlm)
    explanations = explained(
        judge,
        rows,
        filler,
        search,
        keep=default_cache().parent / "explanations" if options.cache else None,
        advance=bars("explaining", len(rows)),
    )
    file = ExplanationFile(
        suite=chosen.name,
        suite_fingerprint=chosen.fingerprint,
        model=judge.model.name,
        model_fingerprint=judge.model.fingerprint,
        label_rule=str(judge),
        fillings=filler.description,
        attribution=METHODS[search.method or default_method(judge)],
        options=search,
        explanations=tuple(explanations),
    )
    write_explanations(file, options.out)
    if options.html is not None:
        write_text(options.html, html_page(file))
    return file
