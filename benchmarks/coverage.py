"""What coverage costs, side by side in one run on the same texts and model.

    python benchmarks/coverage.py --corpus sst:PATH

The model is embedded-3class. Speed: BoundCov and COVER of 200 texts a round, against the plain
forward pass that gives the same hidden states and attention weights, in batches of 32 texts of
like lengths, padded. Memory: the process's peak after 1,000 and after 10,000 texts, each in a
process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence

import torch
from rounds import Figure, faster, in_rounds, print_figures, quiet_machine

from s2lct.analysis.coverage.criteria import Criterion, build_criteria
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.measure import cover_texts
from s2lct.builder.corpus.read import read_corpus

MODEL = "embedded-3class"
BATCH = 32
METRICS = ("boundary", "cover")
REFERENCE, ROUNDS, TEXTS_A_ROUND = 500, 9, 200
MEMORY_TEXTS = (1_000, 10_000)


def texts_of(corpus: str, count: int) -> list[str]:
    """So many texts of a corpus, from the first on; again from the first where they run out."""
    sentences = [sentence.text for sentence in read_corpus(corpus).sentences]
    return list(itertools.islice(itertools.cycle(sentences), count))


def prepared(corpus: str) -> tuple[EncoderModel, dict[str, Criterion]]:
    """The model, and the metrics with bounds from a part of the corpus."""
    encoder = load_encoder(MODEL)
    reference = texts_of(corpus, REFERENCE)
    return encoder, build_criteria(METRICS, encoder, reference)


def cover(encoder: EncoderModel, metrics: Sequence[Criterion], texts: Sequence[str]) -> None:
    """All metrics, in one pass."""
    cover_texts({metric.name: metric for metric in metrics}, encoder, texts)


def plain(encoder: EncoderModel, texts: Sequence[str]) -> None:
    """The forward pass with hidden states and attention weights, as one would write it."""
    base = encoder.model
    order = sorted(texts, key=len)
    for start in range(0, len(order), BATCH):
        batch = encoder.tokenizer(
            order[start : start + BATCH],
            padding=True,
            truncation=True,
            max_length=encoder.max_tokens,
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


def measured(corpus: str, rounds: int) -> list[Figure]:
    """Speed over the plain pass, and the growth of memory."""
    encoder, metrics = prepared(corpus)
    texts = texts_of(corpus, TEXTS_A_ROUND * rounds)
    parts = [texts[turn::rounds] for turn in range(rounds)]
    ways: dict[str, Callable[[int], object]] = {
        "plain": lambda turn: plain(encoder, parts[turn]),
        "all": lambda turn: cover(encoder, list(metrics.values()), parts[turn]),
    }
    ways |= {
        name: lambda turn, metric=metric: cover(encoder, [metric], parts[turn])
        for name, metric in metrics.items()
    }
    times = in_rounds(ways, rounds)
    few, many = (peak_of(corpus, count) for count in MEMORY_TEXTS)
    names = {"all": ("all criteria in one pass", 1 / 1.6)}
    names |= {name: (f"{metric.name} alone", None) for name, metric in metrics.items()}
    return [
        *(
            faster(f"{shown} over the plain forward pass", times[name], times["plain"], bar)
            for name, (shown, bar) in names.items()
        ),
        Figure(
            f"peak memory for {MEMORY_TEXTS[0]:,} texts over that for {MEMORY_TEXTS[1]:,}",
            (few / many,),
            bar=0.95,
        ),
    ]


def main() -> None:
    """Measure and print, or, asked for a peak, print that alone."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpus", default="embedded", help="as for s2lct build")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.peak:
        encoder, metrics = prepared(options.corpus)
        cover(encoder, list(metrics.values()), texts_of(options.corpus, options.peak))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    with quiet_machine():
        figures = measured(options.corpus, options.rounds)
    print_figures(f"coverage, {MODEL}, {torch.get_num_threads()} threads", figures)


if __name__ == "__main__":
    main()
