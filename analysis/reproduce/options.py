"""The options of `s2lct reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from s2lct.options import (
    CASES,
    RUNNING,
    Argument,
    Count,
    ModelClasses,
    OnDevice,
    Option,
    Seed,
)

DATA, STUDY = "Data", "Answers of raters"
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


class ReproduceOptions(ModelClasses, OnDevice):
    """Options of `reproduce`."""

    name: Annotated[Name, Argument("What to make again: " + ", ".join(Name.__args__) + ".")]
    out: Annotated[Path, Option("Folder for tables and pictures; an earlier run goes on there.")]
    model: Annotated[
        tuple[str, ...],
        Option("embedded-2class, embedded-3class, a folder, or a Hub id; may be given again."),
    ] = ()
    suite: Annotated[str | None, Option("S²LCT suite: folder of a built one, or Hub id.", DATA)] = (
        None
    )
    checklist: Annotated[
        tuple[Path, ...],
        Option(
            "CheckList's cases as JSON lines; may be given again (MFT; INV and DIR).",
            DATA,
            path="existing file",
        ),
    ] = ()
    reference: Annotated[
        str | None,
        Option("Corpus the model was trained on, which sets ranges: sst:PATH, csv:PATH …", DATA),
    ] = None
    reference_cases: Annotated[
        int | None, Field(ge=2), Option("Only so many random sentences of it.", DATA)
    ] = None
    masks: Annotated[
        Path | None,
        Option("What `s2lct masks` learned; learned anew without.", DATA, path="existing file"),
    ] = None
    key: Annotated[Path | None, Option("The study's key.json.", STUDY, path="existing file")] = None
    answers: Annotated[
        tuple[Path, ...],
        Option("Filled-in forms; may be given again.", STUDY, path="existing file"),
    ] = ()
    start: Annotated[
        Literal["empty", "training"],
        Option("Whether coverage starts empty or from that of the training set.", CASES),
    ] = "training"
    limit: Annotated[
        int | None,
        Field(ge=2),
        Option("Most cases of a test or a capability; the paper's number without.", CASES),
    ] = None
    seeds: Annotated[Count, Option("Repetitions with other random seeds.", RUNNING)] = 3
    seed: Annotated[Seed, Option("Seed of draws and shuffles.", RUNNING)] = 0
    restart: Annotated[bool, Option("Throw away what an interrupted run left.", RUNNING)] = False
