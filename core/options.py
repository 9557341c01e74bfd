"""Options of commands, declared once: what the command line shows and what functions check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from s2lct.errors import OptionError
from s2lct.progress import Bars, no_bars

Given = TypeVar("Given", bound="Options")
Answer = TypeVar("Answer")
PathKind = Literal["existing", "existing file", "file", "folder"]


@dataclass(frozen=True)
class Option:
    """How a command line asks for a field.

    Attributes:
        help: what the field is, in a line; ends with the default where that is none of the field's.
        panel: the heading it stands under; empty for the first.
        flags: its flags, where they are not made from the field's name.
        path: what a path must be.
        text: whether the command line takes it as text, whatever the field's type is.
        filled: whether its default depends on other options.
        in_python_only: whether the command line does not ask for it.
        shown_default: the default in words, where the value says little.
    """

    help: str
    panel: str = ""
    flags: str = ""
    path: PathKind | None = None
    text: bool = False
    filled: bool = False
    in_python_only: bool = False
    shown_default: str = ""


@dataclass(frozen=True)
class Argument(Option):
    """How a command line asks for a field by its place; ``metavar`` stands for it in the usage."""

    metavar: str = ""


class Options(BaseModel):
    """Options of a command. Each field is annotated with an `Option` or `Argument`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def own_first(cls) -> dict[str, FieldInfo]:
        """The fields, those of the class itself before those that it shares with others."""
        names = [name for kind in cls.__mro__ for name in inspect.get_annotations(kind)]
        return {name: cls.model_fields[name] for name in names if name in cls.model_fields}

    @classmethod
    def checked(cls: type[Given], **given: Any) -> Given:
        """Options from keyword arguments; an `OptionError` says what is wrong with them."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise OptionError(
                "; ".join(f"{flag}: {why}" for flag, _, why in cls.faults(error)),
                hint="give each option a value that it can have",
            ) from error

    @classmethod
    def faults(cls, error: ValidationError) -> Iterator[tuple[str, Any, str]]:
        """What is wrong with options: a flag, what it was given, and why it cannot be."""
        for fault in error.errors():
            name, *inside = map(str, fault["loc"] or ("",))
            field = cls.model_fields.get(name)
            flags = shown_in(field).flags if field is not None else ""
            flag = ".".join([flags or f"--{name.replace('_', '-')}", *inside]) if name else ""
            yield flag, fault["input"], fault["msg"].removeprefix("Value error, ")


def shown_in(field: FieldInfo) -> Option:
    """How a command line asks for a field."""
    return next(one for one in field.metadata if isinstance(one, Option))


class Command(Generic[Given, Answer]):
    """A function that takes its options by name, or as one object.

    ``command(suite="dist/s2lct")`` is ``command(Options.checked(suite="dist/s2lct"))``. What it
    does is its ``summary``.
    """

    def __init__(self, options: type[Given], function: Callable[[Given, Bars], Answer]) -> None:
        self.options = options
        self._function = function
        self.summary = inspect.getdoc(function) or ""
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        told, parameters = [], []
        for name, field in options.own_first().items():
            told.append(f"    {name}: {shown_in(field).help}".replace("\\[", "["))
            default = inspect.Parameter.empty if field.is_required() else field.default
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=field.annotation,
                )
            )
        told.append("    bars: shows how far the work is; by default nothing does.")
        self.__doc__ = "\n\n".join([self.summary, "\n".join(["Args:", *told])])
        self.__signature__ = inspect.Signature(parameters)

    def __call__(
        self, options: Given | None = None, /, *, bars: Bars = no_bars, **fields: Any
    ) -> Answer:
        """Do it; a `S2lctError` is something that the caller can mend."""
        return self._function(self.options.checked(**fields) if options is None else options, bars)


def takes(
    options: type[Given],
) -> Callable[[Callable[[Given, Bars], Answer]], Command[Given, Answer]]:
    """Make a function of options and bars a `Command`."""
    return lambda function: Command(options, function)


Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
"""Not nothing, such as 0.25."""
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What every library takes."""
CLASSES, RUNNING, CASES, WHERE = "What answers mean", "Running", "Which cases", "Where it runs"


class OnDevice(Options):
    """Where a model runs."""

    device: Annotated[str, Option("auto, cpu, cuda …", RUNNING)] = "auto"


class OnEngine(Options):
    """What does the work; results are the same."""

    engine: Annotated[
        Literal["process", "ray"],
        Option("process: this one; ray: workers of a Ray cluster, with the extra ray.", WHERE),
    ] = "process"
    address: Annotated[
        str | None,
        Option(
            "With --engine ray: auto or HOST:PORT of a running cluster "
            r"\[default: one is started here].",
            WHERE,
        ),
    ] = None
    workers: Annotated[
        Count | None,
        Option(r"With --engine ray: workers \[default: one a CPU of the cluster].", WHERE),
    ] = None
    gpus_per_worker: Annotated[
        NotNegative, Option("With --engine ray: GPUs of a worker, such as 0.5.", WHERE)
    ] = 0.0

    @model_validator(mode="after")
    def _check_engine(self) -> OnEngine:
        if self.engine == "process" and (self.address or self.workers or self.gpus_per_worker):
            raise ValueError("address, workers and gpus_per_worker: they go with engine ray")
        return self


class ChosenCases(Options):
    """A part of a suite."""

    capability: Annotated[
        tuple[str, ...], Option("Only this capability; may be given again.", CASES)
    ] = ()


class Printed(Options):
    """What a command prints of what its function returns."""

    format: Annotated[
        Literal["table", "json"],
        Option("What is printed: tables, or one line of JSON (docs/ci.md has its keys)."),
    ] = "table"


def _band(bounds: tuple[float, float]) -> tuple[float, float]:
    if not 0 <= bounds[0] <= bounds[1] <= 1:
        raise ValueError("give two probabilities, the smaller first")
    return bounds


class ModelClasses(Options):
    """What a model's answers mean; see `label_rules.rule_for`."""

    label_map: Annotated[
        Any,
        Option("What the classes mean: LABEL_0=negative,LABEL_1=positive.", CLASSES, text=True),
    ] = None
    neutral_band: Annotated[
        tuple[float, float],
        AfterValidator(_band),
        Option(
            "Binary models: p(positive) strictly between is neutral.",
            CLASSES,
            shown_default="1/3 2/3",
        ),
    ] = (1 / 3, 2 / 3)


class CorpusColumns(Options):
    """How a table's columns and labels are read; see `read_corpus`."""

    text_column: Annotated[str | None, Option("Column with the texts.", "Corpus")] = None
    label_column: Annotated[str | None, Option("Column with the labels.", "Corpus")] = None
    label_map: Annotated[
        Any, Option("What labels mean: 0=negative,1=positive.", "Corpus", text=True)
    ] = None
