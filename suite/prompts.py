"""The prompts that ask a language model for the sentiment of a text."""

from __future__ import annotations

from s2lct.errors import ScoringError

SLOT = "{text}"
PROMPTS = (
    "Review: {text}\nSentiment (negative, neutral or positive):",
    "Is the sentiment of the following sentence negative, neutral or positive?\n\n{text}\n\n"
    "Answer with one word:",
    "Text: {text}\nClassify this text as positive, neutral or negative.\nAnswer:",
)
"""Prompts with `SLOT` for the text, the default first. Figures of several prompts are compared,
because the figures of one prompt say little about a model."""
_OPENING_MARKS = ('"', "'", "“", "‘", "«", "(", "[")


def checked_prompt(prompt: str) -> str:
    r"""A prompt in which ``\n`` is replaced by a line break.

    Raises:
        ScoringError: the prompt lacks `SLOT`.
    """
    if SLOT not in prompt:
        raise ScoringError(
            f"--prompt {prompt!r}: has no {SLOT}",
            hint=f"write {SLOT} where the sentence belongs, as in {PROMPTS[0]!r}",
        )
    return prompt.replace("\\n", "\n")


def space_after(prompt: str) -> str:
    """The text between a prompt and the word that completes it: a space, or nothing."""
    return "" if prompt[-1:].isspace() or prompt.endswith(_OPENING_MARKS) else " "
