"""The fluent form: from found sentences to seeds, expansions and counterparts.

Found sentences are shortened where a neutral part may go, and composed into seeds; only the
sentences of seeds that are kept are extended. What readers refused never gets that far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.operations import Analysis
from s2lct.builder.language.phrases import shipped_attachments, shipped_bank
from s2lct.builder.language.tree import read_tree
from s2lct.builder.sources import Extension, Source, sentence_id
from s2lct.builder.stages import attested, compose, confirm, extend, search
from s2lct.builder.stages.compose import ComposedExpansion, ComposedSeed
from s2lct.builder.stages.counterparts import Counterpart, counterpart_of
from s2lct.builder.stages.judge import Extended, Judge
from s2lct.builder.stages.variety import choose
from s2lct.labels import Label
from s2lct.progress import Progress
from s2lct.suite.records import Sentence, Token

SOURCES_PER_SHARD = 50
SHORTER_FORMS = 4
TRIED_FOR_A_SEED = 3
"""Sentences of a slot, for each seed wanted, that are shortened where no readers chose them."""
Item = TypeVar("Item")


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
            seeds[one.id] = self.seeds(one, pools[one.id], counted[one.id])
            counted[one.id]["found"] = sum(pool.found for pool in pools[one.id].values())
            self.progress.advance("draw")
        used: dict[str, Source] = {
            source.text: source for some in seeds.values() for s in some for source in s.sources
        }
        extended = self._extended(list(used.values()))
        expansions = [
            expansion
            for one in self.capabilities
            for expansion in self._expansions(
                seeds[one.id], one.form("fluent"), extended, counted[one.id]
            )
        ]
        chosen = choose(
            [seed.id for some in seeds.values() for seed in some],
            expansions,
            per_seed=self.config.expansions,
            seed=self.config.seed,
        )
        families: dict[str, list[ComposedFamily]] = {}
        for capability in self.capabilities:
            form = capability.form("fluent")
            counts = counted[capability.id]
            taken = {seed.text for seed in seeds[capability.id]}
            taken.update(one.text for s in seeds[capability.id] for one in chosen[s.id])
            families[capability.id] = []
            for seed in seeds[capability.id]:
                counterpart = counterpart_of(seed, form)
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
        enough = self.config.pairings
        if self.verdicts is None:
            enough = min(enough, self.config.seeds * TRIED_FOR_A_SEED)
        shorter: dict[str, list[Source]] = {}

        def forms(sources: Sequence[Source]) -> dict[str, list[Source]]:
            missing = [one for one in sources if one.text not in shorter]
            shorter.update({one.text: [] for one in missing})
            shorter.update(self.shortened(missing, most=SHORTER_FORMS))
            return {one.text: self.forms(one, shorter[one.text]) for one in sources}

        pools: dict[str, dict[str, Pool]] = {one.id: {} for one in self.capabilities}
        trees = search.Trees(lambda: self.models.parser)
        for (capability, slot), searched in self.slots(sentences, trees).items():
            pools[capability][slot] = Pool(
                searched, self.checkpoints, forms, most=enough, seeds=self.config.seeds
            )
        # Nearly every slot needs its first block: parsed together, they share forward passes.
        trees.parse(
            [one for own in pools.values() for p in own.values() for one in p.drawn.to_parse()]
        )
        return pools

    def slots(
        self, sentences: Sequence[Sentence], trees: search.Trees | None = None
    ) -> dict[tuple[str, str], SlotSearch]:
        """What may fill each slot of each capability, not searched yet.

        Args:
            sentences: of the corpus.
            trees: keeps the trees that the slots have parsed; None for one of their own.
        """
        trees = trees or search.Trees(lambda: self.models.parser)
        return {
            (capability.id, slot): SlotSearch(
                sentences,
                rules,
                self.lexicon,
                self.models.tagger,
                trees,
                capability=capability.id,
                slot=slot,
                seed=self.config.seed,
            )
            for capability in self.capabilities
            for slot, rules in capability.form("fluent").search.items()
        }

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
                self._keeps_rule(form, one, one.text, one.tokens) for one in seed.sources
            ):
                return False
            if self.verdicts is None or not seed.template:
                return True
            return self.verdicts.passes(seed.id, seed.labels)

        return compose.seeds_of(
            capability.id,
            form,
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
        found: dict[str, list[Extended]] = {}
        for text, some in self.confirmed(sources, self._may_be_tried).items():
            judged = [
                replace(one, rejected=self._judge.reject(text, one.extension, one.tokens))
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
    def _judge(self) -> Judge:
        return Judge(
            read=self.verdicts is not None,
            least_score=self.config.least_score,
            most_shift=self.config.sentiment_shift,
        )

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
                tried = extended.get(source.text, [])
                counts["suggestions"] += len(tried)
                counts.update(
                    f"rejected_{one.rejected.name.lower()}" for one in tried if one.rejected
                )
                for one in self._judge.usable(tried, self.config.expansions):
                    analysis = Analysis(one.extension.text, one.tokens, read_tree(one.tree))
                    if form.keep_search_rule and not self._keeps_rule(
                        form, source, one.extension.text, one.tokens
                    ):
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

    def _keeps_rule(self, form: Form, source: Source, text: str, tokens: Sequence[Token]) -> bool:
        """Whether a text of a sentence, shortened or extended, still meets the search rule."""
        (rules,) = form.search.values()
        return any(
            rule.label == source.sentence.label
            and search.meets_text(text, tokens, rule, self.lexicon)
            for rule in rules
        )


def _shards(items: Sequence[Item], size: int) -> Iterator[tuple[str, Sequence[Item]]]:
    for number, start in enumerate(range(0, len(items), size)):
        yield f"{number:05}", items[start : start + size]
