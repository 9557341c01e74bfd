"""Expect: from a sample of a build to how far the whole one goes in each slot.

Shares of so few sentences are uncertain: where a slot was not looked through to its end, they are
drawn towards the share of all slots together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.drawing import LEAST_DRAWN, LEAST_SHORTENED, MOST_DRAWN
from s2lct.builder.fluent_form import TRIED_FOR_A_SEED
from s2lct.builder.looking import Slot
from s2lct.builder.sampled import SampledBuild
from s2lct.builder.stages.compose import MOST_OF_A_SOURCE, PAIRINGS

WEIGHT_OF_ALL = 4.0
"""Sentences for which the share of all slots counts in the share of one."""


@dataclass(frozen=True, slots=True)
class DrawnSlot:
    """How far a build is expected to go through a slot's sentences.

    Attributes:
        candidates: sentences that label, length and letters let into the slot.
        fitting: of these, those that tagger and parser would.
        most_fitting: what these are at most.
        usable: the share of those that fit of which a seed may use any form.
        looked: candidates that are looked at.
        drawn: fitting sentences that are shortened.
        seeds: that have a sentence of the slot.
    """

    candidates: float
    fitting: float
    most_fitting: float
    usable: float
    looked: float
    drawn: float
    seeds: float


@dataclass(frozen=True, slots=True)
class _Group:
    """Templates over the same slots.

    Attributes:
        capability: its id.
        slots: names of the slots, that of the first column first.
        usable: sentences of the scarcest slot in the sample of which a seed may use a form.
        once: seeds that they gave, each used once.
        twice: seeds that they gave in all.
    """

    capability: str
    slots: tuple[str, ...]
    usable: int
    once: int
    twice: int


class Expectations:
    """What a build is expected to do, by a sample of it."""

    def __init__(self, sample: SampledBuild) -> None:
        self._sample = sample
        self._config = sample.stages.config
        self._slots = list(sample.search.slots)
        self._whole = {slot: self._is_whole(slot) for slot in self._slots}

    def _is_whole(self, slot: str) -> bool:
        """Whether the sample has everything that there is for a slot."""
        sample = self._sample
        looked, rows = sample.looked(slot), sample.search.candidates[slot]
        return (
            sample.each == 1
            and looked == len(rows)
            and len(sample.shortened[slot]) == sample.fitting(slot)
        )

    @property
    def enough(self) -> float:
        """The sentences that are drawn for a slot at most."""
        config = self._config
        if config.takes_all:
            return math.inf
        if self._sample.stages.verdicts is not None:
            return PAIRINGS
        return min(PAIRINGS, config.seeds * TRIED_FOR_A_SEED)

    @cached_property
    def _usable(self) -> dict[str, int]:
        """How many shortened sentences of each slot have a form that a seed may use."""
        of_slot = self._sample.shortened
        return {slot: sum(map(bool, of_slot[slot].values())) for slot in self._slots}

    @cached_property
    def _groups(self) -> list[_Group]:
        groups: list[_Group] = []
        for one in self._sample.stages.capabilities:
            names = {
                slot: Slot(one.id, slot, rules).name
                for slot, rules in one.form("fluent").search.items()
            }
            for slots in _slots_together(one):
                own = [
                    seed
                    for seed in self._sample.seeds[one.id]
                    if tuple(sorted(set(seed.slots))) == slots
                ]
                first = {
                    source.sentence.text
                    for seed in own
                    for slot, source in zip(seed.slots, seed.sources, strict=True)
                    if slot == slots[0]
                }
                usable = min(self._usable[names[slot]] for slot in slots)
                named = tuple(names[slot] for slot in slots)
                groups.append(_Group(one.id, named, usable, min(len(first), usable), len(own)))
        return groups

    def _shares(self, found: Mapping[str, int], of: Mapping[str, int]) -> dict[str, float]:
        """The share of what was found for each slot."""
        all_slots = sum(found.values()) / max(1, sum(of.values()))
        return {
            slot: found[slot] / max(1, of[slot])
            if self._whole[slot]
            else (found[slot] + WEIGHT_OF_ALL * all_slots) / (of[slot] + WEIGHT_OF_ALL)
            for slot in self._slots
        }

    @cached_property
    def slots(self) -> dict[str, DrawnSlot]:
        """How far the build goes in each slot."""
        sample, config = self._sample, self._config
        rows = sample.search.candidates
        candidates = {slot: len(rows[slot]) * sample.each for slot in self._slots}
        fits = self._shares(
            {slot: sample.fitting(slot) for slot in self._slots},
            {slot: sample.looked(slot) for slot in self._slots},
        )
        usable = self._shares(
            self._usable, {slot: len(sample.shortened[slot]) for slot in self._slots}
        )
        fitting = {slot: candidates[slot] * fits[slot] for slot in self._slots}
        needed, seeds = self._needed(fitting, usable)
        at_once = min(max(LEAST_DRAWN, 4 * config.most_seeds), MOST_DRAWN)
        shortened_at_once = min(max(LEAST_SHORTENED, config.most_seeds), MOST_DRAWN)
        slots: dict[str, DrawnSlot] = {}
        for slot in self._slots:
            most = min(self.enough, fitting[slot])
            if config.takes_all:
                looked, drawn = candidates[slot], fitting[slot]
            else:
                drawn = min(most, _up_to(needed[slot], shortened_at_once))
                through = drawn >= fitting[slot] and drawn > 0
                depth = candidates[slot] if through else drawn / max(fits[slot], 1e-9)
                looked = min(candidates[slot], max(at_once, _up_to(depth, at_once)))
            slots[slot] = DrawnSlot(
                candidates=candidates[slot],
                fitting=fitting[slot],
                most_fitting=fitting[slot] if self._whole[slot] else candidates[slot],
                usable=usable[slot],
                looked=looked,
                drawn=drawn,
                seeds=seeds[slot],
            )
        return slots

    def _needed(
        self, fitting: Mapping[str, float], usable: Mapping[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """For each slot the fitting sentences that seeds need, and these seeds."""
        needed, seeds = dict.fromkeys(self._slots, 0.0), dict.fromkeys(self._slots, 0.0)
        for group, wanted in self._seeds_of_groups(fitting, usable):
            once, _ = self._yield(group)
            reach = self._reach(group, fitting, usable)
            for number, slot in enumerate(group.slots):
                seeds[slot] += wanted
                own = min(self.enough, fitting[slot])
                if wanted < once * reach and usable[slot]:
                    # Behind the first column stand as many as may be partners.
                    sentences = PAIRINGS if number else wanted / once
                    own = min(own, sentences / usable[slot])
                needed[slot] = max(needed[slot], own)
        return needed, seeds

    def _reach(
        self, group: _Group, fitting: Mapping[str, float], usable: Mapping[str, float]
    ) -> float:
        """Of the scarcest of its slots, the sentences that can be used."""
        return min(usable[slot] * min(self.enough, fitting[slot]) for slot in group.slots)

    def _yield(self, group: _Group) -> tuple[float, float]:
        """Seeds of a sentence that can be used, if it is used once, and in all."""
        if all(self._whole[slot] for slot in group.slots):
            number = max(1, group.usable)
            return group.once / number, group.twice / number
        every = max(1, sum(one.usable for one in self._groups))
        weight = group.usable + WEIGHT_OF_ALL
        return (
            (group.once + WEIGHT_OF_ALL * sum(one.once for one in self._groups) / every) / weight,
            (group.twice + WEIGHT_OF_ALL * sum(one.twice for one in self._groups) / every) / weight,
        )

    def _seeds_of_groups(
        self, fitting: Mapping[str, float], usable: Mapping[str, float]
    ) -> Iterator[tuple[_Group, float]]:
        """Each group of templates with its seeds: all have the same share, as far as it goes."""
        for capability in self._sample.stages.capabilities:
            own = [one for one in self._groups if one.capability == capability.id]
            possible = [self._yield(one)[1] * self._reach(one, fitting, usable) for one in own]
            shares = _shared(float(self._config.most_seeds), possible)
            yield from zip(own, shares, strict=True)

    def seeds(self, capability: str) -> float:
        """The seeds of a capability."""
        fitting = {name: one.fitting for name, one in self.slots.items()}
        usable = {name: one.usable for name, one in self.slots.items()}
        return sum(
            seeds
            for group, seeds in self._seeds_of_groups(fitting, usable)
            if group.capability == capability
        )

    def most_seeds(self, capability: str) -> float:
        """What these are at most, whatever the rates are."""
        most = sum(
            MOST_OF_A_SOURCE
            * min(min(self.enough, self.slots[slot].most_fitting) for slot in group.slots)
            for group in self._groups
            if group.capability == capability
        )
        return min(float(self._config.most_seeds), most)

    @cached_property
    def looked(self) -> float:
        """The sentences that are looked at; several slots may want the same one."""
        may_fill = self._sample.may_fill
        places = [np.flatnonzero(own).tolist() for own in may_fill]
        return self._distinct(
            dict(zip(self._slots, places, strict=True)),
            {slot: one.candidates for slot, one in self.slots.items()},
            {slot: one.looked for slot, one in self.slots.items()},
        )

    @cached_property
    def shortened(self) -> float:
        """The sentences that are shortened."""
        return self._distinct(
            self._sample.shortened,
            {slot: one.fitting for slot, one in self.slots.items()},
            {slot: one.drawn for slot, one in self.slots.items()},
        )

    @cached_property
    def extended(self) -> float:
        """The sentences that are extended: those of seeds, whole or shortened."""
        used: dict[str, set[str]] = {slot: set() for slot in self._slots}
        for one in self._sample.stages.capabilities:
            for seed in self._sample.seeds[one.id]:
                for slot, source in zip(seed.slots, seed.sources, strict=True):
                    used[f"{one.id}-{slot}"].add(source.text)
        there = {
            slot: len(used[slot]) * self._times_the_sample(slot, min(self.enough, one.fitting))
            for slot, one in self.slots.items()
        }
        of_none = sum(one.seeds for slot, one in self.slots.items() if not used[slot])
        return of_none + self._distinct(
            used, there, {slot: one.seeds for slot, one in self.slots.items()}
        )

    @cached_property
    def composed(self) -> float:
        """Forms of sentences, of all slots, that seeds are tried with."""
        return sum(
            sum(map(len, self._sample.shortened[slot].values()))
            * self._times_the_sample(slot, one.drawn)
            for slot, one in self.slots.items()
        )

    @cached_property
    def paired(self) -> float:
        """Partners that are put in order, for every sentence of a first column anew."""
        pairs = 0.0
        for group in self._groups:
            first, *others = (self.slots[slot] for slot in group.slots)
            partners = sum(min(PAIRINGS, one.drawn * one.usable) for one in others)
            pairs += MOST_OF_A_SOURCE * first.drawn * first.usable * partners
        return pairs

    def _times_the_sample(self, slot: str, sentences: float) -> float:
        """How many usable sentences there are of so many fitting ones, for one of the sample."""
        return sentences * self.slots[slot].usable / max(1, self._usable[slot])

    def _distinct(
        self,
        members: Mapping[str, Collection[int] | Collection[str]],
        there: Mapping[str, float],
        taken: Mapping[str, float],
    ) -> float:
        """How many things are taken, if each slot takes some of its own and they share things.

        Args:
            members: for each slot the things of the sample that are its own.
            there: how many these stand for.
            taken: how many of those the slot takes.
        """
        slots_of: dict[int | str, list[str]] = {}
        for slot in self._slots:
            for one in members[slot]:
                slots_of.setdefault(one, []).append(slot)
        number = 0.0
        for slots in slots_of.values():
            stands_for = sum(there[slot] / len(members[slot]) for slot in slots) / len(slots)
            shares = (min(1.0, taken[slot] / there[slot]) if there[slot] else 0.0 for slot in slots)
            number += stands_for * (1.0 - math.prod(1.0 - share for share in shares))
        return number


def _slots_together(capability: Capability) -> list[tuple[str, ...]]:
    """The slots of templates, as `compose.seeds_of` puts templates together."""
    every = (tuple(sorted(set(one.slots))) for one in capability.form("fluent").templates)
    return list(dict.fromkeys(every))


def _shared(number: float, possible: Sequence[float]) -> list[float]:
    """Share a number evenly among those that have room for it."""
    shares = [0.0] * len(possible)
    left, number = sorted(range(len(possible)), key=possible.__getitem__), float(number)
    while left:
        place = left.pop(0)
        shares[place] = min(possible[place], number / (len(left) + 1))
        number -= shares[place]
    return shares


def _up_to(number: float, step: int) -> float:
    """The next multiple of a step."""
    return math.ceil(number / step) * step
