"""Score sentiment models on a suite, compare them, and publish what came out."""

from __future__ import annotations

from typing import Any

_MODULES = {
    "s2lct.errors": ("ScoringError",),
    "s2lct.leaderboard.integrations.callback": ("CapabilityCallback",),
    "s2lct.leaderboard.models.language_model": ("LabelPrompt", "LanguageModel"),
    "s2lct.leaderboard.models.load": ("load_classifier",),
    "s2lct.leaderboard.scoring.score": ("score",),
    "s2lct.suite.cases": ("load_cases",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    # Names are looked up when asked for: importing the package pulls neither torch nor datasets.
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
