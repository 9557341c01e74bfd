"""The commands score, report and compare."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2lct.cli.commands import SCORING, band, examples

if TYPE_CHECKING:
    from s2lct.leaderboard.models.language_model import LabelPrompt

Results = Annotated[
    list[Path],
    typer.Argument(help="Result files that `s2lct score` wrote.", exists=True, dir_okay=False),
]
CASES, CLASSES, LLMS, RUNNING = "Which cases", "What answers mean", "Language models", "Running"


class Kind(str, enum.Enum):
    """Which cases."""

    SEED = "seed"
    EXPANSION = "expansion"


def score(
    models: Annotated[
        list[str],
        typer.Argument(
            help="vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
            "(ID@REVISION pins one)."
        ),
    ],
    suite: Annotated[str, typer.Option(help="Folder of a built suite, or Hub id\\[@REVISION].")],
    out: Annotated[Path, typer.Option(help="Folder for the result files.", file_okay=False)] = Path(
        "results"
    ),
    capability: Annotated[
        list[str] | None,
        typer.Option(help="Only this capability; may be given again.", rich_help_panel=CASES),
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="Only seeds, or only expansions.", rich_help_panel=CASES)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Most cases of a capability.", min=1, rich_help_panel=CASES),
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(
            help="What the classes mean: LABEL_0=negative,LABEL_1=positive.",
            rich_help_panel=CLASSES,
        ),
    ] = None,
    neutral_band: Annotated[
        tuple[float, float],
        typer.Option(
            help="Binary models: p(positive) strictly between is neutral.",
            callback=band,
            show_default="1/3 2/3",
            rich_help_panel=CLASSES,
        ),
    ] = (1 / 3, 2 / 3),
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="Folders and Hub ids are language models: the likeliest label word behind a "
            "prompt counts.",
            rich_help_panel=LLMS,
        ),
    ] = False,
    prompt: Annotated[
        str | None,
        typer.Option(
            help=r"With --llm: what is asked, with {text}; \n is a new line.",
            rich_help_panel=LLMS,
        ),
    ] = None,
    label_words: Annotated[
        str | None,
        typer.Option(
            help="With --llm: words for negative, neutral and positive, or for negative and "
            r"positive \[default: negative,neutral,positive].",
            rich_help_panel=LLMS,
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)
    ] = "auto",
    dtype: Annotated[
        str,
        typer.Option(
            help="auto (bfloat16 on a GPU), float32 or bfloat16.", rich_help_panel=RUNNING
        ),
    ] = "auto",
    cache: Annotated[
        bool,
        typer.Option(
            help="Keep what models said; scoring again costs nothing.", rich_help_panel=RUNNING
        ),
    ] = True,
) -> None:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it.
    """
    from s2lct.cli.console import console, errors, told_errors, told_warnings
    from s2lct.cli.options import label_map_of
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.results.write import check_out_folder, plain_path, write_result
    from s2lct.leaderboard.scoring.cache import CacheWarning
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.leaderboard.scoring.score import score as score_model
    from s2lct.leaderboard.site.report import results_table
    from s2lct.progress import counted_progress
    from s2lct.suite.cases import load_cases

    with told_errors(), told_warnings(CacheWarning):
        mapping = label_map_of(label_map)
        asks = _asked(llm, prompt, label_words)
        check_out_folder(out)
        chosen = load_cases(suite).select(capability, kind.value if kind else None, limit)
        selection = SelectionRecord(
            capabilities=tuple(dict.fromkeys(case.capability for case in chosen.cases))
            if capability
            else None,
            kind=kind.value if kind else None,
            limit=limit,
        )
        written: list[Path] = []
        failed: list[str] = []
        with counted_progress(errors) as progress:
            distinct = len({case.text for case in chosen.cases})
            for name in dict.fromkeys(models):
                task = progress.add_task(name, total=distinct)
                outcomes = None
                with _told_failure(name, failed, alone=len(set(models)) == 1):
                    outcomes = score_model(
                        load_classifier(name, device=device, dtype=dtype, asks=asks),
                        chosen,
                        label_map=mapping,
                        neutral_band=neutral_band,
                        cache=default_cache() if cache else None,
                        advance=lambda done, task=task: progress.advance(task, done),  # type: ignore[misc]
                    )
                if outcomes is not None:
                    written.append(write_result(outcomes, out, selection))
        results = [read_result(path) for path in written]
        if results:
            console.print(results_table(results))
            named = " ".join(map(str, written))
            console.print(
                f"Written: {', '.join(map(str, written))}; see s2lct report {named} "
                "--html report.html"
            )
        for path, result in zip(written, results, strict=True):
            plain = plain_path(result.model, out)
            if not result.partial and plain not in (None, path):
                console.print(f"{plain} stays as it is: it holds another result.")
        if failed:
            raise ScoringError(
                f"{len(failed)} of {len(set(models))} models could not be scored: "
                f"{', '.join(failed)}",
                mend=("the others' results are written; " if written else "")
                + "mend what is told above and score these again",
            )


