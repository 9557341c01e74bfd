"""Extend: sentences with words or phrases inserted, from three origins (S²LCT, Algorithm 1).

*Masked* words come from the masked language model, *phrases* from the bank of what reviewers write,
and *attested* ones stood in the author's own sentence, which was shortened to be a seed's. Whatever
the origin, an extension must have the right tags, be neutral, and be parsed as it was meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path

from s2lct.builder.language.articles import takes_an
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.language.operations import Analysis
from s2lct.builder.language.phrases import Phrase, PhraseBank
from s2lct.builder.language.tree import Node, read_tree
from s2lct.builder.models import ConstituencyParser, MaskedLanguageModel, Tagger
from s2lct.builder.sources import Extension, Origin, Source, sentence_id
from s2lct.builder.stages import fill, mask
from s2lct.builder.stages.reduce import Attachment, Reduction, head_of, reductions
from s2lct.builder.stages.validate import fitting_words
from s2lct.suite.records import (
    FilledSentence,
    InsertedWord,
    ParsedRegion,
    ParsedSeed,
    Production,
    Region,
    Seed,
    Token,
)

CONNECTIVES = Path(__file__).parents[1] / "data" / "connectives.txt"
WORDS_OF_A_MASK = 1
OF_ONE_PLACE = 2
LONGEST_FUNCTION_WORD = 3


@dataclass(frozen=True, slots=True)
class _Piece:
    """Something to insert before token number ``place``."""

    place: int
    text: str
    tag: str


@cache
def connectives() -> frozenset[str]:
    """Adverbs and conjunctions that lean on a sentence before: see the file's first lines."""
    lines = CONNECTIVES.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")


def shortened(
    analysis: Analysis,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attached: Mapping[Attachment, float],
) -> dict[str, tuple[Extension, ...]]:
    """Shorter forms of an author's sentence, each with the longer forms that extend it.

    Without one part, the author's own sentence is the extension; without two, the sentence without
    either of them is.
    """
    found = [
        one
        for one in reductions(analysis, grammar, lexicon, attached)
        if one.removed.strip(", ").lower() not in connectives()
    ]
    shorter: dict[str, tuple[Extension, ...]] = {
        one.text: (_attested(analysis, one, ()),) for one in found
    }
    for first, second in combinations(sorted(found, key=lambda one: one.first), 2):
        if first.last < second.first:
            text = _cut(analysis, (first, second))
            longer = (_attested(analysis, first, (second,)), _attested(analysis, second, (first,)))
            shorter.setdefault(text, longer)
    return shorter


def _cut(analysis: Analysis, removed: Sequence[Reduction]) -> str:
    """The sentence without some of its parts, which stand apart, from left to right."""
    text, last = "", 0
    for one in removed:
        text += analysis.text[last : analysis.tokens[one.first - 1].end]
        last = analysis.tokens[one.last - 1].end
    return text + analysis.text[last:]


def _attested(analysis: Analysis, kept: Reduction, removed: Sequence[Reduction]) -> Extension:
    """The sentence without the removed parts, as what extends it by the kept one."""
    text = _cut(analysis, removed)
    start = analysis.tokens[kept.first].start
    start -= sum(
        analysis.tokens[one.last - 1].end - analysis.tokens[one.first - 1].end
        for one in removed
        if one.first < kept.first
    )
    word = InsertedWord(kept.removed, kept.label, start, start + len(kept.removed))
    return Extension(sentence_id(text), text, (word,), "attested", kept.production)


