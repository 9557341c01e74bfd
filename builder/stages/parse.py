"""Parse: the constituency tree of each seed, its template's words included."""

from __future__ import annotations

from collections.abc import Sequence

from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.suite.records import ParsedSeed, Seed


def parse(seeds: Sequence[Seed], tagger: Tagger, parser: ConstituencyParser) -> list[ParsedSeed]:
    """Tokenise and parse every seed."""
    tokens = tagger.tag([seed.text for seed in seeds])
    return [
        ParsedSeed(seed, words, tree)
        for seed, words, tree in zip(seeds, tokens, parser.parse(tokens), strict=True)
    ]
