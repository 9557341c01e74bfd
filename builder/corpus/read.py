"""Read a corpus, which is named by a spec such as ``sst:PATH`` or ``csv:PATH``.

Text that a corpus stores tokenised in the Penn Treebank's manner is turned into natural text by
`natural_text`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.embedded import read_embedded
from s2lct.builder.corpus.sst import read_sst
from s2lct.builder.corpus.tables import Columns, FileKind, read_files, read_hub
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain

SPEC_FORMS = (
    "write one of: embedded, sst:PATH or sst:URL, csv:PATH, jsonl:PATH, parquet:PATH, "
    "hf:NAME:SPLIT, hf:ORG/NAME:SPLIT, hf:ORG/NAME/CONFIG:SPLIT, or hf:NAME//CONFIG:SPLIT for a "
    "dataset that has a configuration but no organisation (such as hf:glue//sst2:train); a split "
    "may be sliced: train[:10000]"
)
_HUB_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_HUB_SPEC = re.compile(
    rf"""(?P<first>{_HUB_NAME})
    (?: //(?P<bare_config>[^/:\s]+)
      | /(?P<second>{_HUB_NAME}) (?: /(?P<config>[^/:\s]+) )? )?
    :(?P<split>[^\s:/\[\]]+ (?: \[[^\s\[\]]+\] )? )""",
    re.VERBOSE,
)
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
        spec: see `SPEC_FORMS`.
        text_column: column with the sentences; by default text, sentence, content or review.
        label_column: column with the labels; by default label, labels or sentiment.
        label_map: what the corpus's labels mean, such as ``{"0": "negative"}``.
        labelled: whether labels are asked for; if not, a table needs none, and where it has no
            label that is understood, the label is neutral.

    Raises:
        CorpusError: the spec is wrong, the corpus cannot be read, or it holds nothing usable.
    """
    for label, meaning in (label_map or {}).items():
        if meaning not in LABELS:
            raise CorpusError(
                f"--label-map gives label {label!r} the meaning {meaning!r}",
                hint=f"map it to one of {', '.join(LABELS)}",
            )
    kind, _, location = spec.partition(":")
    if kind in ("sst", "embedded") and (text_column or label_column or label_map):
        raise CorpusError(
            f"{spec!r} has columns and labels of its own",
            hint="leave out --text-column, --label-column and --label-map",
        )
    columns = Columns(text_column, label_column, label_map, labelled)
    if spec == "embedded":
        corpus = read_embedded()
    elif kind == "sst" and location.strip():
        corpus = read_sst(location)
    elif kind in ("csv", "jsonl", "parquet") and location.strip():
        corpus = read_files(cast(FileKind, kind), local_path(spec), columns)
    elif kind == "hf":
        corpus = read_hub(*hub_spec(spec), columns)
    else:
        raise CorpusError(f"corpus {spec!r} is of no known kind", hint=SPEC_FORMS)
    for note in corpus.notes:
        logger.warning("%s: %s", plain(corpus.name), note)
    return corpus


def read_again(options: Mapping[str, Any]) -> Corpus:
    """Read the corpus that a suite was built from, by the options that the suite names.

    Raises:
        CorpusError: it cannot be read any more.
    """
    names = ("text_column", "label_column", "label_map")
    return read_corpus(options["corpus"], **{name: options[name] for name in names})


def hub_spec(spec: str) -> tuple[str, str, str]:
    """Name, configuration (empty for the default) and split of a data set of the Hub.

    Two parts of a dataset's name are always organisation and name.

    Raises:
        CorpusError: the spec names none.
    """
    match = _HUB_SPEC.fullmatch(spec.removeprefix("hf:"))
    if match is None:
        raise CorpusError(
            f"corpus {spec!r} is not a dataset of the Hugging Face hub", hint=SPEC_FORMS
        )
    name = match["first"] + (f"/{match['second']}" if match["second"] else "")
    return name, match["bare_config"] or match["config"] or "", match["split"]


def local_path(spec: str) -> Path:
    """The path that a spec names; a `CorpusError` if nothing is there."""
    kind, _, location = spec.partition(":")
    try:
        path = Path(location).expanduser()
        if path.exists():
            return path
        problem = f"{path} does not exist"
    except (OSError, RuntimeError, ValueError) as error:
        problem = f"{location[:200]} cannot be read: {error}"
    raise CorpusError(problem, hint=f"write {kind}:PATH of something that exists")