def masked_extensions(
    sources: Sequence[Source],
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    mlm: MaskedLanguageModel,
    *,
    tags: Sequence[str],
    masks: int,
    masks_per_sentence: int,
    order: str,
    suggestions: int,
    seed: int,
) -> list[list[Extension]]:
    """Extensions by the masked language model, the likeliest words of each masked sentence.

    Args:
        sources: the sentences.
        grammar: says what may be inserted where.
        lexicon: says what is neutral.
        mlm: proposes words.
        tags: parts of speech that may become masks.
        masks: masked sentences drawn for a sentence (the paper's k).
        masks_per_sentence: most masks in one of them.
        order: see `s2lct.builder.stages.mask.mask`.
        suggestions: words asked for a mask, of which `WORDS_OF_A_MASK` are taken.
        seed: of the random draw.
    """
    parsed = [_as_seed(source) for source in sources]
    drawn = mask.mask(
        parsed,
        grammar,
        masked_per_seed=masks,
        masks_per_sentence=masks_per_sentence,
        order=order,
        tags=tags,
        seed=seed,
    )

    @cache
    def fitting(tag: str) -> frozenset[str]:
        words = fitting_words(mlm.words, tag, lexicon)
        return frozenset(word for word in words if word not in connectives())

    filled = fill.fill(drawn, mlm, suggestions=suggestions, fitting=fitting)
    of_source: dict[str, list[Extension]] = {one.seed.id: [] for one in parsed}
    by_id = {one.seed.id: source for one, source in zip(parsed, sources, strict=True)}
    for one in filled:
        source = by_id[one.masked.seed_id]
        of_source[one.masked.seed_id] += _filled(one, source)
    return [of_source[one.seed.id] for one in parsed]


def _as_seed(source: Source) -> ParsedSeed:
    region = Region("S", 0, len(source.text), 0)
    label = source.sentence.label
    seed = Seed(
        id=sentence_id(source.text),
        capability="",
        text=source.text,
        labels=(label,),
        label=label,
        template="",
        sources=(source.sentence,),
        regions=(region,),
    )
    return ParsedSeed(seed, (ParsedRegion(region, source.tokens, source.tree),))


def _filled(one: FilledSentence, source: Source) -> Iterator[Extension]:
    own = {form for t in source.tokens for form in (t.text.lower(), t.lemma.lower())}
    taken = 0
    for suggestion in one.suggestions:
        if any(word.lower() in own for word in suggestion.words) or taken == WORDS_OF_A_MASK:
            continue
        pieces = [
            _Piece(place, word, found.tag)
            for place, word, found in zip(
                one.masked.places, suggestion.words, one.masked.masks, strict=True
            )
        ]
        extension = _inserted(source, pieces, "masked", one.masked.production, suggestion.score)
        if extension is not None:
            taken += 1
            others = tuple(reading.production for reading in one.masked.readings[1:])
            yield replace(extension, others=others)


def phrase_extensions(
    source: Source, bank: PhraseBank, grammar: ReferenceGrammar, *, most: int
) -> list[Extension]:
    """Extensions by phrases that reviewers add to the same head at such a place.

    Those that go with that head most come first (`Phrase.strength`); of one place and label no
    more than two are taken.
    """
    own = {form for t in source.tokens for form in (t.text.lower(), t.lemma.lower())}
    ranked: list[tuple[tuple[float, str], Extension, tuple[int, str]]] = []
    for node in source.analysis.tree.nodes():
        for number in range(1, len(node.children) + 1):
            place = node.children[number].start if number < len(node.children) else node.end
            left = node.children[number - 1].label
            for phrase, production in _phrases_at(node, number, left, bank, grammar):
                words = phrase.text.lower().replace(",", " ").split()
                head = _head_at(source.tokens, node, number, phrase)
                strength = phrase.strength(head)
                if not strength or " ".join(words) in connectives():
                    continue
                if any(word in own and len(word) > LONGEST_FUNCTION_WORD for word in words):
                    continue
                piece = _Piece(place, phrase.text, phrase.label)
                extension = _inserted(source, [piece], "phrase", production, 0.0)
                if extension is not None:
                    rank = (-strength, phrase.text)
                    ranked.append((rank, extension, (place, phrase.label)))
    taken: list[Extension] = []
    at_place: Counter[tuple[int, str]] = Counter()
    for _, extension, where in sorted(ranked, key=lambda one: one[0]):
        if at_place[where] < OF_ONE_PLACE and len(taken) < most:
            at_place[where] += 1
            taken.append(extension)
    return taken


