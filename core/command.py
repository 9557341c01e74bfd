"""Commands: functions whose annotations declare their options and the valid values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, get_type_hints

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from s2lct.errors import OptionError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
RandomSeed = Annotated[int, Field(ge=0, lt=2**32)]
"""A random seed in the range that every library accepts."""

CLASSES, RUNNING, CASES, WHERE = "What answers mean", "Running", "Which cases", "Where it runs"
"""Headings for groups of options in the help."""
Device = Annotated[str, typer.Option(help="auto, cpu, cuda …", rich_help_panel=RUNNING)]
Capabilities = Annotated[
    list[str],
    typer.Option(
        "--capability", help="Only this capability; may be given again.", rich_help_panel=CASES
    ),
]
LabelMap = Annotated[
    str | None,
    typer.Option(
        help="What the classes mean: LABEL_0=negative,LABEL_1=positive.", rich_help_panel=CLASSES
    ),
]
Format = Annotated[
    Literal["table", "json"],
    typer.Option(help="What is printed: tables, or one line of JSON (docs/ci.md has its keys)."),
]
EngineName = Annotated[
    Literal["process", "ray"],
    typer.Option(
        help="process: this one; ray: workers of a Ray cluster, with the extra ray.",
        rich_help_panel=WHERE,
    ),
]


def command(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function to check its arguments, on a command line and in Python alike.

    Each parameter is annotated with its type, pydantic's constraints, and ``typer.Option`` or
    ``typer.Argument`` with the help. A path may be given as a str, and a list as a tuple.

    Raises:
        OptionError: when the function is called with an invalid argument.
    """
    function.__annotations__.pop("return", None)  # may be imported only for type checking
    signature = inspect.signature(function)

    @cache
    def argument_model() -> type[BaseModel]:
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in signature.parameters.items()
        }
        config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
        return create_model(function.__name__, __config__=config, **fields)

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        bound = signature.bind(*args, **kwargs)
        try:
            checked_arguments = argument_model().model_validate(bound.arguments)
        except ValidationError as error:
            raise option_error(error) from error
        bound.arguments |= {name: getattr(checked_arguments, name) for name in bound.arguments}
        return function(*bound.args, **bound.kwargs)

    return call


def option_error(error: ValidationError) -> OptionError:
    """Pydantic's error as one that names the options of the command line."""

    def with_option(fault: ErrorDetails) -> str:
        name, *inside = map(str, fault["loc"] or ("",))
        flag = ".".join([f"--{name.replace('_', '-')}", *inside])
        problem = fault["msg"].removeprefix("Value error, ")
        return f"{flag}: {problem}" if name else problem

    return OptionError(
        "; ".join(map(with_option, error.errors())), hint="give each option a valid value"
    )
