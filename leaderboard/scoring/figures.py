"""The figures of a model on a suite, as results state them.

Consistency leads: the share of cases that pass together with their contrasts, where no constant
answer gets anything. Failure rates are of cases alone, without contrasts. Figures of constant and
random answers, which do not read the cases, stand beside.

All capabilities together have two figures of each kind. The macro figure is the mean over the
capabilities, whatever their size; it ranks models. The micro figure is the share among all the
cases, or pairs; only this one is a quotient of counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
    cached_by_identity,
    families,
    indices_by_capability,
    intervals,
    macro_evidence,
    micro_evidence,
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
_MAX_FLIPPING_WORDS = 10
_PROPORTION = Field(ge=0, le=1)
_COUNT = Field(ge=0)
_Ids = npt.NDArray[np.integer[Any]]


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rate(_Figures):
    """A failure rate with its 95 % interval; 0 where there is no case."""

    cases: int = _COUNT
    failures: int = _COUNT
    failure_rate: float = _PROPORTION
    ci: tuple[float, float]


class Share(_Figures):
    """The share of pairs, of a case and its contrast, with both right; with its 95 % interval."""

    pairs: int = Field(ge=1)
    right: int = _COUNT
    share: float = _PROPORTION
    ci: tuple[float, float]


class MacroMicro(_Figures):
    """A figure of all capabilities together: their mean, and the share among all cases or pairs."""

    macro: float = _PROPORTION
    micro: float = _PROPORTION


class _MacroMicroWithIntervals(MacroMicro):
    macro_ci: tuple[float, float]
    micro_ci: tuple[float, float]


class OverallRate(_MacroMicroWithIntervals):
    """The failure rate of all capabilities together; ``micro`` is ``failures / cases``."""

    cases: int = _COUNT
    failures: int = _COUNT


class OverallShare(_MacroMicroWithIntervals):
    """The consistency of all capabilities together; ``micro`` is ``right / pairs``."""

    pairs: int = Field(ge=1)
    right: int = _COUNT


class _Unanswered(_Figures):
    """How many cases a model refused, or answered in a way that cannot be read: they fail."""

    refusals: int = Field(default=0, ge=0)
    unreadable: int = Field(default=0, ge=0)


class OverallFigures(_Unanswered):
    """The figures of all capabilities together.

    Attributes:
        failure_rate: on all cases.
        consistency: None without contrasts.
        answered: the failure rate on cases that got a label; None if all or none did.
        chance: the macro failure rate of the best constant answer.
        chance_corrected: the macro failure rate, scaled as `CHANCE_WORDS` say.
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
    """The figures of a capability.

    Attributes:
        consistency: None without contrasts.
        answered: the failure rate on cases that got a label; None if all or none did.
        all, seed, expansion: failure rates.
        pass_to_fail: how many expansions fail though their seed passes.
        fail_to_pass: how many expansions pass though their seed fails.
    """

    consistency: Share | None = None
    answered: Rate | None = None
    all: Rate
    seed: Rate
    expansion: Rate
    pass_to_fail: int = _COUNT
    fail_to_pass: int = _COUNT


class Figures(_Figures):
    """The figures of a model, together and by capability, in the order of the cases."""

    overall: OverallFigures
    capabilities: dict[str, CapabilityFigures]

    def nested(self) -> dict[str, Any]:
        """As ``evaluate`` takes them: ``overall``, and each capability beside it."""
        return {
            name: part.model_dump(mode="json", exclude_defaults=True)
            for name, part in {"overall": self.overall, **self.capabilities}.items()
        }

    def flat(self, prefix: str = "") -> dict[str, float]:
        """As loggers take them: ``LC4/expansion/failure_rate``, ``LC4/all/ci_low``."""
        return _flattened(self.nested(), prefix)


class Reference(_Figures):
    """The figures of an answer that does not read the cases; they follow from the suite alone.

    Attributes:
        failure_rate: on all capabilities together.
        capabilities: for each the failure rates on ``all`` cases, ``seed`` and ``expansion``, and
            the ``consistency``, as far as there are such cases and contrasts.
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
        expansions: all expansions with the word, of seeds that pass.
    """

    item: str
    pass_to_fail: int = _COUNT
    expansions: int = _COUNT


