"""Asking a Hub: no code of a stranger's is run, and no token gets into a message."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from s2lct.plain_text import plain

HUB = "hf:"
"""Before a name it says that a repository of the Hub is meant."""
_TOKEN = re.compile(r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}|\bsk-[\w-]{16,}", re.ASCII)
"""Of the Hub, and keys of servers that call theirs as OpenAI does."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?", re.ASCII)
_HUB_ID_WITHOUT_OWNER = re.compile(r"[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
_HIDDEN = "hf_…"
_LONGEST = 200
_SHORTEST = 8


def is_hub_id(name: str) -> bool:
    """Whether a name is that of a repository, ``ORG/NAME`` or ``ORG/NAME@REVISION``."""
    return _HUB_ID.fullmatch(name) is not None


def repository_meant(name: str, *, without_owner: bool = False) -> str:
    """The repository of the Hub that a name stands for; empty where a folder or nothing is meant.

    ``hf:`` in front, or a revision behind, names a repository whatever lies here; a folder that is
    called so is written with ``./`` in front. Any other name is first that of a folder.

    Args:
        name: ``ORG/NAME``, ``ORG/NAME@REVISION``, either with ``hf:`` in front, or a path.
        without_owner: whether a repository may be called ``NAME`` alone, as old models are.

    Returns:
        ``ORG/NAME`` or ``ORG/NAME@REVISION``.
    """
    repository = name.removeprefix(HUB)
    shorter = without_owner and _HUB_ID_WITHOUT_OWNER.fullmatch(repository) is not None
    if not (is_hub_id(repository) or shorter):
        return ""
    surely = repository != name or "@" in repository
    return repository if surely or not os.path.exists(name) else ""  # noqa: PTH110


def without_token(text: str) -> str:
    """A text in which nothing looks like a token or key, and the Hub's in use does not stand."""
    # Whoever has a token of the Hub's to send has imported its client.
    client = sys.modules.get("huggingface_hub")
    if client is not None and len(token := client.get_token() or "") >= _SHORTEST:
        text = text.replace(token, _HIDDEN)
    return _TOKEN.sub(_HIDDEN, text)


def reason_of(error: BaseException) -> str:
    """What an error says, on one line: its kind and its first line, without token or escapes."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return plain(without_token(": ".join([type(error).__name__, *lines[:1]])), _LONGEST)


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def pretrained(kind: Any, name: Any, **options: Any) -> Any:
    """``kind.from_pretrained(name, …)``, without running code that lies beside the weights.

    Left to themselves the Auto classes ask on the terminal whether to run it. A `ValueError` says
    that it can only be loaded by code of its own.
    """
    try:
        return kind.from_pretrained(name, trust_remote_code=False, **options)
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        # The library's own words tell how to have it run.
        raise ValueError("it needs code of its own, and what is downloaded is never run") from error


def plain_config(name: Any, **options: Any) -> Any:
    """A model's configuration, without the code for attention and experts that it names.

    That may be a repository of the Hub, whose code would be fetched and run.
    """
    from transformers import AutoConfig

    config = pretrained(AutoConfig, name, **options)
    for field in ("_attn_implementation", "_experts_implementation"):
        if hasattr(config, field):
            setattr(config, field, None)
    return config


def commit_of(name: str, revision: str | None = None) -> str:
    """The commit of a model that a revision stands for; without a network what the cache has.

    The Hub is asked once: downloads that fail are tried again for half a minute.
    """
    from huggingface_hub import HfApi, constants, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError

    try:
        seconds = constants.HF_HUB_ETAG_TIMEOUT
        return HfApi().model_info(name, revision=revision, timeout=seconds).sha or ""
    except Exception as error:  # whatever the client's HTTP library raises
        kept = try_to_load_from_cache(name, "config.json", revision=revision)
        if isinstance(error, HfHubHTTPError) or not isinstance(kept, str):
            raise
        return Path(kept).parent.name
