"""The rules of a build: one record of settings for all stages, made once for each situation.

`rules_with_annotators` makes them for an annotated corpus, `rules_without_annotators` for one that
nobody annotated, and `curation_rules` for one that is being annotated.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from s2lct.builder.annotations import Annotations
from s2lct.builder.config import BuildConfig
from s2lct.builder.domains import Domain
from s2lct.builder.language.collocations import MODIFYING_TAGS, Collocations
from s2lct.builder.language.grammar import PhraseBank, shipped_phrase_bank
from s2lct.builder.language.lexicon import ASSERTIVE_WORDS, WORDS_DENIED_ALONE
from s2lct.builder.records import Sentence, sentence_id
from s2lct.labels import Label
from s2lct.plain_text import words

MIN_BATCH_SIZE = 8
"""The least number of sentences of a slot that are selected and shortened together."""
MAX_BATCH_SIZE = 1_000
"""The largest number of sentences of a slot that are selected and shortened together."""
MAX_SOURCES = 1_000
"""The largest number of sentences that fill a slot, unless more seeds are wanted."""
SENTENCES_PER_SEED_WITHOUT_ANNOTATORS = 3
"""In builds without annotators: the number of sentences that fill a slot, for each seed."""
MAX_SEEDS_OF_SENTENCE_IN_ALL = 3
"""The largest number of seeds of all capabilities with the same corpus sentence."""
MAX_SEEDS_OF_SENTENCE_IN_USER_CORPUS = 6
"""The same limit in a user's own annotated corpus, where few sentences are accepted."""
EXTENSIONS_PER_EXPANSION_WITHOUT_ANNOTATORS = 3
"""In builds without annotators: the number of extensions tried for each expansion."""
EXTENSIONS_TO_ANNOTATE_PER_SENTENCE = 8
"""The number of extensions of a sentence that annotators are asked about."""
MIN_SEEDS_TO_PREFER_EXPANSIONS = 10
"""If at least so many seeds are wanted, sentences with accepted expansions come first."""
ABOUT_GROUPS = words(
    "african arab asian black catholic christian fat gay hispanic islamic jew jewish latino "
    "lesbian muslim naked nazi negro nude porn porno queer racial rape sex sexual sexy slave "
    "transgender white"
)
"""Words that are never inserted, since a case must not turn to a group of people, or to sex."""


class AllBut(Container[object]):
    """A container of everything except some items."""

    def __init__(self, exceptions: Container[object] = ()) -> None:
        self._exceptions = exceptions

    def __contains__(self, item: object) -> bool:
        return item not in self._exceptions


