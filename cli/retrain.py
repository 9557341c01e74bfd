"""The command ``retrain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.commands import INSIDE, above_zero, band, examples, finite

if TYPE_CHECKING:
    from s2lct.builder.corpus.read import Corpus

ALL, EACH, NONE = "all", "each", "none"
DATA, TRAINING, CLASSES, RUNNING = "Data", "Training", "What answers mean", "Running"


def retrain(
    model: Annotated[
        str,
        typer.Argument(
            help="embedded-2class, embedded-3class, or the folder or Hub id (ID@REVISION pins "
            "one) of a sequence classifier."
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            help="Capability to train on; again for several together; all for all together; each "
            "for one model a capability and the matrix of them."
        ),
    ],
    suite: Annotated[str, typer.Option(help="Folder of a built suite, or Hub id\\[@REVISION].")],
    out: Annotated[Path, typer.Option(help="Folder for models and figures.", file_okay=False)],
    seeds: Annotated[
        int,
        typer.Option(
            help="Trainings on different splits; with 10, every family is held out once.",
            min=1,
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    mix: Annotated[
        float,
        typer.Option(
            help="Share of the corpus's own training data mixed in.",
            min=0,
            max=1,
            callback=finite,
            rich_help_panel=DATA,
        ),
    ] = 0.0,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="The source corpus, as for `s2lct build`; by default what the suite was built "
            "from; none: do without.",
            rich_help_panel=DATA,
        ),
    ] = None,
    epochs: Annotated[
        float,
        typer.Option(
            help="Times that every case is seen.", callback=above_zero, rich_help_panel=TRAINING
        ),
    ] = 1.0,
    lr: Annotated[
        float,
        typer.Option(
            help="Learning rate at the start.", callback=above_zero, rich_help_panel=TRAINING
        ),
    ] = 2e-5,
    batch_size: Annotated[
        int, typer.Option(help="Cases a step.", min=1, rich_help_panel=TRAINING)
    ] = 16,
    keep_models: Annotated[
        bool | None,
        typer.Option(
            "--keep-models/--no-keep-models",
            help="Save the trained models. By default they are, but not with --on each.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
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
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)
    ] = "auto",
) -> None:
    """Fine-tune on capabilities: what is learned, what forgotten."""
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.analysis.retrain.changes import Matrix, Row, row_of
    from s2lct.analysis.retrain.report import forgotten_line, matrix_table, row_table, write_matrix
    from s2lct.analysis.retrain.runs import TrainOptions
    from s2lct.analysis.retrain.train import Retrainer
    from s2lct.analysis.suite_rows import load_rows, select_rows
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of
    from s2lct.errors import AnalysisError
    from s2lct.extras import require
    from s2lct.files import check_folder_out

    with told_errors():
        require("accelerate", "matplotlib")
        mapping = label_map_of(label_map)
        check_folder_out(out, "--out")
        rows = load_rows(suite)
        trainings = _trainings(on, rows.capabilities)
        select_rows(rows, [name for names in trainings.values() for name in names])
        source = _corpus(corpus, suite)
        judge = Judge(
            load_model(model, device=device),
            label_map=mapping,
            neutral_band=neutral_band,
        )
        options = TrainOptions(epochs=epochs, lr=lr, batch_size=batch_size, mix=mix)
        with errors.status("starting") as status:
            retrainer = Retrainer(
                judge,
                rows,
                source,
                out,
                options,
                keep_models=EACH not in on if keep_models is None else keep_models,
                tell=lambda line: status.update(line),
            )
            results: list[Row] = []
            for name, names in trainings.items():
                try:
                    runs = [retrainer.run(name, names, seed) for seed in range(seeds)]
                except AnalysisError as error:
                    if len(trainings) == 1:
                        raise
                    errors.print(f"{name}: {error.problem}")
                    results.append(Row(name=name, trained_on=names, problem=error.problem))
                else:
                    results.append(row_of(name, runs))
        matrix = Matrix(
            model=judge.model.name,
            model_fingerprint=judge.model.fingerprint,
            label_rule=str(judge),
            suite=rows.name,
            suite_fingerprint=rows.fingerprint,
            corpus=source.name if source is not None else "",
            options=options,
            seeds=tuple(range(seeds)),
            capabilities=rows.capabilities,
            rows=tuple(results),
        )
        written = write_matrix(matrix, out)
        if len(results) == 1:
            console.print(row_table(results[0]))
            console.print(forgotten_line(results[0]))
            if dropped := sum(results[0].dropped_neutral):
                console.print(f"Neutral cases dropped, as {model} has no neutral class: {dropped}")
        else:
            console.print(matrix_table(matrix))
        console.print(f"Written: {', '.join(map(str, written))}")
        if retrainer.keep_models:
            first = next(row for row in results if not row.problem)
            console.print(
                f"Score a model: s2lct score {retrainer.folder_of(first.name, 0) / 'model'} "
                f"--suite {suite}"
            )


def _trainings(on: list[str], capabilities: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The name of each training and the capabilities it is on."""
    from s2lct.errors import AnalysisError
    from s2lct.suite.capability_ids import spelled

    if {ALL, EACH} & set(on):
        if len(on) > 1:
            raise AnalysisError(
                f"--on {' --on '.join(on)}", mend=f"give {ALL} or {EACH} alone, or capabilities"
            )
        if on == [ALL]:
            return {ALL: capabilities}
        return {name: (name,) for name in capabilities}
    names = spelled(on, capabilities)
    return {"+".join(names): names}


def _corpus(named: str | None, suite: str) -> Corpus | None:
    from s2lct.analysis.retrain.train import corpus_of_suite
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.errors import AnalysisError, CorpusError

    if named == NONE:
        return None
    if named is not None:
        return read_corpus(named)
    told = corpus_of_suite(suite)
    if not told.get("corpus"):
        raise AnalysisError(
            f"--suite {suite}: does not say what corpus it was built from",
            mend="name it with --corpus, or --corpus none to do without",
        )
    try:
        return read_corpus(
            told["corpus"],
            text_column=told["text_column"],
            label_column=told["label_column"],
            label_map=told["label_map"],
        )
    except CorpusError as error:
        raise AnalysisError(
            f"--suite {suite}: its corpus cannot be read: {error.problem}",
            mend="say where it is with --corpus, or --corpus none to do without",
        ) from error


def add_commands(app: typer.Typer) -> None:
    """Put the command into the ``s2lct`` command line."""
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples(
            "s2lct retrain embedded-3class --on LC9 --suite dist/s2lct --out retrained/",
            "s2lct retrain embedded-3class --on each --mix 0.2 --suite dist/s2lct \\\n"
            "    --out mixed/",
        ),
    )(retrain)
