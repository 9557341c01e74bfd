"""What a plan tells: what a build will cost, stage by stage, and how each figure came about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

if TYPE_CHECKING:
    from s2lct.builder.plan import Figure, Plan, StageCost

_MARK = {"counted": "", "measured": "", "computed": "", "estimated": "~"}
_MINUTE = 60
_HOUR = 3_600
_DAY = 86_400
_FEW = 10
_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


class PlanTable:
    """A plan as tables: the stages, the whole, the capabilities."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plan = self._plan
        yield self._stages()
        yield ""
        yield self._whole()
        yield ""
        yield self._capabilities()
        yield (
            "~: estimated from the sample; in brackets, how figures came about. Loading is a line "
            "of its own, so that the rates are those of models in use."
        )
        if plan.is_built:
            yield f"This very build is in {plan.config.out} already: it would end at once."

    def _stages(self) -> Table:
        table = _table(f"Plan of a build: {self._plan.config.corpus}")
        table.add_column("stage", no_wrap=True)
        for column in ("items", "", "", "sampled", "a second", "one process"):
            table.add_column(column, justify="right" if column else "left", no_wrap=True)
        for one in self._plan.stages:
            table.add_row(
                one.stage,
                _number(one.items),
                one.unit,
                one.items.basis,
                f"{one.sampled:,}",
                _rate(one),
                _time(one.seconds),
            )
        return table

    def _whole(self) -> Table:
        table = _table()
        table.add_column("in all", no_wrap=True)
        table.add_column("", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for name, shown, basis in self._lines():
            table.add_row(name, shown, basis)
        return table

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        plan = self._plan
        for name, figure in (
            ("sentences of the corpus", plan.sentences),
            ("texts tagged", plan.tagged),
            ("trees", plan.trees),
            ("masked sentences", plan.masked),
        ):
            yield name, _number(figure), figure.basis
        for name, figure in (
            ("reading", plan.reading),
            ("loading models", plan.loading),
            ("their first use", plan.first_use),
        ):
            yield name, _time(figure), figure.basis
        alone = plan.minutes()
        yield "one process", _minutes(alone), alone.basis
        if plan.workers:
            shared = plan.minutes(plan.workers)
            yield f"{plan.workers:,} workers", _minutes(shared), shared.basis
        if plan.driver_bytes is not None:
            yield "memory of the driver", _size(plan.driver_bytes), plan.driver_bytes.basis
        if plan.worker_bytes is not None:
            of_each = "memory of a worker, at most"
            yield of_each, _size(plan.worker_bytes), plan.worker_bytes.basis
        for name, figure in (
            ("disk: checkpoints", plan.checkpoint_bytes),
            ("disk: temporary folder", plan.scratch_bytes),
        ):
            yield name, _size(figure), figure.basis

    def _capabilities(self) -> Table:
        table = _table()
        table.add_column("", no_wrap=True)
        for column in ("candidates", "found", "seeds", "at most"):
            table.add_column(column, justify="right", no_wrap=True)
        for one in self._plan.capabilities:
            figures = (one.candidates, one.found, one.seeds, one.most_seeds)
            table.add_row(one.capability, *map(_number, figures))
        return table


def _table(title: str | None = None) -> Table:
    return Table(
        title=title,
        box=SIMPLE_HEAD,
        show_edge=False,
        header_style="bold",
        padding=(0, 1),
        collapse_padding=True,
    )


def _number(figure: Figure) -> str:
    return f"{_MARK[figure.basis]}{figure.value:,.0f}"


def _rate(stage: StageCost) -> str:
    rate = stage.per_second
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= _FEW else f"{rate:.2g}"


def _time(figure: Figure) -> str:
    seconds, mark = figure.value, _MARK[figure.basis]
    if seconds < _FEW:
        return f"{mark}{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{mark}{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{mark}{seconds / _MINUTE:.0f} min"
    return f"{mark}{seconds / _HOUR:.0f} h" if seconds < _DAY else f"{mark}{seconds / _DAY:.1f} d"


def _minutes(figure: Figure) -> str:
    return f"{_MARK[figure.basis]}{figure.value:,.1f} min"


def _size(figure: Figure) -> str:
    mark = _MARK[figure.basis]
    for unit, size in _BYTES:
        if figure.value >= size:
            return f"{mark}{figure.value / size:.1f} {unit}"
    return f"{mark}{figure.value:.0f} B"
