"""Shorten: the forms of an author's sentence that seeds may use, without neutral parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar, shipped_attachments
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import Source, sentence_id
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.reduce import shortened
from s2lct.builder.stages.search import is_complete_sentence
from s2lct.builder.stages.soundness import sound_sources

SHORTER_FORMS = 4
"""Most shorter forms of a sentence that seeds use."""


def shorten(sources: Sequence[Source], models: KeptModels, rules: BuildRules) -> list[list[Source]]:
    """What seeds may use of each sentence: its shorter forms, then itself.

    Args:
        sources: whole sentences.
        models: tag and parse.
        rules: of the build.
    """
    shorter: list[tuple[str, Source]] = []
    for source in {source.text: source for source in sources}.values():
        if sentence_id(source.text) in rules.worth_processing:
            shorter += [(source.text, form) for form in _shorter_forms(source, rules)]
    parsed = models.parsed([form.text for _, form in shorter])
    complete = [
        (text, replace(form, parsed=sentence))
        for (text, form), sentence in zip(shorter, parsed, strict=True)
        if sentence is not None and is_complete_sentence(sentence)
    ]
    if rules.soundness != "ignored":
        sound = sound_sources([form for _, form in complete], models)
        complete = [(text, form) for text, form in complete if form in sound]
    forms: dict[str, list[Source]] = {source.text: [] for source in sources}
    for text, form in complete:
        forms[text].append(form)
    return [
        # Another sentence of the same text may have been shortened.
        [replace(form, sentence=source.sentence) for form in forms[source.text]]
        + [source] * rules.may_stand(sentence_id(source.text), source.sentence.label)
        for source in sources
    ]


def _shorter_forms(source: Source, rules: BuildRules) -> list[Source]:
    """The shorter forms of a sentence that may stand in cases, not parsed yet."""
    extensions = shortened(
        source.parsed,
        ReferenceGrammar.load(),
        Lexicon.load(),
        shipped_attachments(),
        keeps_complements=rules.keeps_complements,
    )
    label = source.sentence.label
    usable = [text for text in extensions if rules.may_stand(sentence_id(text), label)]
    return [
        Source(source.sentence, replace(source.parsed, text=text), extensions[text])
        for text in usable[:SHORTER_FORMS]
    ]
