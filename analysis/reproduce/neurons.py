"""A model whose neurons are looked into, with COVER and MNCOVER as the paper counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, Text, load_encoder
from s2lct.analysis.coverage.learn_masks import WimaskSettings, learn_masks
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.analysis.coverage.metrics import build_metrics
from s2lct.analysis.coverage.suites import reference_and_held_out
from s2lct.analysis.reproduce.suite_inputs import needed_reference
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.suite.cases import SuiteCases

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

COVER, MNCOVER = "cover", "mncover"
METRICS = (COVER, MNCOVER)
COUNTED = (
    "COVER and MNCOVER as the paper counts them: embeddings and every encoder layer, all neurons "
    "of 128 places in the denominator, ten sections, λ = 1."
)
_HELD_OUT = 10  # of the texts to learn masks from, one in so many tests them


@dataclass(frozen=True)
class Neurons:
    """A model, the texts that its neurons' ranges come from, and what else the corpus has.

    Attributes:
        metrics: COVER and MNCOVER with nothing covered, by name.
        held_out: sentences of the corpus that set no range.
        about_masks: whose masks MNCOVER has, in a sentence.
    """

    encoder: EncoderModel
    reference: list[Text]
    metrics: Mapping[str, Coverage]
    held_out: SuiteCases
    about_masks: str

    def trained(self, steps: Checkpoints, bars: Bars) -> dict[str, Coverage]:
        """The metrics with what the reference texts cover, in one pass that is kept."""
        folder, digest = steps.folder, _digest(self.encoder, self.metrics)
        files = {name: folder / f"{name}-{digest}.safetensors" for name in self.metrics}
        if all(path.exists() for path in files.values()):
            return {name: Coverage.load(path) for name, path in files.items()}
        states = {name: metric.emptied() for name, metric in self.metrics.items()}
        bar = bars("training set", len(self.reference))
        for one in self.encoder.activations(self.reference, bar):
            for state in states.values():
                state.add(state.marks(one))
        for name, path in files.items():
            states[name].save(path)
        return states


def neurons_of(model: str, options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Neurons:
    """A model by name, ready to be looked into; masks are read, or learned and kept.

    Raises:
        AnalysisError: the model, the corpus or the masks cannot be used.
    """
    from s2lct.leaderboard.scoring.score import default_cache

    named = needed_reference(options)
    encoder = load_encoder(model, device=options.device)
    reference, held_out = reference_and_held_out(named, options.reference_cases, options.seed)
    if options.masks is not None:
        masks, told = Masks.load(options.masks, encoder), f"read from {options.masks.name}"
    else:
        masks, told = _learned(encoder, reference, options.seed, steps, bars)
    if masks.words.sum() >= masks.about.get("words_seen", len(masks.words)):
        told += "; they keep every word that they were learned from"
    metrics = build_metrics(
        METRICS,
        encoder,
        reference,
        masks=masks,
        cache=default_cache().parent / "coverage",
        advance=bars("ranges", len(reference)),
    )
    return Neurons(encoder, reference, metrics, held_out, f"Masks of {model}: {told}.")


def _learned(
    encoder: EncoderModel, reference: list[Text], seed: int, steps: Checkpoints, bars: Bars
) -> tuple[Masks, str]:
    """Masks learned in one epoch at the paper's learning rate."""
    settings = WimaskSettings(epochs=1, seed=seed)
    told = "learned in one epoch, everything else as the paper"
    path = steps.folder / f"masks-{_digest(encoder, {})}.safetensors"
    if path.exists():
        return Masks.load(path, encoder), told
    mixed = sorted(reference, key=lambda text: shuffle_key(seed, "masks", *_parts(text)))
    tests = max(1, len(mixed) // _HELD_OUT)
    bar = bars("masks", settings.steps(len(mixed) - tests))
    learned = learn_masks(
        encoder,
        mixed[tests:],
        mixed[:tests],
        Vocabulary.of_texts(encoder, mixed[tests:]),
        settings,
        advance=lambda done, terms: bar(done),
    )
    learned.masks.save(path)
    return learned.masks, told


def _parts(text: Text) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def _digest(encoder: EncoderModel, metrics: Mapping[str, Coverage]) -> str:
    return fingerprint_of([encoder.fingerprint, *(m.identity() for m in metrics.values())])[:12]
