"""Synonyms from WordNet (Fellbaum 1998), a second source of words for masks.

NLTK reads it from its data folders; it does not come with the package.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from functools import cache, cached_property
from typing import Any

from s2lct.builder.language.lexicon import Lexicon
from s2lct.errors import LexiconError

_PLACE = "corpora/wordnet"
_POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_FILES = tuple(f"{kind}.{pos}" for kind in ("data", "index") for pos in _POS)
_WORD = re.compile(r"[a-z]+")
_MEND = (
    "fetch it (python -c \"import nltk; nltk.download('wordnet')\"), set NLTK_DATA to the folder "
    "that has it, or build without --synonyms"
)


class WordNet:
    """WordNet's synsets, as NLTK reads them."""

    def __init__(self) -> None:
        """Open it.

        Raises:
            LexiconError: none of NLTK's data folders has it, or it cannot be read.
        """
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader

        try:
            try:
                place = nltk.data.find(_PLACE)
            except LookupError:
                place = nltk.data.find(f"{_PLACE}.zip/wordnet/")
            with warnings.catch_warnings():  # that it knows no other language
                warnings.simplefilter("ignore")
                self._reader: Any = WordNetCorpusReader(place, omw_reader=None)
        except LookupError as error:
            raise LexiconError("NLTK's data folders lack WordNet", hint=_MEND) from error
        except Exception as error:  # a damaged file fails in a way of its own at any line
            raise LexiconError(f"WordNet cannot be read: {error}", hint=_MEND) from error
        self.synonyms = cache(self._synonyms)

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of its data and index files."""
        digest = hashlib.sha256()
        for name in _FILES:
            with self._reader.open(name) as file:
                digest.update(file.read().encode())
        return digest.hexdigest()

    def _synonyms(self, word: str, tag: str) -> frozenset[str]:
        """The single words that share a synset with a word.

        Args:
            word: in any form; its lemma is looked up too.
            tag: its Penn Treebank tag. One of a closed class has no synonyms.
        """
        pos = Lexicon.pos_of_tag(tag)
        if pos is None:
            return frozenset()
        found = {
            name.lower()
            for synset in self._reader.synsets(word.lower(), _POS[pos])
            for name in synset.lemma_names()
        }
        return frozenset(name for name in found if _WORD.fullmatch(name)) - {word.lower()}
