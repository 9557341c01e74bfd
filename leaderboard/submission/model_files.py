"""Fetches a stranger's model: no code, nothing too large, from its owners' own branch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.leaderboard.results.hub_results import hub_api, told_hub_errors
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.plain_text import plain

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

DEFAULT_BRANCH = "main"
MOST_CONFIG_BYTES = 1 << 20
MOST_LAYERS = 1_000
LARGEST_SIZE = 1 << 24
_COUNT = re.compile(r"layer|depth|block|stage|expert|head|group", re.IGNORECASE)
_SIZE = re.compile(r"size|dim|width|position|channel|filter|rank|len", re.IGNORECASE)
_PLAIN_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TOKENIZER_FILES = (".txt", ".model", ".jinja", ".tiktoken", ".vocab")


def fetched_model(name: str, commit: str, most_bytes: int) -> Path:
    """The folder of a model's files at a commit of its default branch.

    Code is not among them, and nothing is fetched whose size or shape is out of bounds.

    Args:
        name: its Hub id.
        commit: the commit's full id.
        most_bytes: what the files may have together.

    Raises:
        ScoringError: the Hub does not tell.
        RefusedError: the commit lies elsewhere, or the model is too large.
    """
    api = hub_api()
    with told_hub_errors(f"model {name}"):
        history = api.list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
        if commit not in {one.commit_id for one in history}:
            raise RefusedError(
                f"model.revision: {commit} is no commit of the branch {DEFAULT_BRANCH} of {name}, "
                "where its owners keep it"
            )
        info = api.model_info(name, revision=commit, files_metadata=True)
    files = _wanted_files(name, info)
    if (total := sum(files.values())) > most_bytes:
        raise RefusedError(
            f"model {name}: its files have {total:,} bytes, at most {most_bytes:,} are fetched"
        )
    with told_hub_errors(f"model {name}"):
        config = Path(api.hf_hub_download(name, "config.json", revision=commit))
    if faults := [*faults_of_config(bytes_of(config, MOST_CONFIG_BYTES))]:
        raise RefusedError(*(f"model {name}: {fault}" for fault in faults))
    with told_hub_errors(f"model {name}"):
        return Path(api.snapshot_download(name, revision=commit, allow_patterns=list(files)))


def _wanted_files(name: str, info: ModelInfo) -> dict[str, int]:
    """Sizes of the files that a model and its tokenizer are loaded from."""
    sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
    plain_ones = {path: size for path, size in sizes.items() if _PLAIN_FILE.fullmatch(path)}
    if plain_ones.get("config.json", MOST_CONFIG_BYTES + 1) > MOST_CONFIG_BYTES:
        raise RefusedError(
            f"model {name}: has no config.json of at most {MOST_CONFIG_BYTES:,} bytes"
        )
    safe = any(path.endswith(".safetensors") for path in plain_ones)
    weights = re.compile(r".*\.safetensors" if safe else r"pytorch_model.*\.bin")
    return {
        path: size
        for path, size in plain_ones.items()
        if weights.fullmatch(path)
        or path.endswith((".json", *_TOKENIZER_FILES))
        or path == "README.md"
    }


def faults_of_config(data: bytes) -> Iterator[str]:
    """Numbers in a config.json that no model has whose loading comes to an end."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        yield "its config.json is no JSON"
        return
    if not isinstance(content, dict):
        yield "its config.json is no object"
        return
    for where, number in _whole_numbers(content, "", 0):
        key = where.rpartition(".")[2]
        if where.startswith(("id2label.", "label2id.")):
            continue
        most = LARGEST_SIZE if _SIZE.search(key) else MOST_LAYERS if _COUNT.search(key) else None
        if most is not None and not -1 <= number <= most:
            shown = f"{number:,}" if abs(number) < 10**15 else "a number of 16 digits or more"
            yield f"its config.json has {plain(where, 80)} {shown}, at most {most:,}"


def _whole_numbers(value: Any, where: str, depth: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield where, value
    elif isinstance(value, dict) and depth < 10:
        for key, part in value.items():
            yield from _whole_numbers(part, f"{where}.{key}" if where else str(key), depth + 1)
    elif isinstance(value, list) and depth < 10:
        for part in value:
            yield from _whole_numbers(part, where, depth + 1)
