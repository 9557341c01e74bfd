"""Sequence classifiers of transformers: in memory, by Hub id, by folder, or embedded.

Nothing that was downloaded is executed: weights are safetensors, or read by torch's
``weights_only`` loader; ``trust_remote_code`` is off.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from s2lct.engines import parallel_map
from s2lct.errors import S2lctError, ScoringError
from s2lct.files import resolve_folder, sha256_of
from s2lct.hub_calls import commit_of, config_without_kernels, error_summary, from_pretrained
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.models.model import (
    EMBEDDED_MODELS,
    Batch,
    Classifier,
    ModelFacts,
    card_licence,
    package_licence,
)
from s2lct.leaderboard.models.model_checks import (
    MAX_INPUT_TOKENS,
    check_ids,
    check_label_ids,
    check_vocabulary,
    check_weights,
    token_limit,
    warn_of_cut_texts,
)
from s2lct.plain_text import did_you_mean

DTYPES = ("auto", "float32", "bfloat16", "float16")
_SAVE_TOKENIZER_HINT = "save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)"
_PIPELINE_HINT = (
    "check that transformers' own pipeline answers; where memory is short, pass --device cpu or a "
    "smaller model"
)
_SETTINGS_WITHOUT_EFFECT = {
    *("output_attentions", "output_hidden_states", "return_dict", "use_cache", "architectures"),
    *("dtype", "problem_type", "torch_dtype", "transformers_version", "backend", "is_local"),
    *("local_files_only", "name_or_path", "max_length", "stride", "truncation_strategy"),
}
"""Names of configuration entries that change no prediction, or that follow from the weights."""


class TransformersModel(Classifier):
    """A model of transformers with its tokenizer, and the sizes of its batches in tokens."""

    tokenizer: Any
    model: Any
    tokens_on_cpu, tokens_on_gpu = 1_024, 65_536

    @cached_property
    def facts(self) -> ModelFacts:
        """See `Model.facts`; a model that exists only in memory has no licence."""
        licence = None
        if self.name in EMBEDDED_MODELS:
            licence = package_licence("s2lct")
        elif self.fingerprint:
            licence = card_licence(self.name, self.revision)
        return ModelFacts(
            sum(int(weight.numel()) for weight in self.model.parameters()),
            licence,
            str(self.model.dtype).removeprefix("torch."),
            self.model.device.type,
            f"{self.tokens_per_batch} tokens",
        )

    @property
    def tokens_per_batch(self) -> int:
        """How many tokens are computed in one batch."""
        return self.tokens_on_gpu if self.model.device.type == "cuda" else self.tokens_on_cpu


class Network(TransformersModel):
    """A sequence classifier in memory; its predictions are not cached.

    Args:
        tokenizer: a tokenizer of transformers.
        model: a sequence classifier of transformers.
        name: the name of the model in tables.

    Attributes:
        max_tokens: the number of tokens, [CLS] and [SEP] included, to which texts are cut.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        self.name, self.tokenizer, self.model = name, tokenizer, model
        config = model.config
        self.classes = classes_of(config)
        limit = token_limit(name, tokenizer, config) or MAX_INPUT_TOKENS
        if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            # The first positions of these models are reserved for padding.
            limit = min(limit, config.max_position_embeddings - 2)
        self.max_tokens = min(limit, MAX_INPUT_TOKENS)

    @cached_property
    def weights_sha256(self) -> str:  # type: ignore[override]
        """See `Model`."""
        return state_sha256(self.model)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Batches of text indices and token ids, the longest texts first.

        Texts of a batch are equally long and not padded, so they do not affect each other.
        """
        from transformers import BatchEncoding

        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)
        encoded.pop("attention_mask", None)
        check_ids(self.name, self.model, encoded["input_ids"])
        lengths = [len(ids) for ids in encoded["input_ids"]]
        pairs = zip(texts, lengths, strict=True)
        if full_texts := [text for text, length in pairs if length >= self.max_tokens]:
            uncut_lengths = [len(ids) for ids in self.tokenizer(full_texts)["input_ids"]]
            warn_of_cut_texts(self.name, uncut_lengths, self.max_tokens, len(texts))
        order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
        # Decoders find the end of a text by the padding token; without one a batch has one text.
        is_single = self.tokenizer.pad_token_id is None
        for length, group in groupby(order, key=lengths.__getitem__):
            indices = list(group)
            size = 1 if is_single else max(1, self.tokens_per_batch // max(1, length))
            for start in range(0, len(indices), size):
                batch = indices[start : start + size]
                columns = {name: [rows[n] for n in batch] for name, rows in encoded.items()}
                yield batch, BatchEncoding(columns, tensor_type="pt").to(self.model.device)

    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Softmax over the logits, in double precision; a model in training stays in training."""
        import torch

        def compute(batch: tuple[list[int], Any]) -> Batch:
            indices, encoded = batch
            with torch.inference_mode():
                logits = self.model(**encoded).logits.double()
                return indices, torch.softmax(logits, dim=-1).cpu().numpy()

        was_training = self.model.training
        self.model.eval()
        try:
            on_cpu = self.model.device.type == "cpu"
            with model_errors(f"model {self.name}: does not answer"):
                yield from parallel_map(compute, self.batches(texts), on_cpu=on_cpu)
        finally:
            self.model.train(was_training)


