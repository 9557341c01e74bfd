"""A suite as the stages of a build leave it."""

from __future__ import annotations

from dataclasses import dataclass, field

from s2lct.builder.capabilities.schema import Capability
from s2lct.suite.records import Family


@dataclass
class CapabilityCounts:
    """What happened to one capability on the way; the rows of the closing table."""

    found: int = 0
    seeds: int = 0
    masked: int = 0
    suggestions: int = 0
    rejected_part_of_speech: int = 0
    rejected_not_neutral: int = 0
    rejected_specification: int = 0
    rejected_unlikely: int = 0
    duplicates: int = 0
    expansions: int = 0
    excluded: int = 0


@dataclass
class Suite:
    """A built suite: its families by capability, and what was counted."""

    capabilities: tuple[Capability, ...]
    families: dict[str, list[Family]]
    counts: dict[str, CapabilityCounts] = field(default_factory=dict)
