"""What retraining changed as tables, as an HTML page and as a heat map."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from s2lct.analysis.plots import INK, picture, style
from s2lct.analysis.retrain.records import Change, Matrix, Row
from s2lct.files import write_bytes
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.pages import page_templates
from s2lct.tables import Cell, Table


def points(value: float) -> str:
    """A change of a proportion in percentage points, with its sign."""
    rounded = f"{100 * value:+.0f}"
    return "0" if rounded in ("+0", "-0") else rounded.replace("-", "−")


def row_table(row: Row) -> Table:
    """One training: a row a capability."""
    columns = (
        "", "cases", "before", "after", "fail-to-pass", "pass-to-fail", "change, points",
    )  # fmt: skip
    rows: list[list[str | Cell]] = [
        [
            Cell(capability, kind="bold" if capability in row.trained_on else ""),
            *map(str, (one.cases, one.failures_before, one.failures_after)),
            *map(str, (one.fail_to_pass, one.pass_to_fail)),
            f"{points(one.change)} [{points(one.ci[0])}, {points(one.ci[1])}]",
        ]
        for capability, one in row.unseen.items()
    ]
    title = f"Trained on {row.name}: failures on cases whose sentences were not trained on"
    return Table(columns, rows, title)


def forgotten_line(row: Row) -> str:
    """Accuracy on the corpus's own test split, in a line."""
    if row.corpus is None:
        return "No corpus: what was forgotten is not known"
    return (
        f"Accuracy on {row.corpus.sentences} sentences of the corpus's own test split: "
        f"{100 * row.corpus.before:.1f} % before, {100 * row.corpus.after:.1f} % after"
    )


def conclusion(matrix: Matrix) -> str:
    """What training came to, in a sentence or two."""
    rows = [row for row in matrix.rows if not row.problem]
    if not rows:
        return "Nothing was trained."
    own = [row.unseen[name] for row in rows for name in row.trained_on if name in row.unseen]
    others = [of for row in rows for name, of in row.unseen.items() if name not in row.trained_on]
    trainings = (
        f"Training {matrix.model} on {rows[0].name}"
        if len(rows) == 1
        else f"{len(rows)} trainings of {matrix.model}"
    )
    better, worse = (sum(one.clear and sign * one.change < 0 for one in others) for sign in (1, -1))
    told = (
        f"{trainings} clearly lowered the failure rate of {sum(_lower(one) for one in own)} of "
        f"{len(own)} capabilities trained on, on cases whose sentences were not trained on"
    )
    if others:
        told += f"; of {len(others)} other figures {better} clearly fell and {worse} clearly rose"
    changes = [row.corpus.after - row.corpus.before for row in rows if row.corpus]
    if changes:
        low, high = points(min(changes)), points(max(changes))
        span = low if low == high else f"{low} to {high}"
        told += f". Accuracy on the corpus changed by {span} points"
    return f"{told}."


def _lower(one: Change) -> bool:
    return one.clear and one.change < 0


def sentences(matrix: Matrix) -> list[str]:
    """A sentence a training: what it changed on what was trained on, and what was forgotten."""
    told: list[str] = []
    for row in matrix.rows:
        if row.problem:
            told.append(f"{row.name}: {row.problem}.")
            continue
        own = [
            f"of {name} from {_percent(one.failures_before, one)} to "
            f"{_percent(one.failures_after, one)} %"
            for name in row.trained_on
            if (one := row.unseen.get(name)) is not None
        ]
        rates = f"failure rate {', '.join(own)}" if own else "no case was held out"
        forgotten = f" {forgotten_line(row)}." if row.corpus else ""
        told.append(f"Trained on {row.name}: {rates}.{forgotten}")
    return told


def _percent(failures: int, of: Change) -> str:
    return f"{100 * failures / of.cases:.0f}"


def matrix_table(matrix: Matrix) -> Table:
    """Changes of failure rates in percentage points: trained on (rows), tested on (columns)."""
    return Table(
        ("on", *matrix.capabilities, "corpus"),
        [
            [row.name, *("–" if np.isnan(value) else points(value) for value in values)]
            for row, values in zip(matrix.rows, _changes(matrix), strict=True)
        ],
        "Change of the failure rate in points, on cases whose sentences were not trained on",
    )


def _changes(matrix: Matrix) -> list[list[float]]:
    """A row a training: the change of each capability's failure rate, and of the accuracy."""
    capabilities = matrix.capabilities
    return [
        [
            *(row.unseen[name].change if name in row.unseen else np.nan for name in capabilities),
            np.nan if row.corpus is None else row.corpus.after - row.corpus.before,
        ]
        for row in matrix.rows
    ]


def html_page(matrix: Matrix) -> str:
    """The matrix and each training's figures as one HTML page that needs no network."""
    environment = page_templates("s2lct.analysis.retrain")
    environment.filters["points"] = points
    return environment.get_template("retrain.html.jinja").render(
        matrix=matrix,
        conclusion=conclusion(matrix),
        sentences=sentences(matrix),
        words=capability_words(matrix.capabilities),
    )


def write_matrix(matrix: Matrix, out: Path) -> list[Path]:
    """Write JSON and HTML, and of several trainings the heat map as PNG and SVG.

    Returns:
        The paths.
    """
    described = json.dumps(matrix.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
    files = {"retrain.json": described.encode(), "retrain.html": html_page(matrix).encode()}
    if len(matrix.rows) > 1:
        files |= plots(matrix)
    for name, content in files.items():
        write_bytes(out / name, content)
    return [out / name for name in files]


def plots(matrix: Matrix) -> dict[str, bytes]:
    """The heat map by file name; on a white card, to be read on pages of either theme."""
    values = np.array(_changes(matrix))
    # A lower accuracy is as bad as a higher failure rate.
    values[:, -1] *= -1
    with style():
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        figure = Figure(
            figsize=(1.6 + 0.62 * values.shape[1], 1.7 + 0.42 * len(values)),
            layout="constrained",
            facecolor="white",
        )
        axes = figure.subplots()
        axes.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for (number, place), value in np.ndenumerate(values):
            row, name = matrix.rows[number], (*matrix.capabilities, "")[place]
            text, colour, weight = "–", "#57606a", "normal"
            if not np.isnan(value):
                text = points(value if name else -value)
                colour = "white" if abs(value) > 0.65 else INK
                if name and row.unseen[name].clear:
                    weight = "bold"
            axes.text(
                place, number, text, ha="center", va="center", color=colour, fontweight=weight
            )
            if name in row.trained_on and name in row.unseen:
                corner = (place - 0.47, number - 0.46)
                axes.add_patch(
                    Rectangle(corner, 0.94, 0.92, fill=False, edgecolor=INK, linewidth=1.4)
                )
        axes.axvline(values.shape[1] - 1.5, color="white", linewidth=4)
        axes.set_xticks(range(values.shape[1]), [*matrix.capabilities, "corpus\naccuracy"])
        axes.set_yticks(range(len(values)), [row.name for row in matrix.rows])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_ylabel("trained on")
        axes.set_xlabel(
            f"{matrix.model}: change of the failure rate, and of the corpus's accuracy, "
            "in points;\nblue is better. Bold: the 95 % interval leaves out 0. Framed: trained on."
        )
        return {
            "retrain.png": picture(figure, "png", facecolor="white", dpi=130),
            "retrain.svg": picture(figure, "svg", facecolor="white"),
        }
