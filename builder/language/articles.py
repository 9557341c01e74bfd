"""Whether English says "a" or "an" before a word: by the sound that the word begins with.

Letters tell the sound by a few rules; the words that break them are named by their roots.
"""

from __future__ import annotations

import re

_VOWEL_LETTERS = "aeiou"
_NAMED_WITH_VOWEL = "aefhilmnorsx"
"""Letters whose names begin with a vowel: "an FBI agent", "an R-rated film"."""

_FIRST_PART = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*")
_FIGURES = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_LENGTH_OF_A_YEAR = 4

_SILENT_H = re.compile(r"heir(?!on)|hon(?:est|our|or(?!é))|hour(?!i)")
# "One" begins as "won" does, "onerous" does not.
_AS_WON = re.compile(r"(?:one(?:s|self|ness|time)?|once|ouija|oui)\b")
# "You": the Latin "uni", and u before one consonant and a vowel where nothing was put before a
# word ("useful", but "unable" and "upend").
_AS_YOU = re.compile(
    r"e[uw]|uni|unanim|unary|unesco|ukr|u(?:[bkv]|hf|hd|ns|pc|rl|rn|sb|ss?r|tc|x)s?\b"
    r"|u(?![np]|ber|do|mami|sher|xo|zi)(?:[bcdfgjklmrstvxz]|th)?[aeiouy]"
)
# "Un" before a word that begins with i is not "uni".
_UN_I = re.compile(r"uni(?:d(?:ea|en|io)|ll|m(?:ag|m|p)|n(?!o|uc)|r(?:on|ri)|ss|talic|tem)")
_VOWEL_Y = re.compile(r"y[bcdfglmnprstv]")
# A letter named with a vowel, before consonants behind which no word goes on, is spelled out.
_SPELLED_OUT = re.compile(
    r"(?:f(?![jlr]?V)|h(?!r?V|mm)|l(?![hl]?V|bs?\b)|m(?!n?V|c[a-z]{2}|rs?\b|s\b|t\b)|n(?!V)"
    r"|r(?![hwz]?V)|s(?![cfhklmnpqrtvwz]{0,3}V|gt|hh|r\b|t\b)|x(?!V)"
    r"|(?:hiv|lapd|mit|naacp|nypd|sos|suvs?)\b)".replace("V", "[aeiouy]")
)
_CAPITAL_U = re.compile(r"U[B-DF-HJ-NP-TV-Z]*s?")


def takes_an(word: str) -> bool:
    """Whether "an" stands before a word, and not "a".

    Args:
        word: of a compound the first part counts; numbers may be in figures.
    """
    found = _FIRST_PART.search(word)
    if found is None:
        return False
    if found[0][0].isdecimal():
        return _number_takes_an(found[0])
    written = found[0].replace(".", "").replace(",", "")
    first = written.lower()
    if _CAPITAL_U.fullmatch(written) or first == "u":
        return False
    if len(first) == 1 or _SPELLED_OUT.match(first):
        return first[0] in _NAMED_WITH_VOWEL
    if first[0] in _VOWEL_LETTERS:
        return bool(_UN_I.match(first)) or not (_AS_WON.match(first) or _AS_YOU.match(first))
    return bool(_SILENT_H.match(first) or _VOWEL_Y.match(first))


def _number_takes_an(number: str) -> bool:
    """Whether a number in figures, read out, begins with "eight", "eleven" or "eighteen"."""
    found = _FIGURES.match(number)
    figures = found[0] if found else ""
    if figures.startswith("8"):
        return True
    # "11,000" and "1850" begin with these, "1,850" and "110" do not.
    leading = figures.split(",")[0]
    if "," not in figures and len(figures) == _LENGTH_OF_A_YEAR:
        leading = figures[:2]
    return leading in ("11", "18")
