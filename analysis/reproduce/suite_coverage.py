"""Figure 4 of the S²LCT paper: coverage against the number of cases, beside CheckList's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from s2lct.analysis.coverage.criteria import build_metrics
from s2lct.analysis.coverage.curves import Curve, measure
from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.coverage.suites import reference_and_held_out
from s2lct.analysis.plots import INK, picture, style
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import (
    listed,
    named,
    needed_checklist,
    needed_models,
    needed_reference,
    needed_suite,
)
from s2lct.extras import require
from s2lct.identity import shuffle_key
from s2lct.suite.cases import load_cases

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

SUITE, CHECKLIST, RANDOM = "S²LCT", "CheckList", "random sentences"
METRICS = ("BoundCov", "SActCov")
COLOURS = {SUITE: "#c1272d", CHECKLIST: INK, RANDOM: "#7d8590"}
SHUFFLES, POINTS = 10, 20
BOUNDS_SET = "boundary"
_CURVES = TypeAdapter(dict[str, Curve])
Curves = Mapping[tuple[str, str], Mapping[str, Curve]]
"""By model and source, then by metric."""


def figure(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """BoundCov and SActCov of equal numbers of S²LCT's and CheckList's cases, as these grow.

    A column a model, a row a metric. Random sentences of the reference corpus that did not set
    bounds stand beside them.

    Raises:
        AnalysisError: models, suite, CheckList's cases or the reference are missing, or a model
            cannot be looked into.
    """
    require("matplotlib")
    models, read = needed_models(options), load_cases(needed_suite(options))
    checklist, reference = needed_checklist(options), needed_reference(options)
    bounds, held_out = reference_and_held_out(reference, None, options.seed)
    texts = {
        SUITE: {case.text for case in read.cases},
        CHECKLIST: {case.text for case in checklist},
        RANDOM: {case.text for case in held_out.cases},
    }
    most = min(len(own) for own in texts.values() if own)
    most = most if options.limit is None else min(most, options.limit)
    curves: dict[tuple[str, str], dict[str, Curve]] = {}
    for number, model in enumerate(models):
        missing = {}
        step_of = {name: f"curves-{number}-{place}" for place, name in enumerate(texts)}
        for name, own in texts.items():
            kept = steps.kept(step_of[name], _CURVES)
            if kept is not None:
                curves[model, name] = kept
            elif own:
                missing[name] = own
        if not missing:
            continue
        encoder = load_encoder(model, device=options.device)
        metrics = build_metrics([BOUNDS_SET], encoder, bounds)
        for name, own in missing.items():
            chosen = shuffled(own, most, options.seed)
            found = measure(name, chosen, encoder, metrics, SHUFFLES, POINTS, options.seed)
            curves[model, name] = steps.keep(step_of[name], _CURVES, dict(found.curves))
    some = f" (--limit {options.limit})" if options.limit else ""
    notes = [
        f"Suite {named(read)}, {most:,} random cases of each{some}; means of {SHUFFLES} random "
        "orders, and where 95 % of these lie. Neurons are the outputs of the encoder's layers, at "
        f"any token. Bounds are set by {len(bounds):,} sentences of the reference corpus; "
        "random sentences are others of it.",
        "SActCov counts values above the upper bound, as the paper's equation 4 and section 5.3 "
        "say; its section 4 says below the lower one. The paper prints a figure without numbers; "
        "it says that S²LCT is above CheckList in all six plots and that BoundCov and SActCov are "
        "in no fixed order.",
    ]
    last = PaperTable(
        f"Figure 4 of S²LCT: coverage of {most:,} cases",
        ("model", "cases of", *(f"{metric} %" for metric in METRICS)),
        [
            [model, name, *(100 * of[metric].mean[-1] for metric in METRICS)]
            for (model, name), of in curves.items()
        ],
        notes,
        {f"{metric} %": 2 for metric in METRICS},
    )
    growing = _growing(curves)
    pictures = {"s2lct-coverage.png": drawn_curves(models, curves)}
    return Reproduction([last, growing], _verdict(models, curves), pictures)


def shuffled(texts: set[str], most: int, seed: int) -> list[str]:
    """So many of the texts, drawn at random."""
    return sorted(texts, key=lambda text: (shuffle_key(seed, "coverage", text), text))[:most]


def _growing(curves: Curves) -> PaperTable:
    """The points of the picture's lines at quarters of the cases."""
    columns = ["model", "cases of", "cases"]
    for metric in METRICS:
        columns += [f"{metric} %", f"{metric} from", f"{metric} to"]
    rows: list[list[Cell]] = []
    for (model, name), of in curves.items():
        sizes = of[METRICS[0]].sizes
        quarters = sorted({-(-len(sizes) * part // 4) - 1 for part in (1, 2, 3, 4)})
        for place in quarters:
            row: list[Cell] = [model, name, sizes[place]]
            for curve in (of[metric] for metric in METRICS):
                row += [100 * one[place] for one in (curve.mean, curve.low, curve.high)]
            rows.append(row)
    digits = dict.fromkeys(columns[3:], 2)
    return PaperTable("Coverage as the cases grow", columns, rows, (), digits)


def drawn_curves(models: Sequence[str], curves: Curves) -> bytes:
    """The paper's figure: a column a model, a row a metric."""
    with style():
        from matplotlib.figure import Figure

        size = (4.2 * len(models), 3.2 * len(METRICS))
        canvas = Figure(figsize=size, dpi=110, layout="constrained", facecolor="white")
        panels = canvas.subplots(len(METRICS), len(models), squeeze=False, sharex=True)
        for (row, column), axes in ((place, panels[place]) for place in _places(panels.shape)):
            for name, colour in COLOURS.items():
                if (models[column], name) not in curves:
                    continue
                curve = curves[models[column], name][METRICS[row]]
                sizes = (0, *curve.sizes)
                axes.plot(sizes, [0, *(100 * one for one in curve.mean)], color=colour, label=name)
                axes.fill_between(
                    sizes,
                    [0, *(100 * one for one in curve.low)],
                    [0, *(100 * one for one in curve.high)],
                    color=colour,
                    alpha=0.15,
                    linewidth=0,
                )
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            if row == 0:
                axes.set_title(models[column], fontsize=11)
            if row == len(METRICS) - 1:
                axes.set_xlabel("cases")
            if column == 0:
                axes.set_ylabel(f"{METRICS[row]}, %")
        panels[0][0].legend(frameon=False, fontsize=9)
        return picture(canvas, "png")


def _places(shape: tuple[int, int]) -> list[tuple[int, int]]:
    return [(row, column) for row in range(shape[0]) for column in range(shape[1])]


def _verdict(models: Sequence[str], curves: Curves) -> str:
    """In how many plots S²LCT ends above CheckList, and where their bands are apart.

    Models whose neurons cover the same, such as heads on one encoder, count as one.
    """
    counted: list[str] = []
    for model in models:
        if all(curves[model, SUITE] != curves[other, SUITE] for other in counted):
            counted.append(model)
    above, clear, differing = 0, 0, set()
    for model in counted:
        of = {name: curves[model, name] for name in (SUITE, CHECKLIST)}
        for metric in METRICS:
            own, other = of[SUITE][metric], of[CHECKLIST][metric]
            above += own.mean[-1] > other.mean[-1]
            half = len(own.sizes) // 2
            clear += own.low[half] > other.high[half]
        differing.add(of[SUITE]["BoundCov"].mean[-1] > of[SUITE]["SActCov"].mean[-1])
    plots = len(counted) * len(METRICS)
    comes = "Comes back" if above == plots else "Does not come back"
    if len(differing) > 1:
        order = "BoundCov and SActCov are in no fixed order"
    else:
        larger = "BoundCov" if differing == {True} else "SActCov"
        order = f"{larger} is the larger" + (" in all models" if len(counted) > 1 else "")
    same = ""
    if len(counted) < len(models):
        told = f"{len(counted)} of the {len(models)} models"
        same = f" Plots are counted of {told}: the others have the same neurons (one encoder)."
    beyond = [
        model
        for model in counted
        if (model, RANDOM) in curves
        and curves[model, RANDOM]["BoundCov"].mean[-1] > curves[model, SUITE]["BoundCov"].mean[-1]
    ]
    more = " As many random sentences of the corpus cover more yet" if beyond else ""
    more += f" in {listed(beyond)}." if beyond and len(counted) > 1 else "." if beyond else ""
    return (
        f"{comes}: S²LCT's cases cover more than CheckList's in {above} of {plots} plots (at half "
        f"the cases the bands are apart in {clear}); {order}.{more}{same}"
    )
