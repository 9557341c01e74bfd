"""Downloads that are kept: whole or not at all, gone on with where they broke off."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import urllib.error
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from s2lct.errors import CorpusError, S2lctError
from s2lct.files import cache_folder, sha256_of, write_text
from s2lct.plain_text import plain

MOST_BYTES = 256 * 1024 * 1024
_SECONDS_FOR_AN_ANSWER = 20.0
_SECONDS_FOR_ANOTHER_BUILD = 600.0
_TRIES = 4
_CHUNK = 1 << 16
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class _OtherPartError(OSError):
    """The server sent another part of the file than was asked for."""


def is_url(location: str) -> bool:
    """Whether a location is one that `download` takes."""
    return re.match(r"https?://", location, re.IGNORECASE) is not None


def download(url: str, check: Callable[[Path], object], *, hint: str) -> Path:
    """A file of the web, from the cache where it is kept.

    The file and its SHA-256 are kept in ``downloads`` of `cache_folder`; a kept file that does
    not have its SHA-256 any more is fetched again.

    Args:
        url: http or https.
        check: raises where the file is not what it should be.
        hint: what to do without the download.

    Raises:
        CorpusError: it cannot be fetched or kept, or is not what it should be.
    """
    from filelock import FileLock, Timeout

    shown = plain(url, 200)
    try:
        name = re.sub(r"[^A-Za-z0-9.-]", "_", PurePosixPath(urlsplit(url).path).name)[-80:]
        folder = cache_folder() / "downloads"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{name or 'file'}"
        with FileLock(f"{path}.lock", timeout=_SECONDS_FOR_ANOTHER_BUILD):
            if not path.is_file() or _record(path).get("sha256") != sha256_of(path):
                _fetch(url, path, check, hint)
    except Timeout as error:
        raise CorpusError(
            f"{shown}: another process has been fetching it for too long", hint=hint
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{shown}: cannot be kept: {error}",
            hint="set S2LCT_CACHE to a folder that can be written, or " + hint,
        ) from error
    except ValueError as error:
        raise CorpusError(f"{shown}: no address of the web ({error})", hint=hint) from error
    return path


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _record(path: Path) -> Mapping[str, Any]:
    """What is written beside a file; nothing where there is none or it is damaged."""
    try:
        read = json.loads(_beside(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)
    _beside(path).unlink(missing_ok=True)


def _fetch(url: str, path: Path, check: Callable[[Path], object], hint: str) -> None:
    partial = path.with_name(path.name + ".partial")
    shown = plain(url, 200)
    for attempt in range(1, _TRIES + 1):
        before = _size(partial)
        try:
            _fetch_rest(url, partial, hint)
            break
        except (OSError, http.client.HTTPException, ValueError) as error:
            of_the_net = isinstance(error, urllib.error.URLError)
            if isinstance(error, OSError) and not of_the_net and error.filename is not None:
                raise  # of the disk
            # Another try only helps where there was a server and some of the file came.
            if attempt == _TRIES or _size(partial) <= before:
                kept = _size(partial)
                rest = f"; {kept:,} bytes of it are kept" if kept else ""
                raise CorpusError(
                    f"{shown}: cannot be fetched ({_reason(error)}){rest}", hint=hint
                ) from error
    try:
        check(partial)
    except S2lctError as error:
        _forget(partial)
        problem = error.problem.replace(str(partial), shown)
        raise CorpusError(f"what came from {problem}", hint=hint) from error
    digest = sha256_of(partial)
    size = partial.stat().st_size
    partial.replace(path)
    write_text(_beside(path), json.dumps({"url": url, "sha256": digest, "bytes": size}) + "\n")
    _forget(partial)


def _fetch_rest(url: str, partial: Path, hint: str) -> None:
    """Fetch what is missing of a file, or all where the server's file is another one by now."""
    known = _record(partial)
    resumable = known.get("url") == url and bool(known.get("validator"))
    start = _size(partial) if resumable else 0
    if start and start == known.get("bytes"):
        return
    headers = {"User-Agent": "s2lct", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": str(known["validator"])}
    request = Request(url, headers=headers)  # the scheme is checked
    try:
        with build_opener(_Redirects).open(request, timeout=_SECONDS_FOR_AN_ANSWER) as answer:
            _keep(answer, url, partial, start, hint)
    except (_OtherPartError, urllib.error.HTTPError) as error:
        out_of_range = http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        if not start or getattr(error, "code", out_of_range) != out_of_range:
            raise
        _forget(partial)
        _fetch_rest(url, partial, hint)


def _keep(answer: Any, url: str, partial: Path, start: int, hint: str) -> None:
    """Write what a server sends behind the part that is here; no link is followed."""
    length = answer.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
        span = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if span is None or int(span[1]) != start:
            raise _OtherPartError("the server sent another part of the file than was asked for")
        total = None if span[2] == "*" else int(span[2])
    else:
        start = 0
    _check_size(url, total or 0, MOST_BYTES, hint)
    validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    strong = {} if validator.startswith("W/") else {"validator": validator}
    write_text(_beside(partial), json.dumps({"url": url, "bytes": total} | strong))
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    size = start
    with os.fdopen(os.open(partial, flags, 0o666), "wb") as file:
        file.truncate(start)
        file.seek(start)
        while chunk := answer.read(_CHUNK):
            size += len(chunk)
            _check_size(url, size, MOST_BYTES if total is None else total, hint)
            file.write(chunk)
    if total is not None and size < total:
        raise OSError(f"broke off after {size:,} of {total:,} bytes")


def _check_size(url: str, size: int, most: int, hint: str) -> None:
    if size > most:
        raise CorpusError(
            f"{plain(url, 200)}: {size:,} bytes or more, may have {most:,}", hint=hint
        )


class _Redirects(HTTPRedirectHandler):
    """Follows to other addresses of the web only, and from https to nothing less."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if not is_url(newurl) or (req.type == "https" and urlsplit(newurl).scheme != "https"):
            raise urllib.error.HTTPError(
                req.full_url, code, "it sends on to another kind of address", headers, fp
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return plain(f"the server answers {error.code} {error.reason}", 200)
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return plain(str(reason) or type(reason).__name__, 200)
