"""Publishing to a Hub: what a repository holds, and one commit that changes it, whole or not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from s2lct.dataset_script.errors import told_hub_errors
from s2lct.errors import PublishError, UnreachableError
from s2lct.hub_calls import without_token

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Kind = Literal["dataset", "space", "model"]


@dataclass(frozen=True)
class RepoState:
    """A repository at one commit.

    Attributes:
        commit: the commit's id.
        private: whether only members see it.
        hashes: for each path, SHA-256 of files in LFS, git's blob id of the others.
    """

    commit: str
    private: bool
    hashes: Mapping[str, str]

    def holds(self, path: str, content: bytes) -> bool:
        """Whether it has this file with these bytes."""
        return self.hashes.get(path) in (
            hashlib.sha256(content).hexdigest(),
            hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        )


@dataclass(frozen=True)
class Publication:
    """What a repository is to hold.

    Attributes:
        repo: ``ORG/NAME``.
        kind: ``dataset``, ``space`` or ``model``.
        title: title of the commit.
        files: content by path; other files stay as they are.
        removed: paths that are to go.
        description: body of the commit's message.
        tag: tag to set on the commit; None for none.
        private: whether a new repository is made private.
        sdk: what runs a new Space, ``gradio`` or ``docker``.
    """

    repo: str
    kind: Kind
    title: str
    files: Mapping[str, bytes]
    removed: Sequence[str] = ()
    description: str = ""
    tag: str | None = None
    private: bool = False
    sdk: str | None = None

    def differs_from(self, state: RepoState | None) -> tuple[list[str], list[str]]:
        """Paths to write and paths to delete, to get from a state to this."""
        if state is None:
            return sorted(self.files), []
        written = [path for path, data in sorted(self.files.items()) if not state.holds(path, data)]
        return written, [path for path in self.removed if path in state.hashes]


@dataclass
class Outcome:
    """What was done, or with ``--dry-run`` would be.

    Attributes:
        lines: what was done, for the user.
        url: the commit or pull request; empty if nothing was committed.
        changed: whether anything was or would be.
    """

    lines: list[str] = field(default_factory=list)
    url: str = ""
    changed: bool = False


def require_repo(option: str, repo: str) -> None:
    """Refuse what names no repository of an organization or user.

    Raises:
        PublishError: it is not ``ORG/NAME``, or holds what a Hub does not take.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        reason = f" ({error})"
    else:
        if repo.count("/") == 1:
            return
        reason = ""
    raise PublishError(
        f"{option} {repo}: names no repository{reason}", mend="write it like ORG/NAME"
    )


@contextmanager
def dry_run_without_hub(
    checked: Sequence[str], unknown: str, *, dry_run: bool
) -> Iterator[list[Outcome]]:
    """Around what asks the Hub: a dry run goes without it, and says what it could not check.

    Args:
        checked: what was found right before the Hub was asked, a line each.
        unknown: what only the Hub can tell.
        dry_run: whether this is one; if not, errors pass.

    Yields:
        A list that takes the outcome, and holds one behind the block.
    """
    outcomes: list[Outcome] = []
    try:
        yield outcomes
    except UnreachableError as error:
        if not dry_run:
            raise
        outcomes[:] = [Outcome([f"not checked: {unknown}; {error.problem.partition('. ')[0]}"])]
    if dry_run:
        outcomes[0].lines[:0] = [f"checked: {line}" for line in checked]


