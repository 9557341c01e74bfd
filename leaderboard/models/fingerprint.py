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
_OUTPUTS = {"output_attentions", "output_hidden_states", "return_dict", "use_cache"}
_SAVED = {"architectures", "dtype", "problem_type", "torch_dtype", "transformers_version"}
"""Of a model's configuration: what changes no answer, or stands in its weights."""
_SETTINGS = (
    *("model_max_length", "model_input_names", "padding_side", "truncation_side"),
    *("special_tokens_map", "split_special_tokens", "pad_token_id"),
)
_ORIGIN = {"backend", "is_local", "local_files_only", "name_or_path"}
_LAST_CUT = {"max_length", "stride", "truncation_strategy"}


def weights_sha256(name: str, revision: str) -> str:
    """What ``sha256sum`` says of the files that a model's weights were loaded from.

    Of the one file; of sharded weights, of what ``sha256sum`` prints of the shards by name
    (``sha256sum model-*.safetensors | sha256sum``). Empty where the folder, or the cache of the
    Hub's commit ``revision``, has none.
    """
    from transformers.utils.hub import cached_file

    def found(file: str) -> str | None:
        path: str | None = cached_file(
            name,
            file,
            revision=revision or None,
            local_files_only=True,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return path

    path = next(filter(None, map(found, WEIGHT_FILES)), None)
    if path is None:
        return ""
    if not path.endswith(".json"):
        return sha256_of(Path(path))
    shards = sorted(set(json.loads(Path(path).read_text("utf-8"))["weight_map"].values()))
    paths = {shard: path for shard in shards if (path := found(shard)) is not None}
    lines = [f"{sha256_of(Path(path))}  {shard}\n" for shard, path in paths.items()]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def model_fingerprint(tokenizer: Any, model: Any) -> str:
    """SHA-256 over what decides a model's answers, whatever files it came from.

    The tokenizer with its settings, the model's class and configuration, and its weights.
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
    if not isinstance(config, dict):
        return config
    return {
        str(name): _config_described(value)
        for name, value in config.items()
        if name not in _OUTPUTS | _SAVED and not str(name).startswith("_")
    }


def _tokenizer_described(tokenizer: Any) -> Any:
    """What decides how a tokenizer splits and cuts a text."""
    settings = {name: getattr(tokenizer, name, None) for name in _SETTINGS}
    if hasattr(tokenizer, "backend_tokenizer"):
        backend = json.loads(tokenizer.backend_tokenizer.to_str())
        # How the last call cut and padded its texts is kept there too, and is no part of it.
        return [settings, backend | {"truncation": None, "padding": None}]
    arguments = getattr(tokenizer, "init_kwargs", {})
    named = {
        name: getattr(tokenizer, name, None) or arguments.get(name)
        for name in getattr(tokenizer, "vocab_files_names", {})
    }
    paths = {name: Path(path) for name, path in named.items() if path}
    files = {name: sha256_of(path) for name, path in paths.items() if path.is_file()}
    given = {
        name: str(value)
        for name, value in arguments.items()
        if name not in _ORIGIN | _LAST_CUT | files.keys()
    }
    words = sorted(tokenizer.get_vocab().items()) if hasattr(tokenizer, "get_vocab") else []
    return [settings, type(tokenizer).__name__, given, files, words]
