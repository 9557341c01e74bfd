"""Downloads from a server on this machine: whole, cut off, gone, and of something else."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_corpus import sst_files, write_sst

from s2lct import download as module
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.pipeline import build_suite
from s2lct.errors import CorpusError
from s2lct.suite.read import read_suite


class Served:
    """What the server gives, and what it was asked."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.status = 200
        self.tag: str | None = '"one"'
        self.cut_after: list[int] = []
        self.moved_to = ""
        self.says_length = True
        self.ranges: list[str | None] = []


class Handler(BaseHTTPRequestHandler):
    def __init__(self, served: Served, *args: Any) -> None:
        self.served = served
        super().__init__(*args)

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        served, wanted = self.served, self.headers.get("Range")
        served.ranges.append(wanted)
        if served.moved_to:
            self.send_response(302)
            self.send_header("Location", served.moved_to)
            self.end_headers()
            return
        if served.status != 200:
            self.send_error(served.status)
            return
        start = 0
        if wanted and served.tag and self.headers.get("If-Range") == served.tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start:
            if start >= len(served.content):
                self.send_error(416)
                return
            self.send_response(206)
            last = len(served.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(served.content)}")
        else:
            self.send_response(200)
        if served.tag:
            self.send_header("ETag", served.tag)
        if served.says_length:
            self.send_header("Content-Length", str(len(served.content) - start))
        self.end_headers()
        body = served.content[start:]
        if served.cut_after:
            body = body[: served.cut_after.pop(0)]
        self.wfile.write(body)


def sst_zip(**others: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sst_files().items():
            archive.writestr(f"stanfordSentimentTreebank/{name}", content)
        for name, content in others.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def served() -> Served:
    return Served(sst_zip())


@pytest.fixture
def url(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, served))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/stanfordSentimentTreebank.zip"
    server.shutdown()
    thread.join()
    server.server_close()


def kept(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "cache" / "downloads"
    return sorted(path for path in folder.iterdir() if path.suffix != ".lock")


def error_of(url: str) -> CorpusError:
    with pytest.raises(CorpusError) as error:
        read_corpus(f"sst:{url}")
    assert "give the folder or zip" in error.value.hint
    return error.value


def test_the_treebank_is_fetched_once(served: Served, url: str, tmp_path: Path) -> None:
    here = read_corpus(f"sst:{write_sst(tmp_path / 'here', sst_files())}")
    assert read_corpus(f"sst:{url}").fingerprint == here.fingerprint
    assert read_corpus(f"sst:{url}").fingerprint == here.fingerprint
    assert served.ranges == [None]
    path, record = kept(tmp_path)
    assert path.read_bytes() == served.content
    told = json.loads(record.read_text())
    assert told["sha256"] == hashlib.sha256(served.content).hexdigest()
    assert told["url"] == url


def test_a_damaged_copy_is_fetched_again(served: Served, url: str, tmp_path: Path) -> None:
    read_corpus(f"sst:{url}")
    path = kept(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-10])
    read_corpus(f"sst:{url}")
    assert path.read_bytes() == served.content
    assert len(served.ranges) == 2


def test_a_cut_connection_is_gone_on_with(served: Served, url: str, tmp_path: Path) -> None:
    served.cut_after = [100, 50]
    read_corpus(f"sst:{url}")
    assert served.ranges == [None, "bytes=100-", "bytes=150-"]
    assert kept(tmp_path)[0].read_bytes() == served.content


def test_what_came_is_kept_for_the_next_command(served: Served, url: str, tmp_path: Path) -> None:
    served.cut_after = [100, 0]
    assert "100 bytes of it are kept" in error_of(url).problem
    read_corpus(f"sst:{url}")
    assert served.ranges == [None, "bytes=100-", "bytes=100-"]
    assert len(kept(tmp_path)) == 2


def test_another_file_by_now_is_fetched_whole(served: Served, url: str, tmp_path: Path) -> None:
    served.cut_after = [100, 0]
    error_of(url)
    served.content, served.tag = sst_zip(more=b"x"), '"two"'
    read_corpus(f"sst:{url}")
    assert kept(tmp_path)[0].read_bytes() == served.content


