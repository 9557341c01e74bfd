"""The entries of SentiWordNet 3.0, from the original file or a table computed from it."""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast, get_args

from s2lct.builder.language.tables import read_columns
from s2lct.errors import LexiconError

Pos = Literal["adj", "adv", "noun", "verb"]
Sentiment = Literal["positive", "negative", "neutral"]
POSES: Final[tuple[Pos, ...]] = get_args(Pos)
COLUMNS: Final = ("word", "pos", "score", "pure_neutral", "senses")
POS_OF_LETTER: Final[dict[str, Pos]] = {
    "a": "adj", "s": "adj", "n": "noun", "v": "verb", "r": "adv",
}  # fmt: skip
MEND: Final = (
    "pass SentiWordNet_3.0.0.txt, a zip that holds it, an NLTK data folder with "
    "corpora/sentiwordnet, or a table written by "
    "`python scripts/compute_lexicon.py`"
)


class Entry(NamedTuple):
    """What the lexicon knows of one (word, part of speech).

    Attributes:
        score: rank-weighted mean of positive minus negative, in [-1, 1], to four decimals.
        pure_neutral: whether every sense is neither positive nor negative at all.
        senses: how many senses the word has.
    """

    score: float
    pure_neutral: bool
    senses: int


def entries_from_text(lines: Iterable[str], name: str) -> dict[tuple[str, Pos], Entry]:
    """Compute the entries from the lines of the original SentiWordNet file.

    Terms of several words (``a_cappella``) are left out.

    Args:
        lines: tab-separated POS, ID, PosScore, NegScore, SynsetTerms and Gloss.
        name: the file's name, for messages.

    Raises:
        LexiconError: if a line is not of this form, or no line is.
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
            raise LexiconError(
                f"{name}, line {number}: not a SentiWordNet line: {line.strip()[:60]!r}",
                hint=MEND,
            ) from error
    if not senses:
        raise LexiconError(f"{name} has no SentiWordNet entries", hint=MEND)
    return {key: _entry(ranked) for key, ranked in senses.items()}


def read_original(path: Path) -> tuple[str, bytes]:
    """Find the original SentiWordNet file and return its name and bytes.

    Args:
        path: the text file, a zip that holds it, or an NLTK data folder.

    Raises:
        LexiconError: if there is none.
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
        raise LexiconError(f"no SentiWordNet in the folder {path}", hint=MEND)
    try:
        if not zipfile.is_zipfile(path):
            return path.name, path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.namelist()):
                if re.search(r"(^|/)sentiwordnet[^/]*\.txt$", member, re.IGNORECASE):
                    return member.rsplit("/", 1)[-1], archive.read(member)
    except FileNotFoundError as error:
        raise LexiconError(f"no SentiWordNet at {path}", hint=MEND) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise LexiconError(f"cannot read SentiWordNet {path}: {error}", hint=MEND) from error
    raise LexiconError(f"no SentiWordNet*.txt in the zip {path}", hint=MEND)


def _entry(ranked: list[tuple[int, Fraction, bool]]) -> Entry:
    total = sum((Fraction(1, rank) for rank, _, _ in ranked), Fraction())
    weighted = sum((difference for _, difference, _ in ranked), Fraction())
    return Entry(
        score=float(round(weighted / total, 4)),
        pure_neutral=all(pure for _, _, pure in ranked),
        senses=len(ranked),
    )


def read_entries(path: Path) -> dict[tuple[str, Pos], Entry]:
    """The entries of a table that ``compute_lexicon`` wrote, or of what `read_original` takes.

    Raises:
        LexiconError: there are none, or they cannot be read.
    """
    if path.suffix == ".parquet":
        return _entries_from_parquet(path)
    name, content = read_original(path)
    text = io.StringIO(content.decode("utf-8", errors="replace"))
    return entries_from_text(text, name)


def _entries_from_parquet(path: Path) -> dict[tuple[str, Pos], Entry]:
    words, poses, scores, pure, senses = read_columns(
        path, COLUMNS, what="word table", refused=LexiconError, hint=MEND
    )
    if unknown := set(poses) - set(POSES):
        raise LexiconError(f"{path} has unknown parts of speech: {unknown}", hint=MEND)
    return {
        (word, cast(Pos, pos)): Entry(round(score, 4), neutral, count)
        for word, pos, score, neutral, count in zip(words, poses, scores, pure, senses, strict=True)
    }
