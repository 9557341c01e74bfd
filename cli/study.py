"""The commands ``study export`` and ``study import``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.commands import examples, usable_seed

if TYPE_CHECKING:
    from rich.table import Table

    from s2lct.analysis.study.agreement import Agreement, Estimate, StudyResult

study_app = typer.Typer(
    help="Have people rate cases, and see whether they agree.",
    no_args_is_help=True,
)


class By(str, enum.Enum):
    """Whose disagreement makes a case disputed."""

    MAJORITY = "majority"
    ANY = "any"


@study_app.command("export", epilog=examples("s2lct study export dist/s2lct --out study/"))
def export_study(
    suite: Annotated[str, typer.Argument(help="Folder of a built suite, or Hub id\\[@REVISION].")],
    out: Annotated[Path, typer.Option(help="Folder for the forms and the key.", file_okay=False)],
    sets: Annotated[int, typer.Option(help="Forms, of different cases each.", min=1)] = 3,
    seeds: Annotated[
        int, typer.Option(help="Seeds in a form; an expansion of each comes with it.", min=1)
    ] = 50,
    capability: Annotated[
        list[str] | None, typer.Option(help="Only this capability; may be given again.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", callback=usable_seed)] = 0,
) -> None:
    """Draw cases, and write blind forms for raters and the key.

    A form for each set, as HTML and CSV.
    """
    from s2lct.analysis.study.form import draw, suite_titles, write_study
    from s2lct.cli.console import console, told_errors
    from s2lct.suite.cases import load_cases

    with told_errors():
        cases = load_cases(suite).select(capability)
        study = draw(cases, suite_titles(suite), sets=sets, seeds=seeds, seed=seed)
        *forms, key = write_study(study, out)
        console.print(f"Study {study.id}: {sets} sets of {2 * seeds} cases, in {out}")
        console.print(
            f"Give raters {', '.join(path.name for path in forms if path.suffix == '.html')} "
            "(or the CSV of that name).",
        )
        console.print(
            f"Keep {key.name} to yourself; then: s2lct study import ANSWERS… --key {key}",
            soft_wrap=True,
        )


@study_app.command(
    "import", epilog=examples("s2lct study import answers.json --key study/key.json")
)
def import_answers(
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="Files that raters handed in, JSON or CSV.", exists=True, dir_okay=False
        ),
    ],
    key: Annotated[Path, typer.Option(help="The study's key.json.", exists=True, dir_okay=False)],
    out: Annotated[
        Path | None, typer.Option(help="Write every figure as JSON.", dir_okay=False)
    ] = None,
    disputed: Annotated[
        Path | None,
        typer.Option(help="Write the disputed cases, for `s2lct build --exclude`.", dir_okay=False),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            "--disputed-by",
            help="majority: no majority of a case's raters agrees with the suite; any: one rater "
            "disagrees.",
        ),
    ] = By.MAJORITY,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", callback=usable_seed)] = 0,
) -> None:
    """Say how far raters agree with the suite and each other.

    Label consistency, relevance, Krippendorff's α, and the cases they dispute.
    """
    from s2lct.analysis.study.agreement import disputed_json, evaluate, result_json
    from s2lct.analysis.study.answers import read_answers
    from s2lct.analysis.study.form import read_key
    from s2lct.cli.console import console, told_errors
    from s2lct.extras import require
    from s2lct.files import check_files_out, write_text

    with told_errors():
        require("krippendorff")
        check_files_out(out=out, disputed=disputed)
        read = read_key(key)
        result = evaluate(read_answers(answers, read), read, by=by.value, seed=seed)
        console.print(agreement_table(result))
        console.print(
            f"{len(result.raters)} raters, {result.kinds['all'].answers} ratings of sentiment, "
            f"{result.missing} ratings left out. [95 % intervals]: bootstrap of seed families. "
            "α: Krippendorff's, ordinal.",
        )
        for line in disputed_lines(result):
            console.print(line, soft_wrap=True)
        if out is not None:
            write_text(out, result_json(result, read))
            console.print(f"Figures written to {out}")
        if disputed is not None:
            write_text(disputed, disputed_json(result.disputed, read))
            console.print(
                f"{len(result.disputed)} disputed cases written to {disputed}; leave them "
                f"out with: s2lct build --exclude {disputed}",
                soft_wrap=True,
            )


def agreement_table(result: StudyResult) -> Table:
    """Figures of seeds, expansions and all, then of each capability."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(header_style="bold", box=SIMPLE_HEAD, show_edge=False, padding=0)
    table.add_column("")
    for column in ("cases", "consistent %", "relevant %", "α sentiment", "α relevance"):
        table.add_column(column, justify="right")
    names = {"seed": "seeds", "expansion": "expansions", "all": "all"}
    for kind, agreement in result.kinds.items():
        style = "bold" if kind == "all" else ""
        table.add_row(names[kind], *_cells(agreement), style=style, end_section=kind == "all")
    for capability, agreement in result.capabilities.items():
        table.add_row(capability, *_cells(agreement))
    return table


def _cells(agreement: Agreement) -> list[str]:
    return [
        str(agreement.cases),
        _shown(agreement.label_consistency, lambda share: f"{100 * share:.0f}"),
        _shown(agreement.relevance, lambda share: f"{100 * share:.0f}"),
        _shown(agreement.alpha_sentiment, _without_zero),
        _shown(agreement.alpha_relevance, _without_zero),
    ]


def _shown(estimate: Estimate, written: Callable[[float], str]) -> str:
    if estimate.value is None:
        return "–"
    if estimate.ci is None:
        return written(estimate.value)
    return f"{written(estimate.value)} [{', '.join(map(written, estimate.ci))}]"


def _without_zero(value: float) -> str:
    """Two decimals, as coefficients up to 1 are written: ``.77``."""
    return f"{round(value, 2) + 0:.2f}".replace("0.", ".", 1)


def disputed_lines(result: StudyResult, most: int = 10) -> list[str]:
    """The disputed cases, two lines each, at most so many."""
    shown = result.disputed[:most]
    more = f", the first {most}" if len(result.disputed) > most else ""
    lines = [f"{len(result.disputed)} disputed cases{more}{':' if shown else '.'}"]
    for case in shown:
        ratings = ", ".join(
            f"{scale} {' '.join(map(str, given))}"
            for scale, given in (("sentiment", case.sentiment), ("relevance", case.relevance))
            if scale in case.reasons
        )
        passes = " or ".join(case.passes)
        lines += [
            f"{case.capability} {case.kind} {case.id}, passes {passes}: {ratings}",
            f"  {case.text}",
        ]
    return lines
