"""A small server that speaks the Hub's API to the real client libraries.

Tests take the fixture ``hub``. It keeps everything in memory, and fails on demand.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request as HttpRequest
from werkzeug import Response

Json = dict[str, Any]
Tree = Mapping[str, bytes]
KINDS = {"model": "models", "dataset": "datasets", "space": "spaces"}
ATTRIBUTES = {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}


class HubError(Exception):
    """An answer with an error status; clients choose their exception by its code."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        self.status, self.message, self.code = status, message, code
        super().__init__(message)


@dataclass(frozen=True)
class Account:
    """Somebody with a token; may write where the namespace is theirs."""

    name: str
    token: str
    organizations: tuple[str, ...] = ()

    def owns(self, repo_id: str) -> bool:
        return repo_id.split("/")[0] in (self.name, *self.organizations)


MAINTAINER = Account("maintainer", "hf_MaintainerTokenOfTheTestHub0001", ("s2lct-org",))
STRANGER = Account("stranger", "hf_StrangerTokenOfTheTestHub000002")


@dataclass(frozen=True)
class Commit:
    id: str
    parent: str | None
    tree: Tree = field(repr=False)


@dataclass
class Repo:
    """A repository; branches, tags and pull requests name commits."""

    kind: str
    id: str
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.branches["main"] = self.add_commit(None, ATTRIBUTES)

    def add_commit(self, parent: str | None, tree: Tree) -> str:
        id = secrets.token_hex(20)
        self.commits[id] = Commit(id, parent, dict(tree))
        return id

    def commit_at(self, revision: str) -> Commit:
        """The commit that a branch, tag, pull request or commit id names."""
        id = {**self.pulls, **self.tags, **self.branches}.get(revision, revision)
        if id not in self.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[id]

    def history(self, revision: str) -> list[Commit]:
        commits = [self.commit_at(revision)]
        while (parent := commits[-1].parent) is not None:
            commits.append(self.commits[parent])
        return commits

    def merge(self, num: int) -> None:
        """Lay a pull request's changes over the main branch."""
        head, main = self.commit_at(f"refs/pr/{num}"), self.history("main")
        base = next(commit for commit in self.history(head.id) if commit in main)
        changed = {path: data for path, data in head.tree.items() if base.tree.get(path) != data}
        gone = base.tree.keys() - head.tree.keys()
        tree = {path: data for path, data in main[0].tree.items() if path not in gone} | changed
        self.branches["main"] = self.add_commit(main[0].id, tree)

    def described(self, revision: str = "main") -> Json:
        """What the info endpoints tell."""
        commit = self.commit_at(revision)
        card = front_matter(commit.tree.get("README.md", b"").decode("utf-8", "replace"))
        return {
            "id": self.id,
            "author": self.id.split("/")[0],
            "sha": commit.id,
            "private": False,
            "gated": False,
            "disabled": False,
            "tags": [str(tag) for tag in card.get("tags") or ()],
            "cardData": card or None,
            "lastModified": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "siblings": [
                {"rfilename": path, "size": len(data), "blobId": etag_of(path, data)}
                for path, data in sorted(commit.tree.items())
            ],
        }


def front_matter(readme: str) -> Json:
    """The YAML block of a card."""
    block = re.match(r"---\r?\n(.*?)\r?\n---(\r?\n|$)", readme, re.DOTALL)
    content = yaml.safe_load(block[1]) if block else None
    return content if isinstance(content, dict) else {}


def in_lfs(path: str) -> bool:
    return path.endswith((".parquet", ".safetensors", ".bin"))


def etag_of(path: str, data: bytes) -> str:
    if in_lfs(path):
        return hashlib.sha256(data).hexdigest()
    return git_oid(data)


def git_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def entry_of(path: str, tree: Tree) -> Json:
    """A file, or else a folder, as the tree endpoints tell it."""
    if path not in tree:
        oid = hashlib.sha1(path.encode()).hexdigest()
        return {"type": "directory", "path": path, "size": 0, "oid": oid}
    data = tree[path]
    entry: Json = {"type": "file", "path": path, "size": len(data), "oid": etag_of(path, data)}
    if in_lfs(path):
        entry["lfs"] = {"oid": etag_of(path, data), "size": len(data), "pointerSize": 134}
    return entry


def folders_of(tree: Tree) -> set[str]:
    parents = {str(parent) for path in tree for parent in Path(path).parents}
    return parents - {"."}


