"""Expand: put extensions in place of the sentences of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.reach import is_negation
from s2lct.builder.records import Expansion, Extension, Seed
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.compose import expansion_of
from s2lct.builder.stages.search import still_meets


def expand(
    seeds: Mapping[str, Sequence[Seed]],
    extensions: Mapping[str, Sequence[Extension]],
    forms: Mapping[str, Form],
    rules: BuildRules,
) -> list[Expansion]:
    """The expansions of seeds, with distinct texts within a capability.

    Args:
        seeds: the seeds of each capability, by its id.
        extensions: the extensions of sentences, by text, the likeliest first.
        forms: the form of each capability, by its id.
        rules: the rules of the build.
    """
    texts = {(seed.capability, seed.text) for group in seeds.values() for seed in group}
    expansions: list[Expansion] = []
    for seed in (seed for group in seeds.values() for seed in group):
        form, is_negated = forms[seed.capability], is_negation(seed.template)
        for slot, source in zip(seed.slots, seed.sources, strict=True):
            # Another sentence with the same shorter form has other attested words.
            attested_texts = {extension.text for extension in source.extensions}
            for extension in _likeliest(extensions.get(source.text, ()), rules):
                if (
                    (extension.origin == "attested" and extension.text not in attested_texts)
                    or (is_negated and shuns_negation(extension, rules))
                    or extension.parsed is None
                    or not still_meets(
                        form, source.sentence.label, extension.parsed, Lexicon.load()
                    )
                ):
                    continue
                expansion = expansion_of(seed, slot, extension)
                if expansion and (seed.capability, expansion.text) not in texts:
                    texts.add((seed.capability, expansion.text))
                    expansions.append(expansion)
    return expansions


def shuns_negation(extension: Extension, rules: BuildRules) -> bool:
    """Whether an extension inserts a word that does not occur under negation, such as *some*."""
    inserted_words = (word for part in extension.inserted for word in part.word.lower().split())
    return not rules.shunned_by_negation.isdisjoint(inserted_words)


def _likeliest(extensions: Iterable[Extension], rules: BuildRules) -> Iterator[Extension]:
    """The likeliest extensions, as many as the rules allow, and all faultless ones."""
    n_others = 0
    for extension in extensions:
        is_faultless = extension.id in rules.faultless
        n_others += not is_faultless
        if is_faultless or n_others <= rules.max_extensions:
            yield extension
