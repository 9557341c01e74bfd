"""The fluent form's steps: select, shorten, compose, extend, confirm, choose.

Each makes something of sentences and of nothing else; `s2lct.builder.pipeline` takes them in turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.schema import Capability, Form, SearchRule
from s2lct.builder.corpus.clean import is_plain_sentence
from s2lct.builder.inputs import Inputs
from s2lct.builder.kept_models import Confirmed, KeptModels
from s2lct.builder.language.grammar import PhraseBank, shipped_attachments, shipped_bank
from s2lct.builder.language.reach import has_referent, is_negative, is_reached, shuns_negation
from s2lct.builder.models import parsed_sentences
from s2lct.builder.models.opinions import opinions
from s2lct.builder.pool import QUICK_LOOK, Pool
from s2lct.builder.records import (
    Expansion,
    Extended,
    Extension,
    Family,
    Seed,
    Sentence,
    Source,
    sentence_id,
    served_id,
)
from s2lct.builder.stages import choose, compose, confirm, extend, reduce, reword, search
from s2lct.builder.stages.compose import contrast_of, contrasts_of_expansions
from s2lct.builder.stages.mask import SUGGESTIONS
from s2lct.builder.stages.soundness import is_sound
from s2lct.engines import two_at_a_time
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS, Label
from s2lct.progress import bar

SHORTER_FORMS = 4
"""Of a sentence, those that seeds may use."""
EXTENDED_AT_ONCE = 100
"""Sentences: few enough that their fillings fit into memory."""
LIKELIEST_FOR_AN_EXPANSION = 3
"""Extensions of a sentence, for each expansion wanted, to choose from where nobody annotated."""
OTHERS_TRIED = 12
"""Sentences that may stand in a case's contrast instead of its own."""


