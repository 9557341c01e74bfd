"""Both literal lines after ``s2lct install``, and a published suite under its full name."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import edited_suite, without_last_family
from hub_fixtures import HubClient
from hub_server import HubServer

from s2lct.dataset_script.install import install
from s2lct.errors import S2lctError
from s2lct.suite.cases import load_suite

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
    "rows": len(rows),
    "failures": metric.compute(predictions=right, references=rows)["LC4"]["seed"]["failures"],
    "version": str(rows.info.version),
}))
"""
INSTALLS = """
import json, sys
from s2lct.errors import S2lctError
from s2lct.dataset_script.install import install
from s2lct.suite.cases import installed_folder
from s2lct.suite.read import read_description
for source, *version in json.loads(sys.argv[1]):
    try:
        outcome = install(source, version=version[0] if version else None).version
    except S2lctError as problem:
        outcome = str(problem)
    installed = read_description(installed_folder())["version"]
    print(json.dumps([outcome, installed]))
"""


def both_lines(client: HubClient, empty: Path) -> dict[str, Any]:
    empty.mkdir()
    told: dict[str, Any] = json.loads(client.python(BOTH_LINES, cwd=empty).splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def next_suite(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("next") / "suite"
    return edited_suite(suite_folder, out, "2.0.0", without_last_family("LC4"))


def test_both_literal_lines_work_from_an_empty_directory(
    hub: HubClient, suite_folder: Path, tmp_path: Path
) -> None:
    """Of a suite from a folder that is gone since, whether a Hub is there or not."""
    source = shutil.copytree(suite_folder, tmp_path / "films")
    shadow = tmp_path / "s2lct"
    shadow.mkdir()
    told = hub.s2lct("install", source, cwd=tmp_path)
    assert "Installed version 1.0.0" in told
    assert str(shadow) in told
    assert "take this folder instead" in told
    shutil.rmtree(source)
    places = (hub.offline_now(), tmp_path / "a"), (hub, tmp_path / "b")
    with ThreadPoolExecutor() as pool:
        for lines in pool.map(both_lines, *zip(*places, strict=True)):
            rows = len(load_suite(suite_folder).select(["LC4"]).with_contrasts)
            assert lines == {"rows": rows, "failures": 0, "version": "1.0.0"}
    # The Hub that was asked had nothing to say.
    assert {request.status for request in hub.server.requests} == {404}


def test_versions_replace_each_other_and_a_failing_hub_replaces_none(
    hub: HubClient, hub_server: HubServer, suite_folder: Path, next_suite: Path
) -> None:
    hub_server.put("dataset", REPO, suite_folder, "v1.0.0")
    hub_server.put("dataset", REPO, next_suite, "v2.0.0")
    hub_server.fail_next(500, "/refs")
    hub_server.fail_next(429, "/refs", retry_after=30)
    hub_server.fail_next(403, r"/resolve/.*LC7.*\.parquet")
    repeats = [[REPO]] * 4
    installs = [[str(suite_folder)], *repeats, [REPO, "1.0.0"], [REPO, "1.5.0"]]
    told = [json.loads(line) for line in hub.python(INSTALLS, json.dumps(installs)).splitlines()]
    expected: list[Any] = [
        ("1.0.0", "1.0.0"),
        ("500", "1.0.0"),
        ("30 seconds", "1.0.0"),
        ("403", "1.0.0"),
        ("2.0.0", "2.0.0"),
        ("1.0.0", "1.0.0"),
        ("choose among 1.0.0, 2.0.0", "1.0.0"),
    ]
    for (outcome, installed), (named, version) in zip(told, expected, strict=True):
        assert installed == version
        assert outcome == named or (named in outcome and REPO in outcome)


def test_a_killed_installation_is_mended_by_the_next(
    hub: HubClient, suite_folder: Path, next_suite: Path, tmp_path: Path
) -> None:
    died = hub.offline_now().try_python(
        """
import os, sys
from pathlib import Path
from s2lct.dataset_script.install import install
install(sys.argv[1])
rename = Path.rename
def killed_after(path, target):
    rename(path, target)
    os._exit(9)
Path.rename = killed_after
install(sys.argv[2])
""",
        str(suite_folder),
        str(next_suite),
    )
    assert died.returncode == 9
    (module,) = hub.home.glob("huggingface/modules/*/metrics/evaluate-metric--s2lct/*/s2lct.py")
    module.write_text(module.read_text()[:100])
    hub.offline_now().s2lct("install", next_suite)
    client = replace(hub, offline=True)
    assert both_lines(client, tmp_path / "empty")["version"] == "2.0.0"


@pytest.mark.parametrize(
    ("source", "version", "named"),
    [
        ("nowhere", None, "nowhere"),
        ("a/b/c", None, "a/b/c"),
        ("~nobody-here/suite", None, "~nobody-here/suite"),
        ("a" * 300, None, "aaa…"),
        ("{suite}", "3.0.0", "3.0.0"),
        ("{suite}", "3", "--version 3"),
        ("{broken}", None, "SHA-256"),
        ("s2lct-org/s2lct", None, "HF_HUB_OFFLINE"),
    ],
)
def test_sources_that_cannot_be_installed_are_named_before_anything_changes(
    suite_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    version: str | None,
    named: str,
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    broken = shutil.copytree(suite_folder, tmp_path / "broken")
    path = next(broken.rglob("*.parquet"))
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(S2lctError, match=named):
        install(source.format(suite=suite_folder, broken=broken), version=version)
    assert not (tmp_path / "cache").exists()
