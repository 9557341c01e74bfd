"""Cases as other harnesses take them: text, choices, and targets of which any is right.

inspect_ai, lm-evaluation-harness and the Hub's benchmarks read these columns; nothing of a suite's
own tables changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import yaml

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, SLOT, TASK
from s2lct.suite.cases import Case
from s2lct.suite.tables import SPLIT

if TYPE_CHECKING:
    import pyarrow as pa

_PUNCTUATION = r"[\W_]*"
_REST_OF_LINE = r"(?:[^\w\n]|_)*(?:\n|$)"
ANSWER = rf"^{_PUNCTUATION}({'|'.join(map(re.escape, LABELS))}){_REST_OF_LINE}"
"""What is read of a written answer, in any case: a label that stands alone on its first line."""


def harness_rows(cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """A row a case.

    ``labels`` are the numbers of the passing labels among the ``choices``, ``passes`` their names,
    and ``target`` what `shared_answer` captures of an answer that passes.
    """
    for case in cases:
        labels = sorted(case.passes)
        yield {
            "id": case.id,
            "capability": case.capability,
            "kind": case.kind,
            "seed_id": case.seed_id,
            "text": case.text,
            "choices": list(LABELS),
            "labels": labels,
            "passes": [LABELS[label] for label in labels],
            "target": shared_letters()[tuple(labels)],
        }


def harness_table(cases: Iterable[Case]) -> pa.Table:
    """The same as an Arrow table."""
    import pyarrow as pa

    kinds = {
        "choices": pa.list_(pa.string()),
        "labels": pa.list_(pa.int64()),
        "passes": pa.list_(pa.string()),
    }
    names = ("id", "capability", "kind", "seed_id", "text", *kinds, "target")
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    return pa.Table.from_pylist(list(harness_rows(cases)), schema=schema)


@cache
def shared_letters() -> dict[tuple[int, ...], str]:
    """For each set of labels the longest letters that all of them have and no other set uses.

    The Hub's tasks compare one string, ``target``, with what one regular expression captures. For
    a case that two labels pass, it captures what they have in common: "neutral" and "positive"
    share an e. For one label these letters are the label itself.
    """
    found: dict[tuple[int, ...], str] = {}
    for size in range(1, len(LABELS) + 1):
        for labels in combinations(range(len(LABELS)), size):
            first, *others = (LABELS[label] for label in labels)
            parts = (
                first[start : start + length]
                for length in range(len(first), 0, -1)
                for start in range(len(first) - length + 1)
            )
            found[labels] = next(
                part
                for part in parts
                if part not in found.values() and all(part in other for other in others)
            )
    return found


@cache
def shared_answer() -> str:
    """A regular expression: `ANSWER`, which captures the letters of each set with that label."""
    answers = []
    for number, label in enumerate(LABELS):
        captured = (
            f"(?={re.escape(label.partition(letters)[0])}({re.escape(letters)}))"
            for labels, letters in shared_letters().items()
            if number in labels
        )
        answers.append(f"{''.join(captured)}{re.escape(label)}")
    return rf"^{_PUNCTUATION}(?:{'|'.join(answers)}){_REST_OF_LINE}"


def checked_prompt(prompt: str) -> str:
    r"""A prompt as it was given, in which ``\n`` is a new line.

    Raises:
        ScoringError: there is no place for the text in it.
    """
    if SLOT not in prompt:
        raise ScoringError(
            f"prompt {prompt!r}: has no {SLOT}",
            hint=f"write {SLOT} where the sentence belongs, as in {TASK.prompt!r}",
        )
    return prompt.replace("\\n", "\n")


def by_capability(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each capability, in their order."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.capability, []).append(case)
    return found


def harness_splits(capabilities: Iterable[str]) -> dict[str, str]:
    """What the split of each capability is called: as it is, but splits have no hyphens."""
    splits: dict[str, str] = {}
    for capability in capabilities:
        name = capability.replace("-", "_")
        while name in (SPLIT, *splits.values()):
            name += "_"
        splits[capability] = name
    return splits


class _Yaml(yaml.SafeDumper):
    """Texts of several lines stand in quotation marks, in one line."""


_Yaml.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if "\n" in text else None
    ),
)


def as_yaml(content: dict[str, Any]) -> str:
    """YAML in the order that it is given in."""
    return yaml.dump(content, Dumper=_Yaml, sort_keys=False, allow_unicode=True, width=1_000)
