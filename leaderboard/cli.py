"""The commands score, report and compare."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from s2lct.leaderboard.language_model import LabelPrompt

Results = Annotated[list[Path], typer.Argument(help="Result files that `s2lct score` wrote.")]


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
    suite: Annotated[str, typer.Option(help="Folder of a built suite, or Hub id[@REVISION].")],
    out: Annotated[Path, typer.Option(help="Folder for the result files.")] = Path("results"),
    capability: Annotated[
        list[str] | None, typer.Option(help="Only this capability; may be given again.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only seeds, or only expansions.")] = None,
    limit: Annotated[int | None, typer.Option(help="Most cases of a capability.", min=1)] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="What the classes mean: LABEL_0=negative,LABEL_1=positive."),
    ] = None,
    neutral_band: Annotated[
        tuple[float, float],
        typer.Option(help="Binary models: p(positive) strictly between is neutral."),
    ] = (1 / 3, 2 / 3),
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="Folders and Hub ids are language models: the likeliest label word behind a "
            "prompt counts.",
        ),
    ] = False,
    prompt: Annotated[
        str | None,
        typer.Option(help=r"With --llm: what is asked, with {text}; \n is a new line."),
    ] = None,
    label_words: Annotated[
        str | None,
        typer.Option(
            help="With --llm: words for negative, neutral and positive, or for negative and "
            r"positive \[default: negative,neutral,positive]."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    dtype: Annotated[
        str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")
    ] = "auto",
    cache: Annotated[
        bool, typer.Option(help="Keep what models said; scoring again costs nothing.")
    ] = True,
) -> None:
    """Score models on a suite: a failure rate for each capability, and a result file each."""
    from s2lct.builder.cli import label_map_of
    from s2lct.builder.console import console, told_errors
    from s2lct.builder.progress import counted_progress
    from s2lct.leaderboard.cases import load_cases
    from s2lct.leaderboard.errors import ScoringError
    from s2lct.leaderboard.models import load_classifier
    from s2lct.leaderboard.report import results_table
    from s2lct.leaderboard.result_names import plain_path
    from s2lct.leaderboard.results import (
        SelectionRecord,
        check_out_folder,
        read_result,
        write_result,
    )
    from s2lct.leaderboard.scoring import default_cache
    from s2lct.leaderboard.scoring import score as score_model

    with told_errors():
        check_out_folder(out)
        asks = _asked(llm, prompt, label_words)
        meanings = label_map_of(label_map)
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
        with counted_progress(console) as progress:
            distinct = len({case.text for case in chosen.cases})
            for name in dict.fromkeys(models):
                task = progress.add_task(name, total=distinct)
                outcomes = None
                with _told_failure(name, failed, alone=len(set(models)) == 1):
                    outcomes = score_model(
                        load_classifier(name, device=device, dtype=dtype, asks=asks),
                        chosen,
                        label_map=meanings,
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
    from s2lct.builder.console import tell
    from s2lct.builder.errors import BuilderError

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
    from s2lct.leaderboard.errors import ScoringError
    from s2lct.leaderboard.language_model import LabelPrompt

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
    html: Annotated[Path | None, typer.Option(help="Write the report as an HTML page.")] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Refuse figures that do not follow from the cases.")
    ] = False,
    explanations: Annotated[
        list[Path] | None,
        typer.Option(help="Add what `s2lct explain` wrote to the page; may be given again."),
    ] = None,
) -> None:
    """Put results side by side, worst first, with examples."""
    from s2lct.analysis.explain import read_explanations
    from s2lct.analysis.explain_report import html_section
    from s2lct.builder.console import console, told_errors
    from s2lct.leaderboard.report import (
        Scored,
        check_same_suite,
        results_table,
        shown_name,
        write_html,
    )
    from s2lct.leaderboard.results import read_outcomes, read_result
    from s2lct.leaderboard.results import recompute as recomputed

    with told_errors():
        read = [recomputed(path) if recompute else read_result(path) for path in results]
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
    first: Annotated[Path, typer.Argument(help="A result file.")],
    second: Annotated[Path, typer.Argument(help="Another, on the same suite.")],
) -> None:
    """Say which differences between two models are real."""
    from s2lct.builder.console import console, told_errors
    from s2lct.leaderboard.errors import ScoringError
    from s2lct.leaderboard.report import check_same_suite, comparison_table
    from s2lct.leaderboard.results import read_outcomes, read_result
    from s2lct.leaderboard.statistics import compare as compare_outcomes

    with told_errors():
        read = [read_result(first), read_result(second)]
        check_same_suite(read)
        one, other = read_outcomes(first), read_outcomes(second)
        failed = {
            case.id: bool(fails) for case, fails in zip(other.cases, other.failed, strict=True)
        }
        shared = [n for n, case in enumerate(one.cases) if case.id in failed]
        if not shared:
            raise ScoringError(
                f"{first} and {second} have no case in common",
                mend="score both on the same capabilities and kinds",
            )
        import numpy as np

        for path, result in zip((first, second), read, strict=True):
            if result.partial:
                console.print(
                    f"{path} is partial ({result.selection}): the comparison is of the "
                    f"{len(shared):,} cases that both have, not of the suite."
                )
        cases = [one.cases[n] for n in shared]
        second_failed = np.array([failed[case.id] for case in cases], dtype=bool)
        console.print(
            comparison_table(
                one.model, other.model, compare_outcomes(cases, one.failed[shared], second_failed)
            )
        )


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    for command in (score, report, compare):
        app.command()(command)
