"""Tasks of lm-evaluation-harness for the cases of a suite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

import s2lct.suite.lm_eval_metrics as metrics
from s2lct.files import atomic_folder, refuse_foreign_files, write_text
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, load_suite
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt, space_after
from s2lct.suite.tables import CONTRAST, SPLIT

if TYPE_CHECKING:
    import pyarrow as pa

_TASK_PREFIX = "s2lct"
_SHARED_FILE = f"_{_TASK_PREFIX}"
"""The file that all tasks include. It has no suffix .yaml, so it is no task for the harness."""
_WRITTEN_SUFFIX = "_gen"
"""The suffix of tasks in which models write the label."""
ANSWER = rf"^[\W_]*({'|'.join(map(re.escape, LABELS))})(?:[^\w\n]|_)*(?:\n|$)"
"""The label in a written reply, in upper or lower case, alone on the first line."""


def _task_rows(cases: Iterable[Case]) -> pa.Table:
    """One row per case; a case and its contrast share a ``pair``, which is else empty."""
    import pyarrow as pa

    cases = list(cases)
    case_of_contrast = {case.id: case.seed_id for case in cases if case.kind == CONTRAST}
    pairs = case_of_contrast | {id: id for id in case_of_contrast.values()}
    columns = ("id", "capability", "kind", "seed_id", "text")
    rows = [
        {name: getattr(case, name) for name in columns}
        | {
            "labels": sorted(case.passes),
            "passes": [LABELS[label] for label in sorted(case.passes)],
            "pair": pairs.get(case.id, ""),
        }
        for case in cases
    ]
    return pa.Table.from_pylist(rows)


class _Yaml(yaml.SafeDumper):
    """A dumper that quotes texts of several lines and tags the names of functions."""


class _Function(str):
    """The name of a function of a Python file in the folder of the tasks."""


_Yaml.add_representer(
    _Function, lambda dumper, name: dumper.represent_scalar("!function", str(name))
)
_Yaml.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if "\n" in text else None
    ),
)


def export_lm_eval(suite: str | Path, out: Path, prompt: str = PROMPTS[0]) -> int:
    """Write tasks of lm-evaluation-harness into a folder, for its ``--include_path``.

    Each capability has a task ``s2lct_lc4``, in which the likeliest label counts, as with
    ``s2lct score --llm``, and a task ``s2lct_gen_lc4``, in which the model writes the label. The
    groups ``s2lct`` and ``s2lct_gen`` have the mean of the capabilities. Both report accuracy
    without contrasts, and consistency. The tasks name their data by absolute paths: a folder that
    was moved is exported again.

    Args:
        suite: a folder that `s2lct build` wrote, or a Hub id, ``ORG/NAME[@REVISION]``.
        out: the folder; one that an earlier export wrote is replaced.
        prompt: the prompt, with ``{text}`` for the text.

    Returns:
        The number of cases of the tasks, without contrasts.

    Raises:
        OutputError: no folder can have that path, or it holds other files.
        ScoringError: no such suite exists, or the prompt lacks ``{text}``.
    """
    import pyarrow.parquet as pq

    prompt = checked_prompt(prompt)
    cases = load_suite(suite)
    tables = {
        name: _task_rows(case for case in cases.with_contrasts if case.capability == name)
        for name in cases.capabilities
    }
    metadata = {"metadata": {"version": cases.version or "0", "fingerprint": cases.fingerprint}}
    files: dict[str, Mapping[str, Any]] = {
        _SHARED_FILE: {"dataset_path": "parquet"} | _likeliest_label(prompt) | metadata,
        _SHARED_FILE + _WRITTEN_SUFFIX: _written_label(),
    }
    is_distinct = len({name.lower() for name in tables}) == len(tables)
    for suffix, accuracy, filters in (
        ("", "acc", {}),
        (_WRITTEN_SUFFIX, "exact_match", {"filter_list": ["label"]}),
    ):
        group = _TASK_PREFIX + suffix
        tasks = {name: f"{group}_{name.lower() if is_distinct else name}" for name in tables}
        for name, task in tasks.items():
            data_path = out.resolve() / "data" / f"{name}.parquet"
            files[f"{task}.yaml"] = {
                "include": _SHARED_FILE + suffix,
                "task": task,
                "task_alias": name,
                "test_split": SPLIT,
                "dataset_kwargs": {"data_files": {SPLIT: str(data_path)}},
            }
        files[f"{group}.yaml"] = {
            "group": group,
            "task": [*tasks.values()],
            "aggregate_metric_list": [
                {"metric": metric, "aggregation": "mean", "weight_by_size": False, **filters}
                for metric in (accuracy, "consistency")
            ],
            **metadata,
        }
    metrics_file = Path(metrics.__file__)
    own_files = [*files, *(f"data/{name}.parquet" for name in tables), metrics_file.name]
    refuse_foreign_files(out, own_files, option="--out")
    with atomic_folder(out, own_files=own_files) as folder:
        write_text(folder / metrics_file.name, metrics_file.read_text(encoding="utf-8"))
        for file_name, content in files.items():
            write_text(
                folder / file_name,
                yaml.dump(content, Dumper=_Yaml, sort_keys=False, allow_unicode=True, width=1_000),
            )
        (folder / "data").mkdir()
        for name, table in tables.items():
            pq.write_table(table, folder / "data" / f"{name}.parquet", compression="zstd")
    return len(cases.cases)


def _likeliest_label(prompt: str) -> dict[str, Any]:
    """Settings that all tasks share: the prompt, and the likeliest label as the prediction."""
    return {
        "num_fewshot": 0,
        "output_type": "multiple_choice",
        "doc_to_text": _jinja(prompt),
        "doc_to_choice": list(LABELS),
        # A list for every case: the first decides whether a task has several right answers.
        "doc_to_target": "labels",
        "target_delimiter": space_after(prompt),
        **_metrics("likeliest", "acc"),
    }


def _written_label() -> dict[str, Any]:
    """Settings that differ in tasks in which the model writes the label."""
    regex = {"function": "regex", "regex_pattern": f"(?i){ANSWER}"}
    return {
        "include": _SHARED_FILE,
        "output_type": "generate_until",
        "doc_to_choice": None,
        "doc_to_target": "passes",
        "generation_kwargs": {
            "until": ["\n\n"],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": 16,
        },
        "filter_list": [
            {
                "name": "label",
                "filter": [regex, {"function": "lowercase"}, {"function": "take_first"}],
            }
        ],
        **_metrics("written", "exact_match"),
    }


def _metrics(process_results: str, accuracy: str) -> dict[str, Any]:
    """Settings for the function of `lm_eval_metrics` that judges rows, and for aggregation."""
    file = metrics.__name__.rpartition(".")[2]
    aggregations = {accuracy: "mean", "consistency": _Function(f"{file}.consistency")}
    return {
        "process_results": _Function(f"{file}.{process_results}"),
        "metric_list": [
            {"metric": metric, "aggregation": aggregation, "higher_is_better": True}
            for metric, aggregation in aggregations.items()
        ],
    }


def _jinja(prompt: str) -> str:
    """A prompt as a Jinja template."""
    marks = ("{{", "{%", "{#")
    return "{{text}}".join(
        f"{{% raw %}}{part}{{% endraw %}}" if any(mark in part for mark in marks) else part
        for part in prompt.split(SLOT)
    )