class Pairs(NamedTuple):
    """Cases, their contrasts, and which pairs a model gets both right, shape (pairs,)."""

    cases: tuple[Case, ...]
    contrasts: tuple[Case, ...]
    right: Failed

    def __repr__(self) -> str:
        return f"<{len(self.cases):,} pairs, {self.right.sum():,} right>"


_NO_RATE = Rate(cases=0, failures=0, failure_rate=0.0, ci=(0.0, 1.0))
_NO_OVERALL_RATE = OverallRate(
    macro=0.0, macro_ci=(0.0, 1.0), micro=0.0, micro_ci=(0.0, 1.0), cases=0, failures=0
)


def in_words(overall: OverallFigures) -> str:
    """The figures of all capabilities together, in a line."""

    def percents(figure: MacroMicro) -> str:
        return f"{100 * figure.micro:.1f} % (macro: {100 * figure.macro:.1f} %)"

    rate, share = overall.failure_rate, overall.consistency
    words = f"fails {percents(rate)} of {rate.cases:,} cases"
    if share is None:
        return words
    return f"{words}, is consistent on {percents(share)} of {share.pairs:,} pairs"


def failed_cases(cases: Sequence[Case], labels: _Ids) -> Failed:
    """Which cases' labels, shape (…, cases), are not among those that pass."""
    return np.asarray(~_passing(cases)[np.arange(len(cases)), labels])


