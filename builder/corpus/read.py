"""The corpus stage: labelled sentences of a corpus, read from where the user has them.

A corpus is named by a spec such as ``sst:PATH`` or ``csv:PATH`` (see `parse_spec`). Text that a
corpus stores tokenised in the Penn Treebank's manner is turned into natural text by `natural_text`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.embedded import read_embedded
from s2lct.builder.corpus.rows import Columns
from s2lct.builder.corpus.spec import parse_spec
from s2lct.builder.corpus.sst import read_sst
from s2lct.builder.corpus.tables import read_hub, read_table_file
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain

logger = logging.getLogger(__name__)


def read_corpus(
    spec: str,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_map: Mapping[str, Label] | None = None,
    labelled: bool = True,
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

    Raises:
        CorpusError: the spec is wrong, the corpus cannot be read, or it holds nothing usable.
    """
    parsed = parse_spec(spec)
    for label, meaning in (label_map or {}).items():
        if meaning not in LABELS:
            raise CorpusError(
                f"--label-map gives label {label!r} the meaning {meaning!r}",
                mend=f"map it to one of {', '.join(LABELS)}",
            )
    if parsed.kind in ("sst", "embedded") and (text_column or label_column or label_map):
        raise CorpusError(
            f"{spec!r} has columns and labels of its own",
            mend="leave out --text-column, --label-column and --label-map",
        )
    columns = Columns(text_column, label_column, dict(label_map or {}), labelled)
    if parsed.kind == "sst":
        corpus = read_sst(parsed)
    elif parsed.kind == "embedded":
        corpus = read_embedded()
    elif parsed.kind == "hf":
        corpus = read_hub(parsed, columns)
    else:
        corpus = read_table_file(parsed, columns)
    for note in corpus.notes:
        logger.warning("%s: %s", plain(corpus.name), note)
    return corpus
