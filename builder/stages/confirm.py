"""Confirm: insertions have the right tags, are neutral, and are parsed as they were proposed.

If annotators accepted an extension, its tree is its sentence's tree with the insertion. If nobody
read it, it is parsed again, and must be likely, grammatical and without an opinion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count

from s2lct.builder.kept_models import CachedModels, ConfirmedExtensions
from s2lct.builder.language.fluency import breaks_grammar
from s2lct.builder.language.grammar import Node, ReferenceGrammar, read_tree
from s2lct.builder.language.lexicon import Lexicon, score_distance, subjectivity
from s2lct.builder.records import Extension, InsertedWord, ParsedSentence, Production, Source, Token
from s2lct.builder.rules import BuildRules

MIN_SUBJECTIVITY_OF_OPINIONS = 0.5
"""Words this subjective are opinions, even if SentiWordNet finds no sentiment in them."""
MIN_SCORE = -7.0
"""The least mean log probability of masked words that nobody annotated."""
MAX_SHIFT = 0.3
"""How far an insertion may move the sentiment (-1 to 1), in the mean of the scorers."""


def confirm(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: CachedModels,
    rules: BuildRules,
) -> list[ConfirmedExtensions]:
    """For each sentence, the number of confirmed extensions, and the usable ones among them.

    The usable extensions are parsed.
    """
    confirmed = confirm_parses(sources, extensions, models, rules)
    usable = label_preserving(sources, confirmed, models, rules)
    return [(len(parsed), kept) for parsed, kept in zip(confirmed, usable, strict=True)]


def confirm_parses(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: CachedModels,
    rules: BuildRules,
) -> list[list[Extension]]:
    """The extensions of each sentence with the tags and the parse that were proposed, parsed.

    A word has the tag that the tagger finds. If it was proposed with another tag, the extension
    stays only if masks may have the new tag and the grammar allows it in this place.
    """
    texts = list(dict.fromkeys(each.text for group in extensions for each in group))
    tokens = dict(zip(texts, models.tag(texts), strict=True))
    lexicon, grammar = Lexicon.load(), ReferenceGrammar.load()
    tagged: list[list[Extension]] = []
    for source, proposed in zip(sources, extensions, strict=True):
        with_found_tags = (
            _with_found_tags(source, each, tokens[each.text], lexicon, grammar, rules.mask_tags)
            for each in proposed
        )
        # A word that was proposed with several tags has only one now.
        tagged.append(list(dict.fromkeys(filter(None, with_found_tags))))
    if not rules.parses_extensions:
        return [
            [
                confirmed
                for each in group
                if (confirmed := _with_grown_tree(source, each, tokens[each.text]))
            ]
            for source, group in zip(sources, tagged, strict=True)
        ]
    texts = list(dict.fromkeys(each.text for group in tagged for each in group))
    trees = dict(zip(texts, models.parse([tokens[text] for text in texts]), strict=True))
    return [
        [
            confirmed
            for each in group
            if (tree := trees[each.text]) is not None
            and (confirmed := _with_parse(each, tokens[each.text], tree)) is not None
        ]
        for group in tagged
    ]


def label_preserving(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: CachedModels,
    rules: BuildRules,
) -> list[list[Extension]]:
    """The extensions of each sentence that keep its label and read well, the likeliest first.

    Attested extensions were written by the author, and faultless ones accepted by annotators: only
    their sentiment is checked. Of one text from several origins, the last is kept.
    """
    fluent = [
        list({each.text: each for each in group if _reads_well(each, rules)}.values())
        for group in extensions
    ]
    texts = {source.text for source in sources} | {e.text for group in fluent for e in group}
    scores = dict(zip(texts, models.scores(texts), strict=True))
    return [
        sorted(
            (e for e in group if score_distance(scores[source.text], scores[e.text]) <= MAX_SHIFT),
            key=lambda extension: (-extension.score, extension.text),
        )
        for source, group in zip(sources, fluent, strict=True)
    ]


def _reads_well(extension: Extension, rules: BuildRules) -> bool:
    """Whether an extension is likely, grammatical and without an opinion, if the rules ask."""
    if not rules.requires_fluency or extension.origin == "attested":
        return True
    if extension.id in rules.faultless:
        return True
    if extension.score < MIN_SCORE:
        return False
    words = extension.inserted
    if any(subjectivity(word.word) >= MIN_SUBJECTIVITY_OF_OPINIONS for word in words):
        return False
    assert extension.parsed is not None
    tokens, starts = extension.parsed.tokens, {word.start for word in words}
    return not breaks_grammar(tokens, [n for n, t in enumerate(tokens) if t.start in starts])


def _numbers_of(tokens: Sequence[Token], word: InsertedWord) -> list[int]:
    """The numbers of the tokens of an inserted word or phrase."""
    return [n for n, t in enumerate(tokens) if word.start <= t.start and t.end <= word.end]


def _with_found_tags(
    base: Source,
    extension: Extension,
    tokens: Sequence[Token],
    lexicon: Lexicon,
    grammar: ReferenceGrammar,
    tags: Collection[str],
) -> Extension | None:
    """The extension with the tags that were found; None if it fails the first two criteria.

    The words of its sentence must keep their tags, and the inserted words must be neutral.
    """
    inside: set[int] = set()
    inserted: list[InsertedWord] = []
    for word in extension.inserted:
        numbers = _numbers_of(tokens, word)
        found = [tokens[n] for n in numbers if tokens[n].tag != ","]
        if not found or found[-1].end != word.end - word.word.endswith(","):
            return None
        if len(found) == 1 and word.tag not in _PHRASE_LABELS:
            word = replace(word, tag=found[0].tag)
        if extension.origin != "attested" and not all(
            lexicon.keeps_sentiment(w.text, w.tag, w.lemma) for w in found
        ):
            return None
        inserted.append(word)
        inside.update(numbers)
    other_tokens = [token for n, token in enumerate(tokens) if n not in inside]
    # After a phrase that opens the extension, the sentence's first word has no capital.
    base_words, other_words = (
        [(t.text.lower(), t.tag) for t in each] for each in (base.parsed.tokens, other_tokens)
    )
    if base_words != other_words:
        return None
    if tuple(inserted) == extension.inserted:
        return extension
    return _with_licences(base, extension, inserted, grammar, tags)


def _with_licences(
    base: Source,
    extension: Extension,
    words: Sequence[InsertedWord],
    grammar: ReferenceGrammar,
    tags: Collection[str],
) -> Extension | None:
    """The extension whose words have other tags, with the productions that license them.

    None if there are no such productions.
    """
    if not all(word.tag in tags or word.tag in _PHRASE_LABELS for word in words):
        return None
    split = 1 if extension.second is not None else len(words)
    nodes = list(base.parsed.tree.nodes())
    places = [_place_of(base, words[: n + 1]) for n in range(len(words))]

    def licence(proposed: Production, start: int, end: int) -> Production | None:
        """The production for the words from ``start`` to ``end``, exclusive; None if unknown."""
        if tuple(words[start:end]) == extension.inserted[start:end]:
            return proposed
        new_tags = [word.tag for word in words[start:end]]
        for node in nodes:
            if (node.label, node.child_labels) == (proposed.lhs, proposed.seed_rhs):
                rhs = _with_tags(node, places[start:end], new_tags)
                if rhs is not None and (probability := grammar.probability(proposed.lhs, rhs)):
                    return replace(proposed, reference_rhs=rhs, probability=round(probability, 8))
        return None

    licences = (licence(each, 0, split) for each in (extension.production, *extension.others))
    likeliest = sorted(filter(None, licences), key=lambda each: -each.probability)
    second = extension.second and licence(extension.second, split, len(words))
    if not likeliest or (extension.second is not None and second is None):
        return None
    return replace(
        extension,
        inserted=tuple(words),
        production=likeliest[0],
        others=tuple(likeliest[1:]),
        second=second,
    )


def _place_of(base: Source, words: Sequence[InsertedWord]) -> int:
    """The number of the sentence's token before which the last of the given words was inserted."""
    *earlier, word = words
    # A space precedes the word, except a comma; a full stop must not seem to come before it.
    offset = word.start - (not word.word.startswith(","))
    offset -= sum(len(word.word) + (not word.word.startswith(",")) for word in earlier)
    return sum(token.start < offset for token in base.parsed.tokens)


