"""What answers come to that do not read the cases, and models measured against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s2lct.labels import LABELS
from s2lct.leaderboard.scoring.both_sides import BOTH_SIDES, pairs_of
from s2lct.leaderboard.scoring.statistics import by_name
from s2lct.suite.cases import Case

ONE_ANSWER = 0.95
"""A model that gives one answer to this share of the cases hardly reads them."""
RANDOM = "random"
CHANCE_WORDS = (
    "Chance-corrected: 1 − mean / mean of the best answer that does not read the cases; 1 is no "
    "failure, 0 no better than chance, below 0 worse"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """What an answer that does not read the cases comes to; it follows from the suite alone.

    Names are ``always-negative`` … and ``random``; the mean of the capabilities' failure rates, and
    of each the rates on ``all`` cases, each ``seed`` and each ``expansion``, where there are any;
    and the share right on ``both_sides`` of the seeds that have counterparts, None without any.
    """

    name: str
    failure_rate: float
    capabilities: dict[str, dict[str, float]]
    both_sides: float | None = None


def references(cases: Sequence[Case], counterparts: Sequence[Case] = ()) -> tuple[Reference, ...]:
    """What the three constant answers and a random one come to on the cases.

    A random answer is expected to fail a case with n of the three labels passing at 1 − n / 3, and
    to be drawn anew for its counterpart.
    """
    rows = (*cases, *counterparts)
    fails = {
        f"always-{label}": [float(number not in case.passes) for case in rows]
        for number, label in enumerate(LABELS)
    }
    fails[RANDOM] = [1 - len(case.passes) / len(LABELS) for case in rows]
    seeds, opposite = (numbers.tolist() for numbers in pairs_of(cases, counterparts))
    pairs_of_name = by_name([cases[number] for number in seeds])
    found: list[Reference] = []
    for name, expected in fails.items():
        capabilities: dict[str, dict[str, float]] = {}
        for capability, numbers in by_name(cases).items():
            of_kind: dict[str, list[float]] = {"all": [], "seed": [], "expansion": []}
            for number in numbers:
                of_kind["all"].append(expected[number])
                of_kind[cases[number].kind].append(expected[number])
            capabilities[capability] = {
                kind: sum(chosen) / len(chosen) for kind, chosen in of_kind.items() if chosen
            }
        mean = sum(rates["all"] for rates in capabilities.values()) / max(1, len(capabilities))
        for capability, pairs in pairs_of_name.items():
            right = [
                (1 - expected[seeds[n]]) * (1 - expected[len(cases) + opposite[n]]) for n in pairs
            ]
            capabilities[capability][BOTH_SIDES] = sum(right) / len(right)
        shares = [capabilities[capability][BOTH_SIDES] for capability in pairs_of_name]
        both = sum(shares) / len(shares) if shares else None
        found.append(Reference(name, mean, capabilities, both))
    return tuple(found)


def chance_of(known: Mapping[str, float]) -> tuple[str, float]:
    """The name and mean failure rate of the best answer that does not read the cases.

    A constant, as no mixture beats them all; of mean failure rates by name, see `reference_means`.
    """
    return min(known.items(), key=lambda pair: (pair[1], pair[0] == RANDOM))


def chance_corrected(failure_rate: float, chance: float) -> float | None:
    """A mean failure rate on the scale from chance (0) to no failure (1), `CHANCE_WORDS`.

    None where chance, see `chance_of`, passes everything: nothing can be better.
    """
    return 1 - failure_rate / chance if chance > 0 else None


def reference_means(known: Sequence[Reference]) -> dict[str, float]:
    """Mean failure rates of references by name."""
    return {reference.name: reference.failure_rate for reference in known}


def one_answer(
    answers: Sequence[int], known: Mapping[str, float], silent: int = 0
) -> tuple[int, float] | None:
    """The label that a model gives nearly all cases, though that does not pass them, and its share.

    Of the numbers of its answers by label id, mean failure rates of references by name, and the
    number of cases without a label; None for other models.
    """
    label = max(range(len(answers)), key=answers.__getitem__)
    share = answers[label] / max(1, sum(answers) + silent)
    if share < ONE_ANSWER or known[f"always-{LABELS[label]}"] <= 1 - ONE_ANSWER:
        return None
    return label, share
