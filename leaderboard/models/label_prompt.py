"""The prompt by which a language model labels a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, POLAR_LABELS
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt, space_after


@dataclass(frozen=True, slots=True)
class LabelPrompt:
    """A prompt with ``{text}``, and the words that a language model chooses among.

    Attributes:
        prompt: the prompt.
        words: the words for negative, neutral and positive; or two words, for negative and
            positive, with which an undecided model is neutral (see `LabelRule`).
        chat_template: whether to put the prompt into the tokenizer's chat template; None to do so
            if it has one.

    Raises:
        ScoringError: the prompt has no ``{text}``, or the words cannot be told apart.
    """

    prompt: str = PROMPTS[0]
    words: tuple[str, ...] = LABELS
    chat_template: bool | None = None

    def __post_init__(self) -> None:
        checked_prompt(self.prompt)
        words = ",".join(self.words)
        if len(self.words) not in (2, 3) or not all(word.strip() for word in self.words):
            raise ScoringError(
                f"label words {words}: {len(self.words)} words",
                hint="give three, for negative, neutral and positive, or two, for negative and "
                "positive",
            )
        for word, other in permutations(map(str.casefold, self.words), 2):
            if other.startswith(word):
                raise ScoringError(
                    f"label words {words}: {other!r} begins with {word!r}, which is never "
                    "the less likely of the two",
                    hint="choose words none of which begins with another, in capitals or not",
                )

    @property
    def classes(self) -> tuple[str, ...]:
        """The label of each word, in the order of the words."""
        return LABELS if len(self.words) == len(LABELS) else POLAR_LABELS

    def render(self, text: str) -> str:
        """The prompt with a text in place of ``{text}``."""
        return self.prompt.replace(SLOT, text)

    def completions(self, text: str) -> list[str]:
        """The prompt with a text, followed by each of the words; without a chat template."""
        question = self.render(text)
        return [f"{question}{space_after(question)}{word}" for word in self.words]

    def __str__(self) -> str:
        words, prompt = (json.dumps(part, ensure_ascii=False) for part in (self.words, self.prompt))
        template_words = " in the chat template of its tokenizer" if self.chat_template else ""
        return f"the likeliest of the words {words} behind the prompt {prompt}{template_words}"
