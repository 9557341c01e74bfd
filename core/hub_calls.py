"""Requests to a Hub: no downloaded code is run, and no token gets into a message."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from s2lct.plain_text import plain

HUB_PREFIX = "hf:"
"""Prefix of names that mean a repository of the Hub."""
_TOKEN = re.compile(r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}|\bsk-[\w-]{16,}", re.ASCII)
"""Tokens of the Hub, and keys that look like OpenAI's."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?", re.ASCII)
_HUB_ID_WITHOUT_OWNER = re.compile(r"[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
_HIDDEN_TOKEN = "hf_…"
_MAX_REASON_CHARACTERS = 200
_MIN_TOKEN_CHARACTERS = 8


def is_hub_id(name: str) -> bool:
    """Whether a name has the form ``ORG/NAME`` or ``ORG/NAME@REVISION``."""
    return _HUB_ID.fullmatch(name) is not None


def repository_of(name: str, *, allows_bare_name: bool = False) -> str:
    """The repository of the Hub that a name refers to; empty if it refers to none.

    A name with the prefix ``hf:`` or a revision always refers to a repository. Any other name
    refers to a folder, if a folder of that name exists.

    Args:
        name: ``ORG/NAME``, ``ORG/NAME@REVISION``, either with the prefix ``hf:``, or a path.
        allows_bare_name: whether ``NAME`` alone may be a repository, as some old models are.

    Returns:
        ``ORG/NAME`` or ``ORG/NAME@REVISION``.
    """
    repository = name.removeprefix(HUB_PREFIX)
    is_bare_name = allows_bare_name and _HUB_ID_WITHOUT_OWNER.fullmatch(repository) is not None
    if not (is_hub_id(repository) or is_bare_name):
        return ""
    is_explicit = repository != name or "@" in repository
    return repository if is_explicit or not os.path.exists(name) else ""  # noqa: PTH110


def without_token(text: str) -> str:
    """A text in which the user's Hub token, and whatever looks like a token or key, is hidden."""
    # A token is in use only where the Hub's client was imported.
    client = sys.modules.get("huggingface_hub")
    if client is not None and len(token := client.get_token() or "") >= _MIN_TOKEN_CHARACTERS:
        text = text.replace(token, _HIDDEN_TOKEN)
    return _TOKEN.sub(_HIDDEN_TOKEN, text)


def error_summary(error: BaseException) -> str:
    """An error's class and the first line of its message, without tokens or escapes."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return plain(
        without_token(": ".join([type(error).__name__, *lines[:1]])), _MAX_REASON_CHARACTERS
    )


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error, the error that it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def from_pretrained(auto_class: Any, name: Any, **options: Any) -> Any:
    """``auto_class.from_pretrained(name, …)`` without running code that came with the weights.

    Raises:
        ValueError: only code in the model's repository could load the model.
    """
    try:
        return auto_class.from_pretrained(name, trust_remote_code=False, **options)
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        # The library's message explains how to run the code.
        raise ValueError("it needs code of its own, and what is downloaded is never run") from error


def config_without_kernels(name: Any, **options: Any) -> Any:
    """A model's configuration without its settings of attention and expert kernels.

    These settings may name a repository of the Hub, whose code would be downloaded and run.
    """
    from transformers import AutoConfig

    config = from_pretrained(AutoConfig, name, **options)
    for attribute in ("_attn_implementation", "_experts_implementation"):
        if hasattr(config, attribute):
            setattr(config, attribute, None)
    return config


def commit_of(name: str, revision: str | None = None) -> str:
    """The commit of a model's revision: from the Hub or, without a network, from the cache.

    There is one request without retries: retried downloads would take half a minute to fail.
    """
    from huggingface_hub import HfApi, constants, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError

    try:
        seconds = constants.HF_HUB_ETAG_TIMEOUT
        return HfApi().model_info(name, revision=revision, timeout=seconds).sha or ""
    except Exception as error:  # whatever the client's HTTP library raises
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
        if isinstance(error, HfHubHTTPError) or not isinstance(cached, str):
            raise
        return Path(cached).parent.name
