"""``eval.yaml``: what makes a dataset repository a benchmark of the Hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from s2lct.suite.tables import ALL, SPLIT

EVAL_FILE = "eval.yaml"
FRAMEWORK = "s2lct"


def eval_yaml(suite: Mapping[str, Any]) -> str:
    """A suite's ``eval.yaml``: one task for all capabilities, and one for each.

    Args:
        suite: the contents of ``suite.json``.
    """
    told = {
        "name": "S²LCT",
        "description": "Behavioural tests for sentiment models, one linguistic capability at a "
        "time. The value of a task is the share of its cases passed, in percent: 100 less the "
        f"failure rate; of the task {ALL}, the mean of the capabilities.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {"id": task_id(name), "config": name, "split": SPLIT}
            for name in (ALL, *configs_in_order(suite))
        ],
    }
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=100)


def task_id(config: str) -> str:
    """The task of a config, as model results name it."""
    return config.lower()


def configs_in_order(suite: Mapping[str, Any]) -> list[str]:
    """The configs of a suite but ``all``, in the suite's order."""
    return [one["id"] for one in suite["capabilities"] if one["id"] in suite["files"]]
