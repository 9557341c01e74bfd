"""The command ``explain``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from s2lct.cli.commands import INSIDE, band, examples, some_share, usable_seed

WHICH, HOW, CLASSES, RUNNING = "Which failures", "How", "What answers mean", "Running"


class Attribution(str, enum.Enum):
    """How contributions are told."""

    AUTO = "auto"
    GRADIENTS = "gradients"
    SHAP = "shap"
    OCCLUSION = "occlusion"


class Fill(str, enum.Enum):
    """What takes the place of hidden words."""

    MLM = "mlm"
    UNIFORM = "uniform"


def explain(
    model: Annotated[
        str,
        typer.Argument(
            help="vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
            "(ID@REVISION pins one)."
        ),
    ],
    suite: Annotated[str, typer.Option(help="Folder of a built suite, or Hub id\\[@REVISION].")],
    out: Annotated[Path, typer.Option(help="JSON file to write.", dir_okay=False)] = Path(
        "explain.json"
    ),
    html: Annotated[
        Path | None, typer.Option(help="Write them as an HTML page too.", dir_okay=False)
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="Only this capability; may be given again.", rich_help_panel=WHICH),
    ] = None,
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
        typer.Option(
            help="Most failures of a capability; 0 for all.", min=0, rich_help_panel=WHICH
        ),
    ] = 5,
    attribution: Annotated[
        Attribution,
        typer.Option(
            help="How contributions are told; auto: gradients, of black boxes shap.",
            rich_help_panel=HOW,
        ),
    ] = Attribution.AUTO,
    fill: Annotated[
        Fill,
        typer.Option(
            help="Hidden words: samples of --mlm, or any word of its vocabulary.",
            rich_help_panel=HOW,
        ),
    ] = Fill.MLM,
    mlm: Annotated[
        str,
        typer.Option(
            help="Masked language model: embedded, a Hub id or a folder.", rich_help_panel=HOW
        ),
    ] = "embedded",
    threshold: Annotated[
        float,
        typer.Option(
            help="Share of fillings that must get the same answer.",
            callback=some_share,
            rich_help_panel=HOW,
        ),
    ] = 0.9,
    samples: Annotated[
        int,
        typer.Option(help="Fillings that a reported P rests on.", min=1, rich_help_panel=HOW),
    ] = 100,
    search_samples: Annotated[
        int,
        typer.Option(
            help="Most fillings of a set of words in the search.", min=1, rich_help_panel=HOW
        ),
    ] = 50,
    label_map: Annotated[
        str | None,
        typer.Option(
            help="What the classes mean: LABEL_0=negative,LABEL_1=positive.",
            rich_help_panel=CLASSES,
        ),
    ] = None,
    neutral_band: Annotated[
        tuple[float, float],
        typer.Option(
            help="Binary models: p(positive) strictly between is neutral.",
            callback=band,
            show_default="1/3 2/3",
            rich_help_panel=CLASSES,
        ),
    ] = (1 / 3, 2 / 3),
    seed: Annotated[
        int,
        typer.Option(help="Seed of all samples.", callback=usable_seed, rich_help_panel=RUNNING),
    ] = 0,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)
    ] = "auto",
    cache: Annotated[
        bool,
        typer.Option(
            help="Keep explanations; an interrupted run goes on.", rich_help_panel=RUNNING
        ),
    ] = True,
) -> None:
    """Find the words that hold a model's failures."""
    from s2lct.analysis.explain.attribution import default_method
    from s2lct.analysis.explain.choose import chosen_rows
    from s2lct.analysis.explain.fillers import load_filler
    from s2lct.analysis.explain.records import ExplanationFile, Options, write_explanations
    from s2lct.analysis.explain.report import aggregate_table, write_html
    from s2lct.analysis.explain.search import explain as explain_rows
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.analysis.suite_rows import load_rows, select_rows
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of
    from s2lct.errors import AnalysisError
    from s2lct.files import check_files_out
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.progress import counted_progress

    with told_errors():
        mapping = label_map_of(label_map)
        check_files_out(out=out, html=html)
        chosen = select_rows(load_rows(suite), capability)
        judge = Judge(
            load_model(model, device=device),
            label_map=mapping,
            neutral_band=neutral_band,
        )
        with errors.status("scoring"):
            said = judge.labels([row.case.text for row in chosen.rows])
        rows = chosen_rows(
            chosen.rows, said.tolist(), pass_to_fail=pass_to_fail, limit=limit or None
        )
        if not rows:
            raise AnalysisError(
                f"{model}: nothing to explain: no expansion of these capabilities turns a pass "
                "into a fail"
                if pass_to_fail
                else f"{model}: nothing to explain: it passes every case",
                mend="ask for other capabilities"
                + (", or leave out --pass-to-fail" if pass_to_fail else ""),
            )
        options = Options(
            threshold=threshold,
            samples=samples,
            search_samples=search_samples,
            method=None if attribution is Attribution.AUTO else attribution.value,
            seed=seed,
        )
        filler = load_filler(fill.value, mlm)
        with counted_progress(errors) as progress:
            task = progress.add_task("explaining", total=len(rows))
            explanations = explain_rows(
                judge,
                rows,
                filler,
                options,
                keep=default_cache().parent / "explanations" if cache else None,
                advance=lambda done: progress.advance(task, done),
            )
        file = ExplanationFile(
            suite=chosen.name,
            suite_fingerprint=chosen.fingerprint,
            model=judge.model.name,
            model_fingerprint=judge.model.fingerprint,
            label_rule=str(judge),
            fillings=filler.description,
            attribution={
                "gradients": "integrated gradients",
                "shap": "Kernel SHAP",
                "occlusion": "occlusion",
            }[options.method or default_method(judge)],
            options=options,
            explanations=tuple(explanations),
        )
        write_explanations(file, out)
        console.print(aggregate_table(file))
        if html is not None:
            write_html(file, html)
            console.print(f"Page written to {html}")
        console.print(
            f"Written: {out}; beside results: s2lct report RESULT.json --explanations {out} "
            "--html report.html"
        )


def add_commands(app: typer.Typer) -> None:
    """Put the command into the ``s2lct`` command line."""
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples("s2lct explain vader --suite dist/s2lct --limit 8 --html explain.html"),
    )(explain)