def test_a_shorter_file_by_now_is_fetched_whole(served: Served, url: str, tmp_path: Path) -> None:
    whole, served.content = served.content, served.content + b"x" * 500
    served.cut_after = [len(served.content) - 1, 0]
    error_of(url)
    served.content = whole
    read_corpus(f"sst:{url}")
    assert kept(tmp_path)[0].read_bytes() == whole


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_tag_all_is_fetched_again(
    served: Served, url: str, tmp_path: Path, tag: str | None
) -> None:
    served.tag, served.cut_after = tag, [100]
    read_corpus(f"sst:{url}")
    assert served.ranges == [None, None]
    assert kept(tmp_path)[0].read_bytes() == served.content


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_is_told(served: Served, url: str, tmp_path: Path, status: int) -> None:
    served.status = status
    assert f"the server answers {status}" in error_of(url).problem
    assert len(served.ranges) == 1


@pytest.mark.parametrize("content", [b"", b"<html>Moved.</html>", b"PK\x03\x04" + b"x" * 99])
def test_what_is_no_zip_is_not_kept(
    served: Served, url: str, tmp_path: Path, content: bytes
) -> None:
    served.content = content
    assert "is not a readable zip" in error_of(url).problem
    assert kept(tmp_path) == []


def test_a_zip_of_something_else_is_not_kept(served: Served, url: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../datasetSentences.txt", "x")
    served.content = buffer.getvalue()
    assert "points outside the zip" in error_of(url).problem
    assert kept(tmp_path) == []


@pytest.mark.parametrize("says_length", [True, False])
def test_an_endless_file_is_not_read(
    served: Served, url: str, monkeypatch: pytest.MonkeyPatch, says_length: bool
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 200)
    served.says_length = says_length
    assert "may have 200" in error_of(url).problem


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x.zip", "file:///etc/hostname"])
def test_nothing_but_the_web_is_followed_to(served: Served, url: str, target: str) -> None:
    served.moved_to = target
    assert "the server answers 302" in error_of(url).problem
    assert len(served.ranges) == 1


def test_no_server_and_no_address_are_one_error(
    url: str, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cannot be fetched" in error_of("http://127.0.0.1:1/sst.zip").problem
    assert "no address of the web" in error_of("https://[::1").problem
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "file"))
    assert "S2LCT_CACHE" in error_of(url).hint
    assert served.ranges == []


def test_the_paper_preset_reads_an_address(url: str) -> None:
    from s2lct.builder.config import PRESETS
    from s2lct.builder.corpus.spec import parse_spec

    spec = parse_spec(PRESETS["paper"]["corpus"])
    assert spec.kind == "sst"
    assert module.is_url(spec.location)


def test_the_paper_preset_builds_from_its_address(
    served: Served, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from s2lct.builder import config

    monkeypatch.setitem(config.PRESETS["paper"], "corpus", f"sst:{url}")
    models = {"parser": "embedded", "tagger": "embedded", "mlm": "embedded"}
    given = config.BuildConfig.checked(
        preset="paper", out=tmp_path / "suite", seeds=2, masks=3, **models
    )
    assert (given.templates, given.select, given.neutral) == ("paper", "random", "none")
    build_suite(given)
    suite = read_suite(given.out)
    assert suite.described["corpus"]["name"] == "sst"
    assert served.ranges == [None]
    assert {row["text"] for row in suite.rows["LC10"] if row["kind"] == "seed"} == {
        "Do I think that Half | of | it is quiet.? no",
        "Do I agree that Half | of | it is quiet.? no",
    }


def test_a_link_in_the_cache_is_not_written_through(
    served: Served, url: str, tmp_path: Path
) -> None:
    read_corpus(f"sst:{url}")
    path = kept(tmp_path)[0]
    path.unlink()
    other = tmp_path / "other"
    other.write_text("mine")
    path.with_name(path.name + ".partial").symlink_to(other)
    assert "cannot be kept" in error_of(url).problem
    assert other.read_text() == "mine"
