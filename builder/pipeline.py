"""The straight line of stages, from corpus to dataset.

Corpus → search → transform → parse → mask → fill → validate → select → write. A stage is a pure
function from a batch of records to a batch. This module only wires them: it cuts the work into
shards, keeps a checkpoint behind every stage, counts and reports.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import TypeAdapter

from s2lct.builder import write
from s2lct.builder.capabilities import Capability, Form, SearchRule, load_capabilities, recorded
from s2lct.builder.checkpoint import Checkpoints, belongs_to, locked
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.read import Corpus, read_corpus
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.patterns import named_in_errors
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import (
    ConstituencyParser,
    MaskedLanguageModel,
    Tagger,
    load_masked_language_model,
    load_parser,
    load_tagger,
)
from s2lct.builder.place import Place, place_of
from s2lct.builder.stages import fill, mask, parse, search, select, transform, validate
from s2lct.builder.stages.search import TaggedSentence
from s2lct.builder.stages.validate import Rejection
from s2lct.errors import BuildError, SuiteError
from s2lct.identity import fingerprint_of
from s2lct.suite.read import load_suite, read_suite
from s2lct.suite.records import (
    Expansion,
    Family,
    FilledSentence,
    MaskedSentence,
    ParsedSeed,
    Seed,
    Sentence,
)

if TYPE_CHECKING:
    from datasets import DatasetDict
from s2lct.builder.built import CapabilityCounts, Suite

SENTENCES_PER_SHARD = 1_000
SEEDS_PER_SHARD = 100
TREES_AT_ONCE = 64
EXPANSIONS_OF_AN_ADVERB = 4
PROMISING_FOR_A_SEED = 6
"""Candidate seeds, for each seed kept, that have their masks filled."""
Item = TypeVar("Item")


class Progress(Protocol):
    """Told how far each stage is."""

    def start(self, stage: str, total: int) -> None:
        """A stage begins that has ``total`` shards or steps."""

    def advance(self, stage: str, steps: int = 1, note: str = "") -> None:
        """Some are done."""


class NoProgress:
    """Says nothing."""

    def start(self, stage: str, total: int) -> None:
        """A stage begins."""

    def advance(self, stage: str, steps: int = 1, note: str = "") -> None:
        """Some are done."""


@dataclass(frozen=True, slots=True)
class Match:
    """A sentence that a capability's slot could take."""

    capability: str
    slot: str
    rule: int
    tagged: TaggedSentence


@dataclass(frozen=True, slots=True)
class Found:
    """The sentences that a capability may use, slot by slot, in drawing order."""

    sentences: dict[str, tuple[Sentence, ...]]


@dataclass(frozen=True, slots=True)
class MaskedSeed:
    """A candidate seed with its masked sentences."""

    parsed: ParsedSeed
    sentences: tuple[MaskedSentence, ...]

    @property
    def promise(self) -> int:
        """About how many expansions to expect: adverbs fit far more often than other words."""
        tags = [mask.tag for sentence in self.sentences for mask in sentence.masks]
        return len(tags) + EXPANSIONS_OF_AN_ADVERB * tags.count("RB")


@dataclass(frozen=True)
class Validated:
    """Expansions of a shard that passed, and how many suggestions did not."""

    expansions: tuple[Expansion, ...]
    rejected: tuple[tuple[str, Rejection, int], ...]


@dataclass(frozen=True)
class Selected:
    """Families of a shard, and how many expansions the second parse rejected."""

    families: tuple[Family, ...]
    rejected: tuple[tuple[str, Rejection, int], ...]


_MATCHES = TypeAdapter(list[Match])
_FOUND = TypeAdapter(Found)
_SEEDS = TypeAdapter(list[Seed])
_PARSED = TypeAdapter(list[ParsedSeed])
_MASKED = TypeAdapter(list[MaskedSentence])
_FILLED = TypeAdapter(list[FilledSentence])
_VALIDATED = TypeAdapter(Validated)
_SELECTED = TypeAdapter(Selected)


