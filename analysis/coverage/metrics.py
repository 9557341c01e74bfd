"""Coverage metrics by name, made ready for a model from one pass over a reference corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from s2lct.analysis.coverage.activations import VOCABULARY, EncoderModel, Vocabulary
from s2lct.analysis.coverage.boundary import BoundaryCoverage, Bounds, NeuronValues, Tokens
from s2lct.analysis.coverage.criteria import Advance, Coverage, Layers, reference_texts
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.multisection import BINS, PLACES, SectionCoverage, Sections
from s2lct.analysis.coverage.neurons import NeuronCoverage, TopNeuronCoverage
from s2lct.errors import AnalysisError

METRICS = ("boundary", "cover", "mncover", "neurons", "top")
NEEDING_REFERENCE = frozenset(("boundary", "cover", "mncover"))


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """What the metrics are made of.

    Attributes:
        layers: see `Layers.parse`.
        tokens: for ``boundary``, ``neurons`` and ``top``: see `NeuronValues`.
        bins, places: for ``cover`` and ``mncover``: see `Sections`.
        words: whether their neurons are of vocabulary entries, not of places.
        vocabulary: how many entries, where no masks bring theirs.
        attention_weight: λ.
        threshold: of ``neurons``.
        top: k of ``top``.
    """

    layers: str = "encoder"
    tokens: Tokens = "all"
    bins: int = BINS
    places: int = PLACES
    words: bool = False
    vocabulary: int = VOCABULARY
    attention_weight: float = 1.0
    threshold: float = 0.5
    top: int = 2


def build_metrics(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Sequence[str],
    options: MetricOptions,
    *,
    masks: Masks | None = None,
    cache: Path | None = None,
    advance: Advance | None = None,
) -> dict[str, Coverage]:
    """Metrics with nothing covered, by name.

    Args:
        names: of `METRICS`.
        encoder: the model.
        reference: texts that set bounds and ranges, such as the training set.
        options: see there.
        masks: for ``mncover``.
        cache: folder that keeps bounds and ranges; None keeps nothing.
        advance: told how many reference texts were done.

    Raises:
        AnalysisError: an unknown metric, or options that do not fit.
    """
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise AnalysisError(
            f"metric {', '.join(unknown)}: no such" if unknown else "no metric is named",
            mend=f"choose among {', '.join(METRICS)}",
        )
    if "mncover" in names and masks is None:
        raise AnalysisError(
            "mncover needs masks", mend="learn them with `s2lct masks`, then pass --masks FILE"
        )
    layers = Layers.parse(options.layers, encoder)
    values = NeuronValues(layers, options.tokens)
    made: dict[str, Coverage] = {}
    if NEEDING_REFERENCE & set(names):
        made |= _ranged(names, encoder, reference, options, values, masks, cache, advance)
    probe = next(encoder.activations(["probe"]))
    units = tuple(layer.shape[1] for layer in values.of_layers(probe))
    made["neurons"] = NeuronCoverage(encoder.fingerprint, values, units, options.threshold)
    made["top"] = TopNeuronCoverage(encoder.fingerprint, values, units, options.top)
    return {name: made[name] for name in names}


def _ranged(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Sequence[str],
    options: MetricOptions,
    values: NeuronValues,
    masks: Masks | None,
    cache: Path | None,
    advance: Advance | None,
) -> dict[str, Coverage]:
    reference = reference_texts(reference)
    vocabulary = None
    if options.words and ("cover" in names or "mncover" in names):
        vocabulary = masks.vocabulary if masks else None
        vocabulary = vocabulary or Vocabulary.of_texts(
            encoder.tokenizer, reference, options.vocabulary
        )
    digest = hashlib.sha256(
        json.dumps(
            [
                encoder.fingerprint,
                encoder.batches_are_exact,
                str(encoder.device),
                reference,
                values.settings(),
                [options.bins, options.places],
                None if vocabulary is None else vocabulary.pieces,
            ]
        ).encode()
    ).hexdigest()[:24]
    files = {
        name: cache and cache / f"{name}-{digest}.safetensors" for name in ("boundary", "cover")
    }
    made: dict[str, Coverage] = {
        name: Coverage.load(path) for name, path in files.items() if path and path.exists()
    }
    wanted = {
        "boundary" if name == "boundary" else "cover" for name in names if name in NEEDING_REFERENCE
    }
    missing = wanted - made.keys()
    bounds: Bounds | None = None
    sections: Sections | None = None
    if "cover" in missing:
        places = options.places
        if vocabulary is None:
            places = min(places, encoder.longest(reference))
        sections = Sections.unset(
            encoder, values.layers, bins=options.bins, places=places, vocabulary=vocabulary
        )
    if missing:
        for batch in encoder.activations(reference):
            for row in range(len(batch.numbers)):
                one = batch.one(row)
                if "boundary" in missing:
                    own = Bounds(*values.extremes(one))
                    bounds = bounds.merged(own) if bounds else own
                if sections:
                    sections.widen(one)
            if advance:
                advance(len(batch.numbers))
    elif advance:
        advance(len(reference))
    if bounds:
        made["boundary"] = BoundaryCoverage(encoder.fingerprint, values, bounds)
    if sections:
        made["cover"] = SectionCoverage.of_model(encoder, sections)
    for name in missing:
        if path := files[name]:
            made[name].save(path)
    if "cover" in made:
        cover = made["cover"]
        assert isinstance(cover, SectionCoverage)
        weight = options.attention_weight
        made["cover"] = SectionCoverage.of_model(encoder, cover.sections, None, weight)
        if masks:
            made["mncover"] = SectionCoverage.of_model(encoder, cover.sections, masks, weight)
    return made
