"""Hashes over what decides a model's answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of

WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def weights_sha256(name: str, revision: str) -> str:
    """What ``sha256sum`` says of the files that a model's weights were loaded from.

    Args:
        name: a Hub id whose files are in the cache, or a folder.
        revision: the Hub commit.

    Returns:
        The sum of the one file; of sharded weights, the sum of what ``sha256sum`` prints of the
        shards in the order of their names (``sha256sum model-*.safetensors | sha256sum``). Empty
        where no such file is found.
    """
    from transformers.utils.hub import cached_file

    def found(file: str) -> Path | None:
        path = cached_file(
            name,
            file,
            revision=revision or None,
            local_files_only=True,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return Path(path) if path else None

    for file in WEIGHT_FILES:
        path = found(file)
        if path is None:
            continue
        if path.suffix != ".json":
            return sha256_of(path)
        shards = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
        paths = [found(shard) for shard in shards]
        lines = [
            f"{sha256_of(path)}  {shard}\n"
            for shard, path in zip(shards, paths, strict=True)
            if path is not None
        ]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return ""


_NO_ANSWER = frozenset(
    (
        "architectures",
        "dtype",
        "output_attentions",
        "output_hidden_states",
        "problem_type",
        "return_dict",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    )
)
"""Of a model's configuration: what changes no answer, or stands in its weights."""


def model_fingerprint(tokenizer: Any, model: Any) -> str:
    """SHA-256 over what decides a model's answers, whatever files it came from.

    That is the tokenizer with its settings, the model's class and configuration, and its weights.
    """
    described = [
        _tokenizer_described(tokenizer),
        type(model).__name__,
        _config_described(model.config.to_dict()),
        state_sha256(model),
    ]
    return fingerprint_of(described)


def state_sha256(model: Any) -> str:
    """SHA-256 over names, types, shapes and bytes of a model's weights."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        raw = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {raw.dtype} {tuple(raw.shape)}".encode())
        digest.update(raw.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _config_described(config: Any) -> Any:
    """A configuration, and those within it, without what changes no answer."""
    if isinstance(config, dict):
        return {
            str(name): _config_described(value)
            for name, value in config.items()
            if name not in _NO_ANSWER and not str(name).startswith("_")
        }
    return config


def _tokenizer_described(tokenizer: Any) -> Any:
    """What decides how a tokenizer splits and cuts a text."""
    settings = {
        name: getattr(tokenizer, name, None)
        for name in (
            "model_max_length",
            "model_input_names",
            "padding_side",
            "truncation_side",
            "special_tokens_map",
            "split_special_tokens",
            "pad_token_id",
        )
    }
    if hasattr(tokenizer, "backend_tokenizer"):
        backend = json.loads(tokenizer.backend_tokenizer.to_str())
        # How the last call cut and padded its texts is kept there too, and is no part of it.
        backend.update(truncation=None, padding=None)
        return [settings, backend]
    given = {
        name: str(value)
        for name, value in getattr(tokenizer, "init_kwargs", {}).items()
        # Where it came from, and how texts were last cut.
        if name not in ("backend", "is_local", "local_files_only", "name_or_path", "max_length")
        and name not in ("stride", "truncation_strategy", *_files_of(tokenizer))
    }
    files = {name: sha256_of(path) for name, path in _files_of(tokenizer).items()}
    words = sorted(tokenizer.get_vocab().items()) if hasattr(tokenizer, "get_vocab") else []
    return [settings, type(tokenizer).__name__, given, files, words]


def _files_of(tokenizer: Any) -> dict[str, Path]:
    """The files that a tokenizer was read from, by the names of their arguments."""
    found = {
        name: getattr(tokenizer, name, None)
        or getattr(tokenizer, "init_kwargs", {}).get(name)
        or ""
        for name in getattr(tokenizer, "vocab_files_names", {})
    }
    return {name: Path(path) for name, path in found.items() if path and Path(path).is_file()}
