"""Errors that a user can fix: each says what is wrong and what to do about it."""

from __future__ import annotations

import re
from importlib.metadata import requires
from importlib.util import find_spec

from s2lct.hub_calls import without_token

MAX_MESSAGE_CHARACTERS = 4_000
"""Longer messages are truncated: a malicious file may hold a name of a million characters."""


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else text[:MAX_MESSAGE_CHARACTERS] + "…"


class S2lctError(Exception):
    """An error that the user can fix; its texts are truncated, and tokens in them are hidden.

    Attributes:
        problem: what is wrong, naming the file, row or option.
        hint: what to do about it.
        exit_status: the exit status of a command that ends with this error.
    """

    exit_status = 1

    def __init__(self, problem: str, hint: str) -> None:
        self.problem, self.hint = (_truncate(without_token(text)) for text in (problem, hint))
        super().__init__(self.problem, self.hint)  # both are needed to unpickle it

    def __str__(self) -> str:
        return f"{self.problem}\n  → {self.hint}"


class OptionError(S2lctError):
    """An option is missing or has an invalid value."""

    exit_status = 2


class CorpusError(S2lctError):
    """A corpus cannot be read, or holds no usable sentence."""


class CapabilityError(S2lctError):
    """A capability's definition is wrong, or its name is unknown."""


class ModelError(S2lctError):
    """A parser, tagger or masked language model cannot be loaded."""


class BuildError(S2lctError):
    """A build cannot start or finish."""


class OutputError(S2lctError):
    """An output cannot be written where the user wants it."""


class ScoringError(S2lctError):
    """A model, a suite, predictions or a result file cannot be used as they are."""


class SuiteError(ScoringError):
    """A folder is no suite, or its files contradict each other."""


class AnnotationError(S2lctError):
    """A filled-in form cannot be read, or holds an invalid answer."""


class AnalysisError(S2lctError):
    """A model, suite or corpus cannot be analysed as asked."""


class PublishError(S2lctError):
    """Something cannot be published as it is, or the Hub refused it."""


class MissingPackageError(S2lctError):
    """A package that an extra brings is not installed."""


class S2lctWarning(UserWarning):
    """A warning to the user, after which the work goes on; long messages are truncated."""

    def __init__(self, message: str) -> None:
        super().__init__(_truncate(message))


_PACKAGE_OF_MODULE = {"sklearn": "scikit-learn"}


def extra_of(module: str) -> str | None:
    """The extra of s2lct that installs a module such as ``matplotlib.pyplot``, or None."""
    name = module.partition(".")[0]
    package = re.escape(_PACKAGE_OF_MODULE.get(name, name)).replace("_", "[_-]")
    extra = rf"{package or '-'}\b.*\bextra *== *.(?!dev\b)([\w-]+)"
    matches = (re.match(extra, line, re.IGNORECASE) for line in requires("s2lct") or [])
    return next((match[1] for match in matches if match), None)


def require(*packages: str) -> None:
    """Raise a `MissingPackageError` if one of these optional packages is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError(
                f"the package {package} is not installed",
                hint=f'pip install "s2lct[{extra_of(package)}]"',
            )
