"""How varied a suite is, beside other sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from s2lct.options import CASES, Argument, ChosenCases, CorpusColumns, Count, Option, Seed, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.analysis.diversity.measures import DiversityComparison

CORPUS, FILES = "Corpus", "Files to write"
NO_CORPUS = "none"
FILE_OPTIONS = {"html": "html", "json": "json_file", "csv": "csv", "png": "png"}


class DiversityOptions(CorpusColumns, ChosenCases):
    """Options of `diversity`."""

    suite: Annotated[str, Argument("Folder of a built suite, or Hub id\\[@REVISION].")]
    against: Annotated[
        str | None, Option("Cases to set beside it: checklist:PATH, JSON lines of CheckList's.")
    ] = None
    draws: Annotated[Count, Option("How often cases are drawn from what is not the suite.")] = 3
    parser: Annotated[str, Option("Constituency parser: embedded, benepar model, folder.")] = (
        "embedded"
    )
    seed: Annotated[Seed, Option("Seed of every draw.")] = 0
    corpus: Annotated[
        str | None,
        Option(
            "Raw corpus to set beside it, as `s2lct build --corpus` takes it, or none "
            r"\[default: the one the suite was built from].",
            CORPUS,
        ),
    ] = None
    kind: Annotated[
        Literal["seed", "expansion"] | None, Option("Only seeds, or only expansions.", CASES)
    ] = None
    html: Annotated[Path | None, Option("Write plots and table as a page.", FILES, path="file")] = (
        None
    )
    json_file: Annotated[
        Path | None, Option("Write every figure as JSON.", FILES, flags="--json", path="file")
    ] = None
    csv: Annotated[Path | None, Option("Write every figure as CSV.", FILES, path="file")] = None
    png: Annotated[Path | None, Option("Write the plots as one picture.", FILES, path="file")] = (
        None
    )


@dataclass(frozen=True)
class Diversities:
    """Measures of a suite beside other sources, and the files they were written to."""

    measured: DiversityComparison
    files: tuple[Path, ...]


@takes(DiversityOptions)
def diversity(options: DiversityOptions, bars: Bars) -> Diversities:
    """Measure how varied a suite is, beside other sources.

    By self-BLEU, productions, distinct n-grams, lengths and depths; and the suite by itself, in
    figures that cannot be reached by repeating oneself.
    """
    from s2lct.analysis.diversity import report
    from s2lct.analysis.diversity.measures import compare
    from s2lct.analysis.diversity.readings import Reader
    from s2lct.analysis.diversity.sources import checklist_texts, corpus_texts, grouped
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.extras import require
    from s2lct.files import check_files_out, write_bytes
    from s2lct.labels import check_label_map
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import cases_of, read_rows
    from s2lct.suite.variety import variety_of

    out = {name: getattr(options, field) for name, field in FILE_OPTIONS.items()}
    require("sacrebleu", *(("matplotlib",) if out["html"] or out["png"] else ()))
    columns = options.model_dump(include={"text_column", "label_column"})
    columns["label_map"] = check_label_map(options.label_map)
    check_files_out(**out)
    read = read_rows(options.suite)
    chosen = cases_of(read).select(options.capability or None, options.kind)
    sources = {"suite": grouped(chosen.cases)}
    groups = tuple(sources["suite"])
    if options.against is not None:
        named = spelled(options.capability, [case.capability for case in chosen.cases])
        sources["CheckList"] = checklist_texts(options.against, groups, named)
    if options.corpus != NO_CORPUS:
        sources["corpus"] = corpus_texts(options.suite, options.corpus, columns, groups)
    reader = Reader(load_tagger(), load_parser(options.parser))
    measured = compare(sources, reader, draws=options.draws, seed=options.seed, bars=bars)
    names = {case.capability for case in chosen.cases}
    rows = (row.model_dump() for row in read.rows if row.capability in names)
    measured = replace(measured, variety=variety_of(rows))
    written = {
        "html": lambda: report.as_html(measured, chosen.name).encode(),
        "json": lambda: report.as_json(measured).encode(),
        "csv": lambda: report.as_csv(measured).encode(),
        "png": lambda: report.as_png(measured),
    }
    files = {name: path for name, path in out.items() if path is not None}
    for name, path in files.items():
        write_bytes(path, written[name]())
    return Diversities(measured, tuple(files.values()))
