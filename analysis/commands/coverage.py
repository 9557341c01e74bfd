"""How much of a model suites exercise, and what of a suite adds to it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.options import (
    CASES,
    CLASSES,
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    NotNegative,
    Number,
    OnDevice,
    Option,
    Seed,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from s2lct.analysis.coverage.criteria import Coverage
    from s2lct.analysis.coverage.encoder import EncoderModel, Text
    from s2lct.analysis.coverage.minimize import Reduced, Reduction
    from s2lct.analysis.coverage.report import CoverageReport

NEURONS, BOUNDS, CURVES = "What counts", "Bounds", "Curves"


class NeuronOptions(OnDevice):
    """What counts as covered inside a model."""

    model: Annotated[str, Option("embedded-2class, embedded-3class, a folder, or a Hub id.")]
    reference: Annotated[
        str, Option("Corpus that sets bounds, best the training set: sst:PATH, csv:PATH …")
    ]
    masks: Annotated[
        Path | None,
        Option("What `s2lct masks` learned, for mncover.", NEURONS, path="existing file"),
    ] = None
    convention: Annotated[
        Literal["paper", "reached"],
        Option("cover, mncover: of all neurons of so many places, or of those reached.", NEURONS),
    ] = "paper"
    layers: Annotated[
        str | None,
        Option(
            "encoder, embeddings, pooler, numbers, ranges: 1-3,6; by default encoder, for cover "
            "and mncover by the paper embeddings,encoder.",
            NEURONS,
        ),
    ] = None
    tokens: Annotated[
        Literal["all", "cls"], Option("Values at all tokens, or at the first alone.", NEURONS)
    ] = "all"
    neurons: Annotated[
        Literal["places", "words"],
        Option("Neurons of places in the text, or of words of the vocabulary.", NEURONS),
    ] = "places"
    places: Annotated[Count, Option("Tokens behind this place do not count.", NEURONS)] = 128
    vocab: Annotated[Count, Option("With --neurons words: so many commonest pieces.", NEURONS)] = (
        5_000
    )
    attention_weight: Annotated[
        NotNegative, Option("λ, the weight of attention neurons.", NEURONS)
    ] = 1.0
    bins: Annotated[int, Field(ge=1, le=64), Option("Sections of each neuron's range.", BOUNDS)] = (
        10
    )
    reference_cases: Annotated[
        int | None, Field(ge=2), Option("Only so many random sentences set bounds.", BOUNDS)
    ] = None
    seed: Annotated[Seed, Option("Seed of draws and shuffles.", RUNNING)] = 0
    cache: Annotated[bool, Option("Keep bounds and what models said.", RUNNING)] = True

    def metrics(
        self, names: list[str], encoder: EncoderModel, bounds: list[Text], bars: Bars, **more: Any
    ) -> dict[str, Coverage]:
        """Coverage metrics of a model, their bounds set by texts."""
        from s2lct.analysis.coverage.masks import Masks
        from s2lct.analysis.coverage.metrics import build_metrics
        from s2lct.leaderboard.scoring.score import default_cache

        return build_metrics(
            names,
            encoder,
            bounds,
            convention=self.convention,
            layers=self.layers,
            tokens=self.tokens,
            bins=self.bins,
            places=self.places,
            words=self.neurons == "words",
            vocabulary=self.vocab,
            attention_weight=self.attention_weight,
            masks=Masks.load(self.masks, encoder) if self.masks else None,
            cache=default_cache().parent / "coverage" if self.cache else None,
            advance=bars("bounds", len(bounds)),
            **more,
        )


class CoverageOptions(NeuronOptions):
    """Options of `coverage`."""

    suites: Annotated[
        tuple[str, ...],
        Argument(
            "Folders of suites, Hub ids, CheckList's .jsonl\\[.gz] or csv:FILE?text=COLUMN&…; "
            "NAME=SUITE names one in tables and plots."
        ),
    ]
    curve: Annotated[
        Path | None,
        Option("Write the curves: a page (.html) or a picture (.png).", CURVES, path="file"),
    ] = None
    metric: Annotated[
        str, Option("Of boundary, cover, mncover, neurons, top; commas between.", NEURONS)
    ] = "boundary,cover,neurons,top"
    cases: Annotated[
        Count | None,
        Option("So many random cases of each; by default, of the smallest.", CASES),
    ] = None
    random: Annotated[
        bool, Option("Measure random sentences of the corpus beside the suites.", CASES)
    ] = True
    threshold: Annotated[Number, Option("Of the metric neurons (DeepXplore).", NEURONS)] = 0.5
    top_k: Annotated[Count, Option("Of the metric top.", NEURONS)] = 2
    shuffles: Annotated[Count, Option("Orders that curves average over.", CURVES)] = 10
    points: Annotated[Count, Option("Sizes at which curves are taken.", CURVES)] = 20
    save: Annotated[
        Path | None,
        Option("Folder for the states, to merge or go on with.", RUNNING, path="folder"),
    ] = None


@takes(CoverageOptions)
def coverage(options: CoverageOptions, bars: Bars) -> CoverageReport:
    """Measure what suites cover inside a model.

    Alone and together.
    """
    from s2lct.analysis.coverage.curves import measure
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.pairs import given
    from s2lct.analysis.coverage.report import CoverageReport, write_curves
    from s2lct.analysis.coverage.suites import drawn, named_suites, reference_and_held_out
    from s2lct.files import check_files_out, check_folder_out
    from s2lct.leaderboard.results.write import file_name

    if options.curve is not None and options.curve.suffix not in (".html", ".png"):
        raise AnalysisError(f"--curve {options.curve}", hint="name a file .html or .png")
    check_files_out(curve=options.curve)
    if options.save is not None:
        check_folder_out(options.save, "--save")
    names = [name.strip() for name in options.metric.split(",") if name.strip()]
    loaded = named_suites(options.suites)
    seed, shuffles = options.seed, options.shuffles if options.curve else 0
    bounds, held_out = reference_and_held_out(options.reference, options.reference_cases, seed)
    if options.random and held_out.cases:
        loaded[held_out.name] = held_out
    most = options.cases or min(len(set(map(given, s.cases))) for s in loaded.values())
    encoder = load_encoder(options.model, device=options.device)
    warn_of(encoder.notes)
    metrics = options.metrics(
        names, encoder, bounds, bars, threshold=options.threshold, top=options.top_k
    )
    measured = []
    for name, suite in loaded.items():
        cases = drawn(suite.cases, most, seed)
        measured.append(
            measure(
                name,
                [given(case) for case in cases],
                encoder,
                metrics,
                shuffles,
                options.points,
                seed,
                kinds=[case.kind for case in cases],
                advance=bars(name, len(cases)),
            )
        )
    report = CoverageReport(
        model=options.model,
        fingerprint=encoder.fingerprint,
        reference=f"{options.reference} ({len(bounds):,} sentences)",
        shuffles=shuffles,
        measured=measured,
        notes=encoder.notes,
    )
    if options.curve is not None:
        write_curves(report, options.curve)
    if options.save is not None:
        for one in measured:
            for name, state in one.states.items():
                state.save(options.save / f"{file_name(one.suite)}-{name}.safetensors")
    return report


def warn_of(notes: Iterable[str]) -> None:
    """Warn of what was changed in order to look into a model."""
    for note in notes:
        warnings.warn(note, S2lctWarning, stacklevel=3)


class MinimizeOptions(NeuronOptions, ChosenCases):
    """Options of `minimize`."""

    suite: Annotated[str, Argument("Folder of a built suite, or CheckList's .jsonl\\[.gz].")]
    out: Annotated[Path, Option("Folder for the reduced suite.", path="folder")]
    by: Annotated[
        Literal["mncover", "cover", "boundary"],
        Option("The coverage that a case has to raise."),
    ] = "boundary"
    threshold: Annotated[str, Option("By more than so much; commas between several.")] = "0"
    limit: Annotated[Count | None, Option("Most cases of a capability.", CASES)] = None
    label_map: Annotated[
        Any,
        Option("What the classes mean: LABEL_0=negative,LABEL_1=positive.", CLASSES, text=True),
    ] = None


@dataclass(frozen=True)
class Minimized:
    """A suite reduced, once a threshold."""

    title: str  # what was reduced, by what, on which model
    thresholds: Sequence[float]  # ascending
    table: Mapping[str, Reduction]  # cases and failures that stay, by capability
    reduced: Sequence[Reduced]  # what stays at each threshold
    files: Sequence[Path]  # what was written; a threshold that leaves no case has no file


@takes(MinimizeOptions)
def minimize(options: MinimizeOptions, bars: Bars) -> Minimized:
    """Keep only the cases that raise coverage.

    And see whether failures stay. With several thresholds, OUT holds a folder for each.
    """
    from s2lct.analysis.coverage import suites
    from s2lct.analysis.coverage.encoder import load_encoder
    from s2lct.analysis.coverage.minimize import minimize as reduce_suite
    from s2lct.analysis.coverage.minimize import reductions
    from s2lct.analysis.coverage.pairs import PairCase, failed_pairs
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.scoring.score import default_cache, score

    label_map = check_label_map(options.label_map)
    thresholds = thresholds_of(options.threshold)
    loaded = suites.load_test_suite(options.suite)
    checklist = suites.is_checklist(options.suite)
    if not checklist and not Path(options.suite).is_dir():
        raise AnalysisError(
            f"suite {loaded.name}: no folder",
            hint="download it first: hf download --repo-type dataset ID --local-dir DIR",
        )
    several = len(thresholds) > 1
    outs = [options.out / f"threshold-{t:g}" if several else options.out for t in thresholds]
    if checklist:
        outs = [path.with_name(path.name + ".jsonl") for path in outs]
    for path in outs:
        suites.check_out(path, options.suite)
    chosen = loaded.select(options.capability or None, None, options.limit)
    chosen = replace(chosen, counterparts=())  # reduced is what failure rates count
    bounds, _ = suites.reference_and_held_out(
        options.reference, options.reference_cases, options.seed
    )
    encoder = load_encoder(options.model, device=options.device)
    warn_of(encoder.notes)
    metric = options.metrics([options.by], encoder, bounds, bars)[options.by]
    if pairs := [case for case in chosen.cases if isinstance(case, PairCase)]:
        failed = failed_pairs(encoder, pairs, bars("failures", len(pairs)))
    else:
        failed = score(
            load_classifier(options.model, device=options.device, dtype="float32"),
            chosen,
            label_map=label_map,
            cache=default_cache() if options.cache else None,
            advance=bars("failures", len({case.text for case in chosen.cases})),
        ).failed
    bar = bars("reduction", len(chosen.cases))
    reduced = reduce_suite(encoder, chosen.cases, metric, thresholds, advance=bar)
    about: dict[str, Any] = {
        "by": metric.name,
        "model": options.model,
        "model_fingerprint": encoder.fingerprint,
        "reference": options.reference,
        "reference_sentences": len(bounds),
        "metric": metric.identity(),
        "convention": metric.settings.get("convention"),
    }
    whole = [
        (path, kept) for path, kept in zip(outs, reduced, strict=True) if kept.kept or not several
    ]
    for path, kept in whole:
        suites.write_reduced(options.suite, kept, path, about)
    return Minimized(
        f"{loaded.name} reduced by {metric.name} on {options.model}",
        thresholds,
        reductions(chosen.cases, failed, reduced),
        reduced,
        [path for path, _ in whole],
    )


def thresholds_of(text: str) -> list[float]:
    """The numbers of ``--threshold``, ascending.

    Raises:
        AnalysisError: there is none, or one is below 0 or infinite.
    """
    try:
        thresholds = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        thresholds = []
    if not thresholds or not all(0 <= threshold < math.inf for threshold in thresholds):
        raise AnalysisError(
            f"--threshold {text}: is no list of numbers of 0 or above",
            hint="pass such as 0,1e-4,1e-3",
        )
    return thresholds
