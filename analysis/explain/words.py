"""Split a text into words, find the origin of each word, and replace words."""

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
_PUNCTUATION_FILLINGS = (".", ",", "'", '"', "!", "?", "-", ";", ":", "(", ")")

Origin = Literal["template", "source", "inserted"]
"""Where a word comes from: the template, the corpus sentence, or an insertion."""


class Word(NamedTuple):
    """A word or punctuation mark with its character offsets in the text; ``end`` is exclusive."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[Word, ...]:
    """All words and punctuation marks; "isn't", "cat-and-mouse" and "1.5" are one word each."""
    return tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text))


def replace_words(text: str, replacements: Mapping[int, str | None]) -> str:
    """Replace words of a text, given by index in `words_of`; None removes a word.

    With a word, the space before it is removed. Words that would touch get a space between them.
    """
    result, copied_end = "", 0
    for index, word in enumerate(words_of(text)):
        replacement = replacements.get(index, word.text)
        if replacement is not None:
            gap = text[copied_end : word.start]
            would_touch = not gap and result[-1:].isalnum() and replacement[:1].isalnum()
            result += (" " if would_touch else gap) + replacement
        copied_end = word.end
    return result + text[copied_end:]


def origins_of(case: Case) -> tuple[Origin, ...]:
    """The origin of each word of a case's text.

    A word has the origin ``source`` if the corpus sentence has a word of the same stem at the
    matching point of the word order. So a word that the template's operations replaced, such as
    "is" by "was", has the origin ``template``.
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
        # From the end, so that of equal words before the sentence and in it the latter is matched.
        open_indices = [n for n in reversed(range(len(words))) if origins[n] == "template"]
        stems = [stem(word.text) for word in reversed(words_of(source.rstrip(".!?")))]
        matcher = SequenceMatcher(
            None, stems, [stem(words[n].text) for n in open_indices], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for index in open_indices[block.b : block.b + block.size]:
                origins[index] = "source"
    return tuple(origins)


class MaskedLMFiller:
    """Fills hidden words of a text with samples from a masked language model.

    One forward pass over the text with all hidden words masked gives a distribution for each mask.
    Each hidden word of each sample is drawn from its distribution independently.
    """

    def __init__(self) -> None:
        """Load the embedded masked language model."""
        import torch

        masked_lm = TransformersMaskedLM.load("embedded")
        self._tokenizer = masked_lm.tokenizer
        self._model = masked_lm.model
        vocabulary = self._tokenizer.get_vocab()
        punctuation = {
            mark: vocabulary[mark] for mark in _PUNCTUATION_FILLINGS if mark in vocabulary
        }
        id_of_filling = masked_lm.word_ids | punctuation
        self._fillings = tuple(id_of_filling)
        self._filling_ids = torch.tensor(list(id_of_filling.values()), device=self._model.device)
        self._max_tokens = masked_lm.max_pieces
        self.description = "samples of the masked language model embedded"
        self.fingerprint = masked_lm.fingerprint

    def fill(
        self, text: str, shown: frozenset[int], n_samples: int, rng: np.random.Generator
    ) -> list[str]:
        """Sample ``n_samples`` texts; all words but those at the shown indices are filled."""
        hidden = tuple(index for index in range(len(words_of(text))) if index not in shown)
        rows = self._sample(text, hidden, rng.random((n_samples, len(hidden))))
        return [with_fillings(text, hidden, [self._fillings[n] for n in row]) for row in rows]

    def _sample(self, text: str, hidden: tuple[int, ...], quantiles: Any) -> list[list[int]]:
        """Sample filling indices, shape (samples, hidden words), by quantiles of that shape."""
        import torch

        cumulative = self._cumulative_probabilities(text, hidden)
        quantiles_by_word = torch.from_numpy(quantiles.T.copy()).to(cumulative.device)
        indices = torch.searchsorted(cumulative, quantiles_by_word, right=True)
        rows: list[list[int]] = indices.clamp(max=len(self._fillings) - 1).T.tolist()
        return rows

    @lru_cache(maxsize=1)  # noqa: B019 (one entry: samples of a set are drawn in stages)
    def _cumulative_probabilities(self, text: str, hidden: tuple[int, ...]) -> Any:
        """Cumulative probabilities of the fillings, shape (hidden words, fillings)."""
        import torch

        masked = replace_words(text, dict.fromkeys(hidden, str(self._tokenizer.mask_token)))
        encoded = self._tokenizer(masked, truncation=True, max_length=self._max_tokens)
        with torch.inference_mode():
            ids = torch.tensor([encoded["input_ids"]], device=self._model.device)
            logits = self._model(input_ids=ids).logits[ids == self._tokenizer.mask_token_id]
            probabilities = torch.softmax(logits[:, self._filling_ids].double(), dim=-1)
            cumulative = probabilities.cumsum(dim=-1)
        # Beyond the model's longest input all fillings are equally likely.
        if (n_truncated := len(hidden) - len(cumulative)) > 0:
            uniform = torch.linspace(0, 1, len(self._fillings) + 1, dtype=torch.float64)[1:]
            cumulative = torch.cat(
                [cumulative, uniform.to(cumulative.device).repeat(n_truncated, 1)]
            )
        return cumulative


def with_fillings(text: str, hidden: Sequence[int], fillings: Sequence[str]) -> str:
    """A text with the words at hidden indices filled; a filling is capitalised as its word was."""
    replacements: dict[int, str | None] = {}
    for index, filling in zip(hidden, fillings, strict=True):
        is_capitalized = words_of(text)[index].text[:1].isupper()
        replacements[index] = filling[:1].upper() + filling[1:] if is_capitalized else filling
    return replace_words(text, replacements)
