"""Commands made from functions: what these take, and what shows what they return."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.models import ParameterInfo

from s2lct.cli.console import error_console, told_errors, told_warnings
from s2lct.command import parameters_of
from s2lct.errors import S2lctWarning
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

        def add(show: Callable[..., None]) -> Callable[..., None]:
            asked, shown = parameters_of(function), parameters_of(show, keyword_only=True)

            def run(**values: Any) -> None:
                # An option that may be repeated and was not is None for typer, an empty list here.
                given = {
                    name: asked[name].default if value is None else value
                    for name, value in values.items()
                    if name in asked
                }
                with told_errors(), told_warnings(S2lctWarning):
                    with shown_bars(error_console):
                        answer = function(**given)
                    show(answer, **{name: values[name] for name in shown})

            parameters = [_asked(name, each) for name, each in (asked | shown | asked).items()]
            run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
            run.__annotations__ = {each.name: each.annotation for each in parameters}
            run.__doc__ = function.__doc__
            self.app.command(
                name or function.__name__.replace("_", "-"),
                rich_help_panel=self.heading,
                epilog=examples(*lines),
            )(run)
            return show

        return add


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {line}" for line in lines)])


def _asked(name: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """A function's parameter as the command line asks for it, without what pydantic checks."""
    optional, kind, metadata = _unwrapped(parameter.annotation, [])
    shown = [one for one in metadata if isinstance(one, ParameterInfo)]
    if get_origin(kind) is list:
        kind = list[_unwrapped(get_args(kind)[0], [])[1]]  # type: ignore[misc]
    kind = kind | None if optional else kind
    return parameter.replace(
        name=name,
        kind=inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, shown[-1]] if shown else kind,
    )


def _unwrapped(annotation: Any, metadata: list[Any]) -> tuple[bool, Any, list[Any]]:
    """Whether None is a value, the type without None and annotations, and all annotations."""
    optional = False
    while True:
        if get_origin(annotation) in (Union, types.UnionType):
            parts = [part for part in get_args(annotation) if part is not type(None)]
            optional = optional or len(parts) < len(get_args(annotation))
            annotation = parts[0]
        elif get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata += more
        else:
            return optional, annotation, metadata
