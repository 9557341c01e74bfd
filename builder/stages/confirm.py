"""Confirm: what was inserted has the right tags, is neutral, and is parsed as it was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.sources import Extension, Source
from s2lct.suite.records import InsertedWord, Token


def confirmed_all(
    families: Sequence[tuple[Source, Sequence[Extension]]],
    tagger: Tagger,
    parser: ConstituencyParser,
    lexicon: Lexicon,
) -> list[list[tuple[Extension, tuple[Token, ...], str]]]:
    """The extensions that have the right tags, are neutral and are parsed as they were meant.

    Returns:
        For each sentence its extensions, each with its tokens and its tree.
    """
    texts = list(dict.fromkeys(one.text for _, some in families for one in some))
    tokens = dict(zip(texts, tagger.tag(texts), strict=True))
    tagged = [
        [one for one in some if _tags_fit(base, one, tokens[one.text], lexicon)]
        for base, some in families
    ]
    to_parse = list(dict.fromkeys(one.text for some in tagged for one in some))
    trees = dict(zip(to_parse, parser.parse([tokens[t] for t in to_parse]), strict=True))
    return [
        [
            (one, tuple(tokens[text]), tree)
            for candidate in some
            for text in (candidate.text,)
            if (tree := trees[text]) is not None
            and (one := _as_parsed(candidate, tokens[text], tree)) is not None
        ]
        for some in tagged
    ]


def _inside(tokens: Sequence[Token], word: InsertedWord) -> list[int]:
    return [n for n, t in enumerate(tokens) if word.start <= t.start and t.end <= word.end]


def _tags_fit(
    base: Source, extension: Extension, tokens: Sequence[Token], lexicon: Lexicon
) -> bool:
    """The first two criteria, and that the sentence's own words keep their tags."""
    inside: set[int] = set()
    for word in extension.inserted:
        numbers = _inside(tokens, word)
        words = [tokens[n] for n in numbers if tokens[n].tag != ","]
        if not words or words[-1].end != word.end - word.word.endswith(","):
            return False
        if len(words) == 1 and word.tag not in _PHRASES and words[0].tag != word.tag:
            return False
        if extension.origin != "attested" and not all(_is_neutral(w, lexicon) for w in words):
            return False
        inside.update(numbers)
    own = [token for n, token in enumerate(tokens) if n not in inside]
    return [(t.text, t.tag) for t in own] == [(t.text, t.tag) for t in base.tokens]


_PHRASES = frozenset({"ADJP", "ADVP", "NP", "PP", "PRN", "SBAR", "VP", "S"})


def _is_neutral(token: Token, lexicon: Lexicon) -> bool:
    if is_polarity_shifter(token.text):
        return False
    return token.tag in ("NNP", "NNPS", "POS", "HYPH") or lexicon.is_neutral_insertion(
        token.text, token.tag, token.lemma
    )


def _as_parsed(extension: Extension, tokens: Sequence[Token], tree: str) -> Extension | None:
    """The extension with the first of its productions that the new parse bears out."""
    words = extension.inserted
    if extension.second is not None:
        if not _stand(words[1:], extension.second.lhs, tokens, tree):
            return None
        words = words[:1]
    for production in (extension.production, *extension.others):
        if _stand(words, production.lhs, tokens, tree):
            return replace(extension, production=production, others=())
    return None


def _stand(words: Sequence[InsertedWord], lhs: str, tokens: Sequence[Token], tree: str) -> bool:
    """Whether inserted words stand under a node such as the one that was extended."""
    nodes = list(read_tree(tree).nodes())
    for word in words:
        numbers = [n for n in _inside(tokens, word) if tokens[n].tag != ","]
        first, last = numbers[0], numbers[-1] + 1
        if not any(
            node.label == lhs
            and any(child.start == first and child.end == last for child in node.children)
            for node in nodes
        ):
            return False
    return True
