"""Small changes of a text that leave its sentiment alone, named as TextAttack names them.

Each takes a text and a random generator and gives the changed text, or None where it has nothing
to change. They are our own: textattack 0.3.11 (Morris et al. 2020) imports flair, whose
requirements do not go with this package's, and fetches NLTK data when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from s2lct.analysis.augment.spelling import (
    change_number,
    contract,
    delete_letter,
    extend,
    insert_letter,
    press_next_key,
    substitute_letter,
    swap_homoglyph,
    swap_neighbours,
)
from s2lct.analysis.augment.word_swaps import Entities, MaskedWordSwap, SynonymSwap, local_wordnet
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.errors import AnalysisError

Change = Callable[[str, Random], str | None]


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change of a text.

    Attributes:
        name: as TextAttack calls the transformation that does the same.
        apply: gives the changed text, or None where there is nothing to change.
    """

    name: str
    apply: Change


PLAIN: tuple[Transformation, ...] = (
    Transformation("WordSwapNeighboringCharacterSwap", swap_neighbours),
    Transformation("WordSwapRandomCharacterInsertion", insert_letter),
    Transformation("WordSwapRandomCharacterDeletion", delete_letter),
    Transformation("WordSwapRandomCharacterSubstitution", substitute_letter),
    Transformation("WordSwapHomoglyphSwap", swap_homoglyph),
    Transformation("WordSwapQWERTY", press_next_key),
    Transformation("WordSwapContract", contract),
    Transformation("WordSwapExtend", extend),
    Transformation("WordSwapChangeNumber", change_number),
)
"""Those that need no model and no data."""

NAMES = (
    *(transformation.name for transformation in PLAIN),
    "WordSwapChangeName",
    "WordSwapChangeLocation",
    "WordSwapMaskedLM",
    "WordSwapWordNet",
)


def load_transformations(
    names: Sequence[str] = NAMES, *, mlm: str = "embedded"
) -> tuple[tuple[Transformation, ...], dict[str, str]]:
    """The transformations by name.

    The masked language model of WordSwapMaskedLM is ``embedded``, a Hub id or a folder.

    Returns:
        Those that work here, in the order of the names, and why each of the others does not.

    Raises:
        AnalysisError: there is no transformation of a name.
        ModelError: the masked language model cannot be loaded.
    """
    for name in names:
        if name not in NAMES:
            raise AnalysisError(
                f"no transformation is called {name!r}", mend=f"name one of {', '.join(NAMES)}"
            )
    loaded: list[Transformation] = []
    skipped: dict[str, str] = {}
    for name, change in _changes(dict.fromkeys(names), mlm):
        if isinstance(change, str):
            skipped[name] = change
        else:
            loaded.append(Transformation(name, change))
    return tuple(loaded), skipped


def _changes(names: Iterable[str], mlm: str) -> Iterator[tuple[str, Change | str]]:
    """Each name's change, or why there is none here."""
    changes: dict[str, Change] = {one.name: one.apply for one in PLAIN}
    for name in names:
        if name == "WordSwapMaskedLM":
            yield name, MaskedWordSwap(TransformersMaskedLM.load(mlm))
        elif name == "WordSwapWordNet":
            wordnet = local_wordnet()
            missing = "NLTK's WordNet is not on this machine: python -m nltk.downloader wordnet"
            yield name, missing if wordnet is None else SynonymSwap(wordnet)
        else:
            if name not in changes:
                entities = Entities()
                changes["WordSwapChangeName"] = entities.change_name
                changes["WordSwapChangeLocation"] = entities.change_location
            yield name, changes[name]
