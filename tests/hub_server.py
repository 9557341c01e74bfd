"""A small server that speaks the Hub's API to the real client libraries.

Tests take the fixture ``hub``. It keeps everything in memory, and fails on demand.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import yaml
from hub_repos import (
    Account,
    Commit,
    File,
    HubError,
    Json,
    Kind,
    Repo,
    described_folder,
    front_matter,
)

MAINTAINER = Account("maintainer", "hf_MaintainerTokenOfTheTestHub0001", ("s2lct-org",))
STRANGER = Account("stranger", "hf_StrangerTokenOfTheTestHub000002")
LFS_NAMES = re.compile(r"\.(parquet|arrow|bin|safetensors|zip|gz|png|jpg|pt|onnx|xlsx)$")
LFS_BYTES = 10 * 2**20
KINDS: dict[str, Kind] = {"model": "models", "dataset": "datasets", "space": "spaces"}
_ERROR_CODES = {404: "RepoNotFound"}


@dataclass(frozen=True)
class Request:
    """A request that was answered, or cut off (then status is 0)."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    status: int


@dataclass
class _Fault:
    path: re.Pattern[str]
    left: int | None
    method: str | None
    status: int = 0
    after_handling: bool = False
    retry_after: int | None = None
    echoes: bool = False


class HubServer:
    """The Hub, running in a thread of this process.

    Attributes:
        repos: by kind and id, e.g. ``("datasets", "s2lct-org/s2lct")``.
        requests: what was asked, oldest first.
    """

    def __init__(
        self, port: int = 0, accounts: tuple[Account, ...] = (MAINTAINER, STRANGER)
    ) -> None:
        self.accounts = {account.token: account for account in accounts}
        self.repos: dict[tuple[Kind, str], Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.lock = threading.RLock()
        self._faults: list[_Fault] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail_next(
        self,
        status: int,
        path: str = "",
        times: int | None = 1,
        *,
        method: str | None = None,
        after_handling: bool = False,
        retry_after: int | None = None,
        echoes: bool = False,
    ) -> None:
        """Answer requests whose path matches with an error.

        Args:
            status: the HTTP status.
            path: regular expression that is searched in the path.
            times: how many requests; None for all from now on.
            method: only this HTTP method.
            after_handling: do what was asked, then answer with the error.
            retry_after: seconds for the Retry-After header.
            echoes: repeat the Authorization header in the message.
        """
        self._faults.append(
            _Fault(re.compile(path), times, method, status, after_handling, retry_after, echoes)
        )

    def cut_next(
        self,
        path: str = "",
        times: int | None = 1,
        *,
        method: str | None = None,
        after_handling: bool = False,
    ) -> None:
        """Close the connection without an answer; arguments as in `fail_next`."""
        self._faults.append(_Fault(re.compile(path), times, method, 0, after_handling))

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def repo(self, kind: str, id: str) -> Repo:
        """A repository by kind (``dataset`` or ``datasets``) and id."""
        place = KINDS.get(kind, kind), id.lower()
        for (plural, name), repo in self.repos.items():
            if (plural, name.lower()) == place:  # as the Hub, which knows names in any case
                return repo
        raise HubError(404, "Repository not found", "RepoNotFound")

    def files(self, kind: str, id: str, revision: str = "main") -> dict[str, bytes]:
        """Path to content of every file of a revision."""
        return {
            path: file.data for path, file in self.repo(kind, id).commit_at(revision).tree.items()
        }

    def asked(self, path: str, method: str | None = None) -> list[Request]:
        """Requests whose path matches."""
        return [
            request
            for request in self.requests
            if re.search(path, request.path) and method in (None, request.method)
        ]

    def take_fault(self, method: str, path: str) -> _Fault | None:
        with self.lock:
            for fault in self._faults:
                if fault.path.search(path) and fault.method in (None, method):
                    if fault.left is not None:
                        fault.left -= 1
                        if not fault.left:
                            self._faults.remove(fault)
                    return fault
        return None


def unused_endpoint() -> str:
    """An endpoint that refuses connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@dataclass(frozen=True)
class _Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def _handler_of(hub: HubServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"hub": hub})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        raw = self._read_body()  # always all of it, or the kept-alive connection breaks
        url = urlsplit(self.path)
        fault = self.hub.take_fault(self.command, url.path)
        answer = _Answer()
        if fault is None or fault.after_handling:
            with self.hub.lock:
                try:
                    answer = _Exchange(self.hub, self, raw).answer()
                except HubError as error:
                    answer = _error_answer(error)
        if fault is not None and fault.status:
            message = f"The test asked for {fault.status}"
            if fault.echoes:
                message = f"{message} of {self.headers.get('Authorization')}"
            answer = _error_answer(
                HubError(fault.status, message, _ERROR_CODES.get(fault.status)), fault.retry_after
            )
        cut = fault is not None and not fault.status
        self.hub.requests.append(
            Request(
                self.command,
                unquote(url.path),
                dict(parse_qsl(url.query)),
                {name.lower(): value for name, value in self.headers.items()},
                raw,
                0 if cut else answer.status,
            )
        )
        if cut:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _send(self, answer: _Answer) -> None:
        body, headers = answer.body, {"Content-Length": "", **answer.headers}
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        headers["Content-Length"] = answer.headers.get("Content-Length", str(len(body)))
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(answer.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)


def _error_answer(error: HubError, retry_after: int | None = None) -> _Answer:
    headers = {"X-Error-Message": error.message}
    if error.code:
        headers["X-Error-Code"] = error.code
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return _Answer(error.status, {"error": error.message}, headers)


_REPO = r"(?P<id>[^/]+/[^/]+)"
_WEB = r"/(?:(?P<kind>datasets|spaces)/)?"
_API = rf"/api/(?P<kind>models|datasets|spaces)/{_REPO}"
_Route = tuple[str, re.Pattern[str], Callable[..., _Answer]]


class _Exchange:
    """One request, and what is answered."""

    def __init__(self, hub: HubServer, handler: BaseHTTPRequestHandler, raw: bytes) -> None:
        url = urlsplit(handler.path)
        self.hub, self.raw, self.headers = hub, raw, handler.headers
        self.method, self.path = handler.command, url.path
        self.query = dict(parse_qsl(url.query))

    def answer(self) -> _Answer:
        for methods, pattern, respond in _ROUTES:
            if self.method in methods.split() and (match := pattern.fullmatch(self.path)):
                found = {name: unquote(value or "") for name, value in match.groupdict().items()}
                if "id" in found:
                    kind: Any = found.pop("kind") or "models"
                    return respond(self, self.visible_repo(kind, found.pop("id")), **found)
                return respond(self, **found)
        raise HubError(404, "Repository not found", "RepoNotFound")

    def account(self) -> Account | None:
        sent = self.headers.get("Authorization")
        if sent is None:
            return None
        if (account := self.hub.accounts.get(sent.removeprefix("Bearer "))) is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return account

    def signed_in(self) -> Account:
        if (account := self.account()) is None:
            raise HubError(401, "Invalid username or password.")
        return account

    def writer(self, repo_id: str) -> Account:
        if not (account := self.signed_in()).owns(repo_id):
            raise HubError(
                403, f"You don't have the rights to write to {repo_id} as {account.name}"
            )
        return account

    def visible_repo(self, kind: Kind, id: str) -> Repo:
        repo = self.hub.repo(kind, id)
        account = self.account()
        if repo.private and not (account and account.owns(id)):
            raise HubError(404 if account else 401, "Repository not found", "RepoNotFound")
        return repo

    def json(self) -> Json:
        content: Json = json.loads(self.raw or b"{}")
        return content

    def web_url(self, repo: Repo) -> str:
        prefix = "" if repo.kind == "models" else f"{repo.kind}/"
        return f"{self.hub.endpoint}/{prefix}{repo.id}"

    # Accounts and repositories

    def validate_yaml(self) -> _Answer:
        try:
            card = front_matter(self.json()["content"])
        except yaml.YAMLError as error:
            fault = {"message": str(error).replace("\n", " ")}
            return _Answer(400, {"errors": [fault], "warnings": []})
        warnings = [] if card else [{"message": "empty or missing yaml metadata in repo card"}]
        return _Answer(body={"errors": [], "warnings": warnings})

    def create_repo(self) -> _Answer:
        asked = self.json()
        account = self.signed_in()
        id = f"{asked.get('organization') or account.name}/{asked['name']}"
        self.writer(id)
        kind = KINDS[asked.get("type") or "model"]
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        if (existing := self.hub.repos.get((kind, id))) is not None:
            told = {"error": "You already created this repo", "url": self.web_url(existing)}
            return _Answer(409, told)
        repo = self.hub.repos[kind, id] = Repo(kind, id, private, asked.get("sdk"))
        return _Answer(body={"url": self.web_url(repo), "name": id, "id": id})

    def repo_info(self, repo: Repo, revision: str = "main") -> _Answer:
        return _Answer(body=repo.described(revision, _is_true(self.query.get("blobs"))))

    # Uploads and commits

    def preupload(self, repo: Repo, revision: str) -> _Answer:
        proposes = _is_true(self.query.get("create_pr")) or revision in repo.pulls
        account = self.signed_in() if proposes else self.writer(repo.id)
        assert account
        tree = repo.commit_at(revision).tree
        files = [
            {
                "path": file["path"],
                "shouldIgnore": False,
                "oid": tree[file["path"]].etag if file["path"] in tree else None,
                "uploadMode": self.upload_mode(file["path"], file["size"]),
            }
            for file in self.json()["files"]
        ]
        return _Answer(body={"files": files})

    def upload_mode(self, path: str, size: int) -> str:
        large = LFS_NAMES.search(path) or size > LFS_BYTES
        return "lfs" if large else "regular"

    def lfs_batch(self, repo: Repo) -> _Answer:
        self.signed_in()
        objects: list[Json] = []
        for asked in self.json()["objects"]:
            told: Json = {"oid": asked["oid"], "size": asked["size"]}
            if asked["oid"] not in self.hub.blobs:
                href = f"{self.hub.endpoint}/lfs/{asked['oid']}"
                told["actions"] = {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}
            objects.append(told)
        return _Answer(
            body={"transfer": "basic", "objects": objects},
            headers={"Content-Type": "application/vnd.git-lfs+json"},
        )

    def lfs_upload(self, oid: str) -> _Answer:
        if hashlib.sha256(self.raw).hexdigest() != oid:
            raise HubError(400, "sha256 mismatch")
        self.hub.blobs[oid] = self.raw
        return _Answer(body=b"")

    def lfs_verify(self, oid: str) -> _Answer:
        asked = self.json()
        if len(self.hub.blobs.get(oid, b"")) != asked.get("size"):
            raise HubError(404, "LFS object not found")
        return _Answer(body={})

    def commit(self, repo: Repo, revision: str) -> _Answer:
        proposes = _is_true(self.query.get("create_pr"))
        pulled = revision in repo.pulls
        account = self.signed_in() if proposes or pulled else self.writer(repo.id)
        if not (proposes or pulled or revision in repo.branches):
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        operations = [json.loads(line) for line in self.raw.splitlines() if line.strip()]
        header = operations[0]["value"]
        parent = repo.commit_at(revision)
        if header.get("parentCommit") not in (None, parent.id):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        tree = self._tree_after(parent.tree, operations[1:])
        title, description = header["summary"], header.get("description") or ""
        commit = repo.add_commit(parent.id, tree, title, description, account.name)
        url = self.web_url(repo)
        told: Json = {
            "success": True,
            "commitOid": commit.id,
            "commitUrl": f"{url}/commit/{commit.id}",
            "hookOutput": "",
        }
        if proposes:
            pull = repo.open_pull(title, account.name)
            revision = f"refs/pr/{pull.num}"
            told["pullRequestUrl"] = f"{url}/discussions/{pull.num}"
        if revision in repo.pulls:
            repo.pulls[revision] = commit.id
        else:
            repo.branches[revision] = commit.id
        return _Answer(body=told)

    def _tree_after(self, tree: dict[str, File], operations: list[Json]) -> dict[str, File]:
        tree = dict(tree)
        for operation in operations:
            value = operation["value"]
            path = value["path"]
            if operation["key"] == "file":
                tree[path] = File(base64.b64decode(value["content"]))
            elif operation["key"] == "lfsFile":
                if value["oid"] not in self.hub.blobs:
                    raise HubError(400, f"LFS object {value['oid']} was never uploaded")
                tree[path] = File(self.hub.blobs[value["oid"]], lfs=True)
            elif operation["key"] in ("deletedFile", "deletedFolder"):
                folder = path.rstrip("/") + "/"
                kept = {
                    name: file
                    for name, file in tree.items()
                    if name != path and not name.startswith(folder)
                }
                if len(kept) == len(tree):
                    message = f"A file with this name doesn't exist: {path}"
                    raise HubError(404, message, "EntryNotFound")
                tree = kept
            else:
                raise HubError(400, f"Unknown operation {operation['key']}")
        return tree

    # Refs and history

    def create_tag(self, repo: Repo, revision: str) -> _Answer:
        self.writer(repo.id)
        name = self.json()["tag"]
        if name in repo.tags:
            raise HubError(409, f"Reference already exists: {name}")
        repo.tags[name] = repo.commit_at(revision or "main").id
        return _Answer(body={})

    def list_refs(self, repo: Repo) -> _Answer:
        def told(refs: dict[str, str], prefix: str) -> list[Json]:
            return [
                {"name": name, "ref": f"{prefix}{name}", "targetCommit": commit}
                for name, commit in refs.items()
            ]

        pulls = repo.pulls if _is_true(self.query.get("include_prs")) else {}
        return _Answer(
            body={
                "branches": told(repo.branches, "refs/heads/"),
                "tags": told(repo.tags, "refs/tags/"),
                "converts": [],
                "pullRequests": told(pulls, ""),
            }
        )

    def history(self, repo: Repo, revision: str) -> _Answer:
        return _Answer(
            body=[
                {
                    "id": commit.id,
                    "title": commit.title,
                    "message": commit.description,
                    "date": commit.date,
                    "authors": [{"user": commit.author}],
                }
                for commit in repo.history(revision)
            ]
        )

    # Files

    def tree(self, repo: Repo, revision: str, folder: str = "") -> _Answer:
        recursive = _is_true(self.query.get("recursive"))
        return _Answer(body=repo.commit_at(revision).listing(folder, recursive))

    def paths_info(self, repo: Repo, revision: str) -> _Answer:
        commit = repo.commit_at(revision)
        is_json = "json" in self.headers.get("Content-Type", "")
        asked: Any = self.json() if is_json else parse_qs(self.raw.decode())
        folders = commit.folders()
        return _Answer(
            body=[
                commit.tree[path].described(path) if path in commit.tree else described_folder(path)
                for path in asked["paths"]
                if path in commit.tree or path in folders
            ]
        )

    def resolve(self, repo: Repo, revision: str, path: str) -> _Answer:
        commit: Commit = repo.commit_at(revision)
        if (file := commit.tree.get(path)) is None:
            answer = _error_answer(HubError(404, "Entry not found", "EntryNotFound"))
            answer.headers["X-Repo-Commit"] = commit.id
            return answer
        headers = {
            "X-Repo-Commit": commit.id,
            "ETag": f'"{file.etag}"',
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        if file.lfs:
            headers |= {
                "X-Linked-ETag": f'"{file.sha256}"',
                "X-Linked-Size": str(len(file.data)),
            }
        if self.method == "HEAD":
            return _Answer(200, b"", headers | {"Content-Length": str(len(file.data))})
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            return _Answer(200, file.data, headers)
        start, last = int(asked[1]), min(int(asked[2] or len(file.data)), len(file.data) - 1)
        headers["Content-Range"] = f"bytes {start}-{last}/{len(file.data)}"
        return _Answer(206, file.data[start : last + 1], headers)

    def pull_requests(self, repo: Repo) -> _Answer:
        listed = [
            repo.described_pull(pull)
            for pull in repo.discussions.values()
            if self.query.get("status") != "open" or pull.status == "open"
        ]
        page = listed if self.query.get("p", "0") == "0" else []
        return _Answer(body={"discussions": page, "count": len(listed), "start": 0})


def _is_true(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true")


_ROUTES: list[_Route] = [
    (methods, re.compile(pattern), respond)
    for methods, pattern, respond in (
        ("POST", "/api/validate-yaml", _Exchange.validate_yaml),
        ("POST", "/api/repos/create", _Exchange.create_repo),
        ("GET", _API, _Exchange.repo_info),
        ("GET", rf"{_API}/revision/(?P<revision>[^/]+)", _Exchange.repo_info),
        ("POST", rf"{_API}/preupload/(?P<revision>[^/]+)", _Exchange.preupload),
        ("POST", rf"{_API}/commit/(?P<revision>[^/]+)", _Exchange.commit),
        ("POST", rf"{_API}/tag/(?P<revision>[^/]+)", _Exchange.create_tag),
        ("GET", rf"{_API}/refs", _Exchange.list_refs),
        ("GET", rf"{_API}/commits/(?P<revision>[^/]+)", _Exchange.history),
        ("GET", rf"{_API}/tree/(?P<revision>[^/]+)(?:/(?P<folder>.*))?", _Exchange.tree),
        ("POST", rf"{_API}/paths-info/(?P<revision>[^/]+)", _Exchange.paths_info),
        ("GET", rf"{_API}/discussions", _Exchange.pull_requests),
        ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", _Exchange.lfs_upload),
        ("POST", r"/lfs/(?P<oid>[0-9a-f]{64})/verify", _Exchange.lfs_verify),
        ("POST", rf"{_WEB}{_REPO}\.git/info/lfs/objects/batch", _Exchange.lfs_batch),
        (
            "GET HEAD",
            rf"{_WEB}{_REPO}/(?:resolve|raw)/(?P<revision>[^/]+)/(?P<path>.+)",
            _Exchange.resolve,
        ),
    )
]
