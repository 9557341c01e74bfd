"""What the tests' Hub keeps: accounts, and repositories with commits, refs and pull requests."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

import yaml

Kind = Literal["models", "datasets", "spaces"]
Json = dict[str, Any]


class HubError(Exception):
    """An answer with an error status.

    The client libraries choose their exception by ``code``, sent as X-Error-Code.
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
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


@dataclass(frozen=True)
class File:
    data: bytes = field(repr=False)
    lfs: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid

    def described(self, path: str) -> Json:
        told: Json = {"type": "file", "path": path, "size": len(self.data), "oid": self.oid}
        if self.lfs:
            told["lfs"] = {"oid": self.sha256, "size": len(self.data), "pointerSize": 134}
        return told


@dataclass(frozen=True)
class Commit:
    id: str
    parent: str | None
    tree: dict[str, File] = field(repr=False)
    title: str
    description: str
    author: str
    date: str

    def folders(self) -> list[str]:
        return sorted(
            {
                "/".join(path.split("/")[:depth])
                for path in self.tree
                for depth in range(1, path.count("/") + 1)
            }
        )

    def listing(self, folder: str, recursive: bool) -> list[Json]:
        """Folders and files below a folder, as the tree endpoint tells them."""
        folder = folder.strip("/")
        if folder and folder not in self.folders():
            raise HubError(404, f"{folder} does not exist", "EntryNotFound")
        prefix = f"{folder}/" if folder else ""

        def wanted(path: str) -> bool:
            below = path.startswith(prefix) and path != folder
            return below and (recursive or "/" not in path[len(prefix) :])

        return [described_folder(path) for path in self.folders() if wanted(path)] + [
            file.described(path) for path, file in sorted(self.tree.items()) if wanted(path)
        ]


def described_folder(path: str) -> Json:
    oid = hashlib.sha1(path.encode()).hexdigest()
    return {"type": "directory", "path": path, "size": 0, "oid": oid}


@dataclass
class Pull:
    """A pull request."""

    num: int
    title: str
    author: str
    status: str = "open"


@dataclass
class Repo:
    """A repository; branches, tags and pull requests name commits."""

    kind: Kind
    id: str
    private: bool = False
    sdk: str | None = None
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    discussions: dict[int, Pull] = field(default_factory=dict)

    def __post_init__(self) -> None:
        attributes = File(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n")
        self.branches["main"] = self.add_commit(
            None, {".gitattributes": attributes}, "initial commit", "", "hub"
        ).id

    def add_commit(
        self, parent: str | None, tree: dict[str, File], title: str, description: str, author: str
    ) -> Commit:
        date = now()
        described = [parent, {path: file.oid for path, file in tree.items()}, title, date]
        content = json.dumps([*described, len(self.commits)], sort_keys=True)
        commit = Commit(
            hashlib.sha1(content.encode()).hexdigest(),
            parent,
            tree,
            title,
            description,
            author,
            date,
        )
        self.commits[commit.id] = commit
        return commit

    def refs(self) -> dict[str, str]:
        return {**self.pulls, **self.tags, **self.branches}

    def commit_at(self, revision: str) -> Commit:
        """The commit that a branch, tag, pull request or commit id names."""
        id = self.refs().get(revision, revision)
        if id not in self.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[id]

    def history(self, revision: str) -> list[Commit]:
        commits = [self.commit_at(revision)]
        while (parent := commits[-1].parent) is not None:
            commits.append(self.commits[parent])
        return commits

    def open_pull(self, title: str, author: str) -> Pull:
        pull = Pull(len(self.discussions) + 1, title, author)
        self.pulls[f"refs/pr/{pull.num}"] = self.branches["main"]
        self.discussions[pull.num] = pull
        return pull

    def merge(self, num: int, author: str) -> None:
        """Lay a pull request's changes over the main branch."""
        pull = self.discussions[num]
        head = self.commit_at(f"refs/pr/{num}")
        main = {commit.id for commit in self.history("main")}
        base = next(commit for commit in self.history(head.id) if commit.id in main)
        tree = dict(self.commit_at("main").tree)
        for path in base.tree.keys() - head.tree.keys():
            tree.pop(path, None)
        tree |= {path: file for path, file in head.tree.items() if base.tree.get(path) != file}
        title = f"{pull.title} (#{num})"
        merged = self.add_commit(self.branches["main"], tree, title, "", author)
        self.branches["main"], pull.status = merged.id, "merged"

    def card(self, revision: str = "main") -> Json:
        """The YAML on top of README.md; empty where there is none."""
        readme = self.commit_at(revision).tree.get("README.md")
        return front_matter(readme.data.decode("utf-8", "replace")) if readme else {}

    def described(self, revision: str = "main", blobs: bool = False) -> Json:
        """What the info endpoints tell."""
        commit = self.commit_at(revision)
        siblings: list[Json] = []
        for path, file in sorted(commit.tree.items()):
            sibling: Json = {"rfilename": path}
            if blobs:
                sibling |= {"size": len(file.data), "blobId": file.oid}
                if file.lfs:
                    sibling["lfs"] = file.described(path)["lfs"] | {"sha256": file.sha256}
            siblings.append(sibling)
        card = self.card(revision)
        return {
            "id": self.id,
            "author": self.id.split("/")[0],
            "sha": commit.id,
            "private": self.private,
            "gated": False,
            "disabled": False,
            "tags": [str(tag) for tag in card.get("tags") or ()],
            "cardData": card or None,
            "createdAt": self.history("main")[-1].date,
            "lastModified": commit.date,
            "sdk": self.sdk,
            "siblings": siblings,
        }

    def described_pull(self, pull: Pull) -> Json:
        return {
            "num": pull.num,
            "title": pull.title,
            "author": {"name": pull.author},
            "createdAt": now(),
            "status": pull.status,
            "isPullRequest": True,
            "repo": {"name": self.id, "type": self.kind.rstrip("s")},
        }


def front_matter(readme: str) -> Json:
    """The YAML block of a card.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    block = re.match(r"---\r?\n(.*?)\r?\n---(\r?\n|$)", readme, re.DOTALL)
    content = yaml.safe_load(block[1]) if block else None
    return content if isinstance(content, dict) else {}


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
