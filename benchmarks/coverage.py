"""What coverage costs, side by side in one run on the same texts and model.

    python benchmarks/coverage.py --corpus sst:PATH

The model is embedded-3class. Speed: BoundCov and COVER of 2,000 texts,
against the plain forward pass that gives the same hidden states and attention weights, in batches
of 32 texts of like lengths, padded. Memory: the process's peak after 1,000 and after 10,000 texts,
each in a process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence

import torch
from rich.console import Console
from rich.table import Table
from timing import in_rounds

from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.builder.corpus.read import read_corpus

MODEL = "embedded-3class"
BATCH = 32
METRICS = ("boundary", "cover")
REFERENCE, SPEED_TEXTS = 500, 2_000
MEMORY_TEXTS = (1_000, 10_000)


def texts_of(corpus: str, count: int) -> list[str]:
    """So many texts of a corpus, from the first on; again from the first where they run out."""
    sentences = [sentence.text for sentence in read_corpus(corpus).sentences]
    return list(itertools.islice(itertools.cycle(sentences), count))


def prepared(corpus: str) -> tuple[EncoderModel, dict[str, Coverage]]:
    """The model, and the metrics with bounds from a part of the corpus."""
    encoder = load_encoder(MODEL)
    reference = texts_of(corpus, REFERENCE)
    return encoder, build_metrics(METRICS, encoder, reference)


def cover(encoder: EncoderModel, metrics: Sequence[Coverage], texts: Sequence[str]) -> None:
    """All metrics, in one pass."""
    states = [metric.emptied() for metric in metrics]
    for one in encoder.activations(texts):
        for state in states:
            state.add(state.marks(one))


def plain(encoder: EncoderModel, texts: Sequence[str]) -> None:
    """The forward pass with hidden states and attention weights, as one would write it."""
    base = encoder.model
    order = sorted(texts, key=len)
    for start in range(0, len(order), BATCH):
        batch = encoder.tokenizer(
            order[start : start + BATCH],
            padding=True,
            truncation=True,
            max_length=encoder.most_tokens,
            return_tensors="pt",
        )
        with torch.inference_mode():
            base(**batch, output_hidden_states=True, output_attentions=True)


def peak_of(corpus: str, count: int) -> int:
    """Peak memory, in KiB, of a process that covers so many texts."""
    given = subprocess.run(
        [sys.executable, __file__, "--corpus", corpus, "--peak", str(count)],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(json.loads(given.stdout.splitlines()[-1]))


def main() -> None:
    """Measure and print, or, asked for a peak, print that alone."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpus", default="embedded", help="as for s2lct build")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--texts", type=int, default=SPEED_TEXTS)
    arguments.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.peak:
        encoder, metrics = prepared(options.corpus)
        cover(encoder, list(metrics.values()), texts_of(options.corpus, options.peak))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    encoder, metrics = prepared(options.corpus)
    texts = texts_of(options.corpus, options.texts)
    ways = {"plain forward pass": lambda: plain(encoder, texts)}
    ways |= {
        f"{metric.name} alone": lambda metric=metric: cover(encoder, [metric], texts)
        for metric in metrics.values()
    }
    ways["all in one pass (bar: at most 1.6)"] = lambda: cover(
        encoder, list(metrics.values()), texts
    )
    times = in_rounds(ways, options.rounds)
    table = Table(
        "",
        title=f"{len(texts):,} texts, {MODEL}, median of {options.rounds} rounds, "
        f"{torch.get_num_threads()} threads",
    )
    table.add_column("texts / s", justify="right")
    table.add_column("time over the plain pass", justify="right")
    bare = times["plain forward pass"]
    for name, taken in times.items():
        ratio = statistics.median(t / b for t, b in zip(taken, bare, strict=True))
        table.add_row(name, f"{len(texts) / statistics.median(taken):.0f}", f"{ratio:.2f}")
    console = Console()
    console.print(table)
    few, many = (peak_of(options.corpus, count) for count in MEMORY_TEXTS)
    console.print(
        f"Peak memory: {few / 1024:.0f} MiB for {MEMORY_TEXTS[0]:,} texts, {many / 1024:.0f} MiB "
        f"for {MEMORY_TEXTS[1]:,}: {many / few - 1:+.1%} (bar: flat)"
    )


if __name__ == "__main__":
    main()
