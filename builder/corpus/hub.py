"""Data sets of the Hugging Face hub as corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.rows import Columns, Row, corpus_of_rows
from s2lct.builder.corpus.spec import SPEC_FORMS, CorpusSpec
from s2lct.errors import CorpusError
from s2lct.hub_calls import data_set, said_by
from s2lct.plain_text import plain


def read_hub(spec: CorpusSpec, columns: Columns) -> Corpus:
    """Read a split of a data set.

    Raises:
        CorpusError: it cannot be loaded, or its rows do not fit.
    """
    import datasets

    where = f"hf:{spec.location}" + (f", configuration {spec.config}" if spec.config else "")
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        dataset = data_set(spec.location, spec.config or None, split=spec.split)
    except Exception as error:
        raise CorpusError(
            f"{where}, split {spec.split} cannot be loaded: {said_by(error)}",
            mend="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network; " + SPEC_FORMS,
        ) from error
    class_names = {
        column: [str(name) for name in feature.names]
        for column, feature in dataset.features.items()
        if isinstance(feature, datasets.ClassLabel)
    }
    return corpus_of_rows(
        f"hf:{spec.location}",
        _dataset_rows(dataset, where),
        columns,
        where=where,
        description=" ".join((dataset.info.description or "").split())
        or f"dataset {spec.location} of the Hugging Face hub, split {spec.split}",
        licence=dataset.info.license or "not stated",
        class_names=class_names,
    )


def _dataset_rows(dataset: Iterable[Row], where: str) -> Iterator[tuple[Row, str]]:
    number = 0
    try:
        for row in dataset:
            number += 1
            yield row, f"{where}, row {number}"
    except Exception as error:  # decoding a column can fail in any class
        raise CorpusError(
            f"{where}, row {number + 1} cannot be read: "
            f"{type(error).__name__}: {plain(str(error), 300)}",
            mend="pass its text and labels as csv:PATH, jsonl:PATH or parquet:PATH",
        ) from error
