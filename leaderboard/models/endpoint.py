"""Models behind an OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, LM Studio, a provider."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from importlib import import_module
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.errors import ScoringError
from s2lct.hub_calls import without_token
from s2lct.identity import fingerprint_of
from s2lct.labels import SLOT
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import MOST_TOKENS, LabelPrompt
from s2lct.plain_text import plain

API_KEY = "OPENAI_API_KEY"
TEMPERATURE, SEED = 0.0, 0
CONCURRENCY = 8
_KEPT = 2  # raise it when what is kept of an answer changes
_WITHOUT_KEY = "none"
_LONGEST_WORDS = 200
_MOST_BYTES = 4 << 20
"""Of a response: an answer has a few hundred."""
_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_FIRST_RETRIES, _CONNECT = 2, 5.0
_ATTEMPTS = 3
"""How often a server may send what is no answer, such as the page of a proxy that is busy."""
_VALID = timedelta(days=1)
_ADDRESS = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?(?:/[\w.~%:+/-]*)?", re.A)
_REPLACED = {"max_tokens": "max_completion_tokens", "temperature": "", "seed": ""}
"""What a server may refuse to take, and what it takes instead."""
_Tokens = Annotated[int, Field(ge=0, le=10**9)]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: _Tokens = 0
    completion_tokens: _Tokens = 0


class _Completion(BaseModel):
    """What is read of a response; pydantic refuses what is nested too deeply."""

    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None


def address_of(url: str) -> str:
    """An address of a server in its one spelling.

    Raises:
        ValueError: it is none, or has more than a host and a path.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:  # which repeats what may be a password
        raise ValueError("is no address of a server") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("is no address of host and path alone")
    host = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    place = host if port in (None, usual) else f"{host}:{port}"
    path = re.sub("/+", "/", parts.path).rstrip("/")
    address = f"{parts.scheme}://{place}{path}"
    if not _ADDRESS.fullmatch(address):
        raise ValueError("is no address of a server")
    return address


@dataclass(frozen=True, slots=True)
class Server:
    """Where models are asked, and how.

    Attributes:
        url: of the server, mostly up to ``/v1``; kept as `address_of` spells it.
        most_tokens: of an answer.
        keeps_answers: answers of earlier runs count however old they are, and whatever model the
            server has now.
        retries: how often a request is sent again where the server is busy or broken.
        seconds: most that a response may take.
    """

    url: str
    most_tokens: int = MOST_TOKENS
    keeps_answers: bool = False
    retries: int = 7
    seconds: float = 120.0

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "url", address_of(self.url))
        except ValueError as error:
            # It may hold a key: it is not repeated.
            raise ScoringError(
                f"--base-url: {error}",
                hint="write it like http://localhost:8000/v1 or https://api.openai.com/v1, without "
                f"names, passwords and what follows ?; export a key as {API_KEY}",
            ) from None


