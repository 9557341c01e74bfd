"""A suite as the stages of a build leave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from s2lct.builder.capabilities.schema import Capability


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
    counterparts: int = 0
    rejected_sentiment: int = 0


@dataclass
class Suite:
    """A built suite: its rows by capability, each seed before what is linked to it, and counts."""

    capabilities: tuple[Capability, ...]
    rows: dict[str, list[dict[str, Any]]]
    counts: dict[str, CapabilityCounts] = field(default_factory=dict)
