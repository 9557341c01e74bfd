"""Models behind an OpenAI-compatible endpoint, against a server that fails in every way."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from chat_server import Reply, SentimentServer
from typer.testing import CliRunner

import s2lct
from s2lct import chat_client
from s2lct.cache import CHECKSUM_BYTES, checksum
from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.results.read_results import Suites, read_result, recompute
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.submission import check
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.leaderboard.site.site import build_site
from s2lct.suite.cases import Case, SuiteCases, load_suite

pytestmark = pytest.mark.usefixtures("own_cache")

KEY = "sk-proj-AKeyOfTheTests0123456789abcdefghij"
PROMPT = "Sentiment of: {text}"
CASES = tuple(
    Case(f"{name}-{n}", name, "seed", f"{name}-{n}", f"Sentence {n} of {name}.", frozenset({label}))
    for name, label in (("LC4", 2), ("LC9", 0))
    for n in range(6)
)
SUITE = SuiteCases(
    "mine", "1.0.0", fingerprint_of([[c.id, c.text, sorted(c.passes)] for c in CASES]), CASES
)
SUITES = Suites([SUITE])
runner = CliRunner()
Rule = Callable[[str, int], Reply]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client sends again at once, and not for long."""
    monkeypatch.setattr(chat_client, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(chat_client, "LONGEST_DELAY", 0.02)


def model_of(
    server: SentimentServer, *, keeps: bool = False, seconds: float = 1.5
) -> EndpointModel:
    return EndpointModel(
        "tiny-chat", LabelPrompt(PROMPT), server.base_url, keeps_answers=keeps, seconds=seconds
    )


def outcomes_with(rule: Rule, cache: Path | None = None) -> tuple[Outcomes, SentimentServer]:
    with SentimentServer(rule) as server:
        return score(model_of(server), SUITE, cache=cache), server


def always(reply: Reply) -> Rule:
    return lambda text, before: reply


def test_what_is_asked_is_deterministic_and_one_text_at_a_time(key: str) -> None:
    together = threading.Barrier(8)

    def reply(text: str, before: int) -> Reply:
        # The first question goes alone; then eight come together.
        at_once = server.requests.total() in range(1, 9)
        return Reply("**Positive**", together=together if at_once else None)

    with SentimentServer(reply) as server:
        outcomes = score(model_of(server), SUITE)
    assert outcomes.failed.tolist() == [False] * 6 + [True] * 6
    asked = {body["messages"][0]["content"] for body in server.bodies[1:]}
    assert asked == {f"Sentiment of: {case.text}" for case in CASES}
    for body in server.bodies:
        assert len(body["messages"]) == 1 and body["model"] == "tiny-chat"
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0, 0, 32)
    assert server.keys == {KEY} and server.most_at_once == 8


