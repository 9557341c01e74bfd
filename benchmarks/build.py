"""How fast the builder is, side by side in one run on the same sentences and models.

    python benchmarks/build.py                 # all three parts
    python benchmarks/build.py --part fill     # only one

fill   masked sentences a second of our fill stage, over the bare encoder in single precision on
       the same sentences, batches of a sensible size
build  our whole build over one whose models get a text at a time
scale  wall time and peak memory at 500, 1,000, 2,000 and 4,000 source sentences, and the time
       that the full SST suite is projected to take
"""

from __future__ import annotations

import argparse
import csv
import heapq
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import torch
from rich.console import Console
from rich.table import Table
from timing import in_rounds, seconds

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.models.masked_lm import SCORE_DIGITS, TransformersMaskedLM
from s2lct.builder.pipeline import build_suite, fluent_families
from s2lct.builder.records import MASK, MaskedSentence, Sentence, Token
from s2lct.builder.stages.mask import fill, mask
from s2lct.builder.write import rows as rows_of

CONSOLE = Console()
SST_SENTENCES = 11_855
BARE_BATCH = 32
LAST_DIGITS = 0.0005
"""Scores of a word in two batches are closer than this."""
SCALES = (500, 1_000, 2_000, 4_000)


def sample_sentences(count: int) -> list[Sentence]:
    """Every label's sentences of the embedded corpus, in equal spread."""
    sentences = read_corpus("embedded").sentences
    step = len(sentences) / count
    return [sentences[int(number * step)] for number in range(count)]


