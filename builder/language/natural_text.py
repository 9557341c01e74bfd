"""Natural text from what corpora store: tokenised, lower-cased, escaped or wrongly decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import ftfy

from s2lct.builder.language.treebank_text import detokenise, looks_tokenised
from s2lct.cache import Cache, predictions
from s2lct.identity import predicting_versions, source_fingerprint
from s2lct.plain_text import words

# A zero-width joiner (200D) stays where it makes one emoji of two.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]|(?<![^\\x00-\\x7f])\u200d|\u200d(?![^\\x00-\\x7f])"
)
_WINDOWS_1252_PUNCTUATION = {0x85: "... ", 0x91: "'", 0x92: "'", 0x93: '"', 0x94: '"'}


def to_natural_text(text: str) -> str:
    """A text on one line with single spaces, detokenised if it looks tokenised.

    Invisible characters are left out: zero-width ones, and those that set a text's direction.
    """
    if not text.isascii():
        text = _INVISIBLE.sub("", fix_control_characters(text))
    text = " ".join(text.split())
    return detokenise(text) if looks_tokenised(text) else text


def fix_control_characters(text: str) -> str:
    """Replace control characters that were punctuation in Windows-1252 before a wrong decoding."""
    if text.isascii():
        return text
    return ftfy.fixes.fix_c1_controls(text.translate(_WINDOWS_1252_PUNCTUATION))


def restore_text(text: str) -> str:
    """Detokenise a text, and give it capitals if it has none."""
    text = detokenise(text)
    return sentence_case(text) if text.islower() else capitalise_first(text)


def restore_texts(texts: Sequence[str]) -> list[str]:
    """Restore each text; results are cached, since a corpus is read again and again."""
    dependencies = (
        f"natural text {source_fingerprint('s2lct.builder.language')} {predicting_versions()}"
    )

    def restore(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        yield from ((text, restore_text(text).encode()) for text in missing)

    with Cache() as cache:
        cached = predictions(cache, dependencies, texts, restore, batch_size=len(texts))
    return [cached[text].decode() for text in texts]


_ABBREVIATIONS = words("mr mrs ms dr jr sr st vs etc co inc no pa prof rev al")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s")
_SENTENCE_START = re.compile(r"""(\S*?)(?<!\.\.)([.!?])(["')\]]*)(\s+["'(\[]*)([a-z])""")
_TITLE = re.compile(r"\b(?:mr|mrs|ms)\. [a-z]")
_INITIALS = re.compile(r"(?<![\w.'])(?:[a-z]\. ?){2,}")
_FIRST_PERSON = re.compile(r"(?<![\w.’*&/-])(?<!\w')i(?=$|[\s,;:!?)\]\"]|\.|'(?:m|d|ll|ve|s)\b)")


def sentence_case(text: str) -> str:
    """Give a lower-cased text the capitals that need no knowledge of names.

    These are the capitals of sentences, initials (*U.S.*), names behind *Mr.*, and the pronoun *I*.
    """
    text = _INITIALS.sub(
        lambda match: match[0].replace(" ", "").upper() + " " * match[0].endswith(" "), text
    )
    text = _FIRST_PERSON.sub("I", text)
    text = _TITLE.sub(lambda match: match[0].title(), text)
    if _SENTENCE_END.search(text):  # most texts have one sentence
        text = _SENTENCE_START.sub(_start_sentence, text)
    return capitalise_first(text)


def _start_sentence(match: re.Match[str]) -> str:
    """Capitalise the letter behind a full stop, unless that ends an abbreviation."""
    word, end, closing, gap, letter = match.groups()
    is_abbreviation = end == "." and (
        word.lower() in _ABBREVIATIONS or "." in word or len(word) == 1
    )
    goes_on = end != "." and closing
    return word + end + closing + gap + (letter if is_abbreviation or goes_on else letter.upper())


def capitalise_first(text: str) -> str:
    """Capitalise the first word; none behind an ellipsis, or that begins with an apostrophe."""
    match = re.match(r"""(["'(\[¿¡]*)([^\W\d_]+)""", text)
    if match is None or not match[2].islower() or re.match(r"'(?:em|til|tis|twas)\b", text):
        return text
    start = match.start(2)
    return text[:start] + text[start].upper() + text[start + 1 :]
