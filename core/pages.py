"""Templates of HTML pages."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def page_templates(package: str) -> Environment:
    """The templates beside a package's modules; whatever they are given is escaped.

    Args:
        package: such as ``s2lct.leaderboard``.
    """
    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
