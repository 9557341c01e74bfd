"""A question as a chat model is asked it: in the chat template of its tokenizer.

Templates are Jinja, which transformers renders in a sandbox: none of a stranger's code is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from s2lct.errors import ScoringError
from s2lct.hub_calls import said_by

ON_ANY_DAY = "{% macro strftime_now(format) %}26 Jul 2024{% endmacro %}{{ '' }}"
"""In front of a template: one that tells a model the date asks the same question on any day.

It is the day that Llama's templates tell where they know none.
"""


def has_chat_template(tokenizer: Any) -> bool:
    """Whether a tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


class ChatTemplate:
    """The default chat template of a tokenizer, around a question and its answer.

    ``described`` is what decides how a question is rendered. Raises a ScoringError where the
    tokenizer has no such template, or it cannot be used for a single question.
    """

    def __init__(self, tokenizer: Any, model: str) -> None:
        self._tokenizer, self._model = tokenizer, model
        if not has_chat_template(tokenizer):
            raise ScoringError(
                f"model {model}: its tokenizer has no chat template",
                hint="pass --chat-template none",
            )
        # A template may put something between its generation prompt and an answer: a space, or
        # the marks of thoughts that are none.
        with self._told():
            self._template = ON_ANY_DAY + tokenizer.get_chat_template()
        opening, answer = self._rendered("question"), "answer"
        whole = self._rendered("question", answer)
        place = whole.find(answer, len(opening))
        joins = whole.startswith(opening) and place >= 0
        self._joint = whole[len(opening) : place] if joins else ""
        self.described = [self._template, self._joint]

    def opening(self, question: str) -> str:
        """A question, up to where a model begins its answer; special tokens are in it."""
        return self._rendered(question)

    def completed(self, question: str, words: Sequence[str]) -> list[str]:
        """A question with each word as the answer; special tokens are in it, none must be added."""
        opening = self.opening(question)
        return [f"{opening}{self._joint}{word}" for word in words]

    def _rendered(self, question: str, answer: str | None = None) -> str:
        """Up to the generation prompt, or with an answer behind it."""
        turns = [{"role": "user", "content": question}]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        with self._told():
            rendered: str = self._tokenizer.apply_chat_template(
                turns,
                chat_template=self._template,
                tokenize=False,
                add_generation_prompt=answer is None,
                enable_thinking=False,  # as the templates of several families call it
            )
        return rendered

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a template may raise whatever it likes
            raise ScoringError(
                f"model {self._model}: its chat template cannot be used ({said_by(error)})",
                hint="pass --chat-template none, which asks without it",
            ) from error
