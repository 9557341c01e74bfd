"""What makes a published suite a benchmark of the Hub: ``eval.yaml``, and columns made for it.

The Hub checks the file where it is pushed, and ``inspect eval hf/ORG/NAME/TASK`` runs it
(inspect_ai/_eval/task/hf.py). Its tasks read a config of their own, `HARNESS`, a split a
capability; the suite's own columns, and so its fingerprint, stay as they are.
"""

from __future__ import annotations

import io
from typing import Any

from s2lct.labels import SLOT, TASK
from s2lct.suite.cases import Case, case_from
from s2lct.suite.harness import (
    as_yaml,
    by_capability,
    harness_splits,
    harness_table,
    shared_answer,
)
from s2lct.suite.read import WrittenSuite
from s2lct.suite.tables import ALL, HARNESS, KINDS, SPLIT

EVAL_FILE = "eval.yaml"
_FRAMEWORK = "inspect-ai"
_FOLDER = f"data/{HARNESS}"
_METADATA = ["id", "capability", "kind", "seed_id", "passes"]
_ABOUT = """\
# inspect eval hf/ORG/NAME/lc4 --model …
# A case that two labels pass has as its target the letters that both have in common and no other
# label has; the pattern captures them beside the label itself, which is the target of the others.
"""


def task_id(config: str) -> str:
    """The task of a config, in ``eval.yaml`` and in the results of models."""
    return config.lower()


def harness_files(suite: WrittenSuite) -> dict[str, bytes]:
    """The data of the config `HARNESS`, by path: a Parquet file a capability, without counterparts.

    The same suite gives the same bytes.
    """
    import pyarrow.parquet as pq

    parts = by_capability(_cases(suite))
    files: dict[str, bytes] = {}
    for capability, split in harness_splits(parts).items():
        buffer = io.BytesIO()
        pq.write_table(harness_table(parts[capability]), buffer, compression="zstd")
        files[f"{_FOLDER}/{split}.parquet"] = buffer.getvalue()
    return files


def eval_yaml(suite: WrittenSuite) -> str:
    """The file: a task for all cases, and one for those of each capability."""
    splits = {ALL: SPLIT} | harness_splits(by_capability(_cases(suite)))
    benchmark = {
        "name": "S²LCT",
        "description": "Behavioural tests for sentiment models, one linguistic capability at a "
        "time. The value of a task is the share of its cases passed, in percent: 100 less the "
        "failure rate.",
        "evaluation_framework": _FRAMEWORK,
        "tasks": [_task(task_id(name), split) for name, split in splits.items()],
    }
    return _ABOUT + as_yaml(benchmark)


def _cases(suite: WrittenSuite) -> list[Case]:
    return [case_from(row) for row in suite.checked if row.kind in KINDS]


def _task(name: str, split: str) -> dict[str, Any]:
    return {
        "id": name,
        "config": HARNESS,
        "split": split,
        "field_spec": {
            "input": "text",
            "target": "target",
            "choices": "choices",
            "metadata": list(_METADATA),
        },
        "solvers": [
            {
                "name": "prompt_template",
                "args": {"template": TASK.prompt.replace(SLOT, "{prompt}")},
            },
            {"name": "generate", "args": {"temperature": 0}},
        ],
        "scorers": [{"name": "pattern", "args": {"pattern": shared_answer()}}],
    }