@dataclass(frozen=True)
class BuildRules:
    """Settings of the stages of the fluent form.

    A *part* is a corpus sentence, or an *extension* of one: the sentence with words inserted that
    are masked words, phrases, or attested, which its own author wrote there.

    Attributes:
        seeds, expansions, masks, seed: the options of the build with these names.
        annotations: decide which cases are published.
        worth_processing: ids of sentences, of masked texts, and of sentences in a capability's
            seeds, from which an accepted case can come. Nothing is made of others.
        ids_in_expansions: ids of sentences in a capability's expansions; seeds with them come
            first.
        accepted_parts: pairs of an id and a label: the sentences and extensions that are allowed in
            cases with this label.
        undecided_parts: pairs as in ``accepted_parts``, of those that are to be annotated; only
            extensions with one insertion.
        accepted_extensions: ids of the extensions that are allowed in cases.
        faultless: ids of extensions that are tried even if they are improbable.
        max_sources: how many sentences fill a slot.
        batch_size: how many of these are selected and shortened together.
        max_seeds_of_sentence: how many seeds of all capabilities may share a corpus sentence.
        takes_plain_sentences_only: whether texts of the corpus that are no plain sentences are
            skipped.
        soundness: whether a sentence must be sound with a confirmed label (required), comes after
            those that are (preferred), or is not checked (ignored).
        keeps_complements: whether shortening a sentence keeps everything that it may need.
        prefers_shortened: whether sentences with shorter forms fill slots first.
        balances_capabilities: whether capabilities take turns, so that none gets more than twice
            the seeds of another that could have as many.
        may_deny_degree: whether a denial may deny only how good or bad something is.
        mask_tags: parts of speech of inserted words.
        masks_per_sentence: how many words are inserted at once; None for any number.
        collocations: the neighbours that inserted words were seen with; None for no such condition.
        phrases: the phrases that may be inserted.
        barred_words: words that are never inserted.
        inserts_in_pairs: whether two parts are inserted at once, too.
        parses_extensions: whether an extension is parsed; otherwise its sentence's tree is
            extended.
        requires_fluency: whether inserted words must be likely and grammatical, unless an author
            wrote them there.
        max_extensions: how many extensions of a sentence expansions are made of, the likeliest
            first.
        shunned_by_negation: words that are not inserted under negation.
        rewords_beside_adjectives: whether contrasts may be reworded beside other adjectives.
        limits_attested_insertions: whether the limits on frequent insertions hold for attested
            ones, too.
        domain_words: words of the domain, by class.
    """

    seeds: int
    expansions: int
    masks: int
    seed: int
    annotations: Annotations
    worth_processing: Container[object]
    ids_in_expansions: Collection[str]
    accepted_parts: Container[object]
    accepted_extensions: Container[object]
    faultless: Container[object]
    max_sources: int
    batch_size: int
    mask_tags: Sequence[str]
    masks_per_sentence: int | None
    barred_words: frozenset[str]
    domain_words: Mapping[str, frozenset[str]]
    undecided_parts: Container[object] = frozenset()
    max_seeds_of_sentence: int = MAX_SEEDS_OF_SENTENCE_IN_ALL
    takes_plain_sentences_only: bool = False
    soundness: Literal["required", "preferred", "ignored"] = "ignored"
    keeps_complements: bool = False
    prefers_shortened: bool = False
    balances_capabilities: bool = False
    may_deny_degree: bool = True
    collocations: Collocations | None = None
    phrases: PhraseBank = field(default_factory=dict)
    inserts_in_pairs: bool = True
    parses_extensions: bool = False
    requires_fluency: bool = False
    max_extensions: int = sys.maxsize
    shunned_by_negation: frozenset[str] = ASSERTIVE_WORDS
    rewords_beside_adjectives: bool = True
    limits_attested_insertions: bool = True

    def is_allowed_in_cases(self, id: str, label: Label) -> bool:
        """Whether a sentence with a label, or an extension of one, is allowed in cases."""
        return (id, label) in self.accepted_parts or (id, label) in self.undecided_parts


def rules_with_annotators(
    config: BuildConfig, domain: Domain, sentences: Sequence[Sentence], annotations: Annotations
) -> BuildRules:
    """The rules of a build in which annotators decide."""
    rules = _basic_rules(config, domain, sentences, annotations)
    if config.is_user_corpus:
        return replace(rules, max_seeds_of_sentence=MAX_SEEDS_OF_SENTENCE_IN_USER_CORPUS)
    phrases = {
        position: kept_phrases
        for position, phrases_at_position in shipped_phrase_bank().items()
        if (
            kept_phrases := [
                phrase
                for phrase in phrases_at_position
                if sentence_id(phrase.text) in rules.worth_processing
            ]
        )
    }
    return replace(rules, phrases=phrases)


