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

_CLOSING_CHARACTERS = frozenset(".,;:!?…)]}%\"'”’")
"""Characters that close: no space stands before them."""
_OPENING_CHARACTERS = frozenset("([{$#\"'“‘")
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
        masked_text: math.log(1.0 - rng.random())
        / (1.0 if is_paper_form else max(each.probability for each in productions))
        for masked_text, productions in productions_of_text.items()
    }
    return [
        MaskedSentence(
            *masked_text,
            places_of_text[masked_text],
            tuple(sorted(productions_of_text[masked_text], key=lambda each: -each.probability)),
        )
        for masked_text in sorted(
            sampling_keys, key=lambda masked_text: -sampling_keys[masked_text]
        )[:max_sentences]
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
        offset_and_side = mask_offset(parsed.tokens, place, anywhere=anywhere)
        if offset_and_side is None:
            return None
        offset, is_before_token = offset_and_side
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
        return (
            (previous.end, False)
            if anywhere or not _consists_of(previous, _CLOSING_CHARACTERS)
            else None
        )
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    is_blocked = following.tag == "POS" if anywhere else _consists_of(previous, _CLOSING_CHARACTERS)
    if _consists_of(following, _CLOSING_CHARACTERS) and not is_blocked:
        return (previous.end, False)
    return (
        (following.start, True)
        if anywhere and _consists_of(previous, _OPENING_CHARACTERS)
        else None
    )


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
    masked_texts = [(each.text, each.tags) for each in masked]
    # Words so far, with the sum of their log probabilities.
    beams: dict[MaskedText, Fillings] = {masked_text: [((), 0.0)] for masked_text in masked_texts}
    unfinished = list(beams)
    while unfinished:
        requests = [
            (masked_text, *filling) for masked_text in unfinished for filling in beams[masked_text]
        ]
        texts = [_with_words(masked_text[0], words) for masked_text, words, _ in requests]
        allowed_for_requests = (
            [allowed_words[masked_text][len(words)] for masked_text, words, _ in requests]
            if allowed_words
            else None
        )
        answers = model.suggest(texts, suggestions, allowed_for_requests)
        longer_fillings: dict[MaskedText, Fillings] = {
            masked_text: [] for masked_text in unfinished
        }
        for (masked_text, words, score_sum), scored_words in zip(requests, answers, strict=True):
            longer_fillings[masked_text] += [
                ((*words, word), score_sum + score) for word, score in scored_words
            ]
        unfinished = []
        for masked_text, fillings in longer_fillings.items():
            if len(beams[masked_text]) > 1:  # one answer is sorted already
                fillings.sort(key=lambda filling: (-round(filling[1], SCORE_DIGITS), filling[0]))
            is_finished = not fillings or len(fillings[0][0]) == len(masked_text[1])
            beams[masked_text] = fillings[: suggestions if is_finished else BEAM_WIDTH]
            if not is_finished:
                unfinished.append(masked_text)
    return [
        [
            (words, round(score_sum / len(words), SCORE_DIGITS))
            for words, score_sum in beams[masked_text]
        ]
        for masked_text in masked_texts
    ]


def _with_words(text: str, words: Sequence[str]) -> str:
    """The text with words in place of its first masks."""
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
