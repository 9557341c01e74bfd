"""Asking a Hub without waiting for one that cannot be reached."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

SECONDS_FOR_AN_ANSWER = 5.0


@contextmanager
def told_when_offline() -> Iterator[None]:
    """Let `huggingface_hub` and what stands on it know at once that no Hub can be reached.

    Each request would be tried again for half a minute; what was downloaded before is found
    either way.
    """
    from huggingface_hub import constants, is_offline_mode

    if is_offline_mode() or is_reachable(constants.ENDPOINT):
        yield
        return
    # `datasets` keeps a copy of what HF_HUB_OFFLINE says.
    modules: list[Any] = [constants, *filter(None, [sys.modules.get("datasets.config")])]
    before = [module.HF_HUB_OFFLINE for module in modules]
    try:
        for module in modules:
            module.HF_HUB_OFFLINE = True
        yield
    finally:
        for module, was in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = was


@cache
def is_reachable(endpoint: str) -> bool:
    """Whether a Hub answers anything at all, asked once."""
    from huggingface_hub import get_session

    try:
        get_session().head(endpoint, timeout=SECONDS_FOR_AN_ANSWER)
    except Exception:  # the classes depend on the version of the library's own client
        return False
    return True
