"""Coverage metrics against slow, obvious implementations, of suites alone and together."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.coverage.criteria import (
    CRITERIA,
    SECTIONS,
    Criterion,
    SectionCoverage,
    build_criteria,
)
from s2lct.analysis.coverage.encoder import Activations, EncoderModel, load_encoder
from s2lct.analysis.coverage.measure import cover_texts, read_reference, texts_of_suite
from s2lct.analysis.coverage.wimask import Masks, vocabulary_of
from s2lct.cli.main import app
from s2lct.errors import AnalysisError

runner = CliRunner(env={"COLUMNS": "200"})
pytestmark = pytest.mark.usefixtures("own_cache")

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
    "Two brothers travel to the coast, and then the second half is a horrible and boring chase.",
    "The plot is lovely.",
    "A dull film.",
    "It is not a bad film, they say, but the story is stupid, stupid, stupid.",
]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from s2lct.builder.models.shipped import encoder_path

    return AutoTokenizer.from_pretrained(encoder_path())


def tiny(architecture: str, tokenizer: Any, **options: Any) -> Any:
    """A tiny classifier with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    sizes |= {"intermediate_size": 20, "max_position_embeddings": 64}
    options |= {
        "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                       "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True},
        "gpt2": {"pad_token_id": 0, "n_head": 3},
        "t5": {"decoder_start_token_id": 0},
    }.get(architecture, {})  # fmt: skip
    options = {"vocab_size": len(tokenizer), "initializer_range": 0.5, **sizes, **options}
    config = AutoConfig.for_model(architecture, **options)
    return AutoModelForSequenceClassification.from_config(config)


@pytest.fixture(scope="session", params=ARCHITECTURES)
def encoder(request: pytest.FixtureRequest, tokenizer: Any) -> EncoderModel:
    return EncoderModel(tokenizer, tiny(request.param, tokenizer), request.param)


@pytest.fixture(scope="session")
def bert(tokenizer: Any) -> EncoderModel:
    return EncoderModel(tokenizer, tiny("bert", tokenizer), "bert")


RUN: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {}


def plainly_run(encoder: EncoderModel, text: str) -> tuple[list[Any], list[Any]]:
    """Hidden states and attention weights of one text: nested lists of Python floats."""
    import torch

    if (encoder.name, text) not in RUN:
        with torch.no_grad():
            outputs = encoder.model(
                **encoder.tokenizer(text, return_tensors="pt", return_token_type_ids=False),
                output_hidden_states=True,
                output_attentions=True,
            )
        RUN[encoder.name, text] = (
            [layer[0].tolist() for layer in outputs.hidden_states],
            [layer[0].tolist() for layer in outputs.attentions],
        )
    return RUN[encoder.name, text]


def criteria_of(encoder: EncoderModel) -> dict[str, Criterion]:
    return build_criteria(CRITERIA, encoder, REFERENCE, masks=random_masks(encoder))


def random_masks(encoder: EncoderModel) -> Masks:
    pieces = vocabulary_of(encoder, REFERENCE, 25)
    rng, size = np.random.default_rng(3), len(pieces) + 1
    return Masks(pieces, rng.random(size) < 0.6, rng.random((size, size)) < 0.4)


def test_boundary_coverage_is_what_a_slow_loop_counts(encoder: EncoderModel) -> None:
    criteria = build_criteria(["boundary"], encoder, REFERENCE)
    coverage = cover_texts(criteria, encoder, TESTS)["boundary"]
    run = {text: plainly_run(encoder, text)[0] for text in {*REFERENCE, *TESTS}}
    upper = lower = 0
    for layer in (1, 2):
        for dim in range(12):
            values = {text: [row[dim] for row in run[text][layer]] for text in run}
            low = min(min(values[text]) for text in REFERENCE)
            high = max(max(values[text]) for text in REFERENCE)
            upper += any(value > high for text in TESTS for value in values[text])
            lower += any(value < low for text in TESTS for value in values[text])
    assert upper + lower > 0
    assert coverage.figures == {"BoundCov": (upper + lower) / (2 * 24), "SActCov": upper / 24}


