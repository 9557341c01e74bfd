"""The command ``diversity``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2lct.cli.commands import usable_seed
from s2lct.cli.scoring import Kind

if TYPE_CHECKING:
    from s2lct.analysis.diversity.measures import Source
    from s2lct.suite.cases import Case

CASES, CORPUS, FILES = "Which cases", "Corpus", "Files to write"
NO_CORPUS = "none"


def diversity(
    suite: Annotated[str, typer.Argument(help="Folder of a built suite, or Hub id\\[@REVISION].")],
    against: Annotated[
        str | None,
        typer.Option(help="Cases to set beside it: checklist:PATH, JSON lines of CheckList's."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Raw corpus to set beside it, as `s2lct build --corpus` takes it, or none "
            r"\[default: the one the suite was built from].",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option(help="Column with the sentences.", rich_help_panel=CORPUS)
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column with the labels.", rich_help_panel=CORPUS)
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="What labels mean: 0=negative,1=positive.", rich_help_panel=CORPUS),
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="Only this capability; may be given again.", rich_help_panel=CASES),
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="Only seeds, or only expansions.", rich_help_panel=CASES)
    ] = None,
    draws: Annotated[
        int, typer.Option(help="How often cases are drawn from what is not the suite.", min=1)
    ] = 3,
    parser: Annotated[
        str, typer.Option(help="Constituency parser: embedded, benepar model, folder.")
    ] = "embedded",
    seed: Annotated[int, typer.Option(help="Seed of every draw.", callback=usable_seed)] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write plots and table as a page.", dir_okay=False, rich_help_panel=FILES
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Write every figure as JSON.", dir_okay=False, rich_help_panel=FILES),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write every figure as CSV.", dir_okay=False, rich_help_panel=FILES),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(help="Write the plots as one picture.", dir_okay=False, rich_help_panel=FILES),
    ] = None,
) -> None:
    """Measure how varied a suite is, beside other sources.

    By self-BLEU, productions, distinct n-grams, lengths and depths.
    """
    from s2lct.analysis.diversity import report as report
    from s2lct.analysis.diversity.measures import Source, compare
    from s2lct.analysis.diversity.readings import Reader
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.cli.console import console, errors, told_errors
    from s2lct.cli.options import label_map_of
    from s2lct.extras import require
    from s2lct.files import check_files_out, write_text
    from s2lct.progress import counted_progress
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import load_cases

    with told_errors():
        require("sacrebleu", *(("matplotlib",) if html or png else ()))
        mapping = label_map_of(label_map)
        check_files_out(html=html, json=json, csv=csv, png=png)
        chosen = load_cases(suite).select(capability, kind.value if kind else None)
        own = Source("suite", _grouped(chosen.cases), whole=True)
        others: list[Source] = []
        if against is not None:
            named = spelled(capability or (), [case.capability for case in chosen.cases])
            others.append(_checklist(against, tuple(own.texts), named))
        if corpus != NO_CORPUS:
            columns = {
                "text_column": text_column,
                "label_column": label_column,
                "label_map": mapping,
            }
            others.append(_corpus(suite, corpus, columns, tuple(own.texts)))
        reader = Reader(load_tagger(), load_parser(parser))
        with counted_progress(errors) as progress:
            task = progress.add_task("read and parse", total=None)
            compared = compare(
                own,
                others,
                reader,
                draws=draws,
                seed=seed,
                start=lambda total: progress.update(task, total=total),
                advance=lambda done: progress.advance(task, done),
            )
        console.print(report.table(compared))
        console.print(report.caption(compared))
        if html is not None:
            write_text(html, report.as_html(compared, chosen.name))
        if json is not None:
            write_text(json, report.as_json(compared))
        if csv is not None:
            write_text(csv, report.as_csv(compared))
        if png is not None:
            from s2lct.analysis.diversity.plot import write_png

            write_png(compared, png)
        if written := [str(path) for path in (html, json, csv, png) if path is not None]:
            console.print(f"Written: {', '.join(written)}", soft_wrap=True)


def _grouped(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """Texts by group: all; the seeds, if there is more; each capability, if there are several."""
    from s2lct.analysis.diversity.measures import ALL_CASES, SEEDS, Text

    groups: dict[str, list[Any]] = {ALL_CASES: [Text(one.text, one.seed_id) for one in cases]}
    if len({one.kind for one in cases}) > 1:
        groups[SEEDS] = [Text(one.text, one.seed_id) for one in cases if one.kind == "seed"]
    names = dict.fromkeys(one.capability for one in cases)
    for name in sorted(names, key=lambda name: (len(name), name)) if len(names) > 1 else ():
        groups[name] = [Text(one.text, one.seed_id) for one in cases if one.capability == name]
    return groups


def _checklist(against: str, groups: Sequence[str], capabilities: Sequence[str]) -> Source:
    """CheckList's cases by group.

    Groups that are no capability are drawn from the tests of the capabilities asked for, or all.
    """
    from s2lct.analysis.diversity.measures import Source, Text
    from s2lct.errors import AnalysisError
    from s2lct.suite.checklist import cases_for, read_checklist

    name, colon, path = against.partition(":")
    if name != "checklist" or not colon or not path:
        raise AnalysisError(
            f"--against {against}: is not checklist:PATH",
            mend="write it like checklist:sentiment_mft.jsonl.gz",
        )
    cases = read_checklist(Path(path))
    if capabilities:
        wanted = {id(one) for asked in capabilities for one in cases_for(cases, asked)}
        cases = [one for one in cases if id(one) in wanted]
    return Source(
        "CheckList",
        {
            group: [
                Text(one.text, str(number)) for number, one in enumerate(cases_for(cases, group))
            ]
            for group in groups
        },
    )


def _corpus(
    suite: str, spec: str | None, columns: Mapping[str, Any], groups: Sequence[str]
) -> Source:
    """The corpus named, or the one that the suite's description names."""
    from s2lct.analysis.diversity.measures import Source, Text
    from s2lct.builder.corpus.read import read_corpus
    from s2lct.errors import AnalysisError, BuilderError
    from s2lct.suite.read import read_description

    if spec is not None:
        read = read_corpus(spec, **columns)
    else:
        mend = "name the corpus with --corpus, or leave it out with --corpus none"
        if not Path(suite).is_dir():
            raise AnalysisError(f"{suite}: does not say where its corpus lies", mend=mend)
        options = read_description(Path(suite))["options"]
        try:
            read = read_corpus(
                options["corpus"],
                text_column=options["text_column"],
                label_column=options["label_column"],
                label_map=options["label_map"],
            )
        except BuilderError as error:
            raise AnalysisError(f"{suite}: {error.problem}", mend=mend) from error
    texts = [Text(sentence.text, sentence.id) for sentence in read.sentences]
    return Source("corpus", dict.fromkeys(groups, texts))