@dataclass(frozen=True)
class FluentForm:
    """What the steps share.

    Attributes:
        inputs: what the build is made of.
        capabilities: those of it that are built.
        models: tag, parse and fill masks.
        annotations: what annotators found; None where nobody annotated.
        counts: take how many sentences were found and expansions tried, by capability.
        suggested: how many extensions of a sentence were confirmed, by its text.
        shorter: forms of sentences that were found already, by text.
        pools: what slots are filled with, by capability.
        composed: the seeds that may be made of sentences, by capability; see `compose.seeds_of`.
        whole: whether expansions and contrasts must have passed as a whole; see
            `may_be_published`.
        kept_as: stands for all that decides what extends a sentence, apart from the sentence.
    """

    inputs: Inputs
    capabilities: Sequence[Capability]
    models: KeptModels
    annotations: Annotations | None
    counts: Mapping[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    suggested: Counter[str] = field(default_factory=Counter)
    shorter: dict[str, list[Source]] = field(default_factory=dict, init=False)
    pools: dict[str, dict[str, Pool]] = field(default_factory=dict, init=False)
    composed: dict[str, dict[compose.Key, list[Seed]]] = field(default_factory=dict, init=False)
    whole: bool = True
    kept_as: str = ""

    @property
    def is_unread(self) -> bool:
        """Whether nobody has read what is made of the corpus, or is to read what is drawn of it."""
        known = self.annotations
        return known is None or (self.inputs.config.is_of_others and known.is_hopeful)

    @property
    def most_of_suite(self) -> int:
        """Most seeds of all capabilities that a corpus sentence may be in."""
        is_read = self.inputs.config.is_of_others and self.annotations is not None
        return compose.MOST_OF_A_READ_CORPUS if is_read else compose.MOST_OF_A_SUITE

    def select(self, rules: Sequence[SearchRule], candidates: Sequence[Sentence]) -> list[Source]:
        """Those of a slot's candidates that meet one of its rules, parsed."""
        if self.is_unread and not self.inputs.config.is_of_others:
            # A corpus of others was cleaned when it was read; annotators saw to the shipped ones.
            candidates = [each for each in candidates if is_plain_sentence(each.text)]
        tools = self.models.tagger, self.models.parser, self.inputs.lexicon
        met = search.that_meet(candidates, rules, *tools, parsed=True)
        sources = [Source(sentence, parsed) for sentence, parsed in met if parsed]
        if not self.is_unread:
            return sources
        sound = self._sound(sources)
        known = {source.text for source in (sources if self.annotations is None else sound)}
        # Annotators decide of the others, once they have read these.
        return sound + [source for source in sources if source.text not in known]

    def _sound(self, sources: Sequence[Source]) -> list[Source]:
        """Those that show by themselves what they are."""
        grammar = self.inputs.grammar
        sound = [each for each in sources if is_sound(each.parsed, each.sentence.label, grammar)]
        opinion_of = opinions([each.text for each in sound])
        return [each for each in sound if opinion_of[each.text].bears_out(each.sentence.label)]

    def passes(self, id: str, label: Label) -> bool:
        """Whether annotators passed a sentence, by itself or in a case; so it is without any."""
        read = self.annotations
        return read is None or read.passes(id, {label}) or id in read.in_cases

    def _was_passed(self, text: str) -> bool:
        """Whether annotators found no fault in an extension, whatever its label."""
        read, id = self.annotations, sentence_id(text)
        if read is None or read.is_hopeful:
            return False
        return id in read.in_cases or read.passes(id, LABELS)

    def _may_reach(self, text: str) -> bool:
        """Whether annotators may have passed something that is made of a text."""
        return self.annotations is None or self.annotations.may_reach(sentence_id(text))

    @cached_property
    def _that_may_serve(self) -> Sequence[Sentence]:
        return [each for each in self.inputs.sentences if self._may_reach(each.text)]

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
        known = self.inputs.grammar, self.inputs.lexicon, shipped_attachments()
        of_others = self.inputs.is_guarded
        candidates: list[tuple[Source, str, tuple[Extension, ...]]] = []
        for source in sources.values():
            if not self._may_reach(source.text):
                continue
            found = reduce.shortened(source.parsed, *known, of_others=of_others)
            label = source.sentence.label
            passed = [text for text in found if self.passes(sentence_id(text), label)]
            candidates += [(source, text, found[text]) for text in passed[:SHORTER_FORMS]]
        texts = [text for _, text, _ in candidates]
        parsed = parsed_sentences(texts, self.models.tagger, self.models.parser)
        shorter_forms = [
            (source.text, Source(source.sentence, shorter, longer))
            for (source, _, longer), shorter in zip(candidates, parsed, strict=True)
            if shorter is not None and search.is_complete_sentence(shorter)
        ]
        made = [form for _, form in shorter_forms]
        sound = set(map(id, self._sound(made) if self.is_unread else made))
        forms: dict[str, list[Source]] = {text: [] for text in sources}
        for text, form in shorter_forms:
            if id(form) in sound:
                forms[text].append(form)
        # All at once: another capability may be composed beside this one.
        self.shorter.update(forms)

    def compose(
        self,
        capability: Capability,
        used: Mapping[str, int] | None = None,
        most: int | None = None,
    ) -> list[Seed]:
        """The seeds of a capability, beside those of others; see `compose.seeds_of`."""
        form = capability.form("fluent")
        known, lexicon = self.annotations, self.inputs.lexicon

        def serves(text: str, *, grown: bool = False) -> bool:
            return known is None or known.may_reach(served_id(capability.id, text, grown=grown))

        if capability.id not in self.pools:
            drawn = self.inputs.config.seed, capability.id
            sentences = [each for each in self._that_may_serve if serves(each.text)]
            self.pools[capability.id] = {
                name: Pool(self, rules, search.candidates(sentences, rules, *drawn))
                for name, rules in form.search.items()
            }
        pools = self.pools[capability.id]

        def accept(seed: Seed) -> bool:
            id = seed.id if seed.template else sentence_id(seed.text)
            if known is not None and not known.passes(id, seed.labels):
                return False
            return (
                self._is_sensible(seed)
                and self._may_have_contrast(seed, form)
                and all(
                    search.still_meets(form, source.sentence.label, source.parsed, lexicon)
                    for source in seed.sources
                )
            )

        is_indexed = known is not None and known.reached is not None
        many = self.inputs.config.seeds >= QUICK_LOOK
        seeds = compose.seeds_of(
            capability.id,
            form,
            pools,
            most=most or self.inputs.config.seeds,
            accept=accept,
            may_serve=lambda source: serves(source.text),
            grows=(lambda source: serves(source.text, grown=True)) if is_indexed and many else None,
            used=used,
            most_of_suite=self.most_of_suite,
            composed=self.composed.setdefault(capability.id, {}),
        )
        self.counts[capability.id]["sentences_found"] = sum(pool.found for pool in pools.values())
        return seeds

    def compose_all(self) -> dict[str, list[Seed]]:
        """The seeds of all capabilities, of as many sentences as can be.

        A corpus of others may be too small for all that is wanted: there no capability gets twice
        as many before the others have as many as it has, if they can.
        """
        progress = bar("compose", len(self.capabilities))
        for _ in two_at_a_time(self.compose, self.capabilities):
            progress(1)  # what each would have by itself is known now
        seeds: dict[str, list[Seed]] = {each.id: [] for each in self.capabilities}
        most = self.inputs.config.seeds
        wanted = 1 if self.inputs.config.is_of_others else most
        while True:
            for each in self.capabilities:
                others = [seed for id in seeds.keys() - {each.id} for seed in seeds[id]]
                used = Counter(text for seed in others for text in seed.sentences)
                seeds[each.id] = self.compose(each, used, wanted)
            if wanted == most or all(len(group) < wanted for group in seeds.values()):
                return seeds
            wanted = min(2 * wanted, most)

    def extend(self, sources: Sequence[Source]) -> dict[str, list[Extended]]:
        """The extensions of sentences, confirmed, by the sentence's text."""
        reached = [source for source in sources if self._may_reach(source.text)]
        confirmed = self.models.extended(self.kept_as, reached, self._extended)
        for text, (number, _) in confirmed.items():
            self.suggested[text] = number
        return {text: left for text, (_, left) in confirmed.items()}

    def _extended(self, sources: Sequence[Source]) -> Iterator[tuple[Source, Confirmed]]:
        """The extensions of each sentence that leave its label; nobody annotated: best first."""
        annotated = self.annotations is not None
        by_text = {source.text: source for source in sources}
        for confirmed in self.confirmed(sources, self._may_be_tried):
            left = choose.that_leave_label(
                confirmed, annotated=annotated, scored=self.models.scores
            )
            for text, some in left.items():
                # Of one text from several origins the last one counts.
                found = list({each.extension.text: each for each in some}.values())
                if not annotated:
                    found.sort(key=lambda each: each.extension.likeliest_first)
                yield by_text[text], (len(confirmed[text]), found)

    def confirmed(
        self, sources: Sequence[Source], tried: Callable[[Extension, Label], bool]
    ) -> Iterator[dict[str, list[Extended]]]:
        """The extensions of sentences that tagger and parser bear out, a batch at a time, by text.

        Args:
            sources: the sentences.
            tried: says which extensions of a sentence with a label are tagged and parsed at all.
        """
        # Models read equally long texts fastest together.
        ordered = sorted(sources, key=lambda source: (len(source.text), source.text))
        progress = bar("extend", len(ordered))
        batches = [
            ordered[start : start + EXTENDED_AT_ONCE]
            for start in range(0, len(ordered), EXTENDED_AT_ONCE)
        ]
        found = two_at_a_time(lambda batch: self._confirmed(batch, tried), batches)
        for batch, confirmed in zip(batches, found, strict=True):
            yield dict(zip((source.text for source in batch), confirmed, strict=True))
            progress(len(batch))

    def _confirmed(
        self, sources: Sequence[Source], tried: Callable[[Extension, Label], bool]
    ) -> list[list[Extended]]:
        families: list[tuple[Source, list[Extension]]] = []
        for source, proposed in zip(sources, self._proposed(sources), strict=True):
            label = source.sentence.label
            taken = [extension for extension in proposed if tried(extension, label)]
            if self.annotations is not None:
                taken += [pair for pair in reduce.paired(source.text, taken) if tried(pair, label)]
                taken = [each for each in taken if self.annotations.may_stand(each.id)]
            families.append((source, taken))
        return confirm.confirmed_all(
            families,
            self.models.tagger,
            self.models.parser if self.annotations is None or self.annotations.is_hopeful else None,
            self.inputs.lexicon,
            self.inputs.grammar,
            self.inputs.mask_tags,
        )

    @cached_property
    def _bank(self) -> PhraseBank:
        """The phrases that annotators may have passed: in corpora of others none is read.

        Of 68 phrases that were attached by rule and read, four were natural.
        """
        if self.annotations is None or self.inputs.config.is_of_others:
            return {}
        return {
            where: tried
            for where, phrases in shipped_bank().items()
            if (tried := [phrase for phrase in phrases if self._may_reach(phrase.text)])
        }

    @cached_property
    def _fitting(self) -> Mapping[str, frozenset[str]]:
        return extend.fitting(self.models.mlm, self.inputs.mask_tags, self.inputs.lexicon)

    def _may_be_tried(self, extension: Extension, label: Label) -> bool:
        """Whether annotators passed an extension; so it is without any."""
        return self.passes(extension.id, label)

    def _proposed(self, sources: Sequence[Source]) -> list[list[Extension]]:
        """Extensions of each sentence that were not tagged, parsed or annotated yet.

        One text may be there from several origins and with several tags for its word: what the
        tagger and the parser bear out decides.
        """
        config = self.inputs.config
        barred = extend.ABOUT_GROUPS | self.inputs.domain.foreign_words
        masked = extend.masked_extensions(
            sources,
            self.inputs.grammar,
            self._fitting,
            self.models.mlm,
            tags=self.inputs.mask_tags,
            masks=config.masks,
            masks_per_sentence=self.inputs.masks_per_sentence,
            suggestions=SUGGESTIONS,
            barred=barred,
            collocations=self.inputs.collocations,
            tried=self._may_reach,
            passed=self._was_passed,
            seed=config.seed,
        )
        found: list[list[Extension]] = []
        for source, of_masks in zip(sources, masked, strict=True):
            phrases = extend.phrase_extensions(
                source, self._bank, self.inputs.grammar, barred=barred
            )
            distinct = {
                (each.text, each.origin, tuple(word.tag for word in each.inserted)): each
                for each in (*of_masks, *phrases, *source.extensions)
                if each.text != source.text
            }
            found.append(list(distinct.values()))
        return found

    def expand(
        self, seeds: Mapping[str, Sequence[Seed]], extended: Mapping[str, Sequence[Extended]]
    ) -> list[Expansion]:
        """The expansions of each capability's seeds that may be chosen, by what was extended."""
        wanted = self.inputs.config.expansions * LIKELIEST_FOR_AN_EXPANSION
        taken = {(seed.capability, seed.text) for group in seeds.values() for seed in group}
        made: list[Expansion] = []
        of_forms = ((c.form("fluent"), seed) for c in self.capabilities for seed in seeds[c.id])
        for form, seed in of_forms:
            template = form.templates[seed.number]
            negative = is_negative(seed.template)
            for slot, source in zip(seed.slots, seed.sources, strict=True):
                self.counts[seed.capability]["expansions_tried"] += self.suggested[source.text]
                tried = extended.get(source.text, ())
                own = {each.text for each in source.extensions}
                for longer in tried[:wanted] if self.annotations is None else tried:
                    label, parsed = source.sentence.label, longer.parsed
                    if longer.extension.origin == "attested" and longer.extension.text not in own:
                        continue  # the author of another sentence with this shorter form wrote it
                    if not search.still_meets(form, label, parsed, self.inputs.lexicon):
                        continue
                    if negative and self._shuns_negation(longer.extension):
                        continue
                    expansion = compose.expansion_of(seed, template, slot, longer.extension, parsed)
                    if expansion and (seed.capability, expansion.text) not in taken:
                        taken.add((seed.capability, expansion.text))
                        made.append(expansion)
        return made

    def _shuns_negation(self, extension: Extension) -> bool:
        return shuns_negation(extension.inserted, unread=self.annotations is None)

    def may_be_published(self, cases: Mapping[str, Collection[Label]]) -> Collection[str]:
        """Those of a capability's expansions, or of its contrasts, that may be published.

        Args:
            cases: the labels that are right, by the case's id.
        """
        read = self.annotations
        if read is None or not self.whole:
            return cases
        return {id for id, labels in cases.items() if read.passes(id, labels)}

    def choose(
        self, seeds: Mapping[str, Sequence[Seed]], expansions: Sequence[Expansion]
    ) -> dict[str, list[Family]]:
        """The families of each capability: seeds, the expansions to publish, contrasts."""
        labels = {seed.id: seed.labels for group in seeds.values() for seed in group}
        passed = self.may_be_published({each.id: labels[each.seed_id] for each in expansions})
        chosen = choose.choose(
            [[seed.id for seed in group] for group in seeds.values()],
            [each for each in expansions if each.id in passed],
            per_seed=self.inputs.config.expansions,
            seed=self.inputs.config.seed,
            domain=self.inputs.domain.classes,
            limits_authors=not self.inputs.config.is_of_others,
        )
        return {
            capability.id: self._families(capability, seeds[capability.id], chosen)
            for capability in self.capabilities
        }

    def _families(
        self,
        capability: Capability,
        seeds: Sequence[Seed],
        expansions: Mapping[str, Sequence[Expansion]],
    ) -> list[Family]:
        """A capability's seeds with their expansions, and the contrasts of both."""
        found = self._contrasts(seeds, expansions, capability.form("fluent"))
        families = [Family(seed, tuple(expansions[seed.id]), found) for seed in seeds]
        taken = {case.text for family in families for case in family.cases}
        published: set[str] = set()
        for some in ([family.cases[:1] for family in families], [f.expansions for f in families]):
            labels = {
                found[case.id].id: family.labels_of_contrasts
                for family, cases in zip(families, some, strict=True)
                for case in cases
                if case.id in found
            }
            published.update(self.may_be_published(labels))
        for number, family in enumerate(families):
            contrasts: dict[str, Seed | Expansion] = {}
            for case in family.cases:
                contrast = found.get(case.id)
                if contrast and contrast.text not in taken and contrast.id in published:
                    taken.add(contrast.text)
                    contrasts[case.id] = contrast
                elif case is family.seed:
                    break
            families[number] = replace(family, contrasts=contrasts)
        return families

    def _contrasts(
        self, seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]], form: Form
    ) -> dict[str, Seed | Expansion]:
        """The contrasts of cases, by the cases' ids, whatever their texts."""
        found: dict[str, Seed | Expansion] = {}
        of_other_sentences: dict[str, dict[str, tuple[Seed, str]]] = {}
        to_reword: list[Seed] = []
        for seed in seeds:
            template = form.templates[seed.number]
            if template.contrast is not None and template.contrast.reword:
                to_reword.append(seed)
                continue
            if not (others := template.slots_of_contrast):
                contrast = contrast_of(seed, template)
                if contrast is not None and self._is_sensible(contrast):
                    longer = list(expansions[seed.id])
                    if is_negative(contrast.template):
                        longer = [e for e in longer if not self._shuns_negation(e.extension)]
                    found[seed.id] = contrast
                    found.update(contrasts_of_expansions(longer, contrast, template))
                continue
            (slot,) = others
            of_slot = of_other_sentences.setdefault(slot, {})
            of_slot[seed.id] = seed, seed.sources[0].text
            for case in expansions[seed.id]:
                of_slot[case.id] = seed, case.extension.text
        for slot, of_slot in of_other_sentences.items():
            of_length = self._of_length(form.search[slot])
            cases = {id: (seed, _as_long(text, of_length)) for id, (seed, text) in of_slot.items()}
            for _ in range(OTHERS_TRIED):
                tried = {
                    id: (seed, next(others, None))
                    for id, (seed, others) in cases.items()
                    if id not in found
                }
                distinct = {each.text: each for _, each in tried.values() if each is not None}
                sources = self.select(form.search[slot], list(distinct.values()))
                met = {source.sentence.text: source for source in sources}
                for id, (seed, other) in tried.items():
                    if other is not None and other.text in met:
                        filled = {slot: met[other.text]}
                        contrast = contrast_of(seed, form.templates[seed.number], filled)
                        if contrast is not None and self._is_sensible(contrast):
                            found[id] = contrast
        return found | self._reworded(to_reword, expansions, form)

    def _reworded(
        self, seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]], form: Form
    ) -> dict[str, Seed | Expansion]:
        """Contrasts of which a word is another one, by the ids of their cases."""
        models, lexicon = self.models, self.inputs.lexicon
        annotated = self.annotations is not None
        places = [
            (seed, reword.place_in(seed.sources[0], lexicon, models.scores, annotated=annotated))
            for seed in seeds
        ]
        asked = [(seed, place) for seed, place in places if place is not None]
        if not asked:
            return {}
        in_sources = [(seed.sources[0], place) for seed, place in asked]
        words = reword.words_for(in_sources, models.mlm, models.tagger, self._evaluations)
        found: dict[str, Seed | Expansion] = {}
        for (seed, place), word in zip(asked, words, strict=True):
            if word is None:
                continue
            template, (source,) = form.templates[seed.number], seed.sources
            other = replace(source, parsed=reword.reworded(source.parsed, place, word))
            contrast = contrast_of(seed, template, {seed.slots[0]: other}, place.label)
            if contrast is not None:
                longer = (reword.as_reworded(e, place, word) for e in expansions[seed.id])
                found[seed.id] = contrast
                found.update(contrasts_of_expansions(filter(None, longer), contrast, template))
        return found

    @cached_property
    def _evaluations(self) -> Mapping[Label, frozenset[str]]:
        return reword.evaluations(self.models.mlm, self.inputs.lexicon, self.models.scores)

    def _is_sensible(self, case: Seed) -> bool:
        """Whether a case takes back all that it takes back any of, and its *it* is something."""
        return all(
            not case.takes_back(source)
            or is_reached(source.parsed, self.inputs.lexicon, of_degree=not self.is_unread)
            for source in case.sources
        ) and any(has_referent(case.template, source.parsed) for source in case.sources)

    def _may_have_contrast(self, seed: Seed, form: Form) -> bool:
        """Whether a seed's contrast, as far as it is made of the same sentences, is sensible."""
        template = form.templates[seed.number]
        if template.contrast is None or template.contrast.reword or template.slots_of_contrast:
            return True
        contrast = contrast_of(seed, template)
        return contrast is not None and self._is_sensible(contrast)

    def _of_length(self, rules: Sequence[SearchRule]) -> Mapping[int, Sequence[Sentence]]:
        """Sentences that may meet one of a slot's rules, by their number of words."""
        of_length: defaultdict[int, list[Sentence]] = defaultdict(list)
        for sentence in search.candidates(self.inputs.sentences, rules, 0):
            if self.passes(sentence_id(sentence.text), sentence.label):
                of_length[len(sentence.text.split())].append(sentence)
        return of_length


def _as_long(text: str, of_length: Mapping[int, Sequence[Sentence]]) -> Iterator[Sentence]:
    """Sentences by their number of words, those about as long as a text first."""
    words = len(text.split())
    for length in sorted(of_length, key=lambda length: (abs(length - words), length)):
        yield from sorted(
            of_length[length],
            key=lambda sentence: shuffle_key(0, "contrast", text, sentence.text),
        )
