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
    """What a reader should know of models that come with s2lct, a sentence for each note.

    The notes are true of suites that were built, which have expansions.
    """
    models_of: dict[str, list[str]] = {}
    for result in results:
        name, capabilities = result.model.name, result.capabilities.values()
        if name in _NOTES and any(figures.expansion.cases for figures in capabilities):
            models = models_of.setdefault(_NOTES[name], [])
            models += [name] * (name not in models)
    return [f"{', '.join(models)}: {note}" for note, models in models_of.items()]


def has_few_pairs(pairs: int) -> bool:
    """Whether a consistency rests on so few pairs that it is a rough figure."""
    return pairs < FEW_PAIRS
