"""Where a suite goes: looked at before any work, locked, reached without loss."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from test_build import bytes_of, config_for

from s2lct.builder.checkpoint import Checkpoints, locked
from s2lct.builder.pipeline import build_suite
from s2lct.builder.place import Place, place_of
from s2lct.errors import BuildError


def made_suite(work: Path, content: str = "{}") -> Path:
    suite = work / "suite"
    (suite / "data" / "LC2").mkdir(parents=True)
    (suite / "data" / "LC2" / "rows").write_text(content)
    (suite / "suite.json").write_text(content)
    return suite


def content_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def put(place: Place, content: str) -> None:
    place.work.mkdir(exist_ok=True)
    place.put(made_suite(place.work, content))
    Checkpoints(place.work).discard()


WHOLE = {"data/LC2/rows": "new", "suite.json": "new"}


@pytest.mark.parametrize("there", ["nothing", "an empty folder", "a suite"])
def test_a_suite_takes_its_place(tmp_path: Path, there: str) -> None:
    out = tmp_path / "above" / "out" if there == "nothing" else tmp_path / "out"
    if there != "nothing":
        out.mkdir()
    if there == "a suite":
        (out / "suite.json").write_text("old")
        (out / "data").mkdir()
    place = place_of(out)
    place.check(overwrite=True)
    place.work.parent.mkdir(exist_ok=True)
    put(place, "new")
    assert content_of(out) == WHOLE
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    put(place_of(link), "new")
    assert link.is_symlink()
    assert content_of(elsewhere) == WHOLE
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "later")
    put(place_of(dangling), "new")
    assert dangling.is_symlink()
    assert content_of(tmp_path / "later") == WHOLE


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EXDEV, errno.EACCES])
def test_a_folder_that_cannot_be_renamed_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    out = tmp_path / "mounted"
    (out / "data" / "LC9").mkdir(parents=True)
    (out / "data" / "LC9" / "rows").write_text("old")
    (out / "suite.json").write_text("old")
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        # What no test can do everywhere: mount a folder.
        if out in (self, target):
            raise OSError(number, os.strerror(number), str(self))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    before = out.stat().st_ino
    put(place_of(out), "new")
    assert content_of(out) == WHOLE
    assert out.stat().st_ino == before


def test_a_mounted_folder_keeps_its_work_within(tmp_path: Path) -> None:
    out = tmp_path / "mounted"
    out.mkdir()
    command = ["mount", "-t", "tmpfs", "tmpfs", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"nothing may be mounted here: {done.stderr.strip()}")
    try:
        place = place_of(out)
        assert place.work.parent == out
        with locked(place.lock):
            assert not place.is_taken
            put(place, "new")
        assert content_of(out) == WHOLE
        assert out.is_mount()
    finally:
        subprocess.run(["umount", str(out)], check=True)


def test_a_filling_that_was_killed_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "data").mkdir(parents=True)
    place = place_of(out)
    place.work.mkdir()
    with pytest.raises(BuildError, match="is no suite"):
        place.check(overwrite=True)
    (place.work / "placing").touch()
    place.check(overwrite=False)


def unusable(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    file = tmp_path / "file"
    file.write_text("x")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    (tmp_path / "linked.partial").symlink_to(other)
    yield file, "file"
    yield file / "out", "file"
    yield tmp_path / ("n" * 300), "too long"
    yield tmp_path / ("n" * 250), "too long"
    yield Path(f"{tmp_path}/{'n/' * 3_000}"), "too long"
    yield loop, "loop|ymbolic|too many"
    yield Path("a\0b"), "null byte|null character"
    yield tmp_path / "linked", "no folder"
    if os.name == "posix":
        yield Path("/dev/null"), "file"


def test_a_folder_that_cannot_hold_a_suite_is_refused_before_any_work(tmp_path: Path) -> None:
    for out, told in unusable(tmp_path):
        with pytest.raises(BuildError, match=told) as error:
            build_suite(config_for(tmp_path / "no corpus", out))
        assert "--out" in error.value.problem + error.value.hint


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_that_are_no_suite_are_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("dear")
    with pytest.raises(BuildError, match="is no suite"):
        build_suite(config_for(tmp_path / "no corpus", tmp_path, overwrite=overwrite))
    assert letter.read_text() == "dear"


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(BuildError, match="Permission denied"):
        place_of(closed / "out")


HOLD = """
import sys, time
from pathlib import Path
from s2lct.builder.checkpoint import locked
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


def test_one_build_at_a_time_and_no_lock_is_left(tmp_path: Path) -> None:
    lock = tmp_path / "out.partial.lock"
    for _ in range(2):
        with held_by_another(lock):
            assert lock.exists()
            with pytest.raises(BuildError, match="another build"), locked(lock):
                pass
            assert lock.exists()
        with locked(lock):
            assert lock.exists()
        assert not lock.exists()


def test_a_lock_file_without_a_name_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock(path)
    first.acquire()
    path.unlink()
    with locked(path):
        first.release()
        with pytest.raises(BuildError, match="another build"), locked(path):
            pass
    assert not path.exists()


def test_the_original_command_keeps_the_work_of_a_build_that_replaces_its_suite(
    corpus_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    small = {"capabilities": ("LC2",), "seeds": 2, "masks": 2}
    counts = build_suite(config_for(corpus_path, out, **small))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    before = bytes_of(out)
    # Another build was to replace it and was interrupted, or is still running.
    work = tmp_path / "out.partial"
    work.mkdir()
    (work / "build.json").write_text('{"options": "others"}')
    (work / "hours of work.json").write_text("[]")
    with held_by_another(tmp_path / "out.partial.lock"):
        with pytest.raises(BuildError, match="another build"):
            build_suite(config_for(corpus_path, out, **small))
        assert (work / "hours of work.json").exists()
    assert build_suite(config_for(corpus_path, out, **small)) == counts
    assert (work / "hours of work.json").exists()
    assert not (tmp_path / "out.partial.lock").exists()
    assert bytes_of(out) == before
    with pytest.raises(BuildError, match="unfinished build"):
        build_suite(config_for(corpus_path, out, overwrite=True, **small))
    assert (work / "hours of work.json").exists()


def test_a_damaged_checkpoint_is_made_again(tmp_path: Path) -> None:
    from pydantic import TypeAdapter

    numbers = TypeAdapter(list[int])
    checkpoints = Checkpoints.open(tmp_path / "work", {}, restart=False)
    assert checkpoints.get("stage/one", numbers, lambda: [1, 2]) == [1, 2]
    assert checkpoints.get("stage/one", numbers, lambda: [3]) == [1, 2]
    (tmp_path / "work" / "stage" / "one.json").write_text("[1,")
    assert checkpoints.get("stage/one", numbers, lambda: [3]) == [3]
    assert checkpoints.get("stage/one", numbers, lambda: [4]) == [3]