class Models:
    """Parser, tagger and masked language model, each loaded once, when first needed."""

    def __init__(self, config: BuildConfig) -> None:
        self._config = config

    @cached_property
    def tagger(self) -> Tagger:
        """The tagger."""
        return load_tagger(self._config.tagger)

    @cached_property
    def parser(self) -> ConstituencyParser:
        """The constituency parser."""
        return load_parser(self._config.parser)

    @cached_property
    def mlm(self) -> MaskedLanguageModel:
        """The masked language model."""
        return load_masked_language_model(self._config.mlm, batch_size=self._config.batch_size)


def build(config: BuildConfig, progress: Progress | None = None) -> dict[str, DatasetDict]:
    """Build a suite and write it to ``config.out``.

    Interrupted at any moment, the same call goes on where it stopped and writes the same bytes.

    Args:
        config: what to build.
        progress: told how far it is.

    Returns:
        The suite, a `datasets.DatasetDict` for each config (``LC1`` …, ``all``).

    Raises:
        BuilderError: something that the caller can mend; nothing is half written.
    """
    build_suite(config, progress)
    return load_suite(config.out)


def build_suite(
    config: BuildConfig, progress: Progress | None = None
) -> dict[str, CapabilityCounts]:
    """Build a suite and write it to ``config.out``; the counts of the closing table."""
    progress = progress or NoProgress()
    place = place_of(config.out)
    place.check(overwrite=config.overwrite)
    capabilities = load_capabilities(config.capabilities, config.capability_files)
    if config.capabilities:
        config = config.model_copy(update={"capabilities": tuple(c.id for c in capabilities)})
    options = config.result_options
    lexicon = Lexicon.load(config.sentiwordnet)
    grammar = ReferenceGrammar.load(config.reference_trees)
    progress.start("corpus", 1)
    corpus = read_corpus(
        config.corpus,
        text_column=config.text_column,
        label_column=config.label_column,
        label_map=config.label_map,
    )
    progress.advance("corpus", note=f"{len(corpus.sentences):,} sentences")
    models = Models(config)
    inputs = {
        "options": options,
        "capabilities": fingerprint_of(list(map(recorded, capabilities))),
        "corpus": corpus.fingerprint,
        "lexicon": lexicon.fingerprint,
        "grammar": grammar.fingerprint,
        "tagger": models.tagger.fingerprint,
        "parser": models.parser.fingerprint,
        "mlm": models.mlm.fingerprint,
        "versions": write.package_versions(),
    }
    with locked(place.lock):
        if (finished := _finished(config, place, inputs)) is not None:
            return finished
        checkpoints = Checkpoints.open(place.work, inputs, restart=config.restart)
        line = _Line(config, capabilities, corpus, lexicon, grammar, models, checkpoints, progress)
        suite = line.run()
        progress.start("write", 1)
        made = checkpoints.folder / "suite"
        write.write_suite(config, suite, corpus, inputs, made)
        place.put(made)
        checkpoints.discard()
        progress.advance("write", note=str(config.out))
    return suite.counts


def _finished(
    config: BuildConfig, place: Place, inputs: Mapping[str, Any]
) -> dict[str, CapabilityCounts] | None:
    """The counts of the suite in ``out`` if it is this very build; refuses any other content.

    The folder is locked. Of what unfinished builds left there only this build's own goes.
    """
    place.check(overwrite=config.overwrite)
    if config.overwrite or not place.is_taken:
        return None
    try:
        described = read_suite(place.out).described
        known = [one.name for one in fields(CapabilityCounts)]
        found = described["counts"]
        counts = {
            capability["id"]: CapabilityCounts(
                **{column: found[capability["id"]].get(column, 0) for column in known}
            )
            for capability in described["capabilities"]
            if capability["id"] in found
        }
        same = described.get("build_fingerprint") == fingerprint_of(inputs)
    except SuiteError:
        same = False
    if not same:
        raise BuildError(
            f"--out {config.out}: is there already, and is not this build",
            mend="choose another folder, or add --overwrite to replace it",
        )
    if belongs_to(place.work, inputs):
        shutil.rmtree(place.work, ignore_errors=True)
    return counts


