"""Where a suite goes: looked at before any work, locked, reached without loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from test_build import bytes_of, config_for

from s2lct.builder import write
from s2lct.builder.pipeline import build_suite
from s2lct.errors import OutputError
from s2lct.files import whole_folder
from s2lct.suite.write import files_of_suite


def content_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def put(out: Path, content: str) -> None:
    with whole_folder(out, ours=files_of_suite(out)) as folder:
        (folder / "data" / "LC2").mkdir(parents=True)
        (folder / "data" / "LC2" / "rows").write_text(content)
        files = {"LC2": {"path": "data/LC2/rows"}}
        (folder / "suite.json").write_text(json.dumps({"content": content, "files": files}))


def is_whole(out: Path, content: str) -> bool:
    rows, described = content_of(out).values()
    return rows == content == json.loads(described)["content"]


@pytest.mark.parametrize("there", ["nothing", "an empty folder", "a suite"])
def test_a_suite_takes_its_place(tmp_path: Path, there: str) -> None:
    out = tmp_path / "above" / "out"
    if there != "nothing":
        out.mkdir(parents=True)
    if there == "a suite":
        put(out, "old")
    put(out, "new")
    assert is_whole(out, "new")
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    put(link, "new")
    assert link.is_symlink()
    assert is_whole(elsewhere, "new")
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "later")
    put(dangling, "new")
    assert dangling.is_symlink()
    assert is_whole(tmp_path / "later", "new")


def unusable(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "file"
    file.write_text("x")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    yield from (file, file / "out", tmp_path / ("n" * 300), loop, Path("a\0b"))
    yield Path(f"{tmp_path}/{'n/' * 3_000}")
    if os.name == "posix":
        yield Path("/dev/null")
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        if not os.access(closed, os.W_OK):  # this user may not write everywhere
            yield closed / "out"


def test_a_folder_that_cannot_hold_a_suite_is_refused_before_any_work(tmp_path: Path) -> None:
    for out in unusable(tmp_path):
        with pytest.raises(OutputError, match="--out"):
            build_suite(config_for(tmp_path / "no corpus", out))


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_that_are_no_suite_are_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("dear")
    with pytest.raises(OutputError, match="--out"):
        build_suite(config_for(tmp_path / "no corpus", tmp_path, overwrite=overwrite))
    assert letter.read_text() == "dear"


def test_what_a_user_put_beside_or_into_a_suite_is_never_deleted(
    corpus_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    small = {"capabilities": ("LC2",), "seeds": 2, "masks": 2}
    mine = [tmp_path / "out.partial" / "thesis.txt", tmp_path / "out.partial.lock"]
    mine[0].parent.mkdir()
    for path in mine:
        path.write_text("mine")
    build_suite(config_for(corpus_path, out, **small))
    build_suite(config_for(corpus_path, out, overwrite=True, **small | {"seeds": 1}))
    mine.append(out / "data" / "LC2" / "notes.txt")
    mine[-1].write_text("mine")
    before = bytes_of(out)
    with pytest.raises(OutputError, match=r"--out .*LC2/notes\.txt"):
        build_suite(config_for(tmp_path / "no corpus", out, overwrite=True))
    assert bytes_of(out) == before
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out",
        "out.partial",
        "out.partial.lock",
    ]


HOLD = """
import sys, time
from pathlib import Path
from s2lct.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another(lock: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield
    finally:
        process.communicate()
        assert process.returncode == 0


def test_a_build_waits_for_no_other_and_an_interrupted_one_loses_no_suite(
    corpus_path: Path, tmp_path: Path, own_cache: Path
) -> None:
    out = tmp_path / "out"
    small = {"capabilities": ("LC2",), "seeds": 2, "masks": 2}
    counts = build_suite(config_for(corpus_path, out, **small))
    before = bytes_of(out)
    other = config_for(corpus_path, out, overwrite=True, **small | {"seeds": 1})
    with (
        patch.object(write, "write_suite", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        build_suite(other)
    assert bytes_of(out) == before
    with held_by_another(out), pytest.raises(OutputError, match="--out"):
        build_suite(config_for(corpus_path, out, **small))
    assert build_suite(config_for(corpus_path, out, **small)) == counts
    assert bytes_of(out) == before
    build_suite(other)
    assert bytes_of(out) != before
    assert [path.name for path in tmp_path.iterdir() if path != own_cache] == ["out"]