class SequenceClassifier(Network):
    """A sequence classifier by Hub id or folder, or an embedded model by name."""

    def __init__(
        self, name: str, *, revision: str | None = None, device: str = "auto", dtype: str = "auto"
    ) -> None:
        if name in EMBEDDED_MODELS:
            from s2lct.leaderboard.models.embedded import embedded_network

            commit, (tokenizer, model) = version("s2lct"), embedded_network(name)
        else:
            tokenizer, model, commit = load_pretrained(name, revision)
        with model_errors(f"model {name}: cannot be used"):
            check_label_ids(name, model.config)
            if tokenizer.pad_token_id is None and model.config.pad_token_id is not None:
                tokenizer.pad_token = tokenizer.convert_ids_to_tokens(model.config.pad_token_id)
            elif model.config.pad_token_id is None:
                # Decoders read the last token that is no padding.
                model.config.pad_token_id = tokenizer.pad_token_id
            super().__init__(tokenizer, model, name)
            move_model(model, device, dtype)
            self.revision = commit
            self.fingerprint = model_fingerprint(tokenizer, model, self.weights_sha256)


def classes_of(config: Any) -> tuple[str, ...]:
    """The class names of a transformers configuration, in the order of the model.

    Raises:
        ScoringError: a class has no name.
    """
    names = getattr(config, "id2label", None) or {}
    unnamed = [number for number in range(max(1, len(names))) if number not in names]
    if unnamed:
        raise ScoringError(
            f"the model's id2label lacks class {unnamed[0]}",
            hint='name every class: model.config.id2label = {0: "negative", 1: "positive"}',
        )
    return tuple(str(names[number]) for number in range(len(names)))


def check_dtype(dtype: str) -> None:
    """Refuse what is none of `DTYPES`.

    Raises:
        ScoringError: there is no such type of numbers.
    """
    if dtype not in DTYPES:
        raise ScoringError(
            f"--dtype {dtype}: no such",
            hint=f"{did_you_mean(dtype, DTYPES)}pass {' or '.join(DTYPES)}",
        )


def move_model(model: Any, device: str, dtype: str) -> None:
    """Move a model to a device, ready to predict; ``auto`` is bfloat16 on a GPU, else float32.

    Raises:
        ScoringError: there is no such dtype or device, or the model does not fit on it.
    """
    import torch

    check_dtype(dtype)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    with model_errors(
        f"--device {device}: the model cannot be put there",
        "pass --device cpu, or auto, which takes a GPU where there is one, or a smaller model",
    ):
        model.eval().to(getattr(torch, dtype)).to(device)
        if model.device.type == "meta":
            raise ValueError("nothing is computed there")


