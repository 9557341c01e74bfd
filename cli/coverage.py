"""The commands coverage and minimize."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2lct.cli.commands import INSIDE, examples, finite, usable_seed, zero_or_above

if TYPE_CHECKING:
    from collections.abc import Callable

    from s2lct.analysis.coverage.encoder import EncoderModel
    from s2lct.analysis.coverage.masks import Masks

NEURONS, BOUNDS, CURVES, CASES, RUNNING = (
    "What counts",
    "Bounds",
    "Curves",
    "Which cases",
    "Running",
)

Model = Annotated[
    str, typer.Option(help="embedded-2class, embedded-3class, a folder, or a Hub id.")
]
Reference = Annotated[
    str,
    typer.Option(help="Corpus that sets bounds, best the training set: sst:PATH, csv:PATH …"),
]
ReferenceCases = Annotated[
    int | None,
    typer.Option(help="Only so many random sentences set bounds.", min=2, rich_help_panel=BOUNDS),
]
MasksFile = Annotated[
    Path | None,
    typer.Option(
        "--masks",
        help="What `s2lct masks` learned, for mncover.",
        exists=True,
        dir_okay=False,
        rich_help_panel=NEURONS,
    ),
]
LayersText = Annotated[
    str,
    typer.Option(
        "--layers",
        help="encoder, embeddings, pooler, numbers, ranges: 1-3,6.",
        rich_help_panel=NEURONS,
    ),
]
Bins = Annotated[
    int,
    typer.Option(help="Sections of each neuron's range.", min=1, max=64, rich_help_panel=BOUNDS),
]
Places = Annotated[
    int,
    typer.Option(help="Tokens behind this place do not count.", min=1, rich_help_panel=NEURONS),
]
Vocab = Annotated[
    int,
    typer.Option(
        help="With --neurons words: so many commonest pieces.", min=1, rich_help_panel=NEURONS
    ),
]
Weight = Annotated[
    float,
    typer.Option(
        help="λ, the weight of attention neurons.",
        callback=zero_or_above,
        rich_help_panel=NEURONS,
    ),
]
Seed = Annotated[
    int,
    typer.Option(help="Seed of draws and shuffles.", callback=usable_seed, rich_help_panel=RUNNING),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)]
Kept = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache", help="Keep bounds and what models said.", rich_help_panel=RUNNING
    ),
]


class Tokens(str, enum.Enum):
    """Whose values count."""

    ALL = "all"
    CLS = "cls"


class Neurons(str, enum.Enum):
    """What word and attention neurons are numbered by."""

    PLACES = "places"
    WORDS = "words"


TokensChoice = Annotated[
    Tokens,
    typer.Option(help="Values at all tokens, or at the first alone.", rich_help_panel=NEURONS),
]
NeuronsChoice = Annotated[
    Neurons,
    typer.Option(
        help="Neurons of places in the text, or of words of the vocabulary.",
        rich_help_panel=NEURONS,
    ),
]


class By(str, enum.Enum):
    """What has to grow."""

    MNCOVER = "mncover"
    COVER = "cover"
    BOUNDARY = "boundary"


def coverage(
    suites: Annotated[
        list[str],
        typer.Argument(
            help="Folders of built suites, Hub ids, or CheckList's .jsonl\\[.gz]; NAME=SUITE names "
            "one in tables and plots."
        ),
    ],
    model: Model,
    reference: Reference,
    curve: Annotated[
        Path | None,
        typer.Option(
            help="Write the curves: a page (.html) or a picture (.png).",
            dir_okay=False,
            rich_help_panel=CURVES,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="Of boundary, cover, mncover, neurons, top; commas between.",
            rich_help_panel=NEURONS,
        ),
    ] = "boundary,cover,neurons,top",
    masks: MasksFile = None,
    cases: Annotated[
        int | None,
        typer.Option(
            help="So many random cases of each; by default, of the smallest.",
            min=1,
            rich_help_panel=CASES,
        ),
    ] = None,
    random_sentences: Annotated[
        bool,
        typer.Option(
            "--random/--no-random",
            help="Measure random sentences of the corpus beside the suites.",
            rich_help_panel=CASES,
        ),
    ] = True,
    layers: LayersText = "encoder",
    tokens: TokensChoice = Tokens.ALL,
    bins: Bins = 10,
    places: Places = 128,
    neurons: NeuronsChoice = Neurons.PLACES,
    vocab: Vocab = 5_000,
    attention_weight: Weight = 1.0,
    threshold: Annotated[
        float,
        typer.Option(
            help="Of the metric neurons (DeepXplore).", callback=finite, rich_help_panel=NEURONS
        ),
    ] = 0.5,
    top_k: Annotated[
        int, typer.Option(help="Of the metric top.", min=1, rich_help_panel=NEURONS)
    ] = 2,
    reference_cases: ReferenceCases = None,
    shuffles: Annotated[
        int,
        typer.Option(help="Orders that curves average over.", min=1, rich_help_panel=CURVES),
    ] = 10,
    points: Annotated[
        int,
        typer.Option(help="Sizes at which curves are taken.", min=1, rich_help_panel=CURVES),
    ] = 20,
    seed: Seed = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the states, to merge or go on with.",
            file_okay=False,
            rich_help_panel=RUNNING,
        ),
    ] = None,
    device: Device = "auto",
    cache: Kept = True,
) -> None:
    """Measure what suites cover inside a model.

    Alone and together.
    """
    from s2lct.cli.console import console, errors, told_errors

    with told_errors():
        from s2lct.analysis.coverage.curves import measure, together
        from s2lct.analysis.coverage.encoder import load_encoder
        from s2lct.analysis.coverage.measured_suites import (
            drawn,
            named_suites,
            reference_and_held_out,
        )
        from s2lct.analysis.coverage.metrics import MetricOptions, build_metrics
        from s2lct.analysis.coverage.report import CoverageReport, coverage_table, write_curves
        from s2lct.errors import AnalysisError
        from s2lct.files import check_files_out, check_folder_out
        from s2lct.leaderboard.results.write import file_name

        if curve is not None and curve.suffix not in (".html", ".png"):
            raise AnalysisError(f"--curve {curve}", mend="name a file .html or .png")
        check_files_out(curve=curve)
        if save is not None:
            check_folder_out(save, "--save")
        names = [name.strip() for name in metric.split(",") if name.strip()]
        loaded = named_suites(suites)
        bounds, held_out = reference_and_held_out(reference, reference_cases, seed)
        if random_sentences and held_out.cases:
            loaded[held_out.name] = held_out
        most = cases or min(len({case.text for case in suite.cases}) for suite in loaded.values())
        texts = {
            name: [case.text for case in drawn(suite.cases, most, seed)]
            for name, suite in loaded.items()
        }
        encoder = load_encoder(model, device=device)
        options = MetricOptions(
            layers=layers,
            tokens=tokens.value,
            bins=bins,
            places=places,
            words=neurons is Neurons.WORDS,
            vocabulary=vocab,
            attention_weight=attention_weight,
            threshold=threshold,
            top=top_k,
        )
        with _bars() as bar:
            metrics = build_metrics(
                names,
                encoder,
                bounds,
                options,
                masks=_masks_of(masks, encoder),
                cache=_folder(cache),
                advance=bar("bounds", len(bounds)),
            )
            measured = [
                measure(
                    name,
                    own,
                    encoder,
                    metrics,
                    shuffles=shuffles if curve else 0,
                    points=points,
                    seed=seed,
                    advance=bar(name, len(own)),
                )
                for name, own in texts.items()
            ]
        report = CoverageReport(
            model=model,
            fingerprint=encoder.fingerprint,
            reference=f"{reference} ({len(bounds):,} sentences)",
            shuffles=shuffles if curve else 0,
            measured=tuple(measured),
            rows=tuple(together(measured)),
            notes=tuple(encoder.notes),
        )
        for note in encoder.notes:
            errors.print(note)
        console.print(coverage_table(report))
        if curve is not None:
            write_curves(report, curve)
            console.print(f"Curves written to {curve}")
        if save is not None:
            for one in measured:
                for name, state in one.states.items():
                    state.save(save / f"{file_name(one.suite)}-{name}.safetensors")
            console.print(f"States written to {save}")


def minimize(
    suite: Annotated[
        str, typer.Argument(help="Folder of a built suite, or CheckList's .jsonl\\[.gz].")
    ],
    model: Model,
    reference: Reference,
    out: Annotated[Path, typer.Option(help="Folder for the reduced suite.", file_okay=False)],
    by: Annotated[By, typer.Option(help="The coverage that a case has to raise.")] = By.BOUNDARY,
    threshold: Annotated[
        str, typer.Option(help="By more than so much; commas between several.")
    ] = "0",
    masks: MasksFile = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="Only this capability; may be given again.", rich_help_panel=CASES),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Most cases of a capability.", min=1, rich_help_panel=CASES),
    ] = None,
    layers: LayersText = "encoder",
    tokens: TokensChoice = Tokens.ALL,
    bins: Bins = 10,
    places: Places = 128,
    neurons: NeuronsChoice = Neurons.PLACES,
    vocab: Vocab = 5_000,
    attention_weight: Weight = 1.0,
    reference_cases: ReferenceCases = None,
    label_map: Annotated[
        str | None,
        typer.Option(
            help="What the classes mean: LABEL_0=negative,LABEL_1=positive.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
    cache: Kept = True,
) -> None:
    """Keep only the cases that raise coverage.

    And see whether failures stay. With several thresholds, OUT holds a folder for each.
    """
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of

    with told_errors():
        from s2lct.analysis.coverage.encoder import load_encoder
        from s2lct.analysis.coverage.measured_suites import (
            is_checklist,
            load_test_suite,
            reference_and_held_out,
            write_reduced_checklist,
        )
        from s2lct.analysis.coverage.metrics import MetricOptions, build_metrics
        from s2lct.analysis.coverage.minimize import minimize as reduce_suite
        from s2lct.analysis.coverage.minimize import reductions
        from s2lct.analysis.coverage.reduced_suite import (
            check_out,
            check_reducible,
            write_reduced_suite,
        )
        from s2lct.analysis.coverage.report import reduction_table
        from s2lct.files import check_file_out
        from s2lct.leaderboard.models.load import load_classifier
        from s2lct.leaderboard.scoring.score import default_cache, score

        mapping = label_map_of(label_map)
        thresholds = _thresholds(threshold)
        loaded = load_test_suite(suite)
        check_reducible(loaded)
        several = len(thresholds) > 1
        outs = [out / f"threshold-{t:g}" if several else out for t in thresholds]
        if is_checklist(suite):
            outs = [path.with_name(path.name + ".jsonl") for path in outs]
            for path in outs:
                check_file_out(path, "--out")
        else:
            for path in outs:
                check_out(path)
        chosen = loaded.select(capability, None, limit)
        bounds, _ = reference_and_held_out(reference, reference_cases, seed)
        encoder = load_encoder(model, device=device)
        options = MetricOptions(
            layers=layers,
            tokens=tokens.value,
            bins=bins,
            places=places,
            words=neurons is Neurons.WORDS,
            vocabulary=vocab,
            attention_weight=attention_weight,
        )
        with _bars() as bar:
            metric = build_metrics(
                [by.value],
                encoder,
                bounds,
                options,
                masks=_masks_of(masks, encoder),
                cache=_folder(cache),
                advance=bar("bounds", len(bounds)),
            )[by.value]
            outcomes = score(
                load_classifier(model, device=device, dtype="float32"),
                chosen,
                label_map=mapping,
                cache=default_cache() if cache else None,
                advance=bar("failures", len({case.text for case in chosen.cases})),
            )
            reduced = reduce_suite(
                encoder,
                chosen.cases,
                metric,
                thresholds,
                advance=bar("reduction", len(chosen.cases)),
            )
        for note in encoder.notes:
            errors.print(note)
        table = reductions(chosen.cases, outcomes.failed, reduced)
        title = f"{loaded.name} reduced by {metric.name} on {model}"
        console.print(reduction_table(table, thresholds, title))
        about: dict[str, Any] = {
            "by": metric.name,
            "model": model,
            "model_fingerprint": encoder.fingerprint,
            "reference": reference,
            "reference_sentences": len(bounds),
            "metric": metric.identity(),
        }
        written: list[Path] = []
        for path, one in zip(outs, reduced, strict=True):
            if several and not one.kept:
                console.print(f"Threshold {one.threshold:g}: no case stays.")
                continue
            written.append(path)
            if is_checklist(suite):
                write_reduced_checklist(Path(suite), one.kept, path)
            else:
                write_reduced_suite(Path(suite), one, path, about)
        if any(one.for_expansions for one in reduced):
            stayed = ", ".join(f"{len(one.for_expansions):,}" for one in reduced)
            console.print(f"Seeds that stay for an expansion's sake: {stayed}.")
        console.print(f"Written: {', '.join(map(str, written))}")


def _thresholds(text: str) -> list[float]:
    from s2lct.errors import AnalysisError

    try:
        thresholds = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        thresholds = []
    if not thresholds or not all(0 <= threshold < math.inf for threshold in thresholds):
        raise AnalysisError(
            f"--threshold {text}: is no list of numbers of 0 or above",
            mend="pass such as 0,1e-4,1e-3",
        )
    return thresholds


def _masks_of(path: Path | None, encoder: EncoderModel) -> Masks | None:
    """Masks from a file, if they were learned for this model."""
    from s2lct.analysis.coverage.masks import Masks

    return Masks.load_for(path, encoder) if path else None


def _folder(cache: bool) -> Path | None:
    from s2lct.leaderboard.scoring.score import default_cache

    return default_cache().parent / "coverage" if cache else None


@contextmanager
def _bars() -> Iterator[Callable[[str, int], Callable[[int], None]]]:
    """Progress bars: asked for a name and a total, gives what to tell of the steps."""
    from s2lct.cli.console import errors
    from s2lct.progress import counted_progress

    with counted_progress(errors) as progress:

        def bar(name: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(name, total=total)
            return lambda done: progress.advance(task, done)

        yield bar


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples(
            "s2lct coverage dist/s2lct --model embedded-2class --reference embedded",
            "s2lct coverage S²LCT=dist/s2lct CheckList=sentiment_mft.jsonl.gz \\\n"
            "    --model embedded-2class --reference embedded --curve coverage.html",
        ),
    )(coverage)
    app.command(
        rich_help_panel=INSIDE,
        epilog=examples(
            "s2lct minimize dist/s2lct --model embedded-2class --reference embedded \\\n"
            "    --by cover --threshold 1e-3 --out dist/small"
        ),
    )(minimize)
