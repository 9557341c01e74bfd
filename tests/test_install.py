"""Both literal lines after ``s2lct install``, and a published suite under its full name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from damaged_suites import edited_suite, without_last_family
from hub_fixtures import HubClient
from hub_server import MAINTAINER, HubServer

from s2lct.dataset_script.install import install, installed_suite
from s2lct.errors import S2lctError

REPO = "s2lct-org/s2lct"
BOTH_LINES = """
import json, os, sys
from pathlib import Path
from datasets import load_dataset
import evaluate

assert not list(Path.cwd().iterdir())
suite = load_dataset("s2lct", "LC4")
rows = suite["test"]
metric = evaluate.load("s2lct")
right = [rows.features["label"].int2str(label) for label in rows["label"]]
print(json.dumps({
    "ids": list(rows["id"]),
    "failures": metric.compute(predictions=right, references=rows)["LC4"]["seed"]["failures"],
    "version": str(rows.info.version),
}))
"""


def rows_of(folder: Path) -> dict[str, int]:
    files = json.loads((folder / "suite.json").read_text())["files"]
    return {name: file["rows"] for name, file in files.items()}


def both_lines(client: HubClient, empty: Path) -> dict[str, object]:
    empty.mkdir(exist_ok=True)
    told: dict[str, object] = json.loads(client.python(BOTH_LINES, cwd=empty).splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def next_suite(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("next") / "suite"
    return edited_suite(suite_folder, out, "2.0.0", without_last_family("LC4"))


@pytest.fixture(scope="module")
def module_hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture(scope="module")
def empty_hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture(scope="module")
def published(
    module_hub: HubServer,
    suite_folder: Path,
    next_suite: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> HubClient:
    """A Hub with versions 1.0.0 and 2.0.0 of a suite."""
    home = tmp_path_factory.mktemp("publisher")
    client = HubClient(module_hub, home, MAINTAINER.token, module_hub.endpoint)
    client.upload(REPO, suite_folder, "v1.0.0")
    client.upload(REPO, next_suite, "v2.0.0")
    return client


@pytest.fixture(scope="module")
def installed(
    empty_hub: HubServer, suite_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> HubClient:
    """A suite installed from a folder that is gone since, into a home that was empty."""
    home = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(suite_folder, home / "films")
    client = HubClient(empty_hub, home, MAINTAINER.token, empty_hub.endpoint)
    told = client.s2lct("install", source)
    assert "Installed version 1.0.0" in told
    assert "replaces" not in told
    shutil.rmtree(source)
    return client


HUB_STATES = ("not asked", "refusing connections", "answering 404")


@pytest.fixture(scope="module")
def told_by_hub_state(
    installed: HubClient, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, object]]:
    """What both lines give; at the same time, because a client that is refused waits long."""
    clients = (installed.offline_now(), installed.cut_off(), installed)
    folders = [tmp_path_factory.mktemp("empty") for _ in clients]
    with ThreadPoolExecutor() as pool:
        return dict(zip(HUB_STATES, pool.map(both_lines, clients, folders), strict=True))


@pytest.mark.parametrize("hub_is", HUB_STATES)
def test_both_literal_lines_work_from_an_empty_directory(
    told_by_hub_state: dict[str, dict[str, object]],
    installed: HubClient,
    suite_folder: Path,
    hub_is: str,
) -> None:
    told = told_by_hub_state[hub_is]
    assert len(told["ids"]) == rows_of(suite_folder)["LC4"]  # type: ignore[arg-type]
    assert told["failures"] == 0
    assert told["version"] == "1.0.0"
    # Only the client that the Hub answers reached it, and learnt nothing there.
    assert {request.status for request in installed.server.requests} == {404}


def test_a_second_version_replaces_the_first_and_says_so(
    published: HubClient, suite_folder: Path, next_suite: Path, tmp_path: Path
) -> None:
    client = replace(published, home=tmp_path / "reader")
    told = client.s2lct("install", REPO)
    assert f"Installed version 2.0.0 of {REPO}@v2.0.0." in told
    told = client.s2lct("install", REPO, "--version", "1.0.0")
    assert f"Installed version 1.0.0 of {REPO}@v1.0.0." in told
    assert "replaces version 2.0.0" in told
    lines = both_lines(client.offline_now(), tmp_path / "empty")
    assert lines["version"] == "1.0.0"
    assert len(lines["ids"]) == rows_of(suite_folder)["LC4"]  # type: ignore[arg-type]
    told = client.s2lct("install", suite_folder)
    assert "again" in told
    assert "replaces" not in told
    told = client.s2lct("install", edited_suite(next_suite, tmp_path / "other", "1.0.0"))
    assert "replaces another suite of version 1.0.0" in told


def test_an_unreleased_version_is_refused_with_those_that_are(
    published: HubClient, tmp_path: Path
) -> None:
    client = replace(published, home=tmp_path / "reader")
    refused = client.try_s2lct("install", REPO, "--version", "1.5.0")
    assert refused.returncode == 1
    assert "1.5.0" in refused.stderr
    assert "choose among 1.0.0, 2.0.0" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_failing_hub_leaves_what_was_installed_and_the_repeat_succeeds(
    published: HubClient, hub_server: HubServer, suite_folder: Path, tmp_path: Path
) -> None:
    hub_server.repos.update(published.server.repos)
    hub_server.fail_next(500, "/refs")
    hub_server.fail_next(429, "/refs", retry_after=30)
    hub_server.cut_next("/refs")
    hub_server.fail_next(403, r"/resolve/.*LC7.*\.parquet")
    hub_server.fail_next(404, r"/resolve/.*LC7.*\.parquet")
    script = f"""
