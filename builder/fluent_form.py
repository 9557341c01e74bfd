"""The fluent form: from found sentences to seeds, expansions and counterparts.

Found sentences are shortened where a neutral part may go, and composed into seeds; only the
sentences of seeds that are kept are extended. What readers refused never gets that far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from pydantic import TypeAdapter

from s2lct.builder.build_stages import Models
from s2lct.builder.capabilities.schema import Capability, Form
from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.verdicts import Verdicts
from s2lct.builder.drawing import Pool, SlotSearch
from s2lct.builder.language.fluency import jars
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.operations import Analysis, NotApplicableError
from s2lct.builder.language.phrases import shipped_attachments, shipped_bank
from s2lct.builder.language.tree import read_tree
from s2lct.builder.sources import Extension, Source, sentence_id
from s2lct.builder.stages import compose, extend, search
from s2lct.builder.stages.compose import ComposedExpansion, ComposedSeed
from s2lct.builder.stages.variety import choose
from s2lct.identity import content_id
from s2lct.labels import Label
from s2lct.progress import Progress
from s2lct.suite.records import Sentence, Token

SOURCES_PER_SHARD = 50
SHORTER_FORMS = 4
TRIED_FOR_A_SEED = 3
"""Sentences of a slot, for each seed wanted, that are shortened where no readers chose them."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Extended:
    """An extension that stands, with the words and the tree of its sentence."""

    extension: Extension
    tokens: tuple[Token, ...]
    tree: str


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The same sentence with the opposite answer."""

    id: str
    seed_id: str
    text: str
    labels: tuple[Label, ...]
    template: str


@dataclass(frozen=True)
class ComposedFamily:
    """A seed, its expansions, and its counterpart if the capability has one."""

    seed: ComposedSeed
    expansions: tuple[ComposedExpansion, ...]
    counterpart: Counterpart | None


@dataclass(frozen=True)
class FluentForm:
    """Makes the families of capabilities in their fluent form."""

    config: BuildConfig
    capabilities: Sequence[Capability]
    lexicon: Lexicon
    grammar: ReferenceGrammar
    models: Models
    verdicts: Verdicts | None
    checkpoints: Checkpoints
    progress: Progress

    def families(
        self, sentences: Sequence[Sentence], counted: Mapping[str, Counter[str]]
    ) -> dict[str, list[ComposedFamily]]:
        """The families of each capability.

        Args:
            sentences: of the corpus.
            counted: takes the counts of the closing table.
        """
        pools = self._pools(sentences)
        seeds: dict[str, list[ComposedSeed]] = {}
        self.progress.start("draw", len(self.capabilities))
        for one in self.capabilities:
            seeds[one.id] = self._seeds(one, pools[one.id], counted[one.id])
            counted[one.id]["found"] = sum(pool.found for pool in pools[one.id].values())
            self.progress.advance("draw")
        used: dict[str, Source] = {
            source.text: source for some in seeds.values() for s in some for source in s.sources
        }
        extended = self._extended(list(used.values()))
        families: dict[str, list[ComposedFamily]] = {}
        for capability in self.capabilities:
            form = capability.form("fluent")
            counts = counted[capability.id]
            expansions = self._expansions(seeds[capability.id], form, extended, counts)
            chosen = choose(
                [s.id for s in seeds[capability.id]],
                expansions,
                per_seed=self.config.expansions,
                seed=self.config.seed,
            )
            taken = {seed.text for seed in seeds[capability.id]}
            taken.update(one.text for some in chosen.values() for one in some)
            families[capability.id] = []
            for seed in seeds[capability.id]:
                counterpart = self._counterpart(seed, form)
                if counterpart is not None and counterpart.text in taken:
                    counterpart = None
                if counterpart is not None:
                    taken.add(counterpart.text)
                family = ComposedFamily(seed, tuple(chosen[seed.id]), counterpart)
                families[capability.id].append(family)
            counts.update(
                seeds=len(families[capability.id]),
                counterparts=sum(f.counterpart is not None for f in families[capability.id]),
                expansions=sum(len(family.expansions) for family in families[capability.id]),
            )
        return families

    def _pools(self, sentences: Sequence[Sentence]) -> dict[str, dict[str, Pool]]:
        """For each capability and slot what it is filled with, drawn when it is asked for."""
        config = self.config
        trees = search.Trees(lambda: self.models.parser)
        enough = config.seeds * TRIED_FOR_A_SEED if self.verdicts is None else config.pairings
        shorter: dict[str, list[Source]] = {}

        def forms(sources: Sequence[Source]) -> dict[str, list[Source]]:
            missing = [one for one in sources if one.text not in shorter]
            shorter.update({one.text: [] for one in missing} | self._shorten(missing))
            return {one.text: self._forms(one, shorter[one.text]) for one in sources}

        return {
            capability.id: {
                slot: Pool(
                    SlotSearch(
                        sentences,
                        rules,
                        self.lexicon,
                        self.models.tagger,
                        trees,
                        capability=capability.id,
                        slot=slot,
                        seed=config.seed,
                    ),
                    self.checkpoints,
                    forms,
                    most=min(enough, config.pairings),
                    seeds=config.seeds,
                )
                for slot, rules in capability.form("fluent").search.items()
            }
            for capability in self.capabilities
        }

    def _forms(self, source: Source, shorter: Sequence[Source]) -> list[Source]:
        """A sentence's shorter forms, and itself where readers do not refuse it."""
        forms = [replace(one, sentence=source.sentence) for one in shorter]
        whole = self._passes(sentence_id(source.text), source.sentence.label)
        return [*forms, source] if whole else forms

    def _passes(self, id: str, label: Label) -> bool:
        return self.verdicts is None or self.verdicts.passes(id, {label}, least_sum=3)

    def _shorten(self, sources: Sequence[Source]) -> dict[str, list[Source]]:
        attached = shipped_attachments()
        candidates: list[tuple[Source, str, tuple[Extension, ...]]] = []
        for source in sources:
            found = extend.shortened(source.analysis, self.grammar, self.lexicon, attached)
            passed = [
                (source, text, longer)
                for text, longer in found.items()
                if self._passes(sentence_id(text), source.sentence.label)
            ]
            candidates += passed[:SHORTER_FORMS]
        tokens = self.models.tagger.tag([text for _, text, _ in candidates])
        trees = self.models.parser.parse(tokens)
        made: dict[str, list[Source]] = {}
        for (source, text, longer), words, tree in zip(candidates, tokens, trees, strict=True):
            if tree is not None and search.is_complete_sentence(read_tree(tree), words):
                shorter = Source(source.sentence, text, tuple(words), tree, longer)
                made.setdefault(source.text, []).append(shorter)
        return made

    def _seeds(
        self, capability: Capability, pools: Mapping[str, Pool], counts: Counter[str]
    ) -> list[ComposedSeed]:
        excluded = self.config.excluded.ids

        def accept(seed: ComposedSeed) -> bool:
            if seed.id in excluded:
                counts["excluded"] += 1
                return False
            if self.verdicts is None or not seed.template:
                return True
            return self.verdicts.passes(seed.id, seed.labels, least_sum=3)

        return compose.seeds_of(
            capability.id,
            capability.form("fluent"),
            pools,
            most=self.config.seeds,
            accept=accept,
        )

    def _extended(self, sources: Sequence[Source]) -> dict[str, list[Extended]]:
        """The extensions of sentences that stand, by the sentence's text."""
        ordered = sorted(sources, key=lambda source: sentence_id(source.text))
        self.progress.start("extend", len(ordered))
        found: dict[str, list[Extended]] = {}
        adapter = TypeAdapter(dict[str, list[Extended]])
        for part, some in _shards(ordered, SOURCES_PER_SHARD):
            kept = self.checkpoints.get(f"extend/{part}", adapter, partial(self._extend, some))
            found.update(kept)
            self.progress.advance("extend", len(some))
        return found

    def _extend(self, sources: Sequence[Source]) -> dict[str, list[Extended]]:
        candidates = self.candidates(sources)
        families = [
            (
                source,
                [one for one in some if self._passes(one.id, source.sentence.label)],
            )
            for source, some in zip(sources, candidates, strict=True)
        ]
        confirmed = extend.confirmed_all(
            families, self.models.tagger, self.models.parser, self.lexicon
        )
        found: dict[str, list[Extended]] = {}
        for source, some in zip(sources, confirmed, strict=True):
            by_text = {one[0].text: Extended(*one) for one in some if self._may_read_well(*one)}
            found[source.text] = list(by_text.values())
        return found

    def _may_read_well(self, extension: Extension, tokens: Sequence[Token], tree: str) -> bool:
        """Whether an extension that nobody read is likely enough to be what a writer writes.

        An author wrote what is attested; of the words of the masked language model the rules of
        `fluency.jars` and the least score reject most; phrases wait for readers.
        """
        if self.verdicts is not None or extension.origin == "attested":
            return True
        least = self.config.least_score
        if extension.origin == "phrase" or (least is not None and extension.score < least):
            return False
        places = {word.start for word in extension.inserted}
        inserted = [number for number, token in enumerate(tokens) if token.start in places]
        return not self.config.fluency_rules or not jars(tokens, inserted)

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
            order=self.config.mask_order,
            suggestions=self.config.suggestions,
            seed=self.config.seed,
        )
        bank = shipped_bank()
        found: list[list[Extension]] = []
        for source, of_masks in zip(sources, masked, strict=True):
            phrases = extend.phrase_extensions(source, bank, self.grammar, most=self.config.phrases)
            distinct = {
                (one.text, one.origin, tuple(word.tag for word in one.inserted)): one
                for one in (*of_masks, *phrases, *source.extensions)
                if one.text != source.text
            }
            found.append(list(distinct.values()))
        return found

    def _expansions(
        self,
        seeds: Sequence[ComposedSeed],
        form: Form,
        extended: Mapping[str, Sequence[Extended]],
        counts: Counter[str],
    ) -> list[ComposedExpansion]:
        excluded = self.config.excluded.ids
        taken = {seed.text for seed in seeds}
        made: list[ComposedExpansion] = []
        for seed in seeds:
            template = form.templates[seed.number]
            for slot, source in zip(seed.slots, seed.sources, strict=True):
                for one in extended.get(source.text, []):
                    counts["suggestions"] += 1
                    analysis = Analysis(one.extension.text, one.tokens, read_tree(one.tree))
                    if form.keep_search_rule and not self._keeps_rule(form, source, one):
                        counts["rejected_specification"] += 1
                        continue
                    expansion = compose.expansion_of(seed, template, slot, one.extension, analysis)
                    if expansion is None:
                        counts["rejected_specification"] += 1
                    elif expansion.id in excluded:
                        counts["excluded"] += 1
                    elif expansion.text in taken:
                        counts["duplicates"] += 1
                    else:
                        taken.add(expansion.text)
                        made.append(expansion)
        return made

    def _keeps_rule(self, form: Form, source: Source, extended: Extended) -> bool:
        (rules,) = form.search.values()
        return any(
            rule.label == source.sentence.label
            and search.meets_text(extended.extension.text, extended.tokens, rule, self.lexicon)
            for rule in rules
        )

    def _counterpart(self, seed: ComposedSeed, form: Form) -> Counterpart | None:
        template = form.templates[seed.number]
        opposite = template.counterpart
        if opposite is None:
            return None
        wording = opposite.wording_beside(template, seed.wording)
        sentences = {
            slot: source.analysis for slot, source in zip(seed.slots, seed.sources, strict=True)
        }
        try:
            composed = compose.compose(opposite, wording, sentences)
        except NotApplicableError:
            return None
        labels = compose.labels_of(
            opposite,
            {
                slot: source.sentence.label
                for slot, source in zip(seed.slots, seed.sources, strict=True)
            },
        )
        return Counterpart(
            content_id("counterpart", seed.capability, composed.text),
            seed.id,
            composed.text,
            labels,
            composed.shown,
        )


def _shards(items: Sequence[Item], size: int) -> Iterator[tuple[str, Sequence[Item]]]:
    for number, start in enumerate(range(0, len(items), size)):
        yield f"{number:05}", items[start : start + size]
