"""Whole words of a text, and texts whose hidden words are filled with samples, to ask a model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from s2lct.builder.language.replies import REPLIES
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.identity import shuffle_key

UNIFORM = "uniform"
ROWS_A_PASS = 32
_MARKS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{(\w+)((?:\|[\w ]+)*)(?::[^{}→]*→\s*([^{}]*?))?\}")
_NEGATION = re.compile(r"(?:\b(?:do|does|did) )?\bnot\b|\bcannot\b|\b\w+n['’]t\b", re.IGNORECASE)
_ASKING = re.compile(r"(?:do|does|did)\b", re.IGNORECASE)

Kind = Literal["template", "source", "inserted"]


class Word(NamedTuple):
    """A whole word or a punctuation mark, with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


class Part(NamedTuple):
    """What a word belongs to: the template, the corpus sentence of a slot, or inserted words.

    The name is the template's wording, such as ``But now I hate it``, the operation that brought
    the word, such as ``negate``, or the slot's name.
    """

    kind: Kind
    name: str


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[Word, ...]:
    """All words and punctuation marks; "isn't", "cat-and-mouse" and "1.5" are one word each."""
    return tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text))


def respelled(text: str, changed: Mapping[int, str | None]) -> str:
    """A text with other words in some places; with None, the space before goes too.

    Two words that no longer have a mark between them are kept apart.
    """
    made, end = "", 0
    for number, word in enumerate(words_of(text)):
        piece = changed.get(number, word.text)
        if piece is not None:
            between = text[end : word.start]
            touching = not between and made[-1:].isalnum() and piece[:1].isalnum()
            made += (" " if touching else between) + piece
        end = word.end
    return made + text[end:]


def parts_of(
    text: str, template: str, inserted: Sequence[tuple[int, int]] = ()
) -> tuple[Part, ...]:
    """The part of each of `words_of`'s words of a case.

    The template is as a suite's column ``template`` has it, empty without one; the inserted words
    are named by their places.
    """
    spans = _spans(text, template)
    parts = []
    for word in words_of(text):
        found = Part("source", "sentence")
        if any(start < word.end and word.start < end for start, end in inserted):
            found = Part("inserted", "")
        else:
            found = next((p for start, end, p in spans if start <= word.start < end), found)
        parts.append(found)
    return tuple(parts)


def _spans(text: str, template: str) -> list[tuple[int, int, Part]]:
    """Where the template's pieces stand in a text, from left to right."""
    slots = list(_SLOT.finditer(template))
    if not slots:
        return []
    if slots[0].span() == (0, len(template)) and (rewritten := slots[0].group(3)):
        # The sentence itself, with a phrase rewritten: "This is → This is not".
        start = text.find(rewritten)
        whole = (start, start + len(rewritten), Part("template", rewritten))
        return [whole] if start >= 0 else []
    edges = [0, *(edge for slot in slots for edge in slot.span()), len(template)]
    literals = [template[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    pattern = "(.*?)".join(f"({re.escape(literal)})" for literal in literals)
    found = re.fullmatch(pattern, text, re.DOTALL)
    if found is None:
        return []
    parts: list[tuple[int, int, Part]] = []
    for number, (literal, slot) in enumerate(zip(literals, [*slots, None], strict=True)):
        named = literal.strip(' \t\n.,;:"“”?!') or "quotes"
        parts.append((*found.span(2 * number + 1), Part("template", named)))
        if slot is not None:
            start, end = found.span(2 * number + 2)
            parts += _of_operations(text, start, end, slot.group(2).split("|")[1:])
            parts.append((start, end, Part("source", slot.group(1))))
    return parts


def _of_operations(
    text: str, start: int, end: int, operations: Sequence[str]
) -> Iterator[tuple[int, int, Part]]:
    """Where words of a slot stand that its operations brought: replies, "not", "does", "?"."""
    for name in operations:
        if name in REPLIES:
            yield start, end, Part("template", name)
        elif name.startswith("negate"):
            for match in _NEGATION.finditer(text, start, end):
                yield *match.span(), Part("template", name)
        elif name == "question":
            if asking := _ASKING.match(text, start, end):
                yield *asking.span(), Part("template", name)
            if text[start:end].endswith("?"):
                yield end - 1, end, Part("template", name)


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


class UniformFiller:
    """Every word of a vocabulary is as likely as any other (the paper's option)."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._words = tuple(vocabulary)
        self.description = f"uniform samples of {len(self._words):,} words"
        self.fingerprint = " ".join((UNIFORM, *self._words))

    def fill(self, draws: Sequence[Draw], seed: int) -> list[list[str]]:
        """For each draw its filled texts."""
        most = len(self._words)
        numbers = [
            draw.generator(seed).integers(most, size=(draw.samples, len(draw.hidden))).tolist()
            for draw in draws
        ]
        return [draw.texts(self._words, rows) for draw, rows in zip(draws, numbers, strict=True)]


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


Filler = UniformFiller | MaskedLMFiller


def load_filler(name: str, masked_lm: str) -> Filler:
    """The filler ``mlm`` or ``uniform``, of whole words of ``embedded``, a Hub id or a folder.

    Raises:
        ModelError: there is no such masked language model.
    """
    loaded = TransformersMaskedLM.load(masked_lm)
    return UniformFiller(loaded.words) if name == UNIFORM else MaskedLMFiller(loaded)
