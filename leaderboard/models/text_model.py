"""What a model is that answers in words: it is read by `text_answers`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import LabelPrompt


@runtime_checkable
class TextModel(Protocol):
    """Anything that answers in words, which `text_answers.label_of` reads."""

    @property
    def name(self) -> str:
        """What tables show."""

    @property
    def revision(self) -> str:
        """The Hub commit; empty if there is none."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what decides its answers."""

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
    return f"the one of the words {words} that it answers the prompt {prompt} with"
