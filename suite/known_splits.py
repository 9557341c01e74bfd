"""Which splits of well-known corpora a sentence is in, told by fingerprints of its letters.

The table beside this file holds fingerprints and no text. It is made by
``python scripts/compute_known_splits.py``, which says how each split is known.
A membership is written ``corpus:split``, as in ``sst:train``; the split is empty where only the
corpus is known.
"""

from __future__ import annotations

import functools
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from s2lct.natural_text import mend_c1, mend_mojibake, undo_escapes

TABLE = Path(__file__).with_suffix(".parquet")
UNKNOWN: Final = ""
"""Stands for a source sentence of which nothing is known."""
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def letters_of(text: str) -> str:
    """A text's letters and digits: what spacing, case, quotes and tokenisation leave alone.

    >>> letters_of("It is n't `` Amélie '' -LRB- yet -RRB- .")
    'itisntamelieyet'
    """
    text = undo_escapes(mend_mojibake(mend_c1(html.unescape(_LINE_BREAK.sub(" ", text)))))
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(letter for letter in folded if letter.isalnum())


def fingerprint_of_letters(letters: str) -> int:
    """The first 64 bits of the SHA-256 of what `letters_of` gives."""
    return int.from_bytes(hashlib.sha256(letters.encode()).digest()[:8], "big")


@functools.lru_cache(maxsize=1)
def _table() -> dict[int, frozenset[str]]:
    import pyarrow.parquet as pq

    fingerprints, splits = (column.to_pylist() for column in pq.read_table(TABLE).columns)
    return dict(zip(fingerprints, map(frozenset, splits), strict=True))


@functools.lru_cache(maxsize=100_000)
def known_in(text: str) -> frozenset[str]:
    """What a text is in, as far as the table knows: empty if it is in none of its corpora."""
    letters = letters_of(text)
    return _table().get(fingerprint_of_letters(letters), frozenset()) if letters else frozenset()


def memberships_of(sources: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What a case's source sentences, with ``corpus``, ``split`` and ``text``, are in.

    Of each it is the split that its corpus states and those that its fingerprint tells; `UNKNOWN`
    is among them if nothing is known of one.
    """
    found: set[str] = set()
    for source in sources:
        known = set(known_in(str(source.get("text") or "")))
        if split := str(source.get("split") or ""):
            known.add(f"{source.get('corpus') or ''}:{split}")
        found |= known or {UNKNOWN}
    return frozenset(found)


def is_train(membership: str) -> bool:
    """Whether a membership is that of a train split."""
    return membership.rpartition(":")[2].casefold().startswith("train")
