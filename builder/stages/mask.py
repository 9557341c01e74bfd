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
"""Characters that close: no space stands before them."""
_OPENING = frozenset("([{$#\"'“‘")
"""Characters that open: no space stands after them."""
BEAM_WIDTH = 3
"""The number of partial fillings that are kept while several masks are filled."""
SUGGESTIONS_PER_MASK = 30
"""The number of words that the model is asked for at a mask."""
MaskedText = tuple[str, tuple[str, ...]]
"""A text with masks and the tags of its masks."""


def mask(
    id: str,
    parsed: ParsedSentence,
    grammar: ReferenceGrammar,
    *,
    max_sentences: int | None,
    masks_per_sentence: int | None,
    tags: Collection[str],
    random_seed: int,
    is_paper_form: bool = False,
) -> list[MaskedSentence]:
    """Draw distinct masked sentences of a sentence, at most ``max_sentences`` (the paper's k).

    In the paper's form, as in Algorithm 1, all candidates are equally likely, with masks wherever
    there is room. Otherwise a candidate is drawn in proportion to the probability of its
    production, and masks stand only where a word reads naturally.

    Args:
        id: decides the draw, together with the random seed.
        parsed: the sentence.
        grammar: the reference grammar, which licenses insertions.
        max_sentences: how many to draw; None for all.
        masks_per_sentence: most masks in one sentence; None for any number.
        tags: the parts of speech that may become masks.
        random_seed: seed of the draw.
        is_paper_form: whether to draw as the paper does.
    """
    tags = frozenset(tags)
    places_of_text: dict[MaskedText, tuple[int, ...]] = {}
    productions_of_text: defaultdict[MaskedText, list[Production]] = defaultdict(list)
    with_masks = cache(partial(_with_masks, parsed, anywhere=is_paper_form))
    for node in parsed.tree.nodes():
        if node.is_word:
            continue
        starts = [child.start for child in node.children] + [node.end]
        rule = node.label, node.child_labels
        for positions, mask_tags, production in _licensed_insertions(
            grammar, rule, masks_per_sentence, tags
        ):
            places = tuple([starts[position] for position in positions])
            if (text := with_masks(places)) is not None:
                places_of_text.setdefault((text, mask_tags), places)
                productions_of_text[text, mask_tags].append(production)
    rng = rng_for(random_seed, "mask", id)
    # Weighted sampling without replacement (Efraimidis & Spirakis 2006): the largest keys win.
    sampling_keys = {
        problem: math.log(1.0 - rng.random())
        / (1.0 if is_paper_form else max(each.probability for each in productions))
        for problem, productions in productions_of_text.items()
    }
    return [
        MaskedSentence(
            *problem,
            places_of_text[problem],
            tuple(sorted(productions_of_text[problem], key=lambda each: -each.probability)),
        )
        for problem in sorted(sampling_keys, key=lambda problem: -sampling_keys[problem])[
            :max_sentences
        ]
    ]


@lru_cache(maxsize=4096)
def _licensed_insertions(
    grammar: ReferenceGrammar, rule: Rule, max_masks: int | None, tags: frozenset[str]
) -> list[tuple[tuple[int, ...], tuple[str, ...], Production]]:
    """The insertions of words into a production that the grammar licenses.

    Each is a tuple: the positions of the symbols before which words are inserted, the tags of the
    words, and the licensing production.
    """
    return [
        (
            tuple(position for position, _ in extended.added_tags),
            mask_tags,
            Production(*rule, extended.reference_rhs, round(extended.probability, 8)),
        )
        for extended in grammar.extensions(*rule, max_masks)
        if tags.issuperset(mask_tags := tuple(tag for _, tag in extended.added_tags))
    ]


def _with_masks(parsed: ParsedSentence, places: Sequence[int], *, anywhere: bool) -> str | None:
    """The text with a mask at each place; None if a mask would stand where no word can."""
    text, end = "", 0
    for place in places:
        spot = mask_offset(parsed.tokens, place, anywhere=anywhere)
        if spot is None:
            return None
        offset, is_before_token = spot
        text += parsed.text[end:offset] + (f"{MASK} " if is_before_token else f" {MASK}")
        end = offset
    return text + parsed.text[end:]


