"""What capabilities are called on pages, and what each asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class CapabilityWords:
    """A capability in words; all empty for one of somebody's own, whose id says what it is."""

    title: str = ""
    short: str = ""
    expectation: str = ""


def capability_words(names: Iterable[str]) -> dict[str, CapabilityWords]:
    """The words of each capability: those of its shipped file, if it is a shipped one."""
    from s2lct.builder.capabilities.files import load_capabilities

    known = {
        one.id: CapabilityWords(one.title, one.short or "", one.expectation)
        for one in load_capabilities()
    }
    return {name: known.get(name, CapabilityWords()) for name in names}
