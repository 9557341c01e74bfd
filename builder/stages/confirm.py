"""Confirm: what was inserted has the right tags, is neutral, and is parsed as it was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.language.grammar import Node, ReferenceGrammar, read_tree
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.records import (
    Expansion,
    Extended,
    Extension,
    InsertedWord,
    MaskedSentence,
    ParsedSentence,
    Production,
    Seed,
    Source,
    Token,
)
from s2lct.builder.stages.mask import Filling
from s2lct.builder.stages.search import still_meets
from s2lct.suite.tables import case_id


def confirmed_all(
    families: Sequence[tuple[Source, Sequence[Extension]]],
    tagger: Tagger,
    parser: ConstituencyParser | None,
    lexicon: Lexicon,
    grammar: ReferenceGrammar,
    tags: Collection[str],
) -> list[list[Extended]]:
    """The extensions that have the right tags, are neutral and are parsed as they were meant.

    Without a parser each has the tree of its sentence with what was inserted in its place.

    A word is what the tagger says it is: one that was proposed as a noun and is an adjective here
    stands if it is one of ``tags`` and ``grammar`` lets it stand there; that is its tag then.
    """
    tokens = _tagged([each for _, extensions in families for each in extensions], tagger)
    tagged: list[list[Extension]] = []
    for base, extensions in families:
        as_tagged = (
            _as_tagged(base, each, tokens[each.text], lexicon, grammar, tags) for each in extensions
        )
        # Proposed as several parts of speech, a word has one of them.
        tagged.append(list(dict.fromkeys(filter(None, as_tagged))))
    if parser is None:
        return [
            [longer for each in some if (longer := _grown(base, each, tokens[each.text]))]
            for (base, _), some in zip(families, tagged, strict=True)
        ]
    to_parse = list(dict.fromkeys(each.text for extensions in tagged for each in extensions))
    trees = dict(zip(to_parse, parser.parse([tokens[t] for t in to_parse]), strict=True))
    return [
        [
            Extended(extension, ParsedSentence(text, tokens[text], tree))
            for candidate in extensions
            for text in (candidate.text,)
            if (tree := trees[text]) is not None
            and (extension := _as_parsed(candidate, tokens[text], tree)) is not None
        ]
        for extensions in tagged
    ]


def _tagged(extensions: Sequence[Extension], tagger: Tagger) -> dict[str, tuple[Token, ...]]:
    texts = list(dict.fromkeys(each.text for each in extensions))
    return dict(zip(texts, tagger.tag(texts), strict=True))


def _inside(tokens: Sequence[Token], word: InsertedWord) -> list[int]:
    return [n for n, t in enumerate(tokens) if word.start <= t.start and t.end <= word.end]


def _as_tagged(
    base: Source,
    extension: Extension,
    tokens: Sequence[Token],
    lexicon: Lexicon,
    grammar: ReferenceGrammar,
    tags: Collection[str],
) -> Extension | None:
    """The extension by the first two criteria; its sentence's own words keep their tags."""
    inside: set[int] = set()
    inserted: list[InsertedWord] = []
    for word in extension.inserted:
        numbers = _inside(tokens, word)
        words = [tokens[n] for n in numbers if tokens[n].tag != ","]
        if not words or words[-1].end != word.end - word.word.endswith(","):
            return None
        if len(words) == 1 and word.tag not in _PHRASES:
            word = replace(word, tag=words[0].tag)
        if extension.origin != "attested" and not all(
            lexicon.leaves_sentiment(w.text, w.tag, w.lemma) for w in words
        ):
            return None
        inserted.append(word)
        inside.update(numbers)
    rest = [token for n, token in enumerate(tokens) if n not in inside]
    # Behind a phrase that opens the extension, its first word has no capital.
    own, others = ([(t.text.lower(), t.tag) for t in each] for each in (base.parsed.tokens, rest))
    if own != others:
        return None
    if tuple(inserted) == extension.inserted:
        return extension
    return _licensed(base, extension, inserted, grammar, tags)


def _licensed(
    base: Source,
    extension: Extension,
    words: Sequence[InsertedWord],
    grammar: ReferenceGrammar,
    tags: Collection[str],
) -> Extension | None:
    """An extension whose words have other tags, with the productions that license these."""
    if not all(word.tag in tags or word.tag in _PHRASES for word in words):
        return None
    many = 1 if extension.second is not None else len(words)
    nodes = list(base.parsed.tree.nodes())
    places = [_place(base, words[: n + 1]) for n in range(len(words))]

    def found(meant: Production, first: int, last: int) -> Production | None:
        if tuple(words[first:last]) == extension.inserted[first:last]:
            return meant
        found_tags = [word.tag for word in words[first:last]]
        for node in nodes:
            if (node.label, node.child_labels) == (meant.lhs, meant.seed_rhs):
                rhs = _with_tags(node, places[first:last], found_tags)
                if rhs is not None and (probability := grammar.probability(meant.lhs, rhs)):
                    return replace(meant, reference_rhs=rhs, probability=round(probability, 8))
        return None

    firsts = (found(each, 0, many) for each in (extension.production, *extension.others))
    likeliest = sorted(filter(None, firsts), key=lambda each: -each.probability)
    second = extension.second and found(extension.second, many, len(words))
    if not likeliest or (extension.second is not None and second is None):
        return None
    return replace(
        extension,
        inserted=tuple(words),
        production=likeliest[0],
        others=tuple(likeliest[1:]),
        second=second,
    )