@cached_by_identity
def _passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which answers pass each case, shape (cases, answers)."""
    table = [[label in case.passes for label in range(ANSWER_IDS)] for case in cases]
    return np.array(table, dtype=bool).reshape(-1, ANSWER_IDS)


@cached_by_identity
def pairs_of(
    cases: Sequence[Case], derived: Sequence[Case], kind: str
) -> tuple[Integers, Integers]:
    """Number the pairs of a case and an expansion or contrast of it.

    Args:
        cases: the cases.
        derived: holds what was made of them.
        kind: of the derived case that is wanted.

    Returns:
        Numbers in ``cases`` and in ``derived``, of shape (pairs,).
    """
    number_of = {(case.capability, case.id): number for number, case in enumerate(cases)}
    pairs = [
        (number_of[case.capability, case.seed_id], number)
        for number, case in enumerate(derived)
        if case.kind == kind and (case.capability, case.seed_id) in number_of
    ]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second


def pairs(cases: Sequence[Case], contrasts: Sequence[Case], labels: _Ids) -> Pairs:
    """The pairs of a case and its contrast, and which of them are right; see `figures`."""
    case_numbers, contrast_numbers = pairs_of(cases, contrasts, CONTRAST)
    failed = failed_cases(cases, labels[: len(cases)])
    contrast_failed = failed_cases(contrasts, labels[len(cases) :])
    wrong = failed[case_numbers] | contrast_failed[contrast_numbers]
    return Pairs(*_paired(cases, contrasts), ~wrong)


@cached_by_identity
def _paired(
    cases: Sequence[Case], contrasts: Sequence[Case]
) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    case_numbers, contrast_numbers = pairs_of(cases, contrasts, CONTRAST)
    return (
        tuple(cases[number] for number in case_numbers),
        tuple(contrasts[number] for number in contrast_numbers),
    )


@cached_by_identity
def _cases_of_kind(cases: Sequence[Case], kind: str) -> tuple[Integers, tuple[Case, ...]]:
    """The numbers of the cases of a kind, and these cases."""
    numbers = [number for number, case in enumerate(cases) if case.kind == kind]
    return np.array(numbers, dtype=np.int64), tuple(cases[number] for number in numbers)


def figures(cases: Sequence[Case], contrasts: Sequence[Case], labels: _Ids) -> Figures:
    """The figures of a model.

    Args:
        cases: seeds and expansions.
        contrasts: those that the model was asked.
        labels: of the cases and the contrasts behind them, or `REFUSED` or `UNREADABLE`.
    """
    failed = failed_cases(cases, labels[: len(cases)])
    groups = families(cases)
    overall_rate, rate_of = rates(groups, failed)
    rate_of_kind: dict[str, dict[str, Rate]] = {}
    for kind in KINDS:
        numbers, cases_of_kind = _cases_of_kind(cases, kind)
        rate_of_kind[kind] = rates(families(cases_of_kind), failed[numbers])[1]
    paired_cases, _, right = pairs(cases, contrasts, labels)
    # The figures of what is right come about as those of what fails.
    overall_right, right_of = rates(families(paired_cases), right)
    unanswered = _unanswered(cases, labels[: len(cases)], failed)
    broken, mended = (groups.count(numbers).tolist() for numbers in flips(cases, failed))
    capabilities = {
        name: CapabilityFigures(
            all=rate,
            seed=rate_of_kind["seed"].get(name, _NO_RATE),
            expansion=rate_of_kind["expansion"].get(name, _NO_RATE),
            pass_to_fail=broken[number],
            fail_to_pass=mended[number],
            consistency=_share(right_of[name]) if name in right_of else None,
            **unanswered.get(name, {}),
        )
        for number, (name, rate) in enumerate(rate_of.items())
    }
    chance = chance_of(references(cases))[1]
    overall = OverallFigures(
        failure_rate=overall_rate,
        chance=chance,
        chance_corrected=chance_corrected(overall_rate.macro, chance),
        consistency=_overall_share(overall_right) if right_of else None,
        **unanswered.get("overall", {}),
    )
    return Figures(overall=overall, capabilities=capabilities)


def rates(groups: Families, failed: Failed) -> tuple[OverallRate, dict[str, Rate]]:
    """The failure rate on all capabilities together, and on each of them.

    Args:
        groups: the families of the cases.
        failed: which cases fail, shape (cases,).
    """
    if not len(failed):
        return _NO_OVERALL_RATE, {}
    macro, of_capability = macro_evidence(groups, failed)
    micro = micro_evidence(groups, failed)
    overall = OverallRate(
        macro=float(macro.share),
        macro_ci=_bounds(macro),
        micro=float(micro.share),
        micro_ci=_bounds(micro),
        cases=len(failed),
        failures=int(failed.sum()),
    )
    columns = (groups.sizes, groups.count(failed), of_capability.share, *intervals(of_capability))
    return overall, {
        name: Rate(cases=size, failures=failures, failure_rate=share, ci=(low, high))
        for name, size, failures, share, low, high in zip(
            groups.names, *(column.tolist() for column in columns), strict=True
        )
    }


def _bounds(evidence: Evidence) -> tuple[float, float]:
    low, high = map(float, intervals(evidence))
    return low, high


def _share(right: Rate) -> Share:
    return Share(pairs=right.cases, right=right.failures, share=right.failure_rate, ci=right.ci)


def _overall_share(right: OverallRate) -> OverallShare:
    counts = right.model_dump(exclude={"cases", "failures"})
    return OverallShare(**counts, pairs=right.cases, right=right.failures)


def _unanswered(cases: Sequence[Case], labels: _Ids, failed: Failed) -> dict[str, dict[str, Any]]:
    """The fields for cases without a label, for ``overall`` and each capability with some."""
    is_label = labels < len(LABELS)
    if is_label.all():
        return {}
    overall, rate_of = rates(families(cases).restricted_to(is_label), failed[is_label])
    answered: dict[str, Rate | OverallRate] = {**rate_of}
    if is_label.any():
        answered["overall"] = overall
    fields: dict[str, dict[str, Any]] = {}
    for name, numbers in {"overall": [*range(len(cases))], **indices_by_capability(cases)}.items():
        refusals = int((labels[numbers] == REFUSED).sum())
        unreadable = int((labels[numbers] == UNREADABLE).sum())
        if refusals + unreadable:
            counts = {"refusals": refusals, "unreadable": unreadable}
            fields[name] = counts | {"answered": answered.get(name)}
    return fields


@cached_by_identity
def references(cases: Sequence[Case], contrasts: Sequence[Case] = ()) -> dict[str, Reference]:
    """The figures of the constant answers, ``always-negative`` …, and of random answers.

    A random answer is expected to fail a case with n of the three labels passing at 1 − n / 3, and
    is drawn anew for its contrast.
    """
    rows = (*cases, *contrasts)
    fails = {
        f"always-{label}": [float(number not in case.passes) for case in rows]
        for number, label in enumerate(LABELS)
    }
    fails[RANDOM] = [1 - len(case.passes) / len(LABELS) for case in rows]
    return {name: _reference(cases, contrasts, expected) for name, expected in fails.items()}


def _reference(
    cases: Sequence[Case], contrasts: Sequence[Case], expected: Sequence[float]
) -> Reference:
    """The figures of an answer that is expected to fail each case and contrast at these rates."""
    capabilities: dict[str, dict[str, float]] = {}
    for capability, numbers in indices_by_capability(cases).items():
        of_kind: dict[str, list[float]] = {"all": [], "seed": [], "expansion": []}
        for number in numbers:
            of_kind["all"].append(expected[number])
            of_kind[cases[number].kind].append(expected[number])
        capabilities[capability] = {kind: _mean(of_kind[kind]) for kind in of_kind if of_kind[kind]}
    case_numbers, contrast_numbers = pairs_of(cases, contrasts, CONTRAST)
    right = [
        (1 - expected[case]) * (1 - expected[len(cases) + contrast])
        for case, contrast in zip(case_numbers, contrast_numbers, strict=True)
    ]
    shares: list[float] = []
    for capability, numbers in indices_by_capability(
        [cases[number] for number in case_numbers]
    ).items():
        shares.append(_mean([right[number] for number in numbers]))
        capabilities[capability]["consistency"] = shares[-1]
    return Reference(
        failure_rate=MacroMicro(
            macro=_mean([rates["all"] for rates in capabilities.values()]),
            micro=_mean(expected[: len(cases)]),
        ),
        capabilities=capabilities,
        consistency=MacroMicro(macro=_mean(shares), micro=_mean(right)) if shares else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def chance_of(by_answer: Mapping[str, Reference]) -> tuple[str, float]:
    """The name and macro failure rate of the best answer that does not read the cases.

    It is a constant one: no mixture is better than all of them.
    """
    name = min(by_answer, key=lambda name: (by_answer[name].failure_rate.macro, name == RANDOM))
    return name, by_answer[name].failure_rate.macro


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A macro failure rate on the scale from chance (0) to no failure (1), see `CHANCE_WORDS`.

    None where chance passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def flips(cases: Sequence[Case], failed: Failed) -> tuple[Integers, Integers]:
    """Numbers of the expansions that fail while their seed passes, and the other way round."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    before, after = failed[seeds], failed[expansions]
    return expansions[after & ~before], expansions[~after & before]


