"""What a model learns from capabilities, and what it forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import Count, Device, LabelMap, Positive, command
from s2lct.errors import AnalysisError

if TYPE_CHECKING:
    from s2lct.analysis.retrain import Matrix

ALL, EACH = "all", "each"
DATA, TRAINING = "Data", "Training"


@dataclass(frozen=True)
class Retrained:
    """Failure rates before and after, a row a training; files with them; the first model kept."""

    matrix: Matrix
    files: tuple[Path, ...]
    model: Path | None


@command
def retrain(
    model: Annotated[
        str,
        typer.Argument(
            help="embedded-2class, embedded-3class, or the folder or Hub id (ID@REVISION pins "
            "one) of a sequence classifier."
        ),
    ],
    *,
    on: Annotated[
        list[str],
        typer.Option(
            help="Capability to train on; again for several together; all for all together; each "
            "for one model a capability and the matrix of them."
        ),
    ],
    suite: Annotated[str, typer.Option(help=r"Folder of a built suite, or Hub id\[@REVISION].")],
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for models and figures.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="The source corpus, as for `s2lct build`; by default what the suite was built "
            "from; none: do without.",
            rich_help_panel=DATA,
        ),
    ] = None,
    seeds: Annotated[
        Count,
        typer.Option(
            help="Trainings on different splits; with 10, every family is held out once.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    epochs: Annotated[
        Positive, typer.Option(help="Times that every case is seen.", rich_help_panel=TRAINING)
    ] = 1.0,
    lr: Annotated[
        Positive, typer.Option(help="Learning rate at the start.", rich_help_panel=TRAINING)
    ] = 2e-5,
    batch_size: Annotated[Count, typer.Option(help="Cases a step.", rich_help_panel=TRAINING)] = 16,
    label_map: LabelMap = None,
    device: Device = "auto",
) -> Retrained:
    """Fine-tune on capabilities: what is learned, what forgotten.

    Trained models are kept, but not with --on each.
    """
    from s2lct.analysis.corpus_parts import source_corpus
    from s2lct.analysis.judge import Judge, load_model
    from s2lct.analysis.retrain import Retrainer, html_page
    from s2lct.analysis.training import TrainOptions
    from s2lct.errors import require
    from s2lct.files import check_folder_out, write_text
    from s2lct.labels import check_label_map
    from s2lct.suite.cases import load_cases

    require("accelerate", "sklearn")
    meanings = check_label_map(label_map)
    check_folder_out(out, "--out")
    loaded = load_cases(suite)
    trainings = _trainings(on, loaded.capabilities)
    loaded.select([name for names in trainings.values() for name in names])
    source = source_corpus(suite, corpus)
    judge = Judge(load_model(model, device=device), label_map=meanings)
    options = TrainOptions(epochs, lr, batch_size)
    retrainer = Retrainer(judge, loaded, source, options, None if EACH in on else out)
    matrix = retrainer.matrix(trainings, seeds)
    contents = {out / "retrain.json": matrix.json(), out / "retrain.html": html_page(matrix)}
    for path, content in contents.items():
        write_text(path, content)
    name, trained_on = next(iter(trainings.items()))
    return Retrained(matrix, tuple(contents), retrainer.folder_of(name, trained_on, 0))


def _trainings(on: Sequence[str], capabilities: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
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
