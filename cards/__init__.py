"""Cards: what a reader of the Hub sees of a suite, a metric, a leaderboard and results."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from s2lct.plain_text import plain, words

_HUB_LICENCES = words(
    "apache-2.0 mit cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 "
    "cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-nc-nd-4.0 odc-by odbl pddl bsd-3-clause gpl-3.0"
)
_NOT_STATED = ("", "not stated", "none stated by its authors", "unknown")
_ORIGINS = {
    "masked": "have words of a masked language model",
    "synonym": "have synonyms of these from WordNet",
    "phrase": "a phrase that reviewers write",
    "attested": "are their author's own sentence, which was shortened for the seed",
}
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}


def render_dataset_card(
    suite: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, str]],
    repo: str | None = None,
) -> str:
    """The README of a suite: YAML that `datasets` reads, then prose.

    Args:
        suite: the contents of ``suite.json``.
        examples: for each config what `example_of` gives.
        repo: the Hub id it is published under; None for a suite in a folder.
    """
    return render(
        "dataset_card.md",
        suite=suite,
        examples=examples,
        repo=repo,
        licence=hub_licence(suite["corpus"]["licence"]),
        size_category=size_category(sum(file["rows"] for file in suite["files"].values())),
        origins=_origins(suite["files"].values()),
    )


def _origins(files: Iterable[Mapping[str, Any]]) -> str:
    """How many expansions are of which origin, in words; empty if that is not known."""
    found: Counter[str] = Counter()
    for file in files:
        found.update(file.get("origins", {}))
    said = [f"{found[name]:,} {words}" for name, words in _ORIGINS.items() if found[name]]
    return " and ".join([", ".join(said[:-1])] * bool(said[:-1]) + said[-1:])


def markdown(text: str) -> str:
    """A text that others supplied, as one line of plain text in Markdown, tables included."""
    line = html.escape(plain(" ".join(text.split())), quote=False)
    return re.sub(r"([\\`*_{}\[\]()#!|~$@]|:(?=//)|(?<=www)\.)", r"\\\1", line)


def code(text: str) -> str:
    """A text that others supplied, between backticks, where nothing can be escaped."""
    return f"`{re.sub(r'[`|]', '’', plain(' '.join(text.split())))}`"


def hub_licence(licence: str) -> str:
    """A licence as the Hub's cards name it: an identifier, ``unknown`` or ``other``."""
    name = licence.strip().lower()
    if name in _HUB_LICENCES:
        return name
    return "unknown" if name in _NOT_STATED else "other"


def size_category(rows: int) -> str:
    """How the Hub's cards name a number of rows."""
    return next((name for most, name in _SIZES.items() if rows < most), "1M<n<10M")


def render(card: str, **values: Any) -> str:
    """A card or page, such as ``metric_card.md``, from the template of that name beside this."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"markdown": markdown, "code": code}
    source = resources.files(__package__).joinpath(f"{card}.jinja").read_text("utf-8")
    return environment.from_string(source).render(**values)
