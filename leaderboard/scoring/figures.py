"""The figures of a model on a suite: consistency and failure rates.

Consistency, the main figure, is the share of cases that pass together with their contrasts; a
constant answer gets 0. Failure rates count cases only, without contrasts. The figures of constant
and random answers, which do not read the cases, serve for comparison.

For all capabilities together there are two figures of each kind. The macro figure is the mean over
the capabilities, whatever their size; it ranks models. The micro figure is the share of all cases,
or pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import ANSWER_ID_COUNT, REFUSED, UNREADABLE
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
    """A failure rate with its 95 % interval; 0 if there is no case."""

    cases: int = _COUNT
    failures: int = _COUNT
    failure_rate: float = _PROPORTION
    ci: tuple[float, float]


class Share(_Figures):
    """The share of pairs (a case and its contrast) of which both are right; its 95 % interval."""

    pairs: int = Field(ge=1)
    right: int = _COUNT
    share: float = _PROPORTION
    ci: tuple[float, float]


class MacroMicro(_Figures):
    """A figure of all capabilities: the mean over them, and the share of all cases or pairs."""

    macro: float = _PROPORTION
    micro: float = _PROPORTION


class _MacroMicroWithIntervals(MacroMicro):
    macro_ci: tuple[float, float]
    micro_ci: tuple[float, float]


class OverallRate(_MacroMicroWithIntervals):
    """The failure rate on all capabilities together; ``micro`` is ``failures / cases``."""

    cases: int = _COUNT
    failures: int = _COUNT


class OverallShare(_MacroMicroWithIntervals):
    """The consistency on all capabilities together; ``micro`` is ``right / pairs``."""

    pairs: int = Field(ge=1)
    right: int = _COUNT


class _Unanswered(_Figures):
    """Numbers of cases that fail because the model refused, or its answer cannot be read."""

    refusals: int = Field(default=0, ge=0)
    unreadable: int = Field(default=0, ge=0)


class OverallFigures(_Unanswered):
    """The figures of all capabilities together.

    Attributes:
        failure_rate: the failure rate on all cases.
        consistency: the consistency; None without contrasts.
        answered: the failure rate on cases that got a label; None if all or none did.
        chance: the macro failure rate of the best constant answer.
        chance_corrected: the macro failure rate, scaled by the formula in `CHANCE_WORDS`.
    """

    failure_rate: OverallRate
    consistency: OverallShare | None = None
    answered: OverallRate | None = None
    chance: float = _PROPORTION
    chance_corrected: float | None = Field(default=None, le=1)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return self.failure_rate.cases


class CapabilityFigures(_Unanswered):
    """The figures of a capability.

    Attributes:
        consistency: the consistency; None without contrasts.
        answered: the failure rate on cases that got a label; None if all or none did.
        all, seed, expansion: the failure rates on all cases, on seeds, and on expansions.
        pass_to_fail: the number of expansions that fail though their seed passes.
        fail_to_pass: the number of expansions that pass though their seed fails.
    """

    consistency: Share | None = None
    answered: Rate | None = None
    all: Rate
    seed: Rate
    expansion: Rate
    pass_to_fail: int = _COUNT
    fail_to_pass: int = _COUNT


class Figures(_Figures):
    """The figures of a model, on all capabilities and on each, in the order of the cases."""

    overall: OverallFigures
    capabilities: dict[str, CapabilityFigures]

    def nested(self) -> dict[str, Any]:
        """The figures as nested dicts for ``evaluate``, by ``overall`` and by capability."""
        return {
            name: part.model_dump(mode="json", exclude_defaults=True)
            for name, part in {"overall": self.overall, **self.capabilities}.items()
        }

    def flat(self, prefix: str = "") -> dict[str, float]:
        """The figures by names for loggers: ``LC4/expansion/failure_rate``, ``LC4/all/ci_low``."""
        return _flattened(self.nested(), prefix)


class Reference(_Figures):
    """The figures of an answer that does not read the cases; they follow from the suite alone.

    Attributes:
        failure_rate: the failure rate on all capabilities together.
        capabilities: for each capability the failure rates on ``all`` cases, ``seed`` and
            ``expansion``, and the ``consistency``, as far as there are such cases and contrasts.
        consistency: the consistency on all capabilities together; None without contrasts.
    """

    failure_rate: MacroMicro
    capabilities: dict[str, dict[str, float]]
    consistency: MacroMicro | None = None


class FlippingWord(_Figures):
    """How often an inserted word turned a pass into a fail.

    Attributes:
        item: the word.
        pass_to_fail: the number of expansions with the word that fail though their seed passes.
        expansions: the number of all expansions with the word whose seed passes.
    """

    item: str
    pass_to_fail: int = _COUNT
    expansions: int = _COUNT


class Pairs(NamedTuple):
    """Cases, their contrasts, and whether a model gets both right, shape (pairs,)."""

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
    """Failure rate and consistency on all capabilities together, as one line of text."""

    def percents(figure: MacroMicro) -> str:
        return f"{100 * figure.micro:.1f} % (macro: {100 * figure.macro:.1f} %)"

    rate, share = overall.failure_rate, overall.consistency
    words = f"fails {percents(rate)} of {rate.cases:,} cases"
    if share is None:
        return words
    return f"{words}, is consistent on {percents(share)} of {share.pairs:,} pairs"


def failed_cases(cases: Sequence[Case], labels: _Ids) -> Failed:
    """Which cases fail: whether each of the labels, shape (…, cases), is no passing one."""
    return np.asarray(~_passing(cases)[np.arange(len(cases)), labels])


@cached_by_identity
def _passing(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Whether each answer id passes each case, shape (cases, `ANSWER_ID_COUNT`)."""
    table = [[label in case.passes for label in range(ANSWER_ID_COUNT)] for case in cases]
    return np.array(table, dtype=bool).reshape(-1, ANSWER_ID_COUNT)


