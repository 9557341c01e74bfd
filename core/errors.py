"""Errors that a user can mend: each names what is wrong and what to do."""

from __future__ import annotations

import re
from importlib.metadata import requires
from importlib.util import find_spec

from s2lct.hub_calls import without_token

LONGEST_MESSAGE = 4_000
"""In characters: a file of others may have names of millions."""


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


class S2lctError(Exception):
    """Something that the user can mend.

    What files, servers and libraries said stands in many of them: at most `LONGEST_MESSAGE`
    characters, and no token.

    Attributes:
        problem: what is wrong, naming the file, row or option.
        hint: what to do about it.
        exit_status: with which a command ends that it stops.
    """

    exit_status = 1

    def __init__(self, problem: str, hint: str) -> None:
        self.problem, self.hint = (_shortened(without_token(text)) for text in (problem, hint))
        super().__init__(self.problem, self.hint)  # what it is pickled with, too

    def __str__(self) -> str:
        return f"{self.problem}\n  → {self.hint}"


class OptionError(S2lctError):
    """An option is missing or has a value that it cannot have."""

    exit_status = 2


class CorpusError(S2lctError):
    """A corpus cannot be read, or holds nothing usable."""


class CapabilityError(S2lctError):
    """A capability's specification is wrong, or its name is unknown."""


class ModelError(S2lctError):
    """A parser, tagger or masked language model cannot be loaded."""


class BuildError(S2lctError):
    """A build cannot start, go on or finish."""


class OutputError(S2lctError):
    """Nothing can be written where something was asked for."""


class ScoringError(S2lctError):
    """A model, a suite, predictions or a result file cannot be used as they are."""


class SuiteError(ScoringError):
    """A folder is not a suite, or its files do not fit together."""


class AnnotationError(S2lctError):
    """A filled-in form cannot be read, or holds something that is no answer."""


class AnalysisError(S2lctError):
    """A model, suite or corpus cannot be analysed as asked."""


class PublishError(S2lctError):
    """Something cannot be published as it is, or the Hub refused it."""


class MissingPackageError(S2lctError):
    """A package that an extra brings is not installed."""


class S2lctWarning(UserWarning):
    """Something that a user may want to know, and that stops nothing; no longer than an error."""

    def __init__(self, message: str) -> None:
        super().__init__(_shortened(message))


_PACKAGES = {"sklearn": "scikit-learn"}
"""Packages that are called otherwise than their modules."""


def extra_of(module: str) -> str | None:
    """The extra that brings a module such as ``matplotlib.pyplot``; None if no extra brings it."""
    name = module.partition(".")[0]
    package = re.escape(_PACKAGES.get(name, name)).replace("_", "[_-]")
    extra = rf"{package or '-'}\b.*\bextra *== *.(?!dev\b)([\w-]+)"
    found = (re.match(extra, line, re.IGNORECASE) for line in requires("s2lct") or [])
    return next((match[1] for match in found if match), None)


def missing_package(name: str) -> MissingPackageError:
    """What to say of a package that an extra brings and that is not installed."""
    return MissingPackageError(
        f"the package {name} is not installed", hint=f'pip install "s2lct[{extra_of(name)}]"'
    )


def require(*packages: str) -> None:
    """Called before anything is computed that needs packages which only extras bring.

    Raises:
        MissingPackageError: one is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise missing_package(package)
