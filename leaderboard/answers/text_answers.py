"""From a model's answer in words to a label, a refusal, or an answer that cannot be read.

The rules, in their order; letters' case, Unicode forms and the marks of Markdown change nothing:

1. An answer that is empty, or was cut off, cannot be read. What a model thinks before it answers,
   ``<think>…</think>``, is no part of the answer; of the rest `MOST_CHARACTERS` are read.
2. What the server marks as a refusal is one.
3. JSON is read by its one value, or by its ``label``, ``sentiment`` or ``answer``.
4. What an answer quotes, three words and more in quotation marks, is left out.
5. An answer with one of the label words, as often as it likes, means that label, unless a sentence
   with it negates, doubts or asks ("not negative", "negative or mixed", "negative?").
6. Any other answer is a refusal where it says so ("I can't help with that", "As an AI …"). What is
   left, two label words or none, cannot be read.

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
"""Beside the ids of labels in arrays of what models said: both fail every case."""
ANSWER_IDS = UNREADABLE + 1
"""How many ids an array of what models said can have."""
PREDICTED = (*LABELS, "nothing: it refused", "nothing that can be read")
"""What a model predicts, in words, by these ids."""

MOST_CHARACTERS = 4_000
"""Of an answer, without what was thought before it: the rest is not read."""
_MARKDOWN = re.compile(r"[*_`#~]+")
_THOUGHT_OPENS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_CLOSES = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE, _LANGUAGE = "```", re.compile(r"^\w*")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|“([^“”\n]*)”|«([^«»\n]*)»")
_QUOTED_WORDS = 3
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
_ANSWER_KEYS = ("label", "sentiment", "answer")
_NEGATED = re.compile(
    r"\b(?:not|no|non|never|neither|nor|cannot|without|hardly|barely|instead|rather|than|except|"
    r"far\s+from|\w+n't)\b",
)
_DOUBTED = re.compile(
    r"\b(?:or|versus|vs|between|both|either|mixed|unclear|ambiguous|unsure|uncertain|maybe|"
    r"perhaps|possibly|depends?|depending|could|might|if|unless)\b|/|\?"
)
_LABEL = "\0"
_COMPOUND = re.compile(rf"\w-{_LABEL}|{_LABEL}-\w")
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
    """What a model wrote, as it came, and what it took to get it.

    Attributes:
        text: its words.
        finish: why it ended, as OpenAI's API calls it: ``stop``, ``length``, ``content_filter``.
        refusal: what the server has as the words of a refusal.
        model: what the server calls the model that answered.
        prompt_tokens, completion_tokens: of the question and of the answer.
        time: when, as an ISO date and time in UTC.
        system_fingerprint: what the server calls the system that the model runs on.
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
    """The id of a label, `REFUSED` or `UNREADABLE`.

    Args:
        answer: a model's.
        words: those that it was to choose among.
        meanings: the ids of their labels.
    """
    if answer.refusal.strip() or answer.finish == "content_filter":
        return REFUSED
    # Every pattern below takes time in proportion to what is left.
    text = _without_thought(answer.text)[:MOST_CHARACTERS]
    text = unicodedata.normalize("NFKC", text)[:MOST_CHARACTERS]
    if answer.finish == "length" or not text.strip():
        return UNREADABLE
    found = [_plain(word) for word in words]
    text = _plain(_without_quotations(_json_value(text)))
    # The longest first, so that "not bad" is not taken for "bad".
    ordered = "|".join(re.escape(word) for word in sorted(found, key=len, reverse=True))
    label = re.compile(rf"(?<!\w)(?:{ordered})(?!\w)")
    named, clear = set(label.findall(text)), label.sub(_LABEL, text)
    sentences = [part for part in _SENTENCE.findall(clear) if _LABEL in part]
    if len(named) == 1 and not any(map(_wavers, sentences)):
        return meanings[found.index(named.pop())]
    return REFUSED if _REFUSAL.search(text) else UNREADABLE


def _wavers(sentence: str) -> bool:
    """Whether a sentence negates or doubts the label in it, or has it as a part of another word."""
    return any(rule.search(sentence) for rule in (_NEGATED, _DOUBTED, _COMPOUND))


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace(_LABEL, "").casefold()
    lines = (" ".join(line.split()) for line in _MARKDOWN.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))


def _without_thought(text: str) -> str:
    """An answer without what a model thought before it; nothing where the thought does not end."""
    text = text.lstrip()
    if not _THOUGHT_OPENS.match(text):
        return text
    closed = _THOUGHT_CLOSES.search(text)
    return text[closed.end() :] if closed else ""


def _without_fence(text: str) -> str:
    """What stands in a block of code that is all of an answer; else the text itself."""
    text = text.strip()
    if not (text.startswith(_FENCE) and text.endswith(_FENCE) and len(text) >= 2 * len(_FENCE)):
        return text
    return _LANGUAGE.sub("", text[len(_FENCE) : -len(_FENCE)])


def _without_quotations(text: str) -> str:
    def shortened(match: re.Match[str]) -> str:
        words = next((part for part in match.groups() if part is not None), "")
        return " … " if len(words.split()) >= _QUOTED_WORDS else match[0]

    return _QUOTED.sub(shortened, text)


def _json_value(text: str) -> str:
    """The answer in a JSON object or string; the text itself where it is none."""
    try:
        content = json.loads(_without_fence(text), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return text
    if isinstance(content, dict):
        values = [content[key] for key in content if key.casefold() in _ANSWER_KEYS]
        if len(content) == 1:
            values = [*content.values()]
        content = values[0] if len(values) == 1 else None
    return content if isinstance(content, str) else text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len({key.casefold() for key in found}) < len(pairs):
        raise ValueError("a key stands there twice")
    return found
