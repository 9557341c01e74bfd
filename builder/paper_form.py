"""The paper's form: whole sentences are transformed first, and then the seeds are extended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, islice

from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.schema import Form, SearchRule
from s2lct.builder.inputs import Inputs
from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import (
    Expansion,
    Extension,
    Family,
    ParsedSentence,
    Seed,
    Sentence,
    Source,
    Token,
)
from s2lct.builder.rules import MAX_SOURCES
from s2lct.builder.stages.compose import composed_seed
from s2lct.builder.stages.mask import fill, mask
from s2lct.builder.stages.search import candidates, is_complete_sentence, still_meets
from s2lct.builder.stages.select import matches
from s2lct.builder.write import Rows, Work, rows_of
from s2lct.errors import CapabilityError
from s2lct.identity import shuffle_key
from s2lct.plain_text import plain
from s2lct.progress import bar
from s2lct.suite.tables import case_id

SENTENCES_PER_DRAW = 256
"""The number of sentences that are tagged and parsed together."""
SEEDS_PER_EXPANSION_BATCH = 100
"""The number of seeds that are expanded together: their fillings must fit into memory."""
MAX_COMBINATIONS = 100_000
"""The largest number of combinations of sentences for a template, and of tries for one seed."""
MAX_WORDINGS = 1_000
"""The largest number of wordings of a template that are used."""


def rows(inputs: Inputs, models: CachedModels) -> tuple[Rows, Work]:
    """The rows of each capability in the paper's form, and the counts of its work."""
    forms = {capability.id: capability.form("paper") for capability in inputs.capabilities}
    progress = bar("transform", len(forms))
    seeds: dict[str, list[Seed]] = {}
    work: dict[str, dict[str, int]] = {}
    for id, form in forms.items():
        ordered = {
            slot: draw(inputs, search_rules, models, max(inputs.config.seeds, MAX_SOURCES))
            for slot, search_rules in form.search.items()
        }
        config = inputs.config
        seeds[id] = paper_seeds(id, form, ordered, max_seeds=config.seeds, random_seed=config.seed)
        work[id] = {"sentences_found": sum(map(len, ordered.values())), "expansions_tried": 0}
        progress(1)
    all_seeds = [seed for group in seeds.values() for seed in group]
    chosen: dict[str, list[Expansion]] = {}
    progress = bar("expand", len(all_seeds))
    for start in range(0, len(all_seeds), SEEDS_PER_EXPANSION_BATCH):
        batch = all_seeds[start : start + SEEDS_PER_EXPANSION_BATCH]
        extended = extend_seeds(batch, inputs, models)
        for seed, extensions in extended:
            work[seed.capability]["expansions_tried"] += len(extensions)
        expansions = confirm_expansions(extended, forms, models)
        chosen |= _choose_at_random(batch, expansions, inputs.config.expansions, inputs.config.seed)
        progress(len(batch))
    families = {id: _distinct_families(group, chosen) for id, group in seeds.items()}
    return {id: rows_of(group, Annotations()) for id, group in families.items()}, work


def draw(
    inputs: Inputs, search_rules: Sequence[SearchRule], models: CachedModels, max_sentences: int
) -> list[Sentence]:
    """The first ``max_sentences`` sentences of the corpus that meet one of a slot's rules."""
    ordered = candidates(inputs.sentences, search_rules, inputs.config.seed)
    drawn: list[Sentence] = []
    for start in range(0, len(ordered), SENTENCES_PER_DRAW):
        if len(drawn) >= max_sentences:
            break
        batch = ordered[start : start + SENTENCES_PER_DRAW]
        texts = [sentence.text for sentence in batch]
        tokens = dict(zip(texts, models.tag(texts), strict=True))
        matched = matches(batch, tokens, search_rules, Lexicon.load())
        parsed = models.parse_texts([sentence.text for sentence, rule in matched if rule.complete])
        complete_texts = {
            each.text for each in parsed if each is not None and is_complete_sentence(each)
        }
        drawn += [s for s, rule in matched if not rule.complete or s.text in complete_texts]
    return drawn[:max_sentences]


