"""The words of a text: where each comes from, and the text with other words in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.suite.cases import Case

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_FILLING_MARKS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")

Origin = Literal["template", "source", "inserted"]
"""Where a word comes from: the template, the corpus sentence, or an insertion."""


class Word(NamedTuple):
    """A word or punctuation mark with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[Word, ...]:
    """All words and punctuation marks; "isn't", "cat-and-mouse" and "1.5" are one word each."""
    return tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text))


def replaced(text: str, replacements: Mapping[int, str | None]) -> str:
    """A text with the words of some numbers replaced; None removes one and the space before it.

    Words that no longer have a mark between them are kept apart.
    """
    result, end = "", 0
    for number, word in enumerate(words_of(text)):
        piece = replacements.get(number, word.text)
        if piece is not None:
            between = text[end : word.start]
            touching = not between and result[-1:].isalnum() and piece[:1].isalnum()
            result += (" " if touching else between) + piece
        end = word.end
    return result + text[end:]


def origins_of(case: Case) -> tuple[Origin, ...]:
    """Where each word of a case comes from.

    A word is the source's if it stands there, in whatever inflection, at its place in the order of
    words; what the template's operations changed ("is" into "was") is the template's.
    """
    from nltk.stem import PorterStemmer

    stem = PorterStemmer().stem
    words = words_of(case.text)
    is_inserted = [
        any(start < word.end and word.start < end for start, end in case.places) for word in words
    ]
    origins: list[Origin] = [
        "inserted" if inserted else "template" if case.template else "source"
        for inserted in is_inserted
    ]
    for source in case.source_texts if case.template else ():
        # From the end: of equal words before the sentence and in it, the latter is matched.
        open_places = [n for n in reversed(range(len(words))) if origins[n] == "template"]
        stems = [stem(word.text) for word in reversed(words_of(source.rstrip(".!?")))]
        matcher = SequenceMatcher(
            None, stems, [stem(words[n].text) for n in open_places], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for place in open_places[block.b : block.b + block.size]:
                origins[place] = "source"
    return tuple(origins)


class MaskedLMFiller:
    """Fills hidden words of a text with samples from a masked language model.

    One forward pass over the text with all its masks gives the distribution at each of them; the
    samples are drawn independently of each other.
    """

    def __init__(self) -> None:
        """Load the embedded masked language model."""
        import torch

        masked_lm = TransformersMaskedLM.load("embedded")
        self._tokenizer = masked_lm.tokenizer
        self._model = masked_lm.model
        vocabulary = self._tokenizer.get_vocab()
        marks = {mark: vocabulary[mark] for mark in _FILLING_MARKS if mark in vocabulary}
        ids = masked_lm.word_ids | marks
        self._words = tuple(ids)
        self._ids = torch.tensor(list(ids.values()), device=self._model.device)
        self._max_tokens = masked_lm.longest
        self.description = "samples of the masked language model embedded"
        self.fingerprint = masked_lm.fingerprint

    def fill(
        self, text: str, shown: frozenset[int], samples: int, rng: np.random.Generator
    ) -> list[str]:
        """So many samples of the text, with all words replaced but those of the numbers shown."""
        hidden = tuple(number for number in range(len(words_of(text))) if number not in shown)
        rows = self._sample(text, hidden, rng.random((samples, len(hidden))))
        return [with_fillings(text, hidden, [self._words[word] for word in row]) for row in rows]

    def _sample(self, text: str, hidden: tuple[int, ...], quantiles: Any) -> list[list[int]]:
        """Numbers of the words at quantiles, shape (samples, hidden), of the distributions."""
        import torch

        cumulated = self._cumulated(text, hidden)
        wanted = torch.from_numpy(quantiles.T.copy()).to(cumulated.device)
        numbers = torch.searchsorted(cumulated, wanted, right=True)
        rows: list[list[int]] = numbers.clamp(max=len(self._words) - 1).T.tolist()
        return rows

    @lru_cache(maxsize=1)  # noqa: B019 (one entry: samples of a set are drawn in stages)
    def _cumulated(self, text: str, hidden: tuple[int, ...]) -> Any:
        """Cumulated probabilities of the words at hidden places, shape (hidden, words)."""
        import torch

        masked = replaced(text, dict.fromkeys(hidden, str(self._tokenizer.mask_token)))
        encoded = self._tokenizer(masked, truncation=True, max_length=self._max_tokens)
        with torch.inference_mode():
            ids = torch.tensor([encoded["input_ids"]], device=self._model.device)
            logits = self._model(input_ids=ids).logits[ids == self._tokenizer.mask_token_id]
            cumulated = torch.softmax(logits[:, self._ids].double(), dim=-1).cumsum(dim=-1)
        if (truncated := len(hidden) - len(cumulated)) > 0:  # there any word is as likely
            flat = torch.linspace(0, 1, len(self._words) + 1, dtype=torch.float64)[1:]
            cumulated = torch.cat([cumulated, flat.to(cumulated.device).repeat(truncated, 1)])
        return cumulated


def with_fillings(text: str, hidden: Sequence[int], fillings: Sequence[str]) -> str:
    """A text with fillings for its hidden words, capitalised where the hidden word was."""
    replacements: dict[int, str | None] = {}
    for number, filling in zip(hidden, fillings, strict=True):
        is_capital = words_of(text)[number].text[:1].isupper()
        replacements[number] = filling[:1].upper() + filling[1:] if is_capital else filling
    return replaced(text, replacements)
