"""Coverage criteria by name, made ready for a model from one pass over a reference corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from s2lct.analysis.coverage.criteria import (
    BoundaryCoverage,
    Coverage,
    NeuronCoverage,
    TopNeuronCoverage,
    UnitCoverage,
    parse_layers,
    set_ranges,
)
from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.coverage.masks import VOCABULARY, Masks, Vocabulary
from s2lct.analysis.coverage.sections import (
    BINS,
    LAYERS,
    PLACES,
    Convention,
    SectionCoverage,
)
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

METRICS = ("boundary", "cover", "mncover", "neurons", "top")
_RANGES_OF = {"boundary": "boundary", "cover": "cover", "mncover": "cover"}
"""The metrics that need a reference corpus, and under which name their ranges are kept."""


def build_metrics(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Sequence[Text],
    *,
    convention: Convention = "paper",
    layers: str | None = None,
    tokens: Literal["all", "cls"] = "all",
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

    The reference texts, such as the training set, set bounds and ranges, which the cache folder
    keeps. Without layers, cover and mncover take those of the convention, and the others every
    encoder layer. ``tokens`` is for boundary, neurons and top, ``threshold`` for neurons, ``top``
    is k; ``words`` says whether neurons are of the masks' vocabulary (without masks: of so many
    entries) instead of places. For the others see `parse_layers` and `SectionCoverage`.

    Raises:
        AnalysisError: an unknown metric, or options that do not fit.
    """
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise AnalysisError(
            f"metric {', '.join(unknown)}: no such" if unknown else "no metric is named",
            hint=f"choose among {', '.join(METRICS)}",
        )
    if "mncover" in names and masks is None:
        raise AnalysisError(
            "mncover needs masks", hint="learn them with `s2lct masks`, then pass --masks FILE"
        )
    model, reference = encoder.fingerprint, list(reference)
    units: dict[str, Any] = {"layers": parse_layers(layers or "encoder", encoder)}
    units["tokens"] = tokens
    of_sections = parse_layers(layers or LAYERS[convention], encoder)
    probe = UnitCoverage.of_layers(units, next(encoder.activations(["probe"])))
    counted = units | {"units": [layer.shape[1] for layer in probe]}
    made: dict[str, Coverage] = {
        "neurons": NeuronCoverage(model, counted | {"threshold": threshold}, {}),
        "top": TopNeuronCoverage(model, counted | {"k": top}, {}),
    }
    wanted = {_RANGES_OF[name] for name in names if name in _RANGES_OF}
    entries: Vocabulary | None = None
    if words and "cover" in wanted:
        entries = masks.vocabulary if masks else Vocabulary.of_texts(encoder, reference, vocabulary)
    exact, device = encoder.batches_are_exact, str(encoder.device)
    decides = [model, exact, device, reference, units, [bins, places], entries and entries.pieces]
    decides += [convention, of_sections]
    digest = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:24]
    files = {name: cache / f"{name}-{digest}.safetensors" for name in wanted} if cache else {}
    made |= {name: Coverage.load(path) for name, path in files.items() if path.exists()}
    missing = wanted - made.keys()
    if "boundary" in missing:
        made["boundary"] = BoundaryCoverage.unset(model, units, sum(counted["units"]))
    if "cover" in missing:
        made["cover"] = SectionCoverage.unset(
            encoder,
            reference,
            of_sections,
            bins=bins,
            places=places,
            vocabulary=entries,
            convention=convention,
        )
    if missing:
        set_ranges(encoder, reference, *(made[name] for name in missing), advance=advance)
        for name in missing & files.keys():
            made[name].save(files[name])
    else:
        advance(len(reference))
    if isinstance(cover := made.get("cover"), SectionCoverage):
        for name, of in (("cover", None), ("mncover", masks)):
            made[name] = cover.weighed(encoder, of, attention_weight)
    return {name: made[name] for name in names}
