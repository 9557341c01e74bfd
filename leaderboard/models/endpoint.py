"""Models behind an OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, LM Studio, a provider."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from s2lct.errors import ScoringError
from s2lct.hub_calls import without_token
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.plain_text import plain

API_KEY = "OPENAI_API_KEY"
TEMPERATURE, SEED = 0.0, 0
CONCURRENCY = 8
MOST_TOKENS = 32
"""Of an answer, where nothing else is asked for."""
RETRIES, FIRST_RETRIES = 7, 2
SECONDS = 120.0
"""Most that a response may take."""
MOST_BYTES = 4 << 20
"""Of a response: an answer has a few hundred."""
_VALID = timedelta(days=1)
"""So long are kept answers taken for those of the model that answers now."""
_LONGEST_WORDS = 200
_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_ADDRESS = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?(?:/[\w.~%:+/-]*)?", re.A)
_DAY = r"^(\d{4}-\d\d-\d\d)?$"
_REPLACED = {"max_tokens": "max_completion_tokens", "temperature": "", "seed": ""}
"""What a server may refuse to take, and what it takes instead."""


def address_of(url: str) -> str:
    """An address of a server in its one spelling.

    Raises:
        ValueError: it is none, or has more than a host and a path, such as a password.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:  # which repeats what may be a password
        raise ValueError("is no address of a server") from None
    host = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    place = host if port in (None, usual) else f"{host}:{port}"
    path = re.sub("/+", "/", parts.path).rstrip("/")
    address = f"{parts.scheme}://{place}{path}"
    has_more = parts.username or parts.password or parts.query or parts.fragment
    if has_more or not _ADDRESS.fullmatch(address):
        raise ValueError("is no address of host and path alone")
    return address


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
    temperature: float | None
    seed: int | None
    max_tokens: int = Field(ge=1)
    requests: int = Field(ge=0)
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
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

    Raises:
        ScoringError: the address is none, label words are alike, or the server does not answer.
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
    ) -> None:
        import openai

        try:
            self.url = address_of(url)
        except ValueError as error:
            # It may hold a key: it is not repeated.
            raise ScoringError(
                f"--base-url: {error}",
                hint="write it like http://localhost:8000/v1 or https://api.openai.com/v1, without "
                f"names, passwords and what follows ?; export a key as {API_KEY}",
            ) from None
        self.name, self.asks, self.most_tokens = name, asks, most_tokens
        self._keeps_answers = keeps_answers
        words, prompt = (json.dumps(part, ensure_ascii=False) for part in (asks.words, asks.prompt))
        self.label_rule = (
            f"answers in words (at most {most_tokens} tokens); the one of the words {words} that "
            f"it answers the prompt {prompt} with"
        )
        self._key = os.environ.get(API_KEY, "").strip()
        self._options: dict[str, Any] = {
            "model": name,
            "temperature": TEMPERATURE,
            "seed": SEED,
            "max_tokens": most_tokens,
        }
        # Without a key the client would look for others in the environment.
        client = openai.OpenAI(
            base_url=self.url,
            api_key=self._key or "none",
            timeout=SECONDS,
            max_retries=RETRIES,
            http_client=_bounded_client(),
        )
        self._first = self._first_answer(client.with_options(max_retries=FIRST_RETRIES))
        self._client = client
        # What is read out of an answer is no part of it: better reading asks nothing again.
        kept = [field.name for field in fields(TextAnswer)]
        self.fingerprint = fingerprint_of([kept, self.url, asks.prompt, *self._options.values()])

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
            temperature=self._options.get("temperature"),
            seed=self._options.get("seed"),
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

    def _first_answer(self, client: Any) -> TextAnswer:
        """An answer, which settles with what options the server is asked."""
        from openai import APIError, BadRequestError

        while True:
            try:
                return self._answer(client, "")
            except BadRequestError as error:
                refused = error.param or str(error)
                name = next((n for n in _REPLACED if re.search(rf"\b{n}\b", refused)), None)
                if name not in self._options:
                    raise self._error(error) from None
                value = self._options.pop(name)
                if other := _REPLACED[name]:
                    self._options[other] = value
            except APIError as error:
                raise self._error(error) from None

    def _checked(self, text: str) -> TextAnswer:
        """The answer to a text, of the model that answered first: no result is of two models."""
        from openai import APIError

        try:
            answer = self._answer(self._client, text)
        except APIError as error:
            raise self._error(error) from None
        if answer.model != self._first.model:
            raise self._error(
                f"it now answers as {answer.model!r}, earlier as {self._first.model!r}"
            )
        return answer

    def _answer(self, client: Any, text: str) -> TextAnswer:
        """The answer to a text; what the server does not take is raised as openai's APIError."""
        try:
            found = client.chat.completions.create(
                messages=[{"role": "user", "content": self.asks.about(text)}], **self._options
            )
            choice, usage = found.choices[0], found.usage
            return TextAnswer(
                text=choice.message.content or "",
                finish=choice.finish_reason or "stop",
                refusal=getattr(choice.message, "refusal", None) or "",
                model=self._shown(found.model or ""),
                system_fingerprint=self._shown(getattr(found, "system_fingerprint", None) or ""),
                prompt_tokens=usage.prompt_tokens if usage else 0,
                completion_tokens=usage.completion_tokens if usage else 0,
                time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            )
        except (AttributeError, IndexError, TypeError, ValueError, RecursionError):
            raise self._error("it sends no answer of a chat model") from None

    def _error(self, why: object) -> ScoringError:
        cause = getattr(why, "__cause__", None)
        return ScoringError(
            f"model {self.name} at {self.url}: {self._shown(why)}"
            + (f" ({self._shown(cause)})" if cause else ""),
            hint="check address (mostly up to /v1), model and key, which is exported as "
            f"{API_KEY}; what was answered is kept, and the same command goes on",
        )

    def _shown(self, said: object) -> str:
        """Words of a server, which may echo the key that it was sent."""
        text = str(said).replace(self._key, "…") if self._key else str(said)
        return plain(without_token(text), _LONGEST_WORDS)


def _bounded_client() -> Any:
    """A client for openai's whose responses end, in time and in bytes."""
    import httpx

    class Bounded(httpx.Client):
        def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
            deadline, body = time.monotonic() + SECONDS, bytearray()
            response = super().send(request, **how | {"stream": True})
            try:
                for part in response.iter_raw():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise httpx.ReadError(f"it sends more than {MOST_BYTES:,} bytes")
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout(f"it sends for more than {SECONDS:g} seconds")
            finally:
                response.close()
            # A few packed bytes may be many: packed ones were not asked for, and stay packed.
            headers = [pair for pair in response.headers.items() if pair[0] in _HEADERS]
            return httpx.Response(
                response.status_code, headers=headers, content=bytes(body), request=request
            )

    return Bounded(headers={"Accept-Encoding": "identity"}, timeout=SECONDS)
