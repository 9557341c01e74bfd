"""Figure 4 of S²LCT: coverage of equally many S²LCT and CheckList cases as they grow."""

from __future__ import annotations

import common
import numpy as np

import s2lct
from s2lct.analysis.coverage.criteria import Criterion, build_criteria
from s2lct.analysis.coverage.encoder import EncoderModel, load_encoder
from s2lct.analysis.coverage.measure import read_reference
from s2lct.identity import shuffle_key
from s2lct.suite.other_suites import read_checklist

METRICS = ("BoundCov", "SActCov")
COLUMNS = (
    "model",
    "cases of",
    "cases",
    *(f"{m} {c}" for m in METRICS for c in ("%", "from", "to")),
)
RANDOM_ORDERS = 10
SIZES = 4
"""The number of points of a curve, at equal steps of the number of cases."""


def main(
    model: common.Models,
    suite: common.Suite,
    checklist: common.CheckLists,
    reference: common.ReferenceCorpus,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Print how coverage grows with the cases of S²LCT, CheckList and the corpus."""
    cases = s2lct.load_suite(suite)
    reference_texts, held_out = read_reference(reference, None, seed)
    sources = {
        "S²LCT": {case.text for case in cases.cases},
        "CheckList": {case.text for path in checklist for case in read_checklist(path)},
        "random sentences": {str(text) for texts in held_out.values() for text in texts},
    }
    sources = {source: texts for source, texts in sources.items() if texts}
    n_cases = min(limit or len(cases.cases), *map(len, sources.values()))
    rows: list[list[common.Cell]] = []
    for name in model:
        encoder = load_encoder(name, device=device)
        boundary = build_criteria(["boundary"], encoder, reference_texts)["boundary"]
        for source, texts in sources.items():
            keyed = sorted((shuffle_key(seed, "coverage", text), text) for text in texts)
            chosen = [text for _, text in keyed[:n_cases]]
            curves = common.cached(
                encoder.fingerprint,
                __file__,
                ["curves", str(encoder.device), reference_texts, chosen, seed],
                dict[int, list[list[float]]],
                lambda: curves_of(encoder, boundary, chosen, seed),  # noqa: B023
            )
            for size, by_order in curves.items():
                figures = 100 * np.array(by_order)
                low, high = np.quantile(figures, (0.025, 0.975), axis=0)
                triples = zip(figures.mean(axis=0), low, high, strict=True)
                rows.append([name, source, size, *(float(v) for triple in triples for v in triple)])
    notes = [
        f"Suite {cases.name} {cases.version}, {n_cases:,} random cases of each; means of "
        f"{RANDOM_ORDERS} random orders, and where 95 % of these lie. Neurons are the outputs of "
        f"the encoder's layers, at any token. Bounds are set by {len(reference_texts):,} "
        "sentences of the reference corpus; random sentences are others of it.",
        "SActCov counts values above the upper bound, as the paper's equation 4 and section 5.3 "
        "say; its section 4 says below the lower one. The paper prints a figure without numbers; "
        "it says that S²LCT is above CheckList in all six plots.",
    ]
    title = f"Figure 4 of S²LCT: coverage as the cases grow to {n_cases:,}"
    common.print_table(title, COLUMNS, rows, notes, digits=2)


def curves_of(
    encoder: EncoderModel, criterion: Criterion, texts: list[str], random_seed: int
) -> dict[int, list[list[float]]]:
    """Coverage by number of texts: for each random order, the figures of `METRICS`."""
    flags_of_texts = [
        criterion.flags_of(activations) for activations in encoder.activations(texts, "cases")
    ]
    sizes = {-(-len(texts) * part // SIZES) for part in range(1, SIZES + 1)}
    curves: dict[int, list[list[float]]] = {size: [] for size in sorted(sizes)}
    rng = np.random.default_rng(random_seed)
    for _ in range(RANDOM_ORDERS):
        state = criterion.copy()
        for size, index in enumerate(rng.permutation(len(texts)), 1):
            state.add(flags_of_texts[index])
            if size in curves:
                curves[size].append([state.figures[metric] for metric in METRICS])
    return curves


if __name__ == "__main__":
    common.run(main)
