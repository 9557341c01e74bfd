"""Commands that look inside a model (explain, retrain) or judge a suite (diversity, study)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from s2lct.command import Capabilities, Count, Device, LabelMap, Positive, RandomSeed, command
from s2lct.errors import AnalysisError, OptionError, require

if TYPE_CHECKING:
    from s2lct.analysis.diversity import Diversity
    from s2lct.analysis.explain.report import Explanations
    from s2lct.analysis.retrain import RetrainingMatrix
    from s2lct.analysis.study import StudyResult

ALL, EACH = "all", "each"
PICTURES = (".svg", ".png", ".pdf")
TRAINING = "Training"
Suite = Annotated[str, typer.Option(help=r"Folder of a built suite, or Hub id\[@REVISION].")]
SuiteArgument = Annotated[
    str, typer.Argument(help=r"Folder of a built suite, or Hub id\[@REVISION].")
]


@command
def explain(
    model: Annotated[
        str,
        typer.Argument(
            help="vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
            "(ID@REVISION pins one)."
        ),
    ],
    *,
    suite: Suite,
    out: Annotated[Path, typer.Option(dir_okay=False, help="JSON file to write.")] = Path(
        "explain.json"
    ),
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write them as an HTML page too.")
    ] = None,
    capability: Capabilities = [],  # noqa: B006
    limit: Annotated[
        int, Field(ge=0), typer.Option(help="Most failures of a capability; 0 for all.")
    ] = 5,
    label_map: LabelMap = None,
    device: Device = "auto",
) -> Explanations:
    """Find the words that hold a model's failures."""
    from s2lct.analysis.explain.attribution import attribution_method_name, check_packages
    from s2lct.analysis.explain.report import Explanations
    from s2lct.analysis.explain.search import P_THRESHOLD, choose_failures, explain_cases
    from s2lct.analysis.explain.words import MaskedLMFiller
    from s2lct.analysis.labelled_classifier import LabelledClassifier
    from s2lct.files import check_output_file, write_text
    from s2lct.labels import check_label_map
    from s2lct.suite.cases import load_suite

    checked_label_map = check_label_map(label_map)
    check_output_file(out, "--out")
    check_output_file(html, "--html")
    cases = load_suite(suite).select(capability or None)
    classifier = LabelledClassifier.load(model, device=device, label_map=checked_label_map)
    check_packages(classifier)
    predicted_labels = classifier.labels([case.text for case in cases.cases]).tolist()
    failures = choose_failures(cases.cases, predicted_labels, limit or None)
    if not failures:
        raise AnalysisError(
            f"{model}: nothing to explain: it passes every case", hint="name other capabilities"
        )
    filler = MaskedLMFiller()
    result = Explanations(
        suite=cases.name,
        suite_fingerprint=cases.fingerprint,
        model=classifier.classifier.name,
        model_fingerprint=classifier.classifier.fingerprint,
        label_rule=str(classifier.rule),
        fillings=filler.description,
        attribution=attribution_method_name(classifier),
        threshold=P_THRESHOLD,
        explanations=tuple(explain_cases(classifier, failures, filler)),
    )
    write_text(out, result.json())
    if html is not None:
        write_text(html, result.html())
    return result


@command
def retrain(
    model: Annotated[
        str,
        typer.Argument(
            help="embedded-2class, embedded-3class, or the folder or Hub id (ID@REVISION pins "
            "one) of a sequence classifier."
        ),
    ],
    *,
    on: Annotated[
        list[str],
        typer.Option(
            help="Capability to train on; again for several together; all for all together; each "
            "for one model a capability and the matrix of them."
        ),
    ],
    suite: Suite,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for models and figures.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="The source corpus, as for `s2lct build`; by default what the suite was built "
            "from; none: do without.",
        ),
    ] = None,
    epochs: Annotated[
        Positive, typer.Option(help="Times that every case is seen.", rich_help_panel=TRAINING)
    ] = 1.0,
    lr: Annotated[
        Positive, typer.Option(help="Learning rate at the start.", rich_help_panel=TRAINING)
    ] = 2e-5,
    batch_size: Annotated[Count, typer.Option(help="Cases a step.", rich_help_panel=TRAINING)] = 16,
    label_map: LabelMap = None,
    device: Device = "auto",
) -> RetrainingMatrix:
    """Fine-tune on capabilities: what is learned, what forgotten.

    Trained models are kept in --out, but not with --on each.
    """
    from s2lct.analysis.corpus_parts import source_corpus
    from s2lct.analysis.labelled_classifier import LabelledClassifier
    from s2lct.analysis.retrain import Retrainer
    from s2lct.analysis.training import TrainOptions
    from s2lct.files import check_output_folder, write_text
    from s2lct.labels import check_label_map
    from s2lct.suite.cases import load_suite

    require("accelerate", "sklearn")
    checked_label_map = check_label_map(label_map)
    check_output_folder(out, "--out")
    loaded = load_suite(suite)
    trainings = _trainings(on, loaded.capabilities)
    loaded.select([name for names in trainings.values() for name in names])
    retrainer = Retrainer(
        model=LabelledClassifier.load(model, device=device, label_map=checked_label_map),
        suite=loaded,
        corpus=source_corpus(suite, corpus),
        options=TrainOptions(epochs, lr, batch_size),
        save_to=None if EACH in on else out,
    )
    matrix = retrainer.matrix(trainings)
    write_text(out / "retrain.json", matrix.json())
    return matrix


