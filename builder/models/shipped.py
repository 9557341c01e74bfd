"""The weights that this package ships, checked by their hashes before they are read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from s2lct.errors import ModelError
from s2lct.files import sha256_of

SHA256 = {
    "masked_lm.safetensors": "dda2ddbcd6a32e9c433e405637d187819aa87f452612ee014c1cdcb553b65e06",
    "parser.safetensors": "bdd7b9a63f40d7342f6259c4a143816fbe9da7caadd357c3f30d4eecaf086df4",
    "sentiment_2class.safetensors": (
        "a7d9a9c497e6ed6e3edc8c98046d8ef7aef07337193cf81fef6e6f51f9b41630"
    ),
    "sentiment_3class.safetensors": (
        "c6b5953b8c10f1204f50a6403387d08e7afd2bfb17ce44bf500676ef58543cd1"
    ),
}
"""By file name. The sum of weights trained anew goes here; their figures beside them record it."""


@cache
def shipped(path: Path) -> Path:
    """The file itself, checked once; see `check_sha256`."""
    check_sha256(path, SHA256[path.name], 'pip install --force-reinstall --no-deps "s2lct"')
    return path


def check_sha256(path: Path, expected: str, hint: str) -> None:
    """Raise a `ModelError` where a file is missing, or another than the one expected."""
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}", hint=hint) from error
    if found != expected:
        raise ModelError(f"{path}: SHA-256 is {found}, expected {expected}", hint=hint)
