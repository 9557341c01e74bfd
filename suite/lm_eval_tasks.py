"""Export a suite as tasks of lm-evaluation-harness: a folder for its ``--include_path``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.files import check_only_ours, files_in, is_folder, one_folder, whole_folder, write_text
from s2lct.hub_calls import hub_call
from s2lct.labels import LABELS, SLOT, TASK, space_behind
from s2lct.suite.cases import Case, SuiteCases, load_cases
from s2lct.suite.harness import (
    ANSWER,
    as_yaml,
    by_capability,
    checked_prompt,
    harness_splits,
    harness_table,
)
from s2lct.suite.tables import HARNESS, SPLIT

GROUP = "s2lct"
WRITTEN = "gen"
"""What the names of tasks have behind `GROUP` whose models write an answer."""
_SHARED = f"_{GROUP}"
"""A file that tasks include. The harness takes files with the suffix .yaml alone for tasks."""
_DATA = "data"
_FILTER = "label"
_LONGEST_ANSWER = 16


def export_lm_eval(suite: Path, out: Path, prompt: str = TASK.prompt) -> int:
    """Write the tasks into a folder; how many cases they have.

    Of each capability there is a task ``s2lct_lc4``, in which the likeliest label counts, as with
    ``s2lct score --llm``, and a task ``s2lct_gen_lc4``, in which the model writes it; the groups
    ``s2lct`` and ``s2lct_gen`` have the mean of the capabilities. A published suite is named by its
    Hub id. Of any other the data lie in the same folder, named by its absolute path: where it is
    moved, it is exported again.

    Args:
        suite: a folder that `s2lct build` wrote, or a Hub id, ``ORG/NAME[@REVISION]``.
        out: the folder; one that an earlier export wrote is replaced.
        prompt: what is asked, with ``{text}``.

    Raises:
        OutputError: there can be no such folder.
        ScoringError: there is no such suite, or the prompt has no place for a text.
        OutputError: ``out`` holds other files.
    """
    prompt = checked_prompt(prompt)
    check_only_ours(out, _written_before(out), option="--out")
    cases = load_cases(suite if is_folder(suite) else str(suite))
    parts = by_capability(cases.cases)
    names = _names(parts)
    published = _published(cases.name) if not is_folder(suite) else {}
    splits = harness_splits(parts)
    with whole_folder(out, ours=_written_before(out)) as folder:
        shared_by_all = _likeliest(prompt) | {"metadata": _metadata(cases)}
        _write(folder / _SHARED, (published or {"dataset_path": "parquet"}) | shared_by_all)
        _write(folder / f"{_SHARED}_{WRITTEN}", _written())
        for group, shared, metric in (
            (GROUP, _SHARED, {"metric": "acc"}),
            (
                f"{GROUP}_{WRITTEN}",
                f"{_SHARED}_{WRITTEN}",
                {"metric": "exact_match", "filter_list": [_FILTER]},
            ),
        ):
            for capability, name in names.items():
                task: dict[str, Any] = {
                    "include": shared,
                    "task": f"{group}_{name}",
                    "task_alias": capability,
                    "test_split": splits[capability] if published else SPLIT,
                }
                if not published:
                    data = out.resolve() / _DATA / f"{one_folder(capability)}.parquet"
                    task["dataset_kwargs"] = {"data_files": {SPLIT: str(data)}}
                _write(folder / f"{group}_{name}.yaml", task)
            _write(folder / f"{group}.yaml", _group(group, list(names.values()), metric, cases))
        if not published:
            _write_data(folder / _DATA, parts)
    return len(cases.cases)


def _written_before(out: Path) -> list[str]:
    """The names of the files in a folder that an earlier export wrote."""
    if not is_folder(out) or not (out / _SHARED).is_file():
        return []
    ours = re.compile(rf"_?{GROUP}(_[^/]*)?(\.yaml)?|{_DATA}/[^/]+\.parquet")
    return [name for name in files_in(out) if ours.fullmatch(name)]


def _published(name: str) -> dict[str, Any]:
    """How the harness loads a published suite; nothing where it has no columns for harnesses."""
    from datasets import get_dataset_config_names

    repo, _, revision = name.partition("@")
    try:
        with hub_call():
            if HARNESS not in get_dataset_config_names(repo, revision=revision or None):
                return {}
    except (OSError, ValueError):  # what is installed, and lies in a cache alone
        return {}
    pinned = {"dataset_kwargs": {"revision": revision}} if revision else {}
    return {"dataset_path": repo, "dataset_name": HARNESS, **pinned}


def _names(capabilities: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    """What tasks are called: ids in small letters, or as they are where two differ in these."""
    small = {capability: capability.lower() for capability in capabilities}
    return small if len(set(small.values())) == len(small) else {one: one for one in small}


def _likeliest(prompt: str) -> dict[str, Any]:
    """What all tasks share: the prompt, and the likeliest label as the answer."""
    return {
        "num_fewshot": 0,
        "output_type": "multiple_choice",
        "doc_to_text": _jinja(prompt),
        "doc_to_choice": list(LABELS),
        # A list for every case: the first decides whether a task has several right answers.
        "doc_to_target": "labels",
        "target_delimiter": space_behind(prompt),
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }


def _written() -> dict[str, Any]:
    """What differs where the model writes an answer."""
    return {
        "include": _SHARED,
        "output_type": "generate_until",
        "doc_to_choice": None,
        "doc_to_target": "passes",
        "generation_kwargs": {
            "until": ["\n\n"],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": _LONGEST_ANSWER,
        },
        "filter_list": [
            {
                "name": _FILTER,
                "filter": [
                    {"function": "regex", "regex_pattern": f"(?i){ANSWER}"},
                    {"function": "lowercase"},
                    {"function": "take_first"},
                ],
            }
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }


def _group(
    group: str, names: Sequence[str], metric: Mapping[str, Any], cases: SuiteCases
) -> dict[str, Any]:
    return {
        "group": group,
        "task": [f"{group}_{name}" for name in names],
        "aggregate_metric_list": [{**metric, "aggregation": "mean", "weight_by_size": False}],
        "metadata": _metadata(cases),
    }


def _metadata(cases: SuiteCases) -> dict[str, str]:
    return {"version": cases.version or "0", "fingerprint": cases.fingerprint}


def _jinja(prompt: str) -> str:
    """A prompt as a Jinja template."""
    marks = ("{{", "{%", "{#")
    return "{{text}}".join(
        f"{{% raw %}}{part}{{% endraw %}}" if any(mark in part for mark in marks) else part
        for part in prompt.split(SLOT)
    )


def _write_data(folder: Path, parts: Mapping[str, Sequence[Case]]) -> None:
    import pyarrow.parquet as pq

    folder.mkdir()
    for capability, cases in parts.items():
        pq.write_table(harness_table(cases), folder / f"{capability}.parquet", compression="zstd")


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, as_yaml(dict(content)))
