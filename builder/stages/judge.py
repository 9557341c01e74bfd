"""Judge: reject extensions that would move a label, and the worst of those that nobody read.

What readers passed is rejected only where it moves the sentiment of its sentence. Without readers
the likelihood of words decides, grammar (`s2lct.builder.language.fluency`) and whether words are
subjective: that leaves much that reads oddly, which a suite says of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from s2lct.builder.language.fluency import breaks_grammar
from s2lct.builder.language.sentiment_scorers import shift, subjectivity
from s2lct.builder.records import Token
from s2lct.builder.sources import Extension
from s2lct.builder.stages.validate import Rejection

MOST_SUBJECTIVE = 0.5
"""Words from this subjectivity on are opinions, whatever SentiWordNet says of their sentiment."""
LEAST_SCORE = -7.0
"""Masked words that nobody read, of a lower mean log probability, are left out."""
MOST_SHIFT = 0.3
"""What is inserted may move the sentiment (-1 to 1) by so much, by each of the scorers."""
LIKELIEST_FOR_AN_EXPANSION = 3
"""Extensions of a sentence, for each expansion wanted, to choose from where no readers chose."""


@dataclass(frozen=True, slots=True)
class Extended:
    """An extension that stands, with the words and the tree of its sentence.

    ``rejected`` says why it is left out all the same, if it is.
    """

    extension: Extension
    tokens: tuple[Token, ...]
    tree: str
    rejected: Rejection | None = None


@dataclass(frozen=True)
class Judge:
    """Decides whether an extension may be used.

    Attributes:
        read: whether readers passed what it is asked about.
    """

    read: bool

    def reject(self, text: str, extension: Extension, tokens: Sequence[Token]) -> Rejection | None:
        """Why an extension is rejected; None if it may be used.

        An author wrote what is attested: only its sentiment is asked about.

        Args:
            text: of the sentence that it extends.
            extension: the extension.
            tokens: of its text.
        """
        reason = None
        if not self.read and extension.origin != "attested":
            reason = self._reject_unread(extension, tokens)
        if reason is None and shift(text, extension.text) > MOST_SHIFT:
            reason = Rejection.SENTIMENT
        return reason

    def _reject_unread(self, extension: Extension, tokens: Sequence[Token]) -> Rejection | None:
        if extension.score < LEAST_SCORE:
            return Rejection.UNLIKELY
        if any(subjectivity(word.word) >= MOST_SUBJECTIVE for word in extension.inserted):
            return Rejection.NOT_NEUTRAL
        starts = {word.start for word in extension.inserted}
        inserted = [number for number, token in enumerate(tokens) if token.start in starts]
        return Rejection.SPECIFICATION if breaks_grammar(tokens, inserted) else None

    def usable(self, extended: Sequence[Extended], expansions: int) -> list[Extended]:
        """Those of a sentence's extensions that were not rejected; without readers the likeliest.

        Args:
            extended: the extensions.
            expansions: how many expansions of a seed are wanted.
        """
        usable = [one for one in extended if one.rejected is None]
        if not self.read:
            usable.sort(key=lambda one: -one.extension.score)
            del usable[LIKELIEST_FOR_AN_EXPANSION * expansions :]
        return usable