def paper_seeds(
    capability: str,
    form: Form,
    sentences: Mapping[str, Sequence[Sentence]],
    *,
    max_seeds: int,
    random_seed: int,
) -> list[Seed]:
    """Make up to ``max_seeds`` seeds of whole sentences, equally many with each template.

    Args:
        capability: the id of the capability.
        form: the form of the capability.
        sentences: the sentences of each slot, in drawing order.
        max_seeds: how many seeds to make.
        random_seed: seed of the random choices.

    Returns:
        Seeds with distinct texts. Within a template no sentence, and no pair of sentences, is used
        twice, unless every one has been used and other wordings are left.

    Raises:
        CapabilityError: a template has operations, which only the fluent form carries out, or a
            sentence does not begin as a rewrite demands.
    """
    if refused := next((template for template in form.templates if template.has_operations), None):
        raise CapabilityError(
            f"capability {capability}: the paper form does not carry out the operations of "
            f"{plain(refused.text, 200)!r}",
            hint="give the capability a form `paper` of its own, or leave out --templates paper",
        )
    ordered = {
        slot: sorted(
            slot_sentences,
            key=lambda sentence: shuffle_key(random_seed, capability, sentence.corpus, sentence.id),
        )
        for slot, slot_sentences in sentences.items()
    }
    makers = [
        _seeds_of_template(index, form, ordered, capability, random_seed)
        for index in range(len(form.templates))
    ]
    seeds: dict[str, Seed] = {}
    exhausted: set[int] = set()
    for index in cycle(range(len(makers))):
        if len(seeds) >= max_seeds or len(exhausted) == len(makers):
            break
        for candidate in islice(makers[index], MAX_COMBINATIONS):
            if candidate.text not in seeds:
                seeds[candidate.text] = candidate
                break
        else:
            exhausted.add(index)
    return list(seeds.values())


def _seeds_of_template(
    index: int,
    form: Form,
    ordered: Mapping[str, Sequence[Sentence]],
    capability: str,
    random_seed: int,
) -> Iterator[Seed]:
    """The seeds of one template; templates with the same slots share out the combinations."""
    template = form.templates[index]
    sharing = [
        n for n, other in enumerate(form.templates) if set(other.slots) == set(template.slots)
    ]
    slots = form.templates[sharing[0]].slots
    combinations = list(islice(_combinations([ordered[slot] for slot in slots]), MAX_COMBINATIONS))
    first_share = sharing.index(index)
    # The template's own share comes first, then the shares of the others.
    shares = [
        combinations[(first_share + turn) % len(sharing) :: len(sharing)]
        for turn in range(len(sharing))
    ]
    variants = range(min(template.variant_count, MAX_WORDINGS))
    for turn in variants:
        for sentences in chain(*shares):
            keys = (capability, template.text, *(sentence.id for sentence in sentences))
            order = sorted(variants, key=lambda n: shuffle_key(random_seed, *keys, str(n)))
            sources = {
                slot: Source(sentence, ParsedSentence(sentence.text, (), ""))
                for slot, sentence in zip(slots, sentences, strict=True)
            }
            wording = template.variant(order[turn])
            yield composed_seed("seed", capability, template, wording, sources)


def _combinations(columns: Sequence[Sequence[Sentence]]) -> Iterator[tuple[Sentence, ...]]:
    """Combinations of one sentence of each column, without repetition, using all sentences evenly.

    The first round pairs the columns row by row. Each later round shifts the second column by one
    more row. A full cross product is never built.
    """
    if not all(columns):
        return
    longest = max(map(len, columns))
    used: set[tuple[int, ...]] = set()
    for shift in range(longest if len(columns) > 1 else 1):
        for row in range(longest):
            numbers = tuple(
                (row + (shift * column)) % len(sentences)
                for column, sentences in enumerate(columns)
            )
            if numbers not in used:
                used.add(numbers)
                yield tuple(column[n] for column, n in zip(columns, numbers, strict=True))


