"""What models do on a suite, in figures: as results state them, and how they come of predictions.

Figures of constant and random answers, which do not read the cases, are beside them; and whether a
model is right on both sides: a seed passes, and so does its contrast, the same sentence with the
opposite answer. Contrasts are in no failure rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from s2lct.labels import LABELS, Label
from s2lct.leaderboard.answers.text_answers import ANSWER_IDS, REFUSED, UNREADABLE
from s2lct.leaderboard.scoring.statistics import (
    Evidence,
    Failed,
    Integers,
    by_name,
    evidence,
    family_counts,
    intervals,
    mean_evidence,
)
from s2lct.suite.cases import Case
from s2lct.suite.tables import COUNTERPART, KINDS

MEAN_WORDS = "Mean: of the capabilities' failure rates, each on its seeds and expansions together"
BOTH_SIDES_WORDS = (
    "Both sides: the share of seeds that pass and whose contrast (the same sentence with the "
    "opposite answer) passes too, of the seeds that have one; the mean over their capabilities; "
    "higher is better"
)
CHANCE_WORDS = (
    "Chance-corrected: 1 − mean / mean of the best answer that does not read the cases; 1 is no "
    "failure, 0 no better than chance, below 0 worse"
)
RANDOM = "random"
NEARLY_ALL = 0.95
"""A model that gives one label to this share of the cases hardly reads them."""
_MOST_FLIPPING = 10
_PROPORTION = Field(ge=0, le=1)
_COUNT = Field(ge=0)


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rate(_Figures):
    """A failure rate (0 where there is no case) with its interval."""

    cases: int = _COUNT
    failures: int = _COUNT
    failure_rate: float = _PROPORTION
    ci: tuple[float, float]


class Share(_Figures):
    """How many pairs of a seed and its contrast there are, and the share of which both pass."""

    pairs: int = Field(ge=1)
    right: int = _COUNT
    share: float = _PROPORTION
    ci: tuple[float, float]


class _Common(_Figures):
    """What is known of a capability and of all together.

    ``both_sides`` is None where there is no contrast. Cases that a model refused, or answered in a
    way that cannot be read, fail; ``answered`` is the rate without them, None where every case got
    a label or none did.
    """

    both_sides: Share | None = None
    refusals: int = Field(default=0, ge=0)
    unreadable: int = Field(default=0, ge=0)
    answered: Rate | None = None


class OverallFigures(_Common):
    """The mean of the capabilities' failure rates, beside the best answer that does not read."""

    failure_rate: float = _PROPORTION
    ci: tuple[float, float]
    cases: int = _COUNT
    chance: float = _PROPORTION
    chance_corrected: float | None = Field(default=None, le=1)


class CapabilityFigures(_Common):
    """One capability: all its cases, seeds and expansions apart, and expansions that flip.

    ``pass_to_fail`` fail though their seed passes.
    """

    all: Rate
    seed: Rate
    expansion: Rate
    pass_to_fail: int = _COUNT
    fail_to_pass: int = _COUNT


class Figures(_Figures):
    """What a model does, on all capabilities and on each in the order of the cases."""

    overall: OverallFigures
    capabilities: dict[str, CapabilityFigures]

    def nested(self) -> dict[str, Any]:
        """As ``evaluate`` takes them: ``overall``, and each capability beside it."""
        return {
            name: of.model_dump(mode="json", exclude_defaults=True)
            for name, of in {"overall": self.overall, **self.capabilities}.items()
        }

    def flat(self, prefix: str = "") -> dict[str, float]:
        """As loggers take them: ``LC4/expansion/failure_rate``, ``LC4/all/ci_low``."""
        return _flattened(self.nested(), prefix)


class Reference(_Figures):
    """What an answer that does not read the cases comes to; it follows from the suite alone.

    The mean of the capabilities' failure rates, and of each the rates on ``all`` cases, each
    ``seed`` and each ``expansion``, where there are any; and the share right on ``both_sides`` of
    the seeds that have contrasts, None without any.
    """

    failure_rate: float = _PROPORTION
    capabilities: dict[str, dict[str, float]]
    both_sides: float | None = Field(default=None, ge=0, le=1)


class FlippingWord(_Figures):
    """How often an inserted word turned a pass into a fail."""

    item: str
    pass_to_fail: int = _COUNT
    expansions: int = _COUNT


_NO_RATE = Rate(cases=0, failures=0, failure_rate=0.0, ci=(0.0, 1.0))


def failed_cases(cases: Sequence[Case], labels: npt.NDArray[np.integer[Any]]) -> Failed:
    """Which cases' labels, shape (…, cases), are none of those that pass."""
    table = [[label in case.passes for label in range(ANSWER_IDS)] for case in cases]
    passing = np.array(table, dtype=bool).reshape(-1, ANSWER_IDS)
    return np.asarray(~passing[np.arange(len(cases)), labels])


