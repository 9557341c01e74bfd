"""Where a suite goes: looked at before any work, locked, reached without loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_build import bytes_of, config_for

from s2lct.builder.pipeline import build_suite
from s2lct.errors import OutputError
from s2lct.files import atomic_file, atomic_folder, check_output_folder, output_lock
from s2lct.suite.write import files_of_suite


def put(out: Path, content: str) -> None:
    with atomic_folder(out, own_files=files_of_suite(out)) as folder:
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
    with (
        pytest.raises(KeyboardInterrupt),
        atomic_folder(out, own_files=files_of_suite(out)) as folder,
    ):
        (folder / "suite.json").write_text("new")
        raise KeyboardInterrupt
    assert bytes_of(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


KILLED = """
import os, sys
from pathlib import Path
from s2lct.files import atomic_file, atomic_folder
out, moment = Path(sys.argv[1]), sys.argv[2]
rename = Path.rename
def killed(self, target):
    if moment == "between" and self.suffix == ".partial":
        os._exit(9)
    return rename(self, target)
Path.rename = killed
with (atomic_file if moment == "file" else atomic_folder)(out) as place:
    if moment != "between":
        os._exit(9)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody tells whether a process lives")
@pytest.mark.parametrize("moment", ["before", "between", "file"])
def test_the_next_run_mends_what_a_killed_one_left(tmp_path: Path, moment: str) -> None:
    out = tmp_path / ("out.json" if moment == "file" else "out")
    if moment == "between":
        out.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(out), moment], check=False)
    assert done.returncode == 9
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".s2lct-")]
    assert not out.exists()
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (left, *_) = [path for path in tmp_path.iterdir() if path.suffix == ".partial"]
    *names, _, number = left.stem.split("-")
    of_another = left.with_name(f"{'-'.join(names)}-{running.pid}-{number}.partial")
    of_another.write_text("still being written")
    if moment == "file":
        with atomic_file(out) as file:
            file.write(b"new")
    else:
        with pytest.raises(KeyboardInterrupt), atomic_folder(out):
            raise KeyboardInterrupt
    assert of_another.read_text() == "still being written"
    running.communicate(b"\n")
    assert out.exists() == (moment != "before")
    assert {path.name for path in tmp_path.iterdir()} <= {out.name, of_another.name}


def test_a_folder_to_write_into_may_be_the_one_we_are_in_or_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_output_folder(Path(), "--out")
    with pytest.raises(OutputError, match="you are in this folder") as refused:
        check_output_folder(Path(), "--out", replaced=True)
    assert "suite" in refused.value.hint
    with pytest.raises(OutputError, match="you are in this folder"):
        check_output_folder(tmp_path.parent, "--out", replaced=True)
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("disk"))
    check_output_folder(tmp_path / "disk", "--out")
    with pytest.raises(OutputError, match="a disk is mounted"):
        check_output_folder(tmp_path / "disk", "--out", replaced=True)


def test_a_damaged_suite_and_files_of_file_managers_are_replaced(tmp_path: Path) -> None:
    for number, damage in enumerate(("{", '{"files": 7}', "[" * 100_000, None)):
        out = tmp_path / f"out{number}"
        (out / "data" / "LC4").mkdir(parents=True)
        (out / "data" / "LC4" / "test-00000-of-00001.parquet").write_text("rows")
        (out / "README.md").write_text("card")
        if damage is not None:
            (out / "suite.json").write_text(damage)
            (out / "data" / ".DS_Store").write_text("x")
            put(out, "new")
            assert files_of_suite(out) == ["suite.json", "README.md", "data/LC2/rows"]
            put(out, "newer")
        else:
            with pytest.raises(OutputError, match="no file of ours"):
                put(out, "new")


def test_a_lock_lies_beside_what_it_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with output_lock(out):
        monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "another"))
        with pytest.raises(OutputError, match="another process"), output_lock(out):
            pass
    assert not list(tmp_path.iterdir())
    with output_lock(out):
        pass
