"""docs/check-results.yml, run on histories made to get more onto main than results."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from test_readme import parse

DOCS = Path(__file__).parents[1] / "docs"
WORKFLOW = yaml.safe_load((DOCS / "check-results.yml").read_text("utf-8"))
STEPS = [step for step in WORKFLOW["jobs"]["check"]["steps"] if "env" in step]
EVIL = ".github/workflows/evil.yml"
IN = "results/3.0.0-0123456789ab"
VADER = f"{IN}/vader"


class Repository:
    """A repository of results with a pull request, and what the workflow says of it."""

    def __init__(self, folder: Path) -> None:
        self.work, self.origin, self.home = folder / "work", folder / "origin", folder / "home"
        self.home.mkdir()
        self.environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "HOME": str(self.home),
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"), "x@y.z"),
            **dict.fromkeys(("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"), "x@y.z"),
        }
        (folder / "s2lct").write_text('#!/bin/sh\necho checked "$@"\n')
        (folder / "s2lct").chmod(0o755)
        self.work.mkdir()
        self.git("init", "-q", "-b", "main", str(self.work))
        self.git("init", "-q", "--bare", "-b", "main", str(self.origin))
        self.git("remote", "add", "origin", str(self.origin))
        self.commit()
        self.add("main", VADER)
        self.push()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.work, env=self.environment, text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def push(self) -> None:
        self.git("push", "-q", "-f", "origin", "main")

    def on(self, branch: str, start: str = "main") -> None:
        """Go to a branch, which begins at ``start`` where there is none of that name."""
        known = self.git("branch", "--list", branch)
        self.git("checkout", "-q", *([branch] if known else ["-b", branch, start]))

    def write(self, **contents: str) -> None:
        for name, content in contents.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def commit(self) -> None:
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def add(self, branch: str, *stems: str) -> None:
        self.on(branch)
        for stem in stems:
            self.write(**{f"{stem}.json": branch, f"{stem}.parquet": branch})
        self.commit()

    def merge(self, branch: str, *, squash: bool) -> None:
        """Merge a pull request into main, as its owner does."""
        self.on("main")
        self.git("merge", "-q", *(["--squash"] if squash else ["--no-ff", "-m", "x"]), branch)
        self.commit()
        self.push()

    def crossed(self, tree: str, *parents: str) -> str:
        """A commit with the files of one and any history."""
        named = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", f"{tree}^{{tree}}", *named, "-m", "x")

    def check(self, pull: str = "pull", event: str = "") -> tuple[bool, str]:
        """Whether the workflow accepts a pull request, and what it prints."""
        self.git("push", "-q", "-f", "origin", f"{pull}:refs/pull/7/head")
        clone = self.home / f"clone{len(list(self.home.iterdir()))}"
        self.git("clone", "-q", str(self.origin), str(clone))
        environment = self.environment | {
            "PULL": "7",
            "HEAD": event or self.git("rev-parse", pull),
            "ADDED": f"{clone}-added",
            "SUITE": WORKFLOW["env"]["SUITE"],
        }
        said = ""
        for step in STEPS:
            done = subprocess.run(
                ["bash", "-c", step["run"]], cwd=clone, env=environment, text=True,
                capture_output=True,
            )  # fmt: skip
            said += done.stdout + done.stderr
            if done.returncode:
                return False, said
        return True, said


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_workflow_is_one_of_ours_and_runs_nothing_of_a_pull_request() -> None:
    line = STEPS[-1]["run"].splitlines()[-1].partition("s2lct ")[2]
    parse([*line.replace('"$SUITE"', "ORG/s2lct@v4.0.0").split(), "x.json"])
    (trigger,) = WORKFLOW[True] if isinstance(WORKFLOW[True], list) else [WORKFLOW[True]]
    assert trigger == "pull_request_target" and WORKFLOW["permissions"] == {"contents": "read"}
    assert not [step for step in STEPS if "${{" in step["run"]]
    checkout = WORKFLOW["jobs"]["check"]["steps"][0]
    assert "ref" not in checkout["with"] and checkout["with"]["persist-credentials"] is False


def test_new_results_are_checked_though_main_went_on(repository: Repository) -> None:
    repository.add("pull", f"{IN}/a--b--12345678", "results/0123456789ab/c_d.e")
    repository.add("main", f"{IN}/other")
    repository.push()
    accepted, said = repository.check()
    assert accepted, said
    assert "--suite ORG/s2lct@v4.0.0 --rescore" in said
    checked = re.findall(r"-added/(\S+)", said)
    assert {*checked} == {f"{IN}/a--b--12345678.json", "results/0123456789ab/c_d.e.json"}
    assert not repository.check(event=repository.git("rev-parse", "main"))[0]


def replaced(repository: Repository) -> None:
    repository.write(**{f"{VADER}.json": "better", f"{VADER}.parquet": "better"})


def deleted(repository: Repository) -> None:
    repository.git("rm", "-q", f"{VADER}.json", f"{VADER}.parquet")


def renamed(repository: Repository) -> None:
    repository.git("mv", f"{VADER}.json", f"{IN}/mine.json")
    repository.git("mv", f"{VADER}.parquet", f"{IN}/mine.parquet")


def linked(repository: Repository) -> None:
    repository.write(**{f"{IN}/mine.parquet": ""})
    (repository.work / f"{IN}/mine.json").symlink_to("/etc/passwd")


def runnable(repository: Repository) -> None:
    repository.write(**dict.fromkeys(PAIR, ""))
    (repository.work / f"{IN}/mine.json").chmod(0o755)


def module(repository: Repository) -> None:
    commit = repository.git("rev-parse", "HEAD")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{IN}/x.json")


def files(*names: str) -> Callable[[Repository], None]:
    return lambda repository: repository.write(**dict.fromkeys(names, "x"))


def pair(stem: str) -> tuple[str, str]:
    return f"{IN}/{stem}.json", f"{IN}/{stem}.parquet"


OTHERS = pair("vader")
PAIR = pair("mine")
MORE_THAN_RESULTS: dict[str, Callable[[Repository], None]] = {
    "nothing": files(),
    "a workflow": files(*PAIR, EVIL),
    "a Parquet file more": files(*PAIR, f"{IN}/more.parquet"),
    "a JSON file more": files(*PAIR, f"{IN}/more.json"),
    "another kind of file": files(*PAIR, f"{IN}/mine.py"),
    "attributes": files(*PAIR, f"{IN}/.gitattributes"),
    "a folder deeper": files(*pair("x/mine")),
    "another folder": files("results/mine/mine.json", "results/mine/mine.parquet"),
    "no folder": files("results/mine.json", "results/mine.parquet"),
    "a folder beside": files(*(name.replace("results", "suites") for name in PAIR)),
    "a folder of a suite": files(*PAIR, "ORG/s2lct@v4.0.0/suite.json"),
    "other letters": files(*(name.replace("vader", "VADER") for name in OTHERS)),
    "other letters of a folder": files(*(name.replace("9ab/v", "9AB/x") for name in OTHERS)),
    "an option": files(*pair("--out")),
    "a space": files(*pair("a b")),
    "a line": files(*pair("a\nb")),
    "other alphabets": files(*pair("vаder")),
    "another's row, replaced": replaced,
    "another's row, deleted": deleted,
    "another's row, renamed": renamed,
    "a link": linked,
    "a program": runnable,
    "a submodule": module,
}  # fmt: skip


@pytest.mark.parametrize("what", MORE_THAN_RESULTS)
def test_what_is_more_than_new_results_is_refused(what: str, repository: Repository) -> None:
    repository.on("pull")
    MORE_THAN_RESULTS[what](repository)
    if what != "a submodule":
        repository.commit()
    else:
        repository.git("commit", "-q", "-m", "x")
    accepted, said = repository.check()
    assert not accepted and "refused: " in said and "checked" not in said


@pytest.mark.parametrize("squash", [True, False])
@pytest.mark.parametrize("target", ["workflow", "row"])
def test_no_two_pull_requests_together_bring_more_than_results(
    repository: Repository, squash: bool, target: str
) -> None:
    """The histories of both hold the same commits, of which each merge takes what it shows not."""

    def spoil() -> None:
        if target == "workflow":
            repository.write(**{EVIL: "on: push"})
        else:
            replaced(repository)
        repository.commit()

    base = repository.git("rev-parse", "main")
    repository.on("p1")
    spoil()
    p1 = repository.git("rev-parse", "HEAD")
    if target == "workflow":
        repository.git("rm", "-q", EVIL)
    repository.git("checkout", base, "--", ".")
    repository.commit()
    p2 = repository.git("rev-parse", "HEAD")
    p1b = repository.crossed(p1, p1)
    clean, spoiled = repository.crossed(base, p2, p1b), repository.crossed(p1, p1b, p2)
    for name, start in (("first", clean), ("second", spoiled)):
        repository.on(name, start)
        repository.add(name, f"results/3.0.0-0123456789ab/{name}")
    accepted, _ = repository.check("first")
    assert accepted
    repository.merge("first", squash=squash)
    accepted, said = repository.check("second")
    assert not accepted, said
    assert ("more than add" if squash else "common ancestor") in said
    repository.git("checkout", "-q", "--orphan", "unrelated")
    repository.commit()
    repository.add("unrelated", f"{IN}/unrelated")
    assert not repository.check("unrelated")[0]


def test_what_main_has_taken_back_does_not_come_again(repository: Repository) -> None:
    repository.add("pull", f"{IN}/mine")
    repository.write(**{EVIL: "on: push"})
    repository.commit()
    repository.on("main")
    repository.write(**{EVIL: "on: push"})
    repository.commit()
    repository.push()
    assert repository.check()[0]  # main has it: the merge adds results alone
    repository.git("rm", "-q", EVIL)
    repository.commit()
    repository.push()
    assert not repository.check()[0]