def figures(
    cases: Sequence[Case], contrasts: Sequence[Case], labels: npt.NDArray[np.integer[Any]]
) -> list[Figures]:
    """The figures of each model.

    Args:
        cases: seeds and expansions.
        contrasts: those that models were asked.
        labels: of the cases and the contrasts behind them, or the ids of `text_answers` where
            there is none, shape (models, cases and contrasts).
    """
    fails = failed_cases((*cases, *contrasts), labels)
    failed, others_fail = fails[:, : len(cases)], fails[:, len(cases) :]
    means, of_all = rates(cases, failed)
    of_kind: dict[str, dict[str, list[Rate]]] = {}
    for kind in KINDS:
        numbers = [number for number, case in enumerate(cases) if case.kind == kind]
        of_kind[kind] = rates([cases[number] for number in numbers], failed[:, numbers])[1]
    seeds, opposite = pairs_of(cases, contrasts, COUNTERPART)
    right = ~(failed[:, seeds] | others_fail[:, opposite])
    mean_shares, shares = rates([cases[number] for number in seeds], right)
    first, second = pairs_of(cases, cases, "expansion")
    pairs = by_name([cases[number] for number in second])
    least = chance_of(references(cases))[1]
    found: list[Figures] = []
    for model, mean in enumerate(means):
        silent = _silent(cases, labels[model, : len(cases)], failed[model])
        seed_fails, fails_too = failed[model, first], failed[model, second]
        capabilities: dict[str, CapabilityFigures] = {}
        for name, whole in of_all.items():
            of_pairs = pairs.get(name, [])
            before, after = seed_fails[of_pairs], fails_too[of_pairs]
            capabilities[name] = CapabilityFigures(
                all=whole[model],
                seed=of_kind["seed"][name][model] if name in of_kind["seed"] else _NO_RATE,
                expansion=(
                    of_kind["expansion"][name][model] if name in of_kind["expansion"] else _NO_RATE
                ),
                pass_to_fail=int((after & ~before).sum()),
                fail_to_pass=int((~after & before).sum()),
                both_sides=_share(shares[name][model]) if name in shares else None,
                **silent.get(name, {}),
            )
        overall = OverallFigures(
            **mean.model_dump(exclude={"failures"}),
            chance=least,
            chance_corrected=chance_corrected(mean.failure_rate, least),
            both_sides=_share(mean_shares[model]) if len(seeds) else None,
            **silent.get("overall", {}),
        )
        found.append(Figures(overall=overall, capabilities=capabilities))
    return found


def rates(cases: Sequence[Case], failed: Failed) -> tuple[list[Rate], dict[str, list[Rate]]]:
    """Each model's mean of the capabilities' failure rates, and its rate on each of them.

    ``failed`` says which cases fail, shape (models, cases).
    """
    known: list[Evidence] = []
    found: dict[str, list[Rate]] = {}
    for capability, numbers in by_name(cases).items():
        part = failed[:, numbers]
        known.append(evidence(*family_counts([cases[number] for number in numbers], part)))
        found[capability] = _rates(part, known[-1])
    if not found:
        return [_NO_RATE] * len(failed), found
    return _rates(failed, mean_evidence(known)), found


