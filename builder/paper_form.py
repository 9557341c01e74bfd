"""The paper's form: search, transform, parse, mask, fill, validate, select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import Family, Seed, Sentence
from s2lct.builder.stages import fill, mask, search, transform, validate
from s2lct.builder.stages.compose import PAIRINGS
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
        seeds += transform.transform(
            found, capability, forms[capability.id], seeds=config.most_seeds, seed=config.seed
        )
        progress(1)
    families: dict[str, list[Family]] = {capability.id: [] for capability in capabilities}
    fillings: dict[fill.Problem, list[fill.Filling]] = {}
    progress = bar("expand", len(seeds))
    for start in range(0, len(seeds), SEEDS_AT_ONCE):
        parsed = mask.parse(seeds[start : start + SEEDS_AT_ONCE], models.tagger, models.parser)
        masked = mask.mask(
            parsed,
            grammar,
            masked_per_seed=config.masks,
            masks_per_sentence=config.masks_per_sentence,
            order="random",
            tags=config.mask_tags,
            seed=config.seed,
            anywhere=True,
        )
        filled = fill.fill(masked, models.mlm, suggestions=fill.SUGGESTIONS, known=fillings)
        parents = {one.seed.id: one for one in parsed}
        passed, rejected = validate.validate(filled, parents, forms, models.tagger, lexicon)
        for one in filled:
            counts = counted[parents[one.masked.seed_id].seed.capability]
            counts.update(masked=1, suggestions=len(one.suggestions))
        for (name, reason), number in rejected.items():
            counted[name][f"rejected_{reason.name.lower()}"] += number
        for family in validate.select(passed, parsed, per_seed=config.expansions, seed=config.seed):
            families[family.seed.seed.capability].append(family)
        progress(len(parsed))
    for name, group in families.items():
        families[name], duplicates = validate.without_duplicates(group)
        counted[name].update(
            duplicates=duplicates.total(),
            seeds=len(families[name]),
            expansions=sum(len(family.expansions) for family in families[name]),
        )
    return families
