"""Sets of Penn Treebank tags and of function words that several rules of grammar share."""

from __future__ import annotations

from typing import Final

from s2lct.plain_text import words

COMMON_NOUNS: Final = words("NN NNS")
PROPER_NOUNS: Final = words("NNP NNPS")
NOUNS: Final = COMMON_NOUNS | PROPER_NOUNS
ADJECTIVES: Final = words("JJ JJR JJS")
ADVERBS: Final = words("RB RBR RBS")
FINITE_VERBS: Final = words("VBZ VBP VBD MD")
MODIFIERS: Final = ADJECTIVES | COMMON_NOUNS | words("VBN VBG")
"""Tags that may stand between a determiner and the head of its noun phrase."""
DETERMINERS: Final = words("DT PDT PRP$ WDT WP$ POS")
DEFINITE_WORDS: Final = words("the this that these those")
"""Words that make a noun phrase definite, as possessives do: *the plot*, *its plot*."""
FUNCTION_TAGS: Final = words("DT PDT WDT IN TO PRP PRP$ WP WP$ CC MD EX RP WRB CD POS")
"""Closed-class tags."""
WORD_TAGS: Final = (
    NOUNS | ADJECTIVES | ADVERBS | FINITE_VERBS | FUNCTION_TAGS | words("VB VBG VBN FW UH")
)
"""Tags of words; list markers and symbols are not words."""
