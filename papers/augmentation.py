"""Small changes of texts as training data, drawn at random or guided by coverage.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), experiments 2 and 4, and Algorithm 1, after DeepTest's (Tian et al. 2018).

The transformations leave a text's sentiment alone and have TextAttack's names (Morris et al. 2020).
They are the ten of the paper's sixteen that are rules; the other six swap words by WordNet, word
vectors, a masked language model or a recogniser of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any

import numpy as np
import yaml

from s2lct.analysis.coverage.criteria import Criterion
from s2lct.analysis.coverage.encoder import EncoderModel, Floats, load_encoder
from s2lct.analysis.coverage.measure import cover_texts
from s2lct.builder.language.lexicon import is_polarity_shifter
from s2lct.builder.records import Sentence
from s2lct.identity import rng_for
from s2lct.progress import bar

Transformation = Callable[[str, Random], "str | None"]
"""Returns the changed text, or None if there is nothing to change."""
Similarity = Callable[[str, str], float]
Span = tuple[int, int]
MIN_SIMILARITY = 0.8
"""Cosine of a changed text and its original; the paper names no bound."""
MAX_FAILURES = 5
"""Failures that end an original's turn; the paper names no number."""
_TABLES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("augmentation.yaml").read_text(encoding="utf-8")
)
CONTRACTIONS, NUMBER_WORDS = _TABLES["contractions"], _TABLES["number_words"]
HOMOGLYPHS, QWERTY_NEIGHBOURS = _TABLES["homoglyphs"], _TABLES["qwerty_neighbours"]
_LONG_OF = {short: long for long, short in CONTRACTIONS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_HOMOGLYPH = re.compile(f"[{''.join(HOMOGLYPHS)}]")
_NUMBER = re.compile(rf"(?<![\w.,])\d+(?![\w]|[.,]\d)|\b(?:{'|'.join(NUMBER_WORDS)})\b", re.I)
_LONG_FORM = re.compile(rf"\b(?:{'|'.join(CONTRACTIONS)})\b".replace(" ", " +"), re.I)
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_LONG_OF)})\b".replace("'", "['\u2019]"), re.I)


def _changing(
    spans_of: Callable[[str], Sequence[Span]], changed: Callable[[str, Random], str]
) -> Transformation:
    """A transformation that changes a random one of the spans found in a text."""

    def transform(text: str, rng: Random) -> str | None:
        if not (spans := spans_of(text)):
            return None
        start, end = rng.choice(spans)
        return text[:start] + changed(text[start:end], rng) + text[end:]

    return transform


def _letters_inside(text: str, count: int = 1) -> list[Span]:
    """Spans of so many letters in words of four or more, except their first and last letters.

    People recognise a word by its ends (Pruthi et al. 2019).
    """
    return [
        (start, start + count)
        for word in _WORD.finditer(text)
        if len(word.group()) >= 4
        for start in range(word.start() + 1, word.end() - count)
    ]


def _matches(pattern: re.Pattern[str]) -> Callable[[str], list[Span]]:
    return lambda text: [match.span() for match in pattern.finditer(text)]


