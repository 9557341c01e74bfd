"""Which words and pairs of words matter to a model."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from s2lct.analysis.commands.coverage import warn_of
from s2lct.errors import S2lctWarning
from s2lct.options import (
    RUNNING,
    Argument,
    CorpusColumns,
    Count,
    NotNegative,
    OnDevice,
    Option,
    Positive,
    Seed,
    Share,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.coverage.masks import Masks

CORPUS, KEPT, TRAINING = "Corpus", "What is kept", "Training"
MASKS_FILE = "masks.safetensors"
CHECKPOINT_FILE = "training.safetensors"
REPORT_FILE = "masks.json"


class MasksOptions(CorpusColumns, OnDevice):
    """Options of `masks`."""

    corpus: Annotated[str, Argument("Texts to learn from: sst:PATH, csv:PATH …, as for build.")]
    model: Annotated[str, Option("embedded-2class, embedded-3class, a folder, or a Hub id.")]
    out: Annotated[Path, Option("Folder for the masks.", path="folder")]
    limit: Annotated[Count | None, Option("Learn from so many random texts only.", CORPUS)] = None
    vocab: Annotated[
        Count, Option("So many of the commonest word pieces have a mask of their own.", KEPT)
    ] = 5_000
    keep_words: Annotated[
        Share, Option("Keep at most this share of the words, the most probable.", KEPT)
    ] = 1.0
    epochs: Annotated[Count, Option("Passes over the texts.", TRAINING)] = 10
    lr: Annotated[Positive, Option("Learning rate (the paper's by default).", TRAINING)] = 1e-5
    beta_words: Annotated[NotNegative, Option("Weight of the word mask's KL.", TRAINING)] = 1e-3
    beta_pairs: Annotated[NotNegative, Option("Weight of the pair mask's KL.", TRAINING)] = 1e-3
    beta_sparse: Annotated[NotNegative, Option("Weight of |M_A|.", TRAINING)] = 1e-3
    convention: Annotated[
        Literal["paper", "reached"],
        Option(
            "Words by their own embedding, and a word with itself counts; or by what neighbours "
            "add, and it does not.",
            TRAINING,
        ),
    ] = "paper"
    mixing: Annotated[
        Literal["eq8", "eq10"],
        Option("How neighbours are added: equation 8, or the appendix's equation 10.", TRAINING),
    ] = "eq8"
    temperature: Annotated[Positive, Option("Of the Gumbel-Softmax.", TRAINING)] = 1.0
    batch_size: Annotated[Count, Option("Texts a step.", TRAINING)] = 32
    seed: Annotated[Seed, Option("Seed of every random draw.", RUNNING)] = 0
    restart: Annotated[bool, Option("Throw away what an interrupted training left.", RUNNING)] = (
        False
    )


@takes(MasksOptions)
def masks(options: MasksOptions, bars: Bars) -> Masks:
    """Learn which words and pairs matter to a model (WIMASK).

    For MNCOVER. Interrupted, the same command goes on where it stopped.
    """
    from s2lct.analysis.corpus_parts import parts_of_corpus
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.learn_masks import WimaskSettings, learn_masks
    from s2lct.analysis.coverage.masks import Vocabulary
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.files import check_folder_out, write_text
    from s2lct.identity import shuffle_key
    from s2lct.labels import check_label_map

    named = {"learning_rate": options.lr} | {
        name: getattr(options, name)
        for name in ("epochs", "beta_words", "beta_pairs", "beta_sparse", "temperature")
    }
    paper = options.convention == "paper"
    settings = WimaskSettings(
        batch_size=options.batch_size,
        seed=options.seed,
        mixing=options.mixing,
        words_from="embedding" if paper else "mixed",
        diagonal=paper,
        **named,
    )
    label_map = check_label_map(options.label_map)
    check_folder_out(options.out, "--out")
    corpus = read_corpus(
        options.corpus,
        text_column=options.text_column,
        label_column=options.label_column,
        label_map=label_map,
    )
    parts = parts_of_corpus(corpus, options.seed)
    texts = [sentence.text for sentence in parts.train]
    if options.limit is not None and options.limit < len(texts):
        texts.sort(key=lambda text: shuffle_key(options.seed, "limit", text))
        del texts[options.limit :]
    encoder = load_encoder(options.model, device=options.device)
    warn_of(encoder.notes)
    vocabulary = Vocabulary.of_texts(encoder, texts, options.vocab)
    checkpoint = options.out / CHECKPOINT_FILE
    if options.restart:
        checkpoint.unlink(missing_ok=True)
    bar = bars("steps", settings.steps(len(texts)))
    learned = learn_masks(
        encoder,
        texts,
        [sentence.text for sentence in parts.dev],
        vocabulary,
        settings,
        most_words=options.keep_words,
        checkpoint=checkpoint,
        advance=lambda done, terms: bar(
            done, f"cross entropy {terms['cross_entropy']:.3f}" if terms else ""
        ),
    )
    about: dict[str, Any] = {
        "model": options.model,
        "weights_sha256": encoder.fingerprint,
        "corpus": {"name": corpus.name, "fingerprint": corpus.fingerprint, "texts": len(texts)},
        "settings": asdict(settings)
        | {"keep_words": options.keep_words, "convention": options.convention},
        **learned.masks.about,
    }
    found = replace(learned.masks, about=about)
    if about["words_kept"] == about["words_seen"]:
        warnings.warn(
            f"the word mask keeps every word that the texts have; the untrained layer agrees with "
            f"the model on {100 * about['fidelity_untrained']:.1f} % (trained: "
            f"{100 * about['fidelity']:.1f} %); --keep-words 0.25 keeps the most probable quarter",
            S2lctWarning,
            stacklevel=2,
        )
    found.save(options.out / MASKS_FILE)
    names = (*vocabulary.pieces, "")
    ranked = sorted(range(len(names)), key=lambda n: (-learned.words[n], n))
    words = {names[n]: round(float(learned.words[n]), 6) for n in ranked}
    report = json.dumps(about | {"words": words}, indent=1, ensure_ascii=False)
    write_text(options.out / REPORT_FILE, report + "\n")
    return found
