"""Filling masks with a masked language model of `transformers`."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED
from s2lct.builder.models.shipped import shipped
from s2lct.errors import ModelError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MASK = "{mask}"
WEIGHTS = Path(__file__).parent / "weights" / "masked_lm.safetensors"
SCORE_DIGITS = 4
_LETTERS = re.compile(r"[A-Za-z]+")


class TransformersMaskedLM:
    """A masked language model with its tokenizer, run on texts of equal length together.

    Texts are grouped by their exact number of word pieces, so nothing is padded; the vocabulary's
    scores are computed at the asked mask alone, and only for whole words of letters.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        name: str,
        batch_size: int = 32,
    ) -> None:
        import torch

        if tokenizer.mask_token is None:
            raise ModelError(
                f"--mlm {name}: its tokenizer has no mask token",
                mend="name a masked language model, such as bert-base-uncased",
            )
        self.name = name
        self.batch_size = batch_size
        self._chosen: dict[frozenset[str], torch.Tensor] = {}
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # The last bits depend on which texts share a forward pass: the same texts are asked in the
        # same batches, whose size is recorded.
        self._model.to(self._device, torch.float32)

    @classmethod
    def load(cls, name: str, *, batch_size: int = 32) -> TransformersMaskedLM:
        """Load the embedded model, a Hub id or a local folder.

        Raises:
            ModelError: it cannot be loaded, is no masked language model, or lacks weights.
        """
        if name == EMBEDDED:
            return cls(*_embedded_model(), name, batch_size)
        from s2lct.builder.models.pretrained import load_masked_lm

        return cls(*load_masked_lm(name), name, batch_size)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights' names and bytes."""
        digest = hashlib.sha256()
        for key, value in sorted(self._model.state_dict().items()):
            digest.update(key.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    @cached_property
    def _whole_words(self) -> tuple[list[str], torch.Tensor]:
        """Whole words of letters in the vocabulary, in a fixed order, and their ids."""
        import torch

        words: dict[str, int] = {}
        marker = self._word_marker
        for piece, number in self._tokenizer.get_vocab().items():
            word = piece.removeprefix(marker) if piece.startswith(marker) else ""
            if _LETTERS.fullmatch(word):
                words[word] = number
        ordered = sorted(words)
        return ordered, torch.tensor([words[word] for word in ordered], device=self._device)

    @cached_property
    def _word_marker(self) -> str:
        """What starts a piece that begins a word: "Ġ" or "▁"; WordPiece marks the others."""
        pieces = self._tokenizer.tokenize("a film")
        return next((mark for mark in ("Ġ", "▁") if pieces[-1].startswith(mark)), "")

    @property
    def words(self) -> Sequence[str]:
        """Whole words of letters in the vocabulary, in a fixed order."""
        return self._whole_words[0]

    @property
    def word_ids(self) -> dict[str, int]:
        """The vocabulary's number of each of `words`."""
        words, ids = self._whole_words
        return dict(zip(words, ids.tolist(), strict=True))

    @property
    def model(self) -> PreTrainedModel:
        """The `transformers` model."""
        return self._model  # type: ignore[no-any-return]

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer."""
        return self._tokenizer

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        import torch

        results: list[tuple[tuple[str, float], ...]] = [()] * len(texts)
        requests: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            requests.setdefault(text, []).append(number)
        distinct = list(requests)
        words, word_ids = self._whole_words
        for batch, ids, positions in self._batches(distinct):
            with torch.inference_mode():
                scores = self._log_probabilities(ids, positions)[:, word_ids]
                # One rounding decides order and output alike, so noise in the last bits of a
                # float cannot reorder words.
                rounded = (scores * 10**SCORE_DIGITS).round().to(torch.int64)
                ranks = rounded * len(words) - torch.arange(len(words), device=self._device)
                for row, distinct_number in enumerate(batch):
                    for number in requests[distinct[distinct_number]]:
                        chosen = among[number] if among is not None else None
                        rank = ranks[row]
                        if chosen is not None:
                            rank = rank[self._places(chosen)]
                        best = rank.topk(min(top, len(rank))).values
                        places = (-best) % len(words)
                        values = (best + places) // len(words)
                        results[number] = tuple(
                            (words[place], value / 10**SCORE_DIGITS)
                            for place, value in zip(places.tolist(), values.tolist(), strict=True)
                        )
        return results

    def _places(self, chosen: frozenset[str]) -> torch.Tensor:
        """Where the chosen words stand among all words."""
        import torch

        if (places := self._chosen.get(chosen)) is None:
            places = torch.tensor(
                [number for number, word in enumerate(self.words) if word in chosen],
                device=self._device,
                dtype=torch.int64,
            )
            self._chosen[chosen] = places
        return places

    def _batches(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
        """Batches of one exact length: (text numbers, input ids, positions of the first mask)."""
        import torch

        if not texts:
            return
        mask_token = str(self._tokenizer.mask_token)
        encoded = self._tokenizer([text.replace(MASK, mask_token) for text in texts])["input_ids"]
        limit = self._longest_input
        lengths = [len(ids) for ids in encoded]
        order = sorted(
            (n for n in range(len(texts)) if lengths[n] <= limit), key=lengths.__getitem__
        )
        for _, group in itertools.groupby(order, key=lengths.__getitem__):
            numbers = list(group)
            for start in range(0, len(numbers), self.batch_size):
                batch = numbers[start : start + self.batch_size]
                ids = torch.tensor([encoded[n] for n in batch], device=self._device)
                is_mask = (ids == self._tokenizer.mask_token_id).to(torch.int64)
                yield batch, ids, is_mask.argmax(dim=1)

    @cached_property
    def _longest_input(self) -> int:
        return int(
            min(self._tokenizer.model_max_length, self._model.config.max_position_embeddings - 2)
        )

    def _log_probabilities(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Log probabilities of the vocabulary at one position a row, shape (rows, vocabulary)."""
        import torch

        rows = torch.arange(len(ids), device=self._device)
        if isinstance(head := getattr(self._model, "cls", None), torch.nn.Module):
            hidden = self._model.base_model(input_ids=ids).last_hidden_state
            logits: Any = head(hidden[rows, positions])
        elif isinstance(head := getattr(self._model, "lm_head", None), torch.nn.Module):
            hidden = self._model.base_model(input_ids=ids).last_hidden_state
            logits = head(hidden[rows, positions])
        else:
            logits = self._model(input_ids=ids).logits[rows, positions]
        return torch.log_softmax(logits, dim=-1)


def _embedded_model() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    from s2lct.builder.models.encoder import encoder_path
    from s2lct.builder.models.pretrained import refuse_unfilled
    from s2lct.builder.models.quantize import apply_delta

    shipped(WEIGHTS)
    folder = encoder_path()
    model = BertForMaskedLM(BertConfig.from_pretrained(folder, trust_remote_code=False))
    state = model.state_dict()
    encoder, head = load_file(folder / "model.safetensors"), load_file(WEIGHTS)
    # The decoder's weights are the embedded words' and its bias the head's.
    lacking = [
        name
        for name in state
        if name.removeprefix("bert.") not in encoder
        and f"{name}.delta" not in head
        and not name.startswith("cls.predictions.decoder.")
    ]
    refuse_unfilled(str(WEIGHTS), lacking)
    with torch.no_grad():
        for name, value in state.items():
            if name.startswith("cls."):
                value.zero_()
        for name, value in encoder.items():
            if (target := state.get(f"bert.{name}")) is not None:
                target.copy_(value)
    apply_delta(state, head)
    return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
