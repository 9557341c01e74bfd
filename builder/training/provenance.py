"""What every training script records beside its output."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from s2lct.files import sha256_of as sha256_of
from s2lct.files import write_text


def write_card_figures(name: str, out: Path, figures: Mapping[str, object]) -> None:
    """Write ``out/NAME.json``: the figures a model card is filled from, with package versions."""
    record = dict(figures) | {
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }
    write_text(out / f"{name}.json", json.dumps(record, indent=2, sort_keys=True) + "\n")
    print(json.dumps(record, indent=2, sort_keys=True))
