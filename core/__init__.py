"""Behavioural tests for sentiment models, one linguistic capability at a time.

In a script, with a model that is loaded there or named:

    from s2lct import load_suite, score

    scores = score("vader", load_suite("dist/s2lct"))
    scores.failure_rate, scores.capabilities["LC4"].expansion.failure_rate

Every command is a function here, too, which takes the command's options by name and returns what
the command shows:

    import s2lct

    s2lct.build(out="dist/s2lct", capabilities=["LC4"])
    written = s2lct.score_models(models=["vader"], suite="dist/s2lct", out="results")
    s2lct.gate(written.files[0], max=["LC4=20"]).passed
"""

from __future__ import annotations

from typing import Any

__version__: str
_MODULES = {
    "builder.commands": ("build", "capabilities", "curate", "export", "inspect", "verify"),
    "suite.cases": ("load_suite",),
    "suite.checklist": ("import_checklist",),
    "leaderboard.commands.results": ("build_leaderboard", "check", "compare", "gate", "report"),
    "leaderboard.commands.score_models": ("score_models",),
    "leaderboard.models.label_prompt": ("LabelPrompt",),
    "leaderboard.models.language_model": ("LanguageModel",),
    "leaderboard.results.write_results": ("write_result",),
    "leaderboard.scoring.score": ("score",),
    "leaderboard.integrations.callback": ("CapabilityCallback",),
    "analysis.commands.coverage": ("coverage", "masks"),
    "analysis.commands.methods": (
        "diversity",
        "explain",
        "export_study",
        "import_annotations",
        "retrain",
    ),
    "dataset_script.dataset": ("publish_dataset",),
    "dataset_script.install": ("install",),
    "dataset_script.results": ("publish_results",),
    "dataset_script.space": ("publish_leaderboard", "publish_metric"),
}
_MODULE_OF_NAME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["__version__", *_MODULE_OF_NAME]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import a public function on first use; the version is that of the installed package."""
    from importlib import import_module
    from importlib.metadata import version

    if name == "__version__":
        return version("s2lct")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)
