"""What models do on a suite, in figures: as results state them, and how they come of predictions.

Consistency leads: the share of cases that pass together with their contrasts. No constant answer
wins there; failure rates stand beside, and contrasts are in none. So do constant and random
answers, which do not read the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from s2lct.labels import LABELS
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
from s2lct.suite.tables import CONTRAST, KINDS

MEAN_WORDS = "Mean: of the capabilities' failure rates, each on its seeds and expansions together"
CONSISTENCY_WORDS = (
    "Consistency: the share of cases with a contrast (the same sentence, changed so that no label "
    "passes both) where both are answered right; the mean over their capabilities; higher is "
    "better, and 0 is what one answer to everything gets"
)
CHANCE_WORDS = (
    "Chance-corrected: 1 − mean / mean of the best answer that does not read the cases; 1 is no "
    "failure, 0 no better than chance, below 0 worse"
)
RANDOM = "random"
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
    """How many pairs of a case and its contrast there are, and the share of which both pass."""

    pairs: int = Field(ge=1)
    right: int = _COUNT
    share: float = _PROPORTION
    ci: tuple[float, float]


class _Common(_Figures):
    """What is known of a capability and of all together.

    ``consistency`` is None where there is no contrast. Cases that a model refused, or answered in a
    way that cannot be read, fail; ``answered`` is the rate without them, None where every case got
    a label or none did.
    """

    consistency: Share | None = None
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
    ``seed`` and each ``expansion``, where there are any; and ``consistency``, None without
    contrasts.
    """

    failure_rate: float = _PROPORTION
    capabilities: dict[str, dict[str, float]]
    consistency: float | None = Field(default=None, ge=0, le=1)


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
) -> Figures:
    """The figures of a model.

    Args:
        cases: seeds and expansions.
        contrasts: those that the model was asked.
        labels: of the cases and the contrasts behind them, or the ids of `text_answers` where
            there is none, shape (cases and contrasts,).
    """
    fails = failed_cases((*cases, *contrasts), labels)
    failed, others_fail = fails[: len(cases)], fails[len(cases) :]
    mean, of_all = rates(cases, failed)
    of_kind: dict[str, dict[str, Rate]] = {}
    for kind in KINDS:
        numbers = [number for number, case in enumerate(cases) if case.kind == kind]
        of_kind[kind] = rates([cases[number] for number in numbers], failed[numbers])[1]
    own, opposite = pairs_of(cases, contrasts, CONTRAST)
    right = ~(failed[own] | others_fail[opposite])
    mean_share, shares = rates([cases[number] for number in own], right)
    silent = _silent(cases, labels[: len(cases)], failed)
    broken, mended = (
        Counter(cases[number].capability for number in of) for of in flips(cases, failed)
    )
    capabilities = {
        name: CapabilityFigures(
            all=rate,
            seed=of_kind["seed"].get(name, _NO_RATE),
            expansion=of_kind["expansion"].get(name, _NO_RATE),
            pass_to_fail=broken[name],
            fail_to_pass=mended[name],
            consistency=_share(shares[name]) if name in shares else None,
            **silent.get(name, {}),
        )
        for name, rate in of_all.items()
    }
    least = chance_of(references(cases))[1]
    overall = OverallFigures(
        **mean.model_dump(exclude={"failures"}),
        chance=least,
        chance_corrected=chance_corrected(mean.failure_rate, least),
        consistency=_share(mean_share) if shares else None,
        **silent.get("overall", {}),
    )
    return Figures(overall=overall, capabilities=capabilities)


def rates(cases: Sequence[Case], failed: Failed) -> tuple[Rate, dict[str, Rate]]:
    """The mean of the capabilities' failure rates, and the rate on each of them.

    ``failed`` says which cases fail, shape (cases,).
    """
    known: list[Evidence] = []
    found: dict[str, Rate] = {}
    for capability, numbers in by_name(cases).items():
        part = failed[numbers]
        known.append(evidence(*family_counts([cases[number] for number in numbers], part)))
        found[capability] = _rate(part, known[-1])
    return _rate(failed, mean_evidence(known)) if found else _NO_RATE, found


def _rate(failed: Failed, known: Evidence) -> Rate:
    low, high = map(float, intervals(known))
    return Rate(
        cases=len(failed),
        failures=int(failed.sum()),
        failure_rate=float(known.share),
        ci=(low, high),
    )


def _share(right: Rate) -> Share:
    return Share(pairs=right.cases, right=right.failures, share=right.failure_rate, ci=right.ci)


def pairs_of(cases: Sequence[Case], others: Sequence[Case], kind: str) -> tuple[Integers, Integers]:
    """Numbers of cases, and of what is made of each among others of a kind, of shape (pairs,)."""
    known = {(case.capability, case.id): n for n, case in enumerate(cases)}
    pairs = [
        (known[case.capability, case.seed_id], number)
        for number, case in enumerate(others)
        if case.kind == kind and (case.capability, case.seed_id) in known
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
    mean, answered = rates([cases[number] for number in labelled], failed[labelled])
    if labelled:
        answered["overall"] = mean
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
    own, opposite = (numbers.tolist() for numbers in pairs_of(cases, contrasts, CONTRAST))
    pairs_of_name = by_name([cases[number] for number in own])
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
                (1 - expected[own[n]]) * (1 - expected[len(cases) + opposite[n]]) for n in pairs
            ]
            shares.append(_mean(right))
            capabilities[capability]["consistency"] = shares[-1]
        found[name] = Reference(
            failure_rate=mean,
            capabilities=capabilities,
            consistency=_mean(shares) if shares else None,
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
