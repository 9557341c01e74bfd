"""A client of OpenAI-compatible servers, safe from servers that stall, flood or try to get the key.

Responses are limited in time, headers included, and in bytes. Compressed ones are refused and
redirects are not followed. No environment variable is sent except the key that the user named.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from s2lct.errors import OptionError
from s2lct.hub_calls import without_token
from s2lct.plain_text import plain

SECONDS = 120.0
"""The time limit of a response, from the first byte sent to the last received."""
MAX_RESPONSE_BYTES = 4 << 20
MAX_ANSWER_CHARACTERS = 100_000
"""Longer answers are truncated."""
RETRIES, FIRST_RETRIES = 7, 2
"""How often a question is retried, and how often the first, which shows whether a server exists."""
FIRST_DELAY, LONGEST_DELAY, LONGEST_DELAY_ASKED_FOR = 0.5, 8.0, 60.0
"""Seconds before retries: at first, at most, and at most where a server asks for a delay."""
_RETRIED_STATUSES = (408, 409, 429)
_REPLACED_OPTIONS = {"max_tokens": "max_completion_tokens", "temperature": "", "seed": ""}
"""Options that a server may refuse, each with its replacement; empty to drop the option."""
_MIN_KEY_CHARACTERS = 8
"""Shorter keys are not hidden: they are no secret, and may be a word of an answer."""
_MAX_CHARACTERS = 200
_ADDRESS = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?(?:/[\w.~%:+/-]*)?", re.A)
_KEY = re.compile(r"[!-~]*")
_Result = TypeVar("_Result")


class ChatServerError(Exception):
    """A server did not answer as a chat model; the message says why, without the key."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer of a chat model.

    Attributes:
        text: the answer, without the key.
        finish: why the answer ended: ``stop``, ``length`` or ``content_filter``.
        refusal: the text of a refusal; empty for none.
        model: the server's name of the model.
        system_fingerprint: the server's name of its configuration.
        prompt_tokens, completion_tokens: the number of tokens of the question and of the answer.
    """

    text: str
    finish: str
    refusal: str
    model: str
    system_fingerprint: str
    prompt_tokens: int
    completion_tokens: int


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class ChatClient:
    """A chat model on a server; several threads may use it.

    Args:
        url: the address of the server, usually ending in ``/v1``.
        model: the name of the model on the server.
        options: sent with every request, such as ``temperature``; those that the server refuses are
            dropped or replaced.
        key: the API key of the server; empty for none.
        seconds: the time limit for a response.
        max_bytes: the size limit for a response.
        retries: how often a question is asked again if the server is busy or the connection breaks.

    Raises:
        OptionError: the address or the key is invalid; the message shows neither.
    """

    def __init__(
        self,
        url: str,
        model: str,
        options: Mapping[str, Any],
        key: str = "",
        *,
        seconds: float = SECONDS,
        max_bytes: int = MAX_RESPONSE_BYTES,
        retries: int = RETRIES,
    ) -> None:
        import httpx

        try:
            self.url = address_of(url)
        except ValueError as error:
            raise OptionError(
                f"--base-url: {error}",
                hint="write it like http://localhost:8000/v1 or https://api.openai.com/v1, without "
                "names, passwords and what follows ?; a key is exported in the environment",
            ) from None
        self.model, self.options = model, dict(options)
        self._key = key.strip()
        if not _KEY.fullmatch(self._key):
            raise OptionError(
                "the key of --base-url: holds a line break, a space or another character that no "
                "key has",
                hint="export it anew, as the provider shows it, on one line",
            )
        self._seconds, self._max_bytes, self._retries = seconds, max_bytes, retries
        self._has_answered = False
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=None, follow_redirects=False)

    def close(self) -> None:
        """Close the connections to the server."""
        _run_in_background(self._http.aclose())

    def ask(self, question: str) -> ChatAnswer:
        """The answer to a question.

        Raises:
            ChatServerError: the server refuses the question, or does not answer it.
        """
        options = self.options  # another thread may replace them meanwhile
        while True:
            request = {"messages": [{"role": "user", "content": question}], "model": self.model}
            response = self._response(json.dumps(request | options).encode())
            if response.status == 200:
                answer = self._parse_answer(response.content)
                self._has_answered = True
                return answer
            fault = self._error_in(response)
            name = next((n for n in _REPLACED_OPTIONS if re.search(rf"\b{n}\b", fault)), None)
            if response.status != 400 or name not in options:
                raise ChatServerError(self.clean(fault))
            renamed = {_REPLACED_OPTIONS[name]: options[name]} if _REPLACED_OPTIONS[name] else {}
            options = {n: value for n, value in options.items() if n != name} | renamed
            self.options = options

    def clean(self, message: object) -> str:
        """A server's message on one line, without the key that it may repeat."""
        return plain(without_token(self._hide_key(str(message))), _MAX_CHARACTERS)

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "…") if len(self._key) >= _MIN_KEY_CHARACTERS else text

    def _response(self, body: bytes) -> _Response:
        """The response to a request, after retries."""
        retries = self._retries if self._has_answered else min(self._retries, FIRST_RETRIES)
        for retry in range(retries + 1):
            response, problem = None, ""
            try:
                response = _run_in_background(asyncio.wait_for(self._send(body), self._seconds))
            except (TimeoutError, asyncio.TimeoutError) as error:
                problem = f"no whole response within {self._seconds:g} seconds"
                if not self._has_answered or retry:
                    raise ChatServerError(problem) from error
            except ChatServerError:
                raise
            except Exception as error:  # whatever the HTTP library raises
                problem = self.clean(f"{type(error).__name__}: {error}")
            if response is not None and not (
                response.status in _RETRIED_STATUSES or response.status >= 500
            ):
                return response
            if retry == retries:
                break
            time.sleep(_delay(retry, response.headers if response is not None else {}))
        raise ChatServerError(problem if response is None else self.clean(self._error_in(response)))

    async def _send(self, body: bytes) -> _Response:
        request = self._http.build_request("POST", f"{self.url}/chat/completions", content=body)
        response = await self._http.send(request, stream=True)
        try:
            if response.is_redirect:
                location = response.headers.get("location", "")
                raise ChatServerError(self.clean(f"it redirects to {location}; name that address"))
            if (encoding := response.headers.get("content-encoding", "identity")) != "identity":
                raise ChatServerError(self.clean(f"its response is packed ({encoding})"))
            content = bytearray()
            async for part in response.aiter_raw():
                content += part
                if len(content) > self._max_bytes:
                    raise ChatServerError(f"its response has more than {self._max_bytes:,} bytes")
            return _Response(response.status_code, dict(response.headers), bytes(content))
        finally:
            await response.aclose()

    def _error_in(self, response: _Response) -> str:
        """Status and message of an error response."""
        text = response.content[: 10 * _MAX_CHARACTERS].decode("utf-8", "replace")
        try:
            error = json.loads(response.content)["error"]
            text = f"{error['message']} {error.get('param') or ''}" if "message" in error else error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # the page of a proxy
        return f"status {response.status}: {text}".strip(" :")

    def _parse_answer(self, content: bytes) -> ChatAnswer:
        try:
            data = json.loads(content)
            choice, usage = data["choices"][0], data.get("usage") or {}
            message = choice["message"]
            return ChatAnswer(
                text=self._text_of(message.get("content"))[:MAX_ANSWER_CHARACTERS],
                finish=self._text_of(choice.get("finish_reason"))[:_MAX_CHARACTERS] or "stop",
                refusal=self._text_of(message.get("refusal"))[:MAX_ANSWER_CHARACTERS],
                model=self.clean(self._text_of(data.get("model"))),
                system_fingerprint=self.clean(self._text_of(data.get("system_fingerprint"))),
                prompt_tokens=_token_count(usage.get("prompt_tokens")),
                completion_tokens=_token_count(usage.get("completion_tokens")),
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ChatServerError("it sends no answer of a chat model") from None

    def _text_of(self, value: object) -> str:
        """A text in an answer, without key and surrogates; a TypeError for any other value."""
        if value is not None and not isinstance(value, str):
            raise TypeError(f"no text: {type(value).__name__}")
        encoded = (value or "").encode("utf-8", "surrogatepass")
        return self._hide_key(encoded.decode("utf-8", "replace"))


def api_key_in(variable: str) -> str:
    """The key in an environment variable; empty if there is none."""
    return os.environ.get(variable, "").strip()


def address_of(url: str) -> str:
    """The normalised address of a server.

    Raises:
        ValueError: the address is invalid, or has other parts than host and path, such as a
            password; the message does not repeat it.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
        if ":" in host or re.fullmatch(r"[\d.]*", host):
            ip_address(host)
    except ValueError:  # which repeats what may be a password
        raise ValueError("is no address of a server") from None
    has_empty_part = any(not 0 < len(part) < 64 for part in host.split("."))
    host = f"[{host}]" if ":" in host else host
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    host_and_port = host if port in (None, default_port) else f"{host}:{port}"
    path = re.sub("/+", "/", parts.path).rstrip("/")
    address = f"{parts.scheme}://{host_and_port}{path}"
    has_other_parts = parts.username or parts.password or parts.query or parts.fragment
    if has_other_parts or has_empty_part or not _ADDRESS.fullmatch(address):
        raise ValueError("is no address of host and path alone")
    return address


def _token_count(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise TypeError("no number of tokens")
    return value


def _delay(retry: int, headers: Mapping[str, str]) -> float:
    """Seconds before a retry: as the server asks, within limits, or else doubling each time."""
    default_delay = min(FIRST_DELAY * 2.0**retry, LONGEST_DELAY)
    try:
        requested_delay = float(headers.get("retry-after", ""))
    except ValueError:
        requested_delay = 0.0
    if 0 < requested_delay <= LONGEST_DELAY_ASKED_FOR:
        return requested_delay
    return default_delay * random.uniform(0.75, 1.0)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """An event loop in a background thread, in which requests can be cancelled at any time."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="s2lct chat client", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _run_in_background(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except BaseException:  # an interrupt
        future.cancel()
        raise
