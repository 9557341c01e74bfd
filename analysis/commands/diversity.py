"""How varied a suite is, beside other sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from s2lct.errors import AnalysisError, BuilderError
from s2lct.options import CASES, Argument, ChosenCases, CorpusColumns, Count, Option, Seed, takes
from s2lct.progress import Bars
from s2lct.suite.capability_ids import natural_order

if TYPE_CHECKING:
    from s2lct.analysis.diversity.measures import DiversityComparison, Source, Text
    from s2lct.suite.cases import Case

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

    By self-BLEU, productions, distinct n-grams, lengths and depths.
    """
    from s2lct.analysis.diversity import report
    from s2lct.analysis.diversity.measures import Source, compare
    from s2lct.analysis.diversity.readings import Reader
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.extras import require
    from s2lct.files import check_files_out, write_bytes
    from s2lct.labels import check_label_map
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import load_cases

    out = {name: getattr(options, field) for name, field in FILE_OPTIONS.items()}
    require("sacrebleu", *(("matplotlib",) if out["html"] or out["png"] else ()))
    columns = options.model_dump(include={"text_column", "label_column"})
    columns["label_map"] = check_label_map(options.label_map)
    check_files_out(**out)
    chosen = load_cases(options.suite).select(options.capability or None, options.kind)
    suite = Source("suite", _grouped(chosen.cases))
    others: list[Source] = []
    if options.against is not None:
        named = spelled(options.capability, [case.capability for case in chosen.cases])
        others.append(_checklist(options.against, tuple(suite.texts), named))
    if options.corpus != NO_CORPUS:
        others.append(_corpus(options.suite, options.corpus, columns, tuple(suite.texts)))
    reader = Reader(load_tagger(), load_parser(options.parser))
    measured = compare(suite, others, reader, draws=options.draws, seed=options.seed, bars=bars)
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


def _grouped(cases: Sequence[Case]) -> dict[str, list[Text]]:
    """Texts by group: all; the seeds, if there is more; each capability, if there are several."""
    from s2lct.analysis.diversity.measures import ALL_CASES, SEEDS, Text

    groups = {ALL_CASES: list(cases)}
    if len({one.kind for one in cases}) > 1:
        groups[SEEDS] = [one for one in cases if one.kind == "seed"]
    names = sorted({one.capability for one in cases}, key=natural_order)
    for name in names if len(names) > 1 else ():
        groups[name] = [one for one in cases if one.capability == name]
    return {name: [Text(one.text, one.seed_id) for one in group] for name, group in groups.items()}


def _checklist(against: str, groups: Sequence[str], capabilities: Sequence[str]) -> Source:
    """CheckList's cases by group.

    Groups that are no capability are drawn from the tests of the capabilities asked for, or all.
    """
    from s2lct.analysis.diversity.measures import Source, Text
    from s2lct.builder.capabilities.beside_checklist import cases_beside
    from s2lct.suite.checklist import read_checklist

    name, _, path = against.partition(":")
    if name != "checklist" or not path:
        raise AnalysisError(
            f"--against {against}: is not checklist:PATH",
            mend="write it like checklist:sentiment_mft.jsonl.gz",
        )
    cases = read_checklist(Path(path))
    if capabilities:
        wanted = {id(one) for asked in capabilities for one in cases_beside(cases, asked)}
        cases = [one for one in cases if id(one) in wanted]
    texts = {
        group: [
            Text(one.text, str(number)) for number, one in enumerate(cases_beside(cases, group))
        ]
        for group in groups
    }
    return Source("CheckList", texts)


def _corpus(
    suite: str, spec: str | None, columns: Mapping[str, Any], groups: Sequence[str]
) -> Source:
    """The corpus named, or the one that the suite's description names."""
    from s2lct.analysis.diversity.measures import Source, Text
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.suite.read import read_description

    if spec is not None:
        read = read_corpus(spec, **columns)
    else:
        mend = "name the corpus with --corpus, or leave it out with --corpus none"
        if not Path(suite).is_dir():
            raise AnalysisError(f"{suite}: does not say where its corpus lies", mend=mend)
        built = read_description(Path(suite))["options"]
        try:
            read = read_corpus(built["corpus"], **{name: built[name] for name in columns})
        except BuilderError as error:
            raise AnalysisError(f"{suite}: {error.problem}", mend=mend) from error
    texts = [Text(sentence.text, sentence.id) for sentence in read.sentences]
    return Source("corpus", dict.fromkeys(groups, texts))