def extend_seeds(
    seeds: Sequence[Seed], inputs: Inputs, models: CachedModels
) -> list[tuple[Seed, list[Extension]]]:
    """Each seed with words in place of its masks, once for each masked sentence of the seed."""
    config = inputs.config
    pairs = [
        (seed, masked)
        for seed, sentence in zip(
            seeds, models.parse_texts([seed.text for seed in seeds]), strict=True
        )
        if sentence is not None
        for masked in mask(
            seed.id,
            sentence,
            ReferenceGrammar.load(),
            max_sentences=config.masks,
            masks_per_sentence=config.masks_per_sentence,
            tags=config.mask_tags,
            random_seed=config.seed,
            is_paper_form=True,
        )
    ]
    extended: list[tuple[Seed, list[Extension]]] = []
    fillings = fill([masked for _, masked in pairs], models)
    for (seed, masked), group in zip(pairs, fillings, strict=True):
        filled = [(*masked.filled(words), score) for words, score in group]
        production = masked.productions[0]
        extensions = [
            Extension(text, inserted, "masked", production, score, masked_text=masked.text)
            for text, inserted, score in filled
        ]
        extended.append((seed, extensions))
    return extended


def confirm_expansions(
    extended: Sequence[tuple[Seed, Sequence[Extension]]],
    forms: Mapping[str, Form],
    models: CachedModels,
) -> list[Expansion]:
    """The expansions that meet the three criteria of S²LCT, in the given order.

    1. The tagger gives the word, in the filled sentence, the tag of its mask.
    2. The word is neutral: `Lexicon.is_neutral`.
    3. The filled sentence still meets its seed's search rule, where the capability requires it.
    """
    texts = list(dict.fromkeys(each.text for _, extensions in extended for each in extensions))
    tokens = dict(zip(texts, models.tag(texts), strict=True))
    return [
        Expansion(
            case_id("expansion", seed.capability, extension.text),
            seed.id,
            extension.text,
            extension.inserted,
            extension,
        )
        for seed, extensions in extended
        for extension in extensions
        if _meets_criteria(seed, extension, tokens[extension.text], forms[seed.capability])
    ]


def _meets_criteria(
    seed: Seed, extension: Extension, tokens: tuple[Token, ...], form: Form
) -> bool:
    """Whether an extension of a seed meets the three criteria of S²LCT."""
    lexicon = Lexicon.load()
    token_at = {(token.start, token.end): token for token in tokens}
    for word in extension.inserted:
        token = token_at.get((word.start, word.end))
        if token is None or token.tag != word.tag:
            return False
        if not lexicon.is_neutral(word.word, word.tag, token.lemma):
            return False
    label = seed.sources[0].sentence.label
    return still_meets(form, label, ParsedSentence(extension.text, tokens, ""), lexicon)


def _choose_at_random(
    seeds: Sequence[Seed], expansions: Iterable[Expansion], most: int, random_seed: int
) -> dict[str, list[Expansion]]:
    """Choose the expansions of each seed at random.

    If a seed has a text twice, the expansion with the more probable production is kept, or else the
    one with the better score.
    """

    def rank(expansion: Expansion) -> tuple[float, float]:
        return expansion.extension.production.probability, expansion.extension.score

    best_of_text: dict[tuple[str, str], Expansion] = {}
    for expansion in expansions:
        best = best_of_text.setdefault((expansion.seed_id, expansion.text), expansion)
        if rank(expansion) > rank(best):
            best_of_text[expansion.seed_id, expansion.text] = expansion
    groups: dict[str, list[Expansion]] = {each.id: [] for each in seeds}
    for expansion in best_of_text.values():
        groups[expansion.seed_id].append(expansion)
    return {
        id: sorted(group, key=lambda each: shuffle_key(random_seed, "select", id, each.text))[:most]
        for id, group in groups.items()
    }


def _distinct_families(
    seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]]
) -> list[Family]:
    """The families of a capability, without expansions whose text occurs already."""
    texts = {seed.text for seed in seeds}
    families: list[Family] = []
    for seed in seeds:
        distinct = [expansion for expansion in expansions[seed.id] if expansion.text not in texts]
        texts.update(expansion.text for expansion in distinct)
        families.append(Family(seed, tuple(distinct)))
    return families