def _with_case_of(old: str, new: str) -> str:
    """The new word in capitals, or with an initial one, if the old word is."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _other(old: str, choices: Iterable[str], rng: Random) -> str:
    return _with_case_of(old, rng.choice([new for new in choices if new != old.lower()]))


def _contracted(old: str, rng: Random) -> str:
    return _with_case_of(old, CONTRACTIONS[re.sub(" +", " ", old.lower())])


def _written_out(old: str, rng: Random) -> str:
    new = _LONG_OF[old.lower().replace("\u2019", "'")]
    return _with_case_of(old, f"I{new[1:]}" if new.startswith("i ") else new)


def _other_number(old: str, rng: Random) -> str:
    """Another number of as many digits, or another number word."""
    if not old.isdigit():
        return _other(old, NUMBER_WORDS, rng)
    number = rng.randrange(10 ** (len(old) - 1) if len(old) > 1 else 0, 10 ** len(old) - 1)
    return f"{number + (number >= int(old)):0{len(old)}d}"


def random_swap(text: str, rng: Random) -> str | None:
    """Two words change places, of which neither shifts polarity; capitals stay where they are."""
    words = [word for word in _WORD.finditer(text) if not is_polarity_shifter(word.group())]
    if len({word.group().lower() for word in words}) < 2:
        return None
    word = rng.choice(words)
    others = [other for other in words if other.group().lower() != word.group().lower()]
    first, second = sorted((word, rng.choice(others)), key=re.Match.start)
    return (
        text[: first.start()]
        + _with_case_of(first.group(), second.group().lower())
        + text[first.end() : second.start()]
        + _with_case_of(second.group(), first.group().lower())
        + text[second.end() :]
    )


TRANSFORMATIONS: dict[str, Transformation] = {
    "WordSwapNeighboringCharacterSwap": _changing(
        lambda text: [(a, b) for a, b in _letters_inside(text, 2) if text[a] != text[a + 1]],
        lambda old, rng: old[::-1],
    ),
    "WordSwapRandomCharacterInsertion": _changing(
        _letters_inside, lambda old, rng: _with_case_of(old, rng.choice(ascii_lowercase)) + old
    ),
    "WordSwapRandomCharacterDeletion": _changing(_letters_inside, lambda old, rng: ""),
    "WordSwapRandomCharacterSubstitution": _changing(
        _letters_inside, lambda old, rng: _other(old, ascii_lowercase, rng)
    ),
    "WordSwapHomoglyphSwap": _changing(_matches(_HOMOGLYPH), lambda old, rng: HOMOGLYPHS[old]),
    "WordSwapQWERTY": _changing(
        lambda text: [s for s in _letters_inside(text) if text[s[0]].lower() in QWERTY_NEIGHBOURS],
        lambda old, rng: _other(old, QWERTY_NEIGHBOURS[old.lower()], rng),
    ),
    "WordSwapContract": _changing(_matches(_LONG_FORM), _contracted),
    "WordSwapExtend": _changing(_matches(_CONTRACTION), _written_out),
    "WordSwapChangeNumber": _changing(_matches(_NUMBER), _other_number),
    "RandomSwap": random_swap,
}


def embedding_similarity() -> Similarity:
    """Cosine similarity of texts by the embedded encoder: means of its last hidden states."""
    encoder = load_encoder("embedded-2class")

    @lru_cache(maxsize=8)
    def embedding(text: str) -> Floats:
        (activations,) = encoder.activations([text])
        vector: Floats = activations.hidden_states[-1].mean(axis=0)
        return vector / np.linalg.norm(vector)

    return lambda original, text: float(embedding(original) @ embedding(text))


def guided_texts(
    originals: Sequence[Sentence],
    similarity: Similarity,
    encoder: EncoderModel,
    criterion: Criterion,
    seed: int = 0,
) -> list[Sentence]:
    """Algorithm 1 as printed: at most one changed text of each original, with its label.

    Each original starts from what it covers by itself, the second transformation is always drawn,
    and the original's turn ends with the first text that is kept. So nearly every changed text that
    is close in meaning is kept, whatever others have covered, and the queue of transformations,
    which is new for each original, is never drawn from.
    """
    kept: list[Sentence] = []
    advance = bar("search", len(originals))
    for original in originals:
        rng = rng_for(seed, "augment as printed", original.id, original.text)
        start = cover_texts({"criterion": criterion}, encoder, [original.text])["criterion"]
        for _ in range(MAX_FAILURES):
            # Drawn separately: both may be the same.
            pair = [rng.choice(list(TRANSFORMATIONS.values())) for _ in range(2)]
            text = _changed(original.text, pair, rng, {original.text}, similarity)
            if text is None:
                continue
            (activations,) = encoder.activations([text])
            if start.growth(criterion.flags_of(activations)) > 0:
                kept.append(replace(original, text=text))
                break
        advance(1)
    return kept


def random_texts(
    originals: Sequence[Sentence], similarity: Similarity, count: int, seed: int = 0
) -> list[Sentence]:
    """``count`` changed texts of random originals, or fewer if 50 times as many tries fail."""
    rng = rng_for(seed, "augment at random")
    kept: list[Sentence] = []
    texts = {sentence.text for sentence in originals}
    for _ in range(50 * count):
        if len(kept) == count:
            break
        original = rng.choice(originals)
        pair = rng.sample(list(TRANSFORMATIONS.values()), 2)
        text = _changed(original.text, pair, rng, texts, similarity)
        if text is not None:
            texts.add(text)
            kept.append(replace(original, text=text))
    return kept


def _changed(
    original: str,
    transformations: Iterable[Transformation],
    rng: Random,
    known_texts: Container[str],
    similarity: Similarity,
) -> str | None:
    """What transformations make of a text, if it is new and close enough to the original."""
    text = original
    for transform in transformations:
        text = transform(text, rng) or text
    too_far = text in known_texts or similarity(original, text) < MIN_SIMILARITY
    return None if too_far else text