@cached_by_identity
def pairs_of(
    cases: Sequence[Case], derived: Sequence[Case], kind: str
) -> tuple[Integers, Integers]:
    """Find the pairs of a case and an expansion or contrast of it.

    Args:
        cases: the cases.
        derived: the cases in which to look for expansions or contrasts.
        kind: the kind to look for, ``expansion`` or ``contrast``.

    Returns:
        Indices in ``cases`` and indices in ``derived``, each of shape (pairs,).
    """
    index_of = {(case.capability, case.id): index for index, case in enumerate(cases)}
    pairs = [
        (index_of[case.capability, case.seed_id], index)
        for index, case in enumerate(derived)
        if case.kind == kind and (case.capability, case.seed_id) in index_of
    ]
    case_indices, derived_indices = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return case_indices, derived_indices


def pairs(cases: Sequence[Case], contrasts: Sequence[Case], labels: _Ids) -> Pairs:
    """The pairs of a case and its contrast, and which of them are right; see `figures`."""
    case_indices, contrast_indices = pairs_of(cases, contrasts, CONTRAST)
    case_failed = failed_cases(cases, labels[: len(cases)])
    contrast_failed = failed_cases(contrasts, labels[len(cases) :])
    is_wrong = case_failed[case_indices] | contrast_failed[contrast_indices]
    return Pairs(*_paired(cases, contrasts), ~is_wrong)


@cached_by_identity
def _paired(
    cases: Sequence[Case], contrasts: Sequence[Case]
) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    case_indices, contrast_indices = pairs_of(cases, contrasts, CONTRAST)
    return (
        tuple(cases[index] for index in case_indices),
        tuple(contrasts[index] for index in contrast_indices),
    )


@cached_by_identity
def _cases_of_kind(cases: Sequence[Case], kind: str) -> tuple[Integers, tuple[Case, ...]]:
    """The indices of the cases of a kind, and these cases."""
    indices = [index for index, case in enumerate(cases) if case.kind == kind]
    return np.array(indices, dtype=np.int64), tuple(cases[index] for index in indices)


