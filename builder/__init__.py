"""From a labelled corpus to a suite of linked seeds and expansions.

from s2lct.builder import BuildConfig, build

suite = build(BuildConfig.checked(out="dist/s2lct"))
suite["LC4"]["test"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2lct.builder.config import BuildConfig
    from s2lct.builder.pipeline import build
    from s2lct.errors import S2lctError

__all__ = ["BuildConfig", "S2lctError", "build"]

_HOMES = {
    "BuildConfig": "s2lct.builder.config",
    "S2lctError": "s2lct.errors",
    "build": "s2lct.builder.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package is instant."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
