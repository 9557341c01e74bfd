"""What makes a table or figure of a paper again is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from s2lct.analysis.judge import Judge, load_model
from s2lct.analysis.kept import kept
from s2lct.builder.capabilities.files import cases_beside
from s2lct.errors import AnalysisError
from s2lct.identity import content_id, fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.other_suites import CheckListCase, read_checklist
from s2lct.tables import Cell as Shown
from s2lct.tables import Table

_MODULES = {
    "mncover-table1": "mncover_filtering:tables1_and_6",
    "mncover-table6": "mncover_filtering:tables1_and_6",
    "mncover-figure4": "mncover_filtering:figure4",
}
"""Whose function is not of the module ``s2lct_tables`` or ``mncover_tables``."""
_LABELS = TypeAdapter(list[int])
Cell = str | int | float | None


@dataclass(frozen=True)
class Inputs:
    """The options of `commands.reproduce`."""

    name: str
    model: Sequence[str]
    suite: str | None
    checklist: Sequence[Path]
    reference: str | None
    reference_cases: int | None
    masks: Path | None
    key: Path | None
    annotations: Sequence[Path]
    limit: int | None
    seed: int
    label_map: Mapping[str, str] | None
    device: str

    def need(self, *options: str) -> None:
        """Refuse to begin without options.

        Raises:
            AnalysisError: one is missing.
        """
        for option in options:
            if not getattr(self, option):
                raise AnalysisError(
                    f"{self.name}: no --{option} is given",
                    hint=f"give --{option}; `s2lct reproduce --help` says what it takes",
                )

    def judge(self, model: str) -> Judge:
        """A model by name, with what its classes mean."""
        return Judge(load_model(model, device=self.device), label_map=self.label_map)

    def read_checklist(self) -> list[CheckListCase]:
        """CheckList's cases of all files given."""
        return [case for path in self.checklist for case in read_checklist(path)]

    @property
    def limited(self) -> str:
        """What a limit does, as the beginning of a note."""
        return f"At most {self.limit} cases of each. " if self.limit else ""


@cache
def described(name: str) -> dict[str, Any]:
    """What is known of a table beforehand: title, columns, notes, and what the paper prints."""
    file = resources.files("s2lct.analysis.reproduce").joinpath("tables.yaml")
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))[name]
    return found


@dataclass(frozen=True)
class PaperTable:
    """A table as a paper prints it, with the paper's own figures beside it.

    Attributes:
        title: what the table shows, in a line.
        columns: their names, the first that of the rows.
        rows: a cell a column; None where there is nothing to say.
        notes: sentences below it: what was measured, and how to read it.
        digits: of numbers, behind the point.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    digits: int = 1

    @classmethod
    def of(cls, name: str, rows: Sequence[Sequence[Cell]], **values: Any) -> PaperTable:
        """The table that is described under a name, with what its title and notes leave open."""
        about = described(name)
        notes = [note.format(**values) for note in about["notes"]]
        title = about["title"].format(**values)
        return cls(title, about["columns"], rows, notes, about.get("digits", 1))

    def table(self) -> Table:
        """The figures, rounded where they are shown."""
        rows = [
            [
                Shown(self._shown(cell), value="" if cell is None else cell)
                for _, cell in zip(self.columns, cells, strict=True)
            ]
            for cells in self.rows
        ]
        return Table(self.columns, rows, self.title)

    def markdown(self) -> str:
        """The table with its title above and its notes below."""
        texts = {n for cells in self.rows for n, cell in enumerate(cells) if isinstance(cell, str)}
        aligned = ["---" if n in texts else "--:" for n in range(len(self.columns))]
        lines = [self.columns, aligned]
        for cells in self.rows:
            lines.append([self._shown(cell).replace("|", "\\|") for cell in cells])
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"**{self.title}**", table, *self.notes]) + "\n"

    def _shown(self, cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return f"{cell:,}" if isinstance(cell, int) else cell or ""


def make(inputs: Inputs) -> list[PaperTable]:
    """Make what is named: a table, or one a model."""
    paper, _, table = inputs.name.partition("-")
    place = _MODULES.get(inputs.name, f"{paper}_tables:{table}")
    module, _, function = place.partition(":")
    maker: Callable[[Inputs], list[PaperTable]] = getattr(
        import_module(f"s2lct.analysis.reproduce.{module}"), function
    )
    return maker(inputs)


def predicted(judge: Judge, texts: Sequence[str]) -> list[int]:
    """The label that a model gives each text, kept."""
    inputs = ["labels", str(judge), fingerprint_of(list(texts))]
    return kept(judge.model.fingerprint, inputs, _LABELS, lambda: judge.labels(texts).tolist())


def of_families(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many cases of each capability: random seeds with their expansions, then a part.

    The cases stay in order, and an expansion never without its seed.
    """
    if most is None:
        return list(cases)
    members: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=lambda case: case.kind != "seed"):
        members.setdefault(case.capability, {}).setdefault(case.seed_id, []).append(case)
    chosen: set[str] = set()
    for families in members.values():
        drawn = sorted(families, key=lambda name: shuffle_key(seed, "reproduced", name))
        chosen.update([case.id for name in drawn for case in families[name]][:most])
    return [case for case in cases if case.id in chosen]


def beside(
    found: list[CheckListCase], capabilities: Iterable[str], most: int | None, seed: int
) -> dict[str, list[Case]]:
    """CheckList's cases of the test that each capability stands beside, at most so many at random.

    Capabilities without such a test have none. Their cases are seeds of families of their own,
    under the capability's name.
    """
    cases: dict[str, list[Case]] = {}
    for name in capabilities:
        of_test = cases_beside(found, name)
        if of_test is found:  # its file names no test, or one that is not there
            continue
        made = []
        for number, case in enumerate(of_test):
            id = content_id("checklist", case.test, str(number), case.text)
            passes = frozenset(map(LABELS.index, case.passes))
            made.append(Case(id, name, "seed", id, case.text, passes))
        drawn = sorted(made, key=lambda case: shuffle_key(seed, "reproduced", case.id))[:most]
        chosen = {case.id for case in drawn}
        cases[name] = [case for case in made if case.id in chosen]
    return cases


def named(suite: SuiteCases) -> str:
    """A suite in a note: its folder's or repository's last name, and its version."""
    return f"{Path(suite.name).name}{f' {suite.version}' if suite.version else ''}"
