"""How fast scoring is, side by side in one run on the same texts and model.

    python benchmarks/score.py --suite dist/s2lct

The model is the embedded encoder with a fresh 3-class head: its speed is that of a trained one.
Against our scoring stand `transformers.pipeline("text-classification", batch_size=32)`,
CheckList's way of predicting (batches of 32 in the given order, all padded to the longest), and
the bare forward pass on our batches. A ratio is the median over rounds of the ratio within a
round, in which the ways run one after the other, in every other round backwards. How many labels
are those of the pipeline is counted in the round that warms up.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import in_rounds
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from s2lct.builder.models.shipped import encoder_path
from s2lct.hub_calls import pretrained
from s2lct.leaderboard.models.network import SequenceClassifier
from s2lct.suite.cases import load_cases

BATCH = 32
BAR, BAR_BFLOAT16, BAR_BARE = 1.5, 2.0, 0.85


def save_model(folder: Path) -> None:
    """The embedded encoder with a fresh head, and its tokenizer."""
    torch.manual_seed(0)
    pretrained(AutoModelForSequenceClassification, encoder_path(), num_labels=3).save_pretrained(
        folder
    )
    pretrained(AutoTokenizer, encoder_path()).save_pretrained(folder)


def main() -> None:
    """Measure in rounds, each way once a round, and print medians and ratios."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--suite", required=True, help="folder of a built suite")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument(
        "--texts", type=int, help="every n-th text, so many of them; all if left out"
    )
    options = arguments.parse_args()
    texts = list(dict.fromkeys(case.text for case in load_cases(options.suite).cases))
    if options.texts:
        texts = texts[:: max(1, len(texts) // options.texts)][: options.texts]
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        model = SequenceClassifier(folder, device="cpu", dtype="float32")
        halved = SequenceClassifier(folder, device="cpu", dtype="bfloat16")
    network, tokenizer = model.model, model.tokenizer
    batches = list(model.batches(texts))
    piped = pipeline(
        "text-classification",
        model=network,
        tokenizer=tokenizer,
        top_k=None,
        trust_remote_code=False,
    )
    said: dict[str, list[int]] = {}

    def scored_by(way: str, classifier: SequenceClassifier) -> Callable[[], None]:
        def work() -> None:
            found = np.full(len(texts), -1)
            for numbers, probabilities in classifier.probabilities(texts):
                found[numbers] = probabilities.argmax(axis=1)
            said[way] = found.tolist()

        return work

    def through_pipeline() -> None:
        number_of = network.config.label2id
        said[PIPELINE] = [number_of[of[0]["label"]] for of in piped(texts, batch_size=BATCH)]

    def as_checklist() -> None:
        found: list[int] = []
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(texts[start : start + BATCH], padding=True, return_tensors="pt")
            with torch.inference_mode():
                found += torch.softmax(network(**batch).logits, dim=-1).argmax(dim=1).tolist()
        said[CHECKLIST] = found

    def bare() -> None:
        with torch.inference_mode():
            for _, batch in batches:
                network(**batch)

    ways = {
        OURS: scored_by(OURS, model),
        BFLOAT16: scored_by(BFLOAT16, halved),
        PIPELINE: through_pipeline,
        CHECKLIST: as_checklist,
        BARE: bare,
    }
    times = in_rounds(ways, options.rounds)
    table = Table(title=f"score: {len(texts):,} texts, median of {options.rounds} paired rounds")
    for column in ("", "texts / s", "ours over it", "same labels as ours"):
        table.add_column(column, justify="left" if not column else "right")
    for name, taken in times.items():
        speed = f"{len(texts) / statistics.median(taken):.0f}"
        same = ""
        if name in said:
            same = f"{np.mean(np.array(said[name]) == np.array(said[OURS])):.2%}"
        table.add_row(name, speed, f"{ratio(taken, times[OURS]):.2f}", same)
    console = Console(width=100)
    console.print(table)
    told = (
        ("our scoring over the pipeline", ratio(times[PIPELINE], times[OURS]), BAR),
        ("the same in bfloat16", ratio(times[PIPELINE], times[BFLOAT16]), BAR_BFLOAT16),
        ("our scoring over the bare pass", ratio(times[BARE], times[OURS]), BAR_BARE),
    )
    for what, found, bar in told:
        console.print(
            f"{what}: {found:.2f} times (bar: {bar}), {'met' if found >= bar else 'missed'}"
        )


def ratio(of: list[float], over: list[float]) -> float:
    """Median over rounds of how many times as fast as ``of`` is ``over``."""
    return statistics.median(one / other for one, other in zip(of, over, strict=True))


OURS = "our scoring"
BFLOAT16 = "our scoring, --dtype bfloat16"
PIPELINE = "pipeline, batch_size=32"
CHECKLIST = "CheckList's way"
BARE = "bare forward pass on our batches"

if __name__ == "__main__":
    main()