def _with_tags(node: Node, places: Sequence[int], tags: Sequence[str]) -> tuple[str, ...] | None:
    """The child labels of a node, with tags inserted at places.

    None if one of the places is not below the node.
    """
    starts = [child.start for child in node.children] + [node.end]
    if not set(places) <= set(starts):
        return None
    symbols: list[str] = []
    for number, start in enumerate(starts):
        symbols += [tag for place, tag in zip(places, tags, strict=True) if place == start]
        symbols += node.child_labels[number : number + 1]
    return tuple(symbols)


_PHRASE_LABELS = frozenset({"ADJP", "ADVP", "NP", "PP", "PRN", "SBAR", "VP", "S"})
"""The labels of phrases."""


def _with_parse(extension: Extension, tokens: tuple[Token, ...], tree: str) -> Extension | None:
    """The extension with the first of its productions that the new parse confirms."""
    words = extension.inserted
    if extension.second is not None:
        if not _are_children_of(words[1:], extension.second.lhs, tokens, tree):
            return None
        words = words[:1]
    for production in (extension.production, *extension.others):
        if _are_children_of(words, production.lhs, tokens, tree):
            parsed = ParsedSentence(extension.text, tokens, tree)
            return replace(extension, production=production, others=(), parsed=parsed)
    return None


