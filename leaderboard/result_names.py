"""What result files are called: readable, and never the same for different results."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from s2lct.leaderboard.models import EMBEDDED_MODELS, WORD_LISTS
from s2lct.leaderboard.result_records import ModelRecord, OptionsRecord

BUILT_IN = (*WORD_LISTS, *EMBEDDED_MODELS)
_LONGEST_SLUG = 100


def file_name(model: str) -> str:
    """A name as a file name; different names may give the same one."""
    return re.sub(r"[^\w.-]+", "--", model).strip("-.") or "model"


def slug(name: str) -> str:
    """A name as a part of a file name on any system: not too long, ASCII, no leading dot."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "--", name)[:_LONGEST_SLUG]
    return plain.strip("-.") or "model"


def digest_of(*parts: Any) -> str:
    """Eight hex digits over parts of which a slug tells only some."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def model_identity(model: ModelRecord) -> list[Any]:
    """What makes a scored model another one, with its options."""
    options = model.options.model_dump(mode="json")
    return [model.name, model.revision, model.weights_sha256, options]


def plain_path(model: ModelRecord, folder: Path) -> Path | None:
    """Where a whole result of a built-in model with default options belongs; None for others."""
    if model.name not in BUILT_IN or model.options != OptionsRecord():
        return None
    return folder / f"{model.name}.json"