def passing_expansions(cases: Sequence[Case], failed: Failed) -> Integers:
    """Numbers of the expansions whose seed passes: those that can turn a pass into a fail."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    return np.asarray(expansions[~failed[seeds]])


def flipping_words(cases: Sequence[Case], failed: Failed) -> tuple[FlippingWord, ...]:
    """The ten inserted words that most often turned a pass into a fail."""
    words, word, pair = _insertions(cases)
    seeds, expansions = pairs_of(cases, cases, "expansion")
    can_flip = ~failed[seeds][pair]
    does_flip = can_flip & failed[expansions][pair]
    total, flipped = (
        np.bincount(word[chosen], minlength=len(words)) for chosen in (can_flip, does_flip)
    )
    ranked = sorted(np.flatnonzero(flipped), key=lambda n: (-flipped[n], words[n]))
    return tuple(
        FlippingWord(item=words[n], pass_to_fail=int(flipped[n]), expansions=int(total[n]))
        for n in ranked[:_MAX_FLIPPING_WORDS]
    )


@cached_by_identity
def _insertions(cases: Sequence[Case]) -> tuple[list[str], Integers, Integers]:
    """All inserted words; and for each insertion the number of its word, and of its pair."""
    _, expansions = pairs_of(cases, cases, "expansion")
    inserted = [
        (word, pair) for pair, number in enumerate(expansions) for word in cases[number].inserted
    ]
    number_of = {word: n for n, word in enumerate(dict.fromkeys(word for word, _ in inserted))}
    numbers = [(number_of[word], pair) for word, pair in inserted]
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
