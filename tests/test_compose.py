"""Sentences become seeds, and extended sentences expansions, through one template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage_settings import accepting_rules, rules_for
from stub_models import StubParser, StubTagger

from s2lct.builder.annotations import Annotation, Annotations
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Capability, Form
from s2lct.builder.models import parsed_sentences
from s2lct.builder.paper_form import paper_seeds
from s2lct.builder.records import (
    Expansion,
    Extension,
    InsertedWord,
    ParsedSentence,
    Production,
    Seed,
    Sentence,
    Source,
    expansion_source_id,
    sentence_id,
)
from s2lct.builder.stages.choose import MAX_SHARE_OF_INSERTION, MIN_LIMIT, choose, inserted_text
from s2lct.builder.stages.choose_seeds import MAX_SEEDS_OF_SENTENCE, choose_seeds
from s2lct.builder.stages.compose import (
    MAX_WORDINGS_TRIED,
    compose,
    compose_seeds,
    expansion_of,
    usable_seeds,
)
from s2lct.builder.stages.keep import keep_seeds
from s2lct.identity import content_id
from s2lct.labels import Label
from s2lct.suite.tables import without

NOUNS = (
    *("film", "story", "music", "script", "hero", "song", "camera", "photograph", "town"),
    "teacher",
)
TEXTS = [
    *(f"The {noun} is dull." for noun in NOUNS),
    *(f"The {noun} makes a dull evening." for noun in NOUNS),
    *(f"This {noun} can see the mess." for noun in NOUNS),
]
OPENINGS = ["In fact,", "At times", "Here,"]
EVERYTHING = Annotations(accepts_undecided=True)
PRODUCTION = Production("NP", ("DT", "NN"), ("DT", "JJ", "NN"), 0.1)


def parsed(text: str) -> ParsedSentence:
    (found,) = parsed_sentences([text], StubTagger(), StubParser())
    assert found
    return found


def source(text: str, label: Label = "negative") -> Source:
    return Source(Sentence("made", text, text, label), parsed(text))


SOURCES = [source(text) for text in TEXTS]


def form_of(*texts: str, **choices: list[str]) -> Form:
    return Form.model_validate(
        {
            "search": {"N": [{"label": "negative"}], "P": [{"label": "positive"}]},
            "templates": [
                {
                    "text": text,
                    "passes": ["positive"],
                    "choices": {name: some for name, some in choices.items() if name in text},
                }
                for text in texts
            ],
        }
    )


WORDED = form_of(
    "{before} {N|backshift|clause}, but {N|past denial}.",
    "{before} {N|clause}. {after}",
    "{N|question} {after}",
    "{N|negate}",
    before=["I thought that", "I was sure that", "Many wrote that"],
    after=["No.", "Not at all.", "Hardly."],
)


def capability_of(form: Form) -> Capability:
    return Capability(id="LC4", title="t", expectation="e", forms={"fluent": form, "paper": form})


def drawn(
    pool: Sequence[Source],
    form: Form = WORDED,
    most: int = 1_000,
    annotations: Annotations = EVERYTHING,
    **changes: Any,
) -> list[Seed]:
    """The seeds of a capability of that form, as if its *it* always were something."""
    rules = accepting_rules(seeds=most, **changes)
    streams = compose_seeds("LC4", form, {"N": pool, "P": []}, rules)
    streams = usable_seeds(keep_seeds(streams, annotations), form, rules)
    seeds, lacking = choose_seeds([capability_of(form)], {"LC4": streams}, rules)
    assert not lacking
    return seeds["LC4"]


def extended(base: Source, place: int, word: str) -> Extension:
    """The sentence with a word before one of its tokens, or with a phrase that opens it."""
    if place == 0:
        text = f"{word} {base.text[0].lower()}{base.text[1:]}"
        inserted = InsertedWord(word, "PP", 0, len(word))
        assert without(text, [(0, len(word))]) == base.text
        return Extension(text, (inserted,), "attested", PRODUCTION, parsed=parsed(text))
    at = base.parsed.tokens[place].start
    spaced = base.text[at - 1 : at] == " "
    start = at if spaced else at + 1
    text = base.text[:at] + (f"{word} " if spaced else f" {word}") + base.text[at:]
    inserted = InsertedWord(word, "JJ", start, start + len(word))
    assert without(text, [(inserted.start, inserted.end)]) == base.text
    return Extension(text, (inserted,), "masked", PRODUCTION, -1.0, parsed=parsed(text))


@st.composite
def insertions(draw: st.DrawFn) -> tuple[Source, Extension]:
    base = draw(st.sampled_from(SOURCES))
    place = draw(st.integers(0, len(base.parsed.tokens) - 1))
    words = ["old", "indeed", "is", "The"] if place else OPENINGS
    return base, extended(base, place, draw(st.sampled_from(words)))


@given(st.sampled_from(load_capabilities()), insertions())
def test_an_expansion_without_its_inserted_words_is_its_seed(
    capability: Capability, inserted: tuple[Source, Extension]
) -> None:
    form = capability.form("fluent")
    base, extension = inserted
    slots = sorted({slot for template in form.templates for slot in template.slots})
    streams = compose_seeds("LC4", form, {slot: [base] for slot in slots}, accepting_rules())
    for seed in (seed for stream in streams for wordings in stream for seed in wordings):
        made = expansion_of(seed, seed.slots[0], extension)
        if made is None:
            continue
        assert made.seed_id == seed.id
        assert made.id == content_id("expansion", seed.capability, made.text)
        assert [word.word for word in made.inserted] == [w.word for w in extension.inserted]
        assert all(made.text[word.start : word.end] == word.word for word in made.inserted)
        assert without(made.text, [(w.start, w.end) for w in made.inserted]) == seed.text


@given(st.sampled_from(SOURCES), st.sampled_from(OPENINGS))
def test_what_opens_a_sentence_opens_a_case_or_is_in_none(base: Source, opening: str) -> None:
    extension = extended(base, 0, opening)
    form = form_of("{N} No.", "I think that {N|clause}.", 'They wrote, "{N}"')
    found = {}
    for number, template in enumerate(form.templates):
        one = form.model_copy(update={"templates": [template]})
        (seed,) = drawn([base], one, most=1)
        made = expansion_of(seed, "N", extension)
        found[number] = made and made.text
    assert found == {0: f"{extension.text} No.", 1: None, 2: None}


POOLS = st.lists(st.sampled_from(SOURCES), max_size=12, unique_by=lambda one: one.text)


@given(POOLS, st.integers(1, 30))
def test_seeds_are_distinct_and_use_a_sentence_twice_at_most(pool: list[Source], most: int) -> None:
    seeds = drawn(pool, most=most)
    assert len(seeds) <= most
    assert len({seed.text for seed in seeds}) == len(seeds)
    used = [one.sentence.text for seed in seeds for one in seed.sources]
    assert max(Counter(used).values(), default=0) <= MAX_SEEDS_OF_SENTENCE
    distinct = list(dict.fromkeys(used))
    assert used[: len(distinct)] == distinct  # every sentence once, before one comes again
    for seed in seeds:
        sentences = {"N": seed.sources[0].parsed}
        assert compose(seed.composed_by, seed.wording, sentences).text == seed.text
        assert seed.id == content_id("seed", "LC4", seed.text)


@given(POOLS, POOLS, st.randoms())
def test_a_wording_depends_on_its_sentences_alone(
    pool: list[Source], others: list[Source], order: object
) -> None:
    together = list({one.text: one for one in (*pool, *others)}.values())
    order.shuffle(together)  # type: ignore[attr-defined]
    texts = {one.text for one in pool}
    among_others = {s.text for s in drawn(together) if s.sources[0].text in texts}
    assert {seed.text for seed in drawn(pool)} == among_others


@given(POOLS, st.sets(st.sampled_from(["Many", "I", "Is", "Can", "The", "This", "Does"])))
def test_annotations_decide(pool: list[Source], refused: set[str]) -> None:
    composed = compose_seeds("LC4", WORDED, {"N": pool, "P": []}, accepting_rules())
    composed = usable_seeds(composed, WORDED, accepting_rules())
    wordings = [wordings for stream in composed for wordings in stream]
    assert all(0 < len(seeds) <= MAX_WORDINGS_TRIED for seeds in wordings)
    every = [seed for seeds in wordings for seed in seeds]
    accepted = [seed for seed in every if seed.text.split()[0] not in refused]
    seeds = drawn(pool, annotations=accepting(accepted))
    assert {seed.id for seed in seeds} <= {seed.id for seed in accepted}
    # What was accepted in one build is there in another, where only that is accepted.
    assert drawn(pool, annotations=accepting(seeds)) == seeds


def accepting(seeds: Sequence[Seed]) -> Annotations:
    """Annotations by two who found no fault."""
    ids = {seed.id if seed.template else sentence_id(seed.text) for seed in seeds}
    return Annotations(
        Annotation(id=id, annotator=name, label="positive", natural=2)
        for id in ids
        for name in ("a", "b")
    )


@given(POOLS, st.sets(st.sampled_from(sorted({one.text for one in SOURCES}))), st.integers(1, 9))
def test_what_has_expansions_is_drawn_first(
    pool: list[Source], extended_texts: set[str], most: int
) -> None:
    ids = frozenset(expansion_source_id("LC4", text) for text in extended_texts)
    every = [seed.sources[0].text for seed in drawn(pool)]
    preferred = [seed.sources[0].text for seed in drawn(pool, ids_in_expansions=ids)]
    assert Counter(preferred) == Counter(every)
    has = [text in extended_texts for text in preferred]
    assert has == sorted(has, reverse=True)
    few = [seed.sources[0].text for seed in drawn(pool, most=most, ids_in_expansions=ids)]
    assert len(few) <= most and set(few[:1]) == set(preferred[:1])


@given(POOLS, st.integers(0, 12), st.integers(1, 30), st.booleans())
def test_seeds_of_the_sentences_drawn_are_those_of_all_or_more_are_asked_for(
    pool: list[Source], number: int, most: int, prefers: bool
) -> None:
    some = {source.text for source in pool[::2]} if prefers else set()
    ids = frozenset(expansion_source_id("LC4", text) for text in some)
    rules = accepting_rules(seeds=most, ids_in_expansions=ids)
    capability = capability_of(WORDED)

    def chosen(sources: Sequence[Source], incomplete: set[str]) -> tuple[list[Seed], set[str]]:
        streams = compose_seeds("LC4", WORDED, {"N": sources, "P": []}, rules)
        streams = usable_seeds(streams, WORDED, rules)
        seeds, lacking = choose_seeds([capability], {"LC4": streams}, rules, incomplete)
        return seeds["LC4"], lacking

    seeds, lacking = chosen(pool[:number], {"LC4"})
    assert lacking == {"LC4"} or seeds == chosen(pool, set())[0]
    assert not chosen(pool, set())[1]


def expansions(chosen: Sequence[tuple[int, str]]) -> list[Expansion]:
    made = []
    for number, (seed, word) in enumerate(chosen):
        inserted = (InsertedWord(word, "RB", 0, len(word)),)
        extension = Extension("", inserted, "masked", PRODUCTION)
        made.append(Expansion(f"{number}", f"s{seed}", "", inserted, extension, "N"))
    return made


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["also", "here", "now"])), max_size=400),
    st.integers(1, 5),
    st.randoms(),
)
def test_no_insertion_is_chosen_more_often_than_its_share(
    candidates: list[tuple[int, str]], per_seed: int, order: object
) -> None:
    given_ones = expansions(candidates)
    seeds = [f"s{number}" for number in range(61)]
    rules = rules_for(expansions=per_seed)
    chosen = choose([seeds], given_ones, rules)
    assert list(chosen) == seeds
    taken = [one for some in chosen.values() for one in some]
    assert len({one.id for one in taken}) == len(taken)
    assert all(one.seed_id == seed for seed, some in chosen.items() for one in some)
    assert all(len(some) <= per_seed for some in chosen.values())
    counts = Counter(map(inserted_text, taken))
    assert max(counts.values(), default=0) <= max(MIN_LIMIT, MAX_SHARE_OF_INSERTION * len(taken))
    # None is left out that could have been taken.
    left = [one for one in given_ones if one not in taken and len(chosen[one.seed_id]) < per_seed]
    assert all(counts[inserted_text(one)] >= MIN_LIMIT for one in left)
    shuffled = list(given_ones)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert choose([seeds], shuffled, rules) == chosen


def test_what_is_limited_goes_to_a_capability_that_has_little_else() -> None:
    many = [(number % 20, word) for number in range(100) for word in ("also", f"word{number}")]
    few = [(20, "also"), (21, "also")]
    groups = [[f"s{number}" for number in range(20)], ["s20", "s21"]]
    chosen = choose(groups, expansions([*many, *few]), rules_for(expansions=4))
    assert [len(chosen[id]) for id in groups[1]] == [1, 1]
    assert all(map(len, (chosen[id] for id in groups[0])))


# Table 1 of the newest draft, its pieces joined by spaces; P, N and U stand for sentences.
PRINTED = {
    "LC1": {"U."},
    "LC3": {
        f"{before} {sentence} {turn} {now}"
        for befores, nows in (
            (
                (
                    "Previously, I used to like it saying that",
                    "Last time, I agreed with saying that",
                    "I liked it much as to say that",
                ),
                ("now I don't like it.", "now I hate it."),
            ),
            (
                (
                    "I used to disagree with saying that",
                    "Last time, I didn't like it saying that",
                    "I hated it much as to say that",
                ),
                ("now I like it.",),
            ),
        )
        for before in befores
        for sentence in ("P.", "N.")
        for turn in ("but", "although", "on the other hand")
        for now in nows
    },
    "LC4": {"This is not N.", "This isn't N.", "Those are not N.", "Those aren't N."},
    "LC5": {"This is not U.", "This isn't U.", "Those are not U.", "Those aren't U."},
    "LC6": {
        f"{before} N. {negation}"
        for before in ("I agreed that", "I thought that")
        for negation in ("but it wasn't", "but I didn't")
    },
    "LC7": {
        f"{negation} U., P."
        for negation in ("I wouldn't say,", "I do not think,", "I don't agree with,")
    },
    "LC8": {
        f"{others} {theirs} but I think that {own}"
        for others in (
            "Some people think that",
            "Many people agree with that",
            "They think that",
            "You agree with that",
        )
        for theirs, own in (("P.", "N."), ("N.", "P."))
    },
    "LC9": {f"Do I {v} that {s}? yes" for v in ("think", "agree") for s in ("P.", "N.")},
    "LC10": {f"Do I {verb} that P.? no" for verb in ("think", "agree")},
    "LC11": {f"Do I {verb} that N.? no" for verb in ("think", "agree")},
}


def found_for(form: Form, texts: Sequence[str]) -> dict[str, list[Sentence]]:
    """Sentences for each slot of a paper form."""
    rewritten = any(template.rewrite for template in form.templates)
    starts = ("This is ", "Those are ") if rewritten else ("",)
    return {
        slot: [
            Sentence("made", f"{start}{rule.label}{text}", f"{start}{text}", rule.label)
            for text in texts
            for start in starts
            for rule in rules
        ]
        for slot, rules in form.search.items()
    }


@pytest.mark.parametrize("name", PRINTED)
def test_every_wording_of_the_paper_is_the_printed_one_and_every_printed_one_comes(
    name: str,
) -> None:
    (capability,) = load_capabilities([name])
    letters: dict[Label, str] = {"positive": "P.", "negative": "N.", "neutral": "U."}
    form = capability.form("paper")
    found = {
        slot: [replace(one, text=one.text.replace("X.", letters[one.label])) for one in some]
        for slot, some in found_for(form, ["X."]).items()
    }
    seeds = paper_seeds(name, form, found, max_seeds=1_000, random_seed=3)
    assert {seed.text for seed in seeds} == PRINTED[name]
    allowed = [template.passes for template in form.templates]
    assert all(seed.labels in allowed or "label of" in str(allowed) for seed in seeds)


@pytest.mark.parametrize("capability", load_capabilities(), ids=lambda c: c.id)
def test_the_paper_form_uses_no_sentence_twice_while_others_are_left(
    capability: Capability,
) -> None:
    form = capability.form("paper")
    found = found_for(form, [f"word {number}." for number in range(30)])

    def drawn(seed: int) -> list[Seed]:
        return paper_seeds(capability.id, form, found, max_seeds=20, random_seed=seed)

    seeds = drawn(1)
    assert len({seed.text for seed in seeds}) == len(seeds) == 20
    pairs = Counter(tuple(one.sentence.id for one in seed.sources) for seed in seeds)
    assert max(pairs.values()) == 1
    assert drawn(1) == seeds
    assert [seed.text for seed in drawn(2)] != [seed.text for seed in seeds]
