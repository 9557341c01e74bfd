"""Commands made from functions: what these take, and what shows what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

from s2lct.cli.console import OneCommand, error_console, warnings_shown
from s2lct.progress import shown_bars

PUBLISHING = "Publish"


@dataclass(frozen=True)
class Panel:
    """Commands of a command line that stand under a heading of its help; without, under none."""

    app: typer.Typer
    heading: str | None = None

    def shows(
        self, function: Callable[..., Any], *lines: str, name: str | None = None
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Make a function a command: what is decorated shows what it returns.

        What is decorated takes that first. Keyword-only parameters of its own that the function
        has too are handed over by name; others become options of the command alone.

        Args:
            function: does the work; its options become the command's.
            lines: examples, shown at the end of the command's help.
            name: of the command, where it is not the function's.
        """
        return partial(self._add, function, lines, name or function.__name__.replace("_", "-"))

    def _add(
        self,
        function: Callable[..., Any],
        lines: tuple[str, ...],
        name: str,
        show: Callable[..., None],
    ) -> Callable[..., None]:
        first = next(iter(inspect.signature(show).parameters))
        show.__annotations__.pop(first, None)  # may be imported for type checkers alone
        taken, shown = _parameters_of(function), _parameters_of(show)
        del shown[first]

        def run(**values: Any) -> None:
            # An option that may be repeated and was not is None for typer, an empty list here.
            given = {
                name: taken[name].default if value is None else value
                for name, value in values.items()
                if name in taken
            }
            with warnings_shown():
                with shown_bars(error_console):
                    found = function(**given)
                show(found, **{name: values[name] for name in shown})

        parameters = [*(taken | shown | taken).values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = function.__doc__
        command = self.app.command(
            name, cls=OneCommand, rich_help_panel=self.heading, epilog=examples(*lines)
        )
        command(run)
        return show


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {line}" for line in lines)])


def _parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A function's parameters as typer reads them, without what pydantic checks."""
    written = inspect.unwrap(function)
    written.__annotations__.pop("return", None)  # may be imported for type checkers alone
    types, hints = get_type_hints(written), get_type_hints(written, include_extras=True)
    parameters = {}
    for name, each in inspect.signature(written).parameters.items():
        infos = [*_infos(hints.get(name))]
        kind = types.get(name, Any)
        parameters[name] = each.replace(
            kind=each.KEYWORD_ONLY, annotation=Annotated[kind, infos[-1]] if infos else kind
        )
    return parameters


def _infos(hint: Any) -> Iterator[ParameterInfo]:
    for part in get_args(hint):
        if isinstance(part, ParameterInfo):
            yield part
        else:
            yield from _infos(part)
