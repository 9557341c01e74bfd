"""Texts whose hidden words are filled with samples, to ask a model about."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from s2lct.analysis.explain.words import respelled, words_of
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.identity import shuffle_key

ROWS_A_PASS = 32
_MARKS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")


@dataclass(frozen=True, slots=True)
class Draw:
    """So many samples to draw of a text, of whose words only those of these numbers are shown.

    Their randomness is tied to the key, beside the text and what is shown.
    """

    text: str
    shown: frozenset[int]
    samples: int
    key: tuple[str, ...]

    @property
    def hidden(self) -> list[int]:
        """The numbers of the hidden words, from left to right."""
        return [number for number in range(len(words_of(self.text))) if number not in self.shown]

    def filled(self, fills: Sequence[str]) -> str:
        """The text with other words in the hidden places, from left to right; see `respelled`."""
        return respelled(self.text, dict(zip(self.hidden, fills, strict=True)))

    def generator(self, seed: int) -> np.random.Generator:
        """The samples' randomness."""
        shown = ",".join(map(str, sorted(self.shown)))
        digest = shuffle_key(seed, self.text, shown, *self.key)
        return np.random.default_rng(int.from_bytes(digest, "big"))

    def texts(self, words: Sequence[str], rows: Sequence[Sequence[int]]) -> list[str]:
        """The text once for each row of numbers of words.

        They get a capital where the hidden word had one, for models that tell them apart.
        """
        capitals = [words_of(self.text)[place].text[:1].isupper() for place in self.hidden]
        return [
            self.filled(
                [
                    words[number][:1].upper() + words[number][1:] if capital else words[number]
                    for number, capital in zip(row, capitals, strict=True)
                ]
            )
            for row in rows
        ]


class Filler(Protocol):
    """Fills hidden words; a fingerprint names all that it depends on."""

    description: str
    fingerprint: str

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        """For each draw its filled texts."""


class MaskedLMFiller:
    """Words as a masked language model expects them.

    One forward pass over the text with all its masks gives the distribution at each of them;
    the samples are drawn from these independently of each other.
    """

    def __init__(self, name: str) -> None:
        """Load a masked language model: ``embedded``, a Hub id or a folder.

        Raises:
            ModelError: there is no such masked language model.
        """
        import torch

        masked_lm = TransformersMaskedLM.load(name)
        self._tokenizer = masked_lm.tokenizer
        # Sampling needs no double precision.
        self._model: Any = masked_lm.model.float()
        vocabulary = self._tokenizer.get_vocab()
        words = masked_lm.word_ids
        words |= {mark: vocabulary[mark] for mark in _MARKS if mark in vocabulary}
        self._words = tuple(words)
        self._ids = torch.tensor(list(words.values()), device=self._model.device)
        self._room = min(
            self._tokenizer.model_max_length, self._model.config.max_position_embeddings - 2
        )
        self.description = f"samples of the masked language model {masked_lm.name}"
        self.fingerprint = masked_lm.fingerprint

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        """For each draw its filled texts."""
        results: list[list[str]] = [[] for _ in draws]
        mask = str(self._tokenizer.mask_token)
        masked = [draw.filled([mask] * len(draw.hidden)) for draw in draws]
        encoded: list[list[int]] = self._tokenizer(masked, truncation=True, max_length=self._room)[
            "input_ids"
        ]
        order = sorted(range(len(draws)), key=lambda number: len(encoded[number]))
        for _, group in itertools.groupby(order, key=lambda number: len(encoded[number])):
            while batch := list(itertools.islice(group, ROWS_A_PASS)):
                chances = self._distributions([encoded[number] for number in batch])
                for number, cumulated in zip(batch, chances, strict=True):
                    results[number] = self._drawn(draws[number], cumulated, seed)
        return results

    def _distributions(self, rows: Sequence[Sequence[int]]) -> list[Any]:
        """For each row the cumulated probabilities at its masks, shape (masks, words)."""
        import torch

        with torch.inference_mode():
            ids = torch.tensor(rows, device=self._model.device)
            at_mask = ids == self._tokenizer.mask_token_id
            head = getattr(self._model, "cls", None) or getattr(self._model, "lm_head", None)
            if isinstance(head, torch.nn.Module):
                logits = head(self._model.base_model(input_ids=ids).last_hidden_state[at_mask])
            else:
                logits = self._model(input_ids=ids).logits[at_mask]
            chances = torch.softmax(logits[:, self._ids].double(), dim=-1).cumsum(dim=-1)
            return list(chances.split(at_mask.sum(dim=1).tolist()))

    def _drawn(self, draw: Draw, cumulated: Any, seed: int) -> list[str]:
        import torch

        places, words = len(draw.hidden), len(self._words)
        points = draw.generator(seed).random((draw.samples, places))
        if len(cumulated) < places:
            # Masks behind the model's last position: any word.
            flat = torch.linspace(0, 1, words + 1, dtype=torch.float64)[1:]
            missing = flat.to(cumulated.device).repeat(places - len(cumulated), 1)
            cumulated = torch.cat([cumulated, missing])
        wanted = torch.from_numpy(points.T.copy()).to(cumulated.device)
        chosen = torch.searchsorted(cumulated, wanted, right=True).clamp(max=words - 1)
        return draw.texts(self._words, chosen.T.tolist())