def slow_sections(encoder: EncoderModel, masks: Masks | None) -> float:
    """COVER and MNCOVER, a neuron and a value at a time, from the docstring's words."""

    def values_of(text: str) -> Iterator[tuple[Any, float, bool]]:
        """(neuron, value, whether the masks let it count)."""
        hidden, attentions = plainly_run(encoder, text)
        pieces = encoder.tokenizer.tokenize(text, add_special_tokens=True)
        listed = masks.pieces if masks else ()
        words = [listed.index(p) if p in listed else len(listed) for p in pieces]
        for layer in (0, 1, 2):
            for t, row in enumerate(hidden[layer]):
                counts = not masks or bool(masks.words[words[t]])
                for dim, value in enumerate(row):
                    yield ("word", layer, t, dim), value, counts
            for head, matrix in enumerate(attentions[layer - 1] if layer else []):
                for i, row in enumerate(matrix):
                    for j, value in enumerate(row):
                        counts = not masks or bool(masks.pairs[words[i], words[j]])
                        yield ("pair", layer, head, i, j), value, counts

    ranges: dict[Any, list[float]] = {}
    for text in REFERENCE:
        for neuron, value, _ in values_of(text):
            ranges.setdefault(neuron, []).append(value)
    cut = {n: (min(v), max(v)) for n, v in ranges.items() if min(v) < max(v)}
    covered = set()
    for text in TESTS:
        for neuron, value, counts in values_of(text):
            if neuron in cut and counts:
                low, high = cut[neuron]
                if low <= value <= high:
                    section = min(int((value - low) * 10 / (high - low)), 9)
                    covered.add((neuron, section))
    return len(covered) / (10 * (128 * 12 * 3 + 128 * 128 * 2 * 3))


def test_cover_and_mncover_are_what_a_slow_loop_counts(encoder: EncoderModel) -> None:
    states = cover_texts(criteria_of(encoder), encoder, TESTS)
    for name, masks in (("cover", None), ("mncover", random_masks(encoder))):
        assert states[name].name == name.upper()
        assert states[name].value == pytest.approx(slow_sections(encoder, masks), rel=1e-13)
    assert states["mncover"].value < states["cover"].value


def stub(layers: int = 1, width: int = 1, heads: int = 1) -> Any:
    """What metrics ask of an encoder."""
    config = SimpleNamespace(hidden_size=width, num_attention_heads=heads)
    return SimpleNamespace(
        layer_count=layers,
        model=SimpleNamespace(config=config),
        token_ids=lambda text: [0],
    )


def test_the_paper_counts_the_neurons_of_bert_base() -> None:
    """1,277,952 word-level neurons and 2,359,296 of attention, of which ten sections each."""
    coverage = SectionCoverage(stub(12, 768, 12), ["a"])
    assert coverage.denominator == 10 * (1_277_952 + 2_359_296)


def made_up(*hidden: float) -> Activations:
    """One text's activations: a value a token in the only layer, and a head's weights."""
    states = np.array([[value] for value in hidden], dtype=np.float32)
    weights = np.full((1, len(states), len(states)), 1 / len(states), dtype=np.float32)
    return Activations(np.arange(len(states)), (states, states), (weights,), np.zeros(2, "f4"))


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.floats(-1e6, 1e6, width=32)] * 3))
@example((0.0, 10.0, 10.0))
@example((0.0, 10.0, 1.0))
def test_every_value_within_a_range_has_one_section(bounds: tuple[float, float, float]) -> None:
    (low, high), value = sorted(bounds[:2]), bounds[2]
    coverage = SectionCoverage(stub(), ["a"])
    words = coverage.low.size - 1
    coverage.low[:words], coverage.high[:words] = low, high
    coverage.low[words:] = coverage.high[words:] = 1
    # A word-level neuron in each of two layers; an attention neuron that never varied has none.
    sections = [flag % SECTIONS for flag in coverage.flags_of(made_up(value)).tolist()]
    if low <= value <= high and low < high:
        section = min(int((value - low) * SECTIONS / (high - low)), SECTIONS - 1)
        assert sections == [section] * 2
    else:
        assert not sections


def test_merging_and_permuting_change_nothing_and_growth_is_what_adding_adds(
    bert: EncoderModel,
) -> None:
    criteria = criteria_of(bert)
    whole, backwards, first, second = (
        cover_texts(criteria, bert, texts) for texts in (TESTS, TESTS[::-1], TESTS[:4], TESTS[4:])
    )
    for name, criterion in criteria.items():
        assert whole[name].value > 0
        assert criterion.value == 0
        first[name].merge(second[name])
        assert np.array_equal(first[name].covered, whole[name].covered)
        assert np.array_equal(backwards[name].covered, whole[name].covered)
        state = criterion.copy()
        for activations in bert.activations(TESTS):
            before, growth = state.value, state.growth(state.flags_of(activations))
            state.add(state.flags_of(activations))
            assert state.value == pytest.approx(before + growth, abs=1e-12)


