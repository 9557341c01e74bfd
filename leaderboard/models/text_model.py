"""What a model is that answers in words: it is read by `text_answers`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.classifier import NamedModel
from s2lct.leaderboard.models.language_model import IN_TEMPLATE, LabelPrompt

MOST_TOKENS = 32
"""Of an answer, where nothing else is asked for."""


@runtime_checkable
class TextModel(NamedModel, Protocol):
    """Anything that answers in words, which `text_answers.label_of` reads."""

    @property
    def asks(self) -> LabelPrompt:
        """What it is asked, and the words that it is to answer with."""

    @property
    def label_rule(self) -> str:
        """How its answers become labels, as recorded with a result."""

    def answer(self, texts: Sequence[str], came: Callable[[int, TextAnswer], None]) -> None:
        """Answer texts, and give each answer with its text's number to ``came`` at once.

        That is called from any thread, one call at a time.
        """


def answer_rule(asks: LabelPrompt) -> str:
    """How what a model writes becomes a label, as recorded with a result."""
    words, prompt = (json.dumps(one, ensure_ascii=False) for one in (asks.words, asks.prompt))
    template = IN_TEMPLATE if asks.chat_template else ""
    return f"the one of the words {words} that it answers the prompt {prompt} with{template}"


def written_rule(asks: LabelPrompt, most_tokens: int) -> str:
    """The same, and how much it writes."""
    return f"answers in words (at most {most_tokens} tokens); {answer_rule(asks)}"


def check_words(asks: LabelPrompt) -> None:
    """Refuse label words that are one word to `text_answers`, with a ScoringError."""
    if len({word.casefold() for word in asks.words}) < len(asks.words):
        raise ScoringError(
            f"--label-words {','.join(asks.words)}: two differ in capital letters only",
            hint="choose words that an answer tells apart",
        )
