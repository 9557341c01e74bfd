"""Where a suite goes: looked at before any work, locked, reached without loss."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_build import bytes_of, config_for

from s2lct.builder.pipeline import build_suite
from s2lct.errors import OutputError
from s2lct.files import whole_folder
from s2lct.suite.write import files_of_suite


def put(out: Path, content: str) -> None:
    with whole_folder(out, ours=files_of_suite(out)) as folder:
        (folder / "data" / "LC2").mkdir(parents=True)
        (folder / "data" / "LC2" / "rows").write_text(content)
        files = {"LC2": {"path": "data/LC2/rows"}}
        (folder / "suite.json").write_text(json.dumps({"files": files}))


@pytest.mark.parametrize("there", ["nothing", "an empty folder", "a suite", "a link", "no target"])
def test_a_suite_takes_its_place_and_links_are_followed(tmp_path: Path, there: str) -> None:
    above, target = tmp_path / "above", tmp_path / "target"
    above.mkdir()
    out = above / "out"
    if there in ("an empty folder", "a suite"):
        out.mkdir()
    elif there != "nothing":
        out.symlink_to(target)
    if there in ("a suite", "a link"):
        put(out, "old")
    put(out, "new")
    assert (out / "data" / "LC2" / "rows").read_text() == "new"
    assert [path.name for path in above.iterdir()] == ["out"]
    assert out.is_symlink() == target.is_dir() == (there in ("a link", "no target"))


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


def test_an_interrupted_build_loses_no_suite(tmp_path: Path) -> None:
    out = tmp_path / "out"
    put(out, "old")
    before = bytes_of(out)
    with pytest.raises(KeyboardInterrupt), whole_folder(out, ours=files_of_suite(out)) as folder:
        (folder / "suite.json").write_text("new")
        raise KeyboardInterrupt
    assert bytes_of(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
