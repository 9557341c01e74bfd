"""Models behind an OpenAI-compatible endpoint, against a server that fails in every way."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from chat_server import Reply, SentimentServer
from damaged_suites import edited_suite
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.identity import content_id, fingerprint_of
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.models.endpoint import EndpointModel, Server
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.results.read import Suites, read_result, read_scored, recompute
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.submission import check
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.leaderboard.site.site import build_site
from s2lct.suite.cases import Case, SuiteCases, load_cases

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
    """The client sends again at once."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)


def model_of(server: SentimentServer, **more: Any) -> EndpointModel:
    place = replace(Server(server.base_url, retries=3, seconds=1.5), **more)
    return EndpointModel("tiny-chat", LabelPrompt(PROMPT), place)


def outcomes_with(rule: Rule, cache: Path | None = None) -> tuple[Outcomes, SentimentServer]:
    with SentimentServer(rule) as server:
        return score(model_of(server), SUITE, cache=cache), server


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def always(reply: Reply) -> Rule:
    return lambda text, before: reply


def test_what_is_asked_is_deterministic_and_one_text_at_a_time(key: str) -> None:
    outcomes, server = outcomes_with(always(Reply("**Positive**")))
    assert outcomes.failed.tolist() == [False] * 6 + [True] * 6
    asked = {body["messages"][0]["content"] for body in server.bodies}
    assert asked == {f"Sentiment of: {case.text}" for case in CASES}
    for body in server.bodies:
        assert len(body["messages"]) == 1 and body["model"] == "tiny-chat"
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0, 0, 32)
    assert server.keys == {KEY} and 1 <= server.most_at_once <= 8


def test_some_questions_are_asked_at_a_time() -> None:
    together = threading.Barrier(4)

    def reply(text: str, before: int) -> Reply:
        # The first question goes alone; then four of eight come together.
        return Reply() if server.requests.total() not in range(1, 9) else Reply(together=together)

    with SentimentServer(reply) as server:
        score(model_of(server), SUITE)
    assert 4 <= server.most_at_once <= 8