class EndpointUse(BaseModel):
    """Which endpoint answered, and what that took; nobody can ask the same model again.

    ``model_reported`` and ``system_fingerprint`` are what the provider called the model,
    ``temperature`` and ``seed`` None where it does not take them. ``requests`` and tokens are of
    all answers, whenever they came, the days those of the first and the last; ``reused`` of them
    are kept from earlier runs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    model_reported: str
    system_fingerprint: str = ""
    temperature: float | None
    seed: int | None
    max_tokens: int = Field(ge=1)
    requests: int = Field(ge=0)
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    first_day: str
    last_day: str
    reused: int = Field(default=0, ge=0)


class EndpointModel:
    """A chat model of a server, as a `TextModel`: one question a text, at temperature 0.

    Attributes:
        sent: how many requests were sent so far, with those that were not answered.

    Raises:
        ScoringError: the key is none, or label words are alike.
    """

    revision = ""
    weights_sha256 = ""

    def __init__(self, name: str, asks: LabelPrompt, server: Server) -> None:
        import_module("openai")  # what is missing is said before anything is asked
        asks.check_words()
        self.name, self.asks, self.server = name, asks, server
        self._key = os.environ.get(API_KEY, "").strip()
        if not self._key.isascii() or not self._key.isprintable():
            raise ScoringError(f"{API_KEY}: holds what no key does", hint="export the key alone")
        self._options: dict[str, Any] = {
            "model": name,
            "temperature": TEMPERATURE,
            "seed": SEED,
            "max_tokens": server.most_tokens,
        }
        # What is read out of an answer is no part of it: better reading asks nothing again.
        self.fingerprint = fingerprint_of(
            [str(_KEPT), server.url, asks.prompt, *map(str, self._options.values())]
        )
        self.sent = 0  # requests
        # Called in the thread that asked, so that no answer waits for another to be kept.
        self.keep: Callable[[str, TextAnswer], None] = lambda text, answer: None
        self._first: TextAnswer | None = None
        self._model: str | None = None
        self._lock = threading.Lock()

    @property
    def label_rule(self) -> str:
        """How its answers become labels."""
        return self.asks.written_rule(self.server.most_tokens)

    def is_current(self, answer: TextAnswer) -> bool:
        """Whether an earlier answer is from the model that answers now, and not too old."""
        first = self._first
        return (
            first is not None
            and (answer.model, answer.system_fingerprint) == (first.model, first.system_fingerprint)
            and datetime.now(timezone.utc) - datetime.fromisoformat(answer.time) <= _VALID
        )

    def goes_on(self, kept: Iterable[TextAnswer]) -> None:
        """Take no answer that is of another model than earlier ones.

        Raises:
            ScoringError: these are of several models.
        """
        for model in sorted({answer.model for answer in kept}):
            self._check_model(model, "kept answers are")

    def use(self, answers: Iterable[TextAnswer], reused: int = 0) -> EndpointUse:
        """What answers took, of which so many were kept from earlier runs."""
        answers = list(answers)
        days = sorted(answer.time[:10] for answer in answers) or [""]
        latest = max(answers, key=lambda answer: answer.time, default=TextAnswer(""))
        return EndpointUse(
            url=self.server.url,
            model_reported=latest.model,
            temperature=self._options.get("temperature"),
            seed=self._options.get("seed"),
            max_tokens=self.server.most_tokens,
            requests=sum(answer.requests for answer in answers),
            prompt_tokens=sum(answer.prompt_tokens for answer in answers),
            completion_tokens=sum(answer.completion_tokens for answer in answers),
            first_day=days[0],
            last_day=days[-1],
            reused=reused,
            system_fingerprint=latest.system_fingerprint,
        )

    def answers(self, texts: Sequence[str]) -> Iterator[tuple[int, TextAnswer]]:
        """Answer texts, several at a time; see `TextModel`.

        The first of all texts is answered alone: it shows whether there is a server, which of the
        usual options it takes, and what it calls the model. When asking is stopped, what is under
        way is still answered.

        Raises:
            ScoringError: the server refuses, does not answer a text however often it is asked, or
                changes its model meanwhile.
        """
        numbers = list(range(len(texts)))
        with self._client() as client, ThreadPoolExecutor(CONCURRENCY) as pool:
            if self._first is None:
                yield numbers.pop(0), self._first_answer(client, texts[0])
            futures = {pool.submit(self._answer, client, texts[n]): n for n in numbers}
            try:
                for done in as_completed(list(futures)):
                    yield futures[done], done.result()
                    del futures[done]
            except (ScoringError, KeyboardInterrupt):
                for future in [future for future in futures if not future.cancel()]:
                    if future.exception() is None:
                        yield futures[future], future.result()
                raise
            finally:
                for future in futures:
                    future.cancel()

    def _client(self) -> Any:
        """A client whose responses end, in time and in bytes."""
        import httpx
        import openai

        # The client takes connections of httpx and of httpx2, and names either in its types.
        make: Any = openai.OpenAI
        model, seconds = self, self.server.seconds

        class Bounded(httpx.Client):
            def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
                with model._lock:
                    model.sent += 1
                deadline, body = time.monotonic() + seconds, bytearray()
                response = super().send(request, **how | {"stream": True})
                try:
                    for part in response.iter_raw():
                        body += part
                        if len(body) > _MOST_BYTES:
                            raise httpx.ReadError(f"it sends more than {_MOST_BYTES:,} bytes")
                        if time.monotonic() > deadline:
                            raise httpx.ReadTimeout(f"it sends for more than {seconds:g} seconds")
                finally:
                    response.close()
                # A few packed bytes may be many: packed ones were not asked for, and stay packed.
                headers = [pair for pair in response.headers.items() if pair[0] in _HEADERS]
                return httpx.Response(
                    response.status_code, headers=headers, content=bytes(body), request=request
                )

        return make(
            base_url=self.server.url,
            # Without one the client would look for others in the environment.
            api_key=self._key or _WITHOUT_KEY,
            max_retries=self.server.retries,
            timeout=httpx.Timeout(seconds, connect=_CONNECT),
            http_client=Bounded(headers={"Accept-Encoding": "identity"}),
        )

    def _first_answer(self, client: Any, text: str) -> TextAnswer:
        """The answer to the first text, which settles with what options the server is asked."""
        from openai import BadRequestError

        client = client.with_options(max_retries=min(_FIRST_RETRIES, self.server.retries))
        while True:
            try:
                self._first = self._answer(client, text, refused=BadRequestError)
            except BadRequestError as error:
                named = error.param or str(error)
                name = next((n for n in _REPLACED if re.search(rf"\b{n}\b", named)), None)
                if name not in self._options:
                    raise self._error(self._said(error)) from None
                value = self._options.pop(name)
                if other := _REPLACED[name]:
                    self._options[other] = value
            else:
                return self._first

    def _answer(
        self, client: Any, text: str, refused: type[Exception] | tuple[()] = ()
    ) -> TextAnswer:
        """The answer to a text; what is ``refused`` is raised as it is."""
        from openai import APIError

        question, requests, why = self.asks.prompt.replace(SLOT, text), 0, ""
        for _ in range(_ATTEMPTS):
            try:
                response = client.chat.completions.with_raw_response.create(
                    messages=[{"role": "user", "content": question}], **self._options
                )
                requests += 1 + response.retries_taken
                found = _Completion.model_validate_json(response.http_response.content)
                answer = self._checked(found, requests)
                self.keep(text, answer)
                return answer
            except ValidationError as error:
                fault = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, fault["loc"]))
                why = f"it sends no answer that can be read ({where} {fault['msg']})".strip()
            except refused:
                raise
            except APIError as error:
                raise self._error(self._said(error)) from None
        raise self._error(why)

    def _checked(self, found: _Completion, requests: int) -> TextAnswer:
        choice, usage = found.choices[0], found.usage or _Usage()
        model = self._short(found.model or "")
        self._check_model(model, "it now answers as")
        return TextAnswer(
            text=self._without_key(choice.message.content or ""),
            finish=choice.finish_reason or "stop",
            refusal=self._without_key(choice.message.refusal or ""),
            model=model,
            system_fingerprint=self._short(found.system_fingerprint or ""),
            requests=requests,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )

    def _check_model(self, model: str, what: str) -> None:
        """No result is of two models."""
        with self._lock:
            known = self._model = model if self._model is None else self._model
        if model != known:
            raise self._error(
                f"{what} {model!r}, earlier ones {known!r}",
                "name the one model that the server is to answer with; without --keep-answers, "
                "answers of another are asked again",
            )

    def _error(self, why: str, hint: str = "") -> ScoringError:
        return ScoringError(
            f"model {self.name} at {self.server.url}: {why}",
            hint=hint
            or "check address (mostly up to /v1), model and key, which is exported as "
            f"{API_KEY}; the same command goes on",
        )

    def _said(self, error: BaseException) -> str:
        causes = [error, error.__cause__] if error.__cause__ else [error]
        message = ": ".join(
            f"{type(cause).__name__}: {' '.join(str(cause).split())}" for cause in causes
        )
        return self._short(without_token(self._without_key(message)))

    def _short(self, text: str) -> str:
        return plain(self._without_key(text), _LONGEST_WORDS)

    def _without_key(self, text: str) -> str:
        """Without the key: servers echo what they were sent."""
        return text.replace(self._key, "…") if self._key else text
