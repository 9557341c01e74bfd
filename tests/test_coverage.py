"""Coverage metrics against slow, obvious implementations, at edges, merged, saved and refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2lct.analysis.coverage.criteria import (
    BoundaryCoverage,
    Coverage,
    NeuronCoverage,
    TopNeuronCoverage,
    parse_layers,
    set_ranges,
)
from s2lct.analysis.coverage.encoder import Activations, EncoderModel, load_encoder
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.coverage.sections import Convention, SectionCoverage
from s2lct.errors import AnalysisError

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
    return EncoderModel(tokenizer, tiny(request.param, tokenizer), request.param)


@pytest.fixture(scope="session")
def bert(tokenizer: Any) -> EncoderModel:
    return EncoderModel(tokenizer, tiny("bert", tokenizer), "bert")


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


def add(coverage: Coverage, found: Iterable[Activations]) -> None:
    for one in found:
        coverage.add(coverage.marks(one))


def sections_of(
    encoder: EncoderModel, masks: Masks | None = None, weight: float = 1.0, **options: Any
) -> SectionCoverage:
    """COVER or MNCOVER with ranges from the reference."""
    layers = options.pop("layers", LAYERS)
    coverage = SectionCoverage.unset(encoder, REFERENCE, layers, **options)
    set_ranges(encoder, REFERENCE, coverage)
    return coverage.weighed(encoder, masks, weight)


def boundary_of(
    encoder: EncoderModel, hidden: list[int], tokens: str = "all", *, units: int
) -> BoundaryCoverage:
    """BoundCov with bounds from the reference."""
    settings = {"layers": {"hidden": hidden, "pooler": False}, "tokens": tokens}
    coverage = BoundaryCoverage.unset(encoder.fingerprint, settings, units)
    set_ranges(encoder, REFERENCE, coverage)
    return coverage


def counted(**more: Any) -> dict[str, Any]:
    """Settings of coverage of active neurons."""
    return {"layers": LAYERS, "tokens": "all", "units": [12, 12], **more}


LAYERS = {"hidden": [1, 2], "pooler": False}
OF: dict[Convention, dict[str, Any]] = {
    "paper": {"convention": "paper", "layers": {"hidden": [0, 1, 2], "pooler": False}},
    "reached": {"convention": "reached"},
}
BATCHES = (1, 30, 77, 100_000)


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize("tokens", ["all", "cls"])
def test_boundary_coverage_is_what_a_slow_loop_counts(
    encoder: EncoderModel, batch_tokens: int, tokens: Any
) -> None:
    coverage = boundary_of(encoder, [0, 1, 2], tokens, units=36)
    add(coverage, encoder.activations(TESTS, batch_tokens=batch_tokens))

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
    convention: str = "reached",
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
        for layer in (0, 1, 2) if convention == "paper" else (1, 2):
            for t, row in enumerate(hidden[layer][:last]):
                counts = not masks or bool(masks.words[words[t]])
                for dim, value in enumerate(row):
                    yield ("word", layer, at[t], dim), value, counts
            for head, matrix in enumerate(attentions[layer - 1] if layer else []):
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
    if convention == "paper":
        total = bins * (places * 12 * 3 + weight * places * places * 2 * 3)
    return sum(weight if neuron[0] == "pair" else 1.0 for neuron, _ in covered) / total


def some_masks(vocabulary: Vocabulary) -> Masks:
    rng = np.random.default_rng(3)
    size = vocabulary.size
    return Masks(vocabulary, rng.random(size) < 0.6, rng.random((size, size)) < 0.4)


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize(
    ("bins", "weight", "places", "convention"),
    [
        (10, 1.0, 128, "paper"),
        (3, 0.25, 7, "paper"),
        (10, 1.0, 128, "reached"),
        (17, 2.0, 9, "reached"),
    ],
)
def test_cover_is_what_a_slow_loop_counts(
    encoder: EncoderModel,
    batch_tokens: int,
    bins: int,
    weight: float,
    places: int,
    convention: Convention,
) -> None:
    options = {"bins": bins, "places": places, **OF[convention]}
    coverage = sections_of(encoder, weight=weight, **options)
    add(coverage, encoder.activations(TESTS, batch_tokens=batch_tokens))
    assert coverage.name == "COVER"
    slow = slow_sections(encoder, bins, weight, places, convention=convention)
    assert coverage.value == pytest.approx(slow, rel=1e-13)


@pytest.mark.parametrize("convention", ["paper", "reached"])
def test_a_saved_state_names_its_convention(
    bert: EncoderModel, tmp_path: Path, convention: Convention
) -> None:
    coverage = sections_of(bert, **OF[convention])
    coverage.cover(bert, TESTS).save(tmp_path / "state.safetensors")
    read = Coverage.load(tmp_path / "state.safetensors")
    assert read.settings["convention"] == convention
    assert read.value == coverage.value
    other = sections_of(bert, **OF["reached" if convention == "paper" else "paper"])
    with pytest.raises(AnalysisError, match="other settings"):
        other.merge(read)


def test_the_paper_counts_the_neurons_of_bert_base() -> None:
    """1,277,952 word-level neurons and 2,359,296 of attention, of which ten sections each."""
    ranges = {
        f"{part}_{end}": np.full(shape, value, dtype=np.float32)
        for part, shape in (("words", (13, 2, 768)), ("pairs", (12, 12, 2, 2)))
        for end, value in (("low", 0), ("high", 1))
    }
    settings = {"convention": "paper", "counted_places": 128, "bins": 10, "places": 2}
    settings |= {"layers": {"hidden": list(range(13)), "pooler": False}, "vocabulary": None}
    coverage = SectionCoverage("m", settings | {"attention_weight": 1.0, "masked": None}, ranges)
    assert coverage.total == 10 * (1_277_952 + 2_359_296)


def test_neurons_of_words_are_not_the_papers(bert: EncoderModel) -> None:
    with pytest.raises(AnalysisError, match="neurons are of places"):
        sections_of(bert, vocabulary=Vocabulary.of_texts(bert, REFERENCE, 25))


@pytest.mark.parametrize("batch_tokens", BATCHES)
@pytest.mark.parametrize(
    ("words", "convention"), [(False, "paper"), (False, "reached"), (True, "reached")]
)
def test_mncover_is_what_a_slow_loop_counts(
    encoder: EncoderModel, batch_tokens: int, words: bool, convention: Convention
) -> None:
    vocabulary = Vocabulary.of_texts(encoder, REFERENCE, 25)
    masks = some_masks(vocabulary)
    entries = vocabulary if words else None
    options = {"vocabulary": entries, **OF[convention]}
    coverage = sections_of(encoder, masks, 0.5, **options)
    add(coverage, encoder.activations(TESTS, batch_tokens=batch_tokens))
    assert coverage.name == "MNCOVER"
    slow = slow_sections(encoder, 10, 0.5, 128, masks, entries, convention)
    assert coverage.value == pytest.approx(slow, rel=1e-13)
    size = vocabulary.size
    full = Masks(vocabulary, np.ones(size, dtype=bool), np.ones((size, size), dtype=bool))
    whole = sections_of(encoder, full, 0.5, **options)
    plain = sections_of(encoder, None, 0.5, **options)
    assert whole.cover(encoder, TESTS).value == plain.cover(encoder, TESTS).value
    if not words:
        assert coverage.value < plain.value


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9])
def test_neuron_coverage_is_what_a_slow_loop_counts(
    encoder: EncoderModel, threshold: float
) -> None:
    coverage = NeuronCoverage(encoder.fingerprint, counted(threshold=threshold), {})
    top = TopNeuronCoverage(encoder.fingerprint, counted(k=3), {})
    coverage.cover(encoder, TESTS)
    top.cover(encoder, TESTS)
    active, first = set(), set()
    for text in TESTS:
        hidden, _ = plainly_run(encoder, text)
        for layer in (1, 2):
            means = [sum(column) / len(column) for column in zip(*hidden[layer], strict=True)]
            low, high = min(means), max(means)
            active |= {
                (layer, n) for n, v in enumerate(means) if (v - low) / (high - low) > threshold
            }
            first |= {(layer, n) for n in sorted(range(12), key=lambda n: -means[n])[:3]}
    assert coverage.values == {"NC": len(active) / 24}
    assert top.values == {"TKNC": len(first) / 24}


def test_the_pooler_has_neurons_where_there_is_one(encoder: EncoderModel) -> None:
    if encoder.name == "roberta":
        assert encoder.pooler is not None
    settings = {"layers": parse_layers("pooler,embeddings", encoder), "tokens": "all"}
    coverage = BoundaryCoverage.unset(encoder.fingerprint, settings, 24)
    set_ranges(encoder, REFERENCE, coverage)
    assert (coverage.constants["low"] < coverage.constants["high"]).all()
    alone = {one.number: one.pooled for one in encoder.activations(TESTS, batch_tokens=1)}
    for one in encoder.activations(TESTS):
        assert one.pooled is not None
        assert np.array_equal(one.pooled, alone[one.number])


def made_up(hidden: Sequence[Sequence[float]], attention: Sequence[Sequence[float]]) -> Activations:
    """One text's activations: a layer of hidden states (tokens, dim), a head's weights."""
    states = np.array(hidden, dtype=np.float32)
    return Activations(
        number=0,
        input_ids=np.arange(len(states)),
        hidden=(np.zeros_like(states), states),
        attentions=(np.array([attention], dtype=np.float32),),
        pooled=None,
        logits=np.zeros(2, dtype=np.float32),
    )


def bounded(low: float, high: float) -> BoundaryCoverage:
    """One neuron with the bounds given."""
    ends = {"low": np.array([low], np.float32), "high": np.array([high], np.float32)}
    settings = {"layers": {"hidden": [1], "pooler": False}, "tokens": "all"}
    return BoundaryCoverage("", settings, ends)


@pytest.mark.parametrize(
    ("value", "corners"),
    [(1.0, 0), (3.0, 0), (np.nextafter(np.float32(3), np.float32(4)), 1), (0.999, 1), (2.0, 0)],
)
def test_a_value_equal_to_a_bound_is_within(value: float, corners: int) -> None:
    coverage = bounded(1.0, 3.0)
    add(coverage, [made_up([[2.0], [value]], [[0.5, 0.5], [0.5, 0.5]])])
    assert coverage.value == corners / 2
    assert coverage.values["SActCov"] == (corners if value > 3 else 0)


def test_a_neuron_that_never_varied_is_beyond_its_bounds_at_any_other_value() -> None:
    coverage = bounded(1.0, 1.0)
    add(coverage, [made_up([[1.0]], [[1.0]])])
    assert coverage.value == 0
    add(coverage, [made_up([[1.5]], [[1.0]]), made_up([[0.5]], [[1.0]])])
    assert coverage.values == {"BoundCov": 1.0, "SActCov": 1.0}


def one_range(low: float, high: float, bins: int = 4) -> SectionCoverage:
    """One place; one word neuron with the range given; an attention neuron that never varied."""
    settings = {"layers": {"hidden": [1], "pooler": False}, "bins": bins, "places": 1}
    settings |= {"vocabulary": None, "attention_weight": 1.0, "masked": None}
    one = np.ones((1, 1, 1, 1), dtype=np.float32)
    constants = {
        "words_low": np.full((1, 1, 1), low, dtype=np.float32),
        "words_high": np.full((1, 1, 1), high, dtype=np.float32),
        "pairs_low": one,
        "pairs_high": one,
    }
    return SectionCoverage("", settings, constants)


@pytest.mark.parametrize(
    ("value", "section"),
    [
        (0.0, 0),
        (0.999, 0),
        (1.0, 1),  # an inner edge belongs to the upper section
        (2.0, 2),
        (3.0, 3),
        (4.0, 3),  # the upper bound belongs to the last
        (np.nextafter(np.float32(4), np.float32(5)), None),
        (-1e-6, None),
    ],
)
def test_sections_at_their_edges(value: float, section: int | None) -> None:
    coverage = one_range(0.0, 4.0)
    add(coverage, [made_up([[value]], [[1.0]])])
    assert coverage.state["words"].item() == (0 if section is None else 1 << section)
    # The attention neuron never varied: it has no sections to cover, and none to miss.
    assert coverage.value == (0 if section is None else 1 / 4)


def test_without_a_neuron_that_varied_there_is_nothing_to_cover() -> None:
    coverage = one_range(2.0, 2.0)
    with pytest.raises(AnalysisError, match="no neuron has a range"):
        _ = coverage.value


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6, width=32),
            st.floats(-1e6, 1e6, width=32),
            st.floats(-1e6, 1e6, width=32),
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 64),
)
def test_every_value_within_a_range_has_one_section(
    drawn: list[tuple[float, float, float]], bins: int
) -> None:
    for one, other, value in drawn:
        low, high = sorted((one, other))
        coverage = one_range(low, high, bins)
        add(coverage, [made_up([[value]], [[1.0]])])
        mark = int(coverage.state["words"].item())
        assert mark.bit_count() == (low <= value <= high and low < high)
        assert mark < 1 << bins


def all_metrics(encoder: EncoderModel) -> list[Coverage]:
    vocabulary = Vocabulary.of_texts(encoder, REFERENCE, 25)
    of_words: dict[str, Any] = {"vocabulary": vocabulary, "convention": "reached"}
    print_ = encoder.fingerprint
    return [
        boundary_of(encoder, [1, 2], units=24),
        sections_of(encoder),
        sections_of(encoder, None, 0.3, **of_words),
        sections_of(encoder, some_masks(vocabulary)),
        sections_of(encoder, some_masks(vocabulary), **of_words),
        NeuronCoverage(print_, counted(threshold=0.7), {}),
        TopNeuronCoverage(print_, counted(k=2), {}),
    ]


def same(one: Coverage, other: Coverage) -> bool:
    return (
        one.identity() == other.identity()
        and one.values == other.values
        and one.state.keys() == other.state.keys()
        and all(np.array_equal(one.state[part], other.state[part]) for part in one.state)
    )


def test_merging_resuming_and_permuting_change_nothing(bert: EncoderModel, tmp_path: Path) -> None:
    for metric in all_metrics(bert):
        whole = metric.emptied().cover(bert, TESTS)
        assert whole.value > 0
        assert metric.value == 0
        merged = metric.emptied().cover(bert, TESTS[:4])
        merged.merge(metric.emptied().cover(bert, TESTS[4:]))
        assert same(merged, whole)
        assert merged.texts == len(TESTS)
        assert same(metric.emptied().cover(bert, TESTS[::-1]), whole)
        assert same(metric.emptied().cover(bert, TESTS * 2), whole)
        halfway = metric.emptied().cover(bert, TESTS[:4])
        halfway.save(tmp_path / "half.safetensors")
        resumed = Coverage.load(tmp_path / "half.safetensors").cover(bert, TESTS[4:])
        assert same(resumed, whole)
        resumed.save(tmp_path / "resumed.safetensors")
        merged.save(tmp_path / "merged.safetensors")
        assert (tmp_path / "resumed.safetensors").read_bytes() == (
            tmp_path / "merged.safetensors"
        ).read_bytes()


def test_ranges_widened_by_another_half_are_those_of_the_whole(bert: EncoderModel) -> None:
    vocabulary = Vocabulary.of_texts(bert, REFERENCE, 25)
    units = {"layers": LAYERS, "tokens": "all"}
    halves = [
        BoundaryCoverage.unset(bert.fingerprint, units, 24),
        SectionCoverage.unset(bert, REFERENCE, LAYERS, vocabulary=vocabulary, convention="reached"),
    ]
    for texts in (REFERENCE[:4], REFERENCE[4:]):
        set_ranges(bert, texts, *halves)
    boundary, sections = halves
    assert boundary.identity() == boundary_of(bert, [1, 2], units=24).identity()
    whole = sections_of(bert, vocabulary=vocabulary, convention="reached")
    assert sections.identity() == whole.identity()


def test_growth_is_what_adding_adds(bert: EncoderModel) -> None:
    for metric in all_metrics(bert):
        state = metric.emptied()
        for marks in bert.in_order(TESTS, metric.marks, window=4):
            before, growth = state.value, state.growth(marks)
            state.add(marks)
            assert state.value == pytest.approx(before + growth, abs=1e-12)
        assert same(state, metric.emptied().cover(bert, TESTS))


def test_states_of_other_settings_or_models_do_not_merge(
    bert: EncoderModel, encoder: EncoderModel
) -> None:
    one = NeuronCoverage(bert.fingerprint, counted(threshold=0.5), {})
    with pytest.raises(AnalysisError, match="other settings"):
        one.merge(NeuronCoverage(bert.fingerprint, counted(threshold=0.6), {}))
    if encoder.name != "bert":
        with pytest.raises(AnalysisError, match="another model"):
            one.cover(encoder, TESTS)


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_file_that_holds_no_coverage_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "state.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AnalysisError, match="cannot be read"):
        Coverage.load(path)
    with pytest.raises(AnalysisError, match="cannot be read"):
        Masks.load(path)


def test_masks_come_back_from_their_file(bert: EncoderModel, tmp_path: Path) -> None:
    masks = replace(some_masks(Vocabulary.of_texts(bert, REFERENCE, 13)), about={"model": "bert"})
    masks.save(tmp_path / "masks.safetensors")
    back = Masks.load(tmp_path / "masks.safetensors")
    assert back.vocabulary == masks.vocabulary
    assert back.about == {"model": "bert"}
    assert np.array_equal(back.words, masks.words)
    assert np.array_equal(back.pairs, masks.pairs)


def test_a_decoder_is_refused(tokenizer: Any) -> None:
    with pytest.raises(AnalysisError, match=r"decoder-only") as told:
        EncoderModel(tokenizer, tiny("gpt2", tokenizer), "gpt2")
    assert "BERT" in told.value.hint


@pytest.mark.parametrize(
    ("architecture", "told"), [("fnet", "returns no attention weights"), ("t5", "is no encoder")]
)
def test_models_without_attention_or_with_a_decoder_are_refused(
    tokenizer: Any, architecture: str, told: str
) -> None:
    with pytest.raises(AnalysisError, match=told):
        EncoderModel(tokenizer, tiny(architecture, tokenizer), architecture)


def test_a_word_list_has_no_neurons() -> None:
    with pytest.raises(AnalysisError, match="no neurons"):
        load_encoder("vader")


def test_attention_that_returns_no_weights_is_switched_and_said(tokenizer: Any) -> None:
    model = tiny("bert", tokenizer, attn_implementation="sdpa")
    encoder = EncoderModel(tokenizer, model, "tiny")
    assert model.config._attn_implementation == "eager"
    assert "sdpa" in encoder.notes[0]
    assert "eager" in encoder.notes[0]
    eager = EncoderModel(tokenizer, tiny("bert", tokenizer, attn_implementation="eager"))
    assert eager.notes == []


def test_a_reference_corpus_of_one_sentence_is_refused(bert: EncoderModel) -> None:
    with pytest.raises(AnalysisError, match="1 sentence"):
        set_ranges(bert, ["Once.", "Once."], boundary_of(bert, [1, 2], units=24))
    with pytest.raises(AnalysisError, match="1 sentence"):
        set_ranges(bert, ["Once."], SectionCoverage.unset(bert, ["Once."], LAYERS))


def test_a_vocabulary_larger_than_memory_is_refused_with_the_number(bert: EncoderModel) -> None:
    many = Vocabulary(tuple(f"word{number}" for number in range(999_999)))
    with pytest.raises(AnalysisError, match=r"1,000,000 words.*GB") as told:
        SectionCoverage.unset(bert, REFERENCE, LAYERS, vocabulary=many, convention="reached")
    assert "--vocab" in told.value.hint


@pytest.mark.parametrize("layers", ["7", "0", "x", "1-9", "-1", "2-1", "encoder,8"])
def test_layers_that_a_model_lacks_are_refused(bert: EncoderModel, layers: str) -> None:
    with pytest.raises(AnalysisError, match="no such layer"):
        parse_layers(layers, bert)


def test_layers_are_named_in_many_ways(bert: EncoderModel) -> None:
    assert parse_layers("encoder", bert) == LAYERS
    assert parse_layers("embeddings, 2", bert) == {"hidden": [0, 2], "pooler": False}
    assert parse_layers("1-2,pooler", bert) == {"hidden": [1, 2], "pooler": True}


def test_a_vocabulary_holds_the_commonest_pieces(bert: EncoderModel) -> None:
    vocabulary = Vocabulary.of_texts(bert, ["a b a", "a c b"], 4)
    assert vocabulary.pieces == ("a", "[CLS]", "[SEP]", "b")
    assert vocabulary.size == 5
    entries = vocabulary.table(bert.tokenizer)[bert.token_ids("a c")]
    assert entries.tolist() == [1, 0, 4, 2]


def test_using_the_tokenizer_leaves_the_fingerprint_as_it_is(tokenizer: Any) -> None:
    from copy import deepcopy

    own, model = deepcopy(tokenizer), tiny("bert", tokenizer)
    before = EncoderModel(own, model).fingerprint
    own(["one", "two words"], truncation=True, max_length=7, padding=True)
    assert EncoderModel(own, model).fingerprint == before
    assert own.backend_tokenizer.truncation["max_length"] == 7


def test_long_texts_are_cut_where_the_model_ends(bert: EncoderModel) -> None:
    (one,) = bert.activations(["good " * 500])
    assert len(one.input_ids) == 64


@pytest.mark.parametrize("name", ["embedded-2class", "embedded-3class"])
def test_the_embedded_models_are_looked_into(name: str) -> None:
    import torch

    from s2lct.leaderboard.models.load import load_classifier

    encoder = load_encoder(name)
    ((numbers, rows),) = load_classifier(name).probabilities(TESTS)
    said = rows[np.argsort(numbers)]
    found = np.zeros_like(said)
    for one in encoder.activations(TESTS):
        found[one.number] = torch.softmax(torch.from_numpy(one.logits), dim=-1).numpy()
    assert len(one.hidden) == 7
    assert len(one.attentions) == 6
    assert found == pytest.approx(said, abs=1e-4)


@pytest.mark.parametrize("batch_tokens", [1, 150])
def test_no_bit_of_the_embedded_encoder_depends_on_the_batch(batch_tokens: int) -> None:
    encoder = load_encoder("embedded-2class")
    alone = {one.number: one for one in encoder.activations(TESTS)}
    for ours in encoder.activations(TESTS[::-1], batch_tokens=batch_tokens):
        theirs = alone[len(TESTS) - 1 - ours.number]
        for layer, other in zip(ours.hidden, theirs.hidden, strict=True):
            assert np.array_equal(layer, other)
        for layer, other in zip(ours.attentions, theirs.attentions, strict=True):
            assert np.array_equal(layer, other)
