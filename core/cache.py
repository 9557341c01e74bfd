"""Where this program keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$S2LCT_CACHE`` or ``~/.cache/s2lct``.

    Raises:
        OSError: neither is known.
    """
    if named := os.environ.get("S2LCT_CACHE"):
        return Path(named)
    try:
        return Path.home() / ".cache" / "s2lct"
    except RuntimeError as error:
        raise OSError(f"no home folder ({error}) and S2LCT_CACHE is not set") from error
