"""The stages of a build: what each takes, what it makes, and how that is kept.

Corpus → search → found → transform → parse → mask → fill → validate → select. A stage is a pure
function of a batch. What it leaves out it gives back as records, which are counted at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, ParamSpec, TypeVar

from pydantic import TypeAdapter

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import (
    ConstituencyParser,
    MaskedLanguageModel,
    Tagger,
    load_masked_language_model,
    load_parser,
    load_tagger,
)
from s2lct.builder.stages import fill, mask, parse, search, select, transform, validate
from s2lct.builder.stages.compose import PAIRINGS
from s2lct.builder.stages.search import Match
from s2lct.builder.stages.validate import Rejection
from s2lct.suite.records import (
    Expansion,
    Family,
    FilledSentence,
    MaskedSentence,
    ParsedSeed,
    Seed,
    Sentence,
)

Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Stage(Generic[Given, Made]):
    """A step of a build.

    Attributes:
        name: of its progress and its checkpoints.
        adapter: of what it makes, from and to JSON.
        run: makes it of a batch, and of nothing else.
    """

    name: str
    adapter: TypeAdapter[Made]
    run: Callable[Given, Made]


@dataclass(frozen=True, slots=True)
class Found:
    """The sentences that a capability may use, slot by slot, in drawing order."""

    sentences: dict[str, tuple[Sentence, ...]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A case that the build was asked to leave out."""

    capability: str
    id: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """How many words for masks of a capability were rejected for a reason."""

    capability: str
    reason: Rejection
    number: int


@dataclass(frozen=True, slots=True)
class Transformed:
    """The seeds of a capability."""

    seeds: tuple[Seed, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class MaskedSeed:
    """A seed with its masked sentences."""

    parsed: ParsedSeed
    sentences: tuple[MaskedSentence, ...]


@dataclass(frozen=True)
class Validated:
    """Expansions that passed."""

    expansions: tuple[Expansion, ...]
    rejected: tuple[Rejected, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Selected:
    """Families."""

    families: tuple[Family, ...]


class Models:
    """Parser, tagger and masked language model, each loaded once, when first needed."""

    def __init__(self, config: BuildConfig) -> None:
        self._config = config

    def __reduce__(self) -> tuple[type[Models], tuple[BuildConfig]]:
        """A worker is sent their names, and loads them itself."""
        return Models, (self._config,)

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


@dataclass(frozen=True)
class Stages:
    """The stages of one build, in their order."""

    search: Stage[[Sequence[Sentence]], list[Match]]
    found: Stage[[str, Sequence[Match]], Found]
    transform: Stage[[str, Found], Transformed]
    parse: Stage[[Sequence[Seed]], list[ParsedSeed]]
    mask: Stage[[Sequence[ParsedSeed]], list[MaskedSeed]]
    fill: Stage[[Sequence[MaskedSeed]], list[FilledSentence]]
    validate: Stage[[Sequence[MaskedSeed], Sequence[FilledSentence]], Validated]
    select: Stage[[Sequence[MaskedSeed], Sequence[Expansion]], Selected]


def stages_of(
    config: BuildConfig,
    capabilities: Sequence[Capability],
    lexicon: Lexicon,
    grammar: ReferenceGrammar,
    models: Models,
) -> Stages:
    """The stages that the options of a build ask for."""
    by_id = {capability.id: capability for capability in capabilities}
    forms = {capability.id: capability.form(config.templates) for capability in capabilities}
    excluded = config.excluded.ids
    # What was computed once is kept while the build runs: that saves time and changes nothing.
    trees = search.Trees(lambda: models.parser)
    fillings: dict[fill.Problem, list[fill.Filling]] = {}
    most_drawn = max(config.most_seeds, PAIRINGS)

    def draw(capability: str, matches: Sequence[Match]) -> Found:
        return Found(
            search.draw(matches, forms[capability], trees, most=most_drawn, seed=config.seed)
        )

    def make_seeds(capability: str, found: Found) -> Transformed:
        seeds, left_out = transform.transform_without(
            found.sentences,
            by_id[capability],
            forms[capability],
            seeds=config.most_seeds,
            seed=config.seed,
            excluded=excluded,
        )
        return Transformed(tuple(seeds), tuple(LeftOut(capability, id) for id in left_out))

    def mask_each(seeds: Sequence[ParsedSeed]) -> list[MaskedSeed]:
        masked = mask.mask(
            seeds,
            grammar,
            masked_per_seed=config.masks,
            masks_per_sentence=config.masks_per_sentence,
            order="random",
            tags=config.mask_tags,
            seed=config.seed,
            anywhere=True,
        )
        of_seed: dict[str, list[MaskedSentence]] = {one.seed.id: [] for one in seeds}
        for sentence in masked:
            of_seed[sentence.seed_id].append(sentence)
        return [MaskedSeed(one, tuple(of_seed[one.seed.id])) for one in seeds]

    def suggest(seeds: Sequence[MaskedSeed]) -> list[FilledSentence]:
        return fill.fill(
            [sentence for one in seeds for sentence in one.sentences],
            models.mlm,
            suggestions=fill.SUGGESTIONS,
            known=fillings,
        )

    def judge(seeds: Sequence[MaskedSeed], filled: Sequence[FilledSentence]) -> Validated:
        parents = {one.parsed.seed.id: one.parsed for one in seeds}
        passed, rejected = validate.validate(filled, parents, forms, models.tagger, lexicon)
        left_out = {
            one.id: LeftOut(parents[one.seed_id].seed.capability, one.id)
            for one in passed
            if one.id in excluded
        }
        kept = tuple(one for one in passed if one.id not in left_out)
        return Validated(kept, _recorded(rejected), tuple(left_out.values()))

    def choose(seeds: Sequence[MaskedSeed], expansions: Sequence[Expansion]) -> Selected:
        families = select.select(
            expansions,
            [one.parsed for one in seeds],
            per_seed=config.expansions,
            seed=config.seed,
        )
        return Selected(tuple(families))

    return Stages(
        search=Stage(
            "search",
            TypeAdapter(list[Match]),
            lambda sentences: search.search(sentences, forms, models.tagger, lexicon),
        ),
        found=Stage("found", TypeAdapter(Found), draw),
        transform=Stage("transform", TypeAdapter(Transformed), make_seeds),
        parse=Stage(
            "parse",
            TypeAdapter(list[ParsedSeed]),
            lambda seeds: parse.parse(seeds, models.tagger, models.parser),
        ),
        mask=Stage("mask", TypeAdapter(list[MaskedSeed]), mask_each),
        fill=Stage("fill", TypeAdapter(list[FilledSentence]), suggest),
        validate=Stage("validate", TypeAdapter(Validated), judge),
        select=Stage("select", TypeAdapter(Selected), choose),
    )


def _recorded(rejected: Counter[tuple[str, Rejection]]) -> tuple[Rejected, ...]:
    return tuple(
        Rejected(capability, reason, number)
        for (capability, reason), number in sorted(rejected.items())
    )
