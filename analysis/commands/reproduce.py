"""The tables and figures of the papers, one command each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.catalogue import Reproduction

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


@dataclass(frozen=True)
class Reproduced:
    """What was made again, the files it was written to, and the seconds it took."""

    made: Reproduction
    files: tuple[Path, ...]
    seconds: float


@takes(ReproduceOptions)
def reproduce(options: ReproduceOptions, bars: Bars) -> Reproduced:
    """Make a table or figure of a paper again, for any model.

    The paper's figures stand beside its own where they are known. What a run has finished is kept
    until all is written, so an interrupted one goes on.
    """
    from s2lct.analysis.reproduce.catalogue import maker_of
    from s2lct.builder.checkpoint import Checkpoints, locked
    from s2lct.files import check_folder_out, write_bytes, write_text
    from s2lct.identity import fingerprint_of

    began = time.monotonic()
    check_folder_out(options.out, "--out")
    options.out.mkdir(parents=True, exist_ok=True)
    inputs = options.model_dump(mode="json", exclude={"out", "restart"})
    work = options.out / f".{options.name}-{fingerprint_of(inputs)[:12]}"
    with locked(work.with_name(work.name + ".lock"), by="s2lct reproduce"):
        steps = Checkpoints.open(work, inputs, restart=options.restart)
        made = maker_of(options.name)(options, steps, bars)
        files: list[Path] = []
        tables = [table.as_markdown() for table in made.tables if table.in_page]
        page = options.out / f"{options.name}.md"
        write_text(page, "\n".join([*tables, made.verdict + "\n"]))
        files.append(page)
        for number, table in enumerate(made.tables, 1):
            part = "" if number == 1 else f"-{number}"
            files.append(options.out / f"{options.name}{part}.csv")
            write_text(files[-1], table.as_csv())
        for name, picture in made.pictures.items():
            files.append(options.out / name)
            write_bytes(files[-1], picture)
        steps.discard()
    return Reproduced(made, tuple(files), time.monotonic() - began)
