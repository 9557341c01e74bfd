"""Cases as other harnesses take them: text, choices, and targets of which any is right.

inspect_ai and lm-evaluation-harness read these columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

import s2lct.suite.lm_eval_metrics as metrics
from s2lct.files import atomic_folder, refuse_foreign_files, write_text
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_suite
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt, space_behind
from s2lct.suite.tables import CONTRAST, SPLIT

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = "s2lct"
"""Of the tasks of lm-evaluation-harness."""
WRITTEN = "gen"
"""Stands in the names of tasks whose models write the label."""
_SHARED = f"_{GROUP}"
"""A file that tasks include. The harness takes files with the suffix .yaml alone for tasks."""
_PUNCTUATION = r"[\W_]*"
_REST_OF_LINE = r"(?:[^\w\n]|_)*(?:\n|$)"
ANSWER = rf"^{_PUNCTUATION}({'|'.join(map(re.escape, LABELS))}){_REST_OF_LINE}"
"""What is read of a written reply, in any case: a label that stands alone on its first line."""
SHARED_LETTERS: dict[tuple[int, ...], str] = {
    (0,): LABELS[0],
    (1,): LABELS[1],
    (2,): LABELS[2],
    (0, 1): "ne",
    (0, 2): "tive",
    (1, 2): "e",
    (0, 1, 2): "t",
}
"""For each set of labels letters that all of them have and that stand for no other set.

