"""Mask and fill: masks where a reference production has extra symbols (S²LCT, Algorithm 1)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Protocol

from s2lct.builder.language.grammar import ReferenceGrammar, Rule
from s2lct.builder.models import Words
from s2lct.builder.models.masked_lm import SCORE_DIGITS
from s2lct.builder.records import MASK, MaskedSentence, ParsedSentence, Production, Token
from s2lct.identity import rng_for

_CLOSING = frozenset(".,;:!?…)]}%\"'”’")
_OPENING = frozenset("([{$#\"'“‘")
BEAM = 3
"""Partial fillings of several masks that are kept on the way."""
SUGGESTIONS = 30
"""Words asked of the model for a mask."""
Problem = tuple[str, tuple[str, ...]]
"""A masked text and the tags of its masks."""


def mask(
    id: str,
    parsed: ParsedSentence,
    grammar: ReferenceGrammar,
    *,
    most: int | None,
    masks_per_sentence: int | None,
    tags: Collection[str],
    seed: int,
    paper: bool = False,
) -> list[MaskedSentence]:
    """Draw masked sentences of a sentence, ``most`` of them (the paper's k), all distinct.

    In ``paper`` form, as Algorithm 1 has it, every candidate is drawn alike, with masks wherever
    there is room; else in proportion to the production's probability, and only where a word reads
    naturally. The draw depends on the seed and the ``id`` alone; ``tags`` are the parts of speech
    that may become masks, ``masks_per_sentence`` at most (None: any number).
    """
    tags = frozenset(tags)
    places_of: dict[Problem, tuple[int, ...]] = {}
    licences: defaultdict[Problem, list[Production]] = defaultdict(list)
    with_masks = cache(partial(_with_masks, parsed, anywhere=paper))
    for node in parsed.tree.nodes():
        if node.is_word:
            continue
        starts = [child.start for child in node.children] + [node.end]
        rule = node.label, node.child_labels
        for before, asked_for, licence in _licences(grammar, rule, masks_per_sentence, tags):
            places = tuple([starts[at] for at in before])
            if (text := with_masks(places)) is not None:
                places_of.setdefault((text, asked_for), places)
                licences[text, asked_for].append(licence)
    rng = rng_for(seed, "mask", id)
    # Weighted sampling without replacement (Efraimidis & Spirakis 2006): the largest keys win.
    keys = {
        problem: math.log(1.0 - rng.random())
        / (1.0 if paper else max(each.probability for each in some))
        for problem, some in licences.items()
    }
    return [
        MaskedSentence(
            *problem,
            places_of[problem],
            tuple(sorted(licences[problem], key=lambda each: -each.probability)),
        )
        for problem in sorted(keys, key=lambda problem: -keys[problem])[:most]
    ]


@lru_cache(maxsize=4096)
def _licences(
    grammar: ReferenceGrammar, rule: Rule, most: int | None, tags: frozenset[str]
) -> list[tuple[tuple[int, ...], tuple[str, ...], Production]]:
    """Before which symbols of a production words of which tags may stand, and what licenses it."""
    return [
        (
            tuple(at for at, _ in longer.added),
            asked_for,
            Production(*rule, longer.reference_rhs, round(longer.probability, 8)),
        )
        for longer in grammar.extensions(*rule, most)
        if tags.issuperset(asked_for := tuple(tag for _, tag in longer.added))
    ]


def _with_masks(parsed: ParsedSentence, places: Sequence[int], *, anywhere: bool) -> str | None:
    """The text with a mask at each place; None if one would stand where no word can."""
    text, last = "", 0
    for place in places:
        spot = mask_offset(parsed.tokens, place, anywhere=anywhere)
        if spot is None:
            return None
        offset, before = spot
        text += parsed.text[last:offset] + (f"{MASK} " if before else f" {MASK}")
        last = offset
    return text + parsed.text[last:]


def mask_offset(
    tokens: Sequence[Token], place: int, *, anywhere: bool = False
) -> tuple[int, bool] | None:
    """Where a word goes that is to stand before token number ``place``, or at the end.

    It is the character offset and whether the space follows the word (else it precedes it). None
    where no word can go, as within what is written as one: *does|n't*, *well|-|made*; and, unless
    it may go ``anywhere``, before the first word, whose capital would be wrong, and behind final
    punctuation.
    """
    if place == 0:
        return (tokens[0].start, True) if anywhere else None
    previous = tokens[place - 1]
    if place == len(tokens):
        return (previous.end, False) if anywhere or not _is_of(previous, _CLOSING) else None
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    blocked = following.tag == "POS" if anywhere else _is_of(previous, _CLOSING)
    if _is_of(following, _CLOSING) and not blocked:
        return (previous.end, False)
    return (following.start, True) if anywhere and _is_of(previous, _OPENING) else None


def _is_of(token: Token, characters: frozenset[str]) -> bool:
    return all(character in characters for character in token.text)


Fillings = list[tuple[tuple[str, ...], float]]
"""Words for the masks of a text with their mean log probability, each given those to its left."""


class FillsMasks(Protocol):
    """A masked language model, or what asks one; see `MaskedLanguageModel.suggest`."""

    def suggest(
        self, texts: Sequence[str], top: int, among: Sequence[frozenset[str] | None] | None = None
    ) -> list[Words]:
        """The likeliest words for the first mask of each text."""


def fill(
    masked: Sequence[MaskedSentence],
    model: FillsMasks,
    *,
    suggestions: int = SUGGESTIONS,
    fitting: Mapping[Problem, Sequence[frozenset[str]]] | None = None,
) -> list[Fillings]:
    """The fillings of every masked sentence, best first; equal sentences are filled once.

    Several masks are filled from left to right: the best `BEAM` partial fillings are kept at each
    mask, and the last mask gives ``suggestions`` in all.

    Args:
        masked: the sentences.
        model: suggests words.
        suggestions: most fillings of a sentence.
        fitting: for each sentence, the words that each mask may be; None for any word.
    """
    problems = [(each.text, each.tags) for each in masked]
    # Words so far, with the sum of their log probabilities.
    beams: dict[Problem, Fillings] = {problem: [((), 0.0)] for problem in problems}
    unfinished = list(beams)
    while unfinished:
        requests = [(problem, *filling) for problem in unfinished for filling in beams[problem]]
        texts = [_with_words(problem[0], words) for problem, words, _ in requests]
        among = (
            [fitting[problem][len(words)] for problem, words, _ in requests] if fitting else None
        )
        answers = model.suggest(texts, suggestions, among)
        grown: dict[Problem, Fillings] = {problem: [] for problem in unfinished}
        for (problem, words, total), answer in zip(requests, answers, strict=True):
            grown[problem] += [((*words, word), total + score) for word, score in answer]
        unfinished = []
        for problem, fillings in grown.items():
            if len(beams[problem]) > 1:  # one answer is sorted already
                fillings.sort(key=lambda filling: (-round(filling[1], SCORE_DIGITS), filling[0]))
            finished = not fillings or len(fillings[0][0]) == len(problem[1])
            beams[problem] = fillings[: suggestions if finished else BEAM]
            if not finished:
                unfinished.append(problem)
    return [
        [(words, round(total / len(words), SCORE_DIGITS)) for words, total in beams[problem]]
        for problem in problems
    ]


def _with_words(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
