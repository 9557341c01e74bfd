"""Tables 3, 4 and 5 of MNCOVER, and the models that its tables look into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from scipy import stats

from s2lct.analysis.augment import embedding_similarity, guided_texts, random_texts
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.encoder import EncoderModel, Text, load_encoder
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.measure import (
    Measured,
    Reference,
    drawn,
    joined,
    key_of_text,
    measure,
    named_suites,
    read_reference,
)
from s2lct.analysis.coverage.wimask import learn_masks
from s2lct.analysis.judge import Judge
from s2lct.analysis.kept import kept
from s2lct.analysis.reproduce.runner import Cell, Inputs, PaperTable, described
from s2lct.analysis.training import Example, fine_tuned
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.progress import bar

COVER, MNCOVER = "cover", "mncover"
METRICS = (COVER, MNCOVER)
TRAININGS = 3
"""Of table 4, on each set of texts."""
_HELD_OUT = 10  # of the texts to learn masks from, one in so many tests them
Rows = list[list[Cell]]


@dataclass(frozen=True)
class Neurons:
    """A model by name, the texts that its neurons' ranges come from, and metrics of these.

    Attributes:
        metrics: COVER and MNCOVER with nothing covered, by name.
        masks: MNCOVER's, and whose they are, in a sentence.
    """

    model: str
    encoder: EncoderModel
    reference: Reference
    metrics: Mapping[str, Coverage]
    masks: Masks
    about_masks: str

    @property
    def decides(self) -> list[Any]:
        """What figures depend on, beside the model and the texts that are measured."""
        return [str(self.encoder.device), self.reference.texts, self.masks.digest]

    @cached_property
    def trained(self) -> dict[str, Coverage]:
        """The metrics with what the reference texts cover."""
        states = {name: metric.emptied() for name, metric in self.metrics.items()}
        for computed in self.encoder.shown_activations(self.reference.texts, "training set"):
            for state in states.values():
                state.add(state.marks(computed))
        return states


def neurons_of(model: str, inputs: Inputs) -> Neurons:
    """A model by name, ready to be looked into; masks are read, or learned.

    Raises:
        AnalysisError: the model, the corpus or the masks cannot be used.
    """
    encoder = load_encoder(model, device=inputs.device)
    reference = read_reference(str(inputs.reference), inputs.reference_cases, inputs.seed)
    if inputs.masks is not None:
        masks, about = Masks.load(inputs.masks, encoder), f"read from {inputs.masks.name}"
    else:
        mixed = _mixed(reference.texts, inputs.seed)
        tests = max(1, len(mixed) // _HELD_OUT)
        masks = learn_masks(encoder, mixed[tests:], mixed[:tests], epochs=1, seed=inputs.seed)
        about = "learned in one epoch, everything else as the paper"
    if masks.words.sum() >= masks.about.get("words_seen", len(masks.words)):
        about += "; they keep every word that they were learned from"
    metrics = build_metrics(METRICS, encoder, reference.texts, masks=masks)
    return Neurons(model, encoder, reference, metrics, masks, f"Masks of {model}: {about}.")


def _mixed(texts: Sequence[Text], seed: int) -> list[Text]:
    return sorted(texts, key=lambda text: key_of_text(seed, "masks", text))


def by_model(
    inputs: Inputs, make: Callable[[Neurons], tuple[Rows, dict[str, Any]]]
) -> list[PaperTable]:
    """A table a model, of its rows, and what title and notes leave open."""
    inputs.need("model", "reference")
    tables = []
    for model in inputs.model:
        neurons = neurons_of(model, inputs)
        rows, about = make(neurons)
        about |= {"model": model, "masks": neurons.about_masks}
        tables.append(PaperTable.of(inputs.name, rows, **about))
    return tables


def reach(values: Sequence[float]) -> float:
    """Half of the 95 % t-interval of a mean; infinite for fewer than two values."""
    if len(values) < 2:
        return float("inf")
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


def table3(inputs: Inputs) -> list[PaperTable]:
    """What test sets cover alone, and joined one after another.

    The sets are ``checklist`` files (pairs too), the suite, and held-out sentences.
    """

    def make(neurons: Neurons) -> tuple[Rows, dict[str, Any]]:
        names = [*map(str, inputs.checklist), *([inputs.suite] if inputs.suite else [])]
        sets = named_suites(names) | neurons.reference.held_out
        if len(sets) < 2:
            raise AnalysisError(
                f"{inputs.name}: {len(sets)} test set, and a union takes two",
                hint="add --checklist FILE or --suite, or a --reference with a test split",
            )
        most = min(len(set(texts)) for texts in sets.values())
        most = min(most, inputs.limit or described(inputs.name)["cases"])
        measured = [
            measure(name, drawn(texts, most, inputs.seed), neurons.encoder, neurons.metrics)
            for name, texts in sets.items()
        ]
        return union_rows(measured), {"most": most}

    return by_model(inputs, make)


def union_rows(measured: Sequence[Measured]) -> Rows:
    """The first set alone, each union with one more, then every other set alone, as the paper."""
    unions = [joined(measured[:number]) for number in range(1, len(measured) + 1)]
    return [
        [sets.name, sets.texts, *(sets.states[name].value for name in METRICS)]
        for sets in (*unions, *measured[1:])
    ]


def table4(inputs: Inputs) -> list[PaperTable]:
    """Test accuracy without more texts, and with texts that coverage guided or chance drew.

    ``limit`` is the most originals, drawn at random from the training set.
    """

    def make(neurons: Neurons) -> tuple[Rows, dict[str, Any]]:
        judge = Judge(neurons.encoder, label_map=inputs.label_map)
        labels = {LABELS[meaning] for meaning in judge.rule.meanings}
        parts = parts_of_corpus(read_corpus(str(inputs.reference)), inputs.seed)
        train, test = ([s for s in part if s.label in labels] for part in (parts.train, parts.test))
        originals = sorted(train, key=lambda s: shuffle_key(inputs.seed, "limit", s.id, s.text))
        originals = originals[: inputs.limit]
        if not originals or not test:
            raise AnalysisError(
                f"{inputs.name}: no sentence to train on or to test is "
                f"{' or '.join(sorted(labels))}",
                hint="pass a --reference with sentences of the model's labels",
            )
        similarity, metric = embedding_similarity(), neurons.metrics[MNCOVER]
        guided = guided_texts(originals, similarity, neurons.encoder, metric, inputs.seed)
        sets = {
            "without": train,
            "random, as many": [
                *train,
                *random_texts(originals, similarity, len(guided), inputs.seed),
            ],
            "Algorithm 1 as printed": [*train, *guided],
        }
        found = accuracies(judge, sets, test, range(inputs.seed, inputs.seed + TRAININGS))
        sizes = [len(part) - len(train) for part in sets.values()]
        about = {"originals": len(originals), "train": len(train), "seeds": TRAININGS}
        return accuracy_rows(found, sizes), about

    return by_model(inputs, make)


def accuracies(
    judge: Judge,
    sets: Mapping[str, Sequence[Sentence]],
    test: Sequence[Sentence],
    seeds: Sequence[int],
) -> dict[str, list[float]]:
    """Accuracy on the test sentences by training set, a value a seed.

    The model is trained on each set from its weights; all sentences have labels that it knows.
    """
    texts, labels = [s.text for s in test], [LABELS.index(s.label) for s in test]
    shown = bar("training", len(sets) * len(seeds))
    found: dict[str, list[float]] = {name: [] for name in sets}
    for name, part in sets.items():
        examples = [Example(s.text, LABELS.index(s.label)) for s in part]
        for seed in seeds:
            predicted = fine_tuned(judge, examples, seed=seed).likeliest(texts)
            found[name].append(float(np.mean(predicted == labels)))
            shown(1)
    return found


def accuracy_rows(found: Mapping[str, Sequence[float]], added: Sequence[int]) -> Rows:
    """A row a training set, in percent, and the difference to the first."""
    base, *_ = found.values()
    printed = described("mncover-table4")["printed"].values()
    rows: Rows = []
    for (name, values), texts, figure in zip(found.items(), added, printed, strict=True):
        cells: list[Cell] = []
        for shown in (values, np.subtract(values, base).tolist()):
            cells += [100 * float(np.mean(shown)), 100 * reach(shown) if len(shown) > 1 else None]
        rows.append([name, texts, *cells, figure])
    rows[0][4:6] = [None, None]
    return rows


def table5(inputs: Inputs) -> list[PaperTable]:
    """Whether a model behind WIMASK's masks predicts what it predicts without them.

    Fidelity alone is no merit: a layer that lets every word through has all of it. So the untrained
    layer's stands beside, and how far training moved the probabilities of words. ``limit`` is the
    most texts to learn from, and to test on.
    """
    inputs.need("model", "reference")
    reference = read_reference(str(inputs.reference), inputs.reference_cases, inputs.seed)
    texts = _mixed(reference.texts, inputs.seed)
    tests = [text for held_out in reference.held_out.values() for text in held_out]
    if not tests:  # a corpus of pairs holds none out
        tests = texts[: -(-len(texts) // _HELD_OUT)]
        texts = texts[len(tests) :]
    texts, tests = texts[: inputs.limit], _mixed(tests, inputs.seed)[: inputs.limit]
    rows: Rows = []
    for model in inputs.model:
        encoder = load_encoder(model, device=inputs.device)

        def learned(encoder: EncoderModel = encoder) -> dict[str, Any]:
            return dict(learn_masks(encoder, texts, tests, epochs=1, seed=inputs.seed).about)

        decides = ["fidelity", str(encoder.device), fingerprint_of([texts, tests]), inputs.seed]
        about = kept(encoder.fingerprint, decides, TypeAdapter(dict[str, Any]), learned)
        counts = ("words_kept", "words_seen", "pairs_kept", "pairs_seen")
        rows.append(
            [
                model,
                *(about[name] for name in ("held_out", "fidelity", "fidelity_untrained")),
                *(about["word_probabilities"][name] for name in ("least", "mean", "greatest")),
                *(about[name] for name in counts),
            ]
        )
    rows.append(["paper", None, described(inputs.name)["printed"], *[None] * 8])
    return [PaperTable.of(inputs.name, rows, texts=len(texts))]
