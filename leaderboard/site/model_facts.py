"""What pages say of a model beside its figures: licence, page on the Hub, how it answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from s2lct.leaderboard.results.hub_results import HUB_ID
from s2lct.leaderboard.results.standings import Standing

_COMMIT = re.compile(r"[0-9a-f]{40}")
# As `record.own_options` tells them; without any, a language model got the usual question.
_ONLY_PROMPTS = re.compile(r"(?:(?:own|default) prompt .*)?", re.DOTALL)
_LEFT_OUT = {"the", "license", "licence", "licensed", "version", "software", "international"}
# Written out in full, from the longest on.
_WRITTEN_OUT = {
    "gnu-affero-general-public": "agpl",
    "gnu-lesser-general-public": "lgpl",
    "gnu-general-public": "gpl",
    "gnu-agpl": "agpl",
    "gnu-lgpl": "lgpl",
    "gnu-gpl": "gpl",
    "creative-commons-attribution": "cc-by",
    "creative-commons-zero": "cc0",
    "non-commercial": "nc",
    "noncommercial": "nc",
    "share-alike": "sa",
    "sharealike": "sa",
    "no-derivatives": "nd",
    "noderivatives": "nd",
    "3-clause-bsd": "bsd-3-clause",
    "2-clause-bsd": "bsd-2-clause",
}


def licence_name(stated: str | None) -> str | None:
    """A licence in one spelling: SPDX's, where it is one of SPDX's.

    ``apache-2.0``, ``Apache 2.0`` and ``Apache License, Version 2.0`` are all ``Apache-2.0``. A
    word that SPDX does not know is written small, as on the Hub; what else is stated stays.
    """
    text = " ".join((stated or "").split())
    if not text:
        return None
    if found := _spdx(text):
        return found
    parts = text.split(", ")
    if len(parts) > 1 and all(map(_spdx, parts)):
        return ", ".join(_spdx(part) for part in parts)
    return text.lower() if re.fullmatch(r"[\w.+-]+", text) else text


def _spdx(stated: str) -> str:
    """SPDX's name of a licence; empty for what it has no name of."""
    text = re.sub(r"(?<=gpl)v?(?=\d)", "-", stated.lower())
    text = re.sub(r"\bv(?:ersion)?\.?\s*(?=\d)", "", text)
    words = [one for one in re.findall(r"[a-z0-9.+]+", text) if one not in _LEFT_OUT]
    name = "-".join(dict.fromkeys(words))  # MIT License (MIT)
    for long, short in _WRITTEN_OUT.items():
        name = name.replace(long, short)
    for spelled in (name, f"{name}.0"):
        try:
            return str(canonicalize_license_expression(spelled))
        except InvalidLicenseExpression:
            continue
    return ""


def hub_page(name: str, revision: str) -> str | None:
    """The address of a model on the Hub that HF_ENDPOINT names; None for one that is not there.

    A model was loaded from the Hub where it has an owner and a commit: folders, word lists and what
    answers behind an address have no commit.
    """
    from huggingface_hub.constants import ENDPOINT

    on_hub = HUB_ID.fullmatch(name) and "@" not in name and _COMMIT.fullmatch(revision)
    return f"{ENDPOINT}/{name}" if on_hub else None


def prompt_spreads(standings: Sequence[Standing]) -> dict[str, dict[str, float]]:
    """How far a model's failure rate goes with the prompt, by the keys of its results.

    Of models with several results on a whole suite that differ in their prompts alone: how many
    there are (``count``), and the ``low``, ``mean`` and ``high`` of their failure rates.
    """
    asked: dict[tuple[str, ...], list[Standing]] = {}
    for one in standings:
        model = one.model
        if one.rank is not None and _ONLY_PROMPTS.fullmatch(model.options):
            facts = (model.name, model.revision, model.weights_sha256)
            asked.setdefault((*facts, getattr(model, "endpoint", "")), []).append(one)
    spreads: dict[str, dict[str, float]] = {}
    for group in asked.values():
        if len({one.model.options for one in group}) > 1:
            rates = [one.overall.failure_rate for one in group]
            figures = {"low": min(rates), "mean": fmean(rates), "high": max(rates)}
            for one in group:
                spreads[one.model.key] = {"count": len(group), **figures}
    return spreads
