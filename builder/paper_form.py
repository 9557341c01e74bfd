"""The paper's form: search, transform, parse, mask, fill, validate, select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import parsed_sentences
from s2lct.builder.records import Expansion, Family, Seed, Sentence
from s2lct.builder.stages import choose, compose, confirm, search
from s2lct.builder.stages.compose import PAIRINGS
from s2lct.builder.stages.mask import Filling, Problem, fill, mask
from s2lct.progress import bar

SEEDS_AT_ONCE = 100
"""Which masked texts share a forward pass, and so the last digits of scores, depends on it."""


def families_in_paper_form(
    sentences: Sequence[Sentence],
    capabilities: Sequence[Capability],
    config: BuildConfig,
    lexicon: Lexicon,
    grammar: ReferenceGrammar,
    models: KeptModels,
    counted: Mapping[str, Counter[str]],
) -> dict[str, list[Family]]:
    """The families of each capability; ``counted`` takes the counts of the closing table."""
    forms = {capability.id: capability.form("paper") for capability in capabilities}
    seeds: list[Seed] = []
    progress = bar("transform", len(capabilities))
    for capability in capabilities:
        found = {
            slot: search.draw(
                sentences,
                rules,
                models.tagger,
                models.parser,
                lexicon,
                most=max(config.most_seeds, PAIRINGS),
                seed=config.seed,
            )
            for slot, rules in forms[capability.id].search.items()
        }
        counted[capability.id]["found"] = sum(map(len, found.values()))
        seeds += compose.seeds_in_paper_form(
            capability.id,
            forms[capability.id],
            found,
            most=config.most_seeds,
            seed=config.seed,
        )
        progress(1)
    chosen: dict[str, list[Expansion]] = {}
    fillings: dict[Problem, list[Filling]] = {}
    progress = bar("expand", len(seeds))
    for start in range(0, len(seeds), SEEDS_AT_ONCE):
        some = seeds[start : start + SEEDS_AT_ONCE]
        parsed = parsed_sentences([seed.text for seed in some], models.tagger, models.parser)
        masked = [
            (seed, one)
            for seed, sentence in zip(some, parsed, strict=True)
            if sentence is not None
            for one in mask(
                seed.id,
                sentence,
                grammar,
                most=config.masks,
                masks_per_sentence=config.masks_per_sentence,
                tags=config.mask_tags,
                seed=config.seed,
                paper=True,
            )
        ]
        found_words = fill([one for _, one in masked], models.mlm, known=fillings)
        filled = [(*both, words) for both, words in zip(masked, found_words, strict=True)]
        for seed, _, words in filled:
            counted[seed.capability].update(masked=1, suggestions=len(words))
        passed, rejected = confirm.confirmed_in_paper_form(filled, forms, models.tagger, lexicon)
        for (name, reason), number in rejected.items():
            counted[name][f"rejected_{reason.name.lower()}"] += number
        chosen |= choose.choose_in_paper_form(
            some, passed, per_seed=config.expansions, seed=config.seed
        )
        progress(len(some))
    families: dict[str, list[Family]] = {}
    for capability in capabilities:
        own = [seed for seed in seeds if seed.capability == capability.id]
        families[capability.id] = _without_duplicates(own, chosen)
        kept = sum(len(family.expansions) for family in families[capability.id])
        counted[capability.id].update(
            duplicates=sum(len(chosen[seed.id]) for seed in own) - kept,
            seeds=len(own),
            expansions=kept,
        )
    return families


def _without_duplicates(
    seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]]
) -> list[Family]:
    """The families of a capability, without expansions whose text is there already."""
    seen = {seed.text for seed in seeds}
    families: list[Family] = []
    for seed in seeds:
        distinct = [one for one in expansions[seed.id] if one.text not in seen]
        seen.update(one.text for one in distinct)
        families.append(Family(seed, tuple(distinct)))
    return families