@command
def diversity(
    suite: SuiteArgument,
    *,
    checklist: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="CheckList's cases, JSON lines, to set beside it."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Raw corpus to set beside it, as `s2lct build --corpus` takes it, or none "
            r"\[default: the one the suite was built from]."
        ),
    ] = None,
    capability: Capabilities = [],  # noqa: B006
    seed: Annotated[RandomSeed, typer.Option(help="Seed of every draw.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Draw the figures: .svg, .png or .pdf."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure as CSV."),
    ] = None,
) -> Diversity:
    """Measure how diverse a suite is, beside other sources.

    By self-BLEU and distinct productions.
    """
    from s2lct.analysis.corpus_parts import source_corpus
    from s2lct.analysis.diversity import measure_diversity
    from s2lct.builder.capabilities.files import comparable_cases
    from s2lct.files import check_output_file, write_text
    from s2lct.suite.cases import load_suite
    from s2lct.suite.other_suites import read_checklist

    require("sacrebleu", *(("matplotlib",) if plot else ()))
    check_output_file(plot, "--plot")
    check_output_file(csv, "--csv")
    if plot is not None and plot.suffix not in PICTURES:
        raise OptionError(f"--plot {plot}: no picture", hint=f"name it {', '.join(PICTURES)}")
    cases = load_suite(suite).select(capability or None)
    checklist_cases = read_checklist(checklist) if checklist is not None else []
    if capability:
        compared_ids = {
            id(case)
            for name in cases.capabilities
            for case in comparable_cases(checklist_cases, name)
        }
        checklist_cases = [case for case in checklist_cases if id(case) in compared_ids]
    result = measure_diversity(
        cases.cases,
        checklist=checklist_cases,
        corpus=source_corpus(suite, corpus),
        random_seed=seed,
    )
    if plot is not None:
        result.plot(plot)
    if csv is not None:
        write_text(csv, result.table().csv())
    return result


@command
def export_study(
    suite: SuiteArgument,
    *,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the forms and the key.")],
    sets: Annotated[Count, typer.Option(help="Forms, of different cases each.")] = 3,
    seeds: Annotated[
        Count, typer.Option(help="Seeds in a form; an expansion of each comes with it.")
    ] = 50,
    capability: Capabilities = [],  # noqa: B006
    seed: Annotated[RandomSeed, typer.Option(help="Seed of the draw.")] = 0,
) -> list[Path]:
    """Draw cases, and write blind forms for annotators and the key.

    A form for each set, as HTML and CSV; the key is the last file.
    """
    from s2lct.analysis.study import draw_study, write_study
    from s2lct.suite.cases import load_suite

    cases = load_suite(suite).select(capability or None)
    return write_study(draw_study(cases, n_sets=sets, n_seeds=seeds, random_seed=seed), out)


@command
def import_annotations(
    annotations: Annotated[
        list[Path],
        typer.Argument(
            dir_okay=False, help="Files that annotators handed in, CSV or JSON lines (.jsonl)."
        ),
    ],
    *,
    key: Annotated[Path, typer.Option(dir_okay=False, help="The study's key.json.")],
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure and the disputed cases as JSON."),
    ] = None,
) -> StudyResult:
    """Say how far annotators agree with the suite and each other.

    Label consistency, relevance, Krippendorff's α, and the cases they dispute.
    """
    from s2lct.analysis.study import QUESTIONS, evaluate_annotations, read_key
    from s2lct.files import check_output_file, write_text
    from s2lct.suite.annotation import read_annotations

    require("krippendorff")
    check_output_file(out, "--out")
    study_key = read_key(key)
    answers = read_annotations(annotations, QUESTIONS, study_key.items)
    result = evaluate_annotations(answers, study_key)
    if out is not None:
        write_text(out, result.json())
    return result


def _trainings(on: Sequence[str], capabilities: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The capabilities of each training that ``--on`` asks for, by the training's name."""
    from s2lct.suite.capability_ids import in_known_spelling

    if {ALL, EACH} & set(on) and len(on) > 1:
        raise AnalysisError(
            f"--on {' --on '.join(on)}", hint=f"give {ALL} or {EACH} alone, or capabilities"
        )
    if EACH in on:
        return {name: (name,) for name in capabilities}
    if ALL in on:
        return {ALL: capabilities}
    names = in_known_spelling(on, capabilities)
    return {"+".join(names): names}
