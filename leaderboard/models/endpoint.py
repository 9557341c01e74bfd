"""Models behind an OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, LM Studio, a provider."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

from s2lct.errors import ScoringError
from s2lct.hub_calls import without_token
from s2lct.identity import fingerprint_of
from s2lct.labels import SLOT
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.text_model import MOST_TOKENS, check_words, written_rule
from s2lct.plain_text import plain

API_KEY = "OPENAI_API_KEY"
TEMPERATURE, SEED = 0.0, 0
CONCURRENCY = 8
_WITHOUT_KEY = "none"
_LONGEST_WORDS = 200
_LAST_ANSWERS = 10.0
"""Seconds that what is under way has to be answered, once asking is stopped."""
_ASKED_AGAIN = (408, 409, 429)
_REFUSED = {
    400: "the server does not take the request; check the model's name and what it can be asked",
    401: "the server does not take the key; export it as {key}, or name another variable with "
    "--api-key-env",
    403: "the key may not use this model; ask its provider, or export another key as {key}",
    404: "check the address, which most servers want up to /v1, and the model's name",
}


@dataclass(frozen=True, slots=True)
class Waits:
    """How often a request is sent, and how long is waited between, in seconds.

    ``first`` doubles from one to the next, up to ``longest``, where the server does not say how
    long. One that wants more than ``patience`` is given up.
    """

    requests: int = 8
    first: float = 0.5
    longest: float = 30.0
    patience: float = 600.0
    answer: float = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where models are asked, and how.

    Attributes:
        url: of the server, mostly up to ``/v1``.
        api_key_env: the environment variable with the key, as the user named it; empty for
            `API_KEY`, which need not be set.
        concurrency: most requests at a time.
        most_tokens: of an answer.
        waits: see `Waits`.
    """

    url: str
    api_key_env: str = ""
    concurrency: int = CONCURRENCY
    most_tokens: int = MOST_TOKENS
    waits: Waits = Waits()

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, secrets = parts.hostname, [parts.username, parts.password, parts.query]
        except ValueError:
            host, parts, secrets = None, None, []
        if parts is None or parts.scheme not in ("http", "https") or not host:
            raise ScoringError(
                "--base-url: is no address of a server",
                hint="write it like http://localhost:8000/v1 or https://api.openai.com/v1",
            )
        if any(secrets) or parts.fragment:
            # It may hold a key, and is recorded with every result.
            raise ScoringError(
                f"--base-url: has more than a host and a path ({parts.scheme}://{host}…)",
                hint=f"leave out names, passwords and what follows ?; export a key as {API_KEY}, "
                "or name its variable with --api-key-env",
            )

    def key(self) -> str:
        """The key; empty where there is none and none was asked for.

        Raises:
            ScoringError: the variable that the user named is not set.
        """
        key = os.environ.get(self.api_key_env or API_KEY, "").strip()
        if self.api_key_env and not key:
            raise ScoringError(
                f"--api-key-env {self.api_key_env}: the environment has no such variable",
                hint=f"export {self.api_key_env}=…, or leave the option out",
            )
        if not key.isascii() or not key.isprintable():
            raise ScoringError(
                f"{self.api_key_env or API_KEY}: holds what no key does",
                hint="export the key alone, in one line",
            )
        return key


@dataclass(frozen=True, slots=True)
class EndpointUse:
    """Which endpoint answered, and what that took; nobody can ask the same model again.

    ``model_reported`` is what the provider called the model, ``requests`` and tokens are of all
    answers, whenever they came, and the days those of the first and the last.
    """

    url: str
    model_reported: str
    temperature: float
    seed: int
    max_tokens: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    first_day: str
    last_day: str


