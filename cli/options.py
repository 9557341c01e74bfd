"""Makes commands of functions: their parameters are the options, and a view shows the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

from s2lct.cli.console import OneCommand, error_console, warnings_shown
from s2lct.progress import show_bars

PUBLISHING = "Publish"


@dataclass(frozen=True)
class Panel:
    """Commands that stand under one heading of the help, or under none."""

    app: typer.Typer
    heading: str | None = None

    def shows(
        self, function: Callable[..., Any], *lines: str, name: str | None = None
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate the view of a command, which shows the function's result.

        The view takes the result first. Its keyword-only parameters get the values of the
        function's parameters of these names; others become options of the command alone.

        Args:
            function: does the work; its parameters become the command's options.
            lines: examples for the end of the command's help.
            name: of the command; None for the function's.
        """
        return partial(self._add, function, lines, name or function.__name__.replace("_", "-"))

    def _add(
        self,
        function: Callable[..., Any],
        lines: tuple[str, ...],
        name: str,
        view: Callable[..., None],
    ) -> Callable[..., None]:
        result_name = next(iter(inspect.signature(view).parameters))
        view.__annotations__.pop(result_name, None)  # may be imported only for type checking
        options, view_options = _parameters_of(function), _parameters_of(view)
        del view_options[result_name]

        def run(**values: Any) -> None:
            # A repeatable option that was not given is None for typer, and an empty list here.
            arguments = {
                option: options[option].default if value is None else value
                for option, value in values.items()
                if option in options
            }
            with warnings_shown():
                with show_bars(error_console):
                    result = function(**arguments)
                view(result, **{option: values[option] for option in view_options})

        parameters = [*(options | view_options | options).values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in parameters}
        run.__doc__ = function.__doc__
        command = self.app.command(
            name, cls=OneCommand, rich_help_panel=self.heading, epilog=examples(*lines)
        )
        command(run)
        return view


def examples(*lines: str) -> str:
    """Examples for the end of a command's help."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {line}" for line in lines)])


def _parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A function's parameters with typer's annotations alone, without pydantic's constraints."""
    original = inspect.unwrap(function)
    original.__annotations__.pop("return", None)  # may be imported only for type checking
    types, hints = get_type_hints(original), get_type_hints(original, include_extras=True)
    parameters = {}
    for name, parameter in inspect.signature(original).parameters.items():
        infos = [*_infos(hints.get(name))]
        type_ = types.get(name, Any)
        parameters[name] = parameter.replace(
            kind=parameter.KEYWORD_ONLY, annotation=Annotated[type_, infos[-1]] if infos else type_
        )
    return parameters


def _infos(hint: Any) -> Iterator[ParameterInfo]:
    for part in get_args(hint):
        if isinstance(part, ParameterInfo):
            yield part
        else:
            yield from _infos(part)
