"""Parse: the constituency tree of each corpus sentence within a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.suite.records import ParsedRegion, ParsedSeed, Seed, Token


def parse(seeds: Sequence[Seed], tagger: Tagger, parser: ConstituencyParser) -> list[ParsedSeed]:
    """Tokenise and parse every region of every seed, equal texts once.

    A region is parsed by itself: the template's words around it are not the corpus's language.
    """
    texts = list(dict.fromkeys(seed.text[r.start : r.end] for seed in seeds for r in seed.regions))
    tokens = dict(zip(texts, tagger.tag(texts), strict=True))
    trees = dict(zip(texts, parser.parse([tokens[text] for text in texts]), strict=True))
    parsed: list[ParsedSeed] = []
    for seed in seeds:
        regions: list[ParsedRegion] = []
        for region in seed.regions:
            text = seed.text[region.start : region.end]
            if (tree := trees[text]) is not None:
                regions.append(ParsedRegion(region, moved(tokens[text], region.start), tree))
        parsed.append(ParsedSeed(seed, tuple(regions)))
    return parsed


def moved(tokens: Sequence[Token], by: int) -> tuple[Token, ...]:
    """The same tokens with their offsets moved."""
    return tuple(replace(token, start=token.start + by, end=token.end + by) for token in tokens)
