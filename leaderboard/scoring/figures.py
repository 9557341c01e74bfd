"""What models do on a suite, in figures: as results state them, and how they come of predictions.

Consistency leads: the share of cases that pass together with their contrasts. No constant answer
wins there; failure rates stand beside, and contrasts are in none. So do constant and random
answers, which do not read the cases.

Of several capabilities together there are two figures of each kind. The macro figure is the mean
over the capabilities, each counting the same whatever its size; it ranks models. The micro figure
is the share among all the cases, or pairs. Only the micro figure is a quotient of counts.
"""

from __future__ import annotations

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
    Families,
    Integers,
    by_name,
    families,
    intervals,
    mean_evidence,
    micro_evidence,
    once_for_the_same_cases,
)
from s2lct.suite.cases import Case
from s2lct.suite.tables import CONTRAST, KINDS

MEAN_WORDS = (
    "Macro: the mean over the capabilities, in which each counts the same however few cases it "
    "has; micro: the share among all cases, or pairs, together. Failure rates are on seeds and "
    "expansions together"
)
CONSISTENCY_WORDS = (
    "Consistency: the share of cases with a contrast (the same sentence, changed so that no label "
    "passes both) where both are answered right; higher is better, and 0 is what one answer to "
    "everything gets"
)
CHANCE_WORDS = (
    "Chance-corrected: 1 − failure rate / failure rate of the best constant answer, both macro; 1 "
    "is no failure, 0 no better than one answer to everything, below 0 worse"
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


class MacroMicro(_Figures):
    """A figure of several capabilities together.

    Attributes:
        macro: the mean over the capabilities.
        micro: the share among all their cases, or pairs.
    """

    macro: float = _PROPORTION
    micro: float = _PROPORTION


class OverallRate(MacroMicro):
    """Failure rates of several capabilities together; ``micro`` is ``failures / cases``."""

    macro_ci: tuple[float, float]
    micro_ci: tuple[float, float]
    cases: int = _COUNT
    failures: int = _COUNT


class OverallShare(MacroMicro):
    """Consistency of several capabilities together; ``micro`` is ``right / pairs``."""

    macro_ci: tuple[float, float]
    micro_ci: tuple[float, float]
    pairs: int = Field(ge=1)
    right: int = _COUNT


class _Unanswered(_Figures):
    """How many cases a model refused, or answered in a way that cannot be read: they fail."""

    refusals: int = Field(default=0, ge=0)
    unreadable: int = Field(default=0, ge=0)


class OverallFigures(_Unanswered):
    """What a model does on all capabilities together.

    Attributes:
        failure_rate: on all cases.
        consistency: None where there is no contrast.
        answered: the failure rate without what got no label; None where every case got one, or
            none did.
        chance: the macro failure rate of the best constant answer.
        chance_corrected: the macro failure rate on the scale from chance to none, `CHANCE_WORDS`.
    """

    failure_rate: OverallRate
    consistency: OverallShare | None = None
    answered: OverallRate | None = None
    chance: float = _PROPORTION
    chance_corrected: float | None = Field(default=None, le=1)

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return self.failure_rate.cases


class CapabilityFigures(_Unanswered):
    """One capability: all its cases, seeds and expansions apart, and expansions that flip.

    ``pass_to_fail`` fail though their seed passes. ``consistency`` is None where there is no
    contrast; ``answered`` is the failure rate without what got no label, None where every case got
    one, or none did.
    """

    consistency: Share | None = None
    answered: Rate | None = None
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

    Attributes:
        failure_rate: on all capabilities together.
        capabilities: of each the failure rates on ``all`` cases, each ``seed`` and each
            ``expansion``, where there are any, and its ``consistency``, where it has contrasts.
        consistency: on all capabilities together; None without contrasts.
    """

    failure_rate: MacroMicro
    capabilities: dict[str, dict[str, float]]
    consistency: MacroMicro | None = None


class FlippingWord(_Figures):
    """How often an inserted word turned a pass into a fail.

    Attributes:
        item: the word.
        pass_to_fail: expansions with the word that fail, of seeds that pass.
        expansions: all expansions with the word of seeds that pass.
    """

    item: str
    pass_to_fail: int = _COUNT
    expansions: int = _COUNT


_NO_RATE = Rate(cases=0, failures=0, failure_rate=0.0, ci=(0.0, 1.0))
_NO_OVERALL_RATE = OverallRate(
    macro=0.0, macro_ci=(0.0, 1.0), micro=0.0, micro_ci=(0.0, 1.0), cases=0, failures=0
)


def in_words(overall: OverallFigures) -> str:
    """What a model does on all capabilities together, in a line."""
    rate, share = overall.failure_rate, overall.consistency
    words = f"fails {_percents(rate)} of {rate.cases:,} cases"
    if share is None:
        return words
    return f"{words}, is consistent on {_percents(share)} of {share.pairs:,} pairs"


def _percents(figure: MacroMicro) -> str:
    return f"{100 * figure.micro:.1f} % (macro: {100 * figure.macro:.1f} %)"


@once_for_the_same_cases
def contrasts_of_pairs(cases: Sequence[Case], contrasts: Sequence[Case]) -> tuple[Case, ...]:
    """The contrasts of the cases, in the order of `pairs_of`."""
    return tuple(contrasts[number] for number in pairs_of(cases, contrasts, CONTRAST)[1])


def failed_cases(cases: Sequence[Case], labels: npt.NDArray[np.integer[Any]]) -> Failed:
    """Which cases' labels, shape (…, cases), are none of those that pass."""
    return np.asarray(~_passing(cases)[np.arange(len(cases)), labels])


@once_for_the_same_cases
def _passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which answers pass each case, shape (cases, answers)."""
    table = [[label in case.passes for label in range(ANSWER_IDS)] for case in cases]
    return np.array(table, dtype=bool).reshape(-1, ANSWER_IDS)


@once_for_the_same_cases
def _of_kind(cases: Sequence[Case], kind: str) -> tuple[Integers, tuple[Case, ...]]:
    """The numbers of the cases of a kind, and these."""
    numbers = [number for number, case in enumerate(cases) if case.kind == kind]
    return np.array(numbers, dtype=np.int64), tuple(cases[number] for number in numbers)


@once_for_the_same_cases
def paired_cases(cases: Sequence[Case], contrasts: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that have a contrast, in the order of `pairs_of`."""
    return tuple(cases[number] for number in pairs_of(cases, contrasts, CONTRAST)[0])


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
    failed = failed_cases(cases, labels[: len(cases)])
    others_fail = failed_cases(contrasts, labels[len(cases) :])
    of = families(cases)
    overall_rate, of_all = rates(of, failed)
    of_kind: dict[str, dict[str, Rate]] = {}
    for kind in KINDS:
        numbers, own_cases = _of_kind(cases, kind)
        of_kind[kind] = rates(families(own_cases), failed[numbers])[1]
    own, opposite = pairs_of(cases, contrasts, CONTRAST)
    right = ~(failed[own] | others_fail[opposite])
    overall_right, shares = rates(families(paired_cases(cases, contrasts)), right)
    silent = _silent(cases, labels[: len(cases)], failed)
    broken, mended = (
        dict(zip(of.names, of.count(numbers).tolist(), strict=True))
        for numbers in _flips(cases, failed)
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
        failure_rate=overall_rate,
        chance=least,
        chance_corrected=chance_corrected(overall_rate.macro, least),
        consistency=_overall_share(overall_right) if shares else None,
        **silent.get("overall", {}),
    )
    return Figures(overall=overall, capabilities=capabilities)


def rates(of: Families, failed: Failed) -> tuple[OverallRate, dict[str, Rate]]:
    """The failure rate on all capabilities together, and on each of them.

    Args:
        of: the families of the cases.
        failed: which of them fail, shape (cases,).
    """
    if not len(failed):
        return _NO_OVERALL_RATE, {}
    mean, of_capability = mean_evidence(of, failed)
    together = micro_evidence(of, failed)
    overall = OverallRate(
        macro=float(mean.share),
        macro_ci=_bounds(mean),
        micro=float(together.share),
        micro_ci=_bounds(together),
        cases=len(failed),
        failures=int(failed.sum()),
    )
    columns = (of.sizes, of.count(failed), of_capability.share, *intervals(of_capability))
    return overall, {
        name: Rate(cases=size, failures=failures, failure_rate=share, ci=(low, high))
        for name, size, failures, share, low, high in zip(
            of.names, *(column.tolist() for column in columns), strict=True
        )
    }


def _bounds(known: Evidence) -> tuple[float, float]:
    low, high = map(float, intervals(known))
    return low, high


def _share(right: Rate) -> Share:
    return Share(pairs=right.cases, right=right.failures, share=right.failure_rate, ci=right.ci)


def _overall_share(right: OverallRate) -> OverallShare:
    counts = right.model_dump(exclude={"cases", "failures"})
    return OverallShare(**counts, pairs=right.cases, right=right.failures)


@once_for_the_same_cases
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
    """What got no label, of ``overall`` and of each capability that has some."""
    labelled = labels < len(LABELS)
    if labelled.all():
        return {}
    overall, of_name = rates(families(cases).restricted_to(labelled), failed[labelled])
    answered: dict[str, Rate | OverallRate] = {**of_name}
    if labelled.any():
        answered["overall"] = overall
    silent: dict[str, dict[str, Any]] = {}
    for name, numbers in {"overall": [*range(len(cases))], **by_name(cases)}.items():
        refusals = int((labels[numbers] == REFUSED).sum())
        unreadable = int((labels[numbers] == UNREADABLE).sum())
        if refusals + unreadable:
            counts = {"refusals": refusals, "unreadable": unreadable}
            silent[name] = counts | {"answered": answered.get(name)}
    return silent


@once_for_the_same_cases
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
        right = [
            (1 - expected[case]) * (1 - expected[len(cases) + contrast])
            for case, contrast in zip(own, opposite, strict=True)
        ]
        for capability, pairs in pairs_of_name.items():
            capabilities[capability]["consistency"] = _mean([right[n] for n in pairs])
        shares = [capabilities[capability]["consistency"] for capability in pairs_of_name]
        found[name] = Reference(
            failure_rate=MacroMicro(
                macro=_mean([of["all"] for of in capabilities.values()]),
                micro=_mean(expected[: len(cases)]),
            ),
            capabilities=capabilities,
            consistency=MacroMicro(macro=_mean(shares), micro=_mean(right)) if shares else None,
        )
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def chance_of(known: Mapping[str, Reference]) -> tuple[str, float]:
    """The name and macro failure rate of the best answer that does not read the cases.

    A constant, as no mixture beats them all.
    """
    name = min(known, key=lambda name: (known[name].failure_rate.macro, name == RANDOM))
    return name, known[name].failure_rate.macro


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A macro failure rate on the scale from chance (0) to no failure (1), `CHANCE_WORDS`.

    None where chance passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def flips(cases: Sequence[Case], failed: Failed) -> tuple[list[int], list[int]]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    broken, mended = _flips(cases, failed)
    return [int(number) for number in broken], [int(number) for number in mended]


def _flips(cases: Sequence[Case], failed: Failed) -> tuple[Integers, Integers]:
    seeds, expansions = pairs_of(cases, cases, "expansion")
    before, after = failed[seeds], failed[expansions]
    return expansions[after & ~before], expansions[~after & before]


def passing_expansions(cases: Sequence[Case], failed: Failed) -> list[int]:
    """Numbers of the expansions whose seed passes: those that can turn a pass into a fail."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    return [int(number) for number in expansions[~failed[seeds]]]


def flipping_words(cases: Sequence[Case], failed: Failed) -> tuple[FlippingWord, ...]:
    """The ten inserted words that most often turned a pass into a fail."""
    words, word, expansion = _insertions(cases)
    seeds, expansions = pairs_of(cases, cases, "expansion")
    could = ~failed[seeds][expansion]
    does = could & failed[expansions][expansion]
    total, flipped = (np.bincount(word[of], minlength=len(words)) for of in (could, does))
    ranked = sorted(np.flatnonzero(flipped), key=lambda n: (-flipped[n], words[n]))
    return tuple(
        FlippingWord(item=words[n], pass_to_fail=int(flipped[n]), expansions=int(total[n]))
        for n in ranked[:_MOST_FLIPPING]
    )


@once_for_the_same_cases
def _insertions(cases: Sequence[Case]) -> tuple[list[str], Integers, Integers]:
    """Words, and of each insertion the number of its word, and of its pair in `pairs_of`."""
    _, expansions = pairs_of(cases, cases, "expansion")
    inserted = [
        (word, place) for place, number in enumerate(expansions) for word in cases[number].inserted
    ]
    number_of = {word: n for n, word in enumerate(dict.fromkeys(word for word, _ in inserted))}
    numbers = [(number_of[word], place) for word, place in inserted]
    word, pair = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
    return list(number_of), word, pair


def _flattened(nested: Mapping[str, Any], prefix: str) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            flat |= _flattened(value, f"{prefix}{name}/")
        elif name.endswith("ci"):
            flat[f"{prefix}{name}_low"], flat[f"{prefix}{name}_high"] = value
        else:
            flat[f"{prefix}{name}"] = value
    return flat