def figures(cases: Sequence[Case], contrasts: Sequence[Case], labels: _Ids) -> Figures:
    """The figures of a model.

    Args:
        cases: seeds and expansions.
        contrasts: contrasts of the cases.
        labels: predicted ids of labels, or `REFUSED` or `UNREADABLE`, for cases, then contrasts.
    """
    failed = failed_cases(cases, labels[: len(cases)])
    groups = families(cases)
    overall_rate, rate_of = rates(groups, failed)
    rate_of_kind: dict[str, dict[str, Rate]] = {}
    for kind in KINDS:
        indices, cases_of_kind = _cases_of_kind(cases, kind)
        rate_of_kind[kind] = rates(families(cases_of_kind), failed[indices])[1]
    paired_cases, _, right = pairs(cases, contrasts, labels)
    # `rates` counts pairs that are right in place of cases that fail.
    overall_right, right_of = rates(families(paired_cases), right)
    unanswered = _unanswered(cases, labels[: len(cases)], failed)
    to_fail, to_pass = (groups.count(indices).tolist() for indices in flips(cases, failed))
    capabilities = {
        name: CapabilityFigures(
            all=rate,
            seed=rate_of_kind["seed"].get(name, _NO_RATE),
            expansion=rate_of_kind["expansion"].get(name, _NO_RATE),
            pass_to_fail=to_fail[index],
            fail_to_pass=to_pass[index],
            consistency=_share(right_of[name]) if name in right_of else None,
            **unanswered.get(name, {}),
        )
        for index, (name, rate) in enumerate(rate_of.items())
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
    """The fields of `_Unanswered` and ``answered``, by ``overall`` and by capability with any."""
    is_label = labels < len(LABELS)
    if is_label.all():
        return {}
    overall, rate_of = rates(families(cases).restricted_to(is_label), failed[is_label])
    answered: dict[str, Rate | OverallRate] = {**rate_of}
    if is_label.any():
        answered["overall"] = overall
    fields: dict[str, dict[str, Any]] = {}
    for name, indices in {"overall": [*range(len(cases))], **indices_by_capability(cases)}.items():
        refusals = int((labels[indices] == REFUSED).sum())
        unreadable = int((labels[indices] == UNREADABLE).sum())
        if refusals + unreadable:
            counts = {"refusals": refusals, "unreadable": unreadable}
            fields[name] = counts | {"answered": answered.get(name)}
    return fields


@cached_by_identity
def references(cases: Sequence[Case], contrasts: Sequence[Case] = ()) -> dict[str, Reference]:
    """The figures of the constant answers, ``always-negative`` …, and of random answers.

    A random answer fails a case with n passing labels of three with probability 1 − n / 3. It is
    drawn anew for the contrast.
    """
    rows = (*cases, *contrasts)
    p_fail = {
        f"always-{label}": [float(label_id not in case.passes) for case in rows]
        for label_id, label in enumerate(LABELS)
    }
    p_fail[RANDOM] = [1 - len(case.passes) / len(LABELS) for case in rows]
    return {name: _reference(cases, contrasts, chances) for name, chances in p_fail.items()}


def _reference(
    cases: Sequence[Case], contrasts: Sequence[Case], p_fail: Sequence[float]
) -> Reference:
    """The figures of an answer, by its probability of failing each case, then each contrast."""
    capabilities: dict[str, dict[str, float]] = {}
    for capability, indices in indices_by_capability(cases).items():
        values: dict[str, list[float]] = {"all": [], "seed": [], "expansion": []}
        for index in indices:
            values["all"].append(p_fail[index])
            values[cases[index].kind].append(p_fail[index])
        capabilities[capability] = {kind: _mean(values[kind]) for kind in values if values[kind]}
    case_indices, contrast_indices = pairs_of(cases, contrasts, CONTRAST)
    p_right = [
        (1 - p_fail[case]) * (1 - p_fail[len(cases) + contrast])
        for case, contrast in zip(case_indices, contrast_indices, strict=True)
    ]
    shares: list[float] = []
    for capability, indices in indices_by_capability(
        [cases[index] for index in case_indices]
    ).items():
        shares.append(_mean([p_right[index] for index in indices]))
        capabilities[capability]["consistency"] = shares[-1]
    return Reference(
        failure_rate=MacroMicro(
            macro=_mean([rates["all"] for rates in capabilities.values()]),
            micro=_mean(p_fail[: len(cases)]),
        ),
        capabilities=capabilities,
        consistency=MacroMicro(macro=_mean(shares), micro=_mean(p_right)) if shares else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def chance_of(by_answer: Mapping[str, Reference]) -> tuple[str, float]:
    """The name and macro failure rate of the best answer that does not read the cases.

    It is a constant answer, because no mixture of constant answers is better than all of them.
    """
    name = min(by_answer, key=lambda name: (by_answer[name].failure_rate.macro, name == RANDOM))
    return name, by_answer[name].failure_rate.macro


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A macro failure rate on the scale from chance (0) to no failure (1), see `CHANCE_WORDS`.

    None if the best constant answer passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def flips(cases: Sequence[Case], failed: Failed) -> tuple[Integers, Integers]:
    """Indices of expansions that fail while their seed passes, and of the opposite ones."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    seed_fails, fails = failed[seeds], failed[expansions]
    return expansions[fails & ~seed_fails], expansions[~fails & seed_fails]


def passing_expansions(cases: Sequence[Case], failed: Failed) -> Integers:
    """Indices of expansions whose seed passes: only these can turn a pass into a fail."""
    seeds, expansions = pairs_of(cases, cases, "expansion")
    return np.asarray(expansions[~failed[seeds]])


def flipping_words(cases: Sequence[Case], failed: Failed) -> tuple[FlippingWord, ...]:
    """The ten inserted words that most often turned a pass into a fail."""
    words, word_index, pair_index = _insertions(cases)
    seeds, expansions = pairs_of(cases, cases, "expansion")
    can_flip = ~failed[seeds][pair_index]
    does_flip = can_flip & failed[expansions][pair_index]
    totals, flip_counts = (
        np.bincount(word_index[mask], minlength=len(words)) for mask in (can_flip, does_flip)
    )
    ranked = sorted(np.flatnonzero(flip_counts), key=lambda n: (-flip_counts[n], words[n]))
    return tuple(
        FlippingWord(item=words[n], pass_to_fail=int(flip_counts[n]), expansions=int(totals[n]))
        for n in ranked[:_MAX_FLIPPING_WORDS]
    )


@cached_by_identity
def _insertions(cases: Sequence[Case]) -> tuple[list[str], Integers, Integers]:
    """All inserted words; and for each insertion the indices of its word and of its pair."""
    _, expansions = pairs_of(cases, cases, "expansion")
    insertions = [
        (word, pair) for pair, number in enumerate(expansions) for word in cases[number].inserted
    ]
    index_of = {word: n for n, word in enumerate(dict.fromkeys(word for word, _ in insertions))}
    indices = [(index_of[word], pair) for word, pair in insertions]
    word, pair = np.array(indices, dtype=np.int64).reshape(-1, 2).T
    return list(index_of), word, pair


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
