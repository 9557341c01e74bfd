"""Whether a change to a repository of results only adds results, each as it should be.

A change is allowed to add pairs of new JSON and Parquet files in their places (see `layout`), and
nothing else: it changes, moves and deletes no file, and adds no other.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from s2lct.errors import ScoringError
from s2lct.files import write_bytes
from s2lct.leaderboard.results.hub_results import hub_api, told_hub_errors
from s2lct.leaderboard.results.layout import FOLDER, repository_path
from s2lct.leaderboard.results.untrusted import MOST_JSON_BYTES, MOST_TABLE_BYTES, parse_result
from s2lct.leaderboard.submission.check import Verdict, check, one_line
from s2lct.leaderboard.submission.model_files import DEFAULT_BRANCH
from s2lct.leaderboard.submission.rescoring import Limits
from s2lct.suite.cases import SuiteCases

MOST_RESULTS = 20
Kind = Literal["added", "changed", "deleted", "no plain file"]
_PLACE = re.compile(rf"{FOLDER}/[\w.+-]+/\w[\w.-]*\.(?:json|parquet)", re.ASCII)
_GIT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file.

    Attributes:
        path: in the repository.
        kind: a link or folder counts as ``no plain file``, whatever became of it.
        size: its bytes; 0 for one that is gone.
    """

    path: str
    kind: Kind
    size: int = 0


@dataclass(frozen=True)
class Difference:
    """What changed between two states of a repository.

    Attributes:
        changes: one a file.
        existing: the paths that the repository has, as of now.
        read: gives the content of an added file.
        head: names the later state; empty for a folder.
    """

    changes: tuple[Change, ...]
    existing: frozenset[str]
    read: Callable[[str], bytes] = field(repr=False)
    head: str = ""


@dataclass(frozen=True, slots=True)
class ChangesVerdict:
    """What the check of a change came to.

    Attributes:
        reasons: what speaks against the change as a whole, a line each.
        verdicts: one a result, in the order of their paths; none where ``reasons`` has some.
        head: which state was checked.
    """

    reasons: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    head: str = ""

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against the change or any of its results."""
        return not self.reasons and all(verdict.accepted for verdict in self.verdicts)


def faults_of_changes(changes: Sequence[Change], existing: Collection[str]) -> Iterator[str]:
    """What speaks against a change before any file of it is read.

    Args:
        changes: one a file.
        existing: the paths that the repository has.
    """
    added = {change.path for change in changes if change.kind == "added"}
    taken = {path.lower(): path for path in existing}
    if not changes:
        yield "it changes nothing"
    if len(changes) > 2 * MOST_RESULTS:
        yield f"it changes {len(changes):,} files; at most {MOST_RESULTS} results at a time"
    for change in changes[: 2 * MOST_RESULTS]:
        path = one_line(change.path)
        other = PurePosixPath(change.path).with_suffix(
            ".parquet" if change.path.endswith(".json") else ".json"
        )
        most = MOST_JSON_BYTES if change.path.endswith(".json") else MOST_TABLE_BYTES
        if change.kind != "added":
            yield f"{path}: is {change.kind}; a submission only adds results"
        elif not _PLACE.fullmatch(change.path) or ".." in change.path:
            yield f"{path}: is no result in its place ({FOLDER}/VERSION-…/NAME.json and .parquet)"
        elif change.path.lower() in taken:
            yield f"{path}: there is {one_line(taken[change.path.lower()])} already"
        elif str(other) not in added:
            yield f"{path}: lacks {other.name} beside it"
        elif change.size > most:
            yield f"{path}: has {change.size:,} bytes, at most {most:,}"


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
    with tempfile.TemporaryDirectory(prefix="s2lct-") as place:
        root = Path(place)
        for change in difference.changes:
            path = root / change.path
            write_bytes(path, difference.read(change.path))
        for change in sorted(difference.changes, key=lambda one: one.path):
            if change.path.endswith(".json"):
                left = replace(limits, seconds=max(1, int(deadline - time.monotonic())))
                verdict = check(root / change.path, suite, rescore=rescore, limits=left)
                verdicts.append(_in_its_place(verdict, root, change.path))
    return ChangesVerdict((), tuple(verdicts), difference.head)


def _in_its_place(verdict: Verdict, root: Path, path: str) -> Verdict:
    """The verdict with the path in the repository; refused where the result belongs elsewhere."""
    verdict = replace(verdict, file=one_line(path))
    if not verdict.accepted:
        return verdict
    result = parse_result((root / path).read_bytes())
    reasons = []
    if (right := repository_path(result)) != path:
        reasons.append(one_line(f"belongs at {right}"))
    if result.outcomes.path != PurePosixPath(path).with_suffix(".parquet").name:
        reasons.append("outcomes.path: is not the Parquet file of the same name")
    if not reasons:
        return verdict
    return replace(verdict, accepted=False, verified=False, reasons=tuple(reasons))


def between_commits(base: str, head: str, clone: Path) -> Difference:
    """What a branch changes, by git: from where it left another branch to its end.

    Nothing is checked out: files are read from git's own store.

    Args:
        base: a commit of the branch that is to take the change.
        head: the last commit of the change.
        clone: the repository, with the history of both.

    Raises:
        ScoringError: git cannot tell.
    """
    for name in (base, head):
        if not re.fullmatch(r"[\w./@{}^~-]+", name, re.ASCII) or name.startswith("-"):
            raise ScoringError(f"{name!r}: is no commit", mend="name two commits")
    head = _git(clone, "rev-parse", "--verify", "--quiet", f"{head}^{{commit}}").decode().strip()
    raw = _git(
        clone, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff",
        "--no-textconv", "--ignore-submodules=none", f"{base}...{head}", "--",
    ).decode("utf-8", "surrogateescape")  # fmt: skip
    fields = raw.split("\0")[:-1]
    blobs: dict[str, str] = {}
    changes: list[Change] = []
    for told, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, blob, status = told.removeprefix(":").split(" ")
        kind: Kind = {"A": "added", "D": "deleted"}.get(status, "changed")  # type: ignore[assignment]
        size = 0
        if kind == "added" and mode != "100644":
            kind = "no plain file"
        elif kind == "added":
            blobs[path] = blob
            size = int(_git(clone, "cat-file", "-s", blob))
        changes.append(Change(path, kind, size))
    listed = _git(clone, "ls-tree", "-r", "-z", "--name-only", "--full-tree", base)
    existing = frozenset(listed.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return Difference(
        tuple(changes), existing, lambda path: _git(clone, "cat-file", "blob", blobs[path]), head
    )


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
            mend="name two commits of a clone that has the history of both",
        ) from error


def between_revisions(base: str, head: str, repo: str) -> Difference:
    """What a pull request of a dataset changes: from where it left a branch to its end.

    Args:
        base: the branch that is to take the change, ``main``.
        head: the pull request, such as ``refs/pr/3``, or another revision.
        repo: ``ORG/NAME`` of the dataset.

    Raises:
        ScoringError: the Hub cannot tell.
    """
    api = hub_api()
    with told_hub_errors(repo):
        own, theirs = (
            [
                commit.commit_id
                for commit in api.list_repo_commits(repo, repo_type="dataset", revision=one)
            ]
            for one in (head, base)
        )
        common = set(theirs)
        left = next((commit for commit in own if commit in common), None)
        if left is None or not own:
            raise ScoringError(
                f"{repo}: {head} has no commit in common with {base}",
                mend="name a pull request of this dataset",
            )
        before, after = _tree(repo, left), _tree(repo, own[0])
        now = before if left == theirs[0] else _tree(repo, theirs[0])
    changes = [Change(path, "deleted") for path in before.keys() - after.keys()]
    for path, (blob, size) in after.items():
        if path not in before:
            changes.append(Change(path, "added", size))
        elif before[path][0] != blob:
            changes.append(Change(path, "changed", size))

    def read(path: str) -> bytes:
        with told_hub_errors(repo), tempfile.TemporaryDirectory(prefix="s2lct-") as place:
            return Path(
                api.hf_hub_download(
                    repo, path, repo_type="dataset", revision=own[0], local_dir=place
                )
            ).read_bytes()

    changes.sort(key=lambda change: change.path)
    return Difference(tuple(changes), frozenset(now), read, own[0])


def _tree(repo: str, commit: str) -> Mapping[str, tuple[str, int]]:
    """Blob id and size of each file."""
    from huggingface_hub.hf_api import RepoFile

    listed = hub_api().list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
    return {
        file.path: (file.lfs.sha256 if file.lfs else file.blob_id, file.size)
        for file in listed
        if isinstance(file, RepoFile)
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a pull request.

    Attributes:
        number: of the pull request.
        verdict: what its check came to; None where it could not be read.
        text: the comment, or why there is none.
    """

    number: int
    verdict: ChangesVerdict | None
    text: str


