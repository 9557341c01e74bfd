"""Which tables and figures of the papers can be made again, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.analysis.reproduce.paper_table import PaperTable
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

PLACES: Mapping[str, str] = {
    "s2lct-table2": "raters:table2",
    "s2lct-table3": "failures:table3",
    "s2lct-retraining": "retraining:tables",
    "s2lct-coverage": "suite_coverage:figure",
    "s2lct-explanations": "explanations:table",
    "s2lct-diversity": "diversity:tables",
    "mncover-table1": "filtering:table1",
    "mncover-figure4": "growth:figure4",
    "mncover-table3": "unions:table3",
    "mncover-table4": "augmentation:table4",
    "mncover-table5": "fidelity:table5",
    "mncover-table6": "filtering:table6",
}
"""A function of a module of this package, by the name of what it makes."""


@dataclass(frozen=True)
class Reproduction:
    """What was made again.

    Attributes:
        tables: the first is the paper's, more say what it rests on.
        pictures: PNG files by name, where the paper has a picture.
        verdict: whether the paper's finding comes back, in a sentence or two.
    """

    tables: Sequence[PaperTable]
    verdict: str
    pictures: Mapping[str, bytes] = field(default_factory=dict)


Maker = Callable[["ReproduceOptions", "Checkpoints", "Bars"], Reproduction]


def maker_of(name: str) -> Maker:
    """What makes a table or figure: a function of the options, kept steps, and bars."""
    module, _, function = PLACES[name].partition(":")
    found: Maker = getattr(import_module(f"s2lct.analysis.reproduce.{module}"), function)
    return found
