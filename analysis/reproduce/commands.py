"""The tables and figures of the papers, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from s2lct.command import Device, LabelMap, RandomSeed, command

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.runner import PaperTable

Name = Literal[
    "s2lct-table2",
    "s2lct-table3",
    "s2lct-retraining",
    "s2lct-coverage",
    "s2lct-explanations",
    "s2lct-diversity",
    "mncover-table1",
    "mncover-figure4",
    "mncover-table3",
    "mncover-table4",
    "mncover-table5",
    "mncover-table6",
]
DATA, STUDY = "Data", "Annotations"
AtLeastTwo = Annotated[int, Field(ge=2)]


@command
def reproduce(
    name: Annotated[Name, typer.Argument(help=f"What to make again: {', '.join(Name.__args__)}.")],
    *,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the tables.")],
    model: Annotated[
        list[str],
        typer.Option(
            help="embedded-2class, embedded-3class, a folder, or a Hub id; may be given again."
        ),
    ] = [],  # noqa: B006
    suite: Annotated[
        str | None,
        typer.Option(help="S²LCT suite: folder of a built one, or Hub id.", rich_help_panel=DATA),
    ] = None,
    checklist: Annotated[
        list[Path],
        typer.Option(
            dir_okay=False,
            help="CheckList's cases as JSON lines; may be given again.",
            rich_help_panel=DATA,
        ),
    ] = [],  # noqa: B006
    reference: Annotated[
        str | None,
        typer.Option(
            help="Corpus the model was trained on, which sets ranges: sst:PATH, csv:PATH …",
            rich_help_panel=DATA,
        ),
    ] = None,
    reference_cases: Annotated[
        AtLeastTwo | None,
        typer.Option(help="Only so many random sentences of it.", rich_help_panel=DATA),
    ] = None,
    masks: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="What `s2lct masks` learned; learned anew without.",
            rich_help_panel=DATA,
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The study's key.json.", rich_help_panel=STUDY),
    ] = None,
    annotations: Annotated[
        list[Path],
        typer.Option(
            dir_okay=False, help="Filled-in forms; may be given again.", rich_help_panel=STUDY
        ),
    ] = [],  # noqa: B006
    limit: Annotated[
        AtLeastTwo | None,
        typer.Option(help="Most cases of a test or a capability; the paper's number without."),
    ] = None,
    seed: Annotated[RandomSeed, typer.Option(help="Seed of draws and shuffles.")] = 0,
    label_map: LabelMap = None,
    device: Device = "auto",
) -> list[PaperTable]:
    """Make a table or figure of a paper again, for any model.

    The paper's figures stand beside its own where they are known.
    """
    from s2lct.analysis.reproduce.runner import Inputs, make
    from s2lct.files import check_folder_out, write_text
    from s2lct.labels import check_label_map

    check_folder_out(out, "--out")
    made = make(
        Inputs(
            name=name,
            model=list(dict.fromkeys(model)),
            suite=suite,
            checklist=checklist,
            reference=reference,
            reference_cases=reference_cases,
            masks=masks,
            key=key,
            annotations=annotations,
            limit=limit,
            seed=seed,
            label_map=check_label_map(label_map),
            device=device,
        )
    )
    write_text(out / f"{name}.md", "\n".join(table.markdown() for table in made))
    for number, table in enumerate(made, 1):
        part = "" if number == 1 else f"-{number}"
        write_text(out / f"{name}{part}.csv", table.table().csv())
    return made
