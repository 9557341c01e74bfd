"""Cards: what a reader of the Hub sees of a suite, filled from what the build recorded."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any


def render_dataset_card(
    suite: Mapping[str, Any], examples: Mapping[str, Mapping[str, str]]
) -> str:
    """The README of a suite: YAML that `datasets` reads, then prose.

    Args:
        suite: the contents of ``suite.json``.
        examples: for each config a seed, its labels, and an expansion with marked words.
    """
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    source = resources.files(__package__).joinpath("dataset_card.md.jinja").read_text("utf-8")
    return environment.from_string(source).render(suite=suite, examples=examples)
