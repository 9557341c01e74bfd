"""What every training script records beside its output."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_card_figures(name: str, out: Path, figures: Mapping[str, object]) -> None:
    """Write ``out/NAME.json``: the figures a model card is filled from, with package versions."""
    record = dict(figures) | {
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }
    partial = out / f"{name}.json.partial"
    partial.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(out / f"{name}.json")
    print(json.dumps(record, indent=2, sort_keys=True))