def write_corpus(path: Path, sentences: Sequence[Sentence]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((sentence.text, sentence.label) for sentence in sentences)


def drawn_masked_sentences(count: int) -> list[MaskedSentence]:
    from s2lct.builder.config import form_defaults

    texts = [sentence.text for sentence in sample_sentences(count)]
    return [
        one
        for parsed in parsed_sentences(texts, load_tagger(), load_parser())
        if parsed is not None
        for one in mask(
            parsed.text,
            parsed,
            ReferenceGrammar.load(),
            most=10,
            masks_per_sentence=1,
            tags=form_defaults("fluent")["mask_tags"],
            seed=0,
        )
    ]


def part_fill(rounds: int) -> None:
    """Our fill stage against the same encoder alone, in single precision, padded batches."""
    model = load_masked_language_model()
    assert isinstance(model, TransformersMaskedLM)
    masked = drawn_masked_sentences(200)
    texts = list({one.text for one in masked})
    assert next(model.model.parameters()).dtype == torch.float32
    tokenizer = model.tokenizer
    pieces = tokenizer([text.replace(MASK, tokenizer.mask_token) for text in texts])["input_ids"]
    pieces.sort(key=len)
    batches = [
        tokenizer.pad({"input_ids": pieces[start : start + BARE_BATCH]}, return_tensors="pt")
        for start in range(0, len(pieces), BARE_BATCH)
    ]

    def bare() -> None:
        with torch.inference_mode():
            for batch in batches:
                model.model.base_model(**batch)

    times = in_rounds({"ours": lambda: fill(masked, model, suggestions=30), "bare": bare}, rounds)
    ours, theirs = times["ours"], times["bare"]
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    table = Table(title=f"fill: {len(texts)} distinct masked sentences, {rounds} rounds")
    for column in ("", "masked sentences / s"):
        table.add_column(column, justify="right")
    table.add_row("our fill stage", f"{len(texts) / statistics.median(ours):.0f}")
    table.add_row(
        f"bare encoder, single precision, batches of {BARE_BATCH}",
        f"{len(texts) / statistics.median(theirs):.0f}",
    )
    table.add_row("ratio (bar: at least 0.8)", f"{ratio:.2f}", style="bold")
    CONSOLE.print(table)


class TextAtATime:
    """Tagger, parser and masked language model that are given one text at a time."""

    def __init__(self) -> None:
        self.tagger, self.parser, self.mlm = self, self, self
        self._tagger, self._parser = load_tagger(), load_parser()
        masked_lm = load_masked_language_model()
        assert isinstance(masked_lm, TransformersMaskedLM)
        self._masked_lm = masked_lm
        self.fingerprint = ""

    @property
    def words(self) -> Sequence[str]:
        return self._masked_lm.words

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        return [self._tagger.tag([text])[0] for text in texts]

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        return [self._parser.parse([tokens])[0] for tokens in sentences]

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        """One forward pass a text, with the scores of every word at every place."""
        chosen = among or [None] * len(texts)
        return [self._suggested(text, top, some) for text, some in zip(texts, chosen, strict=True)]

    def _suggested(
        self, text: str, top: int, among: frozenset[str] | None
    ) -> tuple[tuple[str, float], ...]:
        tokenizer, word_ids = self._masked_lm.tokenizer, self._masked_lm.word_ids
        encoded = tokenizer(text.replace(MASK, tokenizer.mask_token), return_tensors="pt")
        with torch.inference_mode():
            logits = self._masked_lm.model(**encoded).logits[0]
        place = (encoded["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0]
        scores = torch.log_softmax(logits[place], dim=-1).tolist()
        found = (
            (word, round(scores[word_ids[word]], SCORE_DIGITS))
            for word in (word_ids if among is None else among)
        )
        return tuple(heapq.nsmallest(top, found, key=lambda one: (-one[1], one[0])))


def part_build(count: int) -> None:
    """Our build against one with `TextAtATime`, which must end in the same rows."""
    names = ("LC2", "LC4")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.csv"
        write_corpus(corpus, sample_sentences(count))
        config = BuildConfig.checked(
            out=Path(folder) / "suite",
            corpus=f"csv:{corpus}",
            capabilities=names,
            seeds=10,
            unread=True,
        )
        models = cast(KeptModels, TextAtATime())
        naive = FluentForm(
            config, load_capabilities(names), Lexicon.load(), ReferenceGrammar.load(), models, None
        )
        rows: list[dict[str, Any]] = []

        def theirs() -> None:
            counted = {name: Counter[str]() for name in names}
            sentences = read_corpus(config.corpus).sentences
            families = fluent_families(naive, sentences, counted)
            rows.extend(row for some in families.values() for row in rows_of(some))

        os.environ["S2LCT_CACHE"] = str(Path(folder) / "cache")
        our_time, their_time = seconds(lambda: build_suite(config)), seconds(theirs)
        check_same(read_rows(config.out), rows)
    kinds = Counter(row["kind"] for row in rows)
    table = Table(title=f"build: {count} sentences, {', '.join(names)}, {config.seeds} seeds each")
    for column in ("", "seconds"):
        table.add_column(column, justify="right")
    table.add_row("ours, models loaded within", f"{our_time:.1f}")
    table.add_row("a text at a time, models loaded before", f"{their_time:.1f}")
    table.add_row("ratio", f"{their_time / our_time:.1f}", style="bold")
    CONSOLE.print(table)
    told = ", ".join(f"{number} {kind}s" for kind, number in sorted(kinds.items()))
    CONSOLE.print(f"the same {len(rows)} rows: {told}")


def read_rows(suite: Path) -> list[dict[str, Any]]:
    """The rows of a suite, capability by capability."""
    files = sorted(suite.glob("data/**/*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def check_same(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> None:
    """Refuse rows that differ in more than the last digit of a masked word's score."""
    of_id = {row["id"]: row for row in ours}
    assert of_id.keys() == {row["id"] for row in theirs}, "the builds end in different rows"
    for row in json.loads(json.dumps(theirs)):  # lists for tuples, as they are read
        own = of_id[row["id"]]
        for column in row.keys() & own.keys() - {"score"}:
            assert own[column] == row[column], f"{row['id']}: {column} differs"
        pair = own["score"], row["score"]
        assert pair == (None, None) or abs(pair[0] - pair[1]) < LAST_DIGITS, (
            f"{row['id']}: scores {pair} differ"
        )


def part_scale() -> None:
    """Whole builds in processes of their own, seeds in proportion to sentences."""
    rows: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in SCALES:
            corpus = Path(folder) / f"{count}.csv"
            write_corpus(corpus, sample_sentences(count))
            command = [sys.executable, "-m", "s2lct.cli.main", "build"]
            command += ["--corpus", f"csv:{corpus}", "--out", str(Path(folder) / str(count))]
            command += ["--seeds", str(count // 80)]
            os.environ["S2LCT_CACHE"] = str(Path(folder) / f"cache-{count}")
            started = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            elapsed = time.perf_counter() - started
            if status:
                raise SystemExit(f"the build of {count} sentences failed")
            rows.append((count, elapsed, usage.ru_maxrss / 1024))
    table = Table(title="scale: seeds in proportion to sentences")
    for column in ("sentences", "seconds", "seconds / sentence", "peak memory, MiB"):
        table.add_column(column, justify="right")
    for count, elapsed, memory in rows:
        table.add_row(f"{count:,}", f"{elapsed:.1f}", f"{elapsed / count:.3f}", f"{memory:.0f}")
    CONSOLE.print(table)
    (small, small_time, small_memory), (large, large_time, large_memory) = rows[0], rows[-1]
    slope = (large_time - small_time) / (large - small)
    CONSOLE.print(
        f"time grew {large_time / small_time:.1f}-fold for {large / small:.0f}-fold sentences "
        f"(bar: at most {large / small:.0f}), memory by {large_memory / small_memory - 1:+.0%} "
        f"(bar: within 20 %); SST's {SST_SENTENCES:,} sentences at the same seeds per sentence: "
        f"{(small_time + slope * (SST_SENTENCES - small)) / 60:.1f} min"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", choices=["fill", "build", "scale"], help="only this part")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the fill part")
    parser.add_argument("--sentences", type=int, default=400, help="sentences of the build part")
    arguments = parser.parse_args()
    if arguments.part in (None, "fill"):
        part_fill(arguments.rounds)
    if arguments.part in (None, "build"):
        part_build(arguments.sentences)
    if arguments.part in (None, "scale"):
        part_scale()


if __name__ == "__main__":
    main()
