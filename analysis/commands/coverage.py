"""How much of a model suites exercise, what of a suite adds to it, and texts that do."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import Field

from s2lct.command import (
    Capabilities,
    Count,
    Device,
    LabelMap,
    NotNegative,
    Positive,
    RandomSeed,
    Share,
    command,
)
from s2lct.errors import AnalysisError, S2lctWarning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from s2lct.analysis.coverage.criteria import Coverage
    from s2lct.analysis.coverage.curves import CoverageReport
    from s2lct.analysis.coverage.encoder import EncoderModel, Text
    from s2lct.analysis.coverage.masks import Masks
    from s2lct.analysis.coverage.minimize import Reduced, Reduction

SHUFFLES = 10
"""Orders that curves average over."""
MASKS_FILE, REPORT_FILE = "masks.safetensors", "masks.json"
Model = Annotated[
    str, typer.Option(help="embedded-2class, embedded-3class, a folder, or a Hub id.")
]
Reference = Annotated[
    str,
    typer.Option(help="Corpus that sets bounds, best the training set: sst:PATH, csv:PATH …"),
]
ReferenceCases = Annotated[
    Annotated[int, Field(ge=2)] | None,
    typer.Option(help="Only so many random sentences set bounds."),
]
MasksOf = Annotated[
    Path | None,
    typer.Option(help="What `s2lct masks` learned, for mncover.", exists=True, dir_okay=False),
]
ConventionOf = Annotated[
    Literal["paper", "reached"],
    typer.Option(
        help="cover, mncover: of all neurons of 128 places, or of those that bounds are of."
    ),
]
By = Annotated[
    Literal["mncover", "cover", "boundary"],
    typer.Option(help="The coverage that has to grow."),
]
Seed = Annotated[RandomSeed, typer.Option(help="Seed of every random draw.")]


@command
def coverage(
    suites: Annotated[
        list[str],
        typer.Argument(
            help="Folders of suites, Hub ids, CheckList's .jsonl\\[.gz] or "
            "csv:FILE?text=COLUMN&…; NAME=SUITE names one in tables and plots."
        ),
    ],
    *,
    model: Model,
    reference: Reference,
    metric: Annotated[
        str,
        typer.Option(help="Of boundary, cover, mncover; commas between."),
    ] = "boundary,cover",
    masks: MasksOf = None,
    convention: ConventionOf = "paper",
    reference_cases: ReferenceCases = None,
    cases: Annotated[
        Count | None,
        typer.Option(help="So many random cases of each; by default, of the smallest."),
    ] = None,
    random: Annotated[
        bool, typer.Option(help="Measure random sentences of the corpus beside the suites.")
    ] = True,
    curve: Annotated[
        Path | None,
        typer.Option(help="Draw coverage as cases grow: .png or .svg.", dir_okay=False),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> CoverageReport:
    """Measure what suites cover inside a model.

    Alone and together.
    """
    from s2lct.analysis.coverage.curves import CoverageReport, measure, write_curves
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.suites import (
        drawn,
        given,
        named_suites,
        reference_and_held_out,
    )
    from s2lct.errors import require
    from s2lct.files import check_files_out

    if curve is not None:
        if curve.suffix not in (".png", ".svg"):
            raise AnalysisError(f"--curve {curve}", hint="name a file .png or .svg")
        check_files_out(curve=curve)
        require("matplotlib")
    names = [name.strip() for name in metric.split(",") if name.strip()]
    loaded = named_suites(suites)
    bounds, held_out = reference_and_held_out(reference, reference_cases, seed)
    if random and held_out.cases:
        loaded[held_out.name] = held_out
    most = cases or min(len(set(map(given, suite.cases))) for suite in loaded.values())
    encoder = load_encoder(model, device=device)
    metrics = _metrics(names, encoder, bounds, masks, convention)
    measured = []
    for name, suite in loaded.items():
        chosen = drawn(suite.cases, most, seed)
        texts, kinds = [given(case) for case in chosen], [case.kind for case in chosen]
        shuffles = SHUFFLES if curve else 0
        measured.append(measure(name, texts, encoder, metrics, shuffles, seed=seed, kinds=kinds))
    report = CoverageReport(
        model=model,
        fingerprint=encoder.fingerprint,
        reference=f"{reference} ({len(bounds):,} sentences)",
        measured=measured,
    )
    if curve is not None:
        write_curves(report, curve)
    return report


def _metrics(
    names: Sequence[str],
    encoder: EncoderModel,
    bounds: Sequence[Text],
    masks: Path | None,
    convention: Literal["paper", "reached"] = "paper",
) -> dict[str, Coverage]:
    from s2lct.analysis.coverage.criteria import build_metrics
    from s2lct.analysis.coverage.masks import Masks

    loaded = Masks.load(masks, encoder) if masks else None
    return build_metrics(names, encoder, bounds, masks=loaded, convention=convention)


@dataclass(frozen=True)
class Minimized:
    """A suite reduced, once a threshold."""

    title: str  # what was reduced, by what, on which model
    thresholds: Sequence[float]  # ascending
    table: Mapping[str, Reduction]  # cases and failures that stay, by capability
    reduced: Sequence[Reduced]  # what stays at each threshold
    files: Sequence[Path]  # what was written; a threshold that leaves no case has no folder


@command
def minimize(
    suite: Annotated[
        Path, typer.Argument(help="Folder of a built suite.", exists=True, file_okay=False)
    ],
    *,
    model: Model,
    reference: Reference,
    out: Annotated[Path, typer.Option(help="Folder for the reduced suite.", file_okay=False)],
    by: By = "boundary",
    threshold: Annotated[
        list[NotNegative],
        typer.Option(help=r"By more than so much; may be given again \[default: 0]."),
    ] = [],  # noqa: B006
    masks: MasksOf = None,
    convention: ConventionOf = "paper",
    reference_cases: ReferenceCases = None,
    capability: Capabilities = [],  # noqa: B006
    limit: Annotated[Count | None, typer.Option(help="Most cases of a capability.")] = None,
    label_map: LabelMap = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> Minimized:
    """Keep only the cases that raise coverage.

    And see whether failures stay. With several thresholds, OUT holds a folder for each.
    """
    from s2lct.analysis.coverage import minimize as smaller
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.suites import reference_and_held_out
    from s2lct.files import check_folder_out, check_only_ours
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.scoring.score import score
    from s2lct.suite.cases import load_cases

    meanings, thresholds = check_label_map(label_map), sorted({*threshold} or {0.0})
    loaded = load_cases(suite)
    several = len(thresholds) > 1
    outs = [out / f"threshold-{number:g}" if several else out for number in thresholds]
    for path in outs:
        check_folder_out(path, "--out")
        check_only_ours(path, (), option="--out")
    chosen = loaded.select(capability or None, None, limit)
    chosen = replace(chosen, counterparts=())  # reduced is what failure rates count
    bounds, _ = reference_and_held_out(reference, reference_cases, seed)
    encoder = load_encoder(model, device=device)
    metric = _metrics([by], encoder, bounds, masks, convention)[by]
    classifier = load_classifier(model, device=device, dtype="float32")
    failed = score(classifier, chosen, label_map=meanings).failed
    reduced = smaller.minimize(encoder, chosen.cases, metric, thresholds)
    about: dict[str, Any] = {
        "by": metric.name,
        "model": model,
        "model_fingerprint": encoder.fingerprint,
        "reference": reference,
        "reference_sentences": len(bounds),
        "convention": None if by == "boundary" else convention,
    }
    files = []
    for path, kept in zip(outs, reduced, strict=True):
        if kept.kept or not several:
            smaller.write_reduced(suite, kept, path, about)
            files.append(path)
    return Minimized(
        f"{loaded.name} reduced by {metric.name} on {model}",
        thresholds,
        smaller.reductions(chosen.cases, failed, reduced),
        reduced,
        files,
    )


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
    keep_words: Annotated[
        Share, typer.Option(help="Keep at most this share of the words, the most probable.")
    ] = 1.0,
    epochs: Annotated[Count, typer.Option(help="Passes over the texts.")] = 10,
    lr: Annotated[Positive, typer.Option(help="Learning rate (the paper's by default).")] = 1e-5,
    seed: Seed = 0,
    device: Device = "auto",
) -> Masks:
    """Learn which words and pairs matter to a model (WIMASK).

    For MNCOVER.
    """
    from s2lct.analysis.corpus_parts import parts_of_corpus
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.wimask import learn_masks
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.files import check_folder_out, write_text
    from s2lct.identity import shuffle_key

    check_folder_out(out, "--out")
    read = read_corpus(corpus, labelled=False)
    parts = parts_of_corpus(read, seed)
    texts = [sentence.text for sentence in parts.train]
    if limit is not None and limit < len(texts):
        texts = sorted(texts, key=lambda text: shuffle_key(seed, "limit", text))[:limit]
    encoder = load_encoder(model, device=device)
    learned = learn_masks(
        encoder,
        texts,
        [sentence.text for sentence in parts.dev],
        epochs=epochs,
        learning_rate=lr,
        seed=seed,
        keep_words=keep_words,
    )
    about: dict[str, Any] = {
        "model": model,
        "weights_sha256": encoder.fingerprint,
        "corpus": {"name": read.name, "fingerprint": read.fingerprint, "texts": len(texts)},
        "settings": {"epochs": epochs, "lr": lr, "seed": seed, "keep_words": keep_words},
        **learned.masks.about,
    }
    found = replace(learned.masks, about=about)
    if about["words_kept"] == about["words_seen"]:
        warnings.warn(
            f"the word mask keeps every word that the texts have; the untrained layer agrees with "
            f"the model on {100 * about['fidelity_untrained']:.1f} % (trained: "
            f"{100 * about['fidelity']:.1f} %); --keep-words 0.25 keeps the most probable quarter",
            S2lctWarning,
            stacklevel=3,
        )
    found.save(out / MASKS_FILE)
    names = (*found.vocabulary.pieces, "")
    ranked = sorted(range(len(names)), key=lambda n: (-learned.words[n], n))
    words = {names[n]: round(float(learned.words[n]), 6) for n in ranked}
    report = json.dumps(about | {"words": words}, indent=1, ensure_ascii=False)
    write_text(out / REPORT_FILE, report + "\n")
    return found


@dataclass(frozen=True)
class Augmented:
    """A corpus with texts added.

    Attributes:
        texts, added: training texts before, and those that came to them.
        tried: originals that the search began from.
    """

    texts: int
    tried: int
    added: int


@command
def augment(
    corpus: Annotated[str, typer.Argument(help="Texts with labels: sst:PATH, csv:PATH …")],
    *,
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write: JSON lines.", dir_okay=False)],
    by: By = "cover",
    masks: MasksOf = None,
    similarity: Annotated[
        float,
        Field(ge=-1, le=1),
        typer.Option(help="Least cosine similarity to the original."),
    ] = 0.8,
    tries: Annotated[Count, typer.Option(help="Failures that end an original's turn.")] = 5,
    limit: Annotated[
        Count | None, typer.Option(help="Start from so many random sentences only.")
    ] = None,
    transformation: Annotated[
        list[str],
        typer.Option(help="Only this one, as TextAttack calls it; give it twice at least."),
    ] = [],  # noqa: B006
    text_column: Annotated[str | None, typer.Option(help="Column with the texts.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column with the labels.")] = None,
    label_map: Annotated[
        str | None, typer.Option(help="What the corpus's labels mean: 0=negative,1=positive.")
    ] = None,
    class_map: Annotated[
        str | None, typer.Option(help="What the model's classes mean: LABEL_0=negative,….")
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> Augmented:
    """Add changed texts to a corpus that cover more than what they were made from.

    What they are worth: s2lct reproduce mncover-table4.
    """
    from s2lct.analysis.augment.search import (
        Augmenter,
        corpus_rows,
        embedding_similarity,
    )
    from s2lct.analysis.augment.transformations import NAMES, load_transformations
    from s2lct.analysis.corpus_parts import parts_of_corpus
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.files import as_json_lines, check_files_out, write_text
    from s2lct.identity import shuffle_key
    from s2lct.labels import LABELS, check_label_map
    from s2lct.leaderboard.answers.label_rules import rule_for

    if out.suffix != ".jsonl":
        raise AnalysisError(f"--out {out}", hint="name a file .jsonl")
    check_files_out(out=out)
    meanings = check_label_map(label_map), check_label_map(class_map)
    if by == "mncover" and masks is None:
        raise AnalysisError(
            "--by mncover needs masks", hint="learn them with `s2lct masks`, pass --masks FILE"
        )
    read = read_corpus(
        corpus, text_column=text_column, label_column=label_column, label_map=meanings[0]
    )
    parts = parts_of_corpus(read, seed)
    transformations, skipped = load_transformations(transformation or NAMES)
    for name, why in skipped.items():
        warnings.warn(f"{name} is left out: {why}", S2lctWarning, stacklevel=3)
    encoder = load_encoder(model, device=device)
    rule = rule_for(encoder.classes, model=model, label_map=meanings[1])
    labels = {LABELS[meaning] for meaning in rule.meanings}
    train = [sentence for sentence in parts.train if sentence.label in labels]
    if not train:
        raise AnalysisError(
            f"corpus {read.name}: no sentence is {' or '.join(sorted(labels))}",
            hint="give a corpus with the model's labels, or say what they mean: --label-map",
        )
    originals = sorted(train, key=lambda one: shuffle_key(seed, "limit", one.id, one.text))[:limit]
    augmenter = Augmenter(
        originals, transformations, embedding_similarity(), least=similarity, tries=tries, seed=seed
    )
    metric = _metrics([by], encoder, [sentence.text for sentence in train], masks)[by]
    added = augmenter.search(encoder, metric)
    others = [("dev", one) for one in parts.dev] + [("test", one) for one in parts.test]
    write_text(out, as_json_lines(corpus_rows(parts.train, added, others)))
    return Augmented(len(parts.train), len(originals), len(added))
