"""Table 5 of MNCOVER: the fidelity of WIMASK's masks.

Fidelity is the share of texts for which the model with masks predicts the same class as without. It
is no merit by itself: a layer that lets every word through has a fidelity of 1. So the table also
has the fidelity of the untrained layer, and the probabilities of words after training.
"""

from __future__ import annotations

from typing import Any

import common

from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.coverage.measure import read_reference
from s2lct.analysis.coverage.wimask import learn_masks

COLUMNS = (
    *("model", "held out", "fidelity", "untrained layer"),
    *("p(word) least", "p(word) mean", "p(word) greatest"),
    *("words kept", "words seen", "pairs kept", "pairs seen"),
)
PRINTED = "BERT: SST-2 99.31, QQP 99.77; RoBERTa: SST-2 97.36, QQP 99.66 (%)"


def main(
    model: common.Models,
    reference: common.ReferenceCorpus,
    reference_cases: common.ReferenceCases = None,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Print the fidelity of masks learned from, and tested on, at most --limit texts."""
    corpus = read_reference(reference, reference_cases, seed)
    texts = common.shuffled_texts(corpus.texts, seed)
    held_out_texts = [text for held_out in corpus.held_out.values() for text in held_out]
    if not held_out_texts:  # nothing is held out of a corpus of pairs
        n_held_out = -(-len(texts) // common.HELD_OUT_SHARE)
        held_out_texts, texts = texts[:n_held_out], texts[n_held_out:]
    texts = texts[:limit]
    held_out_texts = common.shuffled_texts(held_out_texts, seed)[:limit]
    rows: list[list[common.Cell]] = []
    for name in model:
        encoder = load_encoder(name, device=device)
        about = common.cached(
            encoder.fingerprint,
            __file__,
            ["fidelity", str(encoder.device), texts, held_out_texts, seed],
            dict[str, Any],
            lambda: dict(
                learn_masks(encoder, texts, held_out_texts, epochs=1, random_seed=seed).about  # noqa: B023
            ),
        )
        figures = ("held_out", "fidelity", "fidelity_untrained")
        counts = ("words_kept", "words_seen", "pairs_kept", "pairs_seen")
        spread = about["word_probabilities"]
        rows.append(
            [
                *(name, *(about[figure] for figure in figures)),
                *(spread[figure] for figure in ("least", "mean", "greatest")),
                *(about[count] for count in counts),
            ]
        )
    rows.append(["paper", None, PRINTED, *[None] * 8])
    notes = [
        "Share of held-out texts for which the model behind the masks predicts what it predicts "
        "without them: behind the trained layer, and behind the layer before its first step. "
        "p(word): probabilities that words are let through.",
        f"Learned in one epoch from {len(texts):,} texts; learning rate and weights as the paper, "
        "which leaves epochs, batch, temperature and start open.",
    ]
    common.print_table("Table 5 of MNCOVER: fidelity of the masks", COLUMNS, rows, notes, digits=3)


if __name__ == "__main__":
    common.run(main)
