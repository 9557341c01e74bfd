"""Coverage metrics by name, made ready for a model from one pass over a reference corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from s2lct.analysis.coverage.boundary import BoundaryCoverage, Bounds, NeuronValues, Tokens
from s2lct.analysis.coverage.criteria import Coverage, reference_texts
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.layers import Layers
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.multisection import SectionCoverage
from s2lct.analysis.coverage.neurons import NeuronCoverage, TopNeuronCoverage
from s2lct.analysis.coverage.section_neurons import BINS, PLACES
from s2lct.analysis.coverage.sections import Sections
from s2lct.analysis.coverage.vocabulary import VOCABULARY, Vocabulary
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

METRICS = ("boundary", "cover", "mncover", "neurons", "top")
_RANGES_OF = {"boundary": "boundary", "cover": "cover", "mncover": "cover"}
"""The metrics that need a reference corpus, and under which name their ranges are kept."""


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
    advance: Advance = silently,
) -> dict[str, Coverage]:
    """Metrics of `METRICS` with nothing covered, by name.

    The reference texts, such as the training set, set bounds and ranges, which the cache folder
    keeps; the masks are for ``mncover``.

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
    values = NeuronValues(Layers.parse(options.layers, encoder), options.tokens)
    made: dict[str, Coverage] = {}
    if wanted := {_RANGES_OF[name] for name in names if name in _RANGES_OF}:
        made |= _with_ranges(wanted, encoder, reference, options, values, masks, cache, advance)
    if isinstance(cover := made.get("cover"), SectionCoverage):
        for name, of in (("cover", None), ("mncover", masks)):
            made[name] = SectionCoverage.of_model(
                encoder, cover.sections, of, options.attention_weight
            )
    probe = next(encoder.activations(["probe"]))
    units = tuple(layer.shape[1] for layer in values.of_layers(probe))
    made["neurons"] = NeuronCoverage(encoder.fingerprint, values, units, options.threshold)
    made["top"] = TopNeuronCoverage(encoder.fingerprint, values, units, options.top)
    return {name: made[name] for name in names}


def _with_ranges(
    wanted: set[str],
    encoder: EncoderModel,
    reference: Sequence[str],
    options: MetricOptions,
    values: NeuronValues,
    masks: Masks | None,
    cache: Path | None,
    advance: Advance,
) -> dict[str, Coverage]:
    """Boundary coverage and COVER, with ranges that were kept or are taken now."""
    reference = reference_texts(reference)
    vocabulary = None
    if options.words and "cover" in wanted:
        vocabulary = (
            masks.vocabulary
            if masks
            else Vocabulary.of_texts(encoder.tokenizer, reference, options.vocabulary)
        )
    decides = [
        encoder.fingerprint,
        encoder.batches_are_exact,
        str(encoder.device),
        reference,
        values.settings(),
        [options.bins, options.places],
        None if vocabulary is None else vocabulary.pieces,
    ]
    digest = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:24]
    files = {name: cache / f"{name}-{digest}.safetensors" for name in wanted} if cache else {}
    made = {name: Coverage.load(path) for name, path in files.items() if path.exists()}
    if made.keys() == wanted:
        advance(len(reference))
        return made
    bounds: Bounds | None = None
    sections: Sections | None = None
    if "cover" not in made and "cover" in wanted:
        sections = Sections.unset(
            encoder,
            reference,
            values.layers,
            bins=options.bins,
            places=options.places,
            vocabulary=vocabulary,
        )
    for _, one in encoder.each(reference, advance):
        own = values.extremes(one)
        bounds = bounds.merged(own) if bounds else own
        if sections:
            sections.widen(one)
    assert bounds is not None
    taken: dict[str, Coverage] = {"boundary": BoundaryCoverage(encoder.fingerprint, values, bounds)}
    if sections:
        taken["cover"] = SectionCoverage.of_model(encoder, sections)
    for name in wanted - made.keys():
        made[name] = taken[name]
        if cache:
            made[name].save(files[name])
    return made
