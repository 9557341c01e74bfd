"""Publishing to a Hub: what a repository holds, and one commit that changes it, whole or not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from s2lct.errors import PublishError, S2lctError
from s2lct.hub_calls import causes_of, is_hub_id, reason_of, without_token
from s2lct.suite.versions import Version

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Kind = Literal["dataset", "space", "model"]
RepoOption = Annotated[str, typer.Option(help="Repository, as ORG/NAME; made if there is none.")]
CreatePr = Annotated[
    bool,
    typer.Option("--create-pr", help="Propose it in a pull request instead of committing."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be done; needs no token.")
]
_LONGEST = 200
_AGAIN = "give the same command again"
_CHANGED = f"somebody else changed it at the same time: {_AGAIN}; it compares anew"
_HINTS = {
    401: "log in with `hf auth login`, or set HF_TOKEN to a token that the Hub knows",
    403: "log in with a token that may write to {owner}, or propose it with --create-pr",
    404: "check the repository's name, and `hf auth whoami`: the token may not see it",
    409: _CHANGED,
    412: _CHANGED,
    429: f"wait {{wait}} and {_AGAIN}",
    500: f"see https://status.huggingface.co and {_AGAIN}",
}
"""What to do, by HTTP status."""


@dataclass(frozen=True)
class RepoState:
    """A repository at one commit: by path, SHA-256 of files in LFS, git's blob id of the others."""

    commit: str
    hashes: Mapping[str, str]

    def holds(self, path: str, content: bytes) -> bool:
        """Whether it has this file with these bytes."""
        return self.hashes.get(path) in (
            hashlib.sha256(content).hexdigest(),
            hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        )


@dataclass(frozen=True)
class Publication:
    """What a repository ``ORG/NAME`` is to hold, and the message of the commit.

    Attributes:
        files: content by path; other files stay as they are.
        part: what the paths begin with of files that go where they are none of ``files``.
        tag: tag to set on the commit; None for none.
    """

    repo: str
    kind: Kind
    title: str
    files: Mapping[str, bytes]
    description: str = ""
    part: str | None = None
    tag: str | None = None

    def differs_from(self, state: RepoState | None) -> tuple[list[str], list[str]]:
        """Paths to write and paths to delete, to get from a state to this."""
        if state is None:
            return sorted(self.files), []
        written = [path for path, data in sorted(self.files.items()) if not state.holds(path, data)]
        part = [path for path in state.hashes if self.part and path.startswith(self.part)]
        return written, [path for path in part if path not in self.files]


def require_repo(option: str, repo: str) -> None:
    """Refuse with a `PublishError` what names no repository, ``ORG/NAME``."""
    if not is_hub_id(repo) or "@" in repo:
        raise PublishError(f"{option} {repo}: names no repository", hint="write it like ORG/NAME")


