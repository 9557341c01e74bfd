"""Attested extensions: an author's sentence without its neutral parts, and with some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.operations import Analysis
from s2lct.builder.language.phrases import connectives
from s2lct.builder.sources import Extension, Origin, sentence_id
from s2lct.builder.stages.reduce import Attachment, Reduction, reductions
from s2lct.suite.records import InsertedWord


def shortened(
    analysis: Analysis,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attached: Mapping[Attachment, float],
) -> dict[str, tuple[Extension, ...]]:
    """Shorter forms of an author's sentence, each with the longer forms that extend it.

    Without one part, the author's own sentence is the extension; without two, the author's own and
    the sentences without either of them are.
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
            both = paired(text, longer)
            shorter.setdefault(text, (*longer, *both))
    return shorter


def paired(text: str, extensions: Sequence[Extension]) -> list[Extension]:
    """Two extensions of a sentence at once, for each two of one part each at different places.

    Such an extension's origin is `masked` if either is, `attested` only if both are.

    Args:
        text: the sentence.
        extensions: extensions of it.
    """
    single = [(_insertion(text, one), one) for one in extensions if len(one.inserted) == 1]
    found: dict[str, Extension] = {}
    for (first_at, first_text), first in single:
        for (second_at, second_text), second in single:
            if first_at >= second_at:
                continue
            longer = text[:first_at] + first_text + text[first_at:second_at]
            longer += second_text + text[second_at:]
            (word,), (behind,) = first.inserted, second.inserted
            behind = replace(
                behind, start=behind.start + len(first_text), end=behind.end + len(first_text)
            )
            if not all(longer[w.start : w.end] == w.word for w in (word, behind)):
                continue
            if not set(word.word.lower().split()).isdisjoint(behind.word.lower().split()):
                continue
            scores = [one.score for one in (first, second) if one.origin == "masked"]
            pair = Extension(
                sentence_id(longer),
                longer,
                (word, behind),
                min(first.origin, second.origin, key=_LEAST_ATTESTED.index),
                first.production,
                min(scores, default=0.0),
                first.others,
                second.production,
            )
            found.setdefault(longer, pair)
    return list(found.values())


_LEAST_ATTESTED: Sequence[Origin] = ("masked", "phrase", "attested")


def _insertion(text: str, extension: Extension) -> tuple[int, str]:
    """Where a sentence goes on in its extension, and what was inserted there, spaces included."""
    added = len(extension.text) - len(text)
    at = next(
        (n for n, (a, b) in enumerate(zip(text, extension.text, strict=False)) if a != b),
        len(text),
    )
    return at, extension.text[at : at + added]


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
