"""The command augment."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from s2lct.cli.commands import INSIDE, examples, usable_seed

GROWTH, CORPUS, RETRAINING, RUNNING = "What has to grow", "Corpus", "Retraining", "Running"

WITHOUT, RANDOM = "without", "random"


class GuidedBy(str, enum.Enum):
    """Which coverage guides the search."""

    MNCOVER = "mncover"
    COVER = "cover"
    BOUNDARY = "boundary"


def augment(
    corpus: Annotated[str, typer.Argument(help="Texts with labels: sst:PATH, csv:PATH …")],
    model: Annotated[
        str, typer.Option(help="embedded-2class, embedded-3class, a folder, or a Hub id.")
    ],
    out: Annotated[Path, typer.Option(help="File to write: .jsonl or .parquet.", dir_okay=False)],
    by: Annotated[
        GuidedBy, typer.Option(help="Coverage that has to grow.", rich_help_panel=GROWTH)
    ] = GuidedBy.COVER,
    masks: Annotated[
        Path | None,
        typer.Option(
            help="For mncover: the file that `s2lct masks` wrote.",
            exists=True,
            dir_okay=False,
            rich_help_panel=GROWTH,
        ),
    ] = None,
    similarity: Annotated[
        float, typer.Option(help="Least cosine similarity to the original.", min=-1, max=1)
    ] = 0.8,
    threshold: Annotated[
        float,
        typer.Option(
            help="Coverage has to grow by more than this, less than 1.",
            min=0,
            max=1,
            rich_help_panel=GROWTH,
        ),
    ] = 0.0,
    tries: Annotated[int, typer.Option(help="Failures that end an original's turn.", min=1)] = 5,
    most: Annotated[int, typer.Option(help="Texts kept of one original.", min=1)] = 2,
    limit: Annotated[
        int | None, typer.Option(help="Start from so many random sentences only.", min=1)
    ] = None,
    transformation: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as TextAttack calls it; give it twice at least."),
    ] = None,
    mlm: Annotated[
        str, typer.Option(help="Masked language model: embedded, Hub id, folder.")
    ] = "embedded",
    layers: Annotated[
        str,
        typer.Option(
            help="encoder, embeddings, pooler, numbers, ranges, with commas.",
            rich_help_panel=GROWTH,
        ),
    ] = "encoder",
    retrain: Annotated[
        bool,
        typer.Option(
            "--retrain",
            help="Train with, without and with random texts; test.",
            rich_help_panel=RETRAINING,
        ),
    ] = False,
    seeds: Annotated[
        int,
        typer.Option(help="With --retrain: trainings of each.", min=1, rich_help_panel=RETRAINING),
    ] = 5,
    epochs: Annotated[
        int,
        typer.Option(
            help="With --retrain: passes over the texts.", min=1, rich_help_panel=RETRAINING
        ),
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of every random draw.", callback=usable_seed, rich_help_panel=RUNNING
        ),
    ] = 0,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)
    ] = "auto",
    text_column: Annotated[
        str | None, typer.Option(help="Column with the texts.", rich_help_panel=CORPUS)
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column with the labels.", rich_help_panel=CORPUS)
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(
            help="What the corpus's labels mean: 0=negative,1=positive.", rich_help_panel=CORPUS
        ),
    ] = None,
    class_map: Annotated[
        str | None, typer.Option(help="What the model's classes mean: LABEL_0=negative,….")
    ] = None,
) -> None:
    """Add texts to a corpus that make coverage grow.

    With --retrain, show what they are worth.
    """
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of
    from s2lct.progress import counted_progress

    with told_errors():
        from s2lct.analysis.augment.corpus import check_corpus_path, corpus_rows, write_corpus
        from s2lct.analysis.augment.retrain import accuracy_table, known_labels
        from s2lct.analysis.augment.retrain import retrain as retrain_on
        from s2lct.analysis.augment.search import (
            EmbeddingSimilarity,
            SearchSettings,
            augment_at_random,
            augment_by_coverage,
        )
        from s2lct.analysis.augment.transformations import NAMES, load_transformations
        from s2lct.analysis.corpus_parts import parts_of_corpus
        from s2lct.analysis.coverage.encoder import load_encoder
        from s2lct.analysis.coverage.masks import Masks
        from s2lct.analysis.coverage.metrics import MetricOptions, build_metrics
        from s2lct.builder.corpus.read import read_corpus
        from s2lct.errors import AnalysisError
        from s2lct.files import check_files_out
        from s2lct.identity import shuffle_key

        mapping, classes = label_map_of(label_map), label_map_of(class_map)
        check_corpus_path(out)
        check_files_out(out=out)
        settings = SearchSettings(similarity, threshold, tries, most, seed)
        if by is GuidedBy.MNCOVER and masks is None:
            raise AnalysisError(
                "--by mncover needs masks", mend="learn them with `s2lct masks`, pass --masks FILE"
            )
        read = read_corpus(
            corpus,
            text_column=text_column,
            label_column=label_column,
            label_map=mapping,  # type: ignore[arg-type]
        )
        parts = parts_of_corpus(read, seed)
        encoder = load_encoder(model, device=device)
        for note in encoder.notes:
            errors.print(note)
        labels = known_labels(encoder.classes, model, classes)
        train = [sentence for sentence in parts.train if sentence.label in labels]
        if not train:
            raise AnalysisError(
                f"corpus {read.name}: no sentence is {' or '.join(sorted(labels))}",
                mend="give a corpus with the model's labels, or say what they mean: --label-map",
            )
        originals = sorted(train, key=lambda one: shuffle_key(seed, "limit", one.id, one.text))
        originals = originals[: limit or len(originals)]
        transformations, skipped = load_transformations(transformation or NAMES, mlm=mlm)
        for name, why in skipped.items():
            errors.print(f"{name} is left out: {why}", style="yellow")
        similar = EmbeddingSimilarity()
        texts = [sentence.text for sentence in train]
        with counted_progress(errors) as progress:

            def stage(name: str, total: int) -> Callable[[int], None]:
                task = progress.add_task(name, total=total)
                return lambda done: progress.advance(task, done)

            coverage = build_metrics(
                [by.value],
                encoder,
                texts,
                MetricOptions(layers=layers),
                masks=Masks.load_for(masks, encoder) if masks else None,
                advance=stage("ranges", len(texts)),
            )[by.value]
            coverage.cover(encoder, texts, stage("coverage", len(texts)))
            before = coverage.value
            guided = augment_by_coverage(
                originals,
                transformations,
                encoder,
                coverage,
                similar,
                settings,
                advance=stage("search", len(originals)),
            )
            others = [
                (split, sentence)
                for split, sentences in (("dev", parts.dev), ("test", parts.test))
                for sentence in sentences
            ]
            write_corpus(corpus_rows(parts.train, guided, others), out)
            console.print(
                f"{len(guided):,} texts added to {len(parts.train):,}; {coverage.name} "
                f"{before:.4f} → {coverage.value:.4f}. Written to {out}",
            )
            if not retrain:
                return
            if not guided:
                raise AnalysisError(
                    "--retrain: no text made coverage grow",
                    mend="lower --similarity or --threshold, or raise --tries",
                )
            at_random = augment_at_random(
                originals,
                transformations,
                similar,
                len(guided),
                settings,
                advance=stage("random", len(guided)),
            )
            own = [(one.text, one.label) for one in train]
            sets = {
                WITHOUT: own,
                RANDOM: own + [(one.text, one.original.label) for one in at_random],
                by.value: own + [(one.text, one.original.label) for one in guided],
            }
            found = retrain_on(
                model,
                sets,
                [(one.text, one.label) for one in parts.dev if one.label in labels],
                [(one.text, one.label) for one in parts.test if one.label in labels],
                [seed + number for number in range(seeds)],
                epochs=epochs,
                label_map=classes,
                device=device,
                advance=stage("retrain", len(sets) * seeds),
            )
        console.print(accuracy_table(found, model))


def add_commands(app: typer.Typer) -> None:
    """Put the command into the ``s2lct`` command line."""
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples(
            "s2lct augment embedded --model embedded-2class --by cover \\\n"
            "    --limit 300 --out more.jsonl"
        ),
    )(augment)
