"""What a language model is asked about a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, POLAR_LABELS
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt, space_behind


@dataclass(frozen=True, slots=True)
class LabelPrompt:
    """A prompt with ``{text}``, and the words that a language model chooses among.

    Attributes:
        prompt: the prompt.
        words: for negative, neutral and positive; or two, for negative and positive, where an
            undecided model is neutral (see `LabelRule`).
        chat_template: whether the prompt is asked in the tokenizer's chat template; None for
            wherever there is one.

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
        """The labels that the words mean, in their order."""
        return LABELS if len(self.words) == len(LABELS) else POLAR_LABELS

    def render(self, text: str) -> str:
        """The prompt with a text."""
        return self.prompt.replace(SLOT, text)

    def completions(self, text: str) -> list[str]:
        """The prompt with a text, completed with each word, outside of any chat template."""
        question = self.render(text)
        return [f"{question}{space_behind(question)}{word}" for word in self.words]

    def __str__(self) -> str:
        words, prompt = (json.dumps(part, ensure_ascii=False) for part in (self.words, self.prompt))
        template = " in the chat template of its tokenizer" if self.chat_template else ""
        return f"the likeliest of the words {words} behind the prompt {prompt}{template}"
