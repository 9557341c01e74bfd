"""Cards: what a reader of the Hub sees of a suite, and what is known of the shipped models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

SHIPPED_MODELS = ("masked_lm", "parser", "sentiment_2class", "sentiment_3class")
_TEMPLATES = {"sentiment_2class": "sentiment", "sentiment_3class": "sentiment"}


def render_dataset_card(suite: Mapping[str, Any], examples: Mapping[str, Mapping[str, str]]) -> str:
    """The README of a suite: YAML that `datasets` reads, then prose.

    Args:
        suite: the contents of ``suite.json``.
        examples: for each config a seed, its labels, and an expansion with marked words.
    """
    return _render("dataset_card.md.jinja", suite=suite, examples=examples)


def render_model_card(name: str, figures: Mapping[str, Any]) -> str:
    """The card of a shipped model.

    Args:
        name: one of `SHIPPED_MODELS`.
        figures: what its training script recorded beside the weights.
    """
    return _render(f"{_TEMPLATES.get(name, name)}.md.jinja", **figures)


def write_model_cards(weights: Path, out: Path) -> list[Path]:
    """Render the card of every model whose figures lie in ``weights`` into ``out``.

    Args:
        weights: folder with ``parser.json`` and the like.
        out: folder to write ``parser.md`` and the like to.
    """
    written: list[Path] = []
    for name in SHIPPED_MODELS:
        if (figures := weights / f"{name}.json").is_file():
            card = out / f"{name}.md"
            card.write_text(
                render_model_card(name, json.loads(figures.read_text("utf-8"))), encoding="utf-8"
            )
            written.append(card)
    return written


def _render(template: str, **values: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    source = resources.files(__package__).joinpath(template).read_text("utf-8")
    return environment.from_string(source).render(**values)