def _phrases_at(
    node: Node, number: int, left: str, bank: PhraseBank, grammar: ReferenceGrammar
) -> Iterator[tuple[Phrase, Production]]:
    labels = node.child_labels
    licensed: dict[tuple[str, bool], Production | None] = {}
    for phrase in bank.at(node.label, left):
        if left == node.label and phrase.label not in ("PP", "SBAR", "VP", "ADVP"):
            continue
        key = (phrase.label, phrase.text.startswith(","))
        if key not in licensed:
            rhs = (*labels[:number], phrase.label, *labels[number:])
            known = grammar.counts.get((node.label, rhs))
            licensed[key] = (
                Production(node.label, labels, rhs, round(grammar.probability(node.label, rhs), 8))
                if known
                else None
            )
        production = licensed[key]
        if production is not None:
            yield phrase, production


def _head_at(tokens: Sequence[Token], node: Node, number: int, phrase: Phrase) -> str | None:
    if node.label == "NP" and " " not in phrase.text and phrase.label != "ADVP":
        nouns = [c for c in node.children[number:] if c.is_word and c.label.startswith("NN")]
        return tokens[nouns[-1].start].lemma.lower() if nouns else None
    return head_of(tokens, Node(node.label, (*node.children[:number], node), 0, 1), number)


def _inserted(
    source: Source,
    pieces: Sequence[_Piece],
    origin: Origin,
    production: Production,
    score: float,
) -> Extension | None:
    """The sentence with pieces inserted; None where one cannot stand."""
    tokens = source.tokens
    text = ""
    last = 0
    inserted: list[InsertedWord] = []
    region = ParsedRegion(Region("S", 0, len(source.text), 0), tokens, source.tree)
    for piece in pieces:
        spot = mask.mask_offset(region, piece.place)
        if spot is None or _clashes(tokens, piece):
            return None
        offset, before = spot
        if piece.text.startswith(","):
            offset, before = tokens[piece.place - 1].end, False
        text += source.text[last:offset]
        glued = piece.text.startswith(",")
        text += "" if before or glued else " "
        inserted.append(InsertedWord(piece.text, piece.tag, len(text), len(text) + len(piece.text)))
        text += piece.text + (" " if before else "")
        last = offset
    text += source.text[last:]
    return Extension(sentence_id(text), text, tuple(inserted), origin, production, score)


def _clashes(tokens: Sequence[Token], piece: _Piece) -> bool:
    """Whether it repeats a neighbour or breaks an article's agreement with a sound."""
    left = tokens[piece.place - 1].text.lower()
    right = tokens[piece.place].text.lower() if piece.place < len(tokens) else ""
    words = piece.text.strip(", ").lower().split()
    if words[0] == left or words[-1] == right:
        return True
    if left in ("a", "an") and (left == "an") != takes_an(words[0]):
        return True
    return words[-1] in ("a", "an") and (words[-1] == "an") != takes_an(right)


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
    for production in (extension.production, *extension.others):
        if _stands(extension, production.lhs, tokens, tree):
            return replace(extension, production=production, others=())
    return None


def _stands(extension: Extension, lhs: str, tokens: Sequence[Token], tree: str) -> bool:
    """Whether what was inserted stands under the node that was extended."""
    nodes = list(read_tree(tree).nodes())
    for word in extension.inserted:
        numbers = [n for n in _inside(tokens, word) if tokens[n].tag != ","]
        first, last = numbers[0], numbers[-1] + 1
        if not any(
            node.label == lhs
            and any(child.start == first and child.end == last for child in node.children)
            for node in nodes
        ):
            return False
    return True
