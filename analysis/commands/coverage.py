"""Commands that measure suites' coverage of a model, and learn a model's masks for MNCOVER."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from s2lct.command import Count, Device, Positive, RandomSeed, command

if TYPE_CHECKING:
    from s2lct.analysis.coverage.measure import CoverageResult
    from s2lct.analysis.coverage.wimask import Masks

MASKS_FILE, REPORT_FILE = "masks.safetensors", "masks.json"
Model = Annotated[
    str, typer.Option(help="embedded-2class, embedded-3class, a folder, or a Hub id.")
]
Seed = Annotated[RandomSeed, typer.Option(help="Seed of every random draw.")]


@command
def coverage(
    suites: Annotated[
        list[str],
        typer.Argument(
            help="Folders of suites, Hub ids, CheckList's .jsonl\\[.gz] or "
            "csv:FILE; NAME=SUITE names one in the table."
        ),
    ],
    *,
    model: Model,
    reference: Annotated[
        str,
        typer.Option(help="Corpus that sets bounds, best the training set: sst:PATH, csv:PATH …"),
    ],
    metric: Annotated[
        str,
        typer.Option(help="Of boundary, cover, mncover; commas between."),
    ] = "boundary,cover",
    masks: Annotated[
        Path | None,
        typer.Option(help="What `s2lct masks` learned, for mncover.", exists=True, dir_okay=False),
    ] = None,
    reference_cases: Annotated[
        Annotated[int, Field(ge=2)] | None,
        typer.Option(help="Only so many random sentences set bounds."),
    ] = None,
    cases: Annotated[
        Count | None,
        typer.Option(help="So many random cases of each; by default, of the smallest."),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> CoverageResult:
    """Measure what suites cover inside a model.

    Alone and together, beside random sentences of the reference corpus.
    """
    from s2lct.analysis.coverage.criteria import build_criteria
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.measure import (
        measure_coverage,
        random_texts,
        read_reference,
        texts_by_suite,
    )
    from s2lct.analysis.coverage.wimask import Masks

    criterion_names = [name.strip() for name in metric.split(",") if name.strip()]
    reference_texts, held_out = read_reference(reference, reference_cases, seed)
    texts = texts_by_suite(suites) | held_out
    n_cases = cases or min(len(set(suite_texts)) for suite_texts in texts.values())
    encoder = load_encoder(model, device=device)
    learned_masks = Masks.load(masks, encoder) if masks else None
    criteria = build_criteria(criterion_names, encoder, reference_texts, masks=learned_masks)
    random_cases = {
        name: random_texts(suite_texts, n_cases, seed) for name, suite_texts in texts.items()
    }
    return measure_coverage(random_cases, encoder, criteria)


@command
def masks(
    corpus: Annotated[
        str, typer.Argument(help="Texts to learn from: sst:PATH, csv:PATH …, as for build.")
    ],
    *,
    model: Model,
    out: Annotated[Path, typer.Option(help="Folder for the masks.", file_okay=False)],
    limit: Annotated[
        Count | None, typer.Option(help="Learn from so many random texts only.")
    ] = None,
    epochs: Annotated[Count, typer.Option(help="Passes over the texts.")] = 10,
    lr: Annotated[Positive, typer.Option(help="Learning rate (the paper's by default).")] = 1e-5,
    seed: Seed = 0,
    device: Device = "auto",
) -> Masks:
    """Learn which words and pairs matter to a model (WIMASK).

    For MNCOVER.
    """
    from s2lct.analysis.corpus_parts import split_corpus
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.wimask import learn_masks
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.files import check_output_folder, write_text
    from s2lct.identity import shuffle_key

    check_output_folder(out, "--out")
    source = read_corpus(corpus, labelled=False)
    parts = split_corpus(source, seed)
    texts = [sentence.text for sentence in parts.train]
    if limit is not None and limit < len(texts):
        texts = sorted(texts, key=lambda text: shuffle_key(seed, "limit", text))[:limit]
    encoder = load_encoder(model, device=device)
    about = {
        "model": model,
        "weights_sha256": encoder.fingerprint,
        "corpus": {"name": source.name, "fingerprint": source.fingerprint, "texts": len(texts)},
        "settings": {"epochs": epochs, "lr": lr, "seed": seed},
    }
    held_out = [sentence.text for sentence in parts.dev]
    learned_masks = learn_masks(
        encoder, texts, held_out, epochs=epochs, learning_rate=lr, random_seed=seed, about=about
    )
    learned_masks.save(out / MASKS_FILE)
    write_text(out / REPORT_FILE, learned_masks.json())
    return learned_masks
