"""Draw: the sentences of each slot in drawing order, tagged and parsed as far as seeds need them.

What a sentence's label, length and letters tell is asked first; only what is left is tagged, a
block at a time, and only what its words let pass is parsed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import TypeAdapter

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.patterns import named_in_errors
from s2lct.builder.models import Tagger
from s2lct.builder.sources import Source
from s2lct.builder.stages import search
from s2lct.builder.stages.search import TaggedSentence, Trees
from s2lct.suite.records import Sentence

LEAST_AT_ONCE = 32
"""Sentences that are tagged together."""
LEAST_SHORTENED_AT_ONCE = 8
OF_A_SENTENCE = 2
"""Forms of a sentence in a pool."""


@dataclass(frozen=True, slots=True)
class Block:
    """What was found among the next sentences of a slot.

    Attributes:
        end: how many sentences of the slot were looked at by now.
        sources: those that fit, parsed.
    """

    end: int
    sources: tuple[Source, ...]


Looked = tuple[int, list[tuple[TaggedSentence, SearchRule]]]
BLOCK = TypeAdapter(Block)
_FORMS = TypeAdapter(dict[str, list[Source]])


class SlotSearch:
    """The sentences that one slot of a capability may take, in the capability's drawing order.

    A text that occurs twice in the corpus is taken once, as the first of those that fit.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        rules: Sequence[SearchRule],
        lexicon: Lexicon,
        tagger: Tagger,
        trees: Trees,
        *,
        capability: str,
        slot: str,
        seed: int,
    ) -> None:
        self.capability = capability
        self.slot = slot
        self._rules = rules
        self._lexicon = lexicon
        self._tagger = tagger
        self._trees = trees
        possible = [one for one in sentences if any(search.meets_label(one, r) for r in rules)]
        self._of_text: defaultdict[str, list[Sentence]] = defaultdict(list)
        for sentence in possible:
            self._of_text[sentence.text].append(sentence)
        self._ordered = search.in_drawing_order(possible, seed, capability)
        self._looked: dict[tuple[int, int], Looked] = {}

    def __len__(self) -> int:
        """Return how many sentences have a label that fits."""
        return len(self._ordered)

    def next(self, start: int, size: int) -> Block:
        """Look at the sentences from number ``start`` on, ``size`` of them closely.

        Raises:
            CapabilityError: one of a rule's regular expressions takes too long.
        """
        if (start, size) not in self._looked:
            self._looked[start, size] = self._look(start, size)
        end, found = self._looked.pop((start, size))
        meet = self._trees.meet(found)
        fitting = [tagged for (tagged, _), meets in zip(found, meet, strict=True) if meets]
        self._trees.parse(fitting)
        return Block(
            end,
            tuple(
                Source(tagged.sentence, tagged.sentence.text, tagged.tokens, tree)
                for tagged in fitting
                if (tree := self._trees.of(tagged.sentence.text)) is not None
            ),
        )

    def to_parse(self, start: int, size: int) -> list[TaggedSentence]:
        """The sentences that `next` is going to parse, when it is asked for the same.

        Raises:
            CapabilityError: one of a rule's regular expressions takes too long.
        """
        self._looked[start, size] = self._look(start, size)
        return [tagged for tagged, _ in self._looked[start, size][1]]

    def _look(self, start: int, size: int) -> Looked:
        """Where it ends, and what the words of sentences let pass."""
        chosen: list[Sentence] = []
        end = start
        with named_in_errors(f"capability {self.capability}, slot {self.slot}"):
            while end < len(self._ordered) and len(chosen) < size:
                sentence = self._ordered[end]
                end += 1
                if any(search.may_meet(sentence, rule) for rule in self._rules):
                    chosen.append(sentence)
            return end, self._found(chosen)

    def _found(self, chosen: Sequence[Sentence]) -> list[tuple[TaggedSentence, SearchRule]]:
        tokens = self._tagger.tag([sentence.text for sentence in chosen])
        found: list[tuple[TaggedSentence, SearchRule]] = []
        for sentence, of_sentence in zip(chosen, tokens, strict=True):
            alike = [TaggedSentence(s, of_sentence) for s in self._of_text[sentence.text]]
            first = search.find(alike, self._rules, self._lexicon)[:1]
            found += [one for one in first if one[0].sentence is sentence]
        return found


