"""Capitals for text that was lower-cased."""

from __future__ import annotations

import re

from s2lct.plain_text import words

_ABBREVIATIONS = words("mr mrs ms dr jr sr st vs etc co inc no pa prof rev al")
_SENTENCE_START = re.compile(r"""(\S*?)(?<!\.\.)([.!?])(["')\]]*)(\s+["'(\[]*)([a-z])""")
_TITLE = re.compile(r"\b(?:mr|mrs|ms)\. [a-z]")
_INITIALS = re.compile(r"(?<![\w.'])(?:[a-z]\. ?){2,}")
_FIRST_PERSON = re.compile(r"(?<![\w.’*&/-])(?<!\w')i(?=$|[\s,;:!?)\]\"]|\.|'(?:m|d|ll|ve|s)\b)")


def sentence_case(text: str) -> str:
    """Give lower-cased ``text`` the capitals that do not depend on knowing names.

    These are the first letter (unless the text goes on from an ellipsis), the first letter after
    a sentence's end, initials such as ``U.S.``, names after ``Mr.``, and the pronoun ``I``.
    """
    text = _INITIALS.sub(
        lambda match: match[0].replace(" ", "").upper() + " " * match[0].endswith(" "), text
    )
    text = _FIRST_PERSON.sub("I", text)
    text = _TITLE.sub(lambda match: match[0].title(), text)
    text = _SENTENCE_START.sub(_start_sentence, text)
    return text if text.startswith("...") else capitalise_first(text)


def _start_sentence(match: re.Match[str]) -> str:
    word, end, closing, gap, letter = match.groups()
    abbreviated = end == "." and (word.lower() in _ABBREVIATIONS or "." in word or len(word) == 1)
    goes_on = end != "." and closing
    return word + end + closing + gap + (letter if abbreviated or goes_on else letter.upper())


def capitalise_first(text: str) -> str:
    """Capitalise the first word, behind opening quotes and brackets."""
    match = re.match(r"""(["'(\[¿¡]*)([^\W\d_]+)""", text)
    if match is None or not match[2].islower() or re.match(r"'(?:em|til|tis|twas)\b", text):
        return text
    start = match.start(2)
    return text[:start] + text[start].upper() + text[start + 1 :]
