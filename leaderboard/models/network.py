"""Sequence classifiers of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.fingerprint import model_fingerprint, state_sha256, weights_sha256
from s2lct.leaderboard.models.first_token import first_token_only
from s2lct.leaderboard.models.pretrained import load_pretrained, place
from s2lct.threads import batches_at_once

TOKENS_A_BATCH = 1_024
TOKENS_A_BATCH_ON_GPU = 65_536
MOST_TOKENS = 512


class Network:
    """A transformers sequence classifier in memory, as a `Classifier`; what it says is not kept.

    Texts are cut after ``most_tokens``, [CLS] and [SEP] included.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        self.name, self.revision, self.fingerprint = name, "", ""
        self.tokenizer, self.model = tokenizer, model
        config = model.config
        self.classes = classes_of(config)
        room = getattr(config, "max_position_embeddings", MOST_TOKENS) or MOST_TOKENS
        if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            room -= 2  # their positions start behind the padding index
        self.most_tokens = int(min(tokenizer.model_max_length, room, MOST_TOKENS))

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
        lengths = [len(ids) for ids in encoded["input_ids"]]
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
            with first_token_only(self.model):
                yield from batches_at_once(
                    answered, self.batches(texts), on_cpu=self.model.device.type == "cpu"
                )
        finally:
            self.model.train(training)


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


class SequenceClassifier(Network):
    """A transformers sequence classifier, by Hub id or folder."""

    def __init__(
        self, name: str, *, revision: str | None = None, device: str = "auto", dtype: str = "auto"
    ) -> None:
        tokenizer, model, commit = load_pretrained(name, revision)
        if tokenizer.pad_token_id is None and model.config.pad_token_id is not None:
            tokenizer.pad_token = tokenizer.convert_ids_to_tokens(model.config.pad_token_id)
        elif model.config.pad_token_id is None:
            # Decoders read the last token that is none of padding.
            model.config.pad_token_id = tokenizer.pad_token_id
        super().__init__(tokenizer, model, name)
        place(model, device, dtype)
        self.revision = commit
        self.fingerprint = model_fingerprint(tokenizer, model)
        self.weights_sha256 = weights_sha256(name, commit) or state_sha256(model)
