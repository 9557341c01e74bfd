"""Score sentiment models on a suite, compare them, and publish what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2lct.leaderboard.callback import CapabilityCallback
    from s2lct.leaderboard.cases import load_cases
    from s2lct.leaderboard.errors import ScoringError
    from s2lct.leaderboard.evaluator import CapabilityEvaluator, CapabilitySuite
    from s2lct.leaderboard.language_model import LabelPrompt, LanguageModel
    from s2lct.leaderboard.metric import compute
    from s2lct.leaderboard.models import load_classifier
    from s2lct.leaderboard.scoring import score

_HOME = {
    "CapabilityCallback": "callback",
    "CapabilityEvaluator": "evaluator",
    "CapabilitySuite": "evaluator",
    "LabelPrompt": "language_model",
    "LanguageModel": "language_model",
    "ScoringError": "errors",
    "compute": "metric",
    "load_cases": "cases",
    "load_classifier": "models",
    "score": "scoring",
}
__all__ = [
    "CapabilityCallback",
    "CapabilityEvaluator",
    "CapabilitySuite",
    "LabelPrompt",
    "LanguageModel",
    "ScoringError",
    "compute",
    "load_cases",
    "load_classifier",
    "score",
]


def __getattr__(name: str) -> Any:
    # Names are looked up when asked for: importing the package pulls neither torch nor datasets.
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
