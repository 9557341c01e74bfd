"""Tables 1 and 6 of MNCOVER in the paper's form, what belongs beside them, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from s2lct.analysis.reproduce import mncover_figures as paper
from s2lct.analysis.reproduce.deciles import SHUFFLES, Filtered, Passed, Shown
from s2lct.analysis.reproduce.neurons import COVER, METRICS, MNCOVER
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable

_NAMES = {COVER: "COVER", MNCOVER: "MNCOVER"}


def mean_and_reach(values: Sequence[float]) -> tuple[float, float]:
    """The mean over tests, and half of its 95 % t-interval (nan for fewer than two)."""
    if len(values) < 2:
        return float(np.mean(values)) if values else float("nan"), float("nan")
    reach = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(np.mean(values)), float(reach)


def differences(shown: Shown, metric: str) -> dict[str, list[float]]:
    """For each test that keeps a case, in points: Δ and what is above the control, max and mean."""
    of: dict[str, list[float]] = {"max": [], "mean": [], "max, control": [], "mean, control": []}
    for one, by_metric in shown:
        if (left := by_metric[metric]) is None:
            continue
        of["max"].append(100 * (left.greatest - one.rate))
        of["mean"].append(100 * (left.mean - one.rate))
        of["max, control"].append(100 * (left.greatest - left.control[0]))
        of["mean, control"].append(100 * (left.mean - left.control[1]))
    return of


def paper_form(
    title: str,
    model: str,
    shown: Shown,
    printed: Mapping[str, paper.Row],
    notes: Sequence[str],
) -> PaperTable:
    """The table as the paper prints it, the paper's own figures behind ours."""
    columns = ["test", "n", "D"]
    for metric in METRICS:
        columns += [f"{_NAMES[metric]} {what}" for what in ("max", "mean", "Δ max", "Δ mean")]
    columns += [f"smaller, {_NAMES[metric]}" for metric in METRICS]
    columns += [f"of whole, {_NAMES[metric]}" for metric in METRICS]
    columns += ["paper D", "paper COVER", "paper MNCOVER", "paper smaller"]
    rows: list[list[Cell]] = []
    for one, by_metric in shown:
        n = len(one.failed)
        cells: list[Cell] = [one.name, n, 100 * one.rate]
        for metric in METRICS:
            left = by_metric[metric]
            cells += [None] * 4 if left is None else _four(one, left)
        first = [None if left is None else left.sizes[0] for left in by_metric.values()]
        cells += [None if size is None else 100 * (1 - size / n) for size in first]
        cells += [None if size is None else 100 * (1 - size / one.whole) for size in first]
        rows.append([*cells, *_printed(printed.get(_plain(one.name)))])
    known = [row for row in rows if row[-1] is not None]
    means = [[*_mean_row(rows, columns, "mean of rows"), *_printed_means(printed)]]
    if 0 < len(known) < len(rows):
        of_paper = f"mean of the paper's {len(known)}"
        means.append([*_mean_row(known, columns, of_paper), *_printed_means(printed)])
    rows += means
    return PaperTable(
        f"{title} of MNCOVER with {model}: failure rates of tests and of what coverage leaves, %",
        columns,
        rows,
        (
            "D is the whole of the cases tried; max and mean are over the ten deciles of the "
            "increments; smaller is the subset at the first decile, of the cases tried and of the "
            "whole test. The last row averages rows: its max is the mean of the rows' maxima, "
            "which no one suite has. The paper's figures are of BERT-base on SST-2 (Table 6: QQP).",
            *notes,
        ),
    )


def _mean_row(rows: Sequence[Sequence[Cell]], columns: Sequence[str], called: str) -> list[Cell]:
    """Means of the rows' own figures, up to the paper's columns, of which D has none."""
    means: list[Cell] = [called, None]
    for number in range(2, len(columns) - 4):
        known = [row[number] for row in rows]
        values = [value for value in known if isinstance(value, float)]
        means.append(float(np.mean(values)) if values else None)
    return [*means, None]


def _four(one: Passed, left: Filtered) -> list[Cell]:
    values = (left.greatest, left.mean, left.greatest - one.rate, left.mean - one.rate)
    return [100 * value for value in values]


