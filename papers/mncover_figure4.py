"""Figure 4 of MNCOVER: how many texts are dropped if they must raise coverage by a threshold.

Training sentences go through each transformation of experiment 4. The paper's unit cannot be
coverage itself, of which no text can add 0.1 and few 0.001; so growth is taken both ways: as
coverage, and as a share of what is covered already.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import common
import numpy as np
from augmentation import TRANSFORMATIONS

from s2lct.analysis.coverage.criteria import Criterion
from s2lct.analysis.coverage.encoder import Integers, ModelInput
from s2lct.errors import AnalysisError
from s2lct.identity import rng_for

# Of RoBERTa: the share of texts that are dropped, by threshold, in percent.
PRINTED = {0.0: 28.83, 0.0001: 54.06, 0.001: 71.48, 0.01: 88.67, 0.1: 97.17}
UNITS = ("coverage", "share")
FILTERS = tuple(product(UNITS, PRINTED))
"""What a text has to add, by unit: coverage, or a share of what is covered already."""
COLUMNS = (
    "threshold",
    *(f"{unit}: {figure}" for unit in UNITS for figure in ("fewer texts", "coverage left")),
    "paper (RoBERTa): fewer texts",
)


def main(
    model: common.Models,
    reference: common.ReferenceCorpus,
    reference_cases: common.ReferenceCases = None,
    masks: common.MasksFile = None,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Print what Figure 4's thresholds drop, of at most --limit transformed sentences."""
    for name in model:
        measured = common.measured_model(name, reference, reference_cases, masks, seed, device)
        criterion, encoder = measured.criteria["mncover"], measured.encoder
        sentences = measured.reference.texts[:limit]
        reductions: list[list[tuple[float, float]]] = []
        for transformation in TRANSFORMATIONS:
            texts = transformed(transformation, sentences, seed)
            if texts:
                activations = encoder.activations(texts, transformation)
                reductions.append(
                    common.cached(
                        encoder.fingerprint,
                        __file__,
                        ["reductions", *measured.inputs, texts],
                        list[tuple[float, float]],
                        lambda: reductions_of(criterion, map(criterion.flags_of, activations)),  # noqa: B023
                    )
                )
        means = 100 * np.mean(reductions, axis=0).reshape(len(UNITS), len(PRINTED), 2)
        rows: list[list[common.Cell]] = [
            [f"{threshold:g}", *means[:, number].ravel().tolist(), printed]
            for number, (threshold, printed) in enumerate(PRINTED.items())
        ]
        notes = [
            "A text is dropped if it adds less than the threshold, as coverage, or as a share of "
            "the coverage reached before it; at 0, if it adds nothing.",
            *measured.notes,
            f"{len(sentences):,} training sentences through {len(reductions)} of the paper's "
            "sixteen transformations, means over these; coverage (MNCOVER) starts empty.",
        ]
        title = f"Figure 4 of MNCOVER with {name}: texts dropped at thresholds, %"
        common.print_table(title, COLUMNS, rows, notes, digits=2)


def transformed(transformation: str, texts: Iterable[ModelInput], seed: int) -> list[str]:
    """What a transformation makes of texts, without those that it leaves as they are."""
    changed: dict[str, None] = {}
    for text in texts:
        if not isinstance(text, str):
            raise AnalysisError(
                "transformations change single texts, and the reference holds pairs",
                hint="pass a --reference of single texts",
            )
        new = TRANSFORMATIONS[transformation](text, rng_for(seed, "growth", transformation, text))
        if new is not None and new != text:
            changed[new] = None
    return list(changed)


def reductions_of(criterion: Criterion, flags: Iterable[Integers]) -> list[tuple[float, float]]:
    """The share of texts that each of `FILTERS` drops, and the share of coverage that it leaves.

    Texts come in their order, by the flags that they set; coverage starts empty.
    """
    whole, texts = criterion.copy(), 0
    states = [criterion.copy() for _ in FILTERS]
    reached, kept = [0.0] * len(FILTERS), [0] * len(FILTERS)
    for text_flags in flags:
        whole.add(text_flags)
        texts += 1
        for number, (unit, threshold) in enumerate(FILTERS):
            growth = states[number].growth(text_flags)
            if growth > 0 and growth >= threshold * (reached[number] if unit == "share" else 1):
                states[number].add(text_flags)
                reached[number] += growth
                kept[number] += 1
    return [
        (1 - count / texts, left / whole.value) for count, left in zip(kept, reached, strict=True)
    ]


if __name__ == "__main__":
    common.run(main)