class Hub:
    """The Hub that HF_ENDPOINT names, with huggingface_hub's own login."""

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

        with told_hub_errors("read", repo):
            try:
                info = self.api.repo_info(repo, repo_type=kind, revision=revision)
            except RepositoryNotFoundError:
                return None
            if info.sha is None:
                return None
            files = [
                entry
                for entry in self.api.list_repo_tree(
                    repo, repo_type=kind, revision=info.sha, recursive=True
                )
                if isinstance(entry, RepoFile)
            ]
        return RepoState(
            info.sha,
            bool(info.private),
            {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files},
        )

    def tags(self, repo: str, kind: Kind) -> dict[str, str]:
        """Commit ids by tag."""
        with told_hub_errors("read the tags of", repo):
            refs = self.api.list_repo_refs(repo, repo_type=kind)
        return {tag.name: tag.target_commit for tag in refs.tags}

    def read(self, repo: str, kind: Kind, path: str, revision: str) -> bytes | None:
        """A file's content; None if there is none."""
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        with told_hub_errors(f"read {path} of", repo):
            try:
                local = self.api.hf_hub_download(repo, path, repo_type=kind, revision=revision)
            except LocalEntryNotFoundError:
                raise
            except EntryNotFoundError:
                return None
        return Path(local).read_bytes()

    def proposed_in(self, publication: Publication) -> str | None:
        """The open pull request that holds a publication already."""
        with told_hub_errors("read the pull requests of", publication.repo):
            discussions = list(
                self.api.get_repo_discussions(
                    publication.repo,
                    repo_type=publication.kind,
                    discussion_type="pull_request",
                    discussion_status="open",
                )
            )
        for discussion in discussions:
            state = self.state(publication.repo, publication.kind, f"refs/pr/{discussion.num}")
            if publication.differs_from(state) == ([], []):
                return str(discussion.url)
        return None

    def publish(
        self,
        publication: Publication,
        state: RepoState | None,
        *,
        create_pr: bool = False,
        dry_run: bool = False,
    ) -> Outcome:
        """Commit a publication and tag the commit; leave out what is there already.

        Args:
            publication: what the repository is to hold.
            state: what it holds.
            create_pr: propose it in a pull request; the tag waits until that is merged.
            dry_run: only say what would be done.

        Raises:
            PublishError: the Hub refuses; the repository holds the old state or the new, whole.
        """
        repo, outcome = publication.repo, Outcome()
        if state is None and create_pr:
            raise PublishError(
                f"{publication.kind} {repo}: there is none, or the token may not see it",
                mend="check its name; a new one is made without --create-pr",
            )
        if state is not None and publication.private and not state.private:
            raise PublishError(
                f"--private: {publication.kind} {repo} is public already",
                mend="make it private in its settings on the Hub, or leave out --private",
            )
        written, deleted = publication.differs_from(state)
        commit = state.commit if state else ""
        if state is None:
            self._create(publication, outcome, dry_run)
        if written or deleted:
            outcome.changed = True
            if create_pr and (url := self.proposed_in(publication)):
                return Outcome([f"proposed already: {url}"], url)
            told = [f"{path} ({len(publication.files[path]):,} bytes)" for path in written]
            if dry_run:
                outcome.lines += [f"would write {line}" for line in told]
                outcome.lines += [f"would delete {path}" for path in deleted]
                where = "open a pull request at" if create_pr else "commit to"
                outcome.lines.append(f"would {where} {repo}: {publication.title}")
            else:
                commit = self._commit(publication, state, written, deleted, create_pr, outcome)
                outcome.lines += [f"wrote {line}" for line in told]
                outcome.lines += [f"deleted {path}" for path in deleted]
        if publication.tag:
            self._tag(publication, commit, outcome, create_pr, dry_run)
        if not outcome.changed:
            outcome.lines = [f"nothing to do: {repo} holds all of it"]
        return outcome

    def _create(self, publication: Publication, outcome: Outcome, dry_run: bool) -> None:
        visibility = "private" if publication.private else "public"
        named = f"{visibility} {publication.kind} {publication.repo}"
        outcome.changed = True
        if dry_run:
            from huggingface_hub import get_token

            unseen = "" if get_token() else " (there is none that can be seen without a token)"
            outcome.lines.append(f"would create the {named}{unseen}")
            return
        with told_hub_errors("create", publication.repo):
            self.api.create_repo(
                publication.repo,
                repo_type=publication.kind,
                private=publication.private,
                exist_ok=True,
                space_sdk=publication.sdk,
            )
        outcome.lines.append(f"created the {named}")

    def _commit(
        self,
        publication: Publication,
        state: RepoState | None,
        written: Sequence[str],
        deleted: Sequence[str],
        create_pr: bool,
        outcome: Outcome,
    ) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationAdd(path, publication.files[path]) for path in written
        ]
        operations += [CommitOperationDelete(path) for path in deleted]
        with told_hub_errors("publish", publication.repo):
            done = self.api.create_commit(
                publication.repo,
                operations,
                commit_message=publication.title,
                commit_description=publication.description,
                repo_type=publication.kind,
                create_pr=create_pr,
                # Somebody else's commit in the meantime is refused, not overwritten.
                parent_commit=state.commit if state else None,
            )
        outcome.url = without_token(str(done.pr_url if create_pr else done.commit_url))
        outcome.lines.append(f"{'proposed' if create_pr else 'committed'}: {outcome.url}")
        return str(done.oid)

    def _tag(
        self,
        publication: Publication,
        commit: str,
        outcome: Outcome,
        create_pr: bool,
        dry_run: bool,
    ) -> None:
        tag, repo = str(publication.tag), publication.repo
        if create_pr and outcome.changed:
            outcome.lines.append(
                f"{'would wait' if dry_run else 'waits'} with the tag {tag}: after the merge, give "
                "the same command without --create-pr"
            )
            return
        outcome.changed = True
        if dry_run:
            outcome.lines.append(f"would set the tag {tag}")
            return
        state = (
            f"Its files are published, the tag {tag} is not; the same command sets it"
            if outcome.url
            else f"The tag {tag} is not set; the same command sets it"
        )
        with told_hub_errors(f"set the tag {tag} of", repo, state):
            self.api.create_tag(repo, tag=tag, revision=commit, repo_type=publication.kind)
        outcome.lines.append(f"set the tag {tag}")
