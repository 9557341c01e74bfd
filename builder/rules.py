"""What differs between builds: one record of settings, made once for each situation.

The stages of the fluent form ask nothing but these rules: whether annotators read the corpus,
nobody did, or it is being curated shows in no stage.
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

MIN_BATCH, MAX_BATCH = 8, 1_000
"""Sentences of a slot that are selected and shortened together."""
MAX_SOURCES = 1_000
"""Sentences that fill a slot, unless more seeds are wanted."""
UNREAD_SOURCES_PER_SEED = 3
"""Sentences that fill a slot, for each seed wanted, where nobody annotated."""
SEEDS_OF_A_SENTENCE = 3
SEEDS_OF_A_SENTENCE_IN_READ_CORPUS = 6
"""In a user's own corpus that was annotated few sentences are accepted, so each serves more."""
UNREAD_EXTENSIONS_PER_EXPANSION = 3
"""Extensions of a sentence, for each expansion wanted, to choose from where nobody annotated."""
EXTENSIONS_READ_PER_SENTENCE = 8
"""Extensions of a sentence that annotators are asked about."""
MIN_SEEDS_TO_PREFER_EXPANSIONS = 10
"""With fewer seeds sentences are taken in drawing order, whether or not they have expansions."""
ABOUT_GROUPS = words(
    "african arab asian black catholic christian fat gay hispanic islamic jew jewish latino "
    "lesbian muslim naked nazi negro nude porn porno queer racial rape sex sexual sexy slave "
    "transgender white"
)
"""Not inserted: a case about a film does not become one about a group of people, or about sex."""


class AllBut(Container[object]):
    """Contains everything apart from some exceptions."""

    def __init__(self, exceptions: Container[object] = ()) -> None:
        self._exceptions = exceptions

    def __contains__(self, item: object) -> bool:
        return item not in self._exceptions


@dataclass(frozen=True)
class BuildRules:
    """Settings of the fluent form's stages.

    Attributes:
        seeds, expansions, masks, seed: the options of the build of these names.
        annotations: decide which cases are published.
        worth_processing: ids of sentences, of texts with masks and of sentences in a capability's
            seeds from which something accepted can come; nothing is made of others.
        in_expansions: ids of sentences in a capability's expansions; seeds with them come first.
        accepted_parts: ids of sentences and extensions that may stand in cases, with their label.
        undecided_parts: the same of those that are to be annotated; insertions of one part alone.
        accepted_extensions: ids of extensions that a sentence may have in cases.
        faultless: ids of extensions that are tried however unlikely they are.
        max_sources: sentences that fill a slot.
        batch: of these, how many are selected and shortened together.
        max_seeds_of_sentence: seeds of all capabilities that a corpus sentence may be in.
        takes_plain_sentences_only: whether other texts of the corpus are passed over.
        soundness: whether a sentence must show by itself that it is sound and its label right, or
            comes behind those that do, or nothing is asked.
        keeps_complements: whether shortening a sentence keeps all that it may need.
        shortened_first: whether sentences that have shorter forms fill slots first.
        shares_sentences: whether no capability gets more than twice the seeds of another that
            could have as many.
        denies_degrees: whether a denial may deny no more than how good or bad something is.
        mask_tags: parts of speech of inserted words.
        masks_per_sentence: how many words are inserted at once; None for any number.
        collocations: what must have stood beside an inserted word before; None for no demand.
        phrases: inserted phrases.
        barred_words: are never inserted.
        inserts_in_pairs: whether two parts are inserted at once, too.
        parses_extensions: whether an extension is parsed, instead of growing its sentence's tree.
        requires_fluency: whether words that nobody wrote there must be likely and grammatical.
        max_extensions: of a sentence, the likeliest, from which expansions are made.
        shunned_by_negation: words that are inserted under no negation.
        rewords_freely: whether contrasts may be reworded where other adjectives stand.
        limits_authors_words: whether what authors wrote counts among insertions chosen too often.
        domain_words: words of the domain, by class.
    """

    seeds: int
    expansions: int
    masks: int
    seed: int
    annotations: Annotations
    worth_processing: Container[object]
    in_expansions: Collection[str]
    accepted_parts: Container[object]
    accepted_extensions: Container[object]
    faultless: Container[object]
    max_sources: int
    batch: int
    mask_tags: Sequence[str]
    masks_per_sentence: int | None
    barred_words: frozenset[str]
    domain_words: Mapping[str, frozenset[str]]
    undecided_parts: Container[object] = frozenset()
    max_seeds_of_sentence: int = SEEDS_OF_A_SENTENCE
    takes_plain_sentences_only: bool = False
    soundness: Literal["required", "preferred", "ignored"] = "ignored"
    keeps_complements: bool = False
    shortened_first: bool = False
    shares_sentences: bool = False
    denies_degrees: bool = True
    collocations: Collocations | None = None
    phrases: PhraseBank = field(default_factory=dict)
    inserts_in_pairs: bool = True
    parses_extensions: bool = False
    requires_fluency: bool = False
    max_extensions: int = sys.maxsize
    shunned_by_negation: frozenset[str] = ASSERTIVE_WORDS
    rewords_freely: bool = True
    limits_authors_words: bool = True

    def may_stand(self, id: str, label: Label) -> bool:
        """Whether a sentence of a label, or an extension of one, may stand in a case."""
        return (id, label) in self.accepted_parts or (id, label) in self.undecided_parts