def _printed(row: paper.Row | None) -> list[Cell]:
    if row is None:
        return [None] * 4
    pairs = [f"{one:g}/{other:g}" for one, other in (row.cover, row.mncover)]
    return [row.whole, *pairs, f"{row.smaller[0]:g}, {row.smaller[1]:g}"]


def _printed_means(printed: Mapping[str, paper.Row]) -> list[Cell]:
    rows = list(printed.values())

    def delta(name: str) -> str:
        means = [
            np.mean([getattr(row, name)[place] - row.whole for row in rows]) for place in (0, 1)
        ]
        return f"Δ {means[0]:+.2f}/{means[1]:+.2f}"

    smaller = [np.mean([row.smaller[place] for row in rows]) for place in (0, 1)]
    return [delta("cover"), delta("mncover"), f"{smaller[0]:.2f}, {smaller[1]:.2f}"]


def _plain(name: str) -> str:
    return name.removesuffix(".")


def beside(title: str, model: str, shown: Shown) -> PaperTable:
    """Sizes of the subsets that the figures come from, and the control."""
    columns = ["test"]
    for metric in METRICS:
        name = _NAMES[metric]
        columns += [f"{name} kept at 0", f"{name} sizes", f"{name} size of max"]
        columns += [f"{name} {what}" for what in ("control max", "control mean")]
        columns += [f"{name} {what}" for what in ("max − control", "mean − control")]
    rows: list[list[Cell]] = []
    for one, by_metric in shown:
        cells: list[Cell] = [one.name]
        for metric in METRICS:
            left = by_metric[metric]
            if left is None:
                cells += [0, *[None] * 6]
                continue
            cells += [left.kept, f"{left.sizes[0]} … {left.sizes[-1]}", left.size_of_greatest]
            cells += [100 * value for value in left.control]
            cells += [100 * (left.greatest - left.control[0]), 100 * (left.mean - left.control[1])]
        rows.append(cells)
    last: list[Cell] = ["all, or mean ± 95 %"]
    for metric in METRICS:
        left_of = [by_metric[metric] for _, by_metric in shown]
        known = [left for left in left_of if left is not None]
        last += [sum(left.kept for left in known), f"{len(known)} tests keep any", None]
        for place in (0, 1):
            means = [100 * left.control[place] for left in known]
            last.append(float(np.mean(means)) if means else None)
        of = differences(shown, metric)
        last += [_told(of[what]) for what in ("max, control", "mean, control")]
    rows.append(last)
    return PaperTable(
        f"Beside {title}, {model}: sizes of the subsets, and what chance gives, %",
        columns,
        rows,
        (
            f"Control: the same sizes, of cases drawn at random, nested alike, {SHUFFLES} times; "
            "its maximum, too, is the greatest of ten rates. Size of max: the largest subset with "
            "the greatest rate. ± is half of the 95 % t-interval over tests.",
        ),
    )


def _told(values: Sequence[float]) -> str | None:
    if not values:
        return None
    mean, reach = mean_and_reach(values)
    return f"{mean:+.2f} ± {reach:.2f}"


def verdict(shown: Shown) -> str:
    """Whether the paper's finding comes back, and whether it is more than chance."""
    told: list[str] = []
    for metric in METRICS:
        of = differences(shown, metric)
        if len(of["max"]) < 2:
            told.append(
                f"{_NAMES[metric]} keeps cases of fewer than two tests: nothing to compare."
            )
            continue
        above = [what for what in ("max", "mean") if _is_above(of[f"{what}, control"])]
        chance = (
            f"the {' and the '.join(above)} above what chance gives"
            if above
            else "neither above what as many cases drawn at random give"
        )
        told.append(
            f"{_NAMES[metric]}: Δ max {np.mean(of['max']):+.2f}, Δ mean {np.mean(of['mean']):+.2f} "
            f"points; {chance} (max {_told(of['max, control'])}, mean "
            f"{_told(of['mean, control'])})."
        )
    return " ".join(told)


def _is_above(values: Sequence[float]) -> bool:
    mean, reach = mean_and_reach(values)
    return mean - reach > 0
