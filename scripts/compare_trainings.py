"""Show how consistency and failure rates rise with what a model was taught.

Usage::

    python scripts/compare_trainings.py --suite dist/suite --sst PATH --out docs

Five classifiers on a frozen encoder or on words, and the encoder fine-tuned whole, are trained on
1 %, 10 % and 100 % of SST's train split and on 100 % with shuffled labels. Each is scored on the
suite and on SST's test split. Writes the table consistency.md and the picture consistency.png.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn.functional import cross_entropy
from train_sentiment_heads import encode
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from s2lct import load_suite, score
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.models.shipped import encoder_path
from s2lct.files import atomic_file, write_text
from s2lct.hub_calls import from_pretrained
from s2lct.labels import LABELS
from s2lct.suite.read import read_suite

Labels = npt.NDArray[np.int64]
Predict = Callable[[Sequence[str]], Labels]
Train = Callable[[Sequence[str], Labels], Predict]
WIDTH, LAYERS = 384, 7
PARTS = {"1 %": 0.01, "10 %": 0.1, "100 %": 1.0, "100 %, labels shuffled": 1.0}
STEPS, BATCH, LEARNING_RATE, LONGEST = 200, 32, 5e-5, 64
"""Of fine-tuning: at least so many steps, and at least once over the texts."""


class Encoded:
    """Features of texts, each computed once."""

    def __init__(self, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        self._rows = {text: row for row, text in enumerate(distinct)}
        self._features = encode(distinct).numpy()

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (texts, `FEATURE_COUNT`)."""
        return self._features[[self._rows[text] for text in texts]]


def on_layer(encoded: Encoded, layer: int | None) -> Train:
    """A logistic regression on the mean over word pieces in a layer; None takes all features."""
    columns = slice(None) if layer is None else slice(2 * layer * WIDTH, (2 * layer + 1) * WIDTH)

    def train(texts: Sequence[str], labels: Labels) -> Predict:
        strength = 0.01 if layer is None else 0.1
        model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=200))
        model.fit(encoded(texts)[:, columns], labels)
        return lambda texts: np.asarray(model.predict(encoded(texts)[:, columns]))

    return train


def on_words(texts: Sequence[str], labels: Labels) -> Predict:
    """A logistic regression on words and pairs of neighbours."""
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
    model.fit(texts, labels)
    return lambda texts: np.asarray(model.predict(texts))


def fine_tuned(texts: Sequence[str], labels: Labels) -> Predict:
    """The encoder with all its weights trained."""
    torch.manual_seed(0)
    tokenizer = from_pretrained(AutoTokenizer, encoder_path())
    model: Any = from_pretrained(
        AutoModelForSequenceClassification, encoder_path(), num_labels=len(LABELS)
    )

    def encoded(part: Sequence[str]) -> Mapping[str, torch.Tensor]:
        found: Mapping[str, torch.Tensor] = tokenizer(
            list(part), padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        return found

    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    model.train()
    # Texts of like length together: less is padded.
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    for _ in range(math.ceil(STEPS / len(batches))):
        for number in torch.randperm(len(batches)).tolist():
            rows = batches[number]
            logits = model(**encoded([texts[row] for row in rows])).logits
            cross_entropy(logits, torch.tensor(labels[rows])).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    model.eval()

    @torch.inference_mode()
    def predict(given: Sequence[str]) -> Labels:
        found = [
            model(**encoded(given[start : start + BATCH])).logits.argmax(dim=1).numpy()
            for start in range(0, len(given), BATCH)
        ]
        return np.concatenate(found)

    return predict


@dataclass(frozen=True)
class Row:
    """What one training came to, in percent."""

    model: str
    part: str
    accuracy: float
    consistency: float
    failure_rate: float
    by_capability: Mapping[str, float]


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| trained | on | test accuracy | consistency | failure rate |",
        "|---|---|--:|--:|--:|",
        *(
            f"| {r.model} | {r.part} | {r.accuracy:.1f} | {r.consistency:.1f} "
            f"| {r.failure_rate:.1f} |"
            for r in rows
        ),
    ]
    return "\n".join(lines)


