"""What there is to read of a corpus, round by round, so that a build can have what it wants.

It follows the draw of a build of the same options: whatever readers pass here is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from s2lct.builder.curation.sheets import Candidate, Round
from s2lct.builder.curation.verdicts import Verdicts
from s2lct.builder.fluent_form import (
    EXTENDED_AT_ONCE,
    OF_A_SENTENCE,
    SHORTER_FORMS,
    TRIED_FOR_A_SEED,
    Drawn,
    FluentForm,
)
from s2lct.builder.records import Sentence
from s2lct.builder.sources import Extension, Origin, Source, sentence_id
from s2lct.builder.stages import compose, reduce
from s2lct.builder.stages.compose import PAIRINGS, ComposedSeed
from s2lct.labels import Label
from s2lct.progress import bar
from s2lct.suite.annotation import Item

CASES_FOR_A_SEED = 2
"""Cases that are read for each seed that is still missing."""
ANY_NUMBER = 1_000
EXTENSIONS_OF_A_SENTENCE = 16
PAIRS_OF_A_SENTENCE = 4


class CandidatesOfABuild:
    """The candidates of each round: what was read, and what is to be read next.

    Args:
        form: makes the families of a build; it has no verdicts.
        sentences: of the corpus.
    """

    def __init__(self, form: FluentForm, sentences: Sequence[Sentence]) -> None:
        self._form = form
        self._drawn = {
            (slot.capability, slot.name): Drawn(form, slot, most=PAIRINGS)
            for slot in form.slots(sentences)
        }
        self._shorter: dict[str, list[Source]] = {}
        self._longer: dict[str, list[Extension]] = {}

    def of(self, round: Round, verdicts: Verdicts) -> list[Candidate]:
        """The candidates of a round: those that were read, and those that are worth reading now.

        Args:
            round: cases are made of sentences, and extensions of the sentences of cases, that
                passed.
            verdicts: what readers found so far.
        """
        form = replace(self._form, verdicts=verdicts)
        reached = self._reached(verdicts)
        if round == "sentences":
            return self._sentences(reached, verdicts)
        pools = self._pools(form, reached)
        return self._cases(form, pools) if round == "cases" else self._extensions(form, pools)

    def _reached(self, verdicts: Verdicts) -> dict[tuple[str, str], list[Source]]:
        """Of each slot as many sentences as leave enough that no reader refused."""
        enough = TRIED_FOR_A_SEED * self._form.config.most_seeds
        reached = {slot: drawn.first(enough) for slot, drawn in self._drawn.items()}
        while True:
            self._look_up_shorter([source for some in reached.values() for source in some])
            more: dict[tuple[str, str], list[Source]] = {}
            for slot, some in reached.items():
                missing = enough - sum(self._is_usable(one, verdicts) for one in some)
                more[slot] = self._drawn[slot].first(len(some) + missing)[len(some) :]
            if not any(more.values()):
                return reached
            for slot, sources in more.items():
                reached[slot] += sources

    def _is_usable(self, source: Source, verdicts: Verdicts) -> bool:
        """Whether no reader refused it, or one of its shorter forms."""
        return any(
            verdicts.state(sentence_id(one.text), {source.sentence.label}) != "refused"
            for one in (source, *self._forms(source, verdicts))
        )

    def _sentences(
        self, reached: Mapping[tuple[str, str], Sequence[Source]], verdicts: Verdicts
    ) -> list[Candidate]:
        return _distinct(
            _sentence(one.text, source.sentence.label)
            for sources in reached.values()
            for source in sources
            for one in (source, *self._forms(source, verdicts, with_refused=True))
        )

    def _forms(
        self, source: Source, verdicts: Verdicts, *, with_refused: bool = False
    ) -> Iterator[Source]:
        """The shorter forms of a sentence that are to be read, or were not refused."""
        taken = 0
        for one in self._shorter[source.text]:
            state = verdicts.state(sentence_id(one.text), {source.sentence.label})
            if state != "refused" and taken < SHORTER_FORMS:
                taken += 1
                yield one
            elif state == "refused" and with_refused:
                yield one

    def _pools(
        self, form: FluentForm, reached: Mapping[tuple[str, str], Sequence[Source]]
    ) -> dict[str, dict[str, list[Source]]]:
        shorter = {
            source.text: [
                one
                for one in self._shorter[source.text]
                if form.passes(sentence_id(one.text), source.sentence.label)
            ][:SHORTER_FORMS]
            for sources in reached.values()
            for source in sources
        }
        pools: dict[str, dict[str, list[Source]]] = {one.id: {} for one in form.capabilities}
        for (capability, slot), sources in reached.items():
            of_each = [form.usable_forms(one, shorter[one.text])[:OF_A_SENTENCE] for one in sources]
            pools[capability][slot] = [
                forms[turn]
                for turn in range(OF_A_SENTENCE)
                for forms in of_each
                if turn < len(forms)
            ]
        return pools

    def _cases(
        self, form: FluentForm, pools: Mapping[str, Mapping[str, list[Source]]]
    ) -> list[Candidate]:
        found: list[Candidate] = []
        for capability in form.capabilities:
            own = pools[capability.id]
            passing = form.compose(capability, own)
            description = capability.raters or capability.title
            missing = form.config.most_seeds - len(passing)
            considered = [seed for seed in passing if seed.template]
            if missing:
                compose.seeds_of(
                    capability.id,
                    capability.form("fluent"),
                    own,
                    most=len(passing) + CASES_FOR_A_SEED * missing,
                    partners=compose.PAIRINGS,
                    accept=self._collector(form, considered),
                )
            found += [
                Candidate(Item(id=seed.id, text=seed.text, description=description), seed.labels)
                for seed in considered
            ]
        return _distinct(found)

    @staticmethod
    def _collector(
        form: FluentForm, considered: list[ComposedSeed]
    ) -> Callable[[ComposedSeed], bool]:
        """Accepts what may still pass, and notes all that is asked about."""
        verdicts = form.verdicts or Verdicts([])

        def accept(seed: ComposedSeed) -> bool:
            if seed.template:
                considered.append(seed)
            return not seed.template or verdicts.state(seed.id, seed.labels) != "refused"

        return accept

    def _extensions(
        self, form: FluentForm, pools: Mapping[str, Mapping[str, list[Source]]]
    ) -> list[Candidate]:
        used: dict[str, Source] = {}
        for capability in form.capabilities:
            for seed in form.compose(capability, pools[capability.id]):
                used.update((source.text, source) for source in seed.sources)
        self._look_up_longer(sorted(used.values(), key=lambda one: sentence_id(one.text)))
        return _distinct(
            _sentence(extension.text, source.sentence.label)
            for source in used.values()
            for extension in self._worth_reading(source, form)
        )

    def _worth_reading(self, source: Source, form: FluentForm) -> Iterator[Extension]:
        """A sentence's extensions, and each two of those that passed at once."""
        single = self._longer[source.text]
        yield from single
        passed = [one for one in single if form.passes(one.id, source.sentence.label)]
        yield from reduce.paired(source.text, passed)[:PAIRS_OF_A_SENTENCE]

    def _look_up_shorter(self, sources: Sequence[Source]) -> None:
        """Find the shorter forms of sentences where they are not known."""
        missing = {one.text: one for one in sources if one.text not in self._shorter}
        found = self._form.shortened(list(missing.values()), most=ANY_NUMBER)
        self._shorter.update({text: found.get(text, []) for text in missing})

    def _look_up_longer(self, sources: Sequence[Source]) -> None:
        """Find the extensions of sentences where they are not known."""
        missing = {one.text: one for one in sources if one.text not in self._longer}
        progress = bar("extend", len(missing))
        for start in range(0, len(missing), EXTENDED_AT_ONCE):
            some = list(missing.values())[start : start + EXTENDED_AT_ONCE]
            found = self._form.confirmed(some, lambda extension, label: True)
            for text, confirmed in found.items():
                self._longer[text] = _likeliest([one.extension for one in confirmed])
            progress(len(some))


def _likeliest(extensions: Sequence[Extension]) -> list[Extension]:
    """What the author wrote, then words and phrases in turn, the likeliest of each first."""
    distinct = list({one.text: one for one in extensions}.values())
    of_origin: dict[Origin, list[Extension]] = {"attested": [], "masked": [], "phrase": []}
    for one in distinct:
        of_origin[one.origin].append(one)
    of_origin["masked"].sort(key=lambda one: -one.score)
    in_turn = zip_longest(of_origin["masked"], of_origin["phrase"])
    likely = [one for both in in_turn for one in both if one is not None]
    return (of_origin["attested"] + likely)[:EXTENSIONS_OF_A_SENTENCE]


def _sentence(text: str, label: Label) -> Candidate:
    return Candidate(Item(id=sentence_id(text), text=text), frozenset({label}))


def _distinct(candidates: Iterator[Candidate] | Sequence[Candidate]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for one in candidates:
        found.setdefault(one.item.id, one)
    return list(found.values())
