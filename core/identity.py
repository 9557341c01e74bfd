"""Hashes that name things, and randomness tied to a seed and to what it is drawn for.

Order and sharding change nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

_SEPARATOR = "\x1f"


def content_id(*parts: str) -> str:
    """A short hash of the parts: 16 hexadecimal digits."""
    return hashlib.sha256(_SEPARATOR.join(parts).encode()).hexdigest()[:16]


def shuffle_key(seed: int, *parts: str) -> bytes:
    """A sort key that puts things in an order random in ``seed`` but fixed for the thing."""
    return hashlib.sha256(_SEPARATOR.join((str(seed), *parts)).encode()).digest()


def rng_for(seed: int, *parts: str) -> random.Random:
    """A generator for one thing, whatever was drawn for others before."""
    return random.Random(int.from_bytes(shuffle_key(seed, *parts), "big"))


SEMANTIC_VERSION = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"


def fingerprint_of(data: Any) -> str:
    """SHA-256 over data as canonical JSON."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