def rules_without_annotators(
    config: BuildConfig, domain: Domain, sentences: Sequence[Sentence]
) -> BuildRules:
    """The rules of a build without annotators."""
    rules = _basic_rules(config, domain, sentences, Annotations(accepts_undecided=True))
    max_sources = rules.max_sources
    if config.seeds <= MAX_SOURCES:
        max_sources = min(
            MAX_SOURCES, max(MIN_BATCH_SIZE, config.seeds * SENTENCES_PER_SEED_WITHOUT_ANNOTATORS)
        )
    return replace(
        _with_insertion_checks(rules, sentences),
        accepted_parts=AllBut(),
        max_sources=max_sources,
        batch_size=max_sources if config.is_user_corpus else rules.batch_size,
        # A user's corpus is cleaned while it is read.
        takes_plain_sentences_only=not config.is_user_corpus,
        soundness="required",
        may_deny_degree=False,
        inserts_in_pairs=False,
        parses_extensions=True,
        requires_fluency=True,
        max_extensions=config.expansions * EXTENSIONS_PER_EXPANSION_WITHOUT_ANNOTATORS,
        shunned_by_negation=ASSERTIVE_WORDS | WORDS_DENIED_ALONE,
        rewords_beside_adjectives=False,
    )


def _basic_rules(
    config: BuildConfig, domain: Domain, sentences: Sequence[Sentence], annotations: Annotations
) -> BuildRules:
    """The rules that a situation starts from; a user's own corpus has more cautious ones."""
    index = annotations.index
    prefers_expansions = index is not None and config.seeds >= MIN_SEEDS_TO_PREFER_EXPANSIONS
    rules = BuildRules(
        seeds=config.seeds,
        expansions=config.expansions,
        masks=config.masks,
        seed=config.seed,
        annotations=annotations,
        worth_processing=AllBut() if index is None else index,
        ids_in_expansions=index if index is not None and prefers_expansions else frozenset(),
        accepted_parts=annotations.accepted_parts,
        accepted_extensions=AllBut() if index is None else annotations.in_cases,
        faultless=annotations.faultless,
        max_sources=MAX_SOURCES if config.seeds <= MAX_SOURCES else sys.maxsize,
        batch_size=min(max(MIN_BATCH_SIZE, config.seeds), MAX_BATCH_SIZE),
        mask_tags=config.mask_tags,
        masks_per_sentence=config.masks_per_sentence,
        barred_words=ABOUT_GROUPS | domain.foreign_words,
        domain_words=domain.word_classes,
    )
    if not config.is_user_corpus:
        return rules
    # No phrases: of 68 that were inserted by rule in users' corpora, only four were natural.
    return replace(
        _with_insertion_checks(rules, sentences),
        batch_size=rules.max_sources,
        prefers_shortened=True,
        balances_capabilities=True,
        limits_attested_insertions=False,
    )


def _with_insertion_checks(rules: BuildRules, sentences: Sequence[Sentence]) -> BuildRules:
    """The rules with checks of insertions, for corpora without shipped annotations."""
    if rules.collocations is not None:
        return rules
    return replace(
        rules,
        keeps_complements=True,
        collocations=Collocations.of_texts(sentence.text for sentence in sentences),
        mask_tags=[tag for tag in rules.mask_tags if tag in MODIFYING_TAGS],
        masks_per_sentence=1,
    )


def with_annotations(rules: BuildRules, annotations: Annotations) -> BuildRules:
    """The rules of the same build with annotations that were added since."""
    return replace(
        rules,
        annotations=annotations,
        accepted_parts=annotations.accepted_parts,
        faultless=annotations.faultless,
    )


def curation_rules(
    rules: BuildRules, annotations: Annotations, *, is_user_corpus: bool
) -> BuildRules:
    """The rules by which `curate` draws cases that annotators have not decided on yet.

    Args:
        rules: the rules of the build that is to have the annotations.
        annotations: annotations that accept undecided items.
        is_user_corpus: whether the corpus is a user's own, which nobody has read.
    """
    return replace(
        rules,
        annotations=annotations,
        undecided_parts=AllBut(annotations.refused_parts),
        soundness="preferred" if is_user_corpus else "ignored",
        may_deny_degree=not is_user_corpus,
        parses_extensions=True,
        requires_fluency=True,
        max_extensions=EXTENSIONS_TO_ANNOTATE_PER_SENTENCE,
    )
