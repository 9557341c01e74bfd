"""What retraining changed as tables, as an HTML page and as a heat map."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from s2lct.analysis.plots import INK, picture, style
from s2lct.analysis.retrain.changes import Matrix, Row
from s2lct.analysis.tables import figures_table
from s2lct.extras import require
from s2lct.files import write_bytes, write_text
from s2lct.pages import page_templates

JSON_FILE, HTML_FILE = "retrain.json", "retrain.html"
PNG_FILE, SVG_FILE = "retrain.png", "retrain.svg"


def points(value: float) -> str:
    """A change of a proportion in percentage points, with its sign."""
    rounded = f"{100 * value:+.0f}"
    return "0" if rounded in ("+0", "-0") else rounded.replace("-", "−")


def row_table(row: Row) -> Table:
    """One training: a row a capability."""
    table = figures_table(
        ("cases", "before", "after", "fail-to-pass", "pass-to-fail", "change, points"),
        title=f"Trained on {row.name}: failures on cases whose sentences were not trained on",
    )
    for capability, one in row.unseen.items():
        counts = (
            one.cases, one.failures_before, one.failures_after, one.fail_to_pass, one.pass_to_fail,
        )  # fmt: skip
        table.add_row(
            capability,
            *map(str, counts),
            f"{points(one.change)} [{points(one.ci[0])}, {points(one.ci[1])}]",
            style="bold" if capability in row.trained_on else None,
        )
    return table


def forgotten_line(row: Row) -> str:
    """Accuracy on the corpus's own test split, in a line."""
    if row.corpus is None:
        return "No corpus: what was forgotten is not known."
    one = row.corpus
    return (
        f"Accuracy on {one.sentences} sentences of the corpus's own test split: "
        f"{100 * one.before:.1f} % before, {100 * one.after:.1f} % after"
    )


def matrix_table(matrix: Matrix) -> Table:
    """Changes of failure rates in percentage points: trained on (rows), tested on (columns)."""
    table = figures_table(
        (*matrix.capabilities, "corpus"),
        first="on",
        title="Change of the failure rate in points, on cases whose sentences were not trained on",
        padding=(0, 1, 0, 0),
    )
    for row in matrix.rows:
        cells = [
            "–" if (one := row.unseen.get(name)) is None else points(one.change)
            for name in matrix.capabilities
        ]
        accuracy = "–" if row.corpus is None else points(row.corpus.after - row.corpus.before)
        table.add_row(row.name, *cells, accuracy)
    return table


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    title: str
    strength: float
    better: bool
    own: bool
    clear: bool


def _cell(row: Row, capability: str) -> _Cell:
    one = row.unseen.get(capability)
    if one is None:
        return _Cell("–", row.problem or "no such case is unseen", 0.0, True, False, False)
    return _Cell(
        points(one.change),
        f"{one.failures_before} of {one.cases} failures before, {one.failures_after} after; "
        f"{one.fail_to_pass} fail-to-pass, {one.pass_to_fail} pass-to-fail; "
        f"95 % interval {points(one.ci[0])} to {points(one.ci[1])}",
        abs(one.change),
        one.change < 0,
        capability in row.trained_on,
        one.clear,
    )


def html_page(matrix: Matrix) -> str:
    """The matrix and each training's figures as one HTML page that needs no network."""
    environment = page_templates("s2lct.analysis.retrain")
    environment.filters["points"] = points
    return environment.get_template("retrain.html.jinja").render(matrix=matrix, cell=_cell)


def write_matrix(matrix: Matrix, out: Path) -> list[Path]:
    """Write JSON and HTML, and of several trainings the heat map as PNG and SVG.

    Returns:
        The paths.
    """
    write_text(
        out / JSON_FILE, json.dumps(matrix.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
    )
    write_text(out / HTML_FILE, html_page(matrix))
    written = [out / JSON_FILE, out / HTML_FILE]
    if len(matrix.rows) > 1:
        for name, content in plots(matrix).items():
            write_bytes(out / name, content)
            written.append(out / name)
    return written


def plots(matrix: Matrix) -> dict[str, bytes]:
    """The heat map by file name; on a white card, to be read on pages of either theme."""
    require("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    columns = [*matrix.capabilities, "corpus"]
    values = np.full((len(matrix.rows), len(columns)), np.nan)
    for number, row in enumerate(matrix.rows):
        for place, name in enumerate(matrix.capabilities):
            if (one := row.unseen.get(name)) is not None:
                values[number, place] = one.change
        if row.corpus is not None:
            # A lower accuracy is as bad as a higher failure rate.
            values[number, -1] = row.corpus.before - row.corpus.after
    with style():
        figure = Figure(
            figsize=(1.6 + 0.62 * len(columns), 1.7 + 0.42 * len(matrix.rows)),
            layout="constrained",
            facecolor="white",
        )
        axes = figure.subplots()
        axes.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for number, row in enumerate(matrix.rows):
            for place, name in enumerate(columns):
                value = values[number, place]
                if np.isnan(value):
                    axes.text(place, number, "–", ha="center", va="center", color="#57606a")
                    continue
                own = row.unseen.get(name)
                axes.text(
                    place,
                    number,
                    points(-value if name == "corpus" else value),
                    ha="center",
                    va="center",
                    color="white" if abs(value) > 0.65 else INK,
                    fontweight="bold" if own is not None and own.clear else "normal",
                )
                if name in row.trained_on:
                    axes.add_patch(
                        Rectangle(
                            (place - 0.47, number - 0.46), 0.94, 0.92, fill=False,
                            edgecolor=INK, linewidth=1.4,
                        )
                    )  # fmt: skip
        axes.axvline(len(columns) - 1.5, color="white", linewidth=4)
        axes.set_xticks(range(len(columns)), [*matrix.capabilities, "corpus\naccuracy"])
        axes.set_yticks(range(len(matrix.rows)), [row.name for row in matrix.rows])
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
            PNG_FILE: picture(figure, "png", facecolor="white", dpi=130),
            SVG_FILE: picture(figure, "svg", facecolor="white"),
        }
