"""The fluent form's steps: select, shorten, compose, extend, confirm, choose.

Each makes something of sentences and of nothing else; `s2lct.builder.pipeline` takes them in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.schema import Capability, Form, SearchRule
from s2lct.builder.config import BuildConfig
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar, shipped_attachments, shipped_bank
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import parsed_sentences
from s2lct.builder.records import (
    Expansion,
    Extended,
    Extension,
    Family,
    Seed,
    Sentence,
    Source,
    sentence_id,
)
from s2lct.builder.stages import choose, compose, confirm, extend, reduce, search
from s2lct.builder.stages.compose import PAIRINGS, contrast_of
from s2lct.builder.stages.mask import SUGGESTIONS
from s2lct.labels import Label
from s2lct.progress import bar

SHORTER_FORMS = 4
"""Of a sentence, those that seeds may use."""
PHRASES_TRIED = 60
"""Of a sentence, those that reviewers add most often."""
EXTENDED_AT_ONCE = 50
"""Sentences: which masked texts share a forward pass, and so the last digits, depends on it."""
TRIED_FOR_A_SEED = 3
"""Sentences of a slot, for each seed wanted, that are used where nobody annotated them."""
LEAST_DRAWN, LEAST_SHORTENED, MOST_DRAWN = 32, 8, 1_000
"""Sentences of a slot that are tagged and parsed, or shortened, together."""
OF_A_SENTENCE = 2
"""Forms of a sentence that a slot is filled with."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a capability's templates, the rules for what may stand there, and who meets them.

    Attributes:
        capability: its id.
        name: the slot's.
        rules: the rules.
        candidates: sentences that may meet one, as far as label, length and letters go, in
            drawing order.
    """

    capability: str
    name: str
    rules: tuple[SearchRule, ...]
    candidates: tuple[Sentence, ...]


@dataclass(frozen=True)
class FluentForm:
    """What the steps share.

    Attributes:
        config: the options of the build.
        capabilities: those that are built.
        lexicon: says what words mean.
        grammar: says what may stand where.
        models: tag, parse and fill masks.
        annotations: what annotators found; None where nobody annotated.
        shorter: forms of sentences that were found already, by text.
    """

    config: BuildConfig
    capabilities: Sequence[Capability]
    lexicon: Lexicon
    grammar: ReferenceGrammar
    models: KeptModels
    annotations: Annotations | None
    shorter: dict[str, list[Source]] = field(default_factory=dict)

    def slots(self, sentences: Sequence[Sentence]) -> list[Slot]:
        """Every slot of every capability, with the sentences that may fill it.

        Of sentences with one text the first that may fill a slot does.
        """
        progress = bar("search", len(self.capabilities))
        slots: list[Slot] = []
        for capability in self.capabilities:
            for name, rules in capability.form("fluent").search.items():
                drawn = search.candidates(sentences, rules, self.config.seed, capability.id)
                slots.append(Slot(capability.id, name, rules, tuple(drawn)))
            progress(1)
        return slots

    def select(self, slot: Slot, candidates: Sequence[Sentence]) -> list[Source]:
        """Those of a slot's candidates that meet one of its rules, parsed."""
        models = self.models
        met = search.that_meet(
            candidates, slot.rules, models.tagger, models.parser, self.lexicon, parsed=True
        )
        return [Source(sentence, parsed) for sentence, parsed in met if parsed]

    def passes(self, id: str, label: Label) -> bool:
        """Whether annotators passed a sentence; so it is where nobody annotated."""
        return self.annotations is None or self.annotations.passes(id, {label})

    def forms(self, sources: Sequence[Source]) -> list[list[Source]]:
        """What seeds may use of each sentence: its shorter forms, and itself if it passes."""
        self._shorten({each.text: each for each in sources if each.text not in self.shorter})
        found: list[list[Source]] = []
        for source in sources:
            # They may have been found for another sentence of the same text.
            forms = [replace(each, sentence=source.sentence) for each in self.shorter[source.text]]
            whole = self.passes(sentence_id(source.text), source.sentence.label)
            found.append([*forms, source] if whole else forms)
        return found

    def _shorten(self, sources: Mapping[str, Source]) -> None:
        """Find the shorter forms of sentences that annotators passed, by their text."""
        attached = shipped_attachments()
        candidates: list[tuple[Source, str, tuple[Extension, ...]]] = []
        for source in sources.values():
            found = reduce.shortened(source.parsed, self.grammar, self.lexicon, attached)
            passed = [
                (source, text, longer)
                for text, longer in found.items()
                if self.passes(sentence_id(text), source.sentence.label)
            ]
            candidates += passed[:SHORTER_FORMS]
        parsed = parsed_sentences(
            [text for _, text, _ in candidates], self.models.tagger, self.models.parser
        )
        self.shorter.update({text: [] for text in sources})
        for (source, _, longer), shorter in zip(candidates, parsed, strict=True):
            if shorter is not None and search.is_complete_sentence(shorter):
                self.shorter[source.text].append(Source(source.sentence, shorter, longer))

    def compose(self, capability: Capability, pools: Mapping[str, Iterable[Source]]) -> list[Seed]:
        """The seeds of a capability, of what its slots may be filled with."""
        form = capability.form("fluent")

        def accept(seed: Seed) -> bool:
            if not all(
                search.still_meets(form, source.sentence.label, source.parsed, self.lexicon)
                for source in seed.sources
            ):
                return False
            if self.annotations is None or not seed.template:
                return True
            return self.annotations.passes(seed.id, seed.labels)

        return compose.seeds_of(
            capability.id,
            form,
            pools,
            most=self.config.most_seeds,
            accept=accept,
        )

    def extend(self, sources: Sequence[Source]) -> dict[str, list[Extended]]:
        """The extensions of sentences, confirmed and judged, by the sentence's text."""
        annotated = self.annotations is not None
        ordered = sorted(sources, key=lambda source: sentence_id(source.text))
        progress = bar("extend", len(ordered))
        found: dict[str, list[Extended]] = {}
        for start in range(0, len(ordered), EXTENDED_AT_ONCE):
            batch = ordered[start : start + EXTENDED_AT_ONCE]
            for text, confirmed in self.confirmed(batch, self._may_be_tried).items():
                judged = [
                    replace(each, rejected=choose.rejection(text, each, annotated=annotated))
                    for each in confirmed
                ]
                # Of one text from several origins the last one counts that is not rejected.
                judged.sort(key=lambda each: each.rejected is None)
                found[text] = list({each.extension.text: each for each in judged}.values())
            progress(len(batch))
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
        for source, proposed in zip(sources, self._proposed(sources), strict=True):
            label = source.sentence.label
            taken = [extension for extension in proposed if tried(extension, label)]
            if self.annotations is not None:
                taken += [pair for pair in reduce.paired(source.text, taken) if tried(pair, label)]
            families.append((source, taken))
        found = confirm.confirmed_all(
            families,
            self.models.tagger,
            self.models.parser,
            self.lexicon,
            self.grammar,
            self.config.mask_tags,
        )
        return {source.text: confirmed for source, confirmed in zip(sources, found, strict=True)}

    def _may_be_tried(self, extension: Extension, label: Label) -> bool:
        """Whether annotators passed an extension; phrases wait for annotators.

        Of 68 phrases that were attached by rule and read, four were natural.
        """
        if self.annotations is None:
            return extension.origin != "phrase"
        return self.passes(extension.id, label)

    def _proposed(self, sources: Sequence[Source]) -> list[list[Extension]]:
        """Extensions of each sentence that were not tagged, parsed or annotated yet.

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
                (each.text, each.origin, tuple(word.tag for word in each.inserted)): each
                for each in (*of_masks, *phrases, *source.extensions)
                if each.text != source.text
            }
            found.append(list(distinct.values()))
        return found

    def expand(
        self,
        seeds: Sequence[Seed],
        form: Form,
        extended: Mapping[str, Sequence[Extended]],
        counts: Counter[str],
    ) -> list[Expansion]:
        """The expansions of a capability's seeds that may be chosen, by what was extended."""
        annotated = self.annotations is not None
        taken = {seed.text for seed in seeds}
        made: list[Expansion] = []
        for seed in seeds:
            template = form.templates[seed.number]
            for slot, source in zip(seed.slots, seed.sources, strict=True):
                tried = extended.get(source.text, ())
                counts["suggestions"] += len(tried)
                counts.update(
                    f"rejected_{each.rejected.name.lower()}" for each in tried if each.rejected
                )
                for longer in choose.usable(tried, self.config.expansions, annotated=annotated):
                    expansion = None
                    if search.still_meets(form, source.sentence.label, longer.parsed, self.lexicon):
                        expansion = compose.expansion_of(
                            seed, template, slot, longer.extension, longer.parsed
                        )
                    if expansion is None:
                        counts["rejected_specification"] += 1
                    elif expansion.text in taken:
                        counts["duplicates"] += 1
                    else:
                        taken.add(expansion.text)
                        made.append(expansion)
        return made

    def choose(
        self,
        seeds: Mapping[str, Sequence[Seed]],
        expansions: Sequence[Expansion],
        counted: Mapping[str, Counter[str]],
    ) -> dict[str, list[Family]]:
        """The families of each capability: seeds, the expansions to publish, contrasts."""
        chosen = choose.choose(
            [seed.id for group in seeds.values() for seed in group],
            expansions,
            per_seed=self.config.expansions,
            seed=self.config.seed,
        )
        families: dict[str, list[Family]] = {}
        for capability in self.capabilities:
            group = seeds[capability.id]
            taken = {seed.text for seed in group}
            taken.update(expansion.text for seed in group for expansion in chosen[seed.id])
            families[capability.id] = []
            for seed in group:
                contrast = contrast_of(seed, capability.form("fluent"))
                if contrast is not None and contrast.text in taken:
                    contrast = None
                if contrast is not None:
                    taken.add(contrast.text)
                family = Family(seed, tuple(chosen[seed.id]), contrast)
                families[capability.id].append(family)
            counted[capability.id].update(
                seeds=len(group),
                counterparts=sum(f.contrast is not None for f in families[capability.id]),
                expansions=sum(len(family.expansions) for family in families[capability.id]),
            )
        return families