@contextmanager
def _told_failure(name: str, failed: list[str], *, alone: bool) -> Iterator[None]:
    """Say what is wrong with one model of several, and go on with the next."""
    from s2lct.cli.console import tell
    from s2lct.errors import BuilderError

    try:
        yield
    except BuilderError as error:
        if alone:
            raise
        tell(error.problem, error.mend)
        failed.append(name)
    except Exception as error:  # somebody's model may fail in any way
        if alone:
            raise
        lines = str(error).strip().splitlines()
        tell(
            f"model {name}: cannot be scored ({type(error).__name__}: {lines[0] if lines else ''})",
            "score it alone to see where it fails",
        )
        failed.append(name)


def _asked(llm: bool, prompt: str | None, label_words: str | None) -> LabelPrompt | None:
    """What language models are asked; None without --llm."""
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.models.language_model import LabelPrompt

    given = {"--prompt": prompt, "--label-words": label_words}
    if not llm:
        if alone := [option for option, value in given.items() if value is not None]:
            raise ScoringError(
                f"{' and '.join(alone)} without --llm",
                mend="add --llm to score language models, or leave it away",
            )
        return None
    options: dict[str, Any] = {}
    if prompt is not None:
        options["prompt"] = prompt.replace("\\n", "\n")
    if label_words is not None:
        options["words"] = tuple(word.strip() for word in label_words.split(","))
    return LabelPrompt(**options)


def report(
    results: Results,
    html: Annotated[
        Path | None, typer.Option(help="Write the report as an HTML page.", dir_okay=False)
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Refuse figures that do not follow from the cases.")
    ] = False,
    explanations: Annotated[
        list[Path] | None,
        typer.Option(
            help="Add what `s2lct explain` wrote to the page; may be given again.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Put results side by side, worst first, with examples."""
    from s2lct.analysis.explain.records import read_explanations
    from s2lct.analysis.explain.report import html_section
    from s2lct.cli.console import console, told_errors
    from s2lct.leaderboard.results.read import current, read_outcomes
    from s2lct.leaderboard.results.read import recompute as recomputed
    from s2lct.leaderboard.site.report import (
        Scored,
        check_same_suite,
        results_table,
        shown_name,
        write_html,
    )

    with told_errors():
        read = [recomputed(path) if recompute else current(path) for path in results]
        check_same_suite(read)
        explained = [
            read_explanations(path, read[0].suite.fingerprint) for path in explanations or ()
        ]
        console.print(results_table(read))
        for one in read:
            words = ", ".join(
                f"{word.item} ({word.pass_to_fail} of {word.expansions})"
                for word in one.flipping_words[:5]
            )
            console.print(f"{shown_name(one)}: pass-to-fail words: {words or 'none'}")
        if recompute:
            console.print(f"Every figure of {len(read)} result files follows from their cases.")
        if html is not None:
            write_html(
                [Scored(one, read_outcomes(path)) for one, path in zip(read, results, strict=True)],
                html,
                [html_section(file) for file in explained],
            )
            console.print(f"Report written to {html}")


def compare(
    first: Annotated[Path, typer.Argument(help="A result file.", exists=True, dir_okay=False)],
    second: Annotated[
        Path, typer.Argument(help="Another, on the same suite.", exists=True, dir_okay=False)
    ],
) -> None:
    """Say which differences between two models are real."""
    from s2lct.cli.console import console, told_errors
    from s2lct.errors import ScoringError
    from s2lct.leaderboard.results.comparison import compare as compare_outcomes
    from s2lct.leaderboard.results.read import read_outcomes, read_result
    from s2lct.leaderboard.site.report import check_same_suite, comparison_table, paired

    with told_errors():
        read = [read_result(first), read_result(second)]
        check_same_suite(read)
        one, other = read_outcomes(first), read_outcomes(second)
        cases, first_failed, second_failed = paired(one, other)
        if not cases:
            raise ScoringError(
                f"{first} and {second} have no case in common",
                mend="score both on the same capabilities and kinds",
            )
        for path, result in zip((first, second), read, strict=True):
            if result.partial:
                console.print(
                    f"{path} is partial ({result.selection}): the comparison is of the "
                    f"{len(cases):,} cases that both have, not of the suite."
                )
        compared = compare_outcomes(cases, first_failed, second_failed)
        console.print(comparison_table(one.model, other.model, compared))


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    for command, lines in (
        (
            score,
            (
                "s2lct score vader embedded-3class --suite dist/s2lct --out results/",
                "s2lct score ORG/MODEL --suite ORG/s2lct@v1.0.0",
            ),
        ),
        (report, ("s2lct report results/vader.json results/afinn.json --html report.html",)),
        (compare, ("s2lct compare results/vader.json results/afinn.json",)),
    ):
        app.command(rich_help_panel=SCORING, epilog=examples(*lines))(command)
