"""How near a build comes to its models: ours beside the bare model, on the same sentences.

    python benchmarks/build.py                 # all three parts
    python benchmarks/build.py --part fill     # only one

fill   masked sentences a second of our fill stage over the bare encoder in single precision, with
       all threads, on batches of a sensible size
parse  sentences a second of the parser over the bare encoder that it sits on, likewise
tag    sentences a second of the tagger over the same pipeline's `nlp.pipe` at its best batch size
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import spacy
import torch
from rounds import ROUNDS, Figure, faster, in_rounds, print_figures, quiet_machine, seconds
from transformers import AutoTokenizer, BertModel

from s2lct.builder.config import form_defaults
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.models import parsed_sentences as parse_texts
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.builder.models.shipped import encoder_path
from s2lct.builder.models.spacy_tagger import embedded_pipeline
from s2lct.builder.records import MASK, MaskedSentence
from s2lct.builder.stages.mask import fill, mask

BARE_BATCH = 32
PIPE_BATCHES = (64, 256, 1_000)
FILLED_A_ROUND, PARSED_A_ROUND, TAGGED_A_ROUND = 512, 128, 1_000


def sentences_of_rounds(size: int, rounds: int) -> list[list[str]]:
    """So many sentences of the embedded corpus for each round, spread over it."""
    texts = [sentence.text for sentence in read_corpus("embedded").sentences]
    spread = texts[:: max(1, len(texts) // (size * rounds))]
    turns = itertools.cycle(spread)
    return [list(itertools.islice(turns, size)) for _ in range(rounds)]


def bare_batches(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    """Texts of like lengths together, padded."""
    pieces = sorted(tokenizer(list(texts))["input_ids"], key=len)
    return [
        tokenizer.pad({"input_ids": pieces[start : start + BARE_BATCH]}, return_tensors="pt")
        for start in range(0, len(pieces), BARE_BATCH)
    ]


def bare_encoder() -> torch.nn.Module:
    """The encoder under parser and masked language model, as `transformers` has it."""
    return BertModel.from_pretrained(encoder_path()).eval()


def forward(encoder: torch.nn.Module, batches: Sequence[Any]) -> None:
    with torch.inference_mode():
        for batch in batches:
            encoder(**batch)


def part_fill(rounds: int) -> Figure:
    model = load_masked_language_model()
    assert isinstance(model, TransformersMaskedLM)
    encoder = bare_encoder()
    assert next(encoder.parameters()).dtype == torch.float32
    masked = iter(masked_sentences(FILLED_A_ROUND * rounds))
    parts = [list(itertools.islice(masked, FILLED_A_ROUND)) for _ in range(rounds)]
    token = str(model.tokenizer.mask_token)
    bare = [
        bare_batches(model.tokenizer, [one.text.replace(MASK, token) for one in part])
        for part in parts
    ]
    ways: dict[str, Callable[[int], object]] = {
        "ours": lambda turn: fill(parts[turn], model, suggestions=30),
        "bare": lambda turn: forward(encoder, bare[turn]),
    }
    times = in_rounds(ways, rounds)
    what = f"fill over the bare encoder, {FILLED_A_ROUND} masked sentences a round"
    return faster(what, times["ours"], times["bare"], 0.8)


def masked_sentences(count: int) -> list[MaskedSentence]:
    """Masked sentences of as many sentences of the embedded corpus as it takes, all different."""
    grammar, tags = ReferenceGrammar.load(), form_defaults("fluent")["mask_tags"]
    tagger, parser = load_tagger(), load_parser()
    found: dict[str, MaskedSentence] = {}
    for texts in sentences_of_rounds(64, 60):
        for parsed in parse_texts(texts, tagger, parser):
            if parsed is not None:
                drawn = mask(
                    parsed.text,
                    parsed,
                    grammar,
                    max_sentences=10,
                    masks_per_sentence=1,
                    tags=tags,
                    random_seed=0,
                )
                found.update((one.text, one) for one in drawn)
        if len(found) >= count:
            break
    return list(found.values())[:count]


def part_parse(rounds: int) -> Figure:
    parser, tagger = load_parser(), load_tagger()
    texts = sentences_of_rounds(PARSED_A_ROUND, rounds)
    tokens = [tagger.tag(part) for part in texts]
    encoder = bare_encoder()
    tokenizer = AutoTokenizer.from_pretrained(encoder_path())
    batches = [bare_batches(tokenizer, part) for part in texts]
    ways: dict[str, Callable[[int], object]] = {
        "ours": lambda turn: parser.parse(tokens[turn]),
        "bare": lambda turn: forward(encoder, batches[turn]),
    }
    times = in_rounds(ways, rounds)
    what = f"parse over the bare encoder, {PARSED_A_ROUND} sentences a round"
    return faster(what, times["ours"], times["bare"], 0.7)


def part_tag(rounds: int) -> Figure:
    tagger = load_tagger()
    nlp = spacy.load(embedded_pipeline(), exclude=["parser", "senter", "ner"])
    texts = sentences_of_rounds(TAGGED_A_ROUND, rounds)

    def piped(part: Sequence[str], size: int) -> None:
        for _ in nlp.pipe(part, batch_size=size):
            pass

    piped(texts[0], PIPE_BATCHES[0])
    best = min(PIPE_BATCHES, key=lambda size: seconds(lambda: piped(texts[0], size)))
    ways: dict[str, Callable[[int], object]] = {
        "ours": lambda turn: tagger.tag(texts[turn]),
        "bare": lambda turn: piped(texts[turn], best),
    }
    times = in_rounds(ways, rounds)
    what = f"tag over nlp.pipe in batches of {best}, {TAGGED_A_ROUND:,} sentences a round"
    return faster(what, times["ours"], times["bare"], 0.9)


PARTS: dict[str, Callable[[int], Figure]] = {
    "fill": part_fill,
    "parse": part_parse,
    "tag": part_tag,
}


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    arguments.add_argument("--part", choices=PARTS, action="append", help="only this part")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    options = arguments.parse_args()
    with quiet_machine():
        figures = [PARTS[part](options.rounds) for part in options.part or PARTS]
    print_figures(f"a build's stages, {torch.get_num_threads()} threads", figures)


if __name__ == "__main__":
    main()
