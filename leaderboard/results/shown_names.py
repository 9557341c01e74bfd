"""Distinct names for the models of several results, and names that look alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from s2lct.leaderboard.results.record import MAX_NAME_LENGTH, Result
from s2lct.plain_text import plain

_MAX_OPTIONS_LENGTH = 40
_HASH_LENGTH = 8
_LOOK_ALIKES = str.maketrans("01i3458", "olleasb", "-_")


class ShownNames:
    """Distinct names for the models of results.

    A name states options that are not the default, such as a prompt. To equal names a short hash of
    the weights is added. If they are still equal, the revision, the date of the result, and at last
    a number follow.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        groups: dict[str, list[Result]] = {}
        for result in results:
            groups.setdefault(_unsuffixed_name(result), []).append(result)
        self._names = {
            id(result): f"{name}{suffix}"
            for name, group in groups.items()
            for result, suffix in zip(group, _suffixes(group), strict=True)
        }
        # Names are kept by identity, as long as the results live.
        self._results = [result for group in groups.values() for result in group]

    def __call__(self, result: Result) -> str:
        """The name of one of the results."""
        return self._names[id(result)]


def _unsuffixed_name(result: Result) -> str:
    options = plain(result.model.unusual_options, _MAX_OPTIONS_LENGTH)
    part = f"partial: {result.overall.cases:,} cases" if result.partial else ""
    if result.selection and result.selection.contrasts:
        part += ", no contrasts"
    name = plain(result.model.name, MAX_NAME_LENGTH)
    return " ".join([name, *(f"({detail})" for detail in (options, part) if detail)])


def _suffixes(group: Sequence[Result]) -> list[str]:
    """A suffix for each of several results that share a name."""
    suffixes = [""] * len(group)
    for kind, values in (
        ("weights", [result.model.weights_sha256[:_HASH_LENGTH] for result in group]),
        ("revision", [result.model.revision[:_HASH_LENGTH] for result in group]),
        ("scored", [result.date[:19] for result in group]),
        ("result", [str(number) for number in range(1, len(group) + 1)]),
    ):
        if len(set(suffixes)) < len(group) and len(set(values)) > 1:
            suffixes = [
                f"{suffix}, {kind} {value or 'unknown'}"
                for suffix, value in zip(suffixes, values, strict=True)
            ]
    return [f" [{suffix[2:]}]" if suffix else "" for suffix in suffixes]


def look_alikes(names: Iterable[str]) -> dict[str, str]:
    """The names that look like another one, each with the first other name that it looks like.

    Case, hyphens, underscores and letters that look alike in many fonts are ignored.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        appearance = name.casefold().replace("rn", "m").replace("vv", "w").translate(_LOOK_ALIKES)
        groups.setdefault(appearance, []).append(name)
    return {
        name: next(other for other in group if other != name)
        for group in groups.values()
        if len(group) > 1
        for name in group
    }