def answer_pulls(
    repo: str,
    suite: SuiteCases,
    *,
    rescore: bool = False,
    limits: Limits | None = None,
    dry_run: bool = False,
) -> Iterator[Answer]:
    """Check every open pull request of a dataset of results, and say in a comment what came out.

    One whose last commit was answered before, by the same account, is left alone.

    Args:
        repo: ``ORG/NAME`` of the dataset.
        suite: see `check_changes`.
        rescore: see `check_changes`.
        limits: see `check_changes`; for each pull request.
        dry_run: comment nothing.

    Raises:
        ScoringError: the Hub cannot be asked.
    """
    api = hub_api()
    with told_hub_errors(repo):
        account = "" if dry_run else str(api.whoami()["name"])
        pulls = sorted(
            pull.num
            for pull in api.get_repo_discussions(
                repo,
                repo_type="dataset",
                discussion_type="pull_request",
                discussion_status="open",
            )
        )
    for number in pulls:
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
    return any(
        event.author == account and f"Checked {commit}" in getattr(event, "content", "")
        for event in events
    )


def comment(verdict: ChangesVerdict) -> str:
    """A verdict in Markdown. Indented lines are code, whatever a stranger put into them."""
    lines = [f"Checked {verdict.head}: {'accepted' if verdict.accepted else 'refused'}.", ""]
    return "\n".join([*lines, *(f"    {line}" for line in in_words(verdict))])


def in_words(verdict: ChangesVerdict) -> list[str]:
    """A verdict, line by line."""
    lines = [*verdict.reasons]
    for one in verdict.verdicts:
        lines += verdict_in_words(one)
    return lines


def verdict_in_words(verdict: Verdict) -> list[str]:
    """What the check of one result came to, line by line."""
    if not verdict.accepted:
        return [f"refused: {verdict.file}", *(f"  {reason}" for reason in verdict.reasons)]
    said = f"accepted: {verdict.file}: every figure follows from its cases"
    if not verdict.rescored:
        return [said]
    cases = f"{verdict.rescored:,} cases scored again"
    if verdict.seed is not None:
        return [f"{said}; a first look: {cases} (--seed {verdict.seed}), not verified"]
    if verdict.verified:
        return [f"{said}; all {cases}: verified"]
    return [f"{said}; all {cases}, but not verified: {'; '.join(verdict.doubts)}"]
