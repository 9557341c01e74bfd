"""The corpus stage: labelled sentences of a corpus, read from where the user has them.

A corpus is named by a spec such as ``sst:PATH`` or ``csv:PATH`` (see `parse_spec`). Text that a
corpus stores tokenised in the Penn Treebank's manner is turned into natural text by `natural_text`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.embedded import read_embedded
from s2lct.builder.corpus.part import Part
from s2lct.builder.corpus.rows import Columns
from s2lct.builder.corpus.sample import Draw
from s2lct.builder.corpus.spec import parse_spec
from s2lct.builder.corpus.sst import read_sst
from s2lct.builder.corpus.tables import read_hub, read_table_file
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain

_TABLES = ("hf", "csv", "jsonl", "parquet")
logger = logging.getLogger(__name__)


def read_corpus(
    spec: str,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_map: Mapping[str, Label] | None = None,
    labelled: bool = True,
    sample: int | None = None,
    seed: int = 0,
    rows: int | None = None,
    stream: bool = False,
    told: Callable[[int], None] | None = None,
) -> Corpus:
    """Read the corpus that ``spec`` names; what a user should know of it is logged as a warning.

    A text that is labelled in two ways is left out.

    Args:
        spec: such as ``sst:PATH``; see `parse_spec`.
        text_column: column with the sentences; by default text, sentence, content or review.
        label_column: column with the labels; by default label, labels or sentiment.
        label_map: what the corpus's labels mean, such as ``{"0": "negative"}``.
        labelled: whether labels are asked for; if not, a table needs none, and where it has no
            label that is understood, the label is neutral.
        sample: draw so many texts evenly, whatever their order; None for all.
        seed: of that draw.
        rows: read no more than the first so many rows of a table; None for all.
        stream: fetch the rows of a data set of the Hub as they are read; a sample does it anyway.
        told: told now and then how many rows were read.

    Raises:
        CorpusError: the spec is wrong, the corpus cannot be read, or it holds nothing usable.
    """
    parsed = parse_spec(spec)
    for label, meaning in (label_map or {}).items():
        if meaning not in LABELS:
            raise CorpusError(
                f"--label-map gives label {label!r} the meaning {meaning!r}",
                hint=f"map it to one of {', '.join(LABELS)}",
            )
    if parsed.kind in ("sst", "embedded") and (text_column or label_column or label_map):
        raise CorpusError(
            f"{spec!r} has columns and labels of its own",
            hint="leave out --text-column, --label-column and --label-map",
        )
    for option, given, kinds in (
        ("--rows", rows is not None, _TABLES),
        ("--stream", stream, ("hf",)),
    ):
        if given and parsed.kind not in kinds:
            raise CorpusError(
                f"{option} is for {', '.join(f'{kind}:' for kind in kinds)}, not for {spec!r}",
                hint=f"leave out {option}",
            )
    draw = None if sample is None else Draw(sample, seed)
    part = Part(rows, draw, stream, *([told] if told else []))
    columns = Columns(text_column, label_column, dict(label_map or {}), labelled)
    if parsed.kind == "sst":
        corpus = read_sst(parsed, draw)
    elif parsed.kind == "embedded":
        corpus = read_embedded(draw)
    elif parsed.kind == "hf":
        corpus = read_hub(parsed, columns, part)
    else:
        corpus = read_table_file(parsed, columns, part)
    for note in corpus.notes:
        logger.warning("%s: %s", plain(corpus.name), note)
    return corpus


def read_again(options: Mapping[str, Any]) -> Corpus:
    """Read the corpus that a suite was built from, by the options that the suite names.

    Raises:
        CorpusError: it cannot be read any more.
    """
    names = ("text_column", "label_column", "label_map")
    given = {name: options[name] for name in names}
    given |= {name: options.get(name) for name in ("sample", "rows")}
    return read_corpus(options["corpus"], **given, seed=options.get("seed", 0))
