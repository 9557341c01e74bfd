"""An encoder classifier that is looked into, bit for bit the same in whatever company a text is.

Coverage compares numbers with bounds that other texts set. Padding changes the last bits, and so do
the shape of a matrix product and the number of threads that share it. So texts are computed
unpadded, together only with texts of their length; no product has fewer than `LEAST_ROWS` rows
(below, matrix libraries take other kernels: a short text is computed several times over and read
once); and each batch is computed by a single thread. Whether bits then stay the same in every batch
is tried once with random tokens. Where they do not (some GPUs), every text is computed alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.judge import load_model
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.leaderboard.models.built_in import WORD_LISTS
from s2lct.leaderboard.models.network import Network, model_fingerprint
from s2lct.threads import batches_at_once

TOKENS_A_BATCH = 512  # on a CPU larger batches are no faster
TOKENS_A_BATCH_ON_GPU = 8_192
LEAST_ROWS = 32
_PROBE_LENGTHS = (5, 19, 47)
_KINDS = "of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind"

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Result = TypeVar("Result")
Text = str | tuple[str, str]
"""What a model is given: a text, or a pair of them, as for paraphrase and inference."""
_Batch = tuple[Sequence[tuple[int, list[int]]], bool]
"""Numbers and tokens of texts, and whether they are pairs."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Activations:
    """What a model computes for one text.

    Attributes:
        number: of the text among those handed in.
        input_ids: shape (tokens,), special tokens included.
        hidden: of the embeddings and then of each layer, shape (tokens, dim).
        attentions: of each layer, shape (heads, tokens, tokens): how much the token of the last
            but one axis looks at that of the last.
        pooled: what the pooler gives, shape (dim,); None for a model without one.
        logits: shape (classes,); their last bits may depend on the batch.
    """

    number: int
    input_ids: Integers
    hidden: tuple[Floats, ...]
    attentions: tuple[Floats, ...]
    pooled: Floats | None
    logits: Floats