class EndpointModel:
    """A chat model of a server, as a `TextModel`: one question a text, at temperature 0.

    Attributes:
        sent: how many requests were sent so far, with those that were not answered.

    Raises:
        ScoringError: the package openai is missing, the key is, or label words are alike.
    """

    revision = ""
    weights_sha256 = ""

    def __init__(self, name: str, asks: LabelPrompt, server: Server) -> None:
        if find_spec("openai") is None:
            raise ScoringError(
                "--base-url: the package openai is not installed",
                hint='pip install "s2lct[endpoints]"',
            )
        check_words(asks)
        self.name, self.asks, self.server = name, asks, server
        self._key = server.key()
        self._options = {
            "model": name,
            "temperature": TEMPERATURE,
            "seed": SEED,
            "max_tokens": server.most_tokens,
        }
        # What is read out of an answer is no part of it: better reading asks nothing again.
        self.fingerprint = fingerprint_of(
            [server.url.rstrip("/"), asks.prompt, *map(str, self._options.values())]
        )
        self.sent = 0  # requests
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def asking(self, asks: LabelPrompt) -> EndpointModel:
        """The same model of the same server, with another question."""
        return EndpointModel(self.name, asks, self.server)

    @property
    def label_rule(self) -> str:
        """How its answers become labels."""
        return written_rule(self.asks, self.server.most_tokens)

    def use(self, answers: Iterable[TextAnswer]) -> EndpointUse:
        """What answers took."""
        answers = list(answers)
        names = Counter(one.model for one in answers if one.model)
        days = sorted(one.day for one in answers) or [""]
        return EndpointUse(
            url=self.server.url.rstrip("/"),
            model_reported=", ".join(name for name, _ in names.most_common(3)),
            temperature=TEMPERATURE,
            seed=SEED,
            max_tokens=self.server.most_tokens,
            requests=sum(one.requests for one in answers),
            prompt_tokens=sum(one.prompt_tokens for one in answers),
            completion_tokens=sum(one.completion_tokens for one in answers),
            first_day=days[0],
            last_day=days[-1],
        )

    def answer(self, texts: Sequence[str], came: Callable[[int, TextAnswer], None]) -> None:
        """Answer texts, several at a time; see `TextModel`.

        Raises:
            ScoringError: the server refuses, or does not answer a text however often it is asked.
        """
        from openai import OpenAI

        client = OpenAI(
            base_url=self.server.url,
            # Without one the client would look for others in the environment.
            api_key=self._key or _WITHOUT_KEY,
            max_retries=0,
            timeout=self.server.waits.answer,
        )
        self._stopped.clear()
        pause, numbers, ended = _Pause(self._stopped), iter(range(len(texts))), Queue[Any]()

        def work() -> None:
            try:
                while not self._stopped.is_set():
                    with self._lock:
                        number = next(numbers, None)
                    if number is None:
                        break
                    answer = self._answer(client, texts[number], pause)
                    with self._lock:
                        if answer is not None and not finished:
                            came(number, answer)
                ended.put(None)
            except BaseException as error:
                ended.put(error)

        finished = False
        threads = min(self.server.concurrency, len(texts))
        for _ in range(threads):
            # The process may end though a server never answers.
            threading.Thread(target=work, daemon=True).start()
        left = threads
        try:
            while left:
                failure = ended.get()
                left -= 1
                if failure is not None:
                    raise failure
        finally:
            # What is under way may be answered, and is kept then; nothing else is sent.
            self._stopped.set()
            deadline = time.monotonic() + _LAST_ANSWERS
            with suppress(Empty):
                while left:
                    ended.get(timeout=max(0.0, deadline - time.monotonic()))
                    left -= 1
            with self._lock:
                finished = True
            client.close()

    def _answer(self, client: Any, text: str, pause: _Pause) -> TextAnswer | None:
        """The answer to a text; None where asking was stopped."""
        from openai import APIConnectionError, APIError, APIStatusError

        waits, wait_for = self.server.waits, self.server.waits.first
        question = self.asks.prompt.replace(SLOT, text)
        for number in range(1, waits.requests + 1):
            if not pause.over():
                return None
            told = 0.0
            with self._lock:
                self.sent += 1
            try:
                found = client.chat.completions.create(
                    messages=[{"role": "user", "content": question}], **self._options
                )
                if getattr(found, "choices", None):
                    return self._read(found, number)
                why = "it sent no answer that can be read"
            except APIStatusError as status:
                why = self._said(status)
                if status.status_code < 500 and status.status_code not in _ASKED_AGAIN:
                    raise self._refused(status) from None
                told = retry_after(status.response.headers)
            except (APIConnectionError, APIError, ValueError) as failure:
                why = self._said(failure)
            if told > waits.patience:
                raise self._gave_up(f"it wants {told:,.0f} seconds of quiet ({why})")
            if number < waits.requests:
                if told:  # the other requests would be turned away as well
                    pause.hold(told)
                elif not pause.sleep(wait_for):
                    return None
                wait_for = min(2 * wait_for, waits.longest)
        raise self._gave_up(f"asked {waits.requests} times, the last time: {why}")

    def _read(self, found: Any, requests: int) -> TextAnswer:
        choice, usage = found.choices[0], found.usage
        return TextAnswer(
            text=self._without_key(choice.message.content or ""),
            finish=str(choice.finish_reason or "stop"),
            refusal=self._without_key(getattr(choice.message, "refusal", None) or ""),
            model=self._without_key(str(found.model or "")),
            requests=requests,
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
            day=datetime.now(timezone.utc).date().isoformat(),
        )

    def _refused(self, error: Any) -> ScoringError:
        hint = _REFUSED.get(error.status_code, "mend what the server names")
        return ScoringError(
            f"model {self.name} at {self.server.url}: {self._said(error)}",
            hint=hint.format(key=self.server.api_key_env or API_KEY),
        )

    def _gave_up(self, why: str) -> ScoringError:
        return ScoringError(
            f"model {self.name} at {self.server.url}: does not answer; {why}",
            hint="give the same command again when the server answers; with a lower --concurrency "
            "it turns less away",
        )

    def _said(self, error: BaseException) -> str:
        lines = [line.strip() for line in self._without_key(str(error)).splitlines()]
        told = ": ".join([type(error).__name__, *filter(None, lines)])
        return plain(without_token(told), _LONGEST_WORDS)

    def _without_key(self, text: str) -> str:
        """Without the key: servers echo what they were sent."""
        return text.replace(self._key, "…") if self._key else text


class _Pause:
    """A time of quiet that a server asked for, and that all its requests keep."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped, self._until, self._lock = stopped, 0.0, threading.Lock()

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def over(self) -> bool:
        """Wait until it is over; False where asking was stopped."""
        while (left := self._until - time.monotonic()) > 0:
            if not self.sleep(left):
                return False
        return not self._stopped.is_set()

    def sleep(self, seconds: float) -> bool:
        """Wait so long; False where asking was stopped."""
        return not self._stopped.wait(seconds)


def retry_after(headers: Mapping[str, str]) -> float:
    """How many seconds a server wants to be left alone, by its Retry-After; 0 if it says nothing.

    That is a number of seconds or a date; what is neither says nothing.
    """
    told = headers.get("retry-after", "").strip()
    try:
        seconds = float(told)
        return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(told)
    except (ValueError, TypeError, IndexError):
        return 0.0
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
