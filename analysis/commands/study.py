"""Whether people agree with a suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from s2lct.options import Argument, Count, Option, Options, Seed, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.study.agreement import StudyResult


class ExportOptions(Options):
    """Options of `export_study`."""

    suite: Annotated[str, Argument("Folder of a built suite, or Hub id\\[@REVISION].")]
    out: Annotated[Path, Option("Folder for the forms and the key.", path="folder")]
    sets: Annotated[Count, Option("Forms, of different cases each.")] = 3
    seeds: Annotated[Count, Option("Seeds in a form; an expansion of each comes with it.")] = 50
    capability: Annotated[tuple[str, ...], Option("Only this capability; may be given again.")] = ()
    seed: Annotated[Seed, Option("Seed of the draw.")] = 0


@dataclass(frozen=True)
class WrittenStudy:
    """A study's id, its forms, and the key that only its owner has."""

    id: str
    forms: tuple[Path, ...]
    key: Path


@takes(ExportOptions)
def export_study(options: ExportOptions, bars: Bars) -> WrittenStudy:
    """Draw cases, and write blind forms for raters and the key.

    A form for each set, as HTML and CSV.
    """
    from s2lct.analysis.study.form import draw, suite_titles, write_study
    from s2lct.suite.cases import load_cases

    cases = load_cases(options.suite).select(options.capability or None)
    titles = suite_titles(options.suite)
    study = draw(cases, titles, sets=options.sets, seeds=options.seeds, seed=options.seed)
    *forms, key = write_study(study, options.out)
    return WrittenStudy(study.key.study, tuple(forms), key)


class ImportOptions(Options):
    """Options of `import_answers`."""

    answers: Annotated[
        tuple[Path, ...],
        Argument("Files that raters handed in, JSON or CSV.", path="existing file"),
    ]
    key: Annotated[Path, Option("The study's key.json.", path="existing file")]
    out: Annotated[Path | None, Option("Write every figure as JSON.", path="file")] = None
    disputed: Annotated[
        Path | None,
        Option("Write the disputed cases, for `s2lct build --exclude`.", path="file"),
    ] = None
    disputed_by: Annotated[
        Literal["majority", "any"],
        Option(
            "majority: no majority of a case's raters agrees with the suite; any: one rater "
            "disagrees."
        ),
    ] = "majority"
    seed: Annotated[Seed, Option("Seed of the bootstrap.")] = 0


@takes(ImportOptions)
def import_answers(options: ImportOptions, bars: Bars) -> StudyResult:
    """Say how far raters agree with the suite and each other.

    Label consistency, relevance, Krippendorff's α, and the cases they dispute.
    """
    from s2lct.analysis.study.agreement import disputed_json, evaluate, result_json
    from s2lct.analysis.study.answers import read_answers
    from s2lct.analysis.study.form import read_key
    from s2lct.extras import require
    from s2lct.files import check_files_out, write_text

    require("krippendorff")
    check_files_out(out=options.out, disputed=options.disputed)
    key = read_key(options.key)
    answers = read_answers(options.answers, key)
    result = evaluate(answers, key, by=options.disputed_by, seed=options.seed)
    if options.out is not None:
        write_text(options.out, result_json(result, key))
    if options.disputed is not None:
        write_text(options.disputed, disputed_json(result.disputed, key))
    return result
