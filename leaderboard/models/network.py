"""Networks of transformers by Hub id or folder, on a device; sequence classifiers among them.

Nothing that was downloaded is executed: safetensors, or torch's ``weights_only`` loader;
``trust_remote_code`` is off.
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
from s2lct.files import folder_named, sha256_of
from s2lct.hub_calls import commit_of, plain_config, pretrained, reason_of
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import (
    EMBEDDED_MODELS,
    ModelFacts,
    card_licence,
    check_dtype,
    network_facts,
    package_licence,
)
from s2lct.leaderboard.models.model_checks import (
    MOST_TOKENS,
    check_ids,
    check_label_ids,
    check_vocabulary,
    check_weights,
    positions_of,
    warn_of_cut_texts,
)

TOKENS_A_BATCH = 1_024
TOKENS_A_BATCH_ON_GPU = 65_536
_SAVE_TOKENIZER = "save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)"
_ASK_PIPELINE = (
    "check that transformers' own pipeline answers; where memory is short, pass --device cpu or a "
    "smaller model"
)
_NO_PART = {
    *("output_attentions", "output_hidden_states", "return_dict", "use_cache", "architectures"),
    *("dtype", "problem_type", "torch_dtype", "transformers_version", "backend", "is_local"),
    *("local_files_only", "name_or_path", "max_length", "stride", "truncation_strategy"),
}
"""Of configurations: what changes no answer, or stands in the weights."""


class Network:
    """A transformers sequence classifier in memory, as a `Classifier`; what it says is not kept.

    Texts are cut after ``most_tokens``, [CLS] and [SEP] included.
    """

    weights_sha256: str

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        self.name, self.revision, self.fingerprint = name, "", ""
        self.tokenizer, self.model = tokenizer, model
        config = model.config
        self.classes = classes_of(config)
        room = positions_of(name, tokenizer, config) or MOST_TOKENS
        if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            # Their positions start behind the padding index.
            room = min(room, config.max_position_embeddings - 2)
        self.most_tokens = min(room, MOST_TOKENS)

    @property
    def facts(self) -> ModelFacts:
        """Size, and in what it computes."""
        size = f"{self.tokens_a_batch} tokens"
        return network_facts(self.model, batch_size=size, licence=None)

    @property
    def tokens_a_batch(self) -> int:
        """How many tokens it reads at once."""
        return TOKENS_A_BATCH_ON_GPU if self.model.device.type == "cuda" else TOKENS_A_BATCH

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Tokenised texts, longest first; those of a batch are of one length.

        Nothing is padded, so no time goes into padding and nobody's answer depends on it.
        """
        from transformers import BatchEncoding

        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.most_tokens)
        encoded.pop("attention_mask", None)
        check_ids(self.name, self.model, encoded["input_ids"])
        lengths = [len(ids) for ids in encoded["input_ids"]]
        if full := [text for text, n in zip(texts, lengths, strict=True) if n >= self.most_tokens]:
            whole = [len(ids) for ids in self.tokenizer(full)["input_ids"]]
            warn_of_cut_texts(self.name, whole, self.most_tokens, len(texts))
        order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
        # Decoders find a text's end by the padding token, and take one text where there is none.
        alone = self.tokenizer.pad_token_id is None
        for length, group in groupby(order, key=lengths.__getitem__):
            numbers = list(group)
            size = 1 if alone else max(1, self.tokens_a_batch // max(1, length))
            for start in range(0, len(numbers), size):
                batch = numbers[start : start + size]
                chosen = {name: [rows[n] for n in batch] for name, rows in encoded.items()}
                yield batch, BatchEncoding(chosen, tensor_type="pt").to(self.model.device)

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Softmax over the logits, in double precision; a model in training goes on training."""
        import torch

        def answered(given: tuple[list[int], Any]) -> tuple[list[int], Array]:
            numbers, batch = given
            with torch.inference_mode():
                logits = self.model(**batch).logits.double()
                return numbers, torch.softmax(logits, dim=-1).cpu().numpy()

        training = self.model.training
        self.model.eval()
        try:
            on_cpu = self.model.device.type == "cpu"
            with model_errors(f"model {self.name}: does not answer"):
                yield from parallel_map(answered, self.batches(texts), on_cpu=on_cpu)
        finally:
            self.model.train(training)


class SequenceClassifier(Network):
    """A transformers sequence classifier, by Hub id or folder, or an embedded model by name."""

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
                # Decoders read the last token that is none of padding.
                model.config.pad_token_id = tokenizer.pad_token_id
            super().__init__(tokenizer, model, name)
            place(model, device, dtype)
            self.revision = commit
            self.weights_sha256 = state_sha256(model)
            self.fingerprint = model_fingerprint(tokenizer, model, self.weights_sha256)

    @cached_property
    def facts(self) -> ModelFacts:
        """Size, licence, and in what it computes."""
        embedded = self.name in EMBEDDED_MODELS
        licence = package_licence("s2lct") if embedded else card_licence(self.name, self.revision)
        return super().facts._replace(licence=licence)


def classes_of(config: Any) -> tuple[str, ...]:
    """A `transformers` model's names of its classes, in its order, else a ScoringError."""
    named = getattr(config, "id2label", None) or {}
    lacking = [number for number in range(max(1, len(named))) if number not in named]
    if lacking:
        raise ScoringError(
            f"the model's id2label lacks class {lacking[0]}",
            hint='name every class: model.config.id2label = {0: "negative", 1: "positive"}',
        )
    return tuple(str(named[number]) for number in range(len(named)))


def place(model: Any, device: str, dtype: str) -> None:
    """Put a transformers model onto a device, ready to answer; ``auto`` is bfloat16 on a GPU.

    Raises a ScoringError for no such dtype or device, or where the model does not fit on it.
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
    name: str, revision: str | None, *, continues: bool = False
) -> tuple[Any, Any, str]:
    """A tokenizer, a model and its commit (empty for a folder), by Hub id or folder.

    With ``continues`` it must be a causal language model, else a sequence classifier. Raises a
    ScoringError where it is not, cannot be loaded or lacks weights.
    """
    import transformers
    from transformers import AutoTokenizer

    from s2lct.leaderboard.models.embedded import register

    register()  # a retrained embedded model is a folder like any other
    folder = folder_named(name, "model")
    with model_errors(
        f"model {name}: cannot be loaded",
        "check the id or folder; without a network, download it where there is one "
        "(`hf download ID --local-dir DIR`) and pass DIR, or try vader, textblob, afinn, "
        + ", ".join(EMBEDDED_MODELS),
    ):
        commit = commit_of(name, revision) if folder is None else ""
        pinned = {"revision": commit or revision} if commit or revision else {}
        config = plain_config(name, **pinned)
    with model_errors(f"model {name}: its tokenizer cannot be loaded", _SAVE_TOKENIZER):
        tokenizer = pretrained(AutoTokenizer, name, **pinned)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # transformers makes an empty tokenizer where the files are missing.
        raise ScoringError(f"model {name}: has no tokenizer files", hint=_SAVE_TOKENIZER)
    kind = "AutoModelForCausalLM" if continues else "AutoModelForSequenceClassification"
    with model_errors(
        f"model {name}: its weights cannot be loaded",
        "save them as safetensors: model.save_pretrained(FOLDER)",
    ):
        # A checkpoint that is not safetensors goes through torch's weights_only loader.
        model, info = pretrained(
            getattr(transformers, kind),
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
def model_errors(problem: str, hint: str = _ASK_PIPELINE) -> Iterator[None]:
    """Whatever goes wrong is a problem with its cause in brackets."""
    try:
        yield
    except S2lctError:
        raise
    except Exception as error:  # libraries and somebody's files fail in any way
        raise ScoringError(f"{problem} ({reason_of(error)})", hint=hint) from error


def model_fingerprint(tokenizer: Any, model: Any, weights: str = "") -> str:
    """SHA-256 over what decides a model's answers, whatever files it came from.

    The tokenizer with its settings, the model's class and configuration, and its weights, whose
    `state_sha256` may be given.
    """
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = {path.name: path for path in Path(folder).rglob("*") if path.is_file()}
        split = json.loads(files.pop("tokenizer.json").read_bytes()) if tokenizer.is_fast else {}
        settings = json.loads(files.pop("tokenizer_config.json").read_bytes())
        rest = {name: sha256_of(path) for name, path in files.items()}
    # How the last call cut and padded its texts is kept there too, and is no part of it.
    split |= {"truncation": None, "padding": None}
    described = [split, _described(settings), rest, type(model).__name__]
    weights = weights or state_sha256(model)
    return fingerprint_of([*described, _described(model.config.to_dict()), weights])


def state_sha256(model: Any) -> str:
    """SHA-256 over names, types, shapes and bytes of a model's weights."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        raw = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {raw.dtype} {tuple(raw.shape)}".encode())
        digest.update(raw.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _described(config: Any) -> Any:
    """A configuration, and those within it, without what changes no answer."""
    if not isinstance(config, dict):
        return config
    return {
        str(name): _described(value)
        for name, value in config.items()
        if name not in _NO_PART and not str(name).startswith("_")
    }
