"""Commands made from the options of a function: names, help, defaults, ranges."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import annotated_types
import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from typer.models import ParameterInfo

from s2lct.cli.console import error_console, told_errors, told_warnings
from s2lct.command import parameters_of
from s2lct.errors import S2lctWarning
from s2lct.options import Argument, Command, Options, PathKind, shown_in
from s2lct.progress import shown_bars

Given = TypeVar("Given", bound=Options)
Answer = TypeVar("Answer")
PUBLISHING = "Publish"
_SHOWN_MOST = 65_535
"""A larger bound is left to pydantic: it says nothing to who reads the help."""
_PATHS: dict[PathKind | None, dict[str, bool]] = {
    None: {},
    "existing": {"exists": True},
    "existing file": {"exists": True, "dir_okay": False},
    "file": {"dir_okay": False},
    "folder": {"file_okay": False},
}


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
        if not isinstance(function, Command):
            return self._function_shows(function, *lines, name=name)

        def add(show: Callable[..., None]) -> Callable[..., None]:
            def run(context: typer.Context, **values: Any) -> None:
                given = {name: value for name, value in values.items() if _is_given(context, name)}
                with told_errors(), told_warnings(S2lctWarning):
                    options = _checked(function.options, given)
                    with shown_bars(error_console) as bars:
                        answer = function(options, bars=bars)
                    show(answer, options)

            parameters = [_parameter_of("context", typer.Context)] + [
                _parameter(name, field)
                for name, field in function.options.own_first().items()
                if not shown_in(field).in_python_only
            ]
            run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
            run.__annotations__ = {one.name: one.annotation for one in parameters}
            run.__doc__ = function.summary
            self.app.command(
                name or function.__name__.replace("_", "-"),
                rich_help_panel=self.heading,
                epilog=examples(*lines),
            )(run)
            return show

        return add

    def _function_shows(
        self, function: Callable[..., Any], *lines: str, name: str | None
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
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

            parameters = asked | {name: one for name, one in shown.items() if name not in asked}
            run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [_asked(name, one) for name, one in parameters.items()]
            )
            run.__annotations__ = {
                name: _asked(name, one).annotation for name, one in parameters.items()
            }
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


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _checked(options: type[Given], given: dict[str, Any]) -> Given:
    try:
        return options.model_validate(given)
    except ValidationError as error:
        flag, value, why = next(options.faults(error))
        if not flag:
            raise typer.BadParameter(why) from None
        raise typer.BadParameter(f"{value}: {why}", param_hint=f"'{flag}'") from None


def _parameter_of(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    shown = shown_in(field)
    optional, kind, metadata = _unwrapped(field.annotation, list(field.metadata))
    kind = str if shown.text else kind
    asked: dict[str, Any] = {"help": shown.help, **_PATHS[shown.path]}
    if kind in (int, float):
        asked |= _bounds(metadata)
    if shown.shown_default:
        asked["show_default"] = shown.shown_default
    default = inspect.Parameter.empty if field.is_required() else field.default
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
        if not field.is_required():
            default = list(field.default) or None
            optional = default is None
    if shown.filled:
        optional, default = True, None
    flag = name.replace("_", "-")
    if isinstance(shown, Argument):
        info: Any = typer.Argument(metavar=shown.metavar or None, **asked)
    else:
        negated = f"/--no-{flag}" if kind is bool and default is not False else ""
        flags = shown.flags or f"--{flag}{negated}"
        info = typer.Option(flags, rich_help_panel=shown.panel or None, **asked)
    return _parameter_of(name, Annotated[kind | None if optional else kind, info], default)


def _asked(name: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """A function's parameter as the command line asks for it, without what pydantic checks."""
    optional, kind, metadata = _unwrapped(parameter.annotation, [])
    shown = [one for one in metadata if isinstance(one, ParameterInfo)]
    if get_origin(kind) is list:
        kind = list[_unwrapped(get_args(kind)[0], [])[1]]  # type: ignore[misc]
    kind = kind | None if optional else kind
    return _parameter_of(name, Annotated[kind, shown[-1]] if shown else kind, parameter.default)


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


def _bounds(metadata: list[Any]) -> dict[str, Any]:
    """The ranges that a command line can say; pydantic checks the others."""
    found: dict[str, Any] = {}
    for one in metadata:
        for bound in one.metadata if isinstance(one, FieldInfo) else [one]:
            if isinstance(bound, annotated_types.Ge):
                found["min"] = bound.ge
            elif isinstance(bound, annotated_types.Le) and bound.le <= _SHOWN_MOST:
                found["max"] = bound.le
    return found
