"""The paper's form: whole sentences are transformed first, and the seeds extended afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, islice

from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.schema import Form, SearchRule
from s2lct.builder.inputs import Inputs
from s2lct.builder.kept_models import KeptModels
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

SENTENCES_DRAWN_AT_ONCE = 256
SEEDS_EXPANDED_AT_ONCE = 100
"""Few enough that their fillings fit into memory."""
MAX_COMBINATIONS = 100_000
"""Of sentences for a template's slots, and of tries for one more seed."""
MAX_WORDINGS = 1_000
"""Of a template, however many its choices give."""


def rows(inputs: Inputs, models: KeptModels) -> tuple[Rows, Work]:
    """The rows of each capability in the paper's form, and how much was looked at for them."""
    forms = {capability.id: capability.form("paper") for capability in inputs.capabilities}
    progress = bar("transform", len(forms))
    seeds: dict[str, list[Seed]] = {}
    work: dict[str, dict[str, int]] = {}
    for id, form in forms.items():
        drawn = {
            slot: draw(inputs, searched, models, max(inputs.config.seeds, MAX_SOURCES))
            for slot, searched in form.search.items()
        }
        config = inputs.config
        seeds[id] = paper_seeds(id, form, drawn, most=config.seeds, seed=config.seed)
        work[id] = {"sentences_found": sum(map(len, drawn.values())), "expansions_tried": 0}
        progress(1)
    every = [seed for group in seeds.values() for seed in group]
    chosen: dict[str, list[Expansion]] = {}
    progress = bar("expand", len(every))
    for start in range(0, len(every), SEEDS_EXPANDED_AT_ONCE):
        batch = every[start : start + SEEDS_EXPANDED_AT_ONCE]
        extended = extend_seeds(batch, inputs, models)
        for each, extensions in extended:
            work[each.capability]["expansions_tried"] += len(extensions)
        expansions = confirm_expansions(extended, forms, models)
        chosen |= _chosen(batch, expansions, inputs.config.expansions, inputs.config.seed)
        progress(len(batch))
    families = {id: _distinct_families(group, chosen) for id, group in seeds.items()}
    return {id: rows_of(group, Annotations()) for id, group in families.items()}, work


def draw(
    inputs: Inputs, searched: Sequence[SearchRule], models: KeptModels, most: int
) -> list[Sentence]:
    """The first ``most`` sentences of the corpus that meet one of a slot's rules."""
    ordered = candidates(inputs.sentences, searched, inputs.config.seed)
    drawn: list[Sentence] = []
    for start in range(0, len(ordered), SENTENCES_DRAWN_AT_ONCE):
        if len(drawn) >= most:
            break
        batch = ordered[start : start + SENTENCES_DRAWN_AT_ONCE]
        texts = [sentence.text for sentence in batch]
        tokens = dict(zip(texts, models.tag(texts), strict=True))
        matched = matches(batch, tokens, searched, Lexicon.load())
        parsed = models.parsed([sentence.text for sentence, rule in matched if rule.complete])
        complete = {each.text for each in parsed if each is not None and is_complete_sentence(each)}
        drawn += [s for s, rule in matched if not rule.complete or s.text in complete]
    return drawn[:most]


def paper_seeds(
    capability: str,
    form: Form,
    sentences: Mapping[str, Sequence[Sentence]],
    *,
    most: int,
    seed: int,
) -> list[Seed]:
    """Make up to ``most`` seeds of whole sentences, the templates in equal parts.

    Args:
        capability: its id.
        form: its form.
        sentences: for each slot, in drawing order.
        most: how many seeds to make.
        seed: of the random choices.

    Returns:
        Seeds of distinct text. Within a template no sentence, and no pair of sentences, is used
        twice, unless every one has been used and other wordings are left.

    Raises:
        CapabilityError: a template has operations, which only the fluent form carries out, or a
            sentence does not begin as a rewrite demands.
    """
    if with_operations := next(
        (template for template in form.templates if template.has_operations), None
    ):
        raise CapabilityError(
            f"capability {capability}: the paper form does not carry out the operations of "
            f"{plain(with_operations.text, 200)!r}",
            hint="give the capability a form `paper` of its own, or leave out --templates paper",
        )
    ordered = {
        slot: sorted(
            of_slot,
            key=lambda sentence: shuffle_key(seed, capability, sentence.corpus, sentence.id),
        )
        for slot, of_slot in sentences.items()
    }
    makers = [
        _seeds_of_template(number, form, ordered, capability, seed)
        for number in range(len(form.templates))
    ]
    seeds: dict[str, Seed] = {}
    exhausted: set[int] = set()
    for number in cycle(range(len(makers))):
        if len(seeds) >= most or len(exhausted) == len(makers):
            break
        for candidate in islice(makers[number], MAX_COMBINATIONS):
            if candidate.text not in seeds:
                seeds[candidate.text] = candidate
                break
        else:
            exhausted.add(number)
    return list(seeds.values())


