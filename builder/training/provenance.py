"""What every training script records beside its output."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from s2lct.builder.hashing import sha256_of as sha256_of


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
