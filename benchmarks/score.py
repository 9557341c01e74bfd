"""How fast scoring is, side by side in one run on the same texts and model.

    python benchmarks/score.py --suite dist/s2lct

The model is the embedded encoder with a fresh 3-class head: its speed is that of a trained one.
Against our scoring stand `transformers.pipeline("text-classification", batch_size=32)`,
CheckList's way of predicting (batches of 32 in the given order, all padded to the longest), and
the bare forward pass on our batches, on a part of the suite's texts a round.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rounds import Figure, faster, in_rounds, print_figures, quiet_machine
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from s2lct.builder.models.shipped import encoder_path
from s2lct.hub_calls import from_pretrained
from s2lct.leaderboard.models.network import SequenceClassifier
from s2lct.suite.cases import load_suite

BATCH, ROUNDS, TEXTS_A_ROUND = 32, 9, 400


def save_model(folder: Path) -> None:
    """The embedded encoder with a fresh head, and its tokenizer."""
    torch.manual_seed(0)
    from_pretrained(
        AutoModelForSequenceClassification, encoder_path(), num_labels=3
    ).save_pretrained(folder)
    from_pretrained(AutoTokenizer, encoder_path()).save_pretrained(folder)


def measured(suite: Path, *, rounds: int, texts: int = TEXTS_A_ROUND) -> list[Figure]:
    """How many times as fast our scoring of so many texts a round is as each other way."""
    every = list(dict.fromkeys(case.text for case in load_suite(str(suite)).cases))
    parts = [every[turn::rounds][:texts] for turn in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        model = SequenceClassifier(folder, device="cpu", dtype="float32")
        halved = SequenceClassifier(folder, device="cpu", dtype="bfloat16")
    network, tokenizer = model.model, model.tokenizer
    batches = [list(model.batches(part)) for part in parts]
    piped = pipeline(
        "text-classification",
        model=network,
        tokenizer=tokenizer,
        top_k=None,
        trust_remote_code=False,
    )
    labels: dict[tuple[str, int], NDArray[np.int64]] = {}

    def scored_by(way: str, classifier: SequenceClassifier) -> Callable[[int], None]:
        def work(turn: int) -> None:
            found = np.full(len(parts[turn]), -1)
            for numbers, probabilities in classifier.probabilities(parts[turn]):
                found[numbers] = probabilities.argmax(axis=1)
            labels[way, turn] = found

        return work

    def as_checklist(turn: int) -> None:
        for start in range(0, len(parts[turn]), BATCH):
            batch = tokenizer(parts[turn][start : start + BATCH], padding=True, return_tensors="pt")
            with torch.inference_mode():
                torch.softmax(network(**batch).logits, dim=-1).argmax(dim=1).tolist()

    def bare(turn: int) -> None:
        with torch.inference_mode():
            for _, batch in batches[turn]:
                network(**batch)

    ways: dict[str, Callable[[int], object]] = {
        "ours": scored_by("ours", model),
        "bfloat16": scored_by("bfloat16", halved),
        "pipeline": lambda turn: list(piped(parts[turn], batch_size=BATCH)),
        "CheckList's way": as_checklist,
        "bare": bare,
    }
    times = in_rounds(ways, rounds)
    ours, piping = times["ours"], times["pipeline"]
    same = tuple(
        float(np.mean(labels["bfloat16", turn] == labels["ours", turn])) for turn in range(rounds)
    )
    return [
        faster("scoring over transformers' pipeline, batch_size=32", ours, piping, 1.5),
        faster("the same in bfloat16", times["bfloat16"], piping, 2.0),
        faster("scoring over CheckList's way", ours, times["CheckList's way"]),
        faster("scoring over the bare forward pass on our batches", ours, times["bare"], 0.85),
        Figure("share of labels that bfloat16 leaves as they are", same),
    ]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--suite", type=Path, required=True, help="folder of a built suite")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--texts", type=int, default=TEXTS_A_ROUND, help="of a round")
    options = arguments.parse_args()
    with quiet_machine():
        figures = measured(options.suite, rounds=options.rounds, texts=options.texts)
    print_figures(f"scoring, {torch.get_num_threads()} threads", figures)


if __name__ == "__main__":
    main()
