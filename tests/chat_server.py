"""Small servers that speak OpenAI's API to the real clients.

One reads texts by a rule, as curation asks; one names the sentiment of a text, and fails on demand.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LINE = re.compile(r"^(\d+) (?:\[(.*?)\] )?(.+)$", re.MULTILINE)
Rule = Callable[[str, str, str], str]
"""Given model, description and text: ``pos 2``, or with relevance ``neu 1 1``."""


@dataclass(frozen=True)
class Asked:
    """A request: the model, the texts with their descriptions, and the key that came with it."""

    model: str
    temperature: float
    texts: tuple[tuple[str, str], ...]
    authorization: str


class _Server(ABC):
    """A server in a thread of this process, which answers chats as ``respond`` does."""

    def __init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with suppress(ConnectionError):
                    if self.path == "/v1/chat/completions":
                        server.respond(self, body)
                    else:
                        send(self, 404, b"{}", {})
                        self.wfile.write(b"{}")

            def log_message(self, *given: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *given: Any) -> None:
                pass  # a client that was killed

        self._http = Server(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @abstractmethod
    def respond(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Answer a request."""

    def __enter__(self) -> Any:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def completion(
    model: str, text: str, question: str = "", refusal: str | None = None
) -> dict[str, Any]:
    """What OpenAI's API sends."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    read, written = len(question.split()) + 10, len(text.split())
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written
        },
    }  # fmt: skip


def send(
    request: BaseHTTPRequestHandler, status: int, content: bytes, headers: Mapping[str, str]
) -> None:
    request.send_response(status)
    usual = {"Content-Type": "application/json", "Content-Length": str(len(content))}
    for name, value in {**usual, **headers}.items():
        request.send_header(name, value)
    request.end_headers()


class ChatServer(_Server):
    """Language models that annotate.

    Attributes:
        asked: every request, in order.
        before_answer: called with each request; what it returns is answered instead, as status
            and text.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rule = rule
        self.asked: list[Asked] = []
        self.before_answer: Callable[[Asked], tuple[int, str] | None] = lambda asked: None

    def respond(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        status, answer = self.answer(body, request.headers.get("Authorization", ""))
        content = json.dumps(answer).encode()
        send(request, status, content, {})
        request.wfile.write(content)

    def answer(self, body: dict[str, Any], authorization: str) -> tuple[int, dict[str, Any]]:
        question = body["messages"][0]["content"].rpartition("nothing else.\n\n")[2]
        lines = _LINE.findall(question)
        texts = tuple((about, text) for _, about, text in lines)
        asked = Asked(body["model"], body["temperature"], texts, authorization)
        self.asked.append(asked)
        if (instead := self.before_answer(asked)) is not None:
            return instead[0], {"error": instead[1]}
        content = "\n".join(
            f"{number} {self.rule(asked.model, about, text)}" for number, about, text in lines
        )
        return 200, completion(asked.model, content)


@dataclass(frozen=True)
class Reply:
    """What the sentiment server does with a request.

    Attributes:
        text: of the answer.
        status: of HTTP.
        headers: beside the usual ones.
        refusal: the words of a refusal, in the field for it.
        seconds: to wait before.
        together: answered only once as many requests are under way as this barrier holds.
        cut: close the connection: ``before`` or in the middle of the answer (``within``).
        body: what is sent instead of an answer.
        more: fields of the answer that are otherwise than usual.
        drips: seconds between spaces that are sent without end, in place of a body.
    """

    text: str = "neutral"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: str | None = None
    seconds: float = 0.0
    together: threading.Barrier | None = None
    cut: str = ""
    body: bytes | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    drips: float = 0.0


class SentimentServer(_Server):
    """A chat model that is asked one text at a time.

    Attributes:
        reply: given a text and how often it was asked before, what to do.
        requests: how often each text was asked.
        answered: how often each text got an answer with status 200.
        bodies: every request.
        keys: the keys that came.
        most_at_once: how many requests were under way at a time.
    """

    model_reported = "tiny-chat-2026-11-01"

    def __init__(self, reply: Callable[[str, int], Reply]) -> None:
        super().__init__()
        self.reply = reply
        self.requests, self.answered = Counter[str](), Counter[str]()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()

    def respond(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        text = body["messages"][-1]["content"].removeprefix("Sentiment of: ")
        authorization = request.headers.get("Authorization", "")
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.bodies.append(body)
            self.keys.add(authorization.removeprefix("Bearer "))
            reply = self.reply(text, self.requests[text])
            self.requests[text] += 1
        try:
            if reply.together:
                reply.together.wait(60)
            time.sleep(reply.seconds)
        finally:
            # Before the answer: who has it may send the next request.
            with self._lock:
                self._at_once -= 1
        if reply.cut == "before":
            request.close_connection = True
            with suppress(OSError):
                request.connection.shutdown(socket.SHUT_RDWR)
            return
        # Servers of all kinds repeat what they were sent.
        told = f"{reply.status} for {body['model']} ({authorization})"
        answer: dict[str, Any] = {"error": {"message": told, "type": "error"}}
        if reply.status == 200:
            answer = completion(self.model_reported, reply.text, text, reply.refusal) | reply.more
        content = reply.body if reply.body is not None else json.dumps(answer).encode()
        without_end = {"Content-Length": str(1 << 40)} if reply.drips else {}
        send(request, reply.status, content, {**reply.headers, **without_end})
        while reply.drips:
            request.wfile.write(b" " * (1 << 16 if reply.drips < 0.001 else 1))
            time.sleep(reply.drips)
        if reply.cut == "within":
            request.wfile.write(content[: len(content) // 2])
            request.close_connection = True
            return
        request.wfile.write(content)
        if reply.status == 200:
            with self._lock:
                self.answered[text] += 1
