"""Changes to a repository of results: new results in their places, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hub_fixtures import HubClient
from hub_server import MAINTAINER, HubServer
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results.read import read_result
from s2lct.leaderboard.results.write import repository_path, write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.leaderboard.submission.changes import Change, ChangesVerdict, comment, faults_of_changes
from s2lct.leaderboard.submission.check import Verdict
from s2lct.suite.cases import load_cases

runner = CliRunner()
RESULTS = "s2lct-org/s2lct-results"
DOCS = Path(__file__).parents[1] / "docs" / "submissions.md"
PLACE = "results/1.0.0-abcdefabcdef/org--model--c0ffee"


def added(*paths: str) -> list[Change]:
    return [Change(path, "added", 100) for path in paths]


@pytest.mark.parametrize(
    ("changes", "existing", "problem"),
    [
        (added(f"{PLACE}.json", f"{PLACE}.parquet"), (), ""),
        ([], (), "changes nothing"),
        (added(f"{PLACE}.json"), (), "lacks org--model--c0ffee.parquet beside it"),
        (added(f"{PLACE}.parquet"), (), "lacks org--model--c0ffee.json beside it"),
        (added("README.md"), (), "is no result in its place"),
        (added("verified.json", "verified.parquet"), (), "is no result in its place"),
        (added("results/verified.json", "results/verified.parquet"), (), "no result in its place"),
        (added("results/a/b/c.json", "results/a/b/c.parquet"), (), "no result in its place"),
        (added("results/../x.json", "results/../x.parquet"), (), "no result in its place"),
        (added("results/1.0.0/.x.json", "results/1.0.0/.x.parquet"), (), "no result in its place"),
        (added("results/1.0.0/ü.json", "results/1.0.0/ü.parquet"), (), "no result in its place"),
        (added(".github/workflows/check.yml"), (), "no result in its place"),
        ([Change(f"{PLACE}.json", "changed")], (), "is changed; a submission only adds"),
        ([Change(f"{PLACE}.json", "deleted")], (), "is deleted; a submission only adds"),
        ([Change(f"{PLACE}.json", "no plain file")], (), "is no plain file"),
        (
            added(f"{PLACE}.json", f"{PLACE}.parquet"),
            (f"{PLACE.replace('model', 'Model')}.json",),
            "Model--c0ffee.json already",
        ),
        ([Change(f"{PLACE}.json", "added", 2**30), *added(f"{PLACE}.parquet")], (), "at most"),
        (
            added(*(f"{PLACE}{n}.{end}" for n in range(21) for end in ("json", "parquet"))),
            (),
            "it changes 42 files; at most 20 results",
        ),
        (added("results/a/\x1b[2J.json"), (), "results/a/�[2J.json: is no result"),
    ],
)
def test_a_change_adds_pairs_of_results_and_nothing_else(
    changes: list[Change], existing: tuple[str, ...], problem: str
) -> None:
    faults = [*faults_of_changes(changes, existing)]
    assert bool(faults) is bool(problem)
    assert problem in "\n".join(faults)


def test_a_comment_is_code_whatever_stands_in_it() -> None:
    verdict = Verdict("[x](y)", "", accepted=False, reasons=("# <script>",))
    told = comment(ChangesVerdict((), (verdict,), "c" * 40))
    head, empty, *lines = told.splitlines()
    assert head == f"Checked {'c' * 40}: refused." and not empty
    assert lines == ["    refused: [x](y)", "      # <script>"]


# Where results lie


def test_results_that_differ_have_places_that_differ(suite_folder: Path, tmp_path: Path) -> None:
    outcomes = score(load_classifier("vader"), load_cases(suite_folder))
    variants: list[dict[str, Any]] = [
        {},
        {"revision": "9.9"},
        {"label_map": {"a": "negative"}},
        {"neutral_band": (0.4, 0.6)},
        {"neutral_band": (0.4, 0.7)},
        *({"model": name, "revision": "r"} for name in ("x/y", "x--y", "x:y", "./x/y", "X-Y")),
    ]
    places = [
        repository_path(read_result(write_result(replace(outcomes, **one), tmp_path / f"{n}")))
        for n, one in enumerate(variants)
    ]
    assert len({place.lower() for place in places}) == len(places)
    assert all(re.fullmatch(r"results/[\w.-]+/[\w.-]+\.json", place) for place in places)
    suite = load_cases(suite_folder)
    own = f"results/{suite.version}-{suite.fingerprint[:12]}"
    assert places[0] == f"{own}/vader--{outcomes.revision}.json"
    assert outcomes.neutral_band == NEUTRAL_BAND


# By git


@dataclass(frozen=True)
class Clone:
    """A repository of results with one result on main."""

    folder: Path
    pair: tuple[str, str]
    content: tuple[bytes, bytes]

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, message: str = "change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def submit(self) -> None:
        for name, content in zip(self.pair, self.content, strict=True):
            self.put(name, content)


@pytest.fixture(scope="module")
def pairs(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of two built-in models, by model: their places, and what belongs there."""
    found: dict[str, Any] = {}
    for name in ("vader", "afinn"):
        folder = tmp_path_factory.mktemp(name)
        path = write_result(score(load_classifier(name), load_cases(suite_folder)), folder)
        place = repository_path(read_result(path))
        told, table = json.loads(path.read_text()), place.replace(".json", ".parquet")
        told["outcomes"]["path"] = Path(table).name
        told["suite"]["name"] = "films"
        data = json.dumps(told).encode()
        found[name] = (place, table), (data, path.with_suffix(".parquet").read_bytes())
    return found