They are the column ``target``, for harnesses that compare one string with a reply.
"""


def harness_table(cases: Iterable[Case]) -> pa.Table:
    """A row a case.

    ``labels`` are the numbers of the passing labels among the ``choices``, ``passes`` their names,
    ``target`` is what a reply that passes has in it, see `SHARED_LETTERS`, and ``pair`` the id of
    the case in a contrast and in what has one.
    """
    import pyarrow as pa

    cases = list(cases)
    case_of = {case.id: case.seed_id for case in cases if case.kind == CONTRAST}
    pairs = case_of | {id: id for id in case_of.values()}
    columns = ("id", "capability", "kind", "seed_id", "text")
    rows = [
        {name: getattr(case, name) for name in columns}
        | {
            "choices": list(LABELS),
            "labels": sorted(case.passes),
            "passes": [LABELS[label] for label in sorted(case.passes)],
            "target": SHARED_LETTERS[tuple(sorted(case.passes))],
            "pair": pairs.get(case.id, ""),
        }
        for case in cases
    ]
    return pa.Table.from_pylist(rows)


def by_capability(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each capability, in their order."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.capability, []).append(case)
    return found


class _Yaml(yaml.SafeDumper):
    """Texts of several lines stand in quotation marks, in one line."""


class _Function(str):
    """A function in a file beside the YAML."""


_Yaml.add_representer(
    _Function, lambda dumper, name: dumper.represent_scalar("!function", str(name))
)
_Yaml.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if "\n" in text else None
    ),
)


def as_yaml(content: Mapping[str, Any]) -> str:
    """YAML in the order that it is given in."""
    return yaml.dump(dict(content), Dumper=_Yaml, sort_keys=False, allow_unicode=True, width=1_000)


def export_lm_eval(suite: str | Path, out: Path, prompt: str = PROMPTS[0]) -> int:
    """Write tasks of lm-evaluation-harness into a folder, for its ``--include_path``.

    Of each capability there is a task ``s2lct_lc4``, in which the likeliest label counts, as with
    ``s2lct score --llm``, and a task ``s2lct_gen_lc4``, in which the model writes it; the groups
    ``s2lct`` and ``s2lct_gen`` have the mean of the capabilities. Both tell consistency beside
    accuracy, which no contrast is in. The data lie in the same folder, named by its absolute path:
    where it is moved, it is exported again.

    Args:
        suite: a folder that `s2lct build` wrote, or a Hub id, ``ORG/NAME[@REVISION]``.
        out: the folder; one that an earlier export wrote is replaced.
        prompt: of the model, with ``{text}``.

    Returns:
        How many cases the tasks have, without contrasts.

    Raises:
        OutputError: there can be no such folder, or it holds other files.
        ScoringError: there is no such suite, or the prompt has no place for a text.
    """
    import pyarrow.parquet as pq

    prompt = checked_prompt(prompt)
    cases = load_suite(suite)
    parts = by_capability(cases.with_contrasts)
    # Ids in small letters, or as they are where two differ in these.
    names = {capability: capability.lower() for capability in parts}
    names = names if len(set(names.values())) == len(names) else {name: name for name in parts}
    files: dict[str, Mapping[str, Any]] = {
        _SHARED: {"dataset_path": "parquet"} | _likeliest(prompt) | _metadata(cases),
        f"{_SHARED}_{WRITTEN}": _written(),
    }
    for suffix, accuracy, where in (
        ("", "acc", {}),
        (f"_{WRITTEN}", "exact_match", {"filter_list": ["label"]}),
    ):
        group = GROUP + suffix
        for capability, name in names.items():
            data = out.resolve() / "data" / f"{capability}.parquet"
            files[f"{group}_{name}.yaml"] = {
                "include": _SHARED + suffix,
                "task": f"{group}_{name}",
                "task_alias": capability,
                "test_split": SPLIT,
                "dataset_kwargs": {"data_files": {SPLIT: str(data)}},
            }
        files[f"{group}.yaml"] = {
            "group": group,
            "task": [f"{group}_{name}" for name in names.values()],
            "aggregate_metric_list": [
                {"metric": name, "aggregation": "mean", "weight_by_size": False, **where}
                for name in (accuracy, "consistency")
            ],
            **_metadata(cases),
        }
    tables = {f"data/{capability}.parquet": part for capability, part in parts.items()}
    code = Path(metrics.__file__)
    names_written = [*files, *tables, code.name]
    refuse_foreign_files(out, names_written, option="--out")
    with atomic_folder(out, ours=names_written) as folder:
        write_text(folder / code.name, code.read_text(encoding="utf-8"))
        for name, content in files.items():
            write_text(folder / name, as_yaml(content))
        (folder / "data").mkdir()
        for name, part in tables.items():
            pq.write_table(harness_table(part), folder / name, compression="zstd")
    return len(cases.cases)


def _likeliest(prompt: str) -> dict[str, Any]:
    """What all tasks share: the prompt, and the likeliest label as the prediction."""
    return {
        "num_fewshot": 0,
        "output_type": "multiple_choice",
        "doc_to_text": _jinja(prompt),
        "doc_to_choice": list(LABELS),
        # A list for every case: the first decides whether a task has several right answers.
        "doc_to_target": "labels",
        "target_delimiter": space_behind(prompt),
        **_counted_by("likeliest", "acc"),
    }


def _counted_by(function: str, accuracy: str) -> dict[str, Any]:
    """What is counted of each row, and of all of them."""
    file = metrics.__name__.rpartition(".")[2]
    of_all = {accuracy: "mean", "consistency": _Function(f"{file}.consistency")}
    return {
        "process_results": _Function(f"{file}.{function}"),
        "metric_list": [
            {"metric": name, "aggregation": aggregation, "higher_is_better": True}
            for name, aggregation in of_all.items()
        ],
    }


def _written() -> dict[str, Any]:
    """What differs where the model writes the label."""
    regex = {"function": "regex", "regex_pattern": f"(?i){ANSWER}"}
    return {
        "include": _SHARED,
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
        **_counted_by("written", "exact_match"),
    }


def _metadata(cases: SuiteCases) -> dict[str, Any]:
    return {"metadata": {"version": cases.version or "0", "fingerprint": cases.fingerprint}}


def _jinja(prompt: str) -> str:
    """A prompt as a Jinja template."""
    marks = ("{{", "{%", "{#")
    return "{{text}}".join(
        f"{{% raw %}}{part}{{% endraw %}}" if any(mark in part for mark in marks) else part
        for part in prompt.split(SLOT)
    )
