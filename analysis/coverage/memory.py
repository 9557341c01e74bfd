"""Refusing what would not fit into memory, before it is tried."""

from __future__ import annotations

import os

from s2lct.errors import AnalysisError

SHARE = 0.5
"""Of the machine's memory, for one thing."""


def machine_memory() -> int:
    """Bytes of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_memory(needed: int, what: str, instead: str) -> None:
    """Refuse what needs more bytes than `SHARE` of the machine's memory.

    Raises:
        AnalysisError: it does; names what it is, and what to pass instead.
    """
    room = int(machine_memory() * SHARE)
    if needed > room:
        raise AnalysisError(
            f"{what}: need {needed / 1e9:,.1f} GB, half of this machine's memory is "
            f"{room / 1e9:,.1f} GB",
            mend=f"pass {instead}",
        )
