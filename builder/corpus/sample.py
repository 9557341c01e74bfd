"""So many texts of a corpus, drawn evenly while it is read, however long it is.

Each text has a place in an order that is random in the seed but fixed for the text; those that
come first in it are drawn. What is drawn depends on nothing else: not on the order of the rows, on
how they are divided into files, or on how often a text stands there. A text that is drawn in the
end is kept from its first sentence on: so all that say the same are seen, as if the whole corpus
were at hand.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from s2lct.builder.corpus.gather import EXAMPLES, Conflict, Gathered, already_taken, malformed
from s2lct.identity import shuffle_key
from s2lct.labels import Label
from s2lct.suite.records import Sentence


@dataclass(frozen=True, slots=True)
class Draw:
    """How many texts are drawn, and the seed of the draw."""

    texts: int
    seed: int = 0


@dataclass(slots=True)
class _Drawn:
    """The first sentence of a text: its row, where it stands, and how many others say the same.

    ``other`` is the first of them that has another label: its row, its label, where it stands.
    """

    row: int
    sentence: Sentence
    where: str
    again: int = 0
    other: tuple[int, Label, str] | None = None


class SampledSentences:
    """Gathers the sentences of texts that are drawn; nothing else is kept.

    A text is drawn once, whether or not the corpus is to keep its duplicates.
    """

    def __init__(self, draw: Draw, *, labelled: bool) -> None:
        self._draw = draw
        self._labelled = labelled
        self._drawn: dict[str, _Drawn] = {}
        # The text that goes next comes first.
        self._last: list[tuple[int, str]] = []
        self._rows = 0
        self._not_drawn = 0

    def add(self, sentence: Sentence, where: str) -> None:
        """Take a sentence of usable text, or leave it."""
        self._rows += 1
        text = sentence.text
        if (known := self._drawn.get(text)) is not None:
            known.again += 1
            if self._labelled and known.other is None and sentence.label != known.sentence.label:
                known.other = (self._rows, sentence.label, where)
            return
        key = shuffle_key(self._draw.seed, "sample", text)
        place = (-int.from_bytes(key, "big"), text)
        if len(self._last) < self._draw.texts:
            heapq.heappush(self._last, place)
        elif place > self._last[0]:
            _, gone = heapq.heapreplace(self._last, place)
            self._not_drawn += 1 + self._drawn.pop(gone).again
        else:
            self._not_drawn += 1
            return
        self._drawn[text] = _Drawn(self._rows, sentence, where)

    def finish(self) -> Gathered:
        """What was drawn, in the order of the corpus.

        Raises:
            CorpusError: two sentences have the same id, or one's id or split is no short text.
        """
        drawn = sorted(self._drawn.values(), key=lambda one: one.row)
        ids: set[str] = set()
        for one in drawn:
            if (error := malformed(one.sentence, one.where)) is not None:
                raise error
            if one.sentence.id in ids:
                raise already_taken(one.sentence, one.where)
            ids.add(one.sentence.id)
        conflicts = [(one.other, one) for one in drawn if one.other is not None]
        conflicts.sort(key=lambda pair: pair[0][0])
        return Gathered(
            tuple(one.sentence for one in drawn if one.other is None),
            duplicates=sum(one.again for one in drawn if one.other is None),
            conflicts=len(conflicts),
            conflicting=sum(1 + one.again for _, one in conflicts),
            examples=tuple(
                Conflict(one.sentence.text, (one.sentence.label, one.where), (label, where))
                for (_, label, where), one in conflicts[:EXAMPLES]
            ),
            not_drawn=self._not_drawn,
        )
