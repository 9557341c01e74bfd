"""Models behind an OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, LM Studio, a provider."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, fields
from datetime import datetime, timedelta, timezone
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from s2lct.chat_client import SECONDS, ChatClient, ChatServerError, address_of, key_in
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import LabelPrompt

API_KEY = "OPENAI_API_KEY"
TEMPERATURE, SEED = 0.0, 0
CONCURRENCY = 8
MOST_TOKENS = 32
"""Of an answer, where nothing else is asked for."""
_VALID = timedelta(days=1)
"""So long are kept answers taken for those of the model that answers now."""
_DAY = r"^(\d{4}-\d\d-\d\d)?$"


_MOST_COUNTED = 1 << 53


class EndpointUse(BaseModel):
    """Which endpoint answered, and what that took; nobody can ask the same model again.

    ``model_reported`` and ``system_fingerprint`` are what the provider called the model,
    ``temperature`` and ``seed`` None where it does not take them. ``requests`` and tokens are of
    all answers, whenever they came, the days those of the first and the last.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(address_of)]
    model_reported: str
    system_fingerprint: str = ""
    temperature: float | None = Field(allow_inf_nan=False)
    seed: int | None = Field(gt=-_MOST_COUNTED, lt=_MOST_COUNTED)
    max_tokens: int = Field(ge=1, lt=_MOST_COUNTED)
    requests: int = Field(ge=0, lt=_MOST_COUNTED)
    prompt_tokens: int = Field(ge=0, lt=_MOST_COUNTED)
    completion_tokens: int = Field(ge=0, lt=_MOST_COUNTED)
    first_day: str = Field(pattern=_DAY)
    last_day: str = Field(pattern=_DAY)


class EndpointModel:
    """A chat model of a server, which answers in words: one question a text, at temperature 0.

    A first request shows whether there is a server, which of the usual options it takes, and what
    it calls the model. Kept answers of another model, or that are older than a day, are asked anew.

    Args:
        name: what the server knows the model by.
        asks: the question.
        url: of the server, mostly up to ``/v1``.
        most_tokens: of an answer.
        keeps_answers: kept answers of the model count however old they are.
        seconds: most that a response may take.

    Raises:
        OptionError: the address is none, or the key cannot be one.
        ScoringError: label words are alike, or the server does not answer.
    """

    revision = ""
    weights_sha256 = ""

    def __init__(
        self,
        name: str,
        asks: LabelPrompt,
        url: str,
        most_tokens: int = MOST_TOKENS,
        *,
        keeps_answers: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        options = {"temperature": TEMPERATURE, "seed": SEED, "max_tokens": most_tokens}
        self._chat = ChatClient(url, name, options, key_in(API_KEY), seconds=seconds)
        self.url = self._chat.url
        self.name, self.asks, self.most_tokens = name, asks, most_tokens
        self._keeps_answers = keeps_answers
        words, prompt = (json.dumps(part, ensure_ascii=False) for part in (asks.words, asks.prompt))
        self.label_rule = (
            f"answers in words (at most {most_tokens} tokens); the one of the words {words} that "
            f"it answers the prompt {prompt} with"
        )
        self._first = self._answer("")
        # What is read out of an answer is no part of it: better reading asks nothing again.
        kept = [field.name for field in fields(TextAnswer)]
        self.fingerprint = fingerprint_of(
            [kept, self.url, asks.prompt, name, *self._chat.options.values()]
        )

    def is_current(self, answer: TextAnswer) -> bool:
        """Whether a kept answer is taken for one of the model that answers now."""
        if self._keeps_answers or answer.model != self._first.model:
            return answer.model == self._first.model
        age = datetime.now(timezone.utc) - datetime.fromisoformat(answer.time)
        return answer.system_fingerprint == self._first.system_fingerprint and age <= _VALID

    def use(self, answers: Iterable[TextAnswer]) -> EndpointUse:
        """What answers took."""
        answers = sorted(answers, key=lambda answer: answer.time) or [TextAnswer("")]
        return EndpointUse(
            url=self.url,
            model_reported=answers[-1].model,
            system_fingerprint=answers[-1].system_fingerprint,
            temperature=self._chat.options.get("temperature"),
            seed=self._chat.options.get("seed"),
            max_tokens=self.most_tokens,
            requests=len(answers),
            prompt_tokens=sum(answer.prompt_tokens for answer in answers),
            completion_tokens=sum(answer.completion_tokens for answer in answers),
            first_day=answers[0].time[:10],
            last_day=answers[-1].time[:10],
        )

    def answers(self, texts: Sequence[str]) -> Iterator[tuple[int, TextAnswer]]:
        """Answer texts, several at a time: their numbers with the answers, as they come.

        Raises:
            ScoringError: the server refuses, does not answer a text however often it is asked, or
                changes its model meanwhile.
        """
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            futures = {pool.submit(self._checked, text): n for n, text in enumerate(texts)}
            try:
                for done in as_completed(futures):
                    yield futures[done], done.result()
            finally:
                for future in futures:
                    future.cancel()

    def _checked(self, text: str) -> TextAnswer:
        """The answer to a text, of the model that answered first: no result is of two models."""
        answer = self._answer(text)
        if answer.model != self._first.model:
            raise self._error(
                f"it now answers as {answer.model!r}, earlier as {self._first.model!r}"
            )
        return answer

    def _answer(self, text: str) -> TextAnswer:
        try:
            answer = self._chat.ask(self.asks.about(text))
        except ChatServerError as error:
            raise self._error(str(error)) from error
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return TextAnswer(**asdict(answer), time=now)

    def _error(self, why: str) -> ScoringError:
        return ScoringError(
            f"model {self.name} at {self.url}: {why}",
            hint="check address (mostly up to /v1), model and key, which is exported as "
            f"{API_KEY}; what was answered is kept, and the same command goes on",
        )
