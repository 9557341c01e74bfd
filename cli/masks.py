"""The command masks."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2lct.cli.commands import INSIDE, above_zero, examples, some_share, usable_seed, zero_or_above

if TYPE_CHECKING:
    from rich.table import Table

    from s2lct.analysis.coverage.learn_masks import LearnedMasks

CORPUS, MASKS, TRAINING, RUNNING = "Corpus", "What is kept", "Training", "Running"
MASKS_FILE = "masks.safetensors"
CHECKPOINT_FILE = "training.safetensors"
REPORT_FILE = "masks.json"
_LOW_FIDELITY = 0.9


def masks(
    corpus: Annotated[
        str, typer.Argument(help="Texts to learn from: sst:PATH, csv:PATH …, as for build.")
    ],
    model: Annotated[
        str, typer.Option(help="embedded-2class, embedded-3class, a folder, or a Hub id.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the masks.", file_okay=False)],
    vocab: Annotated[
        int,
        typer.Option(
            help="So many of the commonest word pieces have a mask of their own.",
            min=1,
            rich_help_panel=MASKS,
        ),
    ] = 5_000,
    epochs: Annotated[
        int, typer.Option(help="Passes over the texts.", min=1, rich_help_panel=TRAINING)
    ] = 10,
    lr: Annotated[
        float,
        typer.Option(
            help="Learning rate (the paper's by default).",
            callback=above_zero,
            rich_help_panel=TRAINING,
        ),
    ] = 1e-5,
    beta_words: Annotated[
        float,
        typer.Option(
            help="Weight of the word mask's KL.", callback=zero_or_above, rich_help_panel=TRAINING
        ),
    ] = 1e-3,
    beta_pairs: Annotated[
        float,
        typer.Option(
            help="Weight of the pair mask's KL.", callback=zero_or_above, rich_help_panel=TRAINING
        ),
    ] = 1e-3,
    beta_sparse: Annotated[
        float,
        typer.Option(help="Weight of |M_A|.", callback=zero_or_above, rich_help_panel=TRAINING),
    ] = 1e-3,
    temperature: Annotated[
        float,
        typer.Option(help="Of the Gumbel-Softmax.", callback=above_zero, rich_help_panel=TRAINING),
    ] = 1.0,
    keep_words: Annotated[
        float,
        typer.Option(
            help="Keep at most this share of the words, the most probable.",
            callback=some_share,
            rich_help_panel=MASKS,
        ),
    ] = 1.0,
    batch_size: Annotated[
        int, typer.Option(help="Texts a step.", min=1, rich_help_panel=TRAINING)
    ] = 32,
    limit: Annotated[
        int | None,
        typer.Option(help="Learn from so many random texts only.", min=1, rich_help_panel=CORPUS),
    ] = None,
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
        typer.Option(help="What labels mean: 0=negative,1=positive.", rich_help_panel=CORPUS),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Throw away what an interrupted training left.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
) -> None:
    """Learn which words and pairs matter to a model (WIMASK).

    For MNCOVER. Interrupted, the same command goes on where it stopped.
    """
    from rich.progress import TextColumn

    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of
    from s2lct.progress import counted_progress

    with told_errors():
        from s2lct.analysis.corpus_parts import parts_of_corpus
        from s2lct.analysis.coverage.encoder import load_encoder
        from s2lct.analysis.coverage.learn_masks import learn_masks
        from s2lct.analysis.coverage.mask_training import WimaskSettings, steps_of
        from s2lct.analysis.coverage.vocabulary import Vocabulary
        from s2lct.builder.corpus.read import read_corpus
        from s2lct.files import check_folder_out, write_text
        from s2lct.identity import shuffle_key

        settings = WimaskSettings(
            epochs, lr, beta_words, beta_pairs, beta_sparse, temperature, batch_size, seed
        )
        mapping = label_map_of(label_map)
        check_folder_out(out, "--out")
        read = read_corpus(
            corpus,
            text_column=text_column,
            label_column=label_column,
            label_map=mapping,  # type: ignore[arg-type]
        )
        parts = parts_of_corpus(read, seed)
        texts = [sentence.text for sentence in parts.train]
        if limit is not None and limit < len(texts):
            texts = sorted(texts, key=lambda text: shuffle_key(seed, "limit", text))[:limit]
        encoder = load_encoder(model, device=device)
        for note in encoder.notes:
            errors.print(note)
        vocabulary = Vocabulary.of_texts(encoder.tokenizer, texts, vocab, encoder.max_tokens)
        checkpoint = out / CHECKPOINT_FILE
        if restart:
            checkpoint.unlink(missing_ok=True)
        with counted_progress(errors, TextColumn("{task.fields[note]}", markup=False)) as progress:
            task = progress.add_task("steps", total=steps_of(len(texts), settings), note="")

            def advance(done: int, terms: dict[str, float]) -> None:
                note = f"cross entropy {terms['cross_entropy']:.3f}" if terms else ""
                progress.update(task, advance=done, note=note)

            learned = learn_masks(
                encoder,
                texts,
                [sentence.text for sentence in parts.dev],
                vocabulary,
                settings,
                most_words=keep_words,
                checkpoint=checkpoint,
                advance=advance,
            )
        about: dict[str, Any] = {
            "model": model,
            "weights_sha256": encoder.fingerprint,
            "corpus": {"name": read.name, "fingerprint": read.fingerprint, "texts": len(texts)},
            "settings": asdict(settings) | {"keep_words": keep_words},
            "held_out": learned.held_out,
            "fidelity": learned.fidelity,
            "fidelity_of_masks": learned.fidelity_of_masks,
            "losses": learned.losses,
            "words_kept": int(learned.word_mask.sum()),
            "pairs_kept": int(learned.pair_mask.sum()),
            "pairs_seen": int(learned.pairs_seen.sum()),
        }
        learned.masks(about).save(out / MASKS_FILE)
        names = (*vocabulary.pieces, "")
        ranked = sorted(range(len(names)), key=lambda n: (-learned.words[n], n))
        words = {names[n]: round(float(learned.words[n]), 6) for n in ranked}
        report = about | {"words": words}
        write_text(out / REPORT_FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        console.print(fidelity_table({model: learned}))
        if learned.fidelity < _LOW_FIDELITY:
            errors.print(
                f"The masked model agrees with {model} on {learned.fidelity:.1%} of the held-out "
                "texts only: give a lower --lr, or more texts.",
                style="yellow",
            )
        console.print(f"Masks written to {out / MASKS_FILE}")


def fidelity_table(learned: dict[str, LearnedMasks]) -> Table:
    """Fidelity, and how much the masks keep, a row a model."""
    from rich.table import Table

    table = Table("", title="WIMASK", header_style="bold")
    for column in ("held-out texts", "fidelity", "by M_W", "words kept", "seen pairs kept"):
        table.add_column(column, justify="right")
    for name, one in learned.items():
        table.add_row(
            name,
            f"{one.held_out:,}",
            f"{one.fidelity:.1%}",
            f"{one.fidelity_of_masks:.1%}",
            f"{int(one.word_mask.sum()):,} of {len(one.words):,}",
            f"{int(one.pair_mask.sum()):,} of {int(one.pairs_seen.sum()):,}",
        )
    return table


def add_commands(app: typer.Typer) -> None:
    """Put the command into the ``s2lct`` command line."""
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples(
            "s2lct masks embedded --model embedded-2class --out masks/ \\\n    --epochs 1 --lr 1e-4"
        ),
    )(masks)
