"""Cases that a model refused, or whose answers cannot be read, beside its failure rates."""

from __future__ import annotations

from collections.abc import Sequence

from s2lct.leaderboard.results.record import CapabilityRecord, OverallRecord, RateRecord, Result

SILENT_HEADS = ("refused", "unreadable", "without these %")
SILENT_WORDS = (
    "Refused, unreadable: cases that a model refused, or whose answers name no one label; they "
    "fail. Without these: the failure rate of the cases with a label"
)


def any_silent(results: Sequence[Result]) -> bool:
    """Whether some model refused a case or answered in a way that cannot be read."""
    return any(one.overall.refusals or one.overall.unreadable for one in results)


def of_labelled(of: OverallRecord | CapabilityRecord) -> OverallRecord | RateRecord | None:
    """The figures of the cases that got a label; None where nothing did."""
    if of.refusals or of.unreadable:
        return of.answered
    return of if isinstance(of, OverallRecord) else of.all


def without_silent(of: OverallRecord | CapabilityRecord) -> float | None:
    """The failure rate of what got a label; None where nothing did."""
    found = of_labelled(of)
    return found.failure_rate if found else None