def load_pretrained(
    name: str, revision: str | None, *, is_causal: bool = False
) -> tuple[Any, Any, str]:
    """Load a tokenizer, a model, and the model's commit (empty for a folder).

    Args:
        name: a Hub id or folder.
        revision: the revision of the Hub id; None for the newest.
        is_causal: load a causal language model, not a sequence classifier.

    Raises:
        ScoringError: the model is of another kind, cannot be loaded, or lacks weights.
    """
    import transformers
    from transformers import AutoTokenizer

    from s2lct.leaderboard.models.embedded import register

    register()  # a retrained embedded model is a folder like any other
    folder = resolve_folder(name, "model")
    with model_errors(
        f"model {name}: cannot be loaded",
        "check the id or folder; without a network, download it where there is one "
        "(`hf download ID --local-dir DIR`) and pass DIR, or try vader, textblob, afinn, "
        + ", ".join(EMBEDDED_MODELS),
    ):
        commit = commit_of(name, revision) if folder is None else ""
        pinned = {"revision": commit or revision} if commit or revision else {}
        config = config_without_kernels(name, **pinned)
    with model_errors(f"model {name}: its tokenizer cannot be loaded", _SAVE_TOKENIZER_HINT):
        tokenizer = from_pretrained(AutoTokenizer, name, **pinned)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # transformers makes an empty tokenizer where the files are missing.
        raise ScoringError(f"model {name}: has no tokenizer files", hint=_SAVE_TOKENIZER_HINT)
    auto_class = "AutoModelForCausalLM" if is_causal else "AutoModelForSequenceClassification"
    with model_errors(
        f"model {name}: its weights cannot be loaded",
        "save them as safetensors: model.save_pretrained(FOLDER)",
    ):
        # A checkpoint that is not safetensors goes through torch's weights_only loader.
        model, info = from_pretrained(
            getattr(transformers, auto_class),
            name,
            config=config,
            weights_only=True,
            output_loading_info=True,
            **pinned,
        )
    with model_errors(f"model {name}: cannot be used"):
        check_weights(name, model, info["missing_keys"], info["unexpected_keys"])
        check_vocabulary(name, tokenizer, model)
    return tokenizer, model, commit


@contextmanager
def model_errors(problem: str, hint: str = _PIPELINE_HINT) -> Iterator[None]:
    """Report any error in the block as a ScoringError: ``problem``, with the cause in brackets."""
    try:
        yield
    except S2lctError:
        raise
    except Exception as error:  # libraries and somebody's files fail in any way
        raise ScoringError(f"{problem} ({error_summary(error)})", hint=hint) from error


def model_fingerprint(tokenizer: Any, model: Any, weights_sha256: str = "") -> str:
    """SHA-256 over everything that decides a model's predictions, independent of file formats.

    It covers the tokenizer with its settings, and the model's class, configuration and weights.
    The weights' `state_sha256` is computed if it is not passed.
    """
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = {path.name: path for path in Path(folder).rglob("*") if path.is_file()}
        rules = json.loads(files.pop("tokenizer.json").read_bytes()) if tokenizer.is_fast else {}
        settings = json.loads(files.pop("tokenizer_config.json").read_bytes())
        other_files = {name: sha256_of(path) for name, path in files.items()}
    # tokenizer.json also holds how the last call cut and padded texts, which decides nothing.
    rules |= {"truncation": None, "padding": None}
    parts = [rules, _effective_settings(settings), other_files, type(model).__name__]
    parts += [_effective_settings(model.config.to_dict()), weights_sha256 or state_sha256(model)]
    return fingerprint_of(parts)


def state_sha256(model: Any) -> str:
    """SHA-256 over names, types, shapes and bytes of a model's weights."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        weights = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _effective_settings(config: Any) -> Any:
    """A configuration, nested ones included, without the `_SETTINGS_WITHOUT_EFFECT`."""
    if not isinstance(config, dict):
        return config
    return {
        str(name): _effective_settings(value)
        for name, value in config.items()
        if name not in _SETTINGS_WITHOUT_EFFECT and not str(name).startswith("_")
    }
