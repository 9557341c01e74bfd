"""What a build is made of, read and checked before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.domains import Domain
from s2lct.builder.kept_models import LoadedModels
from s2lct.builder.language.collocations import MODIFYING_TAGS, Collocations
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import Sentence


@dataclass(frozen=True)
class Inputs:
    """What a build is made of, annotations apart.

    Attributes:
        config: its options, the capabilities' ids as their files write them.
        domain: what it speaks of.
        capabilities: what is built.
        corpora: the corpus, and the neutral sentences beside it.
        lexicon: says what words mean.
        grammar: says what may stand where.
        loaded: the models.
        recorded: what decides what is built, as JSON: options, fingerprints, versions.
        unread: whether nobody annotated what is made of it here.
    """

    config: BuildConfig
    domain: Domain
    capabilities: Sequence[Capability]
    corpora: Sequence[Corpus]
    lexicon: Lexicon
    grammar: ReferenceGrammar
    loaded: LoadedModels
    recorded: dict[str, Any]
    unread: bool = False

    @property
    def sentences(self) -> Sequence[Sentence]:
        """The sentences of all corpora."""
        return [sentence for corpus in self.corpora for sentence in corpus.sentences]

    @property
    def is_guarded(self) -> bool:
        """Whether insertions must show by themselves that they read well, as few are read."""
        return self.unread or self.config.is_of_others

    @cached_property
    def collocations(self) -> Collocations | None:
        """What stood side by side in English and in the corpus; None where annotators read.

        What they read of it was suggested without.
        """
        if not self.is_guarded:
            return None
        return Collocations.of(sentence.text for sentence in self.sentences)

    @property
    def mask_tags(self) -> Sequence[str]:
        """Tags that may become masks; where few read what comes of it, modifiers alone."""
        tags = self.config.mask_tags
        return [tag for tag in tags if tag in MODIFYING_TAGS] if self.collocations else tags

    @property
    def masks_per_sentence(self) -> int | None:
        """Most masks in a sentence; one where few read what comes of it."""
        return 1 if self.collocations else self.config.masks_per_sentence