class DrawnSentences:
    """The sentences of a slot in drawing order, searched as far as they are asked for."""

    def __init__(
        self, slot: SlotSearch, checkpoints: Checkpoints, *, most: int, at_once: int
    ) -> None:
        """Draw from a slot.

        Args:
            slot: the sentences.
            checkpoints: keep what is drawn.
            most: sentences drawn in all.
            at_once: sentences that are looked at together.
        """
        self.slot = slot
        self._checkpoints = checkpoints
        self._most = most
        self._at_once = at_once
        self._blocks = 0
        self._looked = 0
        self._found: list[Source] = []

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return min(len(self._found), self._most)

    def to_parse(self) -> list[TaggedSentence]:
        """The sentences of the first block that are not parsed yet."""
        drawn = self._checkpoints.kept(self._name_of_block, BLOCK) is not None
        return [] if drawn or not len(self.slot) else self.slot.to_parse(0, self._at_once)

    def sources(self, start: int, end: int) -> list[Source]:
        """Those from number ``start`` on and before ``end``, as far as there are so many."""
        end = min(end, self._most)
        while len(self._found) < end and self._looked < len(self.slot):
            look = partial(self.slot.next, self._looked, self._at_once)
            block = self._checkpoints.get(self._name_of_block, BLOCK, look)
            self._blocks += 1
            self._looked = block.end
            self._found += block.sources
        return self._found[start:end]

    @property
    def _name_of_block(self) -> str:
        return f"draw/{self.slot.capability}-{self.slot.slot}-{self._blocks:05}"


class Pool:
    """What a slot is filled with: a form of every sentence, then another one of each.

    It is drawn while it is gone through, and may be gone through again.
    """

    def __init__(
        self,
        slot: SlotSearch,
        checkpoints: Checkpoints,
        forms: Callable[[Sequence[Source]], Mapping[str, Sequence[Source]]],
        *,
        most: int,
        seeds: int,
    ) -> None:
        """Draw from a slot.

        Args:
            slot: the sentences.
            checkpoints: keep what is drawn.
            forms: gives the forms of sentences that may be used, by the sentences' texts.
            most: sentences drawn in all.
            seeds: how many seeds are wanted; no more than that is drawn at once.
        """
        at_once = max(LEAST_AT_ONCE, 4 * seeds)
        self.drawn = DrawnSentences(slot, checkpoints, most=most, at_once=at_once)
        self._checkpoints = checkpoints
        self._forms = forms
        self._shortened_at_once = max(LEAST_SHORTENED_AT_ONCE, seeds)
        self._used: list[Sequence[Source]] = []

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return self.drawn.found

    def __iter__(self) -> Iterator[Source]:
        number = 0
        while number < len(self._used) or self._use_more():
            if number < len(self._used):
                yield from self._used[number][:1]
                number += 1
        for some in self._used:
            yield from some[1:OF_A_SENTENCE]

    def _use_more(self) -> bool:
        """Find forms of the next sentences; whether there were any sentences."""
        start = len(self._used)
        some = self.drawn.sources(start, start + self._shortened_at_once)
        if not some:
            return False
        slot = self.drawn.slot
        forms = self._checkpoints.get(
            f"shorten/{slot.capability}-{slot.slot}-{start:05}",
            _FORMS,
            lambda: {
                text: list(forms[:OF_A_SENTENCE]) for text, forms in self._forms(some).items()
            },
        )
        self._used += [forms.get(source.text, []) for source in some]
        return True
