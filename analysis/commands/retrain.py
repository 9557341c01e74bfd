"""What a model learns from capabilities, and what it forgets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from s2lct.errors import AnalysisError, CorpusError, S2lctWarning, SuiteError
from s2lct.options import RUNNING, Argument, Count, ModelClasses, OnDevice, Option, Positive, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.retrain.records import Matrix
    from s2lct.builder.corpus.collect import Corpus

ALL, EACH, NONE = "all", "each", "none"
DATA, TRAINING = "Data", "Training"


class RetrainOptions(ModelClasses, OnDevice):
    """Options of `retrain`."""

    model: Annotated[
        str,
        Argument(
            "embedded-2class, embedded-3class, or the folder or Hub id (ID@REVISION pins one) of "
            "a sequence classifier."
        ),
    ]
    on: Annotated[
        tuple[str, ...],
        Option(
            "Capability to train on; again for several together; all for all together; each for "
            "one model a capability and the matrix of them."
        ),
    ]
    suite: Annotated[str, Option("Folder of a built suite, or Hub id\\[@REVISION].")]
    out: Annotated[Path, Option("Folder for models and figures.", path="folder")]
    seeds: Annotated[
        Count,
        Option("Trainings on different splits; with 10, every family is held out once.", TRAINING),
    ] = 1
    mix: Annotated[
        float,
        Field(ge=0, le=1),
        Option("Share of the corpus's own training data mixed in.", DATA),
    ] = 0.0
    corpus: Annotated[
        str | None,
        Option(
            "The source corpus, as for `s2lct build`; by default what the suite was built from; "
            "none: do without.",
            DATA,
        ),
    ] = None
    epochs: Annotated[Positive, Option("Times that every case is seen.", TRAINING)] = 1.0
    lr: Annotated[Positive, Option("Learning rate at the start.", TRAINING)] = 2e-5
    batch_size: Annotated[Count, Option("Cases a step.", TRAINING)] = 16
    keep_models: Annotated[
        bool | None,
        Option("Save the trained models. By default they are, but not with --on each.", RUNNING),
    ] = None


@dataclass(frozen=True)
class Retrained:
    """Failure rates before and after, a row a training; files with them; the first model kept."""

    matrix: Matrix
    files: tuple[Path, ...]
    model: Path | None


@takes(RetrainOptions)
def retrain(options: RetrainOptions, bars: Bars) -> Retrained:
    """Fine-tune on capabilities: what is learned, what forgotten."""
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.analysis.retrain.records import Matrix, Row, TrainOptions, row_of
    from s2lct.analysis.retrain.report import write_matrix
    from s2lct.analysis.retrain.train import MODEL_FOLDER, Retrainer
    from s2lct.analysis.suite_rows import load_rows, select_rows
    from s2lct.extras import require
    from s2lct.files import check_folder_out
    from s2lct.labels import check_label_map

    require("accelerate", "matplotlib")
    label_map = check_label_map(options.label_map)
    check_folder_out(options.out, "--out")
    rows = load_rows(options.suite)
    trainings = _trainings(options.on, rows.capabilities)
    select_rows(rows, [name for names in trainings.values() for name in names])
    source = _corpus(options.corpus, options.suite)
    model = load_model(options.model, device=options.device)
    judge = Judge(model, label_map=label_map, neutral_band=options.neutral_band)
    settings = TrainOptions(
        epochs=options.epochs, lr=options.lr, batch_size=options.batch_size, mix=options.mix
    )
    bar = bars("retraining", len(trainings) * options.seeds)
    keep_models = EACH not in options.on if options.keep_models is None else options.keep_models
    retrainer = Retrainer(
        judge,
        rows,
        source,
        options.out,
        settings,
        keep_models=keep_models,
        tell=lambda line: bar(0, line),
    )
    results: list[Row] = []
    for name, names in trainings.items():
        runs = []
        try:
            for seed in range(options.seeds):
                runs.append(retrainer.run(name, names, seed))
                bar(1)
        except AnalysisError as error:
            if len(trainings) == 1:
                raise
            warnings.warn(f"{name}: {error.problem}", S2lctWarning, stacklevel=2)
            results.append(Row(name=name, trained_on=names, problem=error.problem))
        else:
            results.append(row_of(name, runs))
    matrix = Matrix(
        model=model.name,
        model_fingerprint=model.fingerprint,
        label_rule=str(judge),
        suite=rows.name,
        suite_fingerprint=rows.fingerprint,
        corpus=source.name if source is not None else "",
        options=settings,
        seeds=tuple(range(options.seeds)),
        capabilities=rows.capabilities,
        rows=tuple(results),
    )
    files = tuple(write_matrix(matrix, options.out))
    first = next((row.name for row in results if not row.problem), None)
    kept = first is not None and keep_models
    return Retrained(
        matrix, files, retrainer.folder_of(str(first), 0) / MODEL_FOLDER if kept else None
    )


def _trainings(on: tuple[str, ...], capabilities: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The name of each training and the capabilities it is on."""
    from s2lct.suite.capability_ids import spelled

    if {ALL, EACH} & set(on) and len(on) > 1:
        raise AnalysisError(
            f"--on {' --on '.join(on)}", hint=f"give {ALL} or {EACH} alone, or capabilities"
        )
    if EACH in on:
        return {name: (name,) for name in capabilities}
    if ALL in on:
        return {ALL: capabilities}
    names = spelled(on, capabilities)
    return {"+".join(names): names}


def _corpus(named: str | None, suite: str) -> Corpus | None:
    """The corpus that is named, or else what a suite's folder says that it was built from."""
    from s2lct.builder.corpus.read import read_again, read_corpus
    from s2lct.suite.read import read_description

    if named is not None:
        return None if named == NONE else read_corpus(named)
    try:
        built = read_description(Path(suite))["options"]
    except SuiteError:
        built = {}
    if not built.get("corpus"):
        raise AnalysisError(
            f"--suite {suite}: does not say what corpus it was built from",
            hint="name it with --corpus, or --corpus none to do without",
        )
    try:
        return read_again(built)
    except CorpusError as error:
        raise AnalysisError(
            f"--suite {suite}: its corpus cannot be read: {error.problem}",
            hint="say where it is with --corpus, or --corpus none to do without",
        ) from error
