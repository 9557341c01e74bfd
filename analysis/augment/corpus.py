"""An augmented corpus as a file that `read_corpus` reads again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.analysis.augment.search import AugmentedText
from s2lct.errors import AnalysisError
from s2lct.files import whole_file, write_text
from s2lct.suite.records import Sentence

_TYPES = {
    "id": pa.string(),
    "text": pa.string(),
    "label": pa.string(),
    "split": pa.string(),
    "original_id": pa.string(),
    "transformations": pa.list_(pa.string()),
    "similarity": pa.float64(),
    "growth": pa.float64(),
}
COLUMNS = tuple(_TYPES)


def corpus_rows(
    train: Iterable[Sentence],
    added: Iterable[AugmentedText],
    others: Iterable[tuple[str, Sentence]] = (),
) -> list[dict[str, Any]]:
    """Rows of an augmented corpus, which `read_corpus` reads again: see `COLUMNS`.

    Behind the sentences to train on, and what was made from them, stand those of other splits.
    """
    rows = [_row(sentence, "train") for sentence in train]
    rows += [
        _row(one.original, "train")
        | {
            "id": one.id,
            "text": one.text,
            "transformations": list(one.transformations),
            "similarity": round(one.similarity, 6),
            "growth": one.growth,
        }
        for one in added
    ]
    return rows + [_row(sentence, split) for split, sentence in others]


def _row(sentence: Sentence, split: str) -> dict[str, Any]:
    return {
        "id": sentence.id,
        "text": sentence.text,
        "label": sentence.label,
        "split": split,
        "original_id": sentence.id,
        "transformations": [],
        "similarity": None,
        "growth": None,
    }


def check_corpus_path(path: Path) -> None:
    """Refuse a file whose format is not known.

    Raises:
        AnalysisError: it ends in neither .jsonl nor .parquet.
    """
    if path.suffix not in (".jsonl", ".parquet"):
        raise AnalysisError(
            f"--out {path}: neither .jsonl nor .parquet", mend="name a file such as augmented.jsonl"
        )


def write_corpus(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows of `corpus_rows` as JSON lines or Parquet, by the file's suffix.

    Raises:
        AnalysisError: another suffix.
    """
    check_corpus_path(path)
    if path.suffix == ".jsonl":
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(list(_TYPES.items())))
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd")
