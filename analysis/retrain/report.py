"""What retraining changed: for each training the failures of each capability, before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from rich.table import Table

from s2lct.analysis.retrain.train import CaseOutcome, Group, Run, TrainOptions
from s2lct.extras import require
from s2lct.files import write_bytes, write_text
from s2lct.leaderboard.scoring.statistics import interval, resampled_rates
from s2lct.pages import page_templates

UNSEEN: tuple[Group, ...] = ("test", "unseen")
"""Cases none of whose sentences was trained on or validated by."""
LEAST_FAMILIES = 5
"""A bootstrap of fewer families is no interval."""
JSON_FILE, HTML_FILE, PNG_FILE, SVG_FILE = (
    "retrain.json",
    "retrain.html",
    "retrain.png",
    "retrain.svg",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Change(_Strict):
    """Failures on the same cases before and after training.

    Attributes:
        cases: how many; over several seeds a case counts in each seed that held it out.
        families: how many seed families they belong to.
        failures_before, failures_after: how many of them fail.
        fail_to_pass, pass_to_fail: how many changed.
        change: failure rate after less before, in [-1, 1].
        ci: bounds of its 95 % bootstrap interval, of whole families.
    """

    cases: int = Field(ge=0)
    families: int = Field(ge=0)
    failures_before: int = Field(ge=0)
    failures_after: int = Field(ge=0)
    fail_to_pass: int = Field(ge=0)
    pass_to_fail: int = Field(ge=0)
    change: float = Field(ge=-1, le=1)
    ci: tuple[float, float]

    @property
    def before(self) -> float:
        """The failure rate before."""
        return self.failures_before / self.cases if self.cases else 0.0

    @property
    def after(self) -> float:
        """The failure rate after."""
        return self.failures_after / self.cases if self.cases else 0.0

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0; of too few families none tells."""
        return self.families >= LEAST_FAMILIES and (self.ci[0] > 0 or self.ci[1] < 0)


class Forgotten(_Strict):
    """Accuracy on the corpus's own test split, means over the seeds.

    Attributes:
        sentences: how many, in the first seed.
        left_out: sentences that were trained on as part of a case, likewise.
        before, after: accuracies.
    """

    sentences: int
    left_out: int
    before: float
    after: float


class Row(_Strict):
    """What one training changed.

    Attributes:
        name: the capability trained on, or ``all``.
        trained_on: the capabilities.
        problem: why there was no training; empty otherwise.
        train, validation, dropped_neutral, mixed, steps: of each seed, see `retrain.Run`.
        unseen: for each capability the cases that share no sentence with what was trained on.
        shared: the cases of other capabilities that do.
        corpus: what was forgotten; None without a corpus.
    """

    name: str
    trained_on: tuple[str, ...]
    problem: str = ""
    train: tuple[int, ...] = ()
    validation: tuple[int, ...] = ()
    dropped_neutral: tuple[int, ...] = ()
    mixed: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    unseen: dict[str, Change] = {}
    shared: dict[str, Change] = {}
    corpus: Forgotten | None = None


class Matrix(_Strict):
    """What ``s2lct retrain`` writes."""

    format: Literal[1] = 1
    model: str
    model_fingerprint: str
    label_rule: str
    suite: str
    suite_fingerprint: str
    corpus: str
    options: TrainOptions
    seeds: tuple[int, ...]
    capabilities: tuple[str, ...]
    rows: tuple[Row, ...]


def change_of(outcomes: Sequence[CaseOutcome]) -> Change:
    """The change on some cases; of no cases, zeros."""
    if not outcomes:
        return Change(
            cases=0, families=0, failures_before=0, failures_after=0, fail_to_pass=0,
            pass_to_fail=0, change=0.0, ci=(0.0, 0.0),
        )  # fmt: skip
    number_of: dict[str, int] = {}
    family = [number_of.setdefault(one.seed_id, len(number_of)) for one in outcomes]
    before = np.array([one.before for one in outcomes])
    after = np.array([one.after for one in outcomes])
    more = after.astype(np.float64) - before
    counts = np.bincount(family).astype(np.float64)
    summed = np.bincount(family, weights=more).astype(np.float64)
    low, high = interval(resampled_rates(summed, counts, 0))
    return Change(
        cases=len(outcomes),
        families=len(number_of),
        failures_before=int(before.sum()),
        failures_after=int(after.sum()),
        fail_to_pass=int((before & ~after).sum()),
        pass_to_fail=int((~before & after).sum()),
        change=float(more.mean()),
        ci=(low, high),
    )


