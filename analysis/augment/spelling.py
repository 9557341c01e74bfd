"""Changes of letters, contractions and numbers, which need no model and no data."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from string import ascii_lowercase

from s2lct.analysis.augment.transformation_tables import (
    CONTRACTIONS,
    HOMOGLYPHS,
    NUMBER_WORDS,
    QWERTY_NEIGHBOURS,
)

LETTERS = re.compile(r"[^\W\d_]+")
_INTEGER = re.compile(r"(?<![\w.,])\d+(?![\w]|[.,]\d)")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_LONG_FORM = re.compile(
    rf"\b(?:{'|'.join(form.replace(' ', ' +') for form in CONTRACTIONS)})\b", re.IGNORECASE
)
_LONG_OF = {short: long for long, short in CONTRACTIONS.items()}
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_LONG_OF)})\b".replace("'", "['\u2019]"), re.IGNORECASE)


def _inner_letters(text: str, changeable: Callable[[str, int], bool]) -> list[int]:
    """Places inside words of four or more letters, first and last left out.

    The ends of a word are spared because readers, too, recognise a word by them (Pruthi et al.
    2019).
    """
    return [
        place
        for word in LETTERS.finditer(text)
        if word.end() - word.start() >= 4
        for place in range(word.start() + 1, word.end() - 1)
        if changeable(text, place)
    ]


def replaced(text: str, start: int, end: int, new: str) -> str:
    """A text with something else in a place."""
    return text[:start] + new + text[end:]


def cased_like(new: str, old: str) -> str:
    """A word in capitals, or with one, where another has them."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _any_letter(text: str, place: int) -> bool:
    return True


def _two_differing(text: str, place: int) -> bool:
    return (
        place + 2 < len(text)
        and text[place] != text[place + 1]
        and text[place + 1 : place + 3].isalpha()
    )


def _on_keyboard(text: str, place: int) -> bool:
    return text[place].lower() in QWERTY_NEIGHBOURS


def swap_neighbours(text: str, rng: Random) -> str | None:
    """Two letters inside a word change places."""
    if not (places := _inner_letters(text, _two_differing)):
        return None
    place = rng.choice(places)
    return replaced(text, place, place + 2, text[place + 1] + text[place])


def insert_letter(text: str, rng: Random) -> str | None:
    """A letter is put into a word."""
    if not (places := _inner_letters(text, _any_letter)):
        return None
    place = rng.choice(places)
    return replaced(text, place, place, cased_like(rng.choice(ascii_lowercase), text[place]))


def delete_letter(text: str, rng: Random) -> str | None:
    """A letter inside a word is left out."""
    if not (places := _inner_letters(text, _any_letter)):
        return None
    place = rng.choice(places)
    return replaced(text, place, place + 1, "")


def substitute_letter(text: str, rng: Random) -> str | None:
    """A letter inside a word becomes another."""
    if not (places := _inner_letters(text, _any_letter)):
        return None
    place = rng.choice(places)
    others = [letter for letter in ascii_lowercase if letter != text[place].lower()]
    return replaced(text, place, place + 1, cased_like(rng.choice(others), text[place]))


def swap_homoglyph(text: str, rng: Random) -> str | None:
    """A letter becomes one of another script that looks the same."""
    if not (places := [place for place, letter in enumerate(text) if letter in HOMOGLYPHS]):
        return None
    place = rng.choice(places)
    return replaced(text, place, place + 1, HOMOGLYPHS[text[place]])


def press_next_key(text: str, rng: Random) -> str | None:
    """A letter inside a word becomes one from the key beside it."""
    if not (places := _inner_letters(text, _on_keyboard)):
        return None
    place = rng.choice(places)
    new = rng.choice(QWERTY_NEIGHBOURS[text[place].lower()])
    return replaced(text, place, place + 1, cased_like(new, text[place]))


def contract(text: str, rng: Random) -> str | None:
    """A long form is contracted: "is not" to "isn't"."""
    found = list(_LONG_FORM.finditer(text))
    if not found:
        return None
    long = rng.choice(found)
    new = CONTRACTIONS[re.sub(" +", " ", long.group().lower())]
    return replaced(text, *long.span(), cased_like(new, long.group()))


def extend(text: str, rng: Random) -> str | None:
    """A contraction is written out: "isn't" to "is not"."""
    found = list(_CONTRACTION.finditer(text))
    if not found:
        return None
    short = rng.choice(found)
    new = _LONG_OF[short.group().lower().replace("\u2019", "'")]
    if new.startswith("i "):
        new = f"I{new[1:]}"
    return replaced(text, *short.span(), cased_like(new, short.group()))


def change_number(text: str, rng: Random) -> str | None:
    """A number becomes another of as many digits, a number word another word."""
    found = [*_INTEGER.finditer(text), *_NUMBER_WORD.finditer(text)]
    if not found:
        return None
    number = rng.choice(found)
    old = number.group()
    if not old.isdigit():
        new = rng.choice([word for word in NUMBER_WORDS if word != old.lower()])
        return replaced(text, *number.span(), cased_like(new, old))
    low = 10 ** (len(old) - 1) if len(old) > 1 else 0
    drawn = rng.randrange(low, 10 ** len(old) - 1)
    if drawn >= int(old):
        drawn += 1
    return replaced(text, *number.span(), f"{drawn:0{len(old)}d}")
