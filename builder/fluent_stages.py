"""The fluent form's stages: each makes something of a batch, and of nothing else.

Sentences are looked at, shortened where a neutral part may go, and extended. Whoever has them do
that, in whatever order, gets the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from s2lct.builder import looking
from s2lct.builder.build_stages import Models
from s2lct.builder.capabilities.schema import Capability, Form
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.verdicts import Verdicts
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.phrases import shipped_attachments, shipped_bank
from s2lct.builder.language.tree import read_tree
from s2lct.builder.looking import Asked, Candidates, Looked, Slot
from s2lct.builder.sources import Extension, Source, sentence_id
from s2lct.builder.stages import attested, compose, confirm, extend, search
from s2lct.builder.stages.compose import ComposedSeed
from s2lct.builder.stages.fill import SUGGESTIONS
from s2lct.builder.stages.judge import Extended, Judge
from s2lct.labels import Label
from s2lct.suite.records import Sentence, Token

SHORTER_FORMS = 4
PHRASES_TRIED = 60
"""Of a sentence, those that reviewers add most often."""


@dataclass(frozen=True)
class FluentStages:
    """What the fluent form does with sentences; its models are loaded when they are needed."""

    config: BuildConfig
    capabilities: Sequence[Capability]
    lexicon: Lexicon
    grammar: ReferenceGrammar
    models: Models
    verdicts: Verdicts | None

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Every slot of every capability, by name."""
        slots = [
            Slot(capability.id, slot, rules)
            for capability in self.capabilities
            for slot, rules in capability.form("fluent").search.items()
        ]
        return {slot.name: slot for slot in slots}

    def screen(self, first: int, sentences: Sequence[Sentence]) -> Candidates:
        """What sentences may fill, ``first`` being the row of the first; see `looking.screen`."""
        return looking.screen(list(self.slots.values()), sentences, first, self.config.seed)

    def look(self, asked: Sequence[Asked]) -> list[Looked]:
        """Tag and parse sentences as far as is wanted; see `looking.look`."""
        return looking.look(
            self.slots,
            asked,
            lexicon=self.lexicon,
            tagger=self.models.tagger,
            parser=self.models.parser,
        )

    def forms(self, source: Source, shorter: Sequence[Source]) -> list[Source]:
        """What seeds may use of a sentence: its shorter forms, and itself where readers passed it.

        Args:
            source: the sentence of the corpus.
            shorter: forms of its text, which may have been found for another sentence of it.
        """
        forms = [replace(one, sentence=source.sentence) for one in shorter]
        whole = self.passes(sentence_id(source.text), source.sentence.label)
        return [*forms, source] if whole else forms

    def passes(self, id: str, label: Label) -> bool:
        """Whether readers passed a sentence; so it is where nobody read."""
        return self.verdicts is None or self.verdicts.passes(id, {label})

    def shortened(self, sources: Sequence[Source], *, most: int) -> dict[str, list[Source]]:
        """Up to so many shorter forms of each sentence that no reader refused, by its text."""
        attached = shipped_attachments()
        candidates: list[tuple[Source, str, tuple[Extension, ...]]] = []
        for source in sources:
            found = attested.shortened(source.analysis, self.grammar, self.lexicon, attached)
            passed = [
                (source, text, longer)
                for text, longer in found.items()
                if self.passes(sentence_id(text), source.sentence.label)
            ]
            candidates += passed[:most]
        tokens = self.models.tagger.tag([text for _, text, _ in candidates])
        trees = self.models.parser.parse(tokens)
        made: dict[str, list[Source]] = {}
        for (source, text, longer), words, tree in zip(candidates, tokens, trees, strict=True):
            if tree is not None and search.is_complete_sentence(read_tree(tree), words):
                shorter = Source(source.sentence, text, tuple(words), tree, longer)
                made.setdefault(source.text, []).append(shorter)
        return made

    def shorten(self, sources: Sequence[Source]) -> dict[str, list[Source]]:
        """The shorter forms of sentences that seeds may use, by the sentence's text."""
        made = self.shortened(sources, most=SHORTER_FORMS)
        return {source.text: made.get(source.text, []) for source in sources}

    def extended(self, sources: Sequence[Source]) -> dict[str, list[Extended]]:
        """The extensions of sentences, judged, by the sentence's text."""
        found: dict[str, list[Extended]] = {}
        for text, some in self.confirmed(sources, self._may_be_tried).items():
            judged = [
                replace(one, rejected=self.judge.reject(text, one.extension, one.tokens))
                for one in some
            ]
            # Of one text from several origins the last one counts that is not rejected.
            judged.sort(key=lambda one: one.rejected is None)
            found[text] = list({one.extension.text: one for one in judged}.values())
        return found

    def confirmed(
        self, sources: Sequence[Source], tried: Callable[[Extension, Label], bool]
    ) -> dict[str, list[Extended]]:
        """The extensions that tagger and parser bear out, by sentence.

        Args:
            sources: the sentences.
            tried: says which extensions of a sentence with a label are tagged and parsed at all.
        """
        families: list[tuple[Source, list[Extension]]] = []
        for source, some in zip(sources, self.candidates(sources), strict=True):
            label = source.sentence.label
            own = [one for one in some if tried(one, label)]
            if self.verdicts is not None:
                own += [two for two in attested.paired(source.text, own) if tried(two, label)]
            families.append((source, own))
        found = confirm.confirmed_all(
            families,
            self.models.tagger,
            self.models.parser,
            self.lexicon,
            confirm.Licence(self.grammar, self.config.mask_tags),
        )
        return {
            source.text: [Extended(*one) for one in some]
            for source, some in zip(sources, found, strict=True)
        }

    def _may_be_tried(self, extension: Extension, label: Label) -> bool:
        """Whether readers passed an extension; phrases wait for readers.

        Of 68 phrases that were attached by rule and read, four were natural.
        """
        if self.verdicts is None:
            return extension.origin != "phrase"
        return self.passes(extension.id, label)

    @property
    def judge(self) -> Judge:
        """What decides on extensions that tagger and parser bear out."""
        return Judge(read=self.verdicts is not None)

    def candidates(self, sources: Sequence[Source]) -> list[list[Extension]]:
        """Extensions of each sentence that were not tagged, parsed or read yet.

        One text may be there from several origins and with several tags for its word: what the
        tagger and the parser bear out decides.
        """
        masked = extend.masked_extensions(
            sources,
            self.grammar,
            self.lexicon,
            self.models.mlm,
            tags=self.config.mask_tags,
            masks=self.config.masks,
            masks_per_sentence=self.config.masks_per_sentence,
            suggestions=SUGGESTIONS,
            seed=self.config.seed,
        )
        bank = shipped_bank()
        found: list[list[Extension]] = []
        for source, of_masks in zip(sources, masked, strict=True):
            phrases = extend.phrase_extensions(source, bank, self.grammar, most=PHRASES_TRIED)
            distinct = {
                (one.text, one.origin, tuple(word.tag for word in one.inserted)): one
                for one in (*of_masks, *phrases, *source.extensions)
                if one.text != source.text
            }
            found.append(list(distinct.values()))
        return found

    def keeps_rule(self, form: Form, source: Source, text: str, tokens: Sequence[Token]) -> bool:
        """Whether a text of a sentence, shortened or extended, still meets the search rule."""
        (rules,) = form.search.values()
        return any(
            rule.label == source.sentence.label
            and search.meets_text(text, tokens, rule, self.lexicon)
            for rule in rules
        )

    def seeds(
        self, capability: Capability, pools: Mapping[str, Iterable[Source]], counts: Counter[str]
    ) -> list[ComposedSeed]:
        """The seeds of a capability, of what its slots may be filled with."""
        excluded = self.config.excluded.ids
        form = capability.form("fluent")

        def accept(seed: ComposedSeed) -> bool:
            if seed.id in excluded:
                counts["excluded"] += 1
                return False
            if form.keep_search_rule and not all(
                self.keeps_rule(form, one, one.text, one.tokens) for one in seed.sources
            ):
                return False
            if self.verdicts is None or not seed.template:
                return True
            return self.verdicts.passes(seed.id, seed.labels)

        return compose.seeds_of(
            capability.id,
            form,
            pools,
            most=self.config.most_seeds,
            partners=compose.PAIRINGS,
            accept=accept,
        )
