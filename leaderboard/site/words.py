"""Sentences that stand on the page, in the report and in the terminal alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result

LEAD_WORDS = (
    "Consistency ranks, as most capabilities have one passing side: one answer to everything "
    "fails few of their cases, but never gets a case and its contrast both right"
)
BETTER_WORDS = "↑ higher is better, ↓ lower is better"
FEW_PAIRS = 30
FEW_PAIRS_SIGN = "*"
FEW_PAIRS_WORDS = f"{FEW_PAIRS_SIGN} fewer than {FEW_PAIRS} pairs: a rough figure"
BEST_CONSTANT = "best constant answer"
_TRAINED_ON_SST = (
    "trained on SST's train split, which holds sentences that the default suite and suites of SST "
    "are made from, so figures there flatter"
)
_NOTES = {
    "vader": "its pass-to-fail is 0 by construction: VADER is one of the scorers that insertions "
    "must leave neutral, and no word of its lexicon is ever inserted",
    "embedded-2class": _TRAINED_ON_SST,
    "embedded-3class": _TRAINED_ON_SST,
}


def notes_on(results: Iterable[Result]) -> list[str]:
    """Notes on the built-in models among results, such as data they were trained on.

    They hold only for suites with expansions, which s2lct built.
    """
    models_of_note: dict[str, list[str]] = {}
    for result in results:
        name, capabilities = result.model.name, result.capabilities.values()
        if name in _NOTES and any(figures.expansion.cases for figures in capabilities):
            model_names = models_of_note.setdefault(_NOTES[name], [])
            model_names += [name] * (name not in model_names)
    return [f"{', '.join(model_names)}: {note}" for note, model_names in models_of_note.items()]


def has_few_pairs(pair_count: int) -> bool:
    """Whether a consistency has too few pairs to be more than a rough figure."""
    return pair_count < FEW_PAIRS
