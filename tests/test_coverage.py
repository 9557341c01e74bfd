"""Coverage metrics against slow, obvious implementations, at edges, merged, saved and refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2lct.analysis.activations import Activations, EncoderModel, Vocabulary, load_encoder
from s2lct.analysis.boundary import BoundaryCoverage, Bounds, NeuronValues
from s2lct.analysis.coverage import Coverage, Layers
from s2lct.analysis.errors import AnalysisError
from s2lct.analysis.masks import Masks
from s2lct.analysis.multisection import SectionCoverage, SectionNeurons, Sections
from s2lct.analysis.neuron_coverage import NeuronCoverage, TopNeuronCoverage

ARCHITECTURES = ("bert", "roberta", "distilbert", "deberta-v2")
REFERENCE = [
    "A dull film.",
    "The plot is a stupid and ugly mess, and the jokes are worse.",
    "The director tells a beautiful story with great warmth.",
    "Charming, happy and beautiful.",
    "That is a photograph of the studio.",
    "Awful.",
    "I used to dislike it and would tell people so, but now I like it very much indeed.",
    "The music is lovely.",
]
TESTS = [
    "Is the film dull? Yes.",
    "The music isn't lovely.",
    "Dull.",
    "The music is awful.",
    "Two brothers travel to the coast, and then the second half is a horrible and boring chase.",
    "The plot is lovely.",
    "A dull film.",
    "Is the plot dull? No.",
    "It is not a bad film, they say, but the story is stupid, stupid, stupid.",
]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from s2lct.builder.models.encoder import encoder_path

    return AutoTokenizer.from_pretrained(encoder_path())


def tiny(architecture: str, tokenizer: Any, **options: Any) -> Any:
    """A tiny classifier with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 20,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
    }
    if architecture == "deberta-v2":
        sizes |= {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 8,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
        }
    if architecture == "gpt2":
        sizes |= {"pad_token_id": 0, "n_head": 3}
    config = AutoConfig.for_model(architecture, **sizes, **options)
    return AutoModelForSequenceClassification.from_config(config)


@pytest.fixture(scope="session", params=ARCHITECTURES)
def encoder(request: pytest.FixtureRequest, tokenizer: Any) -> EncoderModel:
    return EncoderModel.of(tokenizer, tiny(request.param, tokenizer), request.param)


@pytest.fixture(scope="session")
def bert(tokenizer: Any) -> EncoderModel:
    return EncoderModel.of(tokenizer, tiny("bert", tokenizer), "bert")


RUN: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {}


def plainly_run(encoder: EncoderModel, text: str) -> tuple[list[Any], list[Any]]:
    """Hidden states and attention weights of one text: nested lists of Python floats."""
    import torch

    if (encoder.name, text) in RUN:
        return RUN[encoder.name, text]
    with torch.no_grad():
        given = encoder.model(
            **encoder.tokenizer(text, return_tensors="pt", return_token_type_ids=False),
            output_hidden_states=True,
            output_attentions=True,
        )
    RUN[encoder.name, text] = (
        [layer[0].tolist() for layer in given.hidden_states],
        [layer[0].tolist() for layer in given.attentions],
    )
    return RUN[encoder.name, text]


def batched(encoder: EncoderModel, texts: Sequence[str], tokens: int) -> Iterator[Activations]:
    yield from encoder.activations(texts, batch_tokens=tokens)


BATCHES = (1, 30, 77, 100_000)


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize("tokens", ["all", "cls"])
def test_boundary_coverage_is_what_a_slow_loop_counts(
    encoder: EncoderModel, batch_tokens: int, tokens: Any
) -> None:
    neurons = NeuronValues(Layers((0, 1, 2)), tokens)
    bounds = Bounds.of_texts(encoder, REFERENCE, neurons)
    coverage = BoundaryCoverage(encoder.fingerprint, neurons, bounds)
    for batch in batched(encoder, TESTS, batch_tokens):
        coverage.update(batch)

    run = {text: plainly_run(encoder, text)[0] for text in {*REFERENCE, *TESTS}}
    upper = lower = 0
    for layer in range(3):
        for dim in range(12):

            def of(text: str, layer: int = layer, dim: int = dim) -> list[float]:
                rows = run[text][layer]
                return [row[dim] for row in (rows[:1] if tokens == "cls" else rows)]

            low = min(min(of(text)) for text in REFERENCE)
            high = max(max(of(text)) for text in REFERENCE)
            upper += any(value > high for text in TESTS for value in of(text))
            lower += any(value < low for text in TESTS for value in of(text))
    assert upper + lower > 0
    assert coverage.values == {"BoundCov": (upper + lower) / (2 * 36), "SActCov": upper / 36}


