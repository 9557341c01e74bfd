"""The tables and figures of the papers, one command each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from s2lct.analysis.reproduce.options import ReproduceOptions
from s2lct.options import takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.catalogue import Reproduction


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
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.files import check_folder_out, locked, write_bytes, write_text
    from s2lct.identity import fingerprint_of
    from s2lct.labels import check_label_map

    check_label_map(options.label_map)
    began = time.monotonic()
    check_folder_out(options.out, "--out")
    options.out.mkdir(parents=True, exist_ok=True)
    inputs = options.model_dump(mode="json", exclude={"out", "restart"})
    work = options.out / f".{options.name}-{fingerprint_of(inputs)[:12]}"
    with locked(work, by="s2lct reproduce"):
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
