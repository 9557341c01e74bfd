"""Whether a change to a repository of results only adds results, each as it should be.

A change is allowed to add pairs of new JSON and Parquet files in their places (see
`repository_path`), and nothing else: it changes, moves and deletes no file, and adds no other.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from s2lct.errors import ScoringError
from s2lct.files import write_bytes
from s2lct.leaderboard.results.hub_results import hub_api, told_hub_errors
from s2lct.leaderboard.results.untrusted import MOST_JSON_BYTES, MOST_TABLE_BYTES, parse_result
from s2lct.leaderboard.results.write import FOLDER, repository_path
from s2lct.leaderboard.submission.check import Verdict, check, one_line
from s2lct.leaderboard.submission.rescoring import DEFAULT_BRANCH, Limits
from s2lct.suite.cases import SuiteCases

MOST_RESULTS = 20
Kind = Literal["added", "changed", "deleted", "no plain file"]
_PLACE = re.compile(rf"{FOLDER}/[\w.+-]+/\w[\w.-]*\.(?:json|parquet)", re.ASCII)
_GIT_SECONDS = 120
_PLAIN_MODE = "100644"
_Tree = dict[str, tuple[str, str, int]]
"""Mode, blob id and size of each file."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file of a repository, and its size if it was added.

    A link or folder counts as ``no plain file``, whatever became of it.
    """

    path: str
    kind: Kind
    size: int = 0


@dataclass(frozen=True)
class Difference:
    """What changed between two states of a repository."""

    changes: tuple[Change, ...]  # one a file
    existing: frozenset[str]  # the paths that the repository has, as of now
    read: Callable[[str], bytes] = field(repr=False)  # gives the content of an added file
    head: str = ""  # names the later state


@dataclass(frozen=True, slots=True)
class ChangesVerdict:
    """What the check of a change came to."""

    reasons: tuple[str, ...]  # what speaks against the change as a whole, a line each
    verdicts: tuple[Verdict, ...] = ()  # one a result, by path; none where there are reasons
    head: str = ""  # which state was checked

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against the change or any of its results."""
        return not self.reasons and all(verdict.accepted for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a pull request."""

    number: int  # of the pull request
    verdict: ChangesVerdict | None  # what its check came to; None where it could not be read
    text: str  # the comment, or why there is none


def faults_of_changes(changes: Sequence[Change], existing: Collection[str]) -> Iterator[str]:
    """What speaks against a change of a repository before any file of it is read."""
    added = {change.path for change in changes if change.kind == "added"}
    taken = {path.lower(): path for path in existing}
    if not changes:
        yield "it changes nothing"
    if len(changes) > 2 * MOST_RESULTS:
        yield f"it changes {len(changes):,} files; at most {MOST_RESULTS} results at a time"
    for change in changes[: 2 * MOST_RESULTS]:
        path, lower, is_json = change.path, change.path.lower(), change.path.endswith(".json")
        other = PurePosixPath(path).with_suffix(".parquet" if is_json else ".json")
        most = MOST_JSON_BYTES if is_json else MOST_TABLE_BYTES
        fault = ""
        if change.kind != "added":
            fault = f"is {change.kind}; a submission only adds results"
        elif not _PLACE.fullmatch(path) or ".." in path:
            fault = f"is no result in its place ({FOLDER}/VERSION-…/NAME.json and .parquet)"
        elif lower in taken:
            fault = f"there is {one_line(taken[lower])} already"
        elif str(other) not in added:
            fault = f"lacks {other.name} beside it"
        elif change.size > most:
            fault = f"has {change.size:,} bytes, at most {most:,}"
        if fault:
            yield f"{one_line(path)}: {fault}"


def check_changes(
    difference: Difference,
    suite: SuiteCases,
    *,
    rescore: bool = False,
    limits: Limits | None = None,
) -> ChangesVerdict:
    """Check what a change adds to a repository of results.

    Args:
        difference: the change.
        suite: the suite that the results must be on, from a source that is trusted.
        rescore: ask the models again.
        limits: what that may cost; the seconds are for all of them together.
    """
    limits = limits or Limits()
    deadline = time.monotonic() + limits.seconds
    if reasons := [*faults_of_changes(difference.changes, difference.existing)]:
        return ChangesVerdict(tuple(map(one_line, reasons)), head=difference.head)
    verdicts: list[Verdict] = []
    paths = sorted(change.path for change in difference.changes)
    with tempfile.TemporaryDirectory(prefix="s2lct-") as place:
        for path in paths:
            write_bytes(Path(place, path), difference.read(path))
        for path in (path for path in paths if path.endswith(".json")):
            left = replace(limits, seconds=max(1, int(deadline - time.monotonic())))
            verdict = check(Path(place, path), suite, rescore=rescore, limits=left)
            if verdict.accepted and (faults := _faults_of_place(Path(place), path)):
                verdict = replace(verdict, accepted=False, verified=False, reasons=faults)
            verdicts.append(replace(verdict, file=one_line(path)))
    return ChangesVerdict((), tuple(verdicts), difference.head)


def _faults_of_place(root: Path, path: str) -> tuple[str, ...]:
    """Why a result does not belong where it is."""
    result = parse_result((root / path).read_bytes())
    faults: list[str] = []
    if (right := repository_path(result)) != path:
        faults.append(one_line(f"belongs at {right}"))
    if result.outcomes.path != PurePosixPath(path).with_suffix(".parquet").name:
        faults.append("outcomes.path: is not the Parquet file of the same name")
    return tuple(faults)


def between_commits(base: str, head: str, clone: Path) -> Difference:
    """What a branch changes, by git: from where it left ``base`` to its end ``head``.

    Nothing is checked out: files are read from git's own store. Raises `ScoringError`.
    """
    for name in (base, head):
        if not re.fullmatch(r"[\w./@{}^~-]+", name, re.ASCII) or name.startswith("-"):
            raise ScoringError(f"{name!r}: is no commit", hint="name two commits")
    head = _git(clone, "rev-parse", "--verify", "--quiet", f"{head}^{{commit}}").decode().strip()
    left = _git(clone, "merge-base", base, head).decode().strip()

    def tree(commit: str) -> _Tree:
        listed = _git(clone, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        entries = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
        found = [(path, *facts.split()) for facts, path in (one.split("\t", 1) for one in entries)]
        return {
            path: (mode, blob, int(size) if mode == _PLAIN_MODE else 0)
            for path, mode, _, blob, size in found
        }

    after = tree(head)
    return _difference(
        tree(left),
        after,
        tree(base),
        lambda path: _git(clone, "cat-file", "blob", after[path][1]),
        head,
    )


def _difference(
    before: _Tree, after: _Tree, now: _Tree, read: Callable[[str], bytes], head: str
) -> Difference:
    changes: list[Change] = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            changes.append(Change(path, "deleted"))
        elif path not in before:
            mode, _, size = after[path]
            changes.append(Change(path, "added" if mode == _PLAIN_MODE else "no plain file", size))
        elif before[path] != after[path]:
            changes.append(Change(path, "changed"))
    return Difference(tuple(changes), frozenset(now), read, head)


def _git(clone: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(
            ["git", "-C", str(clone), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").splitlines()
        raise ScoringError(
            f"{clone}: git {arguments[0]} fails ({one_line(lines[0] if lines else str(error))})",
            hint="name two commits of a clone that has the history of both",
        ) from error


def between_revisions(base: str, head: str, repo: str) -> Difference:
    """What a pull request of a dataset changes: from where it left a branch to its end.

    Args:
        base: the branch that is to take the change, ``main``.
        head: the pull request, such as ``refs/pr/3``, or another revision.
        repo: ``ORG/NAME`` of the dataset; a `ScoringError` if the Hub cannot tell.
    """
    api = hub_api()
    with told_hub_errors(repo):
        own, theirs = (
            [one.commit_id for one in api.list_repo_commits(repo, repo_type="dataset", revision=of)]
            for of in (head, base)
        )
        left = next((commit for commit in own if commit in set(theirs)), None)
        if left is None:
            raise ScoringError(
                f"{repo}: {head} has no commit in common with {base}",
                hint="name a pull request of this dataset",
            )
        before, after, now = (_tree(repo, commit) for commit in (left, own[0], theirs[0]))

    def read(path: str) -> bytes:
        with told_hub_errors(repo), tempfile.TemporaryDirectory(prefix="s2lct-") as place:
            return Path(
                api.hf_hub_download(
                    repo, path, repo_type="dataset", revision=own[0], local_dir=place
                )
            ).read_bytes()

    return _difference(before, after, now, read, own[0])


def _tree(repo: str, commit: str) -> _Tree:
    from huggingface_hub.hf_api import RepoFile

    listed = hub_api().list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
    return {
        file.path: (_PLAIN_MODE, file.lfs.sha256 if file.lfs else file.blob_id, file.size)
        for file in listed
        if isinstance(file, RepoFile)
    }


def answer_pulls(
    repo: str,
    suite: SuiteCases,
    *,
    rescore: bool = False,
    limits: Limits | None = None,
    dry_run: bool = False,
) -> Iterator[Answer]:
    """Check the open pull requests of a dataset of results, and comment what came out, unless dry.

    One whose last commit this account answered before is left alone; limits are for each.
    """
    api = hub_api()
    with told_hub_errors(repo):
        account = "" if dry_run else str(api.whoami()["name"])
        pulls = api.get_repo_discussions(
            repo, repo_type="dataset", discussion_type="pull_request", discussion_status="open"
        )
        numbers = sorted(pull.num for pull in pulls)
    for number in numbers:
        try:
            difference = between_revisions(DEFAULT_BRANCH, f"refs/pr/{number}", repo)
            if account and _answered(repo, number, account, difference.head):
                continue
            verdict = check_changes(difference, suite, rescore=rescore, limits=limits)
            text = comment(verdict)
            if not dry_run:
                with told_hub_errors(repo):
                    api.comment_discussion(repo, number, text, repo_type="dataset")
            yield Answer(number, verdict, text)
        except ScoringError as error:
            yield Answer(number, None, error.problem)


def _answered(repo: str, number: int, account: str, commit: str) -> bool:
    """Whether an account commented on a commit; what others write says nothing."""
    with told_hub_errors(repo):
        events = hub_api().get_discussion_details(repo, number, repo_type="dataset").events
    own = [getattr(event, "content", "") for event in events if event.author == account]
    return any(f"Checked {commit}" in said for said in own)


def comment(verdict: ChangesVerdict) -> str:
    """A verdict in Markdown. Indented lines are code, whatever a stranger put into them."""
    head = f"Checked {verdict.head}: {'accepted' if verdict.accepted else 'refused'}.\n\n"
    return head + "\n".join(f"    {line}" for line in in_words(verdict))


def in_words(verdict: ChangesVerdict) -> list[str]:
    """A verdict, line by line."""
    return [*verdict.reasons, *(line for of in verdict.verdicts for line in verdict_in_words(of))]


def verdict_in_words(verdict: Verdict) -> list[str]:
    """What the check of one result came to, line by line."""
    if not verdict.accepted:
        return [f"refused: {verdict.file}", *(f"  {reason}" for reason in verdict.reasons)]
    said = f"accepted: {verdict.file}: every figure follows from its cases"
    texts = f"{verdict.rescored:,} texts scored again"
    if verdict.seed is not None:
        said += f"; a first look: {texts} (--seed {verdict.seed}), not verified"
    elif verdict.verified:
        said += f"; all {texts}: verified"
    elif verdict.rescored:
        said += f"; all {texts}, but not verified: {'; '.join(verdict.doubts)}"
    return [said]