@pytest.fixture
def clone(pairs: dict[str, Any], tmp_path: Path) -> Clone:
    folder = tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(folder)], check=True)
    first = Clone(folder, *pairs["afinn"])
    first.submit()
    first.put("README.md", b"# Results")
    first.commit("afinn")
    return Clone(folder, *pairs["vader"])


def checked(clone: Clone, suite: Path, *options: str, base: str = "main") -> tuple[int, str]:
    head = clone.git("rev-parse", "HEAD")
    arguments = ["leaderboard", "check-changes", base, head, "--git", str(clone.folder)]
    done = runner.invoke(app, [*arguments, "--suite", str(suite), *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, done.output


def test_our_own_pull_requests_are_accepted(
    clone: Clone, suite_folder: Path, tmp_path: Path
) -> None:
    clone.git("switch", "--quiet", "-c", "mine")
    clone.submit()
    clone.commit()
    # Meanwhile others are merged: what main has and this has not is no deletion.
    clone.git("switch", "--quiet", "main")
    clone.put("README.md", b"# Other results")
    clone.commit()
    clone.git("switch", "--quiet", "mine")
    verified = tmp_path / "verified.json"
    code, told = checked(clone, suite_folder, "--rescore", "--record", str(verified))
    assert code == 0, told
    assert f"accepted: {clone.pair[0]}: every figure follows" in told and ": verified" in told
    assert len(json.loads(verified.read_text())) == 1


def overwrite(clone: Clone) -> None:
    name = clone.git("ls-files", "results/*.json")
    (clone.folder / name).write_bytes((clone.folder / name).read_bytes() + b" ")


def delete(clone: Clone) -> None:
    clone.git("rm", "--quiet", clone.git("ls-files", "results/*.parquet"))


def move(clone: Clone) -> None:
    clone.git("mv", clone.git("ls-files", "results/*.json"), "results/elsewhere.json")


def alone(clone: Clone) -> None:
    clone.put(clone.pair[1], clone.content[1])


def verify_it(clone: Clone) -> None:
    clone.submit()
    clone.put(f"{Path(clone.pair[0]).parent}/verified.json", b"{}")


def link(clone: Clone) -> None:
    clone.submit()
    (clone.folder / clone.pair[0]).unlink()
    (clone.folder / clone.pair[0]).symlink_to("/etc/passwd")


def squat(clone: Clone) -> None:
    told = json.loads(clone.content[0])
    place, table = (name.replace("vader", "org--model") for name in clone.pair)
    told["outcomes"]["path"] = Path(table).name
    clone.put(place, json.dumps(told).encode())
    clone.put(table, clone.content[1])


def lie(clone: Clone) -> None:
    told = json.loads(clone.content[0])
    told["overall"]["failure_rate"] = 0.0
    clone.put(clone.pair[0], json.dumps(told).encode())
    clone.put(clone.pair[1], clone.content[1])


def readme(clone: Clone) -> None:
    clone.submit()
    clone.put("README.md", b"# Mine is best")


ATTACKS: dict[Callable[[Clone], None], str] = {
    overwrite: "is changed; a submission only adds",
    delete: "is deleted; a submission only adds",
    move: "is deleted; a submission only adds",
    alone: "lacks vader--",
    verify_it: "verified.json: lacks verified.parquet",
    link: "is no plain file",
    squat: "belongs at results/",
    lie: "overall.failure_rate does not follow",
    readme: "README.md: is changed",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_pull_request_that_does_more_is_refused(
    attack: Callable[[Clone], None], clone: Clone, suite_folder: Path
) -> None:
    clone.git("switch", "--quiet", "-c", "mine")
    attack(clone)
    clone.commit()
    code, told = checked(clone, suite_folder)
    assert code == 1
    assert told.startswith("refused: ")
    assert ATTACKS[attack] in told


def test_what_git_cannot_tell_is_one_line(clone: Clone, suite_folder: Path, tmp_path: Path) -> None:
    for base in ("nowhere", "--output=x", "a b"):
        code, told = checked(clone, suite_folder, base=base)
        assert code in (1, 2)
        assert "Traceback" not in told
    done = runner.invoke(app, ["leaderboard", "check-changes", "main", "main"])
    assert done.exit_code == 1 and "--repo or --git" in done.output
    assert not list(tmp_path.rglob("x"))


# The recipes


def recipe(heading: str, language: str) -> str:
    section = DOCS.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


def run_in_shell(script: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    binaries = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=cwd,
        env=os.environ | more | {"PATH": f"{binaries}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_recipe_for_github(clone: Clone, suite_folder: Path, tmp_path: Path) -> None:
    import yaml

    workflow = yaml.safe_load(recipe("On GitHub", "yaml"))
    job = workflow["jobs"]["check"]
    assert job["timeout-minutes"] and workflow["permissions"] == {"contents": "read"}
    script = job["steps"][-1]["run"].replace("ORG/s2lct@v1.0.0", str(suite_folder))
    script = script.replace("${{ github.event.pull_request.number }}", "7")
    base = clone.git("rev-parse", "main")
    for attack, code in ((Clone.submit, 0), (readme, 1)):
        clone.git("switch", "--quiet", "-C", "theirs", "main")
        attack(clone)
        head = clone.commit()
        clone.git("update-ref", "refs/pull/7/head", head)
        clone.git("switch", "--quiet", "main")
        runner_folder = tmp_path / f"runner-{code}"
        cloned = ("git", "clone", "--quiet", "--branch", "main", f"file://{clone.folder}")
        subprocess.run([*cloned, runner_folder], check=True)
        done = run_in_shell(script, runner_folder, BASE=base, HEAD=head)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.startswith("refused" if code else "accepted")


# On a Hub


@pytest.fixture(scope="module")
def results_hub(
    suite_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[HubClient, HubClient]]:
    """A maintainer with a dataset of one result, and a stranger, at a Hub."""
    from hub_server import STRANGER

    with HubServer() as server:
        home = tmp_path_factory.mktemp("hub")
        maintainer = HubClient(server, home / "maintainer", MAINTAINER.token, server.endpoint)
        stranger = replace(maintainer, home=home / "stranger", token=STRANGER.token)
        suite = ("--suite", suite_folder)
        maintainer.s2lct("score", "afinn", *suite, "--out", "results")
        maintainer.s2lct("publish", "results", "results/afinn.json", "--to", RESULTS)
        stranger.s2lct("score", "vader", "textblob", *suite, "--out", "results")
        yield maintainer, stranger


COMMIT = """
import json, sys
from pathlib import Path
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
repo, add, delete = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
operations = [CommitOperationAdd(path, content.encode()) for path, content in add.items()]
operations += [CommitOperationDelete(path) for path in delete]
HfApi().create_commit(repo, operations, commit_message="Results", repo_type="dataset",
    create_pr=True)
"""
SAY = """
import sys
from huggingface_hub import HfApi
HfApi().comment_discussion(sys.argv[1], int(sys.argv[2]), sys.argv[3], repo_type="dataset")
"""


def comments(server: HubServer, number: int) -> list[str]:
    events = server.repo("dataset", RESULTS).discussions[number].events
    return [
        event["data"]["latest"]["raw"]
        for event in events
        if event["type"] == "comment" and event["author"]["name"] == MAINTAINER.name
    ]


def test_the_recipe_for_the_hub(
    results_hub: tuple[HubClient, HubClient], suite_folder: Path, tmp_path: Path
) -> None:
    maintainer, stranger = results_hub
    server = maintainer.server
    publish = ("publish", "results", "--to", RESULTS, "--create-pr")
    stranger.s2lct(*publish, "results/vader.json")
    (existing,) = (path for path in server.files("dataset", RESULTS) if path.endswith(".json"))
    stranger.python(COMMIT, RESULTS, json.dumps({existing: "{}"}), "[]")
    stranger.python(COMMIT, RESULTS, "{}", json.dumps([existing]))
    stranger.python(COMMIT, RESULTS, json.dumps({"README.md": "# Mine is best"}), "[]")
    alone = {existing.replace("afinn", "mine").replace(".json", ".parquet"): "PAR1"}
    stranger.python(COMMIT, RESULTS, json.dumps(alone), "[]")
    # Somebody's word that it was checked is nobody's.
    head = server.repo("dataset", RESULTS).pulls["refs/pr/3"]
    stranger.python(SAY, RESULTS, "3", f"Checked {head}: accepted.")

    script = recipe("On the Hub", "bash")
    script = script.replace("ORG/s2lct-results", RESULTS)
    script = script.replace("ORG/s2lct@v1.0.0", str(suite_folder))
    environment = maintainer.environment
    done = run_in_shell(script, tmp_path, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {number: comments(server, number) for number in range(1, 6)}
    assert [len(one) for one in told.values()] == [1] * 5
    assert "accepted." in told[1][0] and ": verified" in told[1][0]
    for number, problem in (
        (2, "is changed; a submission only adds"),
        (3, "is deleted; a submission only adds"),
        (4, "README.md: is changed"),
        (5, "lacks mine"),
    ):
        assert "refused." in told[number][0] and problem in told[number][0]
    assert MAINTAINER.token not in done.stdout + done.stderr
    assert len(json.loads((tmp_path / "verified.json").read_text())) == 1

    # What was answered is left alone; what came since is not.
    done = run_in_shell(script, tmp_path, **environment)
    assert done.stdout == "" and len(comments(server, 1)) == 1
    server.repo("dataset", RESULTS).merge(1, MAINTAINER.name)
    stranger.s2lct(*publish, "results/textblob.json")
    done = run_in_shell(script, tmp_path, **environment)
    assert len(comments(server, 6)) == 1 and "accepted." in comments(server, 6)[0]

    one = ("leaderboard", "check-changes", "main", "refs/pr/2", "--repo", RESULTS)
    refused = maintainer.try_s2lct(*one, "--suite", suite_folder)
    assert refused.returncode == 1 and refused.stdout.startswith("refused: main...")
