"""Confirm: what was inserted has the right tags, is neutral, and is parsed as it was meant.

What annotators accepted has its sentence's tree with the insertion in its place; where nobody read
it, it is parsed again, and must be likely, grammatical and of no opinion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count

from s2lct.builder.kept_models import Extended, KeptModels
from s2lct.builder.language.fluency import breaks_grammar
from s2lct.builder.language.grammar import Node, ReferenceGrammar, read_tree
from s2lct.builder.language.lexicon import Lexicon, score_distance, subjectivity
from s2lct.builder.records import Extension, InsertedWord, ParsedSentence, Production, Source, Token
from s2lct.builder.rules import BuildRules

MIN_SUBJECTIVITY_OF_OPINIONS = 0.5
"""Words this subjective are opinions, whatever SentiWordNet says of their sentiment."""
MIN_SCORE = -7.0
"""Least mean log probability of masked words that nobody annotated."""
MAX_SHIFT = 0.3
"""How far what is inserted may move the sentiment (-1 to 1), in the mean of the scorers."""


def confirm(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: KeptModels,
    rules: BuildRules,
) -> list[Extended]:
    """For each sentence, how many extensions are as they were meant, and those of use, parsed."""
    confirmed = as_meant(sources, extensions, models, rules)
    usable = label_preserving(sources, confirmed, models, rules)
    return [(len(meant), some) for meant, some in zip(confirmed, usable, strict=True)]


def as_meant(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: KeptModels,
    rules: BuildRules,
) -> list[list[Extension]]:
    """The extensions of each sentence that are as they were meant, parsed.

    A word is what the tagger says it is: one that was proposed as a noun and is an adjective here
    stands if masks may have that tag and the grammar lets it stand there; that is its tag then.
    """
    texts = list(dict.fromkeys(each.text for group in extensions for each in group))
    tokens = dict(zip(texts, models.tag(texts), strict=True))
    lexicon, grammar = Lexicon.load(), ReferenceGrammar.load()
    tagged: list[list[Extension]] = []
    for source, proposed in zip(sources, extensions, strict=True):
        as_tagged = (
            _as_tagged(source, each, tokens[each.text], lexicon, grammar, rules.mask_tags)
            for each in proposed
        )
        # Proposed as several parts of speech, a word has one of them.
        tagged.append(list(dict.fromkeys(filter(None, as_tagged))))
    if not rules.parses_extensions:
        return [
            [longer for each in group if (longer := _grown(source, each, tokens[each.text]))]
            for source, group in zip(sources, tagged, strict=True)
        ]
    texts = list(dict.fromkeys(each.text for group in tagged for each in group))
    trees = dict(zip(texts, models.parse([tokens[text] for text in texts]), strict=True))
    return [
        [
            longer
            for each in group
            if (tree := trees[each.text]) is not None
            and (longer := _as_parsed(each, tokens[each.text], tree)) is not None
        ]
        for group in tagged
    ]


def label_preserving(
    sources: Sequence[Source],
    extensions: Sequence[Sequence[Extension]],
    models: KeptModels,
    rules: BuildRules,
) -> list[list[Extension]]:
    """The extensions of each sentence that leave its label right and read well, likeliest first.

    An author wrote what is attested, and annotators accepted what is faultless: only its sentiment
    is asked about. Of one text from several origins the last counts.
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
            lexicon.keeps_sentiment(w.text, w.tag, w.lemma) for w in words
        ):
            return None
        inserted.append(word)
        inside.update(numbers)
    rest = [token for n, token in enumerate(tokens) if n not in inside]
    # Behind a phrase that opens the extension, its first word has no capital.
    words_of_base, words_of_rest = (
        [(t.text.lower(), t.tag) for t in each] for each in (base.parsed.tokens, rest)
    )
    if words_of_base != words_of_rest:
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


def _as_parsed(extension: Extension, tokens: tuple[Token, ...], tree: str) -> Extension | None:
    """The extension with the first of its productions that the new parse bears out."""
    words = extension.inserted
    if extension.second is not None:
        if not _stand(words[1:], extension.second.lhs, tokens, tree):
            return None
        words = words[:1]
    for production in (extension.production, *extension.others):
        if _stand(words, production.lhs, tokens, tree):
            parsed = ParsedSentence(extension.text, tokens, tree)
            return replace(extension, production=production, others=(), parsed=parsed)
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


def _grown(base: Source, extension: Extension, tokens: tuple[Token, ...]) -> Extension | None:
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
    parsed = ParsedSentence(extension.text, tokens, _brackets(tree, count()))
    return replace(extension, others=(), parsed=parsed)


def _that_grows(tree: Node, production: Production, places: Collection[int]) -> Node | None:
    """What a production extends at some places: a node of its label, or what it is put over."""
    nodes = [
        node
        for node in tree.nodes()
        if set(places) <= {child.start for child in node.children} | {node.start, node.end}
    ]
    wanted = (
        lambda node: (node.label, node.child_labels) == (production.lhs, production.seed_rhs),
        lambda node: node.label == production.lhs,
        lambda node: (node.label,) == production.seed_rhs,
    )
    return next((node for fits in wanted for node in nodes if fits(node)), None)


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
