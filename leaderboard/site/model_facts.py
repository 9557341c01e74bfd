"""What pages say of a model beside its figures: licence, page on the Hub."""

from __future__ import annotations

import re

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from s2lct.hub_calls import is_hub_id

_COMMIT = re.compile(r"[0-9a-f]{40}")
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

    on_hub = is_hub_id(name) and "@" not in name and _COMMIT.fullmatch(revision)
    return f"{ENDPOINT}/{name}" if on_hub else None
