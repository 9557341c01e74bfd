"""Packages that only the analyses need."""

from __future__ import annotations

from importlib.util import find_spec

from s2lct.analysis.errors import AnalysisError


def require(*packages: str) -> None:
    """Refuse to start without packages of the extra ``analysis``.

    Raises:
        AnalysisError: one of them is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise AnalysisError(
                f"the package {package} is not installed", mend='pip install "s2lct[analysis]"'
            )