@dataclass(frozen=True)
class Request:
    """A request that was answered, or cut off (then status is 0)."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    status: int


@dataclass
class Fault:
    """An error that is answered to requests.

    Attributes:
        after_handling: do what was asked, then answer with the error.
        retry_after: seconds for the Retry-After header.
        echoes: repeat the Authorization header in the message.
    """

    path: re.Pattern[str]
    left: int | None
    status: int = 0
    after_handling: bool = False
    retry_after: int | None = None
    echoes: bool = False


class HubServer(HTTPServer):  # type: ignore[misc]
    """The Hub, running in a thread of this process.

    Attributes:
        repos: by kind and id, e.g. ``("datasets", "s2lct-org/s2lct")``.
        requests: what was asked, oldest first.
    """

    def __init__(self) -> None:
        self.accounts = {account.token: account for account in (MAINTAINER, STRANGER)}
        self.repos: dict[tuple[str, str], Repo] = {}
        self.requests: list[Request] = []
        self.lock = threading.RLock()
        self._faults: list[Fault] = []
        super().__init__(host="127.0.0.1", threaded=True)
        self.expect_request(re.compile(".*")).respond_with_handler(self._handle)

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    def _handle(self, request: HttpRequest) -> Response:
        fault, answer = self.take_fault(request.path), Response()
        if fault is None or fault.after_handling:
            with self.lock:
                try:
                    answer = _Exchange(self, request).answer()
                except HubError as error:
                    answer = _error_response(error)
        if fault is not None:
            code = "RepoNotFound" if fault.status == 404 else ""
            token = request.headers.get("Authorization") if fault.echoes else ""
            message = f"The test asked for {fault.status} {token}"
            answer = _error_response(HubError(fault.status or 500, message, code))
            if fault.retry_after is not None:
                answer.headers["Retry-After"] = str(fault.retry_after)
        headers = {name.lower(): value for name, value in request.headers.items()}
        status = answer.status_code if fault is None or fault.status else 0
        self.requests.append(Request(request.method, request.path, headers, status))
        if not status:
            request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return answer

    def fail_next(self, status: int, path: str = "", times: int | None = 1, **how: Any) -> None:
        """Answer requests whose path matches with an error; see `Fault`.

        Args:
            status: the HTTP status; 0 closes the connection without an answer.
            path: regular expression that is searched in the path.
            times: how many requests; None for all from now on.
            how: attributes of the fault.
        """
        self._faults.append(Fault(re.compile(path), times, status, **how))

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def put(self, kind: str, id: str, files: Path | Tree, tag: str | None = None) -> Repo:
        """Make files the newest commit of a repository, which is made if there is none."""
        if isinstance(files, Path):
            paths = [path for path in files.rglob("*") if path.is_file()]
            files = {path.relative_to(files).as_posix(): path.read_bytes() for path in paths}
        place = KINDS[kind], id
        repo = self.repos[place] = self.repos.get(place) or Repo(*place)
        repo.branches["main"] = repo.add_commit(repo.branches["main"], {**ATTRIBUTES, **files})
        if tag is not None:
            repo.tags[tag] = repo.branches["main"]
        return repo

    def repo(self, kind: str, id: str) -> Repo:
        """A repository by kind (``dataset`` or ``datasets``) and id."""
        place = KINDS.get(kind, kind), id.lower()
        for (plural, name), repo in self.repos.items():
            if (plural, name.lower()) == place:  # as the Hub, which knows names in any case
                return repo
        raise HubError(404, "Repository not found", "RepoNotFound")

    def files(self, kind: str, id: str, revision: str = "main") -> dict[str, bytes]:
        """Path to content of every file of a revision."""
        return dict(self.repo(kind, id).commit_at(revision).tree)

    def take_fault(self, path: str) -> Fault | None:
        with self.lock:
            for fault in self._faults:
                if fault.path.search(path):
                    if fault.left is not None:
                        fault.left -= 1
                        if not fault.left:
                            self._faults.remove(fault)
                    return fault
        return None


def _response(body: Any, headers: Mapping[str, str] | None = None) -> Response:
    if isinstance(body, bytes):
        return Response(body, headers=headers, content_type="application/octet-stream")
    return Response(json.dumps(body), headers=headers, content_type="application/json")


def _error_response(error: HubError) -> Response:
    headers = {"X-Error-Message": error.message, "X-Error-Code": error.code}
    response = _response({"error": error.message}, headers)
    response.status_code = error.status
    return response


class _Exchange:
    """One request, and what is answered."""

    def __init__(self, hub: HubServer, request: HttpRequest) -> None:
        self.hub, self.raw, self.headers = hub, request.get_data(), request.headers
        self.method, self.path = request.method, urlsplit(request.environ["RAW_URI"]).path
        self.query = request.args.to_dict()

    def answer(self) -> Response:
        for methods, pattern, respond in _ROUTES:
            if self.method in methods.split() and (match := pattern.fullmatch(self.path)):
                found = {name: unquote(value or "") for name, value in match.groupdict().items()}
                if "id" in found:
                    repo = self.visible_repo(found.pop("kind") or "models", found.pop("id"))
                    return respond(self, repo, **found)
                return respond(self, **found)
        raise HubError(404, "Repository not found", "RepoNotFound")

    def account(self) -> Account | None:
        sent = self.headers.get("Authorization")
        if sent is None:
            return None
        if (account := self.hub.accounts.get(sent.removeprefix("Bearer "))) is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return account

    def check_writer(self, repo_id: str, *, proposes: bool = False) -> None:
        account = self.account()
        if account is None:
            raise HubError(401, "Invalid username or password.")
        if not (proposes or account.owns(repo_id)):
            raise HubError(403, f"You don't have the rights to write to {repo_id}")

    def visible_repo(self, kind: str, id: str) -> Repo:
        self.account()  # who comes with a wrong token is refused
        return self.hub.repo(kind, id)

    def json(self) -> Json:
        content: Json = json.loads(self.raw or b"{}")
        return content

    def web_url(self, repo: Repo) -> str:
        prefix = "" if repo.kind == "models" else f"{repo.kind}/"
        return f"{self.hub.endpoint}/{prefix}{repo.id}"

    def validate_yaml(self) -> Response:
        front_matter(self.json()["content"])
        return _response({"errors": [], "warnings": []})

    def create_repo(self) -> Response:
        wanted = self.json()
        account = self.account()
        id = f"{wanted.get('organization') or (account and account.name)}/{wanted['name']}"
        self.check_writer(id)
        kind = KINDS[wanted.get("type") or "model"]
        repo = self.hub.repos[kind, id] = Repo(kind, id)
        return _response({"url": self.web_url(repo), "name": id, "id": id})

    def repo_info(self, repo: Repo, revision: str = "main") -> Response:
        return _response(repo.described(revision))

    def preupload(self, repo: Repo, revision: str) -> Response:
        self.check_writer(repo.id, proposes=self.proposes)
        tree = repo.commit_at(revision).tree
        names = [file["path"] for file in self.json()["files"]]
        files = [
            {"path": name, "shouldIgnore": False, "uploadMode": "regular"}
            | {"oid": git_oid(tree[name]) if name in tree else None}
            for name in names
        ]
        return _response({"files": files})

    @property
    def proposes(self) -> bool:
        return _is_true(self.query.get("create_pr"))

    def commit(self, repo: Repo, revision: str) -> Response:
        self.check_writer(repo.id, proposes=self.proposes)
        header, *operations = (json.loads(line) for line in self.raw.splitlines() if line.strip())
        parent = repo.commit_at(revision)
        if header["value"].get("parentCommit") not in (None, parent.id):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(parent.tree)
        for operation in operations:
            path = operation["value"]["path"]
            if operation["key"] == "file":
                tree[path] = base64.b64decode(operation["value"]["content"])
            else:
                tree.pop(path)
        id = repo.add_commit(parent.id, tree)
        url = self.web_url(repo)
        told: Json = {"success": True, "commitOid": id, "commitUrl": f"{url}/commit/{id}"}
        if self.proposes:
            number = len(repo.pulls) + 1
            repo.pulls[f"refs/pr/{number}"] = id
            told["pullRequestUrl"] = f"{url}/discussions/{number}"
        else:
            repo.branches[revision] = id
        return _response(told | {"hookOutput": ""})

    def create_tag(self, repo: Repo, revision: str) -> Response:
        self.check_writer(repo.id)
        name = self.json()["tag"]
        repo.tags[name] = repo.commit_at(revision or "main").id
        return _response({})

    def list_refs(self, repo: Repo) -> Response:
        def told(refs: dict[str, str], prefix: str) -> list[Json]:
            return [
                {"name": name, "ref": f"{prefix}{name}", "targetCommit": commit}
                for name, commit in refs.items()
            ]

        branches, tags = told(repo.branches, "refs/heads/"), told(repo.tags, "refs/tags/")
        return _response({"branches": branches, "tags": tags, "converts": []})

    def history(self, repo: Repo, revision: str) -> Response:
        about = {"title": "", "message": "", "date": "2026-01-01T00:00:00.000Z", "authors": []}
        return _response([about | {"id": commit.id} for commit in repo.history(revision)])

    def tree(self, repo: Repo, revision: str, folder: str = "") -> Response:
        tree = repo.commit_at(revision).tree
        folders = folders_of(tree)
        if folder and folder not in folders:
            raise HubError(404, f"{folder} does not exist", "EntryNotFound")
        prefix, recursive = f"{folder}/" if folder else "", _is_true(self.query.get("recursive"))
        below = [path for path in sorted({*folders, *tree}) if path.startswith(prefix)]
        wanted = [path for path in below if recursive or "/" not in path[len(prefix) :]]
        return _response([entry_of(path, tree) for path in wanted])

    def resolve(self, repo: Repo, revision: str, path: str) -> Response:
        commit = repo.commit_at(revision)
        headers = {"X-Repo-Commit": commit.id}
        if (data := commit.tree.get(path)) is None:
            answer = _error_response(HubError(404, "Entry not found", "EntryNotFound"))
            answer.headers.update(headers)
            return answer
        headers["ETag"] = f'"{etag_of(path, data)}"'
        if in_lfs(path):
            headers |= {"X-Linked-ETag": headers["ETag"], "X-Linked-Size": str(len(data))}
        return _response(data, headers)


def _is_true(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true")


_REPO = r"(?P<id>[^/]+/[^/]+)"
_API = rf"/api/(?P<kind>models|datasets|spaces)/{_REPO}"
_ROUTES: list[tuple[str, re.Pattern[str], Callable[..., Response]]] = [
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
        (
            "GET HEAD",
            rf"/(?:(?P<kind>datasets|spaces)/)?{_REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)",
            _Exchange.resolve,
        ),
    )
]