def row_of(name: str, runs: Sequence[Run]) -> Row:
    """The runs of one training, with different seeds, taken together."""
    outcomes = [outcome for run in runs for outcome in run.cases]
    capabilities = dict.fromkeys(one.capability for one in outcomes)

    def changes(groups: Sequence[Group]) -> dict[str, Change]:
        return {
            capability: change_of(found)
            for capability in capabilities
            if (
                found := [
                    one for one in outcomes if one.capability == capability and one.group in groups
                ]
            )
        }

    accuracies = [run.corpus for run in runs if run.corpus is not None]
    return Row(
        name=name,
        trained_on=runs[0].on,
        train=tuple(run.train for run in runs),
        validation=tuple(run.validation for run in runs),
        dropped_neutral=tuple(run.dropped_neutral for run in runs),
        mixed=tuple(run.mixed for run in runs),
        steps=tuple(run.steps for run in runs),
        unseen=changes(UNSEEN),
        shared=changes(("shared",)),
        corpus=Forgotten(
            sentences=accuracies[0].sentences,
            left_out=accuracies[0].left_out,
            before=float(np.mean([one.before for one in accuracies])),
            after=float(np.mean([one.after for one in accuracies])),
        )
        if accuracies
        else None,
    )


def points(value: float) -> str:
    """A change of a proportion in percentage points, with its sign."""
    rounded = f"{100 * value:+.0f}"
    return "0" if rounded in ("+0", "-0") else rounded.replace("-", "−")


def row_table(row: Row) -> Table:
    """One training: a row a capability."""
    table = Table(
        title=f"Trained on {row.name}: failures on cases whose sentences were not trained on",
        header_style="bold",
    )
    table.add_column("")
    for column in ("cases", "before", "after", "fail-to-pass", "pass-to-fail", "change, points"):
        table.add_column(column, justify="right")
    for capability, one in row.unseen.items():
        table.add_row(
            capability,
            str(one.cases),
            str(one.failures_before),
            str(one.failures_after),
            str(one.fail_to_pass),
            str(one.pass_to_fail),
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
    table = Table(
        title="Change of the failure rate in points, on cases whose sentences were not trained on",
        header_style="bold",
        padding=(0, 1, 0, 0),
    )
    table.add_column("on")
    for column in (*matrix.capabilities, "corpus"):
        table.add_column(column, justify="right")
    for row in matrix.rows:
        if row.problem:
            table.add_row(row.name, *("–" for _ in matrix.capabilities), "–")
            continue
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
    out.mkdir(parents=True, exist_ok=True)
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


_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "s2lct",
}


def plots(matrix: Matrix) -> dict[str, bytes]:
    """The heat map by file name; on a white card, to be read on pages of either theme."""
    require("matplotlib")
    import io

    import matplotlib
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
    with matplotlib.rc_context(_STYLE):
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
                    color="white" if abs(value) > 0.65 else "#1b1f24",
                    fontweight="bold" if own is not None and own.clear else "normal",
                )
                if name in row.trained_on:
                    axes.add_patch(
                        Rectangle(
                            (place - 0.47, number - 0.46), 0.94, 0.92, fill=False,
                            edgecolor="#1b1f24", linewidth=1.4,
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
        drawn: dict[str, bytes] = {}
        for name, options in (
            (PNG_FILE, {"dpi": 130, "metadata": {"Software": None}}),
            (SVG_FILE, {"metadata": {"Date": None}}),
        ):
            buffer = io.BytesIO()
            figure.savefig(
                buffer,
                format=name.rpartition(".")[2],
                facecolor="white",
                **options,
            )
            drawn[name] = buffer.getvalue()
    return drawn