def _rates(failed: Failed, known: Evidence) -> list[Rate]:
    columns = (failed.sum(axis=1), known.share, *intervals(known))
    return [
        Rate(cases=failed.shape[1], failures=count, failure_rate=share, ci=(low, high))
        for count, share, low, high in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _share(right: Rate) -> Share:
    return Share(pairs=right.cases, right=right.failures, share=right.failure_rate, ci=right.ci)


def pairs_of(cases: Sequence[Case], others: Sequence[Case], kind: str) -> tuple[Integers, Integers]:
    """Numbers of seeds, and of what is made of each among others of a kind, of shape (pairs,)."""
    seeds = {(case.capability, case.id): n for n, case in enumerate(cases) if case.kind == "seed"}
    pairs = [
        (seeds[case.capability, case.seed_id], number)
        for number, case in enumerate(others)
        if case.kind == kind and (case.capability, case.seed_id) in seeds
    ]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second


def _silent(
    cases: Sequence[Case], labels: npt.NDArray[np.integer[Any]], failed: Failed
) -> dict[str, dict[str, Any]]:
    """What got no label, of ``overall`` and of each capability that has some; see `_Common`."""
    labelled = np.flatnonzero(labels < len(LABELS)).tolist()
    if len(labelled) == len(cases):
        return {}
    means, found = rates([cases[number] for number in labelled], failed[None, labelled])
    answered = {name: of[0] for name, of in found.items()}
    if labelled:
        answered["overall"] = means[0]
    silent: dict[str, dict[str, Any]] = {}
    for name, numbers in {"overall": [*range(len(cases))], **by_name(cases)}.items():
        refusals = int((labels[numbers] == REFUSED).sum())
        unreadable = int((labels[numbers] == UNREADABLE).sum())
        if refusals + unreadable:
            counts = {"refusals": refusals, "unreadable": unreadable}
            silent[name] = counts | {"answered": answered.get(name)}
    return silent


def references(cases: Sequence[Case], contrasts: Sequence[Case] = ()) -> dict[str, Reference]:
    """What the three constant answers, ``always-negative`` …, and a random one come to.

    A random answer is expected to fail a case with n of the three labels passing at 1 − n / 3, and
    to be drawn anew for its contrast.
    """
    rows = (*cases, *contrasts)
    fails = {
        f"always-{label}": [float(number not in case.passes) for case in rows]
        for number, label in enumerate(LABELS)
    }
    fails[RANDOM] = [1 - len(case.passes) / len(LABELS) for case in rows]
    seeds, opposite = (numbers.tolist() for numbers in pairs_of(cases, contrasts, COUNTERPART))
    pairs_of_name = by_name([cases[number] for number in seeds])
    found: dict[str, Reference] = {}
    for name, expected in fails.items():
        capabilities: dict[str, dict[str, float]] = {}
        for capability, numbers in by_name(cases).items():
            of_kind: dict[str, list[float]] = {"all": [], "seed": [], "expansion": []}
            for number in numbers:
                of_kind["all"].append(expected[number])
                of_kind[cases[number].kind].append(expected[number])
            capabilities[capability] = {k: _mean(of) for k, of in of_kind.items() if of}
        mean = _mean([of["all"] for of in capabilities.values()])
        shares: list[float] = []
        for capability, pairs in pairs_of_name.items():
            right = [
                (1 - expected[seeds[n]]) * (1 - expected[len(cases) + opposite[n]]) for n in pairs
            ]
            shares.append(_mean(right))
            capabilities[capability]["both_sides"] = shares[-1]
        found[name] = Reference(
            failure_rate=mean,
            capabilities=capabilities,
            both_sides=_mean(shares) if shares else None,
        )
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def chance_of(known: Mapping[str, Reference]) -> tuple[str, float]:
    """The name and mean failure rate of the best answer that does not read the cases.

    A constant, as no mixture beats them all.
    """
    name = min(known, key=lambda name: (known[name].failure_rate, name == RANDOM))
    return name, known[name].failure_rate


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A mean failure rate on the scale from chance (0) to no failure (1), `CHANCE_WORDS`.

    None where chance passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def one_label(
    counts: Mapping[Label, int], cases: int, known: Mapping[str, Reference]
) -> tuple[Label, float] | None:
    """The label that a model gives nearly all cases, though that does not pass them, and its share.

    None for other models. ``counts`` say how often it gave each label.
    """
    label = max(counts, key=lambda name: counts[name])
    share = counts[label] / max(1, cases)
    hardly_fails = known[f"always-{label}"].failure_rate <= 1 - NEARLY_ALL
    return None if share < NEARLY_ALL or hardly_fails else (label, share)


def flips(cases: Sequence[Case], failed: Failed) -> tuple[list[int], list[int]]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    before, after = failed[seeds], failed[expansions]
    return expansions[after & ~before].tolist(), expansions[~after & before].tolist()


def passing_expansions(cases: Sequence[Case], failed: Failed) -> int:
    """How many expansions have a seed that passes."""
    seeds, _ = pairs_of(cases, cases, "expansion")
    return int((~failed[seeds]).sum())


def flipping_words(cases: Sequence[Case], failed: Failed) -> tuple[FlippingWord, ...]:
    """The ten inserted words that most often turned a pass into a fail."""
    total = Counter(w for case in cases if case.kind == "expansion" for w in case.inserted)
    flipped = Counter(word for n in flips(cases, failed)[0] for word in cases[n].inserted)
    ranked = sorted(flipped, key=lambda word: (-flipped[word], word))[:_MOST_FLIPPING]
    return tuple(
        FlippingWord(item=word, pass_to_fail=flipped[word], expansions=total[word])
        for word in ranked
    )


def _flattened(nested: Mapping[str, Any], prefix: str) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            flat |= _flattened(value, f"{prefix}{name}/")
        elif name == "ci":
            flat[f"{prefix}ci_low"], flat[f"{prefix}ci_high"] = value
        else:
            flat[f"{prefix}{name}"] = value
    return flat
