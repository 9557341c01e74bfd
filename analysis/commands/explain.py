"""Which words hold a model's failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from s2lct.command import Capabilities, Count, Device, LabelMap, RandomSeed, Share, command
from s2lct.errors import AnalysisError

if TYPE_CHECKING:
    from s2lct.analysis.explain.report import ExplanationFile

WHICH, HOW = "Which failures", "How"


@command
def explain(
    model: Annotated[
        str,
        typer.Argument(
            help="vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
            "(ID@REVISION pins one)."
        ),
    ],
    *,
    suite: Annotated[str, typer.Option(help=r"Folder of a built suite, or Hub id\[@REVISION].")],
    out: Annotated[Path, typer.Option(dir_okay=False, help="JSON file to write.")] = Path(
        "explain.json"
    ),
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write them as an HTML page too.")
    ] = None,
    capability: Capabilities = [],  # noqa: B006
    pass_to_fail: Annotated[
        bool,
        typer.Option(
            "--pass-to-fail",
            help="Failing expansions beside their passing seeds.",
            rich_help_panel=WHICH,
        ),
    ] = False,
    limit: Annotated[
        int,
        Field(ge=0),
        typer.Option(help="Most failures of a capability; 0 for all.", rich_help_panel=WHICH),
    ] = 5,
    mlm: Annotated[
        str,
        typer.Option(
            help="Masked language model that fills hidden words: embedded, a Hub id or a folder.",
            rich_help_panel=HOW,
        ),
    ] = "embedded",
    threshold: Annotated[
        Share,
        typer.Option(help="Share of fillings that must get the same answer.", rich_help_panel=HOW),
    ] = 0.9,
    samples: Annotated[
        Count, typer.Option(help="Fillings that a reported P rests on.", rich_help_panel=HOW)
    ] = 100,
    seed: Annotated[RandomSeed, typer.Option(help="Seed of all samples.")] = 0,
    label_map: LabelMap = None,
    device: Device = "auto",
) -> ExplanationFile:
    """Find the words that hold a model's failures."""
    from s2lct.analysis.explain.attribution import method_of
    from s2lct.analysis.explain.report import ExplanationFile, html_page
    from s2lct.analysis.explain.search import Options, chosen_rows
    from s2lct.analysis.explain.search import explain as explained
    from s2lct.analysis.explain.words import MaskedLMFiller
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.files import check_files_out, write_text
    from s2lct.labels import check_label_map
    from s2lct.suite.cases import load_cases

    meanings = check_label_map(label_map)
    check_files_out(out=out, html=html)
    chosen = load_cases(suite).select(capability or None)
    judge = Judge(load_model(model, device=device), label_map=meanings)
    predicted = judge.labels([case.text for case in chosen.cases]).tolist()
    rows = chosen_rows(chosen.cases, predicted, pass_to_fail=pass_to_fail, limit=limit or None)
    if not rows:
        why = "no expansion turns a pass into a fail" if pass_to_fail else "it passes every case"
        raise AnalysisError(
            f"{model}: nothing to explain: {why}",
            hint="name other capabilities, or leave out --pass-to-fail",
        )
    options = Options(threshold=threshold, samples=samples, seed=seed)
    filler = MaskedLMFiller(mlm)
    file = ExplanationFile(
        suite=chosen.name,
        suite_fingerprint=chosen.fingerprint,
        model=judge.model.name,
        model_fingerprint=judge.model.fingerprint,
        label_rule=str(judge),
        fillings=filler.description,
        attribution=method_of(judge),
        options=options,
        explanations=tuple(explained(judge, rows, filler, options)),
    )
    write_text(out, file.json())
    if html is not None:
        write_text(html, html_page(file))
    return file
