"""Words of a text: what brought each of them, and the text with others in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from s2lct.builder.language.operations import REPLIES
from s2lct.builder.models.masked_lm import TransformersMaskedLM

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{(\w+)((?:\|[\w ]+)*)(?::[^{}→]*→\s*([^{}]*?))?\}")
_NEGATION = re.compile(r"(?:\b(?:do|does|did) )?\bnot\b|\bcannot\b|\b\w+n['’]t\b", re.IGNORECASE)
_QUESTION = re.compile(r"\A(?:do|does|did)\b|\?\Z", re.IGNORECASE)
_MARKS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")

Kind = Literal["template", "source", "inserted"]
"""What brought a word: the template, the corpus sentence, or an insertion."""


class Word(NamedTuple):
    """A whole word or a punctuation mark, with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


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


def kinds_of(
    text: str, template: str, inserted: Sequence[tuple[int, int]] = ()
) -> tuple[Kind, ...]:
    """What brought each of `words_of`'s words of a case.

    The template is as a suite's column ``template`` has it, empty without one; the inserted words
    are named by their places.
    """
    of_template = _template_places(text, template)

    def kind(word: Word) -> Kind:
        if any(start < word.end and word.start < end for start, end in inserted):
            return "inserted"
        brought = any(start <= word.start < end for start, end in of_template)
        return "template" if brought else "source"

    return tuple(map(kind, words_of(text)))


def _template_places(text: str, template: str) -> list[tuple[int, int]]:
    """Where a template's wording stands in a text, and what its operations brought to slots."""
    slots = list(_SLOT.finditer(template))
    if not slots:
        return []
    if slots[0].span() == (0, len(template)) and (rewritten := slots[0].group(3)):
        # The sentence itself, with a phrase rewritten: "This is → This is not".
        start = text.find(rewritten)
        return [(start, start + len(rewritten))] if start >= 0 else []
    edges = [0, *(edge for slot in slots for edge in slot.span()), len(template)]
    wordings = [template[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    found = re.fullmatch(
        "(.*?)".join(f"({re.escape(wording)})" for wording in wordings), text, re.DOTALL
    )
    if found is None:
        return []
    places = [found.span(2 * number + 1) for number in range(len(wordings))]
    for number, slot in enumerate(slots):
        start, end = found.span(2 * number + 2)
        for operation in slot.group(2).split("|")[1:]:
            if operation in REPLIES:
                places.append((start, end))
            elif operation.startswith("negate"):
                places += [match.span() for match in _NEGATION.finditer(text, start, end)]
            elif operation == "question":
                matches = _QUESTION.finditer(text[start:end])
                places += [(start + match.start(), start + match.end()) for match in matches]
    return places


class MaskedLMFiller:
    """Fills hidden words of a text with samples of what a masked language model expects there.

    One forward pass over the text with all its masks gives the distribution at each of them;
    the samples are drawn from these independently of each other. The fingerprint names all that
    they depend on beside the text.
    """

    def __init__(self) -> None:
        """Load the embedded masked language model."""
        import torch

        masked_lm = TransformersMaskedLM.load("embedded")
        self._tokenizer = masked_lm.tokenizer
        self._model = masked_lm.model
        vocabulary = self._tokenizer.get_vocab()
        ids = masked_lm.word_ids | {mark: vocabulary[mark] for mark in _MARKS if mark in vocabulary}
        self._words = tuple(ids)
        self._ids = torch.tensor(list(ids.values()), device=self._model.device)
        self._longest = masked_lm.longest
        self.description = "samples of the masked language model embedded"
        self.fingerprint = masked_lm.fingerprint

    def fill(
        self, text: str, shown: frozenset[int], samples: int, rng: np.random.Generator
    ) -> list[str]:
        """The text so often, each time with other words but for those of the numbers ``shown``."""
        hidden = [number for number in range(len(words_of(text))) if number not in shown]
        rows = self._drawn(text, hidden, rng.random((samples, len(hidden))))
        return [filled(text, hidden, [self._words[word] for word in row]) for row in rows]

    def _drawn(self, text: str, hidden: Sequence[int], points: Any) -> list[list[int]]:
        """The numbers of the words that stand at points of the cumulated probabilities."""
        import torch

        masked = respelled(text, dict.fromkeys(hidden, str(self._tokenizer.mask_token)))
        encoded = self._tokenizer(masked, truncation=True, max_length=self._longest)
        with torch.inference_mode():
            ids = torch.tensor([encoded["input_ids"]], device=self._model.device)
            logits = self._model(input_ids=ids).logits[ids == self._tokenizer.mask_token_id]
            chances = torch.softmax(logits[:, self._ids].double(), dim=-1).cumsum(dim=-1)
        if (missing := len(hidden) - len(chances)) > 0:
            # Masks behind the model's last position: any word.
            flat = torch.linspace(0, 1, len(self._words) + 1, dtype=torch.float64)[1:]
            chances = torch.cat([chances, flat.to(chances.device).repeat(missing, 1)])
        wanted = torch.from_numpy(points.T.copy()).to(chances.device)
        chosen = torch.searchsorted(chances, wanted, right=True).clamp(max=len(self._words) - 1)
        rows: list[list[int]] = chosen.T.tolist()
        return rows


def filled(text: str, hidden: Sequence[int], words: Sequence[str]) -> str:
    """A text with other words in the hidden places, with a capital where the hidden word had one.

    Models that tell capitals apart read the start of a sentence by them.
    """
    changed: dict[int, str | None] = {}
    for number, word in zip(hidden, words, strict=True):
        capital = words_of(text)[number].text[:1].isupper()
        changed[number] = word[:1].upper() + word[1:] if capital else word
    return respelled(text, changed)
