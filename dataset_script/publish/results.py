"""Publish result files in a dataset that the leaderboard reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from s2lct.cards import render_results_card
from s2lct.dataset_script.hub import (
    Hub,
    Outcome,
    Publication,
    RepoState,
    dry_run_without_hub,
    require_repo,
)
from s2lct.errors import PublishError
from s2lct.leaderboard.results.read import recompute
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.untrusted import (
    MOST_TABLE_BYTES,
    RefusedError,
    bytes_of,
    faults_of_names,
    faults_of_words,
    names_of,
    parse_result,
)
from s2lct.leaderboard.results.write import FOLDER, repository_path, suite_folder

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SHORT = 12
_LARGEST_JSON = 4_000_000
_MOST_IN_CARD = 1000


@dataclass(frozen=True)
class CheckedResult:
    """A result whose figures follow from its cases, as it is published.

    Attributes:
        result: the result; suites and models in folders are named without their place.
        path: where its JSON goes in the repository; the Parquet file lies beside it.
        outcomes: the Parquet file's bytes.
    """

    result: Result
    path: str
    outcomes: bytes

    @classmethod
    def read(cls, path: Path) -> CheckedResult:
        """Read a result file and the Parquet file beside it, and compute every figure again.

        Raises:
            ScoringError: it is no result file, or a figure does not follow from its cases.
            PublishError: a leaderboard could not show its names, or it is a result of a part of
                its suite.
        """
        read = recompute(path)
        refuse_partial(path, read)
        suite = read.suite.model_copy(update={"name": without_place(read.suite.name)})
        model = read.model.model_copy(update={"name": without_place(read.model.name)})
        result = read.model_copy(update={"suite": suite, "model": model})
        if fault := next(faults_of_names(names_of(result)), ""):
            raise PublishError(
                f"{path}: {fault}", mend="rename the model's folder and score it again"
            )
        target = PurePosixPath(repository_path(result))
        outcomes = read.outcomes.model_copy(update={"path": target.with_suffix(".parquet").name})
        result = result.model_copy(update={"outcomes": outcomes})
        outcomes_file = path.parent / read.outcomes.path
        return cls(result, str(target), bytes_of(outcomes_file, MOST_TABLE_BYTES))

    @property
    def files(self) -> dict[str, bytes]:
        """Content by path."""
        return {
            self.path: (self.result.model_dump_json(indent=2) + "\n").encode(),
            str(PurePosixPath(self.path).with_suffix(".parquet")): self.outcomes,
        }


def refuse_partial(path: Path, result: Result) -> None:
    """Refuse results of a part of a suite.

    Raises:
        PublishError: it is one.
    """
    if result.partial:
        raise PublishError(
            f"{path}: is partial: it covers {result.overall.cases:,} cases of its suite "
            f"({result.selection})",
            mend="score the whole suite, without --capability, --kind and --limit",
        )


def without_place(name: str) -> str:
    """A folder's own name; Hub ids and names of baselines as they are."""
    repo = name.partition("@")[0]
    if HUB_ID.fullmatch(repo) and not Path(name).exists():
        return name
    return PurePosixPath(name.replace("\\", "/")).name or name


def publish_results(
    paths: Sequence[Path],
    repo: str,
    *,
    private: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
    hub: Hub | None = None,
) -> Outcome:
    """Publish result files with their Parquet files, all in one commit.

    The card lists every result of the repository; a pull request leaves it alone, so that pull
    requests do not stand in each other's way.

    Args:
        paths: JSON files that `s2lct score` wrote.
        repo: ``ORG/NAME`` of the dataset; made if there is none.
        private: make a new repository private.
        create_pr: propose it in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
        hub: the Hub to publish to.

    Raises:
        ScoringError: a file is no result, or its figures do not follow from its cases.
        PublishError: a file is of a part of its suite, two are results of one model, or the Hub
            refuses.
    """
    require_repo("--to", repo)
    checked = [CheckedResult.read(path) for path in paths]
    _refuse_doubles(paths, checked)
    told = [f"{path}: every figure follows from its cases" for path in paths]
    told.append(f"{repo} can be a repository's name")
    with dry_run_without_hub(told, f"what {repo} holds", dry_run=dry_run) as outcomes:
        outcomes.append(_publish(checked, repo, private, create_pr, dry_run, hub or Hub()))
    return outcomes[0]


def _publish(
    checked: Sequence[CheckedResult],
    repo: str,
    private: bool,
    create_pr: bool,
    dry_run: bool,
    hub: Hub,
) -> Outcome:
    state = hub.state(repo, "dataset")
    files = {path: data for one in checked for path, data in one.files.items()}
    if not create_pr:
        listed = {one.path: one.result for one in checked}
        known = dict(_published(hub, repo, state, without=listed))
        files["README.md"] = render_results_card(repo, _rows((known | listed).items())).encode()
    models = ", ".join(_printable(one.result.model.name) for one in checked)
    publication = Publication(
        repo=repo,
        kind="dataset",
        title=f"Add results of {models}" if len(checked) < 4 else f"Add {len(checked)} results",
        description="\n".join(f"- {_line(one.result)}" for one in checked),
        files=files,
        private=private,
    )
    outcome = hub.publish(publication, state, create_pr=create_pr, dry_run=dry_run)
    outcome.lines[:0] = [_line(one.result) for one in checked]
    return outcome


def _refuse_doubles(paths: Sequence[Path], checked: Sequence[CheckedResult]) -> None:
    first: dict[str, Path] = {}
    for path, one in zip(paths, checked, strict=True):
        if one.path in first:
            raise PublishError(
                f"{first[one.path]} and {path}: both are results of {one.result.model.name} on "
                f"suite {one.result.suite.version or one.result.suite.fingerprint[:_SHORT]}",
                mend="give one of them",
            )
        first[one.path] = path


def _published(
    hub: Hub, repo: str, state: RepoState | None, without: Iterable[str]
) -> Iterable[tuple[str, Result]]:
    """The results that a repository holds, by path; what is none is left out."""
    wanted = [
        path
        for path in sorted(state.hashes if state else ())
        if path.startswith(f"{FOLDER}/") and path.endswith(".json") and path not in without
    ]
    for path in wanted[:_MOST_IN_CARD]:
        content = hub.read(repo, "dataset", path, state.commit) if state else None
        if content is None or len(content) > _LARGEST_JSON:
            continue
        try:
            result = parse_result(content)
        except RefusedError:
            continue
        if not [*faults_of_words(result), *faults_of_names(names_of(result))]:
            yield path, result


def _rows(results: Iterable[tuple[str, Result]]) -> list[dict[str, Any]]:
    """What the card lists, newest suite first, best model first."""
    ranked = sorted(results, key=lambda item: (item[1].overall.failure_rate, item[0]))
    ranked.sort(key=lambda item: suite_folder(item[1]), reverse=True)
    return [
        {
            "path": path,
            "model": result.model.name,
            "revision": result.model.revision[:_SHORT],
            "suite": result.suite.version or result.suite.fingerprint[:_SHORT],
            "failure_rate": result.overall.failure_rate,
            "ci": result.overall.ci,
            "cases": result.overall.cases,
            "date": result.date[:10],
        }
        for path, result in ranked
    ]


def _line(result: Result) -> str:
    overall = result.overall
    low, high = overall.ci
    return _printable(
        f"{result.model.name}: fails {overall.failure_rate:.1%} [{low:.1%}, {high:.1%}] "
        f"of suite {result.suite.version or result.suite.fingerprint[:_SHORT]} "
        f"({overall.cases:,} cases)"
    )


def _printable(text: str) -> str:
    """A text of one line without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
