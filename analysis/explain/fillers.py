"""Fill the hidden words of a text with samples, to ask a model about what is left."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from s2lct.analysis.explain.words import Word, respelled
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.identity import shuffle_key

UNIFORM = "uniform"
ROWS_A_PASS = 32
_MARKS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")


@dataclass(frozen=True, slots=True)
class Template:
    """A text some of whose words are hidden.

    Attributes:
        text: the whole text.
        words: its words.
        shown: the numbers of the words that are not hidden.
    """

    text: str
    words: tuple[Word, ...]
    shown: frozenset[int]

    @property
    def hidden(self) -> list[int]:
        """The numbers of the hidden words, from left to right."""
        return [number for number in range(len(self.words)) if number not in self.shown]

    def filled(self, fills: Sequence[str]) -> str:
        """The text with other words in the hidden places, from left to right; see `respelled`."""
        fill = dict(zip(self.hidden, fills, strict=True))
        pieces = [fill.get(number, word.text) for number, word in enumerate(self.words)]
        return respelled(self.text, self.words, pieces)


@dataclass(frozen=True, slots=True)
class Draw:
    """How many samples of a template, and what their randomness is tied to."""

    template: Template
    samples: int
    key: tuple[str, ...]


class Filler(Protocol):
    """Where the samples come from."""

    @property
    def description(self) -> str:
        """In words, for reports."""

    @property
    def fingerprint(self) -> str:
        """What decides the samples; empty if that is unknown."""

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        """For each draw its filled texts."""


def _generator(draw: Draw, seed: int) -> np.random.Generator:
    shown = ",".join(map(str, sorted(draw.template.shown)))
    digest = shuffle_key(seed, draw.template.text, shown, *draw.key)
    return np.random.default_rng(int.from_bytes(digest, "big"))


def _filled(draw: Draw, rows: Iterable[Sequence[str]]) -> list[str]:
    """The text once for each row of fills.

    They get a capital where the hidden word had one, for models that tell them apart.
    """
    template = draw.template
    capitals = [template.words[place].text[:1].isupper() for place in template.hidden]
    return [
        template.filled(
            [
                fill[:1].upper() + fill[1:] if capital else fill
                for fill, capital in zip(fills, capitals, strict=True)
            ]
        )
        for fills in rows
    ]


class UniformFiller:
    """Every word of a vocabulary is as likely as any other (the paper's option)."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._vocabulary = tuple(vocabulary)
        self.description = f"uniform samples of {len(self._vocabulary):,} words"
        self.fingerprint = " ".join((UNIFORM, *self._vocabulary))

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        """See `Filler`."""
        results: list[list[str]] = []
        for draw in draws:
            drawn = _generator(draw, seed).integers(
                len(self._vocabulary), size=(draw.samples, len(draw.template.hidden))
            )
            fills = ([self._vocabulary[number] for number in row] for row in drawn.tolist())
            results.append(_filled(draw, fills))
        return results


class MaskedLMFiller:
    """Words as a masked language model expects them.

    One forward pass over the text with all its masks gives the distribution at each of them;
    the samples are drawn from these independently of each other.
    """

    def __init__(self, masked_lm: TransformersMaskedLM) -> None:
        import torch

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
        """See `Filler`."""
        results: list[list[str]] = [[] for _ in draws]
        mask = str(self._tokenizer.mask_token)
        masked = [draw.template.filled([mask] * len(draw.template.hidden)) for draw in draws]
        encoded: list[list[int]] = self._tokenizer(masked, truncation=True, max_length=self._room)[
            "input_ids"
        ]
        order = sorted(range(len(draws)), key=lambda number: len(encoded[number]))
        for _, group in itertools.groupby(order, key=lambda number: len(encoded[number])):
            numbers = list(group)
            for start in range(0, len(numbers), ROWS_A_PASS):
                batch = numbers[start : start + ROWS_A_PASS]
                for number, cumulated in zip(
                    batch, self._distributions([encoded[n] for n in batch]), strict=True
                ):
                    results[number] = self._drawn(draws[number], cumulated, seed)
        return results

    def _distributions(self, rows: Sequence[Sequence[int]]) -> list[Any]:
        """For each row the cumulated probabilities at its masks, shape (masks, words)."""
        import torch

        with torch.inference_mode():
            ids = torch.tensor(rows, device=self._model.device)
            at_mask = ids == self._tokenizer.mask_token_id
            hidden = self._model.base_model(input_ids=ids).last_hidden_state[at_mask]
            head = getattr(self._model, "cls", None) or getattr(self._model, "lm_head", None)
            if isinstance(head, torch.nn.Module):
                logits = head(hidden)
            else:
                logits = self._model(input_ids=ids).logits[at_mask]
            chances = torch.softmax(logits[:, self._ids].double(), dim=-1).cumsum(dim=-1)
            return list(chances.split(at_mask.sum(dim=1).tolist()))

    def _drawn(self, draw: Draw, cumulated: Any, seed: int) -> list[str]:
        import torch

        places = draw.template.hidden
        points = _generator(draw, seed).random((draw.samples, len(places)))
        if len(cumulated) < len(places):
            # Masks behind the model's last position: any word.
            flat = torch.linspace(0, 1, len(self._words) + 1, dtype=torch.float64)[1:]
            missing = flat.to(cumulated.device).repeat(len(places) - len(cumulated), 1)
            cumulated = torch.cat([cumulated, missing])
        wanted = torch.from_numpy(points.T.copy()).to(cumulated.device)
        chosen = torch.searchsorted(cumulated, wanted, right=True).clamp(max=len(self._words) - 1)
        return _filled(draw, ([self._words[number] for number in row] for row in chosen.T.tolist()))


def load_filler(name: str, masked_lm: str) -> Filler:
    """The filler ``mlm`` or ``uniform``, of whole words of ``embedded``, a Hub id or a folder.

    Raises:
        ModelError: there is no such masked language model.
    """
    loaded = TransformersMaskedLM.load(masked_lm)
    if name == UNIFORM:
        return UniformFiller(loaded.words)
    return MaskedLMFiller(loaded)
