"""A small server that speaks OpenAI's API to the real client: it reads texts by a rule."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
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
