"""Behavioural tests for sentiment models, one linguistic capability at a time."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: it is written in pyproject.toml alone."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("s2lct")