@dataclass
class Hub:
    """The Hub that HF_ENDPOINT names, with huggingface_hub's own login, and how it is used.

    Attributes:
        create_pr: propose in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
    """

    create_pr: bool = False
    dry_run: bool = False

    @cached_property
    def api(self) -> HfApi:
        """The client."""
        from huggingface_hub import HfApi

        return HfApi(library_name="s2lct")

    def state(self, repo: str, kind: Kind, revision: str = "main") -> RepoState | None:
        """What a repository holds; None if there is none (or none that may be seen).

        Raises:
            PublishError: the Hub cannot be asked.
        """
        from huggingface_hub.errors import RepositoryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        with refusals("read", repo):
            try:
                info = self.api.repo_info(repo, repo_type=kind, revision=revision)
            except RepositoryNotFoundError:
                return None
            tree = self.api.list_repo_tree(repo, repo_type=kind, revision=info.sha, recursive=True)
            hashes = {
                file.path: file.lfs.sha256 if file.lfs else file.blob_id
                for file in tree
                if isinstance(file, RepoFile)
            }
        return RepoState(info.sha or "", hashes)

    def versions(self, repo: str) -> dict[Version, str]:
        """The commits of a dataset's released versions, the oldest first."""
        with refusals("read the tags of", repo):
            tags = self.api.list_repo_refs(repo, repo_type="dataset").tags
        named = ((Version.of_tag(tag.name), tag.target_commit) for tag in tags)
        return dict(sorted((version, commit) for version, commit in named if version))

    def read(self, repo: str, kind: Kind, path: str, revision: str) -> bytes:
        """A file's content; empty if there is none."""
        with refusals(f"read {path} of", repo):
            if not self.api.file_exists(repo, path, repo_type=kind, revision=revision):
                return b""
            local = self.api.hf_hub_download(repo, path, repo_type=kind, revision=revision)
        return Path(local).read_bytes()

    def publish(self, wanted: Publication, state: RepoState | None) -> list[str]:
        """Commit a publication and tag the commit; leave out what is in the repository already.

        Returns:
            What was done, or with ``dry_run`` would be.

        Raises:
            PublishError: the Hub refuses; the repository holds the old state or the new, whole.
        """
        repo, kind = wanted.repo, wanted.kind
        if state is None and self.create_pr:
            raise PublishError(
                f"{kind} {repo}: there is none, or the token may not see it",
                hint="check its name; a new one is made without --create-pr",
            )
        written, deleted = wanted.differs_from(state)
        proposes = self.create_pr and bool(written or deleted)
        lines = [f"write {path} ({len(wanted.files[path]):,} bytes)" for path in written]
        lines += [f"delete {path}" for path in deleted]
        if lines:
            lines.insert(0, f"{'propose to' if proposes else 'commit to'} {repo}")
        if state is None:
            lines.insert(0, f"create the {kind} {repo}")
        if wanted.tag and not proposes:
            lines.append(f"set the tag {wanted.tag}")
        if self.dry_run:
            lines = [f"would {line}" for line in lines]
        else:
            commit = state.commit if state else self._create(wanted)
            if written or deleted:
                commit, url = self._commit(wanted, commit, written, deleted)
                lines.append(f"see {url}")
            if wanted.tag and not proposes:
                failed = f"The tag {wanted.tag} is not set, and the same command sets it"
                with refusals(f"set the tag {wanted.tag} of", repo, failed):
                    self.api.create_tag(repo, tag=wanted.tag, revision=commit, repo_type=kind)
        if wanted.tag and proposes:
            lines.append(f"after the merge, the same command without --create-pr tags {wanted.tag}")
        return lines or [f"nothing to do: {repo} holds all of it"]

    def _create(self, wanted: Publication) -> str:
        with refusals("create", wanted.repo):
            self.api.create_repo(
                wanted.repo,
                repo_type=wanted.kind,
                exist_ok=True,
                space_sdk="static" if wanted.kind == "space" else None,
            )
        return ""

    def _commit(
        self, wanted: Publication, parent: str, written: Sequence[str], deleted: Sequence[str]
    ) -> tuple[str, str]:
        """The id and the address of a new commit."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with refusals("publish", wanted.repo):
            done = self.api.create_commit(
                wanted.repo,
                [
                    *(CommitOperationAdd(path, wanted.files[path]) for path in written),
                    *(CommitOperationDelete(path) for path in deleted),
                ],
                commit_message=wanted.title,
                commit_description=wanted.description,
                repo_type=wanted.kind,
                create_pr=self.create_pr,
                # Somebody else's commit in the meantime is refused, not overwritten.
                parent_commit=parent or None,
            )
        url = done.pr_url if self.create_pr else done.commit_url
        return str(done.oid), without_token(str(url))


@contextmanager
def refusals(action: str, repo: str, failed: str = "Nothing was changed by that") -> Iterator[None]:
    """Turn what the Hub's client raises into one error, "cannot ACTION REPO", with a hint.

    Raises:
        PublishError: for a refusal, a missing repository, a lost connection or a refused card.
    """
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    # The HTTP library's own base class: httpx or httpx2, as the client's version has it.
    lost = (HfHubHTTPError.__bases__[0], OfflineModeIsEnabled, ConnectionError, TimeoutError)
    try:
        yield
    except S2lctError:
        raise
    except Exception as error:
        reason = reason_of(error)
        causes = list(causes_of(error))
        if answers := [cause for cause in causes if isinstance(cause, HfHubHTTPError)]:
            reason, hint = _refusal(answers[0], repo)
        elif any(isinstance(cause, lost) for cause in causes):
            hint = "check the network, HF_ENDPOINT and HF_HUB_OFFLINE"
        elif isinstance(error, (ValueError, HFValidationError)):
            reason, hint = " ".join(str(error).split())[:_LONGEST], "mend what it names"
        else:
            raise
        raise PublishError(
            f"cannot {action} {repo}: {reason.rstrip('.')}. {failed}.", hint=hint
        ) from None


def _refusal(error: OSError, repo: str) -> tuple[str, str]:
    """Reason and hint for an HTTP status."""
    response = error.response  # type: ignore[attr-defined]
    status: int = response.status_code
    message = " ".join((getattr(error, "server_message", None) or "").split())[:_LONGEST]
    wait = response.headers.get("Retry-After")
    hint = _HINTS.get(min(status, 500), "mend what it names")
    return (
        f"the Hub answered {status}{f', {message}' if message else ''}",
        hint.format(owner=repo.split("/")[0], wait=f"{wait} seconds" if wait else "some minutes"),
    )
