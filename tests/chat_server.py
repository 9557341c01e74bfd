"""Small servers that speak OpenAI's API to the real clients.

One reads texts by a rule, as curation asks; one names the sentiment of a text, and fails on demand.
``python tests/chat_server.py PORT`` serves the second for trying things out.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
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


class ChatServer:
    """Language models in a thread of this process.

    Attributes:
        asked: every request, in order.
        before_answer: called with each request; what it returns is answered instead, as status
            and text.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.asked: list[Asked] = []
        self.before_answer: Callable[[Asked], tuple[int, str] | None] = lambda asked: None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                status, answer = server.answer(body, self.headers.get("Authorization", ""))
                if self.path != "/v1/chat/completions":
                    status, answer = 404, {"error": "no such path"}
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *given: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self._http.shutdown()
        self._http.server_close()

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
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {
            "id": "1",
            "created": 0,
            "model": asked.model,
            "object": "chat.completion",
            "system_fingerprint": "",
            "choices": [choice],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }


@dataclass(frozen=True)
class Reply:
    """What the sentiment server does with a request.

    Attributes:
        text: of the answer.
        status: of HTTP.
        headers: beside the usual ones.
        finish: why the answer ended.
        refusal: the words of a refusal, in the field for it.
        seconds: to wait before.
        together: answered only once as many requests are under way as this barrier holds.
        cut: close the connection: ``before`` or in the middle of the answer (``within``).
        body: what is sent instead of an answer.
        more: fields of the answer that are otherwise than usual.
    """

    text: str = "neutral"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish: str = "stop"
    refusal: str | None = None
    seconds: float = 0.0
    together: threading.Barrier | None = None
    cut: str = ""
    body: bytes | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class SentimentServer:
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

    def __init__(
        self,
        reply: Callable[[str, int], Reply],
        prompt: str = "Sentiment of: {text}",
        port: int = 0,
    ) -> None:
        self.reply = reply
        self.requests, self.answered = Counter[str](), Counter[str]()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        before, _, behind = prompt.partition("{text}")
        self._text = re.compile(f"{re.escape(before)}(.*){re.escape(behind)}", re.DOTALL)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                with suppress(ConnectionError):
                    server.handle(self)

            def log_message(self, *given: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *given: Any) -> None:
                pass  # a client that was killed

        self._http = Server(("127.0.0.1", port), Handler)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> SentimentServer:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        found = self._text.fullmatch(body["messages"][-1]["content"])
        text = found[1] if found else body["messages"][-1]["content"]
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.bodies.append(body)
            self.keys.add(request.headers.get("Authorization", "").removeprefix("Bearer "))
            reply = self.reply(text, self.requests[text])
            self.requests[text] += 1
        try:
            if request.path != "/v1/chat/completions":
                reply = Reply(status=404)
            if reply.together:
                reply.together.wait(60)
            time.sleep(reply.seconds)
        finally:
            # Before the answer: who has it may send the next request.
            with self._lock:
                self._at_once -= 1
        self._send(request, reply, body["model"], text)

    def _send(self, request: BaseHTTPRequestHandler, reply: Reply, model: str, text: str) -> None:
        if reply.cut == "before":
            request.close_connection = True
            with suppress(OSError):
                request.connection.shutdown(socket.SHUT_RDWR)
            return
        if reply.status == 200:
            message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
            answer: dict[str, Any] = {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": self.model_reported,
                "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
                "usage": {
                    "prompt_tokens": len(text.split()) + 10,
                    "completion_tokens": len(reply.text.split()),
                    "total_tokens": len(text.split()) + 10 + len(reply.text.split()),
                },
                **reply.more,
            }
        else:
            # Servers of all kinds repeat what they were sent.
            sent = request.headers.get("Authorization", "")
            answer = {"error": {"message": f"{reply.status} for {model} ({sent})", "type": "error"}}
        content = reply.body if reply.body is not None else json.dumps(answer).encode()
        request.send_response(reply.status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            request.send_header(name, value)
        request.end_headers()
        if reply.cut == "within":
            request.wfile.write(content[: len(content) // 2])
            request.wfile.flush()
            request.close_connection = True
            return
        request.wfile.write(content)
        if reply.status == 200:
            with self._lock:
                self.answered[text] += 1


if __name__ == "__main__":

    def by_word(text: str, before: int) -> Reply:
        """An answer as a small chat model gives it, with what goes wrong now and then."""
        if len(text) % 17 == 0 and not before:
            return Reply(status=429, headers={"Retry-After": "0.2"})
        if len(text) % 23 == 0:
            return Reply("I'm sorry, but I can't help with that.")
        if len(text) % 29 == 0:
            return Reply("It is hard to say: positive or neutral.")
        word = text.casefold()
        if any(part in word for part in ("bad", "dull", "boring", "worst", "awful", "n't", "not ")):
            return Reply("**Negative**")
        good = ("good", "love", "great", "best", "fun", "charm")
        return Reply(
            "The sentiment is positive." if any(map(word.__contains__, good)) else "Neutral"
        )

    with SentimentServer(by_word, sys.argv[2], int(sys.argv[1])) as running:
        print(running.base_url, flush=True)
        threading.Event().wait()
