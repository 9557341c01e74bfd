"""The client of chat servers: its requests end, and what it knows stays with the named server."""

from __future__ import annotations

import gzip
import json
import os
import socket
import socketserver
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from chat_server import Reply, SentimentServer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct import chat_client
from s2lct.builder.curation.language_models import LanguageModel
from s2lct.chat_client import ChatClient, ChatServerError, address_of
from s2lct.cli.main import app
from s2lct.errors import BuildError, OptionError, S2lctError, ScoringError
from s2lct.leaderboard.commands.score_models import _failure_reason
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.annotation import Item
from s2lct.suite.cases import load_suite

KEY = "sk-proj-AKeyOfTheTests0123456789abcdefghij"
SECONDS = 0.5
Talk = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_client, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(chat_client, "LONGEST_DELAY", 0.02)


@contextmanager
def raw_server(talk: Talk) -> Iterator[str]:
    """The address of a server that reads a request and then does what it likes."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            with suppress(OSError):  # the client has gone
                talk(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def client_of(url: str, **more: int) -> ChatClient:
    return ChatClient(url, "m", {"temperature": 0}, KEY, seconds=SECONDS, **more)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def drip_headers(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    while True:
        connection.sendall(b"X-Drop: x\r\n")
        time.sleep(0.02)


def drip_the_status(connection: socket.socket) -> None:
    for letter in HEAD:
        connection.sendall(bytes([letter]))
        time.sleep(0.05)


def drip_the_body(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.02)


def drip_chunks(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\n \r\n")
        time.sleep(0.02)


def say_nothing(connection: socket.socket) -> None:
    time.sleep(10)


def fill(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 4294967296\r\n\r\n")
    while True:
        connection.sendall(b" " * (1 << 16))


def send_a_bomb(connection: socket.socket) -> None:
    packed = gzip.compress(b" " * (64 << 20))
    connection.sendall(HEAD + b"Content-Encoding: gzip\r\n")
    connection.sendall(b"Content-Length: %d\r\n\r\n" % len(packed) + packed)


def hang_up(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")


def repeat_headers(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"X: y\r\n" * 1_000_000 + b"\r\n")


HOSTILE = [
    drip_headers, drip_the_status, drip_the_body, drip_chunks, say_nothing, fill, send_a_bomb,
    hang_up, repeat_headers,
]  # fmt: skip


@pytest.mark.parametrize("talk", HOSTILE)
def test_a_request_ends_whatever_a_server_sends(talk: Talk) -> None:
    start = time.monotonic()
    with raw_server(talk) as url:
        with pytest.raises(ChatServerError):
            client_of(url, max_bytes=1 << 20).ask("?")
        with pytest.raises(BuildError, match="did not answer"):
            LanguageModel("m", url, KEY, seconds=SECONDS).annotate([Item("1", "LC4", "A text.")])
        with pytest.raises(ScoringError, match=url):
            EndpointModel("m", LabelPrompt(), url, seconds=SECONDS)
    assert time.monotonic() - start < 6 * SECONDS + 3


def test_a_server_that_falls_silent_is_asked_once_more() -> None:
    silent = threading.Event()

    def reply(text: str, before: int) -> Reply:
        return Reply(seconds=2 * SECONDS if silent.is_set() else 0)

    with SentimentServer(reply) as server:
        client = client_of(server.base_url)
        assert client.ask("?").text == "neutral"
        silent.set()
        with pytest.raises(ChatServerError, match="within 0"):
            client.ask("?")
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with SentimentServer(lambda text, before: Reply()) as other:
        place = {"Location": f"{other.base_url}/chat/completions"}
        with SentimentServer(lambda text, before: Reply(status=status, headers=place)) as server:
            with pytest.raises(ChatServerError, match="redirects to http"):
                client_of(server.base_url).ask("A secret text.")
            with pytest.raises(BuildError, match="redirects"):
                LanguageModel("m", server.base_url, KEY).annotate([Item("1", "LC4", "A text.")])
        assert len(server.bodies) == 2
    assert not other.bodies


@pytest.mark.parametrize("key", [f"{KEY}\nmore", f"{KEY[:20]} {KEY[20:]}", "schlüssel", f"\0{KEY}"])
def test_a_key_that_is_none_is_refused_and_not_shown(
    key: str, suite_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for make in (
        lambda: ChatClient("http://127.0.0.1:9/v1", "m", {}, key),
        lambda: LanguageModel("m", "http://127.0.0.1:9/v1", key),
    ):
        with pytest.raises(OptionError, match="key") as caught:
            make()
        assert KEY[:15] not in str(caught.value) and "schl" not in str(caught.value)
    if "\0" in key:
        return
    monkeypatch.setenv("OPENAI_API_KEY", key)
    common = ["--base-url", "http://127.0.0.1:9/v1", "--out", str(tmp_path)]
    curate = ["curate", "--model", "m", "--api-key-env", "OPENAI_API_KEY", *common]
    for command in (
        ["score", "m", "--suite", str(suite_folder), *common],
        [*curate, "--annotations", str(tmp_path / "annotations.jsonl")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2 and "key" in done.output
        assert KEY[:15] not in done.output and "schl" not in done.output


def test_keys_are_hidden_in_any_error() -> None:
    assert KEY not in _failure_reason("m", RuntimeError(f"b'Bearer {KEY}'"))
    told = str(S2lctError(f"b'Bearer {KEY}'", hint=f"not hf_{'a1' * 17}"))
    assert KEY not in told and "a1a1" not in told
    assert "hf_reviews.csv" in str(S2lctError("hf_reviews.csv", hint=""))


def test_nothing_of_the_environment_goes_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")

    names = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ORGANIZATION", "OPENAI_ADMIN_KEY")
    for name in (*names, "HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"secret-{name}")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            sent.append(self.request.recv(1 << 16))
            talk(self.request)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with pytest.raises(ChatServerError, match="401"):
            ChatClient(url, "m", {}).ask("?")
    assert b"secret-" not in b"".join(sent) and b"uthorization" not in b"".join(sent)


SURROGATE = b'{"model": "m", "choices": [{"message": {"content": "positive \\ud800"}}]}'


@pytest.mark.usefixtures("own_cache")
def test_what_no_file_takes_and_an_echoed_key_stay_out_of_kept_answers(
    suite_folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    suite = load_suite(suite_folder, limit=1)
    with SentimentServer(lambda text, before: Reply(body=SURROGATE)) as server:
        found = score(EndpointModel("m", LabelPrompt(), server.base_url), suite)
    assert set(found.labels.tolist()) == {2}
    with SentimentServer(lambda text, before: Reply(f"positive, said {KEY}")) as server:
        score(EndpointModel("m", LabelPrompt(), server.base_url), suite)
    files = [path for path in own_cache.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    kept = [path for path in files if "predictions" in path.name]
    assert kept and {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


BAD_ADDRESSES = [
    "http://256.1.1.1/v1", "http://1.2.3/v1", "http://a..b/v1", "http://[::1/v1", "http://[g::]/",
    "http://host:99999/v1", "http://", "http:///v1", "ftp://host/v1", "http://me:secret@h/v1",
    "https://h/v1?key=secret", "http://h h/v1", "http://" + "a" * 64 + "/v1", "", "//host",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_ADDRESSES)
def test_what_is_no_address_is_one_error(url: str) -> None:
    for make in (
        lambda: EndpointModel("m", LabelPrompt(), url),
        lambda: LanguageModel("m", url),
    ):
        with pytest.raises(OptionError, match="--base-url") as caught:
            make()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://xn--/v1", "http://-/v1", "http://host.invalid/v1"])
def test_a_host_that_there_is_not_is_one_error(url: str) -> None:
    with pytest.raises(S2lctError):
        EndpointModel("m", LabelPrompt(), url)


@given(st.text() | st.from_regex(r"https?://[\w.:\[\]@/-]*", fullmatch=True))
def test_an_address_has_one_spelling(url: str) -> None:
    try:
        address = address_of(url)
    except ValueError as error:
        assert "address" in str(error)
    else:
        assert address_of(address) == address


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists) | st.text())
def test_no_body_stops_more_than_a_request(content: object) -> None:
    client = client_of("http://127.0.0.1:9/v1")
    for body in ({"choices": [{"message": {"content": content}}]}, content, {"choices": content}):
        try:
            answer = client._parse_answer(json.dumps(body).encode())
        except ChatServerError as error:
            assert str(error) == "it sends no answer of a chat model"
        else:
            answer.text.encode()


def test_a_process_that_is_forked_asks_by_itself() -> None:
    with SentimentServer(lambda text, before: Reply()) as server:
        client_of(server.base_url).ask("?")
        child = os.fork()
        if not child:
            try:
                os._exit(client_of(server.base_url).ask("?").text != "neutral")
            finally:
                os._exit(9)
        assert os.waitpid(child, 0)[1] == 0