class _Line:
    """One build under way."""

    def __init__(
        self,
        config: BuildConfig,
        capabilities: Sequence[Capability],
        corpus: Corpus,
        lexicon: Lexicon,
        grammar: ReferenceGrammar,
        models: Models,
        checkpoints: Checkpoints,
        progress: Progress,
    ) -> None:
        self.config = config
        self.capabilities = tuple(capabilities)
        self.forms: dict[str, Form] = {c.id: c.form(config.templates) for c in capabilities}
        self.corpus = corpus
        self.lexicon = lexicon
        self.grammar = grammar
        self.models = models
        self.checkpoints = checkpoints
        self.progress = progress
        self._fitting_words: dict[str, frozenset[str]] = {}
        self._known_fillings: dict[fill.Problem, list[fill.Beam]] = {}
        self._excluded = config.excluded.ids
        self._left_out: set[str] = set()
        self.counts = {capability.id: CapabilityCounts() for capability in capabilities}

    def run(self) -> Suite:
        """Every stage up to select."""
        seeds = self._transform(self._search())
        families: dict[str, list[Family]] = {c.id: [] for c in self.capabilities}
        promising = self._promising(self._masked(seeds))
        for stage in ("fill", "validate", "select"):
            self.progress.start(stage, len(promising))
        for number, shard in enumerate(_shards(promising, SEEDS_PER_SHARD)):
            for family in self._expand(number, shard):
                families[family.seed.seed.capability].append(family)
        for capability, group in families.items():
            families[capability], dropped = select.without_duplicates(group)
            families[capability] = select.richest(
                families[capability],
                self.config.seeds,
                size=lambda family: len(family.expansions),
                sources=lambda family: family.seed.seed.sources,
            )
            counts = self.counts[capability]
            counts.duplicates = dropped[capability]
            counts.seeds = len(families[capability])
            counts.expansions = sum(len(family.expansions) for family in families[capability])
        return Suite(self.capabilities, families, self.counts)

    def _search(self) -> dict[str, Found]:
        """Sentences for every slot of every capability."""
        shards = list(_shards(self.corpus.sentences, SENTENCES_PER_SHARD))
        self.progress.start("search", len(self.corpus.sentences))
        matches: dict[tuple[str, str], list[Match]] = {}
        for number, shard in enumerate(shards):
            for match in self.checkpoints.get(
                f"search/{number:05}", _MATCHES, partial(self._find, shard)
            ):
                matches.setdefault((match.capability, match.slot), []).append(match)
            self.progress.advance("search", len(shard))
        trees = _Trees(self.models)
        found: dict[str, Found] = {}
        for capability in self.capabilities:
            found[capability.id] = self.checkpoints.get(
                f"found/{capability.id}",
                _FOUND,
                partial(self._draw, capability, matches, trees),
            )
            self.counts[capability.id].found = sum(
                map(len, found[capability.id].sentences.values())
            )
        return found

    def _find(self, shard: Sequence[Sentence]) -> list[Match]:
        tokens = self.models.tagger.tag([sentence.text for sentence in shard])
        tagged = [TaggedSentence(s, t) for s, t in zip(shard, tokens, strict=True)]
        matches: list[Match] = []
        for capability, form in self.forms.items():
            for slot, rules in form.search.items():
                with named_in_errors(f"capability {capability}, slot {slot}"):
                    found = search.find(tagged, rules, self.lexicon)
                matches += [Match(capability, slot, rules.index(rule), one) for one, rule in found]
        return matches

    def _draw(
        self,
        capability: Capability,
        matches: Mapping[tuple[str, str], Sequence[Match]],
        trees: _Trees,
    ) -> Found:
        drawn: dict[str, tuple[Sentence, ...]] = {}
        for slot, rules in self.forms[capability.id].search.items():
            candidates = {
                match.tagged.sentence.text: (match.tagged, rules[match.rule])
                for match in reversed(matches.get((capability.id, slot), ()))
            }
            ordered = search.in_drawing_order(list(candidates.values()), self.config.seed)
            drawn[slot] = self._drawn_for_slot(ordered, trees)
        return Found(drawn)

    def _drawn_for_slot(
        self, ordered: Sequence[tuple[TaggedSentence, SearchRule]], trees: _Trees
    ) -> tuple[Sentence, ...]:
        """The first ``pairings`` sentences whose tree fits too."""
        taken: list[Sentence] = []
        for chunk in _shards(ordered, TREES_AT_ONCE):
            trees.parse([tagged for tagged, rule in chunk if rule.needs_tree])
            taken += [tagged.sentence for tagged, rule in chunk if trees.meet(tagged, rule)]
            if len(taken) >= self.config.pairings:
                break
        return tuple(taken[: self.config.pairings])

    def _transform(self, found: Mapping[str, Found]) -> list[Seed]:
        self.progress.start("transform", len(self.capabilities))
        wanted = self.config.seeds * self.config.candidates
        seeds: list[Seed] = []
        for capability in self.capabilities:
            made = self.checkpoints.get(
                f"seeds/{capability.id}",
                _SEEDS,
                partial(
                    transform.transform,
                    found[capability.id].sentences,
                    capability,
                    self.forms[capability.id],
                    # Others take the places of those that are left out.
                    seeds=wanted + len(self._excluded),
                    seed=self.config.seed,
                ),
            )
            kept = (one for one in made if not self._is_left_out(one.id, capability.id))
            seeds += itertools.islice(kept, wanted)
            self.progress.advance("transform")
        if not seeds:
            raise BuildError(
                f"--corpus {self.config.corpus}: no capability's search found a sentence",
                mend="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
            )
        return seeds

    def _masked(self, seeds: Sequence[Seed]) -> list[MaskedSeed]:
        """Parse every candidate seed and mask it."""
        for stage in ("parse", "mask"):
            self.progress.start(stage, len(seeds))
        masked: list[MaskedSeed] = []
        for number, shard in enumerate(_shards(seeds, SEEDS_PER_SHARD)):
            parsed = self._stage("parse", number, shard, _PARSED, partial(self._parse, shard))
            sentences = self._stage("mask", number, shard, _MASKED, partial(self._mask, parsed))
            of_seed: dict[str, list[MaskedSentence]] = {one.seed.id: [] for one in parsed}
            for sentence in sentences:
                of_seed[sentence.seed_id].append(sentence)
            masked += [MaskedSeed(one, tuple(of_seed[one.seed.id])) for one in parsed]
        return masked

    def _parse(self, shard: Sequence[Seed]) -> list[ParsedSeed]:
        return parse.parse(shard, self.models.tagger, self.models.parser)

    def _mask(self, parsed: Sequence[ParsedSeed]) -> list[MaskedSentence]:
        config = self.config
        return mask.mask(
            parsed,
            self.grammar,
            masked_per_seed=config.masks,
            masks_per_sentence=config.masks_per_sentence,
            order=config.mask_order,
            tags=config.mask_tags,
            seed=config.seed,
            fluency_rules=config.fluency_rules,
            fitting=self._fitting,
        )

    def _promising(self, masked: Sequence[MaskedSeed]) -> list[MaskedSeed]:
        """Of each capability's candidate seeds those with most masked sentences."""
        by_capability: dict[str, list[MaskedSeed]] = {c.id: [] for c in self.capabilities}
        for one in masked:
            by_capability[one.parsed.seed.capability].append(one)
        most = self.config.seeds * min(self.config.candidates, PROMISING_FOR_A_SEED)
        return [
            one
            for group in by_capability.values()
            for one in select.richest(
                group,
                most,
                size=lambda one: one.promise,
                sources=lambda one: one.parsed.seed.sources,
            )
        ]

    def _expand(self, number: int, shard: Sequence[MaskedSeed]) -> Sequence[Family]:
        """Fill, validate and select one shard of seeds."""
        config, models = self.config, self.models
        parsed = [one.parsed for one in shard]
        masked = [sentence for one in shard for sentence in one.sentences]
        capability_of = {one.seed.id: one.seed.capability for one in parsed}
        filled = self._stage(
            "fill",
            number,
            shard,
            _FILLED,
            lambda: fill.fill(
                masked,
                models.mlm,
                suggestions=config.suggestions,
                fitting=self._fitting if config.suggest == "fitting" else None,
                known=self._known_fillings,
            ),
        )
        for one in filled:
            counts = self.counts[capability_of[one.masked.seed_id]]
            counts.masked += 1
            counts.suggestions += len(one.suggestions)

        validated = self._stage(
            "validate", number, shard, _VALIDATED, lambda: self._validate(filled, parsed)
        )
        self._count_rejected(validated.rejected)
        expansions = [
            one
            for one in validated.expansions
            if not self._is_left_out(one.id, capability_of[one.seed_id])
        ]
        selected = self._stage(
            "select", number, shard, _SELECTED, lambda: self._select(expansions, parsed)
        )
        self._count_rejected(selected.rejected)
        return selected.families

    def _stage(
        self,
        stage: str,
        number: int,
        shard: Sequence[object],
        adapter: TypeAdapter[Item],
        compute: Callable[[], Item],
    ) -> Item:
        result = self.checkpoints.get(f"{stage}/{number:05}", adapter, compute)
        self.progress.advance(stage, len(shard))
        return result

    def _fitting(self, tag: str) -> frozenset[str]:
        if tag not in self._fitting_words:
            self._fitting_words[tag] = validate.fitting_words(
                self.models.mlm.words, tag, self.lexicon, judging=not self.config.fluency_rules
            )
        return self._fitting_words[tag]

    def _validate(
        self, filled: Sequence[FilledSentence], parsed: Sequence[ParsedSeed]
    ) -> Validated:
        expansions, rejected = validate.validate(
            filled,
            {one.seed.id: one for one in parsed},
            self.forms,
            self.models.tagger,
            self.lexicon,
            least_score=self.config.least_score,
            fluency_rules=self.config.fluency_rules,
        )
        return Validated(tuple(expansions), _listed(rejected))

    def _select(self, expansions: Sequence[Expansion], parsed: Sequence[ParsedSeed]) -> Selected:
        families, rejected = select.select(
            expansions,
            parsed,
            self.models.tagger,
            self.models.parser,
            how=self.config.select,
            per_seed=self.config.expansions,
            seed=self.config.seed,
        )
        return Selected(tuple(families), _listed(rejected))

    def _is_left_out(self, case: str, capability: str) -> bool:
        """Whether the build leaves out a case, which is counted when it is met first."""
        if case not in self._excluded:
            return False
        if case not in self._left_out:
            self._left_out.add(case)
            self.counts[capability].excluded += 1
        return True

    def _count_rejected(self, rejected: Sequence[tuple[str, Rejection, int]]) -> None:
        for capability, reason, number in rejected:
            counts = self.counts[capability]
            match reason:
                case Rejection.PART_OF_SPEECH:
                    counts.rejected_part_of_speech += number
                case Rejection.NOT_NEUTRAL:
                    counts.rejected_not_neutral += number
                case Rejection.SPECIFICATION:
                    counts.rejected_specification += number
                case Rejection.UNLIKELY:
                    counts.rejected_unlikely += number


class _Trees:
    """Parse trees of corpus sentences, each parsed once."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._trees: dict[str, str | None] = {}

    def parse(self, tagged: Sequence[TaggedSentence]) -> None:
        """Parse those that are not parsed yet."""
        missing = {t.sentence.text: t.tokens for t in tagged if t.sentence.text not in self._trees}
        if missing:
            self._trees |= zip(
                missing, self._models.parser.parse(list(missing.values())), strict=True
            )

    def meet(self, tagged: TaggedSentence, rule: SearchRule) -> bool:
        """Whether a sentence's tree meets a rule; a rule that needs no tree is met."""
        if not rule.needs_tree:
            return True
        tree = self._trees[tagged.sentence.text]
        return tree is not None and search.meets_tree(read_tree(tree), tagged.tokens, rule)


def _listed(rejected: Counter[tuple[str, Rejection]]) -> tuple[tuple[str, Rejection, int], ...]:
    return tuple((capability, reason, n) for (capability, reason), n in sorted(rejected.items()))


def _shards(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
