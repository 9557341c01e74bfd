"""Figure 4 of MNCOVER: the share of texts that raise coverage by less than a threshold.

Training sentences go through each transformation of experiment 4. The paper's unit of growth cannot
be coverage itself: no text can add 0.1 to coverage, and few add 0.001. So growth is measured in two
units: as coverage, and as a share of the coverage reached before.
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
"""Pairs of a unit and the least growth in that unit for which a text is not dropped."""
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
            texts = transformed_texts(transformation, sentences, seed)
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
            [f"{threshold:g}", *means[:, index].ravel().tolist(), printed]
            for index, (threshold, printed) in enumerate(PRINTED.items())
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


def transformed_texts(
    transformation: str, texts: Iterable[ModelInput], random_seed: int
) -> list[str]:
    """The distinct results of a transformation of texts, without texts that it leaves unchanged."""
    changed_texts: dict[str, None] = {}
    for text in texts:
        if not isinstance(text, str):
            raise AnalysisError(
                "transformations change single texts, and the reference holds pairs",
                hint="pass a --reference of single texts",
            )
        new = TRANSFORMATIONS[transformation](
            text, rng_for(random_seed, "growth", transformation, text)
        )
        if new is not None and new != text:
            changed_texts[new] = None
    return list(changed_texts)


def reductions_of(criterion: Criterion, flags: Iterable[Integers]) -> list[tuple[float, float]]:
    """The share of texts that each of `FILTERS` drops, and the share of coverage that it leaves.

    Texts are given by the flags that they set, and are tried in order; coverage starts empty.
    """
    unfiltered, n_texts = criterion.copy(), 0
    states = [criterion.copy() for _ in FILTERS]
    reached, n_kept = [0.0] * len(FILTERS), [0] * len(FILTERS)
    for text_flags in flags:
        unfiltered.add(text_flags)
        n_texts += 1
        for index, (unit, threshold) in enumerate(FILTERS):
            growth = states[index].growth(text_flags)
            if growth > 0 and growth >= threshold * (reached[index] if unit == "share" else 1):
                states[index].add(text_flags)
                reached[index] += growth
                n_kept[index] += 1
    return [
        (1 - count / n_texts, coverage / unfiltered.value)
        for count, coverage in zip(n_kept, reached, strict=True)
    ]


if __name__ == "__main__":
    common.run(main)