class EncoderModel(Network):
    """A transformers encoder with a classification head, ready to be looked into.

    Its attention implementation is switched to ``eager``: others return no attention weights.

    Attributes:
        notes: what was changed in order to look into it, to be told to the user.

    Raises:
        AnalysisError: it is no encoder, or returns no attention weights.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        self.notes: list[str] = []
        if getattr(model.config, "is_encoder_decoder", False):
            raise _no_encoder(name, "it is an encoder with a decoder")
        used = getattr(model.config, "_attn_implementation", "eager")
        if used != "eager":
            model.set_attn_implementation("eager")
            self._note(
                f"model {name}: attention implementation {used} returns no weights, "
                "switched to eager"
            )
        if not hasattr(model, getattr(model, "base_model_prefix", "") or "no prefix"):
            raise _no_encoder(name, f"{type(model).__name__} has no encoder under its head")
        super().__init__(tokenizer, model.eval(), name)
        self._seen = threading.local()
        self._check_is_encoder()
        self.fingerprint = model_fingerprint(tokenizer, model)

    @property
    def device(self) -> Any:
        """Where the model is."""
        return self.model.device

    @property
    def base(self) -> Any:
        """The encoder without its head."""
        return getattr(self.model, self.model.base_model_prefix)

    @property
    def layers(self) -> int:
        """How many encoder layers it has."""
        return int(self.model.config.num_hidden_layers)

    @cached_property
    def pooler(self) -> Any:
        """The module that makes one vector of a text, by many names; or None."""
        for owner, name in (
            (self.base, "pooler"),
            (self.model, "pooler"),
            (self.model, "pre_classifier"),
            (getattr(self.model, "classifier", None), "dense"),
        ):
            if (module := getattr(owner, name, None)) is not None:
                return module
        return None

    def token_ids(self, text: Text) -> list[int]:
        """A text's tokens, special ones included, cut after `most_tokens`.

        Of a pair, the longer text is cut.
        """
        given = (text,) if isinstance(text, str) else text
        return list(
            self.tokenizer(*given, truncation=True, max_length=self.most_tokens)["input_ids"]
        )

    def pair_types(self, ids: Any) -> dict[str, Any]:
        """Which text of a pair each token is of, as the model's argument; none where it has none.

        Token ids and types are tensors of shape (pairs, tokens).
        """
        if "token_type_ids" not in self.tokenizer.model_input_names:
            return {}
        ends = (ids == self.tokenizer.sep_token_id).long()
        second = (ends.cumsum(dim=1) - ends > 0) & (ids != self.tokenizer.pad_token_id)
        return {"token_type_ids": second.long()}

    def activations(
        self,
        texts: Iterable[Text],
        advance: Advance = silently,
        *,
        batch_tokens: int | None = None,
    ) -> Iterator[Activations]:
        """What the model computes for each text, those of one length as they fill a batch.

        What is held at a time does not grow with the number of texts. The most tokens in a
        batch change nothing but speed and memory; None for what suits the device.
        """
        on_cpu = self.device.type == "cpu"
        suits = TOKENS_A_BATCH if on_cpu else TOKENS_A_BATCH_ON_GPU
        grouped = self._grouped(texts, (batch_tokens or suits) if self.batches_are_exact else 0)
        with self._recording():
            for batch in batches_at_once(self._computed, grouped, on_cpu=on_cpu):
                for one in batch:
                    yield one
                    advance(1)

    def in_order(
        self, texts: Sequence[Text], of: Callable[[Activations], Result], *, window: int = 256
    ) -> Iterator[Result]:
        """What ``of`` makes of each text's activations, in the order of the texts.

        So many texts as ``window`` says are computed, and their results held, at a time.
        """
        for start in range(0, len(texts), window):
            found = {one.number: of(one) for one in self.activations(texts[start : start + window])}
            yield from (found[number] for number in sorted(found))

    def _grouped(self, texts: Iterable[Text], most: int) -> Iterator[_Batch]:
        """Numbers and tokens of texts, or of pairs, of one length, as many as fit into a batch."""
        waiting: dict[tuple[int, bool], list[tuple[int, list[int]]]] = {}
        for number, text in enumerate(texts):
            ids = self.token_ids(text)
            kind = len(ids), not isinstance(text, str)
            same = waiting.setdefault(kind, [])
            same.append((number, ids))
            if (len(same) + 1) * len(ids) > most:
                yield waiting.pop(kind), kind[1]
        for (_, pairs), same in sorted(waiting.items()):
            yield same, pairs

    def _computed(self, batch: _Batch) -> list[Activations]:
        same, pairs = batch
        ids = filled = np.array([ids for _, ids in same], dtype=np.int64)
        least = -(-LEAST_ROWS // ids.shape[1])
        if self.batches_are_exact and len(ids) < least:
            filled = np.concatenate([ids, ids[:1].repeat(least, axis=0)])
        logits, pooled, *states = self._forward(filled, pairs=pairs)
        layers = len(states) // 2 + 1
        return [
            Activations(
                number,
                ids[row],
                tuple(state[row] for state in states[:layers]),
                tuple(state[row] for state in states[layers:]),
                pooled[row] if pooled.size else None,
                logits[row],
            )
            for row, (number, _) in enumerate(same)
        ]

    def _forward(self, ids: Integers, *, pairs: bool = False) -> list[Floats]:
        """Logits, pooled output (empty without pooler), hidden states, attention weights."""
        import torch

        inputs = torch.from_numpy(ids).to(self.device)
        pooled = torch.empty(0)
        with torch.inference_mode():
            types = self.pair_types(inputs) if pairs else {}
            logits = self.model(
                input_ids=inputs, attention_mask=torch.ones_like(inputs), **types
            ).logits
            given = self._seen.given
            if self.pooler is not None:
                # A product of as many rows as texts would depend on their number.
                pooled = torch.cat([self.pooler(one[None]) for one in self._seen.into_pooler])
        return [
            tensor.float().cpu().numpy()
            for tensor in (logits, pooled, *given.hidden_states, *(given.attentions or ()))
        ]

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Ask the encoder for its states, and keep what each thread's pass gave."""

        def ask(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            return args, kwargs | {"output_hidden_states": True, "output_attentions": True}

        def keep(module: Any, args: Any, given: Any) -> None:
            self._seen.given = given

        def keep_pooled(module: Any, args: Any) -> None:
            self._seen.into_pooler = args[0]

        hooks = [
            self.base.register_forward_pre_hook(ask, with_kwargs=True),
            self.base.register_forward_hook(keep),
        ]
        if self.pooler is not None:
            hooks.append(self.pooler.register_forward_pre_hook(keep_pooled))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @cached_property
    def batches_are_exact(self) -> bool:
        """Whether a text's bits are the same in every batch of texts of its length, as tried."""
        rng = np.random.default_rng(0)
        if all(self._exact_at(n, rng) for n in _PROBE_LENGTHS if n <= self.most_tokens):
            return True
        self._note(
            f"model {self.name}: bits depend on the batch here, so every text is "
            "computed alone, which is slower"
        )
        return False

    def _exact_at(self, length: int, rng: np.random.Generator) -> bool:
        """Whether a text's bits stay the same among others, first and last of small batches."""
        alone = -(-LEAST_ROWS // length)
        most = max(alone + 3, TOKENS_A_BATCH // length)
        ids = self._random_ids(rng, most, length)
        tried = [(n, row) for n in (alone + 1, alone + 2, most) for row in (0, n - 1)]
        batches = [ids[:1].repeat(alone, axis=0)]
        batches += [np.roll(ids[:count], row, axis=0) for count, row in tried]
        with self._recording():
            first, *found = batches_at_once(
                self._forward, batches, on_cpu=self.device.type == "cpu"
            )
        return all(
            np.array_equal(ours[row], theirs[0])
            for states, (_, row) in zip(found, tried, strict=True)
            for ours, theirs in zip(states[1:], first[1:], strict=True)
            if theirs.size
        )

    def _random_ids(self, rng: np.random.Generator, texts: int, tokens: int) -> Integers:
        special = set(self.tokenizer.all_special_ids)
        known = [n for n in range(min(len(self.tokenizer), 5_000)) if n not in special]
        return np.asarray(rng.choice(known, size=(texts, tokens)), dtype=np.int64)

    def _note(self, note: str) -> None:
        self.notes.append(note)
        logger.info(note)

    def _check_is_encoder(self) -> None:
        ids = self._random_ids(np.random.default_rng(0), 1, min(8, self.most_tokens))
        try:
            with self._recording():
                _, _, *states = self._forward(ids)
        except (TypeError, ValueError) as error:
            raise _no_encoder(self.name, str(error).splitlines()[0]) from error
        weights = [state for state in states if state.ndim == 4]
        if not weights:
            raise AnalysisError(
                f"model {self.name}: returns no attention weights, even with eager attention",
                hint=f"pass an encoder {_KINDS}",
            )
        if all((np.triu(layer[0], 1) == 0).all() for layer in weights):
            raise _no_encoder(self.name, "it is decoder-only: no token looks at a later one")


def _no_encoder(name: str, why: str) -> AnalysisError:
    return AnalysisError(
        f"model {name}: is no encoder ({why})", hint=f"pass a sequence classifier {_KINDS}"
    )


def load_encoder(name: str, *, device: str = "auto") -> EncoderModel:
    """An encoder classifier by name, in single precision; see `judge.load_model`.

    Raises:
        AnalysisError: the model is no encoder.
        ScoringError: there is no such model, or it has no classification head.
    """
    if name in WORD_LISTS:
        raise _no_encoder(name, "it is a list of words and has no neurons")
    loaded = load_model(name, device=device)
    assert isinstance(loaded, Network)
    return EncoderModel(loaded.tokenizer, loaded.model, loaded.name)