class Pool:
    """What a slot is filled with: a form of every sentence, then another one of each.

    Sentences are drawn and shortened as far as the pool is gone through, which it may be more than
    once.
    """

    def __init__(self, form: FluentForm, slot: Slot) -> None:
        """Fill a slot.

        Args:
            form: selects and shortens.
            slot: the slot.
        """
        config = form.config
        self._form, self._slot = form, slot
        self._most = len(slot.candidates)
        if config.most_seeds <= PAIRINGS:
            self._most = PAIRINGS
            if form.annotations is None:
                self._most = min(PAIRINGS, config.seeds * TRIED_FOR_A_SEED)
        self._seen = 0
        self._sources: list[Source] = []
        self._forms: list[list[Source]] = []

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return min(len(self._sources), self._most)

    def __iter__(self) -> Iterator[Source]:
        number = 0
        while number < len(self._forms) or self._go_on():
            yield from self._forms[number][:1]
            number += 1
        for turn in range(1, OF_A_SENTENCE):
            for forms in self._forms:
                yield from forms[turn : turn + 1]

    def _go_on(self) -> bool:
        """Find the next sentences and their forms; whether there are any."""
        seeds, done = self._form.config.most_seeds, len(self._forms)
        wanted = min(done + min(max(LEAST_SHORTENED, seeds), MOST_DRAWN), self._most)
        at_once = min(max(LEAST_DRAWN, 4 * seeds), MOST_DRAWN)
        while len(self._sources) < wanted and self._seen < len(self._slot.candidates):
            batch = self._slot.candidates[self._seen : self._seen + at_once]
            self._seen += len(batch)
            self._sources += self._form.select(self._slot, batch)
        self._forms += self._form.forms(self._sources[done:wanted])
        return len(self._forms) > done
