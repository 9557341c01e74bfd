"""Augment training data with slightly changed texts, drawn at random or guided by coverage.

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
"""Changes a text at random; returns None if there is nothing to change."""
Similarity = Callable[[str, str], float]
"""Gives the similarity, at most 1, of an original text and a changed one."""
Span = tuple[int, int]
"""Character offsets in a text: start and exclusive end."""
MIN_SIMILARITY = 0.8
"""The least cosine similarity of a changed text and its original; the paper names no bound."""
MAX_FAILURES = 5
"""Failed changes after which an original is given up; the paper names no number."""
_TABLES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("augmentation.yaml").read_text(encoding="utf-8")
)
CONTRACTIONS, NUMBER_WORDS = _TABLES["contractions"], _TABLES["number_words"]
HOMOGLYPHS, QWERTY_NEIGHBOURS = _TABLES["homoglyphs"], _TABLES["qwerty_neighbours"]
_LONG_FORM_OF = {short: long for long, short in CONTRACTIONS.items()}
_WORD_PATTERN = re.compile(r"[^\W\d_]+")
_HOMOGLYPH_PATTERN = re.compile(f"[{''.join(HOMOGLYPHS)}]")
_NUMBER_PATTERN = re.compile(
    rf"(?<![\w.,])\d+(?![\w]|[.,]\d)|\b(?:{'|'.join(NUMBER_WORDS)})\b", re.I
)
_LONG_FORM_PATTERN = re.compile(rf"\b(?:{'|'.join(CONTRACTIONS)})\b".replace(" ", " +"), re.I)
_CONTRACTION_PATTERN = re.compile(
    rf"\b(?:{'|'.join(_LONG_FORM_OF)})\b".replace("'", "['\u2019]"), re.I
)


def _transformation(
    find_spans: Callable[[str], Sequence[Span]], change_span: Callable[[str, Random], str]
) -> Transformation:
    """Build a transformation that changes one random span of those found in a text."""

    def transform(text: str, rng: Random) -> str | None:
        if not (spans := find_spans(text)):
            return None
        start, end = rng.choice(spans)
        return text[:start] + change_span(text[start:end], rng) + text[end:]

    return transform


def _letters_inside(text: str, count: int = 1) -> list[Span]:
    """Spans of ``count`` letters inside words of four or more; first and last letters are left out.

    People recognise a word by its ends (Pruthi et al. 2019).
    """
    return [
        (start, start + count)
        for word in _WORD_PATTERN.finditer(text)
        if len(word.group()) >= 4
        for start in range(word.start() + 1, word.end() - count)
    ]


def _matches(pattern: re.Pattern[str]) -> Callable[[str], list[Span]]:
    """A function that finds the spans of a pattern's matches in a text."""
    return lambda text: [match.span() for match in pattern.finditer(text)]


