"""Compute the shipped word table from the original SentiWordNet file.

Usage::

    python scripts/compute_lexicon.py SentiWordNet_3.0.0.txt \
        --out builder/data/sentiwordnet.parquet
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
from provenance import write_computed_table

from s2lct.builder.language.lexicon import Entry, Pos
from s2lct.errors import CorpusError

POS_OF_LETTER: dict[str, Pos] = {
    "a": "adj", "s": "adj", "n": "noun", "v": "verb", "r": "adv",
}  # fmt: skip
MEND = "pass SentiWordNet_3.0.0.txt, a zip that holds it, or an NLTK data folder"

_SCHEMA = pa.schema(
    {
        "word": pa.string(),
        "pos": pa.string(),
        "score": pa.float32(),
        "pure_neutral": pa.bool_(),
        "senses": pa.uint8(),
    }
)
_SOURCE = (
    "SentiWordNet 3.0 (Baccianella, Esuli & Sebastiani 2010), single words, one entry per "
    "(word, part of speech) by the rules of Colhon et al. (2017)"
)
_LICENCE = (
    "CC BY-SA 3.0 (https://creativecommons.org/licenses/by-sa/3.0/). Adapted from SentiWordNet "
    "3.0, (c) its authors at ISTI-CNR; this table is under the same licence."
)


def entries_from_text(lines: Iterable[str], name: str) -> dict[tuple[str, Pos], Entry]:
    """Compute the entries from the lines of the original SentiWordNet file.

    Terms of several words (``a_cappella``) are left out.

    Args:
        lines: tab-separated POS, ID, PosScore, NegScore, SynsetTerms and Gloss.
        name: the file's name, for messages.

    Raises:
        CorpusError: if a line is not of this form, or no line is.
    """
    senses: defaultdict[tuple[str, Pos], list[tuple[int, Fraction, bool]]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not line.strip():
            continue
        try:
            letter, _, positive, negative, terms = line.rstrip("\r\n").split("\t")[:5]
            pos = POS_OF_LETTER[letter]
            difference = Fraction(positive) - Fraction(negative)
            pure = Fraction(positive) == 0 == Fraction(negative)
            for term in terms.split():
                word, rank = term.rsplit("#", 1)
                if "_" not in word:
                    weight = Fraction(1, int(rank))
                    senses[word.lower(), pos].append((int(rank), difference * weight, pure))
        except (ValueError, KeyError, ZeroDivisionError) as error:
            raise CorpusError(
                f"{name}, line {number}: not a SentiWordNet line: {line.strip()[:60]!r}",
                hint=MEND,
            ) from error
    if not senses:
        raise CorpusError(f"{name} has no SentiWordNet entries", hint=MEND)
    return {key: _entry(ranked) for key, ranked in senses.items()}


def read_original(path: Path) -> tuple[str, bytes]:
    """Find the original SentiWordNet file and return its name and bytes.

    Args:
        path: the text file, a zip that holds it, or an NLTK data folder.

    Raises:
        CorpusError: if there is none.
    """
    if path.is_dir():
        for folder in (
            path,
            path / "corpora",
            path / "sentiwordnet",
            path / "corpora/sentiwordnet",
        ):
            for found in sorted(folder.glob("[Ss]enti[Ww]ord[Nn]et*.txt")):
                return found.name, found.read_bytes()
            if (folder / "sentiwordnet.zip").is_file():
                return read_original(folder / "sentiwordnet.zip")
        raise CorpusError(f"no SentiWordNet in the folder {path}", hint=MEND)
    try:
        if not zipfile.is_zipfile(path):
            return path.name, path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.namelist()):
                if re.search(r"(^|/)sentiwordnet[^/]*\.txt$", member, re.IGNORECASE):
                    return member.rsplit("/", 1)[-1], archive.read(member)
    except FileNotFoundError as error:
        raise CorpusError(f"no SentiWordNet at {path}", hint=MEND) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise CorpusError(f"cannot read SentiWordNet {path}: {error}", hint=MEND) from error
    raise CorpusError(f"no SentiWordNet*.txt in the zip {path}", hint=MEND)


def _entry(ranked: list[tuple[int, Fraction, bool]]) -> Entry:
    total = sum((Fraction(1, rank) for rank, _, _ in ranked), Fraction())
    weighted = sum((difference for _, difference, _ in ranked), Fraction())
    return Entry(
        score=float(round(weighted / total, 4)),
        is_pure_neutral=all(pure for _, _, pure in ranked),
        sense_count=len(ranked),
    )


def compute(source: Path) -> pa.Table:
    """The word table, sorted by word and part of speech, from SentiWordNet."""
    name, content = read_original(source)
    text = io.StringIO(content.decode("utf-8", errors="replace"))
    rows = [
        (word, pos, entry.score, entry.is_pure_neutral, entry.sense_count)
        for (word, pos), entry in sorted(entries_from_text(text, name).items())
    ]
    metadata = {
        "source": _SOURCE,
        "licence": _LICENCE,
        "source_file": name,
        "source_sha256": hashlib.sha256(content).hexdigest(),
    }
    return pa.table(list(zip(*rows, strict=True)), schema=_SCHEMA.with_metadata(metadata))


def summarise(table: pa.Table) -> str:
    return f"{len(table)} entries, {sum(table['pure_neutral'].to_pylist())} pure neutral"


if __name__ == "__main__":
    write_computed_table(__doc__, "SentiWordNet: text, zip, folder", compute, summarise)
