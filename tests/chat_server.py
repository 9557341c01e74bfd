"""A server that speaks OpenAI's API to the real client, in a thread of this process.

`ChatServer` annotates texts by a rule, as curation asks; `SentimentServer` names the sentiment of
a text, and fails on demand.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

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


class ChatServer(HTTPServer):  # type: ignore[misc]
    """Language models that annotate.

    Attributes:
        asked: every request, in order.
        before_answer: called with each request; what it returns is answered instead, as status
            and text.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(host="127.0.0.1", threaded=True)
        self.expect_request("/v1/chat/completions").respond_with_handler(self.respond)
        self.no_handler_status_code = 404
        self.rule = rule
        self.asked: list[Asked] = []
        self.before_answer: Callable[[Asked], tuple[int, str] | None] = lambda asked: None

    def __enter__(self) -> Any:
        super().__enter__()
        self.base_url = str(self.url_for("/v1"))
        return self

    def respond(self, request: Request) -> Response:
        status, answer = self.answer(request.json, request.headers.get("Authorization", ""))
        return _json_response(answer, status)

    def answer(self, body: dict[str, Any], authorization: str) -> tuple[int, dict[str, Any]]:
        question = body["messages"][0]["content"].rpartition("nothing else.\n\n")[2]
        lines = _LINE.findall(question)
        texts = tuple((about, text) for _, about, text in lines)
        asked = Asked(body["model"], body["temperature"], texts, authorization)
        self.asked.append(asked)
        if (instead := self.before_answer(asked)) is not None:
            return instead[0], {"error": instead[1]}
        answers = (f"{n} {self.rule(asked.model, about, text)}" for n, about, text in lines)
        return 200, completion(asked.model, "\n".join(answers))


def _json_response(content: object, status: int) -> Response:
    return Response(json.dumps(content), status, content_type="application/json")


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


class SentimentServer(ChatServer):
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
        super().__init__(lambda *_: "")
        self.reply = reply
        self.requests, self.answered = Counter[str](), Counter[str]()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()

    def respond(self, request: Request) -> Response:
        body, authorization = request.json, request.headers.get("Authorization", "")
        text = body["messages"][-1]["content"].removeprefix("Sentiment of: ")
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
        connection: socket.socket = request.environ["werkzeug.socket"]
        if reply.cut == "before":
            connection.shutdown(socket.SHUT_RDWR)
        # Servers of all kinds repeat what they were sent.
        told = f"{reply.status} for {body['model']} ({authorization})"
        answer: dict[str, Any] = {"error": {"message": told, "type": "error"}}
        if reply.status == 200:
            answer = completion(self.model_reported, reply.text, text, reply.refusal) | reply.more
        response = _json_response(answer, reply.status)
        if reply.body is not None:
            response.set_data(reply.body)
        response.headers.extend(reply.headers)
        if reply.status == 200 and not (reply.cut or reply.drips):
            with self._lock:
                self.answered[text] += 1
        if reply.cut == "within" or reply.drips:
            content = response.get_data()
            length = str(1 << 40 if reply.drips else len(content))
            response.response = _broken(content, reply.drips, connection)
            response.headers["Content-Length"] = length
        return response


def _broken(content: bytes, drips: float, connection: socket.socket) -> Iterator[bytes]:
    """Half of an answer, or spaces without end."""
    while drips:
        yield b" " * (1 << 16 if drips < 0.001 else 1)
        time.sleep(drips)
    yield content[: len(content) // 2]
    connection.shutdown(socket.SHUT_RDWR)
