"""Select: corpus sentences that meet a slot's search rules, tagged and parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.corpus.clean import is_plain_sentence
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import ParsedSentence, Sentence, Source, Token
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.search import is_complete_sentence, meets_words
from s2lct.builder.stages.soundness import sound_sources


def select(
    searches: Sequence[tuple[Sequence[SearchRule], Sequence[Sentence]]],
    models: KeptModels,
    rules: BuildRules,
) -> list[list[Source]]:
    """For each search its sentences that meet one of its rules, in their order.

    Args:
        searches: search rules, with sentences that may meet them.
        models: tag and parse.
        rules: of the build.
    """
    if rules.takes_plain_sentences_only:
        searches = [
            (rule, [sentence for sentence in sentences if is_plain_sentence(sentence.text)])
            for rule, sentences in searches
        ]
    texts = list(dict.fromkeys(s.text for _, sentences in searches for s in sentences))
    tokens = dict(zip(texts, models.tag(texts), strict=True))
    matched = [
        matches(sentences, tokens, search_rules, Lexicon.load())
        for search_rules, sentences in searches
    ]
    texts = list(dict.fromkeys(sentence.text for group in matched for sentence, _ in group))
    trees = dict(zip(texts, models.parse([tokens[text] for text in texts]), strict=True))
    selected = [
        [
            Source(sentence, parsed)
            for sentence, rule in group
            if (tree := trees[sentence.text]) is not None
            and (parsed := ParsedSentence(sentence.text, tokens[sentence.text], tree))
            and (not rule.complete or is_complete_sentence(parsed))
        ]
        for group in matched
    ]
    if rules.soundness == "ignored":
        return selected
    sound = sound_sources([source for group in selected for source in group])
    return [
        [source for source in group if source in sound]
        + [s for s in group if s not in sound and rules.soundness == "preferred"]
        for group in selected
    ]


def matches(
    sentences: Sequence[Sentence],
    tokens: Mapping[str, Sequence[Token]],
    rules: Sequence[SearchRule],
    lexicon: Lexicon,
) -> list[tuple[Sentence, SearchRule]]:
    """Sentences that meet one of a slot's rules, as far as no tree is needed, with the rule.

    Args:
        sentences: of a corpus.
        tokens: of each, by its text.
        rules: of the slot; the first that a sentence meets counts.
        lexicon: says what words mean.
    """
    return [
        (sentence, rule)
        for sentence in sentences
        if (
            rule := next(
                (r for r in rules if meets_words(sentence, tokens[sentence.text], r, lexicon)), None
            )
        )
    ]
