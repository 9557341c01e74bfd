"""Coverage criteria by name, made ready for a model from one pass over a reference corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from s2lct.analysis.coverage.criteria import (
    BoundaryCoverage,
    Coverage,
    NeuronCoverage,
    SectionCoverage,
    TopNeuronCoverage,
)
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.masks import VOCABULARY, Masks, Vocabulary
from s2lct.analysis.coverage.neurons import (
    BINS,
    PLACES,
    Layers,
    SectionNeurons,
    Tokens,
    Units,
    ranges_of,
)
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

METRICS = ("boundary", "cover", "mncover", "neurons", "top")
_RANGES_OF = {"boundary": "boundary", "cover": "cover", "mncover": "cover"}
"""The metrics that need a reference corpus, and under which name their ranges are kept."""


def build_metrics(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Sequence[str],
    *,
    layers: str = "encoder",
    tokens: Tokens = "all",
    bins: int = BINS,
    places: int = PLACES,
    words: bool = False,
    vocabulary: int = VOCABULARY,
    attention_weight: float = 1.0,
    threshold: float = 0.5,
    top: int = 2,
    masks: Masks | None = None,
    cache: Path | None = None,
    advance: Advance = silently,
) -> dict[str, Coverage]:
    """Metrics of `METRICS` with nothing covered, by name.

    Args:
        names: which.
        encoder: the model.
        reference: texts that set bounds and ranges, such as the training set.
        layers: see `Layers.parse`.
        tokens: for ``boundary``, ``neurons`` and ``top``: see `Units`.
        bins: for ``cover`` and ``mncover``: see `SectionNeurons`.
        places: likewise.
        words: whether their neurons are of vocabulary entries, not of places.
        vocabulary: how many entries, where no masks bring theirs.
        attention_weight: λ.
        threshold: of ``neurons``.
        top: k of ``top``.
        masks: for ``mncover``.
        cache: a folder that keeps ranges.
        advance: is told of texts of the reference.

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
    model, reference = encoder.fingerprint, list(reference)
    units = Units(Layers.parse(layers, encoder), tokens)
    probe = units.of_layers(next(encoder.activations(["probe"])))
    counted = asdict(units) | {"units": [layer.shape[1] for layer in probe]}
    made: dict[str, Coverage] = {
        "neurons": NeuronCoverage(model, counted | {"threshold": threshold}, {}),
        "top": TopNeuronCoverage(model, counted | {"k": top}, {}),
    }
    wanted = {_RANGES_OF[name] for name in names if name in _RANGES_OF}
    entries: Vocabulary | None = None
    if words and "cover" in wanted:
        entries = masks.vocabulary if masks else Vocabulary.of_texts(encoder, reference, vocabulary)
    exact, device = encoder.batches_are_exact, str(encoder.device)
    decides = [model, exact, device, reference, asdict(units), [bins, places]]
    decides.append(entries and entries.pieces)
    digest = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:24]
    files = {name: cache / f"{name}-{digest}.safetensors" for name in wanted} if cache else {}
    made |= {name: Coverage.load(path) for name, path in files.items() if path.exists()}
    if missing := sorted(wanted - made.keys()):
        neurons: dict[str, Units | SectionNeurons] = {"boundary": units}
        if "cover" in missing:
            neurons["cover"] = cut = SectionNeurons.of_texts(
                encoder, reference, units.layers, bins=bins, places=places, vocabulary=entries
            )
        found = ranges_of(encoder, reference, *(neurons[n] for n in missing), advance=advance)
        for name, ranges in zip(missing, found, strict=True):
            if name == "boundary":
                made[name] = BoundaryCoverage(model, asdict(units), ranges)
            else:
                made[name] = SectionCoverage.of(encoder, cut.settings(), ranges)
            if files:
                made[name].save(files[name])
    else:
        advance(len(reference))
    if plain := made.get("cover"):
        for name, of in (("cover", None), ("mncover", masks)):
            made[name] = SectionCoverage.of(
                encoder, plain.settings, plain.constants, of, attention_weight
            )
    return {name: made[name] for name in names}
