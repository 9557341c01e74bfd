"""Changed texts as training data: small changes of texts, and the search that coverage guides.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron
Coverage (Findings of
NAACL 2022), experiments 2 and 4, and Algorithm 1, after DeepTest's (Tian et al. 2018).

The changes leave a text's sentiment alone and are named as TextAttack (Morris et al. 2020) names
them. They are the ten of the paper's sixteen that are rules; the other six swap words by WordNet,
word vectors, a masked language model or a recogniser of names. TextAttack itself imports flair,
whose requirements do not go with this package's.
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
from s2lct.builder.language.lexicon import is_polarity_shifter
from s2lct.builder.records import Sentence
from s2lct.identity import rng_for
from s2lct.progress import bar

Change = Callable[[str, Random], "str | None"]
"""The changed text, or None where there is nothing to change."""
Similarity = Callable[[str, str], float]
Span = tuple[int, int]
LEAST_SIMILARITY = 0.8
"""Of a changed text to its original, as a cosine; the paper names no bound."""
TRIES = 5
"""Failures that end an original's turn; the paper names no number."""
_TABLES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("augmentation.yaml").read_text(encoding="utf-8")
)
CONTRACTIONS, NUMBER_WORDS = _TABLES["contractions"], _TABLES["number_words"]
HOMOGLYPHS, QWERTY_NEIGHBOURS = _TABLES["homoglyphs"], _TABLES["qwerty_neighbours"]
_LETTERS = re.compile(r"[^\W\d_]+")
_HOMOGLYPH = re.compile(f"[{''.join(HOMOGLYPHS)}]")
_NUMBER = re.compile(
    rf"(?<![\w.,])\d+(?![\w]|[.,]\d)|\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE
)
_LONG_FORM = re.compile(
    rf"\b(?:{'|'.join(form.replace(' ', ' +') for form in CONTRACTIONS)})\b", re.IGNORECASE
)
_LONG_OF = {short: long for long, short in CONTRACTIONS.items()}
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_LONG_OF)})\b".replace("'", "['\u2019]"), re.IGNORECASE)


def _change(find: Callable[[str], Iterable[Span]], changed: Callable[[str, Random], str]) -> Change:
    """Changes what stands in one of the places that are found, drawn at random."""

    def apply(text: str, rng: Random) -> str | None:
        if not (places := list(find(text))):
            return None
        start, end = rng.choice(places)
        return text[:start] + changed(text[start:end], rng) + text[end:]

    return apply


def _inside(text: str, letters: int = 1) -> list[Span]:
    """Places of so many letters in words of four or more, whose ends are left out.

    People recognise a word by its ends (Pruthi et al. 2019).
    """
    return [
        (place, place + letters)
        for word in _LETTERS.finditer(text)
        if len(word.group()) >= 4
        for place in range(word.start() + 1, word.end() - letters)
    ]


def _found(pattern: re.Pattern[str]) -> Callable[[str], list[Span]]:
    return lambda text: [match.span() for match in pattern.finditer(text)]


def _differing(text: str) -> list[Span]:
    return [(a, b) for a, b in _inside(text, 2) if text[a] != text[a + 1]]


def _on_keys(text: str) -> list[Span]:
    return [(a, b) for a, b in _inside(text) if text[a].lower() in QWERTY_NEIGHBOURS]