FAULTS = {
    "busy": Reply(status=429, headers={"Retry-After": "0.01"}),
    "broken": Reply(status=503),
    "cut before": Reply(cut="before"),
    "cut within": Reply(cut="within"),
    "slow": Reply(seconds=2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_asked_again(fault: str) -> None:
    outcomes, server = outcomes_with(
        lambda text, before: FAULTS[fault] if "3 of" in text and not before else Reply("negative")
    )
    assert outcomes.labels.tolist() == [0] * 12
    assert {server.requests[case.text] for case in CASES if "3 of" in case.text} == {2}


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_a_server_refuses_is_one_error_and_not_asked_again(status: int, key: str) -> None:
    refusing = SentimentServer(always(Reply(status=status)))
    with refusing as server, pytest.raises(ScoringError) as caught:
        model_of(server)
    told = str(caught.value)
    assert f"{status}" in told and server.base_url in told and "OPENAI_API_KEY" in told
    assert KEY not in told and len(server.bodies) == 1


def test_what_fails_for_good_keeps_what_was_answered_and_goes_on(tmp_path: Path, key: str) -> None:
    cache, broken = tmp_path / "kept.sqlite", True

    def reply(text: str, before: int) -> Reply:
        return Reply(status=500) if broken and text == CASES[11].text else Reply("negative")

    with SentimentServer(reply) as server:
        with pytest.raises(ScoringError) as caught:
            score(model_of(server), SUITE, cache=cache)
        assert "goes on" in caught.value.hint and KEY not in str(caught.value)
        broken, before = False, server.answered.total()
        assert score(model_of(server), SUITE, cache=cache).labels.tolist() == [0] * 12
    assert before > 4 and server.answered.total() - before < 12


@pytest.mark.parametrize(
    ("keeps", "more", "hours", "asked"),
    [
        (False, {}, 23, 0),
        (False, {}, 25, 12),
        (False, {"model": "tiny-chat-2"}, 0, 12),
        (False, {"system_fingerprint": "fp"}, 0, 12),
        (True, {"system_fingerprint": "fp"}, 25, 0),
        (True, {"model": "tiny-chat-2"}, 0, 12),
    ],
)
def test_kept_answers_are_of_the_model_that_answers_now(
    keeps: bool, more: dict[str, str], hours: int, asked: int, tmp_path: Path
) -> None:
    cache, served = tmp_path / "kept.sqlite", Reply("positive")
    with SentimentServer(lambda text, before: served) as server:
        score(model_of(server), SUITE, cache=cache)
        then = datetime.now(timezone.utc) - timedelta(hours=hours)
        with sqlite3.connect(cache) as connection:
            for model, text, row in connection.execute("SELECT * FROM predictions").fetchall():
                answer = json.loads(row[CHECKSUM_BYTES:]) | {"time": then.isoformat()}
                older = json.dumps(answer).encode()
                connection.execute(
                    "UPDATE predictions SET prediction = ? WHERE text = ?",
                    [checksum(model, text, older) + older, text],
                )
        served = Reply("negative", more=more)
        outcomes = score(model_of(server, keeps=keeps), SUITE, cache=cache)
    # Each model is asked a question before the cases.
    assert len(server.bodies) == 14 + asked
    assert outcomes.labels.tolist().count(0) == asked
    assert outcomes.model.endpoint is not None
    now = datetime.now(timezone.utc)
    assert outcomes.model.endpoint.first_day == (now if asked else then).date().isoformat()


SPELLINGS = {
    "http://vllm_server:8000/v1": ["HTTP://VLLM_Server:8000//v1/", "http://vllm_server.:8000/v1"],
    "https://host/v1": ["https://host:443/v1", "https://HOST/v1//"],
}


def test_spellings_of_an_address_are_one_that_results_may_have() -> None:
    for address, others in SPELLINGS.items():
        assert {chat_client.address_of(spelling) for spelling in (address, *others)} == {address}


def test_no_result_is_of_two_models() -> None:
    def reply(text: str, before: int) -> Reply:
        return Reply(more={"model": "other-chat"} if len(server.bodies) > 6 else {})

    with SentimentServer(reply) as server, pytest.raises(ScoringError) as caught:
        score(model_of(server), SUITE)
    assert "other-chat" in str(caught.value) and server.model_reported in str(caught.value)


def completion(**more: Any) -> bytes:
    message = {"role": "assistant", "content": "positive"} | more.pop("message", {})
    return json.dumps({"model": "m", "choices": [{"message": message}]} | more).encode()


STRANGE = {
    "the page of a proxy": Reply(body=b"<html>busy</html>"),
    "no choice": Reply(body=completion(choices=[])),
    "a list as content": Reply(body=completion(message={"content": [["positive"]]})),
    "no numbers of tokens": Reply(body=completion(usage={"prompt_tokens": "many"})),
    "fewer than no tokens": Reply(body=completion(usage={"prompt_tokens": -5})),
    "deep JSON": Reply(body=b"[" * 100_000),
    "no end": Reply(drips=0.000_001),
    "no end, drop by drop": Reply(drips=0.05),
    "an error without end": Reply(status=401, drips=0.000_001),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_no_server_should_send_is_a_single_error(name: str) -> None:
    with SentimentServer(always(STRANGE[name])) as server, pytest.raises(ScoringError) as caught:
        model_of(server)
    assert server.base_url in str(caught.value)
    if name == "no choice":  # and so it is where no server is any more
        with pytest.raises(ScoringError, match=server.base_url):
            model_of(server)


def test_what_a_server_refuses_to_be_told_is_left_out(tmp_path: Path) -> None:
    refused = {"max_tokens", "temperature", "seed"}

    def reply(text: str, before: int) -> Reply:
        name = next((name for name in sorted(refused) if name in server.bodies[-1]), None)
        error = {"error": {"message": f"Unsupported: '{name}'.", "param": name}}
        return Reply(status=400, body=json.dumps(error).encode()) if name else Reply()

    with SentimentServer(reply) as server:
        outcomes = score(model_of(server), SUITE)
    whole = [body for body in server.bodies if refused.isdisjoint(body)]
    assert len(whole) == 13 and {body["max_completion_tokens"] for body in whole} == {32}
    endpoint = read_result(write_result(outcomes, tmp_path)).model.endpoint
    assert endpoint is not None and endpoint.max_tokens == 32
    assert (endpoint.temperature, endpoint.seed) == (None, None)


def test_answers_are_kept_by_question_model_and_server_and_read_anew(tmp_path: Path) -> None:
    cache = tmp_path / "kept.sqlite"
    with SentimentServer(always(Reply("Grade: bad"))) as server:

        def labels(name: str, asks: LabelPrompt, tokens: int = 32) -> set[int]:
            model = EndpointModel(name, asks, server.base_url + "/", tokens)
            return set(score(model, SUITE, cache=cache).labels.tolist())

        assert labels("m", LabelPrompt(PROMPT)) == {UNREADABLE}
        assert labels("m", LabelPrompt(PROMPT, ("bad", "so-so", "good"))) == {0}
        assert len(server.bodies) == 12 + 2
        for name, prompt, tokens in (("b", PROMPT, 32), ("m", "{text}?", 32), ("m", PROMPT, 64)):
            before = len(server.bodies)
            labels(name, LabelPrompt(prompt), tokens)
            assert len(server.bodies) == before + 13


def silent(text: str, before: int) -> Reply:
    """Two cases of LC4 are refused, one in the field for it; two of LC9 cannot be read."""
    if "LC4" in text:
        if text.startswith("Sentence 0"):
            return Reply("I'm sorry, but I can't help with that.")
        if text.startswith("Sentence 1"):
            return Reply("", refusal="No.")
        return Reply("It is positive.")
    if text.startswith("Sentence 0"):
        return Reply("")
    return Reply("positive or neutral" if text.startswith("Sentence 1") else "Neutral")


@pytest.fixture
def silent_result(tmp_path: Path) -> Path:
    return write_result(outcomes_with(silent)[0], tmp_path / "results")


def test_refusals_and_unreadable_answers_fail_and_stand_apart(silent_result: Path) -> None:
    result = recompute(silent_result, SUITES)
    lc4, lc9 = result.capabilities["LC4"], result.capabilities["LC9"]
    assert (lc4.refusals, lc4.unreadable) == (2, 0) and (lc9.refusals, lc9.unreadable) == (0, 2)
    assert lc4.all and lc4.answered and lc9.answered
    assert lc4.all.failures == 2 and lc4.answered.failures == 0 and lc4.answered.cases == 4
    assert result.overall.answered and lc9.answered.failure_rate == 1
    assert result.overall.failure_rate.macro == pytest.approx((2 / 6 + 1) / 2)
    assert result.overall.answered.macro == pytest.approx(0.5)
    assert result.answers == {"negative": 0, "neutral": 4, "positive": 4}
    none = outcomes_with(always(Reply("", refusal="No.")))[0]
    assert none.failed.all() and set(none.labels.tolist()) == {REFUSED}
    assert none.figures.overall.answered is None
    model = result.model
    assert model.endpoint and model.endpoint.model_reported == SentimentServer.model_reported
    assert re.fullmatch(r"http://127.0.0.1:\d+/v1", model.endpoint.url)
    assert model.endpoint.requests == 12 and model.endpoint.prompt_tokens == 12 * 14
    assert (model.revision, model.weights_sha256) == ("", "")
    assert json.dumps(PROMPT) in model.label_rule


def test_a_result_is_a_claim_that_nobody_can_verify(silent_result: Path, tmp_path: Path) -> None:
    build_site(collect(silent_result.parent, [SUITE]), tmp_path / "site")
    (row, *_) = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    assert (row["refusals"], row["unreadable"]) == (2, 2)
    assert row["answered_failure_rate_macro"] == pytest.approx(0.5)
    assert row["endpoint"].startswith("http://127.0.0.1")
    assert check(silent_result, SUITE).accepted
    assert not check(silent_result, SUITE, rescore=True).accepted


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "http://user:secret@host/v1"),
        ("url", "javascript:alert(1)"),
        ("url", "https://host/v1?key=1"),
        ("last_day", "some day"),
    ],
)
def test_what_no_endpoint_says_is_refused(silent_result: Path, field: str, value: Any) -> None:
    told = json.loads(silent_result.read_text())
    told["model"]["endpoint"][field] = value
    silent_result.write_text(json.dumps(told))
    assert not check(silent_result, SUITE).accepted
    with pytest.raises(ScoringError):
        collect(silent_result.parent, [SUITE])


