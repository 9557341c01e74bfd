"""Which extra of this package brings a package that is not installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from s2lct.errors import AnalysisError

_REQUIREMENT = re.compile(r"""(?P<name>[\w.-]+).*;.*\bextra\s*==\s*["'](?P<extra>[\w-]+)["']""")
_FOR_DEVELOPERS = "dev"


def extra_of(module: str) -> str | None:
    """The extra that brings a module such as ``matplotlib.pyplot``; None if no extra brings it."""
    package = module.partition(".")[0].casefold()
    try:
        lines = requires("s2lct") or []
    except PackageNotFoundError:
        return None
    for match in map(_REQUIREMENT.match, lines):
        if match and match["extra"] != _FOR_DEVELOPERS and match["name"].casefold() == package:
            return match["extra"]
    return None


def require(*packages: str) -> None:
    """Raise an `AnalysisError` unless packages of the extra ``analysis`` are installed."""
    for package in packages:
        if find_spec(package) is None:
            raise AnalysisError(
                f"the package {package} is not installed", hint='pip install "s2lct[analysis]"'
            )
