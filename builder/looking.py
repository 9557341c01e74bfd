"""Looking at sentences: what of them meets which search rules, one batch by itself.

What label, length and letters tell is asked first; only what they let pass is tagged, and only what
its words let pass is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.stages import search
from s2lct.builder.stages.search import TaggedSentence
from s2lct.identity import shuffle_key
from s2lct.suite.records import Sentence, Token

_BYTES_OF_A_KEY = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a capability's templates, and the rules for what may stand there."""

    capability: str
    slot: str
    rules: tuple[SearchRule, ...]

    @property
    def name(self) -> str:
        """Its name among all slots."""
        return f"{self.capability}-{self.slot}"

    @property
    def named(self) -> str:
        """Its name in errors."""
        return f"capability {self.capability}, slot {self.slot}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A sentence that is to be looked at.

    Attributes:
        row: its number in the corpus.
        alike: the sentences of the corpus with this text, itself among them.
        number: which of them it is.
        wanted: the slots that it is wanted for: what meets their rules by its words is parsed.
        others: slots that it may be wanted for later.
        tokens: its words, if it was tagged before.
        tree: its tree, if it was parsed before.
    """

    row: int
    alike: tuple[Sentence, ...]
    number: int
    wanted: tuple[str, ...]
    others: tuple[str, ...]
    tokens: tuple[Token, ...] | None = None
    tree: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found of a sentence.

    Attributes:
        row: its number in the corpus.
        tokens: its words.
        tree: its tree; None where it was not parsed, or the parser gave none.
        fits: the slots that it may fill.
        undecided: the slots whose rules it meets as far as words go, while it is not parsed.
    """

    row: int
    tokens: tuple[Token, ...]
    tree: str | None
    fits: tuple[str, ...]
    undecided: tuple[str, ...]


Candidates = dict[str, list[tuple[int, int]]]
"""For each slot the rows that may fill it, each with its key in the slot's drawing order."""


def screen(
    slots: Sequence[Slot], sentences: Sequence[Sentence], first: int, seed: int
) -> Candidates:
    """The slots that sentences may fill, as far as can be told before they are tagged.

    Args:
        slots: the slots.
        sentences: one after the other in the corpus.
        first: the row of the first of them.
        seed: of the drawing order.

    Raises:
        CapabilityError: one of a rule's regular expressions takes too long.
    """
    found: Candidates = {slot.name: [] for slot in slots}
    for row, sentence in enumerate(sentences, start=first):
        keys: dict[str, int] = {}
        for slot in slots:
            if not any(search.may_meet(sentence, rule) for rule in slot.rules):
                continue
            if slot.capability not in keys:
                key = shuffle_key(seed, slot.capability, sentence.corpus, sentence.id)
                keys[slot.capability] = int.from_bytes(key[:_BYTES_OF_A_KEY], "big")
            found[slot.name].append((row, keys[slot.capability]))
    return found


def look(
    slots: Mapping[str, Slot],
    asked: Sequence[Asked],
    *,
    lexicon: Lexicon,
    tagger: Tagger,
    parser: ConstituencyParser,
) -> list[Looked]:
    """Tag and parse sentences as far as the slots that they are wanted for need it.

    Args:
        slots: the slots, by name.
        asked: the sentences.
        lexicon: says what words mean.
        tagger: the tagger.
        parser: the parser.

    Raises:
        CapabilityError: one of a rule's regular expressions takes too long.
    """
    untagged = [one.alike[one.number].text for one in asked if one.tokens is None]
    tagged = iter(tagger.tag(untagged))
    tokens = [next(tagged) if one.tokens is None else one.tokens for one in asked]
    rules = [
        _by_words(slots, one, words, lexicon) for one, words in zip(asked, tokens, strict=True)
    ]
    parsed = [
        one.tree is not None or any(name in met for name in one.wanted)
        for one, met in zip(asked, rules, strict=True)
    ]
    unparsed = [
        words
        for one, words, wanted in zip(asked, tokens, parsed, strict=True)
        if wanted and one.tree is None
    ]
    trees = iter(parser.parse(unparsed) if unparsed else ())
    found: list[Looked] = []
    for one, words, met, is_parsed in zip(asked, tokens, rules, parsed, strict=True):
        if not is_parsed:
            found.append(Looked(one.row, words, None, (), tuple(met)))
            continue
        tree = next(trees) if one.tree is None else one.tree
        fits = () if tree is None else tuple(n for n, r in met.items() if _by_tree(tree, words, r))
        found.append(Looked(one.row, words, tree, fits, ()))
    return found


def _by_words(
    slots: Mapping[str, Slot], asked: Asked, tokens: tuple[Token, ...], lexicon: Lexicon
) -> dict[str, SearchRule]:
    """The slots whose rules a sentence meets as far as words go, each with the rule.

    Of sentences that are alike the first that meets one fills the slot.
    """
    alike = [TaggedSentence(sentence, tokens) for sentence in asked.alike]
    met: dict[str, SearchRule] = {}
    for name in (*asked.wanted, *asked.others):
        found = search.find(alike, slots[name].rules, lexicon)[:1]
        if found and found[0][0] is alike[asked.number]:
            met[name] = found[0][1]
    return met


def _by_tree(tree: str, tokens: Sequence[Token], rule: SearchRule) -> bool:
    return not rule.needs_tree or search.meets_tree(read_tree(tree), tokens, rule)