FAULTS: dict[str, Reply] = {
    "429": Reply(status=429),
    "429 with Retry-After": Reply(status=429, headers={"Retry-After": "0.05"}),
    "500": Reply(status=500),
    "503": Reply(status=503, headers={"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    "cut before": Reply(cut="before"),
    "cut within": Reply("positive", cut="within"),
    "slow": Reply("positive", seconds=2.0),
    "no JSON": Reply(body=b"<html>busy</html>"),
    "no choices": Reply(body=b'{"id": "1", "object": "chat.completion", "choices": []}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_asked_again(fault: str) -> None:
    outcomes, server = outcomes_with(
        lambda text, before: FAULTS[fault] if "3 of" in text and before < 2 else Reply("negative")
    )
    assert outcomes.labels.tolist() == [0] * 12
    assert {server.requests[case.text] for case in CASES if "3 of" in case.text} == {3}
    assert outcomes.endpoint is not None and outcomes.endpoint.requests == 12 + 2 * 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_a_server_refuses_is_one_error_and_not_asked_again(status: int, key: str) -> None:
    refusing = SentimentServer(always(Reply(status=status)))
    with refusing as server, pytest.raises(ScoringError) as caught:
        score(model_of(server), SUITE)
    told = str(caught.value)
    assert f"{status}" in told and server.base_url in told and "→" in told
    assert KEY not in told and len(server.bodies) == 1
    if status == 401:
        assert "OPENAI_API_KEY" in told


def test_what_fails_for_good_tells_what_is_kept_and_goes_on(tmp_path: Path, key: str) -> None:
    cache, broken = tmp_path / "kept.sqlite", True

    def reply(text: str, before: int) -> Reply:
        return Reply(status=500) if broken and text == CASES[8].text else Reply("negative")

    with SentimentServer(reply) as server:
        with pytest.raises(ScoringError) as caught:
            score(model_of(server), SUITE, cache=cache)
        kept = sum(server.answered.values())
        assert f"{kept} of 12 answers are kept" in caught.value.problem
        assert "the same command goes on" in caught.value.hint
        assert KEY not in str(caught.value)
        broken = False
        outcomes = score(model_of(server), SUITE, cache=cache)
        assert outcomes.labels.tolist() == [0] * 12
        assert set(server.answered.values()) == {1}
        assert outcomes.endpoint is not None and outcomes.endpoint.reused == kept


KEPT = [
    ({}, {}, {}, 1),
    ({"keeps_answers": True}, {}, {}, 0),
    ({}, {"model": "tiny-chat-2"}, {}, 12),
    ({}, {"system_fingerprint": "fp_2"}, {}, 12),
    ({"keeps_answers": True}, {"model": "tiny-chat-2"}, {}, 0),
    ({}, {}, {"days": 2}, 12),
    ({"keeps_answers": True}, {}, {"days": 2}, 0),
]


@pytest.mark.parametrize(("option", "more", "age", "asked"), KEPT)
def test_kept_answers_are_of_the_model_that_answers_now(
    option: dict[str, bool],
    more: dict[str, str],
    age: dict[str, int],
    asked: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache, served = tmp_path / "kept.sqlite", Reply("positive")
    with SentimentServer(lambda text, before: served) as server:
        score(model_of(server), SUITE, cache=cache)
        then = datetime.now(timezone.utc) - timedelta(**age)
        with sqlite3.connect(cache) as connection:
            connection.execute(
                "UPDATE predictions SET prediction = "
                "CAST(json_set(CAST(prediction AS TEXT), '$.time', ?) AS BLOB)",
                [then.isoformat()],
            )
        served = Reply("negative", more=more)
        outcomes = score(model_of(server, **option), SUITE, cache=cache)
        assert len(server.bodies) == 12 + asked
    path = write_result(outcomes, tmp_path / "results")
    endpoint = read_result(path).model.endpoint
    assert endpoint is not None and endpoint.reused == 12 - asked
    assert (
        endpoint.first_day
        == (then if asked < 12 else datetime.now(timezone.utc)).date().isoformat()
    )
    assert outcomes.labels.tolist().count(0) == asked


@pytest.mark.parametrize("keeps", [False, True])
def test_no_result_is_of_two_models(keeps: bool, tmp_path: Path) -> None:
    cache, change = tmp_path / "kept.sqlite", 6

    def reply(text: str, before: int) -> Reply:
        return Reply(more={"model": "other-chat"} if len(server.bodies) > change else {})

    with SentimentServer(reply) as server:
        for last in (6, 0):
            change = last
            with pytest.raises(ScoringError) as caught:
                score(model_of(server, keeps_answers=keeps), SUITE, cache=cache)
            assert "other-chat" in str(caught.value) and server.model_reported in str(caught.value)
            if not keeps:
                break
        else:
            return
        outcomes = score(model_of(server), SUITE, cache=cache)
    assert outcomes.endpoint is not None and outcomes.endpoint.model_reported == "other-chat"
    assert outcomes.endpoint.reused == 0


def completion(**more: Any) -> bytes:
    message = {"role": "assistant", "content": "positive"} | more.pop("message", {})
    return json.dumps({"model": "m", "choices": [{"message": message}]} | more).encode()


HOSTILE = {
    "deep JSON": Reply(body=b"[" * 100_000),
    "a list as content": Reply(body=completion(message={"content": [["positive"]]})),
    "a list as name": Reply(body=completion(model=["m"])),
    "fewer than no tokens": Reply(body=completion(usage={"prompt_tokens": -5})),
    "no end": Reply(drips=0.000_001),
    "no end, drop by drop": Reply(drips=0.05),
    "an error without end": Reply(status=401, drips=0.000_001),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_server_should_send_is_a_single_error(name: str) -> None:
    with SentimentServer(always(HOSTILE[name])) as server, pytest.raises(ScoringError) as caught:
        score(model_of(server, retries=1), SUITE)
    assert server.base_url in str(caught.value)


def test_where_no_server_is_nothing_is_asked_for_long() -> None:
    with SentimentServer(always(Reply())) as server:
        pass
    model = model_of(server, retries=7)
    with pytest.raises(ScoringError) as caught:
        score(model, SUITE)
    assert server.base_url in str(caught.value) and 1 <= model.sent <= 3


def test_what_a_server_refuses_to_be_told_is_left_out(tmp_path: Path) -> None:
    refused = {"max_tokens", "temperature", "seed"}

    def reply(text: str, before: int) -> Reply:
        name = next((name for name in sorted(refused) if name in server.bodies[-1]), None)
        error = {"error": {"message": f"Unsupported: '{name}'.", "param": name}}
        return Reply(status=400, body=json.dumps(error).encode()) if name else Reply()

    with SentimentServer(reply) as server:
        outcomes = score(model_of(server), SUITE)
    whole = [body for body in server.bodies if refused.isdisjoint(body)]
    assert len(whole) == 12 and {body["max_completion_tokens"] for body in whole} == {32}
    endpoint = read_result(write_result(outcomes, tmp_path)).model.endpoint
    assert endpoint is not None and endpoint.max_tokens == 32
    assert (endpoint.temperature, endpoint.seed) == (None, None)


SPELLINGS = {
    "http://vllm_server:8000/v1": ["HTTP://VLLM_SERVER:8000/v1/", "http://vllm_server.:8000//v1"],
    "https://api.example.com/v1": [
        "https://API.example.com:443/v1",
        "https://api.example.com/v1//",
    ],
    "http://[::1]/v1": ["http://[::1]:80/v1"],
}


@pytest.mark.parametrize("address", SPELLINGS)
def test_spellings_of_an_address_are_one_that_results_may_have(
    address: str, silent_result: Path
) -> None:
    for spelling in (address, *SPELLINGS[address]):
        assert Server(spelling).url == address
    told = json.loads(silent_result.read_text())
    told["model"]["endpoint"]["url"] = address
    silent_result.write_text(json.dumps(told))
    verdict = check(silent_result, SUITE)
    assert verdict.accepted, verdict.reasons


def test_answers_are_kept_by_question_model_and_server_and_read_anew(tmp_path: Path) -> None:
    cache = tmp_path / "kept.sqlite"
    with SentimentServer(always(Reply("Grade: bad"))) as server:
        place = Server(server.base_url)
        first = score(EndpointModel("m", LabelPrompt(PROMPT), place), SUITE, cache=cache)
        words = LabelPrompt(PROMPT, ("bad", "so-so", "good"))
        second = score(EndpointModel("m", words, place), SUITE, cache=cache)
        assert set(first.labels) == {UNREADABLE} and set(second.labels) == {0}
        assert len(server.bodies) == 13  # the first question is asked again
        for name, prompt, tokens in (("b", PROMPT, 32), ("m", "{text}?", 32), ("m", PROMPT, 64)):
            before = len(server.bodies)
            model = EndpointModel(name, LabelPrompt(prompt), Server(server.base_url, tokens))
            score(model, SUITE, cache=cache)
            assert len(server.bodies) == before + 12


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
    assert result.overall.failure_rate == pytest.approx((2 / 6 + 1) / 2)
    assert result.overall.answered.failure_rate == pytest.approx(0.5)
    assert result.answers == {"negative": 0, "neutral": 4, "positive": 4}
    none = outcomes_with(always(Reply("", refusal="No.")))[0]
    assert none.failed.all() and set(none.labels.tolist()) == {REFUSED}


def test_what_an_endpoint_took_is_recorded(silent_result: Path) -> None:
    model = read_result(silent_result).model
    endpoint = model.endpoint
    assert endpoint is not None and endpoint.model_reported == SentimentServer.model_reported
    assert re.fullmatch(r"http://127.0.0.1:\d+/v1", endpoint.url)
    assert endpoint.requests == 12 and endpoint.prompt_tokens == 12 * 14
    assert endpoint.completion_tokens > 0
    assert (model.revision, model.weights_sha256) == ("", "")
    assert json.dumps(PROMPT) in model.label_rule


def test_the_board_says_that_it_cannot_be_scored_again(silent_result: Path, tmp_path: Path) -> None:
    collection = collect(silent_result.parent, [SUITE])
    build_site(collection, tmp_path / "site")
    (row, *_) = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    assert (row["refusals"], row["unreadable"]) == (2, 2)
    assert row["answered_failure_rate"] == pytest.approx(0.5)
    assert row["endpoint"].startswith("http://127.0.0.1")
    page = (tmp_path / "site" / "index.html").read_text()
    assert "cannot be scored again" in page


def test_a_submission_of_an_endpoint_is_a_claim_that_nobody_can_verify(
    silent_result: Path,
) -> None:
    verdict = check(silent_result, SUITE)
    assert verdict.accepted, verdict.reasons
    again = check(silent_result, SUITE, rescore=True)
    assert not again.accepted
    assert "cannot be scored again" in again.reasons[0] and "without --rescore" in again.reasons[0]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "http://user:secret@host/v1", "is no address"),
        ("url", "javascript:alert(1)", "is no address"),
        ("url", "https://host/v1?key=1", "is no address"),
        ("last_day", "some day", "is no ISO date"),
    ],
)
def test_what_no_endpoint_says_is_refused(
    silent_result: Path, field: str, value: Any, said: str
) -> None:
    told = json.loads(silent_result.read_text())
    told["model"]["endpoint"][field] = value
    silent_result.write_text(json.dumps(told))
    assert any(said in reason for reason in check(silent_result, SUITE).reasons)
    with pytest.raises(ScoringError):
        collect(silent_result.parent, [SUITE])


def test_two_servers_are_two_rows_and_a_tag_is_part_of_a_name(tmp_path: Path) -> None:
    for _ in range(2):
        with SentimentServer(always(Reply())) as server:
            model = EndpointModel("llama3:8b-q4", LabelPrompt(PROMPT), Server(server.base_url))
            write_result(score(model, SUITE), tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    (suite,) = collect(tmp_path, [SUITE]).suites
    names = [one.scored.result.model.name for one in suite.standings]
    assert names == ["llama3:8b-q4"] * 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--base-url", "localhost:8000"], "is no address of a server"),
        (["--base-url", "http://h h/v1"], "is no address of a server"),
        (["--base-url", "http://h:99999/v1"], "--base-url"),
        (["--base-url", "http://me:secret@h/v1"], "host and path alone"),
        (["--base-url", "https://h/v1?key=secret"], "host and path alone"),
        (["--base-url", "http://h/v1", "--label-map", "0=negative"], "--label-map"),
        (["--base-url", "http://h/v1", "--label-map", "G=positive,g=negative"], "capital letters"),
    ],
)
def test_wrong_options_are_told_before_anything_is_asked(
    options: list[str], problem: str, suite_folder: Path, tmp_path: Path
) -> None:
    done = runner.invoke(
        app, ["score", "m", "--suite", str(suite_folder), "--out", str(tmp_path), *options]
    )
    assert done.exit_code
    assert problem in " ".join(done.output.split()) and "secret" not in done.output


def test_without_the_client_the_extra_is_named(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    given = ["--suite", str(suite_folder), "--out", str(tmp_path)]
    done = runner.invoke(app, ["score", "m", "--base-url", "http://h/v1", *given])
    assert done.exit_code == 1 and "s2lct[endpoints]" in done.output


# A suite of 2,000 cases, killed in the middle.
MANY, CAPABILITIES = 2_000, ("LC1", "LC2", "LC3", "LC4")
TROUBLE = {
    101: Reply(status=429, headers={"Retry-After": "0.1"}), 211: Reply(status=500),
    307: Reply(cut="before"), 401: Reply("positive", cut="within"),
    503: Reply(status=429, headers={"Retry-After": "0.1"}), 1_201: Reply(status=502),
    1_301: Reply(cut="before"), 1_409: Reply(cut="within"),
}  # fmt: skip
ANSWERS = (
    ("Positive", 2), ("The sentiment is negative.", 0), ("I can't help with that.", REFUSED),
    ("**neutral**", 1), ("", UNREADABLE), ("Somewhere between neutral and positive", UNREADABLE),
    ('{"label": "neutral"}', 1),
)  # fmt: skip


@pytest.fixture(scope="module")
def large_suite(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def many(name: str, rows: Any) -> Any:
        if name not in CAPABILITIES:
            return rows
        seed = next(row for row in rows if row["kind"] == "seed")
        texts = [f"Sentence {n}, {name}." for n in range(MANY // len(CAPABILITIES))]
        ids = [content_id("seed", name, text) for text in texts]
        return [
            seed | {"id": one, "seed_id": one, "text": text}
            for one, text in zip(ids, texts, strict=True)
        ]

    out = tmp_path_factory.mktemp("large") / "suite"
    return edited_suite(suite_folder, out, "1.1.0", many)


def answered_by_rule(text: str, before: int) -> Reply:
    found = re.fullmatch(r"Sentence (\d+), (\w+)\.", text)
    assert found
    number = int(found[1])
    if not before and (trouble := TROUBLE.get(number + 500 * (int(found[2][2:]) - 1))):
        return trouble
    return Reply(ANSWERS[number % len(ANSWERS)][0], seconds=0.02 if number % 50 == 0 else 0.002)


# Whoever runs the tests in the background has it ignore interrupts.
INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("s2lct", run_name="__main__")
"""


def test_2000_cases_with_8_in_flight_are_killed_and_go_on(
    large_suite: Path, tmp_path: Path, key: str
) -> None:
    quarter, half = threading.Event(), threading.Event()
    together = threading.Barrier(8)

    def reply(text: str, before: int) -> Reply:
        if 1 <= server.requests.total() < 9:  # the first is asked alone
            return replace(answered_by_rule(text, before), together=together)
        for event, share in ((quarter, 4), (half, 2)):
            if sum(server.answered.values()) >= MANY // share:
                event.set()
        return answered_by_rule(text, before)

    def kept() -> set[bytes]:
        (file,) = (tmp_path / "cache").glob("*.sqlite")
        with sqlite3.connect(file) as connection:
            return {row[0] for row in connection.execute("SELECT text FROM predictions")}

    with SentimentServer(reply) as server:
        command = [
            *(sys.executable, "-c", INTERRUPTIBLE, "score", "tiny-chat"),
            *("--base-url", server.base_url),
            *("--prompt", PROMPT, "--suite", str(large_suite), "--out", str(tmp_path / "results")),
            *(part for name in CAPABILITIES for part in ("--capability", name)),
        ]
        env = os.environ | {"S2LCT_CACHE": str(tmp_path / "cache"), "OPENAI_LOG": "debug"}
        logs = [tmp_path / "interrupted.log", tmp_path / "killed.log"]
        for log, reached, ended in zip(
            logs, (quarter, half), (signal.SIGINT, signal.SIGKILL), strict=True
        ):
            with log.open("wb") as file:
                running = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=file, stderr=file)
                assert reached.wait(200)
                running.send_signal(ended)
                code = running.wait(60)
            if ended is signal.SIGINT:
                assert code == 130 and "The same command goes on" in log.read_text()
                # Requests under way were answered, and these answers are kept.
                assert len(server.answered) - len(kept()) <= 1
        before, known = server.answered.copy(), kept()
        # All that was answered is kept, but for what was under way when it was killed.
        lost = [text for text in before if _key(text) not in known]
        assert MANY // 2 - 8 <= len(known) < MANY and len(lost) <= 8
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = [case for case in load_cases(large_suite).cases if case.capability in CAPABILITIES]
    assert len(asked) == MANY
    # Nothing is lost, and nothing that was kept is asked again.
    assert set(server.answered) == {case.text for case in asked}
    again = [text for text, count in server.answered.items() if count > 1]
    assert {_key(text) for text in again}.isdisjoint(known) and len(again) <= len(lost)
    assert server.most_at_once == 8
    (path,) = (tmp_path / "results").glob("*.json")
    result, outcomes = recompute(path), read_scored(path).outcomes
    numbers = (int(case.text.split()[1].rstrip(",")) for case in asked)
    whole = [ANSWERS[number % len(ANSWERS)][1] for number in numbers]
    assert outcomes.labels.tolist() == whole
    assert result.overall.refusals == whole.count(REFUSED) > 200
    assert result.overall.unreadable == whole.count(UNREADABLE) > 500
    endpoint = result.model.endpoint
    assert endpoint and f"{endpoint.requests:,} requests" in " ".join(done.stdout.split())
    # The key came, and stands nowhere.
    assert server.keys == {KEY}
    assert KEY not in done.stdout + done.stderr
    for one in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in one.read_bytes(), one
