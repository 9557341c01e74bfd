"""Pools: the sentences of a corpus, and their shorter forms, that may fill a template's slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.records import Sentence, Source
from s2lct.builder.stages.compose import PAIRINGS

if TYPE_CHECKING:
    from s2lct.builder.fluent_form import FluentForm

QUICK_LOOK = 10
"""Where fewer seeds are wanted they are of the sentences as they come."""
TRIED_FOR_A_SEED = 3
"""Sentences of a slot, for each seed wanted, that are used where nobody annotated them."""
LEAST_AT_ONCE, MOST_AT_ONCE = 8, 1_000
"""Sentences of a slot that are tagged, parsed and shortened together."""


class Pool:
    """What a slot is filled with: sentences, each in its shorter forms before it is whole.

    Sentences are drawn and shortened as far as the pool is gone through, which it may be more than
    once. In a corpus of others those come first that have a shorter form: what is left out of it
    makes the best expansions.
    """

    def __init__(
        self, form: FluentForm, rules: Sequence[SearchRule], candidates: Sequence[Sentence]
    ) -> None:
        """Fill a slot.

        Args:
            form: selects and shortens.
            rules: for what may stand there.
            candidates: sentences that may meet one, in drawing order.
        """
        config = form.inputs.config
        self._form, self._rules, self._candidates = form, rules, candidates
        self._most = len(candidates)
        if config.seeds <= PAIRINGS:
            self._most = PAIRINGS
            if form.annotations is None:
                self._most = min(PAIRINGS, max(LEAST_AT_ONCE, config.seeds * TRIED_FOR_A_SEED))
        self._seen = 0
        self._sources: list[Source] = []
        self._forms: list[list[Source]] = []

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return min(len(self._sources), self._most)

    def __iter__(self) -> Iterator[Source]:
        number = 0
        while number < len(self._forms) or self._go_on():
            yield from self._forms[number]
            number += 1

    def _go_on(self) -> bool:
        """Find the next sentences and their forms; whether there are any."""
        config, done = self._form.inputs.config, len(self._forms)
        at_once = min(max(LEAST_AT_ONCE, config.seeds), MOST_AT_ONCE)
        if config.is_of_others:
            at_once = self._most
        wanted = min(done + at_once, self._most)
        while len(self._sources) < wanted and self._seen < len(self._candidates):
            batch = self._candidates[self._seen : self._seen + at_once]
            self._seen += len(batch)
            self._sources += self._form.select(self._rules, batch)
        found = self._form.forms(self._sources[done:wanted])
        if config.is_of_others:
            found.sort(key=lambda forms: not any(each.extensions for each in forms))
        self._forms += found
        return len(self._forms) > done
