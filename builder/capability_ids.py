"""Capabilities as a person writes their ids: ``lc4`` is ``LC4``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def spelled(asked: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Ids in the spelling they are known by, each once.

    An id that is known as it stands is that one, whatever else differs from it in case alone.

    Args:
        asked: ids in any case.
        known: the ids that there are.

    Returns:
        The known spellings; an id that is unknown, or that could be two of them, as it was given.

    >>> spelled(["lc4", "LCNegation", "lc77"], ["LC4", "LCnegation"])
    ('LC4', 'LCnegation', 'lc77')
    """
    by_folded: dict[str, list[str]] = {}
    for name in dict.fromkeys(known):
        by_folded.setdefault(name.casefold(), []).append(name)

    def of(name: str) -> str:
        near = by_folded.get(name.casefold(), [])
        return name if name in near or len(near) != 1 else near[0]

    return tuple(dict.fromkeys(map(of, asked)))