def by_capability(rows: Sequence[Row]) -> str:
    """How far each capability's consistency goes with test accuracy, in Markdown."""
    accuracies = [row.accuracy for row in rows]
    lines = ["| capability | rank correlation with test accuracy | highest |", "|---|--:|--:|"]
    for name in rows[0].by_capability:
        found = [row.by_capability[name] for row in rows]
        rho = spearmanr(accuracies, found).statistic if max(found) > min(found) else 0.0
        lines.append(f"| {name} | {rho:.2f} | {max(found):.1f} |")
    return "\n".join(lines)


def picture(rows: Sequence[Row], path: Path) -> None:
    """Consistency and failure rate against test accuracy, a dot a training."""
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.size": 11, "axes.grid": True, "grid.alpha": 0.2}):
        drawing = Figure(figsize=(9, 4.2), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for axes, name in ((left, "consistency"), (right, "failure_rate")):
            for model in dict.fromkeys(row.model for row in rows):
                of = [row for row in rows if row.model == model and "shuffled" not in row.part]
                line = axes.plot([r.accuracy for r in of], [getattr(r, name) for r in of], "o-")
                line[0].set_label(model)
                for row in rows:
                    if row.model == model and row not in of:
                        colour = line[0].get_color()
                        axes.plot(row.accuracy, getattr(row, name), "x", color=colour)
            axes.set_xlabel("accuracy on SST's test split, %")
            axes.set_ylabel(f"{name.replace('_', ' ')}, %")
            axes.set_ylim(bottom=0)
        left.legend(frameon=False, fontsize=9)
        with atomic_file(path) as file:
            drawing.savefig(file, format="png", dpi=110, metadata={"Software": None})


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def main() -> None:
    """Train, score and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--sst", required=True, help="folder or zip of the original treebank")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    corpus = read_corpus(f"sst:{args.sst}", text_column=None, label_column=None, label_map=None)
    split = {
        name: [sentence for sentence in corpus.sentences if sentence.split == name]
        for name in ("train", "test")
    }
    suite = load_suite(args.suite)
    # What the suite is made of is not trained on.
    known = {
        _letters(source["text"])
        for rows in read_suite(args.suite).rows.values()
        for row in rows
        for source in row["sources"]
    }
    split["train"] = [each for each in split["train"] if _letters(each.text) not in known]
    print(f"{len(split['train']):,} sentences to train on", flush=True)
    asked = [case.text for case in (*suite.cases, *suite.contrasts)]
    encoded = Encoded([sentence.text for part in split.values() for sentence in part] + asked)
    trained: dict[str, Train] = {
        "words": on_words,
        "embeddings": on_layer(encoded, 0),
        "layer 3": on_layer(encoded, 3),
        "layer 6": on_layer(encoded, LAYERS - 1),
        "all layers": on_layer(encoded, None),
        "fine-tuned": fine_tuned,
    }
    rng = np.random.default_rng(0)
    order = rng.permutation(len(split["train"]))
    truth = np.array([LABELS.index(sentence.label) for sentence in split["test"]])
    rows: list[Row] = []
    for name, train in trained.items():
        for part, share in PARTS.items():
            chosen = [split["train"][row] for row in order[: round(share * len(order))]]
            labels = np.array([LABELS.index(sentence.label) for sentence in chosen])
            if "shuffled" in part:
                labels = np.random.default_rng(1).permutation(labels)
            predict = train([sentence.text for sentence in chosen], labels)
            right = predict([sentence.text for sentence in split["test"]]) == truth
            outcomes = score(
                lambda texts, predict=predict: [LABELS[n] for n in predict(texts)],
                suite,
                name=f"{name} {part}",
            )
            rows.append(
                Row(
                    name,
                    part,
                    100 * float(right.mean()),
                    100 * outcomes.overall.consistency.macro,
                    100 * outcomes.failure_rate,
                    {
                        capability: 100 * of.consistency.share
                        for capability, of in outcomes.capabilities.items()
                        if of.consistency
                    },
                )
            )
            print(rows[-1], flush=True)
    picture(rows, args.out / "consistency.png")
    write_text(args.out / "consistency.md", f"{table(rows)}\n\n{by_capability(rows)}\n")


if __name__ == "__main__":
    main()
