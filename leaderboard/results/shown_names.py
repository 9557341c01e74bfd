"""The names of models where several stand beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from s2lct.leaderboard.results.record import MAX_NAME_LENGTH, Result
from s2lct.plain_text import plain

_MAX_OPTIONS_LENGTH = 40
_HASH_LENGTH = 8
_LOOKS_LIKE = str.maketrans("01i3458", "olleasb", "-_")


class ShownNames:
    """Names for the models of results, no two of them equal.

    A name says what tells a model from the model as it comes, such as its prompt. Where two are
    equal, a short hash of their weights is added, and where that is equal too, their revision, the
    date of the result, and at last a number.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        groups: dict[str, list[Result]] = {}
        for result in results:
            groups.setdefault(_name(result), []).append(result)
        self._names = {
            id(result): f"{name}{suffix}"
            for name, group in groups.items()
            for result, suffix in zip(group, _distinct_suffixes(group), strict=True)
        }
        # Names are kept by identity, as long as the results live.
        self._results = [result for group in groups.values() for result in group]

    def __call__(self, result: Result) -> str:
        """The name of one of the results."""
        return self._names[id(result)]


def _name(result: Result) -> str:
    options = plain(result.model.unusual_options, _MAX_OPTIONS_LENGTH)
    partial = f"partial: {result.overall.cases:,} cases" if result.partial else ""
    if result.selection and result.selection.contrasts:
        partial += ", no contrasts"
    name = plain(result.model.name, MAX_NAME_LENGTH)
    return " ".join([name, *(f"({words})" for words in (options, partial) if words)])


def _distinct_suffixes(group: Sequence[Result]) -> list[str]:
    """What to add to a name that several results share."""
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
    """Names that a reader may take for another one, each with the first that it looks like.

    Letters that look alike in many fonts, case, hyphens and underscores make no difference.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        appearance = name.casefold().replace("rn", "m").replace("vv", "w").translate(_LOOKS_LIKE)
        groups.setdefault(appearance, []).append(name)
    return {
        name: next(other for other in group if other != name)
        for group in groups.values()
        if len(group) > 1
        for name in group
    }