def _with_case_of(old: str, new: str) -> str:
    """The new word, in capitals or with an initial capital if the old word is written so."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _random_replacement(old: str, choices: Iterable[str], rng: Random) -> str:
    """A random choice that differs from the old word."""
    return _with_case_of(old, rng.choice([new for new in choices if new != old.lower()]))


def _contract(old: str, rng: Random) -> str:
    """The contraction of a long form, such as "isn't" of "is not"."""
    return _with_case_of(old, CONTRACTIONS[re.sub(" +", " ", old.lower())])


def _expand_contraction(old: str, rng: Random) -> str:
    """The long form of a contraction, such as "is not" of "isn't"."""
    new = _LONG_FORM_OF[old.lower().replace("\u2019", "'")]
    return _with_case_of(old, f"I{new[1:]}" if new.startswith("i ") else new)


def _other_number(old: str, rng: Random) -> str:
    """A random other number of as many digits, or a random other number word."""
    if not old.isdigit():
        return _random_replacement(old, NUMBER_WORDS, rng)
    number = rng.randrange(10 ** (len(old) - 1) if len(old) > 1 else 0, 10 ** len(old) - 1)
    return f"{number + (number >= int(old)):0{len(old)}d}"


def random_swap(text: str, rng: Random) -> str | None:
    """Swap two words, neither of which shifts polarity; capitals stay where they were."""
    words = [word for word in _WORD_PATTERN.finditer(text) if not is_polarity_shifter(word.group())]
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
    "WordSwapNeighboringCharacterSwap": _transformation(
        lambda text: [(a, b) for a, b in _letters_inside(text, 2) if text[a] != text[a + 1]],
        lambda old, rng: old[::-1],
    ),
    "WordSwapRandomCharacterInsertion": _transformation(
        _letters_inside, lambda old, rng: _with_case_of(old, rng.choice(ascii_lowercase)) + old
    ),
    "WordSwapRandomCharacterDeletion": _transformation(_letters_inside, lambda old, rng: ""),
    "WordSwapRandomCharacterSubstitution": _transformation(
        _letters_inside, lambda old, rng: _random_replacement(old, ascii_lowercase, rng)
    ),
    "WordSwapHomoglyphSwap": _transformation(
        _matches(_HOMOGLYPH_PATTERN), lambda old, rng: HOMOGLYPHS[old]
    ),
    "WordSwapQWERTY": _transformation(
        lambda text: [s for s in _letters_inside(text) if text[s[0]].lower() in QWERTY_NEIGHBOURS],
        lambda old, rng: _random_replacement(old, QWERTY_NEIGHBOURS[old.lower()], rng),
    ),
    "WordSwapContract": _transformation(_matches(_LONG_FORM_PATTERN), _contract),
    "WordSwapExtend": _transformation(_matches(_CONTRACTION_PATTERN), _expand_contraction),
    "WordSwapChangeNumber": _transformation(_matches(_NUMBER_PATTERN), _other_number),
    "RandomSwap": random_swap,
}


def embedding_similarity() -> Similarity:
    """The cosine similarity of texts' embeddings: the encoder's last hidden states, averaged."""
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
    random_seed: int = 0,
) -> list[Sentence]:
    """Change texts by Algorithm 1 as printed: at most one changed text of each original.

    Changed texts keep the label of their original. Each original starts from the coverage of its
    own text, the second transformation is always drawn, and the first accepted text ends the search
    for an original. So nearly every changed text that is close in meaning is accepted, whatever
    others have covered. The queue of transformations is new for each original and never drawn from.
    """
    accepted: list[Sentence] = []
    advance = bar("search", len(originals))
    for original in originals:
        rng = rng_for(random_seed, "augment as printed", original.id, original.text)
        state = cover_texts({"criterion": criterion}, encoder, [original.text])["criterion"]
        for _ in range(MAX_FAILURES):
            # Drawn separately: both may be the same.
            pair = [rng.choice(list(TRANSFORMATIONS.values())) for _ in range(2)]
            text = _transform(original.text, pair, rng, {original.text}, similarity)
            if text is None:
                continue
            (activations,) = encoder.activations([text])
            if state.growth(criterion.flags_of(activations)) > 0:
                accepted.append(replace(original, text=text))
                break
        advance(1)
    return accepted


def random_texts(
    originals: Sequence[Sentence], similarity: Similarity, count: int, random_seed: int = 0
) -> list[Sentence]:
    """Change ``count`` random originals; give up after 50 times as many tries."""
    rng = rng_for(random_seed, "augment at random")
    accepted: list[Sentence] = []
    known_texts = {sentence.text for sentence in originals}
    for _ in range(50 * count):
        if len(accepted) == count:
            break
        original = rng.choice(originals)
        pair = rng.sample(list(TRANSFORMATIONS.values()), 2)
        text = _transform(original.text, pair, rng, known_texts, similarity)
        if text is not None:
            known_texts.add(text)
            accepted.append(replace(original, text=text))
    return accepted


def _transform(
    original: str,
    transformations: Iterable[Transformation],
    rng: Random,
    known_texts: Container[str],
    similarity: Similarity,
) -> str | None:
    """Apply transformations to a text; None unless the result is new and close to the original."""
    text = original
    for transform in transformations:
        text = transform(text, rng) or text
    is_rejected = text in known_texts or similarity(original, text) < MIN_SIMILARITY
    return None if is_rejected else text