def _seeds_of_template(
    number: int, form: Form, ordered: Mapping[str, Sequence[Sentence]], capability: str, seed: int
) -> Iterator[Seed]:
    """Seeds of one template; templates over the same slots share out the combinations."""
    template = form.templates[number]
    sharing = [
        n for n, other in enumerate(form.templates) if set(other.slots) == set(template.slots)
    ]
    slots = form.templates[sharing[0]].slots
    combinations = list(islice(_combinations([ordered[slot] for slot in slots]), MAX_COMBINATIONS))
    start = sharing.index(number)
    # Its share first, then what the others were to have, for other wordings of it.
    shares = [
        combinations[(start + turn) % len(sharing) :: len(sharing)] for turn in range(len(sharing))
    ]
    variants = range(min(template.variant_count, MAX_WORDINGS))
    for turn in variants:
        for sentences in chain(*shares):
            keys = (capability, template.text, *(sentence.id for sentence in sentences))
            order = sorted(variants, key=lambda n: shuffle_key(seed, *keys, str(n)))
            filled = {
                slot: Source(sentence, ParsedSentence(sentence.text, (), ""))
                for slot, sentence in zip(slots, sentences, strict=True)
            }
            wording = template.variant(order[turn])
            yield composed_seed("seed", capability, template, wording, filled)


def _combinations(columns: Sequence[Sequence[Sentence]]) -> Iterator[tuple[Sentence, ...]]:
    """Combinations in which each sentence is used as evenly as can be, none twice.

    The first round pairs the columns row by row, each later round shifts the second column by
    one more; a full cross product is never built.
    """
    if not all(columns):
        return
    longest = max(map(len, columns))
    used: set[tuple[int, ...]] = set()
    for shift in range(longest if len(columns) > 1 else 1):
        for row in range(longest):
            picked = tuple(
                (row + (shift * column)) % len(sentences)
                for column, sentences in enumerate(columns)
            )
            if picked not in used:
                used.add(picked)
                yield tuple(c[n] for c, n in zip(columns, picked, strict=True))


def extend_seeds(
    seeds: Sequence[Seed], inputs: Inputs, models: KeptModels
) -> list[tuple[Seed, list[Extension]]]:
    """Each seed with words in place of masks, once for each masked sentence of it."""
    config = inputs.config
    masked = [
        (seed, each)
        for seed, sentence in zip(seeds, models.parsed([seed.text for seed in seeds]), strict=True)
        if sentence is not None
        for each in mask(
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
    fillings = fill([each for _, each in masked], models)
    for (seed, each), of_each in zip(masked, fillings, strict=True):
        filled = [(*each.filled(words), score) for words, score in of_each]
        production = each.productions[0]
        extensions = [
            Extension(text, inserted, "masked", production, score, masked_text=each.text)
            for text, inserted, score in filled
        ]
        extended.append((seed, extensions))
    return extended


def confirm_expansions(
    extended: Sequence[tuple[Seed, Sequence[Extension]]],
    forms: Mapping[str, Form],
    models: KeptModels,
) -> list[Expansion]:
    """The expansions that meet S²LCT's three criteria, and nothing beside them, in their order.

    1. The tagger gives the word, in the filled sentence, the tag of its mask.
    2. The word is neutral: `Lexicon.is_neutral`.
    3. The filled sentence still meets its seed's search rule, where the capability keeps it.
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
    lexicon = Lexicon.load()
    by_place = {(token.start, token.end): token for token in tokens}
    for word in extension.inserted:
        token = by_place.get((word.start, word.end))
        if token is None or token.tag != word.tag:
            return False
        if not lexicon.is_neutral(word.word, word.tag, token.lemma):
            return False
    label = seed.sources[0].sentence.label
    return still_meets(form, label, ParsedSentence(extension.text, tokens, ""), lexicon)


def _chosen(
    seeds: Sequence[Seed], expansions: Iterable[Expansion], per_seed: int, seed: int
) -> dict[str, list[Expansion]]:
    """Choose each seed's expansions at random.

    Of a text that a seed has twice, that of the more probable production, or else of the better
    score, counts.
    """

    def rank(expansion: Expansion) -> tuple[float, float]:
        return expansion.extension.production.probability, expansion.extension.score

    best: dict[tuple[str, str], Expansion] = {}
    for expansion in expansions:
        better = best.setdefault((expansion.seed_id, expansion.text), expansion)
        if rank(expansion) > rank(better):
            best[expansion.seed_id, expansion.text] = expansion
    by_seed: dict[str, list[Expansion]] = {each.id: [] for each in seeds}
    for expansion in best.values():
        by_seed[expansion.seed_id].append(expansion)
    return {
        id: sorted(group, key=lambda each: shuffle_key(seed, "select", id, each.text))[:per_seed]
        for id, group in by_seed.items()
    }


def _distinct_families(
    seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]]
) -> list[Family]:
    """The families of a capability, without expansions whose text is there already."""
    texts = {seed.text for seed in seeds}
    families: list[Family] = []
    for seed in seeds:
        distinct = [expansion for expansion in expansions[seed.id] if expansion.text not in texts]
        texts.update(expansion.text for expansion in distinct)
        families.append(Family(seed, tuple(distinct)))
    return families
