"""A model whose neurons are looked into, with COVER and MNCOVER as the paper counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s2lct.analysis.coverage.criteria import Coverage, build_metrics
from s2lct.analysis.coverage.encoder import EncoderModel, Text, load_encoder
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.suites import reference_and_held_out
from s2lct.analysis.coverage.wimask import learn_masks
from s2lct.analysis.kept import Array, kept_arrays
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
        masks: of MNCOVER.
        held_out: sentences of the corpus that set no range.
        about_masks: whose masks MNCOVER has, in a sentence.
    """

    encoder: EncoderModel
    reference: list[Text]
    metrics: Mapping[str, Coverage]
    masks: Masks
    held_out: SuiteCases
    about_masks: str

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


def neurons_of(model: str, options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Neurons:
    """A model by name, ready to be looked into; masks are read, or learned and kept.

    Raises:
        AnalysisError: the model, the corpus or the masks cannot be used.
    """
    named = needed_reference(options)
    encoder = load_encoder(model, device=options.device)
    reference, held_out = reference_and_held_out(named, options.reference_cases, options.seed)
    if options.masks is not None:
        masks, told = Masks.load(options.masks, encoder), f"read from {options.masks.name}"
    else:
        masks = _learned(encoder, reference, options.seed, steps)
        told = "learned in one epoch, everything else as the paper"
    if masks.words.sum() >= masks.about.get("words_seen", len(masks.words)):
        told += "; they keep every word that they were learned from"
    metrics = build_metrics(
        METRICS,
        encoder,
        reference,
        masks=masks,
    )
    return Neurons(encoder, reference, metrics, masks, held_out, f"Masks of {model}: {told}.")


def _learned(encoder: EncoderModel, reference: list[Text], seed: int, steps: Checkpoints) -> Masks:
    """Masks learned in one epoch at the paper's learning rate."""
    path = steps.folder / f"masks-{encoder.fingerprint[:12]}.safetensors"
    if path.exists():
        return Masks.load(path, encoder)
    mixed = sorted(reference, key=lambda text: shuffle_key(seed, "masks", *_parts(text)))
    tests = max(1, len(mixed) // _HELD_OUT)
    learned = learn_masks(encoder, mixed[tests:], mixed[:tests], epochs=1, seed=seed)
    learned.masks.save(path)
    return learned.masks


def _parts(text: Text) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text