def mask_offset(
    tokens: Sequence[Token], place: int, *, anywhere: bool = False
) -> tuple[int, bool] | None:
    """The character offset of a word that is inserted before token ``place``, or at the end.

    With the offset comes whether the space follows the word; otherwise it precedes the word.

    None where no word can go, such as within *does|n't* and *well|-|made*. Unless ``anywhere``,
    also None before the first word, whose capital would be wrong, and behind final punctuation.
    """
    if place == 0:
        return (tokens[0].start, True) if anywhere else None
    previous = tokens[place - 1]
    if place == len(tokens):
        return (previous.end, False) if anywhere or not _consists_of(previous, _CLOSING) else None
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    is_blocked = following.tag == "POS" if anywhere else _consists_of(previous, _CLOSING)
    if _consists_of(following, _CLOSING) and not is_blocked:
        return (previous.end, False)
    return (following.start, True) if anywhere and _consists_of(previous, _OPENING) else None


def _consists_of(token: Token, characters: frozenset[str]) -> bool:
    """Whether a token consists of certain characters only."""
    return all(character in characters for character in token.text)


Fillings = list[tuple[tuple[str, ...], float]]
"""Words for the masks of a text, with their mean log probability given the words to the left."""


class FillsMasks(Protocol):
    """A masked language model, or a cache in front of one; see `MaskedLanguageModel.suggest`."""

    def suggest(
        self, texts: Sequence[str], top: int, among: Sequence[frozenset[str] | None] | None = None
    ) -> list[Words]:
        """The likeliest words for the first mask of each text."""


def fill(
    masked: Sequence[MaskedSentence],
    model: FillsMasks,
    *,
    suggestions: int = SUGGESTIONS_PER_MASK,
    allowed_words: Mapping[MaskedText, Sequence[frozenset[str]]] | None = None,
) -> list[Fillings]:
    """The fillings of every masked sentence, the best first; equal sentences are filled once.

    Several masks are filled from left to right. The best `BEAM_WIDTH` partial fillings are kept at
    each mask; at the last mask, ``suggestions`` fillings remain.

    Args:
        masked: the masked sentences.
        model: suggests words.
        suggestions: the largest number of fillings of a sentence.
        allowed_words: for each masked text, the words that each mask may become; None for any word.
    """
    problems = [(each.text, each.tags) for each in masked]
    # Words so far, with the sum of their log probabilities.
    beams: dict[MaskedText, Fillings] = {problem: [((), 0.0)] for problem in problems}
    unfinished = list(beams)
    while unfinished:
        requests = [(problem, *filling) for problem in unfinished for filling in beams[problem]]
        texts = [_with_words(problem[0], words) for problem, words, _ in requests]
        allowed = (
            [allowed_words[problem][len(words)] for problem, words, _ in requests]
            if allowed_words
            else None
        )
        answers = model.suggest(texts, suggestions, allowed)
        longer: dict[MaskedText, Fillings] = {problem: [] for problem in unfinished}
        for (problem, words, total), answer in zip(requests, answers, strict=True):
            longer[problem] += [((*words, word), total + score) for word, score in answer]
        unfinished = []
        for problem, fillings in longer.items():
            if len(beams[problem]) > 1:  # one answer is sorted already
                fillings.sort(key=lambda filling: (-round(filling[1], SCORE_DIGITS), filling[0]))
            is_finished = not fillings or len(fillings[0][0]) == len(problem[1])
            beams[problem] = fillings[: suggestions if is_finished else BEAM_WIDTH]
            if not is_finished:
                unfinished.append(problem)
    return [
        [(words, round(total / len(words), SCORE_DIGITS)) for words, total in beams[problem]]
        for problem in problems
    ]


def _with_words(text: str, words: Sequence[str]) -> str:
    """The text with words in place of its first masks."""
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