import datasets, json, sys
from pathlib import Path
from s2lct.errors import S2lctError
from s2lct.dataset_script.install import install, installed_suite
install(sys.argv[1])
told = []
for attempt in range(6):
    try:
        install("{REPO}")
        error = None
    except S2lctError as problem:
        error = str(problem)
    cache = Path(datasets.config.HF_DATASETS_CACHE)
    folders = [path.name for path in cache.iterdir() if path.is_dir()]
    told.append((error, installed_suite()[0], folders))
print(json.dumps(told))
"""
    client = HubClient(hub_server, tmp_path / "reader", MAINTAINER.token, hub_server.endpoint)
    attempts = json.loads(client.python(script, str(suite_folder)).splitlines()[-1])
    faults = ("500", "30 seconds", "network", "403", "404", None)
    for fault, (error, version, folders) in zip(faults, attempts, strict=True):
        assert folders == ["s2lct"]
        assert version == ("1.0.0" if fault else "2.0.0")
        assert (fault is None and error is None) or (fault in error and REPO in error)


def test_a_killed_installation_is_mended_by_the_next(
    hub: HubClient, suite_folder: Path, next_suite: Path, tmp_path: Path
) -> None:
    client = hub.offline_now()
    client.s2lct("install", suite_folder)
    died = client.try_python(
        """
import os, sys
from pathlib import Path
from s2lct.dataset_script.install import install
rename = Path.rename
def killed_after(path, target):
    rename(path, target)
    os._exit(9)
Path.rename = killed_after
install(sys.argv[1])
""",
        str(next_suite),
    )
    assert died.returncode == 9
    # Even a command that installs nothing puts back what the killed one had moved away.
    assert client.try_s2lct("install", tmp_path / "nowhere").returncode == 1
    assert both_lines(client, tmp_path / "empty")["version"] == "1.0.0"
    modules = client.home / "huggingface" / "modules"
    (module,) = modules.glob("*/metrics/evaluate-metric--s2lct/*/s2lct.py")
    module.write_text(module.read_text()[:100])
    assert "replaces version 1.0.0" in client.s2lct("install", next_suite)
    assert both_lines(client, tmp_path / "empty")["version"] == "2.0.0"


def test_a_folder_that_shadows_the_names_is_told(
    installed: HubClient, suite_folder: Path, tmp_path: Path
) -> None:
    shadow = tmp_path / "s2lct"
    shadow.mkdir()
    told = installed.s2lct("install", suite_folder, cwd=tmp_path)
    assert str(shadow) in told
    assert "take this folder instead" in told
    refused = installed.offline_now().try_s2lct("score", "vader", "--suite", "s2lct", cwd=tmp_path)
    assert refused.returncode == 1
    assert "shadows" in refused.stderr


@pytest.fixture
def datasets_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", cache)
    return cache


def test_a_broken_suite_is_refused_before_anything_changes(
    suite_folder: Path, tmp_path: Path, datasets_cache: Path
) -> None:
    folder = shutil.copytree(suite_folder, tmp_path / "suite")
    path = json.loads((folder / "suite.json").read_text())["files"]["LC4"]["path"]
    (folder / path).write_bytes((folder / path).read_bytes() + b" ")
    with pytest.raises(S2lctError, match="SHA-256"):
        install(folder)
    (folder / "suite.json").unlink()
    with pytest.raises(S2lctError, match=r"suite\.json"):
        install(folder)
    assert installed_suite() is None
    assert not [path for path in datasets_cache.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("source", "version", "named"),
    [
        ("nowhere", None, "nowhere"),
        ("a/b/c", None, "a/b/c"),
        ("{suite}", "3.0.0", "3.0.0"),
        ("{suite}", "3", "--version 3"),
        ("s2lct-org/s2lct", None, "HF_HUB_OFFLINE"),
    ],
)
def test_sources_that_cannot_be_installed_are_named(
    suite_folder: Path, datasets_cache: Path, source: str, version: str | None, named: str
) -> None:
    with pytest.raises(S2lctError, match=named):
        install(source.format(suite=suite_folder), version)