def annotated_rules(
    config: BuildConfig, domain: Domain, sentences: Sequence[Sentence], annotations: Annotations
) -> BuildRules:
    """Rules of a build for which annotators decide."""
    rules = _basic_rules(config, domain, sentences, annotations)
    if config.is_user_corpus:
        return replace(rules, max_seeds_of_sentence=SEEDS_OF_A_SENTENCE_IN_READ_CORPUS)
    phrases = {
        where: kept
        for where, bank in shipped_phrase_bank().items()
        if (kept := [each for each in bank if sentence_id(each.text) in rules.worth_processing])
    }
    return replace(rules, phrases=phrases)


def unread_rules(config: BuildConfig, domain: Domain, sentences: Sequence[Sentence]) -> BuildRules:
    """Rules of a build that nobody annotates."""
    rules = _basic_rules(config, domain, sentences, Annotations(accepts_undecided=True))
    max_sources = rules.max_sources
    if config.seeds <= MAX_SOURCES:
        max_sources = min(MAX_SOURCES, max(MIN_BATCH, config.seeds * UNREAD_SOURCES_PER_SEED))
    return replace(
        _guarded(rules, sentences),
        accepted_parts=AllBut(),
        max_sources=max_sources,
        batch=max_sources if config.is_user_corpus else rules.batch,
        # A user's corpus is cleaned while it is read.
        takes_plain_sentences_only=not config.is_user_corpus,
        soundness="required",
        denies_degrees=False,
        inserts_in_pairs=False,
        parses_extensions=True,
        requires_fluency=True,
        max_extensions=config.expansions * UNREAD_EXTENSIONS_PER_EXPANSION,
        shunned_by_negation=ASSERTIVE_WORDS | WORDS_DENIED_ALONE,
        rewords_freely=False,
    )


def _basic_rules(
    config: BuildConfig, domain: Domain, sentences: Sequence[Sentence], annotations: Annotations
) -> BuildRules:
    index = annotations.index
    prefers_expansions = index is not None and config.seeds >= MIN_SEEDS_TO_PREFER_EXPANSIONS
    rules = BuildRules(
        seeds=config.seeds,
        expansions=config.expansions,
        masks=config.masks,
        seed=config.seed,
        annotations=annotations,
        worth_processing=AllBut() if index is None else index,
        in_expansions=index if index is not None and prefers_expansions else frozenset(),
        accepted_parts=annotations.accepted_parts,
        accepted_extensions=AllBut() if index is None else annotations.in_cases,
        faultless=annotations.faultless,
        max_sources=MAX_SOURCES if config.seeds <= MAX_SOURCES else sys.maxsize,
        batch=min(max(MIN_BATCH, config.seeds), MAX_BATCH),
        mask_tags=config.mask_tags,
        masks_per_sentence=config.masks_per_sentence,
        barred_words=ABOUT_GROUPS | domain.foreign_words,
        domain_words=domain.word_classes,
    )
    if not config.is_user_corpus:
        return rules
    # No phrases: of 68 that were attached by rule in users' corpora, four were natural.
    return replace(
        _guarded(rules, sentences),
        batch=rules.max_sources,
        shortened_first=True,
        shares_sentences=True,
        limits_authors_words=False,
    )


def _guarded(rules: BuildRules, sentences: Sequence[Sentence]) -> BuildRules:
    """Rules by which an insertion must show by itself that it reads well."""
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
    """The rules of the same build by other annotations, which have no index."""
    return replace(
        rules,
        annotations=annotations,
        accepted_parts=annotations.accepted_parts,
        faultless=annotations.faultless,
    )


def curation_rules(
    rules: BuildRules, annotations: Annotations, *, is_user_corpus: bool
) -> BuildRules:
    """Rules by which what annotators have not decided yet is drawn for them.

    Args:
        rules: of the build that is to have the annotations.
        annotations: accept what is undecided.
        is_user_corpus: whether nobody knows the corpus.
    """
    return replace(
        rules,
        annotations=annotations,
        undecided_parts=AllBut(annotations.refused_parts),
        soundness="preferred" if is_user_corpus else "ignored",
        denies_degrees=not is_user_corpus,
        parses_extensions=True,
        requires_fluency=True,
        max_extensions=EXTENSIONS_READ_PER_SENTENCE,
    )
