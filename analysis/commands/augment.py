"""Texts that make coverage grow, added to a corpus."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.options import RUNNING, Argument, CorpusColumns, Count, OnDevice, Option, Seed, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.augment.retrain import Accuracies

GROWTH, RETRAINING = "What has to grow", "Retraining"
WITHOUT, RANDOM = "without", "random"


class AugmentOptions(CorpusColumns, OnDevice):
    """Options of `augment`."""

    corpus: Annotated[str, Argument("Texts with labels: sst:PATH, csv:PATH …")]
    model: Annotated[str, Option("embedded-2class, embedded-3class, a folder, or a Hub id.")]
    out: Annotated[Path, Option("File to write: .jsonl or .parquet.", path="file")]
    similarity: Annotated[
        float, Field(ge=-1, le=1), Option("Least cosine similarity to the original.")
    ] = 0.8
    tries: Annotated[Count, Option("Failures that end an original's turn.")] = 5
    most: Annotated[Count, Option("Texts kept of one original.")] = 2
    limit: Annotated[Count | None, Option("Start from so many random sentences only.")] = None
    transformation: Annotated[
        tuple[str, ...], Option("Only this one, as TextAttack calls it; give it twice at least.")
    ] = ()
    mlm: Annotated[str, Option("Masked language model: embedded, Hub id, folder.")] = "embedded"
    by: Annotated[
        Literal["mncover", "cover", "boundary"], Option("Coverage that has to grow.", GROWTH)
    ] = "cover"
    masks: Annotated[
        Path | None,
        Option("For mncover: the file that `s2lct masks` wrote.", GROWTH, path="existing file"),
    ] = None
    threshold: Annotated[
        float,
        Field(ge=0, le=1),
        Option("Coverage has to grow by more than this, less than 1.", GROWTH),
    ] = 0.0
    convention: Annotated[
        Literal["paper", "reached"],
        Option("Coverage is of all neurons of 128 places, or of those reached.", GROWTH),
    ] = "paper"
    layers: Annotated[
        str | None,
        Option("encoder, embeddings, pooler, numbers, ranges, with commas.", GROWTH),
    ] = None
    retrain: Annotated[
        bool, Option("Train with, without and with random texts; test.", RETRAINING)
    ] = False
    seeds: Annotated[Count, Option("With --retrain: trainings of each.", RETRAINING)] = 5
    epochs: Annotated[Count, Option("With --retrain: passes over the texts.", RETRAINING)] = 1
    class_map: Annotated[
        Any, Option("What the model's classes mean: LABEL_0=negative,….", text=True)
    ] = None
    seed: Annotated[Seed, Option("Seed of every random draw.", RUNNING)] = 0


@dataclass(frozen=True)
class Augmented:
    """A corpus with texts added.

    Attributes:
        originals, added: training texts before, and those that came to them.
        coverage: the metric's name, and its value before and after.
        trained: accuracies with, without and with random texts; None without ``retrain``.
    """

    originals: int
    added: int
    coverage: tuple[str, float, float]
    trained: dict[str, Accuracies] | None


@takes(AugmentOptions)
def augment(options: AugmentOptions, bars: Bars) -> Augmented:
    """Add texts to a corpus that make coverage grow.

    With --retrain, show what they are worth.
    """
    from s2lct.analysis.augment.retrain import retrain as retrain_on
    from s2lct.analysis.augment.search import (
        Augmenter,
        check_corpus_path,
        corpus_rows,
        embedding_similarity,
        write_corpus,
    )
    from s2lct.analysis.augment.transformations import NAMES, load_transformations
    from s2lct.analysis.corpus_parts import parts_of_corpus
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.masks import Masks
    from s2lct.analysis.coverage.metrics import build_metrics
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.files import check_files_out
    from s2lct.identity import shuffle_key
    from s2lct.labels import LABELS, check_label_map
    from s2lct.leaderboard.answers.label_rules import rule_for

    classes, seed = check_label_map(options.class_map), options.seed
    columns = options.model_dump(include={"text_column", "label_column"})
    columns["label_map"] = check_label_map(options.label_map)
    check_corpus_path(options.out)
    check_files_out(out=options.out)
    if options.threshold == 1:
        raise AnalysisError("--threshold 1", hint="give 0 or more, less than 1")
    if options.by == "mncover" and options.masks is None:
        raise AnalysisError(
            "--by mncover needs masks", hint="learn them with `s2lct masks`, pass --masks FILE"
        )
    corpus = read_corpus(options.corpus, **columns)
    parts = parts_of_corpus(corpus, seed)
    encoder = load_encoder(options.model, device=options.device)
    rule = rule_for(encoder.classes, model=options.model, label_map=classes)
    labels = {LABELS[meaning] for meaning in rule.meanings}
    train, dev, test = (
        [sentence for sentence in part if sentence.label in labels]
        for part in (parts.train, parts.dev, parts.test)
    )
    if not train:
        raise AnalysisError(
            f"corpus {corpus.name}: no sentence is {' or '.join(sorted(labels))}",
            hint="give a corpus with the model's labels, or say what they mean: --label-map",
        )
    originals = sorted(train, key=lambda one: shuffle_key(seed, "limit", one.id, one.text))
    originals = originals[: options.limit]
    transformations, skipped = load_transformations(
        options.transformation or NAMES, mlm=options.mlm
    )
    for note in (*encoder.notes, *(f"{name} is left out: {why}" for name, why in skipped.items())):
        warnings.warn(note, S2lctWarning, stacklevel=2)
    augmenter = Augmenter(
        originals,
        transformations,
        embedding_similarity(),
        options.similarity,
        options.threshold,
        options.tries,
        options.most,
        seed,
    )
    texts = [sentence.text for sentence in train]
    coverage = build_metrics(
        [options.by],
        encoder,
        texts,
        convention=options.convention,
        layers=options.layers,
        masks=Masks.load(options.masks, encoder) if options.masks else None,
        advance=bars("ranges", len(texts)),
    )[options.by]
    coverage.cover(encoder, texts, bars("coverage", len(texts)))
    before = coverage.value
    guided = augmenter.by_coverage(encoder, coverage, bars("search", len(originals)))
    others = [("dev", one) for one in parts.dev] + [("test", one) for one in parts.test]
    write_corpus(corpus_rows(parts.train, guided, others), options.out)
    found = Augmented(len(parts.train), len(guided), (coverage.name, before, coverage.value), None)
    if not options.retrain:
        return found
    if not guided:
        raise AnalysisError(
            "--retrain: no text made coverage grow",
            hint="lower --similarity or --threshold, or raise --tries",
        )
    at_random = augmenter.at_random(len(guided), bars("random", len(guided)))
    known, to_stop, to_test = (
        [(one.text, one.label) for one in part] for part in (train, dev, test)
    )
    sets = {WITHOUT: known} | {
        name: known + [(one.text, one.original.label) for one in added]
        for name, added in ((RANDOM, at_random), (options.by, guided))
    }
    trained = retrain_on(
        options.model,
        sets,
        to_stop,
        to_test,
        [seed + number for number in range(options.seeds)],
        epochs=options.epochs,
        label_map=classes,
        device=options.device,
        advance=bars("retrain", len(sets) * options.seeds),
    )
    return replace(found, trained=trained)