@pytest.mark.parametrize(
    ("url", "options", "named"),
    [
        ("localhost:8000", [], "--base-url"),
        ("http://h h/v1", [], "--base-url"),
        ("http://me:secret@h/v1", [], "--base-url"),
        ("https://h/v1?key=secret", [], "--base-url"),
        ("http://h/v1", ["--label-map", "0=negative"], "--label-map"),
        ("http://h/v1", ["--label-map", "G=positive,g=negative"], "label words"),
        ("http://h/v1", [], "s2lct[endpoints]"),
    ],
)
def test_wrong_options_are_told_before_anything_is_asked(
    url: str,
    options: list[str],
    named: str,
    suite_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "endpoints" in named:
        monkeypatch.setitem(sys.modules, "httpx", None)
    given = ["--suite", str(suite_folder), "--out", str(tmp_path), "--base-url", url, *options]
    done = runner.invoke(app, ["score", "m", *given])
    assert done.exit_code
    assert named in " ".join(done.output.split()) and "secret" not in done.output


ANSWERS = (
    ("Positive", 2), ("The sentiment is negative.", 0), ("I can't help with that.", REFUSED),
    ("**neutral**", 1), ("", UNREADABLE), ('{"label": "neutral"}', 1),
)  # fmt: skip
TROUBLE = (
    Reply(status=429, headers={"Retry-After": "0.1"}),
    Reply(cut="before"),
    Reply(cut="within"),
)

# Whoever runs the tests in the background has it ignore interrupts.
INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("s2lct", run_name="__main__")
"""


def test_how_many_requests_it_takes_is_said_before(
    suite_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = len({case.text for case in load_suite(suite_folder, limit=3).with_contrasts})
    said: list[str] = []

    def reply(text: str, before: int) -> Reply:
        said.extend(record.getMessage() for record in caplog.handler.records)
        return Reply()

    options: dict[str, Any] = {"models": ["a", "b"], "prompt": ["{text}?", "{text}!", "{text}"]}
    with SentimentServer(reply) as server:
        options |= {"suite": str(suite_folder), "out": tmp_path, "base_url": server.base_url}
        s2lct.score_models(**options, limit=3)
    expected = (
        f"At most {texts * 6 + 6:,} requests ({texts:,} texts and a trial, 3 prompts, 2 models)"
    )
    assert said[0].startswith(expected)
    assert len(server.bodies) == texts * 6 + 6


def test_a_run_that_is_killed_goes_on(suite_folder: Path, tmp_path: Path, key: str) -> None:
    suite = load_suite(suite_folder)
    texts = list(dict.fromkeys(case.text for case in suite.with_contrasts))
    number_of = {text: number for number, text in enumerate(texts)}
    third, two_thirds = threading.Event(), threading.Event()

    def reply(text: str, before: int) -> Reply:
        for event, share in ((third, 1), (two_thirds, 2)):
            if server.answered.total() >= share * len(texts) // 3:
                event.set()
        number = number_of.get(text, 0)
        if not before and number % 40 == 39:
            return TROUBLE[number // 40 % len(TROUBLE)]
        return Reply(ANSWERS[number % len(ANSWERS)][0], seconds=0.02)

    with SentimentServer(reply) as server:
        command = [
            *(sys.executable, "-c", INTERRUPTIBLE, "score", "tiny-chat"),
            *("--base-url", server.base_url, "--prompt", PROMPT),
            *("--suite", str(suite_folder), "--out", str(tmp_path / "results")),
        ]
        env = os.environ | {"S2LCT_CACHE": str(tmp_path / "cache"), "OPENAI_LOG": "debug"}
        for reached, ended in ((third, signal.SIGINT), (two_thirds, signal.SIGKILL)):
            with (tmp_path / f"{ended}.log").open("wb") as file:
                running = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=file, stderr=file)
                assert reached.wait(200)
                running.send_signal(ended)
                running.wait(60)
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # Nothing is lost, and no more is asked again than was under way or had met with trouble.
    assert set(texts) <= set(server.answered)
    troubled = len(texts) // 40
    assert sum(server.answered[text] - 1 for text in texts) <= 2 * 9 + troubled
    assert server.most_at_once == 8
    (path,) = (tmp_path / "results").glob("*.json")
    result = recompute(path)
    expected = [ANSWERS[number_of[case.text] % len(ANSWERS)][1] for case in suite.cases]
    assert list(result.answers.values()) == [expected.count(label) for label in range(3)]
    assert result.overall.refusals == expected.count(REFUSED) > 0
    assert result.overall.unreadable == expected.count(UNREADABLE) > 0
    # The key came, and stands nowhere.
    assert server.keys == {KEY}
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in file.read_bytes(), file
