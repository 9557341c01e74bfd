"""Score sentiment models on a suite, compare them, and publish what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.integrations.callback import CapabilityCallback
    from s2lct.leaderboard.integrations.evaluator import CapabilityEvaluator, CapabilitySuite
    from s2lct.leaderboard.integrations.metric import compute
    from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.scoring.score import score
    from s2lct.suite.cases import load_cases

_HOME = {
    "CapabilityCallback": "s2lct.leaderboard.integrations.callback",
    "CapabilityEvaluator": "s2lct.leaderboard.integrations.evaluator",
    "CapabilitySuite": "s2lct.leaderboard.integrations.evaluator",
    "LabelPrompt": "s2lct.leaderboard.models.language_model",
    "LanguageModel": "s2lct.leaderboard.models.language_model",
    "ScoringError": "s2lct.errors",
    "compute": "s2lct.leaderboard.integrations.metric",
    "load_cases": "s2lct.suite.cases",
    "load_classifier": "s2lct.leaderboard.models.load",
    "score": "s2lct.leaderboard.scoring.score",
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
    return getattr(import_module(_HOME[name]), name)
