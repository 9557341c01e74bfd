"""Read a label, or a refusal, from a model's answer in words.

These are the rules, in their order; case, Unicode forms and Markdown change nothing:

1. An empty answer and one that was cut off cannot be read. A thought in front of an answer,
   ``<think>…</think>``, is left out; of the rest the first `MAX_CHARACTERS` are read.
2. If the server marks an answer as a refusal, it is one.
3. Of a JSON object the only value is read, or that of ``label``, ``sentiment`` or ``answer``.
4. Quotations of three words or more are left out.
5. An answer with exactly one of the label words, once or several times, means that label, unless a
   sentence with it negates, doubts or asks ("not negative", "negative or mixed", "negative?").
6. Any other answer is a refusal if it says so ("I can't help with that", "As an AI …"). All
   remaining answers, with two label words or none, cannot be read.

No rule guesses: a case without a label fails.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from s2lct.labels import LABELS

REFUSED = len(LABELS)
UNREADABLE = len(LABELS) + 1
"""`REFUSED` and `UNREADABLE` stand in for a label id; a model fails the case with either."""
ANSWER_ID_COUNT = UNREADABLE + 1
"""The number of ids: labels, `REFUSED` and `UNREADABLE`."""
PREDICTION_WORDS = (*LABELS, "nothing: it refused", "nothing that can be read")
"""Names of predictions in tables, by id: the labels, then `REFUSED` and `UNREADABLE`."""

MAX_CHARACTERS = 4_000
_MARKDOWN = re.compile(r"[*_`#~]+")
_THOUGHT_OPENS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_CLOSES = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE, _FENCE_LANGUAGE = "```", re.compile(r"^\w*")
_QUOTATION = re.compile(r"\"([^\"\n]*)\"|“([^“”\n]*)”|«([^«»\n]*)»")
_MIN_QUOTED_WORDS = 3
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
_ANSWER_KEYS = ("label", "sentiment", "answer")
_NEGATION = re.compile(
    r"\b(?:not|no|non|never|neither|nor|cannot|without|hardly|barely|instead|rather|than|except|"
    r"far\s+from|\w+n't)\b",
)
_DOUBT = re.compile(
    r"\b(?:or|versus|vs|between|both|either|mixed|unclear|ambiguous|unsure|uncertain|maybe|"
    r"perhaps|possibly|depends?|depending|could|might|if|unless)\b|/|\?"
)
_PLACEHOLDER = "\0"
"""Stands for a label word when the sentence around it is judged."""
_COMPOUND = re.compile(rf"\w-{_PLACEHOLDER}|{_PLACEHOLDER}-\w")
_REFUSAL = re.compile(
    r"\b(?:i|we)\s+(?:am|are|'m|'re)?\s*(?:sorry|unable|not\s+(?:able|going|allowed|comfortable)|"
    r"apologi[sz]e|can't|can\s?not|won't|will\s+not|must\s+decline|have\s+to\s+decline|decline|"
    r"refuse|do\s+not\s+feel\s+comfortable|don't\s+feel\s+comfortable)\b"
    r"|\b(?:i'm|we're)\s+(?:sorry|unable|not\s+(?:able|going|allowed|comfortable))\b"
    r"|^\W*(?:sorry|(?:my\s+)?apologies)\b"
    r"|\bas\s+an?\s+(?:ai|artificial\s+intelligence|language\s+model|assistant)\b"
    r"|\b(?:against|violates?)\s+(?:my|our|the)\s+(?:guidelines|polic(?:y|ies)|programming)\b"
)


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A model's answer in words: a `ChatAnswer` with its time.

    Attributes:
        time: the time of the answer, as an ISO date and time in UTC.
    """

    text: str
    finish: str = "stop"
    refusal: str = ""
    model: str = ""
    prompt_tokens: NonNegativeInt = 0
    completion_tokens: NonNegativeInt = 0
    time: str = ""
    system_fingerprint: str = ""


def label_of(answer: TextAnswer, words: Sequence[str], meanings: Sequence[int]) -> int:
    """The id of the label that an answer means, `REFUSED` or `UNREADABLE`.

    Args:
        answer: the answer.
        words: the label words among which the model had to choose.
        meanings: the label id of each word.
    """
    if answer.refusal.strip() or answer.finish == "content_filter":
        return REFUSED
    # Cut first: every pattern below takes time in proportion to the text.
    text = _without_thought(answer.text)[:MAX_CHARACTERS]
    text = unicodedata.normalize("NFKC", text)[:MAX_CHARACTERS]
    if answer.finish == "length" or not text.strip():
        return UNREADABLE
    plain_words = [_normalized(word) for word in words]
    text = _normalized(_without_quotations(_json_value(text)))
    # The longest first, so that "not bad" is not taken for "bad".
    alternatives = "|".join(re.escape(word) for word in sorted(plain_words, key=len, reverse=True))
    label_pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")
    found_words = set(label_pattern.findall(text))
    marked_text = label_pattern.sub(_PLACEHOLDER, text)
    sentences = [part for part in _SENTENCE.findall(marked_text) if _PLACEHOLDER in part]
    if len(found_words) == 1 and not any(map(_is_uncertain, sentences)):
        return meanings[plain_words.index(found_words.pop())]
    return REFUSED if _REFUSAL.search(text) else UNREADABLE


def _is_uncertain(sentence: str) -> bool:
    """Whether a sentence negates or doubts its label word, or has it in a compound."""
    return any(rule.search(sentence) for rule in (_NEGATION, _DOUBT, _COMPOUND))


def _normalized(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    text = text.replace(_PLACEHOLDER, "").casefold()
    lines = (" ".join(line.split()) for line in _MARKDOWN.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))


def _without_thought(text: str) -> str:
    """An answer without the thought at its beginning; empty if the thought does not end."""
    text = text.lstrip()
    if not _THOUGHT_OPENS.match(text):
        return text
    thought_end = _THOUGHT_CLOSES.search(text)
    return text[thought_end.end() :] if thought_end else ""


def _without_fence(text: str) -> str:
    """The content of the code block if the whole answer is one; otherwise the text itself."""
    text = text.strip()
    if not (text.startswith(_FENCE) and text.endswith(_FENCE) and len(text) >= 2 * len(_FENCE)):
        return text
    return _FENCE_LANGUAGE.sub("", text[len(_FENCE) : -len(_FENCE)])


def _without_quotations(text: str) -> str:
    def without_long_quotation(match: re.Match[str]) -> str:
        words = next((part for part in match.groups() if part is not None), "")
        return " … " if len(words.split()) >= _MIN_QUOTED_WORDS else match[0]

    return _QUOTATION.sub(without_long_quotation, text)


def _json_value(text: str) -> str:
    """The answer in a JSON object or string; the text itself if it is neither."""
    try:
        content = json.loads(_without_fence(text), object_pairs_hook=_dict_of_unique_keys)
    except (ValueError, RecursionError):
        return text
    if isinstance(content, dict):
        values = [content[key] for key in content if key.casefold() in _ANSWER_KEYS]
        if len(content) == 1:
            values = [*content.values()]
        content = values[0] if len(values) == 1 else None
    return content if isinstance(content, str) else text


def _dict_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key.casefold() for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)