def slow_sections(
    encoder: EncoderModel,
    bins: int,
    weight: float,
    places: int,
    masks: Masks | None = None,
    vocabulary: Vocabulary | None = None,
) -> float:
    """COVER and MNCOVER, a neuron and a value at a time, from the docstring's words."""
    run = {text: plainly_run(encoder, text) for text in {*REFERENCE, *TESTS}}

    def entries(text: str, of: Vocabulary) -> list[int]:
        pieces = encoder.tokenizer.tokenize(text, add_special_tokens=True)
        known = {piece: number for number, piece in enumerate(of.pieces)}
        return [known.get(piece, len(of.pieces)) for piece in pieces]

    def values_of(text: str) -> Iterator[tuple[Any, float, bool]]:
        """(neuron, value, whether the masks let it count)."""
        hidden, attentions = run[text]
        at = list(range(len(hidden[0]))) if vocabulary is None else entries(text, vocabulary)
        words = entries(text, masks.vocabulary) if masks else at
        last = places if vocabulary is None else len(at)
        for layer in (1, 2):
            for t, row in enumerate(hidden[layer][:last]):
                counts = not masks or bool(masks.words[words[t]])
                for dim, value in enumerate(row):
                    yield ("word", layer, at[t], dim), value, counts
            for head, matrix in enumerate(attentions[layer - 1]):
                for i, row in enumerate(matrix[:last]):
                    for j, value in enumerate(row[:last]):
                        counts = not masks or bool(masks.pairs[words[i], words[j]])
                        yield ("pair", layer, head, at[i], at[j]), value, counts

    ranges: dict[Any, list[float]] = {}
    for text in REFERENCE:
        for neuron, value, _ in values_of(text):
            ranges.setdefault(neuron, []).append(value)
    cut = {n: (min(v), max(v)) for n, v in ranges.items() if min(v) < max(v)}
    covered = set()
    for text in TESTS:
        for neuron, value, counts in values_of(text):
            if neuron not in cut or not counts:
                continue
            low, high = cut[neuron]
            if low <= value <= high:
                section = min(int((value - low) * bins / (high - low)), bins - 1)
                covered.add((neuron, section))

    def exists(neuron: Any) -> bool:
        if masks is None or vocabulary is None:
            return True
        return bool(masks.words[neuron[2]] if neuron[0] == "word" else masks.pairs[neuron[3:]])

    total = 0.0
    for neuron in filter(exists, cut):
        total += bins * (weight if neuron[0] == "pair" else 1)
    return sum(weight if neuron[0] == "pair" else 1.0 for neuron, _ in covered) / total


def some_masks(vocabulary: Vocabulary) -> Masks:
    rng = np.random.default_rng(3)
    size = vocabulary.size
    return Masks(vocabulary, rng.random(size) < 0.6, rng.random((size, size)) < 0.4)


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize(("bins", "weight", "places"), [(10, 1.0, 128), (3, 0.25, 7), (17, 2.0, 9)])
def test_cover_is_what_a_slow_loop_counts(
    encoder: EncoderModel, batch_tokens: int, bins: int, weight: float, places: int
) -> None:
    sections = Sections.of_texts(encoder, REFERENCE, Layers((1, 2)), bins=bins, places=places)
    coverage = SectionCoverage.of_model(encoder, sections, attention_weight=weight)
    for batch in batched(encoder, TESTS, batch_tokens):
        coverage.update(batch)
    assert coverage.name == "COVER"
    assert coverage.value == pytest.approx(
        slow_sections(encoder, bins, weight, places), rel=1e-13
    )


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize("words", [False, True])
def test_mncover_is_what_a_slow_loop_counts(
    encoder: EncoderModel, batch_tokens: int, words: bool
) -> None:
    vocabulary = Vocabulary.of_texts(encoder.tokenizer, REFERENCE, 25)
    masks = some_masks(vocabulary)
    sections = Sections.of_texts(
        encoder, REFERENCE, Layers((1, 2)), vocabulary=vocabulary if words else None
    )
    coverage = SectionCoverage.of_model(encoder, sections, masks, 0.5)
    for batch in batched(encoder, TESTS, batch_tokens):
        coverage.update(batch)
    assert coverage.name == "MNCOVER"
    slow = slow_sections(encoder, 10, 0.5, 128, masks, vocabulary if words else None)
    assert coverage.value == pytest.approx(slow, rel=1e-13)
    whole = SectionCoverage.of_model(encoder, sections, Masks.full(vocabulary), 0.5)
    plain = SectionCoverage.of_model(encoder, sections, None, 0.5)
    assert whole.cover(encoder, TESTS).value == plain.cover(encoder, TESTS).value
    if not words:
        assert coverage.value < plain.value