@pytest.mark.parametrize("architecture", ["gpt2", "fnet", "t5"])
def test_models_that_are_no_encoders_with_attention_are_refused(
    tokenizer: Any, architecture: str
) -> None:
    with pytest.raises(AnalysisError, match=architecture):
        EncoderModel(tokenizer, tiny(architecture, tokenizer), architecture)


def test_the_embedded_models_are_looked_into_and_no_bit_depends_on_other_texts() -> None:
    import torch

    from s2lct.leaderboard.models.load import load_model
    from s2lct.leaderboard.models.model import probabilities_of

    encoder = load_encoder("embedded-2class")
    rows = probabilities_of(load_model("embedded-2class"), TESTS)
    backwards = list(encoder.activations(TESTS[::-1]))[::-1]
    for one, other, row in zip(encoder.activations(TESTS), backwards, rows, strict=True):
        assert (len(one.hidden_states), len(one.attentions)) == (7, 6)
        softmax = torch.softmax(torch.from_numpy(one.logits), dim=-1).numpy()
        assert softmax == pytest.approx(row, abs=1e-4)
        for layer, same_layer in zip(
            (*one.hidden_states, *one.attentions),
            (*other.hidden_states, *other.attentions),
            strict=True,
        ):
            assert np.array_equal(layer, same_layer)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return save_tiny_classifier(folder, hidden_size=12, num_attention_heads=3)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def checklist(tmp_path: Path) -> Path:
    about = {"test": "Q & A", "capability": "Negation", "type": "MFT"}
    rows = [
        {**about, "texts": [text], "expected": ["negative"]}
        for text in ("Is it dull? Yes", "Is it dull? Yes", "It isn't bad at all.")
    ]
    return write_lines(tmp_path / "mft.jsonl.gz", rows)


def test_pairs_of_texts_are_covered_as_pairs(bert: EncoderModel, tmp_path: Path) -> None:
    pairs = [("A dull film.", "A gray film."), ("It is lovely.", "It is fine."), ("A.", "B.")]
    rows = [{"text": a, "text_pair": b} for a, b in (*pairs, pairs[0])]
    assert texts_of_suite(str(write_lines(tmp_path / "pairs.jsonl", rows))) == pairs
    with pytest.raises(AnalysisError, match=r"other\.jsonl"):
        texts_of_suite(str(write_lines(tmp_path / "other.jsonl", [{"text": "a", "text_pair": ""}])))
    train = [{"text": text, "text_pair": "Awful."} for text in REFERENCE]
    corpus = f"pairs:{write_lines(tmp_path / 'train.jsonl', train)}"
    reference, held_out = read_reference(corpus, None, 0)
    assert not held_out
    criteria = build_criteria(["cover"], bert, reference)
    as_pairs, apart = (
        cover_texts(criteria, bert, texts)["cover"].value for texts in (pairs, sum(pairs, ()))
    )
    assert 0 < as_pairs != apart


def test_coverage_from_the_command_line(
    model_folder: Path, suite_folder: Path, corpus_path: Path, checklist: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(str(model_folder))
    random_masks(encoder).save(tmp_path / "masks.safetensors")
    arguments = [
        *("coverage", f"films={suite_folder}", str(checklist), "--model", str(model_folder)),
        *("--reference", f"csv:{corpus_path}", "--metric", "boundary,cover,mncover"),
        *("--masks", str(tmp_path / "masks.safetensors")),
    ]
    first = runner.invoke(app, arguments)
    assert first.exit_code == 0, first.output
    for expected in ("films + mft + random sentences", "BoundCov", "MNCOVER"):
        assert expected in first.output
    assert runner.invoke(app, arguments).stdout == first.stdout


def test_wrong_options_are_refused(
    bert: EncoderModel, model_folder: Path, corpus_path: Path, checklist: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.safetensors"
    replace(random_masks(bert), about={"weights_sha256": "0"}).save(other)
    command = ["coverage", str(checklist), "--model", str(model_folder)]
    command += ["--reference", f"csv:{corpus_path}"]
    for options, problem in (
        (["--metric", "speed"], "--metric speed"),
        (["--metric", "mncover"], "masks"),
        (["--metric", "mncover", "--masks", "nowhere.safetensors"], "--masks"),
        (["--metric", "mncover", "--masks", str(other)], "other.safetensors"),
        (["--metric", "mncover", "--masks", str(checklist)], checklist.name),
    ):
        done = runner.invoke(app, [*command, *options])
        assert done.exit_code in (1, 2), done.output
        assert problem in done.output.replace("\n", "")