def _are_children_of(
    words: Sequence[InsertedWord], lhs: str, tokens: Sequence[Token], tree: str
) -> bool:
    """Whether each inserted word is a child of a node with a label."""
    nodes = list(read_tree(tree).nodes())
    for word in words:
        numbers = [n for n in _numbers_of(tokens, word) if tokens[n].tag != ","]
        start, end = numbers[0], numbers[-1] + 1
        if not any(
            node.label == lhs
            and any(child.start == start and child.end == end for child in node.children)
            for node in nodes
        ):
            return False
    return True


def _with_grown_tree(
    base: Source, extension: Extension, tokens: tuple[Token, ...]
) -> Extension | None:
    """The extension with its sentence's tree, into which its productions insert the new words."""
    words, tree = extension.inserted, base.parsed.tree
    split = 1 if extension.second is not None else len(words)
    placed = [(_place_of(base, words[: n + 1]), word) for n, word in enumerate(words)]
    parts = [(extension.production, placed[:split]), (extension.second, placed[split:])]
    for production, insertions in reversed(parts):
        if production is not None:
            node = _node_to_grow(tree, production, [place for place, _ in insertions])
            if node is None:
                return None
            nodes = [
                part for place, word in insertions for part in _inserted_nodes(tokens, word, place)
            ]
            tree = _tree_with_nodes(tree, node, production.lhs, nodes)
    parsed = ParsedSentence(extension.text, tokens, _bracketed(tree, count()))
    return replace(extension, others=(), parsed=parsed)


def _node_to_grow(tree: Node, production: Production, places: Collection[int]) -> Node | None:
    """The node that a production extends at some places: its own node, or one that it covers."""
    nodes = [
        node
        for node in tree.nodes()
        if set(places) <= {child.start for child in node.children} | {node.start, node.end}
    ]
    conditions = (
        lambda node: (node.label, node.child_labels) == (production.lhs, production.seed_rhs),
        lambda node: node.label == production.lhs,
        lambda node: (node.label,) == production.seed_rhs,
    )
    return next((node for meets in conditions for node in nodes if meets(node)), None)


def _inserted_nodes(tokens: Sequence[Token], word: InsertedWord, place: int) -> list[Node]:
    """The nodes of an inserted word or phrase, with the commas around it.

    The words of a phrase are under a node with its label.
    """
    leaves = [Node(tokens[number].tag, (), place, place) for number in _numbers_of(tokens, word)]
    if word.tag in _PHRASE_LABELS:
        start, end = leaves[0].label == ",", len(leaves) - (leaves[-1].label == ",")
        leaves[start:end] = [Node(word.tag, tuple(leaves[start:end]), place, place)]
    return leaves


def _tree_with_nodes(tree: Node, node: Node, label: str, nodes: Sequence[Node]) -> Node:
    """The tree with nodes inserted below a node, or below a new node with a label over it."""
    if tree != node:
        children = (_tree_with_nodes(child, node, label, nodes) for child in tree.children)
        return replace(tree, children=tuple(children))
    old_children = node.children if node.label == label else (node,)
    # Inserted nodes come before the child that starts at the same token.
    new_children = sorted([*nodes, *old_children], key=lambda child: child.start)
    return Node(label, tuple(new_children), node.start, node.end)


def _bracketed(node: Node, numbers: Iterator[int]) -> str:
    """A tree in brackets, with token numbers as its leaves."""
    inner = [_bracketed(child, numbers) for child in node.children] or [str(next(numbers))]
    return f"({node.label} {' '.join(inner)})"
