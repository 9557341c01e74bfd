"""Tables 3, 4 and 5 of MNCOVER, and the models that its tables look into."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from s2lct.analysis.augment.accuracy import Accuracies, accuracies
from s2lct.analysis.augment.search import Augmenter, embedding_similarity
from s2lct.analysis.augment.transformations import NAMES, load_transformations
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.curves import Measured, measure
from s2lct.analysis.coverage.encoder import EncoderModel, Text, load_encoder
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.suites import drawn, given, named_suites, reference_and_held_out
from s2lct.analysis.coverage.wimask import learn_masks
from s2lct.analysis.kept import Array, kept, kept_arrays
from s2lct.analysis.reproduce.runner import Cell, Inputs, PaperTable, Reproduction, described
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.suite.cases import SuiteCases

COVER, MNCOVER = "cover", "mncover"
METRICS = (COVER, MNCOVER)
_ABOUT = TypeAdapter(dict[str, Any])
_HELD_OUT = 10  # of the texts to learn masks from, one in so many tests them


@dataclass(frozen=True)
class Neurons:
    """A model, the texts that its neurons' ranges come from, and what else the corpus has.

    Attributes:
        metrics: COVER and MNCOVER with nothing covered, by name.
        masks: MNCOVER's, and whose they are, in a sentence.
        held_out: sentences of the corpus that set no range.
    """

    encoder: EncoderModel
    reference: list[Text]
    metrics: Mapping[str, Coverage]
    masks: Masks
    about_masks: str
    held_out: SuiteCases

    def trained(self) -> dict[str, Coverage]:
        """The metrics with what the reference texts cover, in one pass that is kept."""
        states = {name: metric.emptied() for name, metric in self.metrics.items()}

        def covered() -> dict[str, Array]:
            for one in self.encoder.shown_activations(self.reference, "training set"):
                for state in states.values():
                    state.add(state.marks(one))
            return {
                f"{name} {part}": bits
                for name, state in states.items()
                for part, bits in state.state.items()
            }

        decides = fingerprint_of([str(self.encoder.device), self.reference, self.masks.digest])
        found = kept_arrays(self.encoder.fingerprint, f"covered {decides}", covered)
        for name, state in states.items():
            for part in state.state:
                state.state[part] = found[f"{name} {part}"].copy()
        return states


def neurons_of(model: str, inputs: Inputs) -> Neurons:
    """A model by name, ready to be looked into; masks are read, or learned.

    Raises:
        AnalysisError: the model, the corpus or the masks cannot be used.
    """
    inputs.need("reference")
    encoder = load_encoder(model, device=inputs.device)
    reference, held_out = reference_and_held_out(
        str(inputs.reference), inputs.reference_cases, inputs.seed
    )
    if inputs.masks is not None:
        masks, told = Masks.load(inputs.masks, encoder), f"read from {inputs.masks.name}"
    else:
        mixed = _mixed(reference, inputs.seed)
        tests = max(1, len(mixed) // _HELD_OUT)
        learned = learn_masks(encoder, mixed[tests:], mixed[:tests], epochs=1, seed=inputs.seed)
        masks, told = learned.masks, "learned in one epoch, everything else as the paper"
    if masks.words.sum() >= masks.about.get("words_seen", len(masks.words)):
        told += "; they keep every word that they were learned from"
    metrics = build_metrics(METRICS, encoder, reference, masks=masks)
    return Neurons(encoder, reference, metrics, masks, f"Masks of {model}: {told}.", held_out)


def _mixed(texts: Sequence[Text], seed: int) -> list[Text]:
    def key(text: Text) -> bytes:
        return shuffle_key(seed, "masks", *((text,) if isinstance(text, str) else text))

    return sorted(texts, key=key)


def table3(inputs: Inputs) -> Reproduction:
    """What test sets cover alone, and joined one after another.

    The sets are ``checklist`` files (pairs too), the suite, and held-out sentences.
    """
    inputs.need("model", "reference")
    names = [*map(str, inputs.checklist), *([inputs.suite] if inputs.suite else [])]
    tables, verdicts = [], []
    for model in inputs.model:
        neurons = neurons_of(model, inputs)
        sets = named_suites(names)
        if neurons.held_out.cases:
            sets[neurons.held_out.name] = neurons.held_out
        if len(sets) < 2:
            raise AnalysisError(
                f"{inputs.name}: {len(sets)} test set, and a union takes two",
                hint="add --checklist FILE or --suite, or a --reference with a test split",
            )
        most = min(len(set(map(given, one.cases))) for one in sets.values())
        most = min(most, inputs.limit or described(inputs.name)["cases"])
        measured = [
            measure(
                name,
                [given(case) for case in drawn(one.cases, most, inputs.seed)],
                neurons.encoder,
                neurons.metrics,
                0,
            )
            for name, one in sets.items()
        ]
        rows = union_rows(measured)
        about = {"model": model, "masks": neurons.about_masks, "most": most}
        tables.append(PaperTable.of(inputs.name, rows, **about))
        best = max(measured, key=lambda one: one.states[MNCOVER].value)
        whole = float(str(rows[len(measured) - 1][3]))
        verdicts.append(
            f"{model}: the union covers {whole:.4f} (MNCOVER), "
            f"{100 * (whole / best.states[MNCOVER].value - 1):.0f} % more than {best.suite} alone: "
            "that more sets cover more comes back, as it must of any union. The absolute figures "
            "are of other models and cannot be compared."
        )
    return Reproduction(tables, "\n\n".join(verdicts))


def union_rows(measured: Sequence[Measured]) -> list[list[Cell]]:
    """The first set alone, each union with one more, then every other set alone, as the paper."""
    joined = {name: state.emptied() for name, state in measured[0].states.items()}
    rows: list[list[Cell]] = []
    for number, one in enumerate(measured, 1):
        for name in METRICS:
            joined[name].merge(one.states[name])
        told = " + ".join(part.suite for part in measured[:number])
        texts = sum(part.cases for part in measured[:number])
        rows.append([told, texts, *(joined[name].value for name in METRICS)])
    return rows + [
        [one.suite, one.cases, *(one.states[name].value for name in METRICS)]
        for one in measured[1:]
    ]


def table4(inputs: Inputs) -> Reproduction:
    """Test accuracy without more texts, and with texts that coverage guided or chance drew.

    ``limit`` is the most originals, drawn at random from the training set; ``seeds`` the trainings.
    """
    inputs.need("model", "reference")
    tables, verdicts = [], []
    for model in inputs.model:
        neurons = neurons_of(model, inputs)
        rule = rule_for(neurons.encoder.classes, model=model)
        labels = {LABELS[meaning] for meaning in rule.meanings}
        parts = parts_of_corpus(read_corpus(str(inputs.reference)), inputs.seed)
        train, test = (
            [one for one in part if one.label in labels] for part in (parts.train, parts.test)
        )
        ranked = sorted(train, key=lambda one: shuffle_key(inputs.seed, "limit", one.id, one.text))
        originals = ranked[: inputs.limit]
        transformations, skipped = load_transformations(NAMES)
        for name, why in skipped.items():
            warnings.warn(f"{name} is left out: {why}", S2lctWarning, stacklevel=2)
        augmenter = Augmenter(originals, transformations, embedding_similarity(), seed=inputs.seed)
        as_printed = augmenter.search(neurons.encoder, neurons.metrics[MNCOVER])
        if not as_printed:
            raise AnalysisError(
                f"{inputs.name}: no text made coverage grow", hint="give more originals: --limit"
            )
        added = {
            "without": [],
            "random, as many": augmenter.at_random(len(as_printed)),
            "Algorithm 1 as printed": as_printed,
        }
        found = accuracies(
            model,
            {
                name: _pairs(train) + [(one.text, one.original.label) for one in more]
                for name, more in added.items()
            },
            _pairs(test),
            [inputs.seed + number for number in range(inputs.seeds)],
            device=inputs.device,
        )
        tables.append(
            PaperTable.of(
                inputs.name,
                accuracy_rows(found),
                model=model,
                masks=neurons.about_masks,
                originals=len(originals),
                train=len(train),
                seeds=inputs.seeds,
            )
        )
        verdicts.append(f"{model}: {accuracy_verdict(found)}")
    return Reproduction(tables, "\n\n".join(verdicts))


def _pairs(sentences: Sequence[Sentence]) -> list[tuple[str, Any]]:
    return [(one.text, one.label) for one in sentences]


def accuracy_rows(found: Mapping[str, Accuracies]) -> list[list[Cell]]:
    """A row a training set, in percent."""

    def reach(interval: tuple[float, float] | None) -> float | None:
        return None if interval is None else 50 * (interval[1] - interval[0])

    base = next(iter(found.values()))
    figures = described("mncover-table4")["printed"].values()
    return [
        [
            name,
            one.texts - base.texts,
            100 * one.mean,
            reach(one.interval()),
            None if one is base else 100 * (one.mean - base.mean),
            None if one is base else reach(one.interval(base)),
            figure,
        ]
        for (name, one), figure in zip(found.items(), figures, strict=True)
    ]


def accuracy_verdict(found: Mapping[str, Accuracies]) -> str:
    """Whether guidance is worth more than chance."""
    _, by_chance, guided = found.values()
    points, bounds = 100 * (guided.mean - by_chance.mean), guided.interval(by_chance)
    told = f"Algorithm 1 against as many random texts: {points:+.2f} points"
    if bounds is None:
        return f"{told}, of one training."
    told += f", 95 % {100 * bounds[0]:+.2f} to {100 * bounds[1]:+.2f}"
    if bounds[0] <= 0 <= bounds[1]:
        return f"{told}: no difference, as in the paper, where random texts are ahead on SST-2."
    return f"{told}: guided texts are {'better' if points > 0 else 'worse'}."


def table5(inputs: Inputs) -> Reproduction:
    """Whether a model behind WIMASK's masks says what it says without them.

    Fidelity alone is no merit: a layer that lets every word through has all of it. So the untrained
    layer's stands beside, and how far training moved the probabilities of words. ``limit`` is the
    most texts to learn from, and to test on.
    """
    inputs.need("model", "reference")
    reference, held_out = reference_and_held_out(
        str(inputs.reference), inputs.reference_cases, inputs.seed
    )
    texts, tests = _mixed(reference, inputs.seed), [given(case) for case in held_out.cases]
    if not tests:  # a corpus of pairs holds none out
        tests = texts[: -(-len(texts) // _HELD_OUT)]
        texts = texts[len(tests) :]
    texts, tests = texts[: inputs.limit], _mixed(tests, inputs.seed)[: inputs.limit]
    rows: list[list[Cell]] = []
    verdicts = []
    for model in inputs.model:
        encoder = load_encoder(model, device=inputs.device)

        def about(encoder: EncoderModel = encoder) -> dict[str, Any]:
            return dict(learn_masks(encoder, texts, tests, epochs=1, seed=inputs.seed).masks.about)

        decides = ["fidelity", str(encoder.device), fingerprint_of([texts, tests]), inputs.seed]
        found = kept(encoder.fingerprint, decides, _ABOUT, about)
        shares = ("fidelity", "fidelity_untrained", "fidelity_of_masks")
        rows.append(
            [
                model,
                found["held_out"],
                *(found[name] for name in shares),
                *(found["word_probabilities"][name] for name in ("least", "mean", "greatest")),
                *(found[name] for name in ("words_kept", "words_seen", "pairs_kept", "pairs_seen")),
            ]
        )
        verdicts.append(f"{model}: {fidelity_verdict(found)}")
    rows.append(["paper", None, described(inputs.name)["printed"], *[None] * 9])
    table = PaperTable.of(inputs.name, rows, texts=len(texts))
    return Reproduction([table], "\n\n".join(verdicts))


def fidelity_verdict(about: Mapping[str, Any]) -> str:
    """Whether the masks keep the model's predictions, and whether that says anything."""
    trained, untrained = 100 * about["fidelity"], 100 * about["fidelity_untrained"]
    told = f"fidelity {trained:.1f} %, of the untrained layer {untrained:.1f} %"
    if about["words_kept"] == about["words_seen"]:
        return (
            f"{told}. The figure comes back, and says nothing: every word is kept, so next to "
            "nothing is masked."
        )
    kept_words = f"{about['words_kept']:,} of {about['words_seen']:,} words are kept"
    if trained < untrained - 1:
        return f"{told}; {kept_words}. Masking costs {untrained - trained:.1f} points."
    return f"{told}; {kept_words}, and the model says the same: the finding comes back."
