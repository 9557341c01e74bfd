"""An encoder classifier that is looked into, bit for bit the same in whatever company a text is.

Coverage compares numbers with bounds that other texts set, so a text has to give the same bits
whatever else is computed beside it. Padding changes the last bits, and so do the shape of a matrix
product and the number of threads that share it. Texts are therefore computed unpadded, together
only with texts of exactly their length; no product has fewer than `LEAST_ROWS` rows (below, matrix
libraries take other kernels: a short text is computed several times over and read once); and each
batch is computed by a single thread, several batches at a time by several. Whether a text's bits
then stay the same in every batch is tried once with random tokens, on the machine and model at
hand. Where they do not (some GPUs), every text is computed alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from s2lct.analysis.coverage.activations import Activations, Floats, Integers
from s2lct.analysis.judge import load_model
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.leaderboard.models.network import Network
from s2lct.leaderboard.models.word_lists import WORD_LISTS
from s2lct.threads import batches_at_once

if TYPE_CHECKING:
    import torch

TOKENS_A_BATCH = 512
"""On a CPU: larger batches are no faster, and take more memory the more texts there are to fill
them."""
TOKENS_A_BATCH_ON_GPU = 8_192
LEAST_ROWS = 32
_PROBE_LENGTHS = (5, 19, 47)
_KINDS = "of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind"

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


@dataclass
class EncoderModel:
    """An encoder with a classification head, ready to be looked into.

    Attributes:
        name: as it was asked for.
        tokenizer: its tokenizer.
        model: a transformers classifier in evaluation mode; takes ``input_ids`` or
            ``inputs_embeds`` with ``attention_mask`` and gives ``logits``.
        classes: names of the classes.
        max_tokens: texts are cut after so many tokens.
        notes: what was changed in order to look into it, to be told to the user.
    """

    name: str
    tokenizer: Any
    model: Any
    classes: tuple[str, ...]
    max_tokens: int
    notes: list[str] = field(default_factory=list)
    _seen: Any = field(default_factory=threading.local, repr=False)

    @classmethod
    def of(cls, tokenizer: Any, model: Any, name: str = "model") -> EncoderModel:
        """A transformers sequence classifier in memory.

        Its attention implementation is switched to ``eager`` where it is another, since others
        return no attention weights.

        Raises:
            AnalysisError: it is no encoder, or returns no attention weights.
        """
        config = model.config
        if getattr(config, "is_encoder_decoder", False):
            raise _no_encoder(name, "it is an encoder with a decoder")
        used = getattr(config, "_attn_implementation", "eager")
        if used != "eager":
            model.set_attn_implementation("eager")
        if not hasattr(model, getattr(model, "base_model_prefix", "") or "no prefix"):
            raise _no_encoder(name, f"{type(model).__name__} has no encoder under its head")
        network = Network(tokenizer, model.eval(), name)
        encoder = cls(name, tokenizer, model, network.classes, network.most_tokens)
        if used != "eager":
            encoder._note(
                f"model {name}: attention implementation {used} returns no weights, "
                "switched to eager"
            )
        encoder._check_is_encoder()
        return encoder

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    @property
    def _on_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def base(self) -> Any:
        """The encoder without its head; its embeddings are ``get_input_embeddings()``."""
        return getattr(self.model, self.model.base_model_prefix)

    @property
    def layers(self) -> int:
        """How many encoder layers it has."""
        return int(self.model.config.num_hidden_layers)

    @property
    def has_pooler(self) -> bool:
        """Whether one vector of the text is made between encoder and classes."""
        return self._pooler is not None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over tokenizer and weights, whatever the tokenizer was last used for."""
        from s2lct.leaderboard.models.fingerprint import model_fingerprint

        # Calling a fast tokenizer leaves truncation and padding in what it is written as.
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:
            truncation, padding = backend.truncation, backend.padding
            backend.no_truncation()
            backend.no_padding()
        try:
            return model_fingerprint(self.tokenizer, self.model)
        finally:
            if backend is not None and truncation is not None:
                backend.enable_truncation(**truncation)
            if backend is not None and padding is not None:
                backend.enable_padding(**padding)

    def token_ids(self, text: str) -> list[int]:
        """A text's tokens, special ones included, cut after `max_tokens`."""
        encoded = self.tokenizer(text, truncation=True, max_length=self.max_tokens)
        return list(encoded["input_ids"])

    def longest(self, texts: Iterable[str]) -> int:
        """Tokens of the longest text, special ones included."""
        return max(len(self.token_ids(text)) for text in texts)

    def activations(
        self, texts: Iterable[str], *, batch_tokens: int | None = None
    ) -> Iterator[Activations]:
        """What the model computes for each text, in batches of texts of one length.

        Every text comes once; texts of one length in the order given, lengths as they fill up.
        What is held at a time does not grow with the number of texts. The most tokens in a
        batch change nothing but speed and memory; None for what suits the device.
        """
        suits = TOKENS_A_BATCH if self._on_cpu else TOKENS_A_BATCH_ON_GPU
        largest = (batch_tokens or suits) if self.batches_are_exact else 0
        with self._recording():
            yield from batches_at_once(
                self._computed, self._grouped(texts, largest), on_cpu=self._on_cpu
            )

    def each(
        self, texts: Iterable[str], advance: Advance = silently
    ) -> Iterator[tuple[int, Activations]]:
        """Number and activations (an axis of length 1) of each text; see `activations`."""
        for batch in self.activations(texts):
            for row, number in enumerate(batch.numbers):
                yield number, batch.one(row)
                advance(1)

    def _grouped(
        self, texts: Iterable[str], batch_tokens: int
    ) -> Iterator[list[tuple[int, list[int]]]]:
        """Numbers and tokens of texts of one length, as many as fit into a batch."""
        waiting: dict[int, list[tuple[int, list[int]]]] = {}
        for number, text in enumerate(texts):
            ids = self.token_ids(text)
            same = waiting.setdefault(len(ids), [])
            same.append((number, ids))
            if (len(same) + 1) * len(ids) > batch_tokens:
                yield waiting.pop(len(ids))
        for _, same in sorted(waiting.items()):
            yield same

    def in_order(
        self, texts: Sequence[str], of: Callable[[Activations], Result], *, window: int = 256
    ) -> Iterator[Result]:
        """What ``of`` makes of each text's activations, in the order of the texts.

        So many texts as ``window`` says are computed, and their results held, at a time.
        """
        for start in range(0, len(texts), window):
            part = texts[start : start + window]
            found = {number: of(one) for number, one in self.each(part)}
            yield from (found[number] for number in sorted(found))

    @cached_property
    def batches_are_exact(self) -> bool:
        """Whether a text's bits are the same in every batch of texts of its length, as tried."""
        rng = np.random.default_rng(0)
        if all(self._exact_at(n, rng) for n in _PROBE_LENGTHS if n <= self.max_tokens):
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
        batches, rows = [np.repeat(ids[:1], alone, axis=0)], [0]
        for count in (alone + 1, alone + 2, most):
            for row in (0, count - 1):
                batch = ids[:count].copy()
                batch[[0, row]] = batch[[row, 0]]
                batches.append(batch)
                rows.append(row)
        with self._recording():
            first, *others = batches_at_once(self._forward, batches, on_cpu=self._on_cpu)
        return all(
            np.array_equal(ours[row], theirs[0])
            for found, row in zip(others, rows[1:], strict=True)
            for ours, theirs in zip(found[1:], first[1:], strict=True)
            if theirs.size
        )

    def _note(self, note: str) -> None:
        self.notes.append(note)
        logger.info(note)

    def _random_ids(self, rng: np.random.Generator, texts: int, tokens: int) -> Integers:
        special = set(self.tokenizer.all_special_ids)
        known = [n for n in range(min(len(self.tokenizer), 5_000)) if n not in special]
        return np.asarray(rng.choice(known, size=(texts, tokens)), dtype=np.int64)

    def _computed(self, same: Sequence[tuple[int, list[int]]]) -> Activations:
        ids = np.array([ids for _, ids in same], dtype=np.int64)
        count, length = ids.shape
        short = -(-LEAST_ROWS // length) if self.batches_are_exact else 1
        filled = ids if count >= short else np.concatenate([ids, ids[:1].repeat(short, axis=0)])
        logits, pooled, *states = self._forward(filled)
        layers = len(states) // 2 + 1
        return Activations(
            numbers=tuple(number for number, _ in same),
            input_ids=ids,
            hidden=tuple(state[:count] for state in states[:layers]),
            attentions=tuple(state[:count] for state in states[layers:]),
            pooled=pooled[:count] if pooled.size else None,
            logits=logits[:count],
        )

    def _forward(self, ids: Integers) -> list[Floats]:
        """Logits, pooled output (empty without pooler), hidden states, attention weights."""
        import torch

        inputs = torch.from_numpy(ids).to(self.device)
        seen: dict[str, Any] = {}
        self._seen.now = seen
        with torch.inference_mode():
            logits = self.model(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits
        self._seen.now = {}
        given = seen["base"]
        pooled = torch.empty(0)
        if "pooler" in seen:
            # A product of as many rows as texts would depend on their number.
            with torch.inference_mode():
                pooled = torch.cat([self._pooler(one[None]) for one in seen["pooler"]])
        return [
            tensor.float().cpu().numpy()
            for tensor in (logits, pooled, *given.hidden_states, *(given.attentions or ()))
        ]

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Hooks that ask the encoder for its states and keep what each thread's pass gave."""

        def ask(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            return args, kwargs | {"output_hidden_states": True, "output_attentions": True}

        def keep(name: str, what: Any) -> None:
            getattr(self._seen, "now", {})[name] = what

        hooks = [
            self.base.register_forward_pre_hook(ask, with_kwargs=True),
            self.base.register_forward_hook(lambda *call: keep("base", call[-1])),
        ]
        if self._pooler is not None:
            hooks.append(
                self._pooler.register_forward_hook(lambda *call: keep("pooler", call[1][0]))
            )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @cached_property
    def _pooler(self) -> Any:
        """The module that makes one vector of a text; its name differs by architecture."""
        for owner, name in (
            (self.base, "pooler"),
            (self.model, "pooler"),
            (self.model, "pre_classifier"),
            (getattr(self.model, "classifier", None), "dense"),
        ):
            if (module := getattr(owner, name, None)) is not None:
                return module
        return None

    def _check_is_encoder(self) -> None:
        ids = self._random_ids(np.random.default_rng(0), 1, min(8, self.max_tokens))
        try:
            with self._recording():
                _, _, *states = self._forward(ids)
        except (TypeError, ValueError) as error:
            raise _no_encoder(self.name, str(error).splitlines()[0]) from error
        weights = [state for state in states if state.ndim == 4]
        if not weights:
            raise AnalysisError(
                f"model {self.name}: returns no attention weights, even with eager attention",
                mend=f"pass an encoder {_KINDS}",
            )
        if all((np.triu(layer[0], 1) == 0).all() for layer in weights):
            raise _no_encoder(self.name, "it is decoder-only: no token looks at a later one")


def _no_encoder(name: str, why: str) -> AnalysisError:
    return AnalysisError(
        f"model {name}: is no encoder ({why})",
        mend=f"pass a sequence classifier {_KINDS}",
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
    return EncoderModel.of(loaded.tokenizer, loaded.model, loaded.name)
