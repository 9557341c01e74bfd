"""Publish files to a repository of the Hub in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from s2lct.errors import PublishError
from s2lct.hub_calls import is_hub_id, without_token
from s2lct.leaderboard.results.hub import hub_api, hub_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepositoryKind = Literal["dataset", "space"]
RepoOption = Annotated[str, typer.Option(help="Repository, as ORG/NAME; made if there is none.")]
CreatePr = Annotated[
    bool, typer.Option("--create-pr", help="Propose it in a pull request instead of committing.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be done; needs no token.")
]


def require_repo(option: str, repo: str) -> None:
    """Raise a `PublishError` unless ``repo`` is ``ORG/NAME``."""
    if not is_hub_id(repo) or "@" in repo:
        raise PublishError(f"{option} {repo}: names no repository", hint="write it like ORG/NAME")


@dataclass
class Publisher:
    """Publishes to one repository of the Hub at HF_ENDPOINT.

    Attributes:
        repo: the repository, as ``ORG/NAME``.
        kind: the kind of the repository.
        create_pr: open a pull request instead of committing.
        dry_run: only describe what would be done; needs no token.
    """

    repo: str
    kind: RepositoryKind
    create_pr: bool = False
    dry_run: bool = False

    @cached_property
    def api(self) -> HfApi:
        """The Hub's client."""
        return hub_api()

    @cached_property
    def head(self) -> str:
        """The id of the main branch's newest commit; empty if the repository cannot be seen."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with hub_errors(f"read {self.repo}", PublishError):
            try:
                return self.api.repo_info(self.repo, repo_type=self.kind).sha or ""
            except RepositoryNotFoundError:
                return ""

    def publish(
        self,
        files: Mapping[str, bytes],
        title: str,
        description: str = "",
        *,
        replaced_pattern: str | None = None,
        tag: str | None = None,
    ) -> list[str]:
        """Commit the files that are new or changed, and tag the commit.

        Args:
            files: content by path; other files of the repository stay as they are.
            title: the title of the commit.
            description: the description of the commit.
            replaced_pattern: delete files that match this pattern and are not in ``files``.
            tag: the tag to set on the commit; with ``create_pr`` it is not set.

        Returns:
            Lines that describe what was done, or with ``dry_run`` what would be.

        Raises:
            PublishError: the Hub refuses; the repository then holds its old files or all new ones.
        """
        if not self.head and self.create_pr:
            raise PublishError(
                f"{self.kind} {self.repo}: there is none, or the token may not see it",
                hint="check its name; a new one is made without --create-pr",
            )
        report_lines = [] if self.head else [f"create the {self.kind} {self.repo}"]
        if self.dry_run:
            verb = "propose to" if self.create_pr else "commit to"
            size = f"{len(files):,} files ({sum(map(len, files.values())):,} bytes)"
            report_lines.append(f"{verb} {self.repo} what is new or changed among {size}")
            report_lines += [f"set the tag {tag}"] if tag and not self.create_pr else []
            return [f"would {line}" for line in report_lines]
        commit, url = self._commit(files, title, description, replaced_pattern)
        if url:
            verb = "proposed to" if self.create_pr else "committed to"
            report_lines += [f"{verb} {self.repo}", f"see {url}"]
        else:
            report_lines = [f"nothing to do: {self.repo} holds all of it"]
        if tag and url and self.create_pr:
            report_lines.append(f"after the merge, the same command without --create-pr tags {tag}")
        elif tag:
            consequence = f"The tag {tag} is not set; the same command sets it."
            with hub_errors(f"set the tag {tag} of {self.repo}", PublishError, consequence):
                self.api.create_tag(self.repo, tag=tag, revision=commit, repo_type=self.kind)
            report_lines.append(f"set the tag {tag}")
        return report_lines

    def _commit(
        self, files: Mapping[str, bytes], title: str, description: str, replaced_pattern: str | None
    ) -> tuple[str, str]:
        """Commit files; return the newest commit's id, and its URL, empty if nothing changed."""
        consequence = "Nothing was changed by that."
        with (
            TemporaryDirectory() as folder,
            hub_errors(f"publish {self.repo}", PublishError, consequence),
        ):
            for path, content in files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_bytes(content)
            if not self.head:
                sdk = "static" if self.kind == "space" else None
                self.api.create_repo(self.repo, repo_type=self.kind, exist_ok=True, space_sdk=sdk)
            commit = self.api.upload_folder(
                repo_id=self.repo,
                folder_path=folder,
                repo_type=self.kind,
                commit_message=title,
                commit_description=description,
                create_pr=self.create_pr,
                # The Hub refuses to overwrite a commit that somebody else made in the meantime.
                parent_commit=self.head or None,
                delete_patterns=replaced_pattern,
            )
        if commit.oid == self.head:
            return self.head, ""
        url = commit.pr_url if self.create_pr else commit.commit_url
        return str(commit.oid), without_token(str(url))
