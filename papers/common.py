"""Shared code of the scripts: options, random choices of cases, and Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import TypeAdapter

from s2lct.analysis.cached_results import cached_result
from s2lct.analysis.coverage.criteria import Criterion, build_criteria
from s2lct.analysis.coverage.encoder import EncoderModel, ModelInput, load_encoder
from s2lct.analysis.coverage.measure import Reference, cover_texts, read_reference, text_key
from s2lct.analysis.coverage.wimask import Masks, learn_masks
from s2lct.builder.capabilities.files import comparable_cases
from s2lct.cli.console import error_console, errors_shown, warnings_shown
from s2lct.identity import content_id, fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.progress import show_bars
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.other_suites import read_checklist

Models = Annotated[
    list[str],
    typer.Option(
        "--model", help="embedded-2class, embedded-3class, a folder or a Hub id; may be repeated."
    ),
]
Suite = Annotated[str, typer.Option(help="Folder or Hub id of an S²LCT suite.")]
CheckLists = Annotated[
    list[Path],
    typer.Option("--checklist", help="CheckList's cases as JSON lines; may be repeated."),
]
ReferenceCorpus = Annotated[
    str, typer.Option(help="Corpus that the model was trained on: sst:PATH, csv:PATH …")
]
ReferenceCases = Annotated[
    int | None, typer.Option(min=2, help="Only this many random sentences of the reference.")
]
MasksFile = Annotated[
    Path | None,
    typer.Option(help="Masks that `s2lct masks` wrote; learned in one epoch if not given."),
]
Limit = Annotated[int | None, typer.Option(min=2, help="Most cases of a capability or test.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
LabelMap = Annotated[
    str | None, typer.Option(help="What the classes mean: LABEL_0=negative,LABEL_1=positive.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda …")]

METRICS = ("cover", "mncover")
HELD_OUT_SHARE = 10
"""One text in this many is held out to test the masks that are learned from the others."""
Cell = str | int | float | None
T = TypeVar("T")


def run(main: Callable[..., None]) -> None:
    """Run a script's ``main`` with the command line's options; a user error is one message."""

    @wraps(main)
    def command(**options: Any) -> None:
        with errors_shown(), warnings_shown(), show_bars(error_console):
            main(**options)

    typer.run(command)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    notes: Iterable[str] = (),
    *,
    digits: int = 1,
) -> None:
    """Print a Markdown table with its title above and paragraphs of notes below.

    A cell of None is empty; decimal numbers have ``digits`` digits after the point.
    """

    def cell_text(cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{digits}f}"
        return f"{cell:,}" if isinstance(cell, int) else (cell or "").replace("|", "\\|")

    text_columns = {
        column for row in rows for column, cell in enumerate(row) if isinstance(cell, str)
    }
    alignment = ["---" if column in text_columns else "--:" for column in range(len(columns))]
    lines = [columns, alignment, *([cell_text(cell) for cell in row] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    print("\n\n".join([f"**{title}**", table, *notes]) + "\n")


def percent(failed: Sequence[bool]) -> float | None:
    """The failure rate in percent; None if there are no cases."""
    return 100 * sum(failed) / len(failed) if failed else None


def cached(
    model_fingerprint: str,
    script: str,
    inputs: Any,
    result_type: type[T],
    compute: Callable[[], T],
) -> T:
    """Return the result of ``compute``, from the cache if an earlier run of the script stored it.

    The result depends on the model, the script (its ``__file__``) and the inputs (JSON values).
    """
    code = [Path(file).read_text(encoding="utf-8") for file in (__file__, script)]
    return cached_result(model_fingerprint, [code, inputs], TypeAdapter(result_type), compute)


def random_families(suite: SuiteCases, limit: int | None, random_seed: int) -> SuiteCases:
    """At most ``limit`` cases of each capability, from random seeds, each with its expansions."""
    if limit is None:
        return suite
    families: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(suite.cases, key=lambda case: case.kind != "seed"):
        families.setdefault(case.capability, {}).setdefault(case.seed_id, []).append(case)
    ids: set[str] = set()
    for cases_of_seed in families.values():
        seed_ids = sorted(
            cases_of_seed, key=lambda seed_id: shuffle_key(random_seed, "reproduced", seed_id)
        )
        ids.update([case.id for seed_id in seed_ids for case in cases_of_seed[seed_id]][:limit])
    return suite.with_contrasts_of(ids)


def checklist_suite(
    paths: Iterable[Path], capabilities: Iterable[str], limit: int | None, random_seed: int
) -> SuiteCases:
    """CheckList's cases as a suite: each capability has the cases of the test it was modelled on.

    A capability without such a test has no cases. Each case is a family of its own.
    """
    checklist = [case for path in paths for case in read_checklist(path)]
    cases: list[Case] = []
    for capability in capabilities:
        test_cases = comparable_cases(checklist, capability)
        if test_cases is checklist:  # no test is named, or the files do not have it
            continue
        capability_cases = []
        for number, case in enumerate(test_cases):
            id = content_id("checklist", case.test, str(number), case.text)
            passes = frozenset(map(LABELS.index, case.passes))
            capability_cases.append(
                Case(id, capability, "seed", id, case.text, passes, label=max(passes))
            )
        capability_cases.sort(key=lambda case: shuffle_key(random_seed, "reproduced", case.id))
        cases += capability_cases[:limit]
    fingerprint = fingerprint_of([[case.id, case.text, case.label] for case in cases])
    return SuiteCases("CheckList", "", fingerprint, tuple(cases))


@dataclass(frozen=True)
class MeasuredModel:
    """A model with its reference texts and coverage criteria, for MNCOVER's tables.

    Attributes:
        encoder: the model.
        reference: the texts that neurons' ranges come from, and held-out texts by name.
        criteria: COVER and MNCOVER with no flag set, by name.
        inputs: everything, as JSON values, that figures depend on besides the model and the
            measured texts.
        notes: paragraphs on the counting of coverage and the origin of the masks.
    """

    encoder: EncoderModel
    reference: Reference
    criteria: Mapping[str, Criterion]
    inputs: list[Any]
    notes: tuple[str, ...]

    @cached_property
    def criteria_after_training_set(self) -> dict[str, Criterion]:
        """The criteria with the flags that the reference texts set."""
        return cover_texts(self.criteria, self.encoder, self.reference.texts, "training set")


def measured_model(
    name: str,
    reference: str,
    limit: int | None,
    masks_file: Path | None,
    random_seed: int,
    device: str,
) -> MeasuredModel:
    """Load a model, its reference corpus and masks; without a file, learn masks in one epoch."""
    encoder = load_encoder(name, device=device)
    reference_texts = read_reference(reference, limit, random_seed)
    if masks_file is not None:
        masks, origin = Masks.load(masks_file, encoder), f"read from {masks_file.name}"
    else:
        shuffled = shuffled_texts(reference_texts.texts, random_seed)
        n_held_out = max(1, len(shuffled) // HELD_OUT_SHARE)
        masks = learn_masks(
            encoder,
            shuffled[n_held_out:],
            shuffled[:n_held_out],
            epochs=1,
            random_seed=random_seed,
        )
        origin = "learned in one epoch, everything else as in the paper"
    if masks.words.sum() >= masks.about.get("words_seen", len(masks.words)):
        origin += "; they keep every word that they were learned from"
    notes = (
        "COVER and MNCOVER as the paper counts them: embeddings and every encoder layer, all "
        "neurons of 128 places in the denominator, ten sections, λ = 1.",
        f"Masks of {name}: {origin}.",
    )
    criteria = build_criteria(METRICS, encoder, reference_texts.texts, masks=masks)
    digest = sha256(masks.words.tobytes() + masks.pairs.tobytes()).hexdigest()
    inputs = [str(encoder.device), reference_texts.texts, digest]
    return MeasuredModel(encoder, reference_texts, criteria, inputs, notes)


def shuffled_texts(texts: Sequence[ModelInput], random_seed: int) -> list[ModelInput]:
    """Texts in a random order that does not depend on their original order."""
    return sorted(texts, key=lambda text: text_key(random_seed, "masks", text))
