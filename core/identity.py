"""Hashes that name things, and randomness tied to a seed and to what it is drawn for.

Order and sharding change nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

_NO_SOURCE = (".pyc", ".safetensors")
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


def source_folders(*others: str) -> dict[str, Path]:
    """The folders of the packages that decide what is built, and of others, by name."""
    names = ("s2lct", "s2lct.builder", "s2lct.suite", *others)
    return {name: Path(str(resources.files(name))) for name in names}


@cache
def package_fingerprint(*others: str) -> str:
    """SHA-256 over this package's own source and data, as far as they decide what is built.

    Those of other packages, such as ``s2lct.analysis``, go in where they are named.

    Weights are left out: models have fingerprints of their own.
    """
    digest = hashlib.sha256()
    for name, folder in source_folders(*others).items():
        # In a wheel all packages lie within the first.
        for path in sorted(folder.glob("*") if name == "s2lct" else folder.rglob("*")):
            if path.suffix not in _NO_SOURCE and path.is_file():
                relative = path.relative_to(folder).as_posix()
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{name}/{relative}\n{content}\n".encode())
    return digest.hexdigest()
