"""Select: corpus sentences that meet a slot's search rules, tagged and parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.corpus.clean import is_plain_sentence
from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import ParsedSentence, Sentence, Source, Token
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.search import is_complete_sentence, meets_without_tree
from s2lct.builder.stages.soundness import sound_sources


def select(
    searches: Sequence[tuple[Sequence[SearchRule], Sequence[Sentence]]],
    models: CachedModels,
    rules: BuildRules,
) -> list[list[Source]]:
    """The sentences of each search that meet one of its rules, in their order.

    Args:
        searches: search rules, each with the sentences that may meet them.
        models: tag and parse the sentences.
        rules: the rules of the build.
    """
    if rules.takes_plain_sentences_only:
        searches = [
            (rule, [sentence for sentence in sentences if is_plain_sentence(sentence.text)])
            for rule, sentences in searches
        ]
    texts = list(dict.fromkeys(s.text for _, sentences in searches for s in sentences))
    tokens_of_text = dict(zip(texts, models.tag(texts), strict=True))
    matches_of_searches = [
        matches(sentences, tokens_of_text, search_rules, Lexicon.load())
        for search_rules, sentences in searches
    ]
    texts = list(
        dict.fromkeys(sentence.text for group in matches_of_searches for sentence, _ in group)
    )
    tree_of_text = dict(
        zip(texts, models.parse([tokens_of_text[text] for text in texts]), strict=True)
    )
    sources_of_searches = [
        [
            Source(sentence, parsed)
            for sentence, rule in group
            if (tree := tree_of_text[sentence.text]) is not None
            and (parsed := ParsedSentence(sentence.text, tokens_of_text[sentence.text], tree))
            and (not rule.complete or is_complete_sentence(parsed))
        ]
        for group in matches_of_searches
    ]
    if rules.soundness == "ignored":
        return sources_of_searches
    sound = sound_sources([source for group in sources_of_searches for source in group])
    return [
        [source for source in group if source in sound]
        + [s for s in group if s not in sound and rules.soundness == "preferred"]
        for group in sources_of_searches
    ]


def matches(
    sentences: Sequence[Sentence],
    tokens_of_text: Mapping[str, Sequence[Token]],
    rules: Sequence[SearchRule],
    lexicon: Lexicon,
) -> list[tuple[Sentence, SearchRule]]:
    """The sentences that meet one of a slot's rules, each with the first rule that it meets.

    Rules on the parse tree are not checked.

    Args:
        sentences: sentences of a corpus.
        tokens_of_text: the tokens of each sentence, by its text.
        rules: the search rules of the slot.
        lexicon: gives the sentiment of words.
    """
    return [
        (sentence, rule)
        for sentence in sentences
        if (
            rule := next(
                (
                    r
                    for r in rules
                    if meets_without_tree(sentence, tokens_of_text[sentence.text], r, lexicon)
                ),
                None,
            )
        )
    ]
