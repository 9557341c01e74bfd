"""How fast scoring is, side by side in one run on the same texts and model.

    python benchmarks/score.py --suite dist/s2lct

The model is the embedded encoder with a fresh 3-class head: its speed is that of a trained one.
Against our scoring stand `transformers.pipeline("text-classification", batch_size=32)`,
CheckList's way of predicting (batches of 32 in the given order, all padded to the longest), and
the bare forward pass on our batches.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

import torch
from rich.console import Console
from rich.table import Table
from timing import in_rounds
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from s2lct.builder.models.encoder import encoder_path
from s2lct.hub_calls import pretrained
from s2lct.leaderboard.models.network import SequenceClassifier
from s2lct.suite.cases import load_cases

BATCH = 32


def main() -> None:
    """Measure in rounds, each way once a round, and print medians and ratios."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--suite", required=True, help="folder of a built suite")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    texts = list(dict.fromkeys(case.text for case in load_cases(options.suite).cases))
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        tokenizer = pretrained(AutoTokenizer, encoder_path())
        pretrained(
            AutoModelForSequenceClassification, encoder_path(), num_labels=3
        ).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        model = SequenceClassifier(folder)
    network = model._model
    batches = list(model.batches(texts))
    piped = pipeline(
        "text-classification",
        model=network,
        tokenizer=tokenizer,
        top_k=None,
        trust_remote_code=False,
    )

    def ours() -> None:
        for _ in model.probabilities(texts):
            pass

    def through_pipeline() -> None:
        piped(texts, batch_size=BATCH)

    def as_checklist() -> None:
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(texts[start : start + BATCH], padding=True, return_tensors="pt")
            with torch.inference_mode():
                torch.softmax(network(**batch).logits, dim=-1).numpy()

    def bare() -> None:
        with torch.inference_mode():
            for _, batch in batches:
                network(**batch)

    ways = {
        "our scoring": ours,
        "pipeline, batch_size=32 (bar: ours at least 1.5 times as fast)": through_pipeline,
        "CheckList's way": as_checklist,
        "bare forward pass on our batches (bar: ours at least 0.85)": bare,
    }
    times = in_rounds(ways, options.rounds)
    table = Table(title=f"score: {len(texts):,} texts, median of {options.rounds} rounds")
    for column in ("", "texts / s", "our speed over it"):
        table.add_column(column, justify="left" if not column else "right")
    own = times["our scoring"]
    for name, taken in times.items():
        ratio = statistics.median(t / o for t, o in zip(taken, own, strict=True))
        table.add_row(name, f"{len(texts) / statistics.median(taken):.0f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