def _place(base: Source, words: Sequence[InsertedWord]) -> int:
    """Before which of the sentence's own tokens the last of the first few words stands."""
    *before, word = words
    # A space stands before it, but for a comma, or a full stop would seem to.
    offset = word.start - (not word.word.startswith(","))
    offset -= sum(len(word.word) + (not word.word.startswith(",")) for word in before)
    return sum(token.start < offset for token in base.parsed.tokens)


def _with_tags(node: Node, places: Sequence[int], tags: Sequence[str]) -> tuple[str, ...] | None:
    """What is below a node with words of these tags inserted; None if one is not below it."""
    starts = [child.start for child in node.children] + [node.end]
    if not set(places) <= set(starts):
        return None
    rhs: list[str] = []
    for number, start in enumerate(starts):
        rhs += [tag for place, tag in zip(places, tags, strict=True) if place == start]
        rhs += node.child_labels[number : number + 1]
    return tuple(rhs)


_PHRASES = frozenset({"ADJP", "ADVP", "NP", "PP", "PRN", "SBAR", "VP", "S"})


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


def _grown(base: Source, extension: Extension, tokens: Sequence[Token]) -> Extended | None:
    """The extension with its sentence's tree, grown where its productions say."""
    words, tree = extension.inserted, base.parsed.tree
    many = 1 if extension.second is not None else len(words)
    placed = [(_place(base, words[: n + 1]), word) for n, word in enumerate(words)]
    licensed = [(extension.production, placed[:many]), (extension.second, placed[many:])]
    for production, some in reversed(licensed):
        if production is not None:
            node = _that_grows(tree, production, [place for place, _ in some])
            if node is None:
                return None
            parts = [part for place, word in some for part in _parts(tokens, word, place)]
            tree = _with_parts(tree, node, production.lhs, parts)
    parsed = ParsedSentence(extension.text, tuple(tokens), _brackets(tree, count()))
    return Extended(replace(extension, others=()), parsed)


def _that_grows(tree: Node, production: Production, places: Collection[int]) -> Node | None:
    """What a production extends at some places: a node of its label, or what it is put over."""
    found = [
        node
        for node in tree.nodes()
        if set(places) <= {child.start for child in node.children} | {node.start, node.end}
    ]
    wanted = (
        lambda node: (node.label, node.child_labels) == (production.lhs, production.seed_rhs),
        lambda node: node.label == production.lhs,
        lambda node: (node.label,) == production.seed_rhs,
    )
    return next((node for fits in wanted for node in found if fits(node)), None)


def _parts(tokens: Sequence[Token], word: InsertedWord, place: int) -> list[Node]:
    """What was inserted before a token, with commas around it, under its label if a phrase's."""
    leaves = [Node(tokens[number].tag, (), place, place) for number in _inside(tokens, word)]
    if word.tag in _PHRASES:
        first, last = leaves[0].label == ",", len(leaves) - (leaves[-1].label == ",")
        leaves[first:last] = [Node(word.tag, tuple(leaves[first:last]), place, place)]
    return leaves


def _with_parts(tree: Node, node: Node, label: str, parts: Sequence[Node]) -> Node:
    """The tree with parts below a node, or below one of that label that is put over the node."""
    if tree != node:
        children = (_with_parts(child, node, label, parts) for child in tree.children)
        return replace(tree, children=tuple(children))
    below = node.children if node.label == label else (node,)
    # What is inserted at a place stands before what begins there.
    together = sorted([*parts, *below], key=lambda child: child.start)
    return Node(label, tuple(together), node.start, node.end)


def _brackets(node: Node, numbers: Iterator[int]) -> str:
    inner = [_brackets(child, numbers) for child in node.children] or [str(next(numbers))]
    return f"({node.label} {' '.join(inner)})"


def confirmed_in_paper_form(
    filled: Sequence[tuple[Seed, MaskedSentence, Sequence[Filling]]],
    forms: Mapping[str, Form],
    tagger: Tagger,
    lexicon: Lexicon,
) -> list[Expansion]:
    """The suggestions that meet S²LCT's three criteria, and nothing beside them, in their order.

    1. The tagger gives the word, in the filled sentence, the tag of its mask.
    2. The word is neutral: `Lexicon.is_neutral`.
    3. The filled sentence still meets its seed's search rule, where the capability keeps it.
    """
    candidates: list[tuple[Seed, Extension]] = []
    for seed, masked, fillings in filled:
        licence = masked.productions[0]
        for filling in fillings:
            text, words = masked.filled(filling.words)
            longer = Extension(
                text, words, "masked", licence, filling.score, masked_text=masked.text
            )
            candidates.append((seed, longer))
    tagged = _tagged([extension for _, extension in candidates], tagger)
    return [
        Expansion(
            case_id("expansion", seed.capability, extension.text),
            seed.id,
            extension.text,
            extension.inserted,
            extension,
        )
        for seed, extension in candidates
        if _meets_criteria(seed, extension, tagged[extension.text], forms[seed.capability], lexicon)
    ]


def _meets_criteria(
    seed: Seed, extension: Extension, tokens: Sequence[Token], form: Form, lexicon: Lexicon
) -> bool:
    by_place = {(token.start, token.end): token for token in tokens}
    for word in extension.inserted:
        token = by_place.get((word.start, word.end))
        if token is None or token.tag != word.tag:
            return False
        if not lexicon.is_neutral(word.word, word.tag, token.lemma):
            return False
    label = seed.sources[0].sentence.label
    return still_meets(form, label, ParsedSentence(extension.text, tuple(tokens), ""), lexicon)