def _cased_like(new: str, old: str) -> str:
    """A word in capitals, or with one, where another has them."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _another(old: str, among: Iterable[str], rng: Random) -> str:
    return _cased_like(rng.choice([new for new in among if new != old.lower()]), old)


def _contracted(old: str, rng: Random) -> str:
    return _cased_like(CONTRACTIONS[re.sub(" +", " ", old.lower())], old)


def _written_out(old: str, rng: Random) -> str:
    new = _LONG_OF[old.lower().replace("\u2019", "'")]
    return _cased_like(f"I{new[1:]}" if new.startswith("i ") else new, old)


def _other_number(old: str, rng: Random) -> str:
    """Of as many digits, or another number word."""
    if not old.isdigit():
        return _another(old, NUMBER_WORDS, rng)
    drawn = rng.randrange(10 ** (len(old) - 1) if len(old) > 1 else 0, 10 ** len(old) - 1)
    return f"{drawn + (drawn >= int(old)):0{len(old)}d}"


def random_swap(text: str, rng: Random) -> str | None:
    """Two words change places, where neither shifts polarity; capitals stay where they are."""
    words = [word for word in _LETTERS.finditer(text) if not is_polarity_shifter(word.group())]
    if len({word.group().lower() for word in words}) < 2:
        return None
    drawn = rng.choice(words)
    others = [word for word in words if word.group().lower() != drawn.group().lower()]
    first, second = sorted((drawn, rng.choice(others)), key=re.Match.start)
    return (
        text[: first.start()]
        + _cased_like(second.group().lower(), first.group())
        + text[first.end() : second.start()]
        + _cased_like(first.group().lower(), second.group())
        + text[second.end() :]
    )


TRANSFORMATIONS: dict[str, Change] = {
    "WordSwapNeighboringCharacterSwap": _change(_differing, lambda old, rng: old[::-1]),
    "WordSwapRandomCharacterInsertion": _change(
        _inside, lambda old, rng: _cased_like(rng.choice(ascii_lowercase), old) + old
    ),
    "WordSwapRandomCharacterDeletion": _change(_inside, lambda old, rng: ""),
    "WordSwapRandomCharacterSubstitution": _change(
        _inside, lambda old, rng: _another(old, ascii_lowercase, rng)
    ),
    "WordSwapHomoglyphSwap": _change(_found(_HOMOGLYPH), lambda old, rng: HOMOGLYPHS[old]),
    "WordSwapQWERTY": _change(
        _on_keys, lambda old, rng: _another(old, QWERTY_NEIGHBOURS[old.lower()], rng)
    ),
    "WordSwapContract": _change(_found(_LONG_FORM), _contracted),
    "WordSwapExtend": _change(_found(_CONTRACTION), _written_out),
    "WordSwapChangeNumber": _change(_found(_NUMBER), _other_number),
    "RandomSwap": random_swap,
}


def embedding_similarity() -> Similarity:
    """Cosine similarity of texts by the embedded encoder, means of its last states."""
    encoder = load_encoder("embedded-2class")

    @lru_cache(maxsize=8)
    def embedding(text: str) -> Floats:
        (computed,) = encoder.activations([text])
        vector: Floats = computed.hidden[-1].mean(axis=0)
        return vector / np.linalg.norm(vector)

    return lambda original, text: float(embedding(original) @ embedding(text))


def guided_texts(
    originals: Sequence[Sentence],
    similarity: Similarity,
    encoder: EncoderModel,
    metric: Criterion,
    seed: int = 0,
) -> list[Sentence]:
    """Algorithm 1 as printed: at most one changed text of each original, with its label.

    Each original is held against what it covers by itself, the second transformation is always
    drawn, and the original's turn ends with the first text that is kept. So nearly every changed
    text that is close in meaning is kept, whatever others have covered, and the queue of
    transformations, which is new for each original, is never drawn from.
    """
    kept: list[Sentence] = []
    shown = bar("search", len(originals))
    for original in originals:
        rng = rng_for(seed, "augment as printed", original.id, original.text)
        (activations,) = encoder.activations([original.text])
        covered = metric.empty()
        covered.add(metric.flags_of(activations))
        for _ in range(TRIES):
            # Drawn separately: both may be the same.
            pair = [rng.choice(list(TRANSFORMATIONS.values())) for _ in range(2)]
            text = _changed(original.text, pair, rng, {original.text}, similarity)
            if text is None:
                continue
            (computed,) = encoder.activations([text])
            if covered.growth(metric.flags_of(computed)) > 0:
                kept.append(replace(original, text=text))
                break
        shown(1)
    return kept


def random_texts(
    originals: Sequence[Sentence], similarity: Similarity, count: int, seed: int = 0
) -> list[Sentence]:
    """So many changed texts, whatever they cover, and however many of the same original.

    They are fewer where 50 times as many tries did not give so many.
    """
    rng = rng_for(seed, "augment at random")
    kept: list[Sentence] = []
    known = {sentence.text for sentence in originals}
    for _ in range(50 * count):
        if len(kept) == count:
            break
        original = rng.choice(originals)
        pair = rng.sample(list(TRANSFORMATIONS.values()), 2)
        text = _changed(original.text, pair, rng, known, similarity)
        if text is not None:
            known.add(text)
            kept.append(replace(original, text=text))
    return kept


def _changed(
    original: str,
    changes: Iterable[Change],
    rng: Random,
    known: Container[str],
    similarity: Similarity,
) -> str | None:
    """What changes make of a text, if it is new and close enough to the original."""
    text = original
    for change in changes:
        text = change(text, rng) or text
    return None if text in known or similarity(original, text) < LEAST_SIMILARITY else text
