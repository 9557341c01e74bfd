"""Publish a result in the model's own repository, where the Hub's leaderboards read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from s2lct.dataset_script.hub import Hub, Outcome, Publication, require_repo
from s2lct.dataset_script.publish.dataset import task_id
from s2lct.dataset_script.publish.results import whole_result
from s2lct.errors import PublishError, ScoringError, SuiteError
from s2lct.hub_calls import is_hub_id
from s2lct.leaderboard.results.hub_results import on_hub
from s2lct.leaderboard.results.record import Result
from s2lct.suite.cases import published_suite
from s2lct.suite.read import read_description
from s2lct.suite.tables import ALL

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

EVAL_RESULTS_FILE = ".eval_results/s2lct.yaml"


class PublishedSuite(NamedTuple):
    """A released suite that a result is for: its Hub id, its version, the commit of its tag."""

    repo: str
    version: str
    commit: str


def publish_model_result(path: Path, hub: Hub, dataset: str | None = None) -> Outcome:
    """Write ``.eval_results/s2lct.yaml`` into the repository of the model that was scored.

    Args:
        path: a result file of a whole suite.
        hub: where and how.
        dataset: Hub id of the suite; None if the model was scored on ``ORG/s2lct``.

    Raises:
        ScoringError: it is no result file, or a figure does not follow from its cases.
        PublishError: it is a result of an endpoint or of a part of its suite, model or suite are
            not on the Hub, or the Hub refuses.
    """
    result = whole_result(path)
    if (endpoint := result.model.endpoint) is not None:
        raise PublishError(
            f"{path}: the predictions are those of {endpoint.url}, and nobody can know which "
            "model is behind it",
            hint="score the model itself, by its Hub id with --llm",
        )
    if dataset:
        require_repo("--dataset", dataset)
    repo = result.model.name

    state = hub.state(repo, "model") if is_hub_id(repo) else None
    if state is None:
        raise PublishError(
            f"{path}: there is no model {repo} on the Hub, or the token may not see it",
            hint="score the model by its Hub id, as ORG/NAME",
        )
    suite = _suite_of(hub, path, result, dataset)
    known = hub.read(repo, "model", EVAL_RESULTS_FILE, state.commit) or b""
    files = {EVAL_RESULTS_FILE: _eval_results(known, result, suite).encode()}
    title = f"Add S²LCT {suite.version} results"
    description = f"Failure rates on {suite.repo} at v{suite.version}."
    return hub.publish(Publication(repo, "model", title, files, description), state)


def _suite_of(hub: Hub, path: Path, result: Result, dataset: str | None) -> PublishedSuite:
    """The released suite that a result is for.

    Raises:
        PublishError: there is none, or its rows are others.
    """
    named = result.suite.name.partition("@")[0]
    repo = dataset or (named if on_hub(named) else "")
    if not repo:
        raise PublishError(
            f"{path}: it was scored on {result.suite.name}, which names no dataset of the Hub",
            hint="say which one it is with --dataset ORG/s2lct",
        )
    version = result.suite.version
    released = {str(one): commit for one, commit in hub.versions(repo).items()}
    commit = released.get(version)
    if commit is None:
        tags = ", ".join(f"v{one}" for one in released)
        raise PublishError(
            f"{path}: {repo} has released no version {version or '(none is named)'}",
            hint=f"score the model on one of {tags or 'its versions'}, or publish the suite first",
        )
    name = f"{repo}@v{version}"
    try:
        described = read_description(published_suite(name), name)
    except (ScoringError, SuiteError) as error:
        raise PublishError(
            f"{repo}: is no suite ({error.problem})", hint="name the suite's dataset"
        ) from error
    if result.suite.fingerprint != described["fingerprint"]:
        raise PublishError(
            f"{path}: it was scored on other cases than {name} has",
            hint=f"score the model again with --suite {name}",
        )
    return PublishedSuite(repo, version, commit)


def _eval_results(known: bytes, result: Result, suite: PublishedSuite) -> str:
    """The file's new content: what it says of other datasets stays."""
    from huggingface_hub import eval_result_entries_to_yaml

    try:
        entries = yaml.safe_load(known) or []
        kept = [entry for entry in entries if entry["dataset"]["id"] != suite.repo]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise PublishError(
            f"{result.model.name}: its {EVAL_RESULTS_FILE} cannot be read ({type(error).__name__})",
            hint="mend or delete that file",
        ) from error
    kept += eval_result_entries_to_yaml(list(_entries(result, suite)))
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)


def _entries(result: Result, suite: PublishedSuite) -> Iterator[EvalResultEntry]:
    """An entry for all cases, and one for those of each capability."""
    from huggingface_hub import EvalResultEntry

    def entry(config: str, rate: float, notes: str) -> EvalResultEntry:
        return EvalResultEntry(
            dataset_id=suite.repo,
            task_id=task_id(config),
            value=round(100 * (1 - rate), 2),
            dataset_revision=suite.commit,
            date=result.date,
            notes=notes,
        )

    counted = {
        name: (of.seed.failures + of.expansion.failures, of.seed.cases + of.expansion.cases)
        for name, of in result.capabilities.items()
    }
    failures, cases = (sum(column) for column in zip(*counted.values(), strict=True))
    low, high = result.overall.ci
    yield entry(
        ALL,
        failures / cases,
        f"failure rate {result.overall.failure_rate:.1%} [{low:.1%}, {high:.1%}], mean of the "
        f"capabilities; S²LCT {suite.version}; "
        f"model revision {result.model.revision or 'not recorded'}",
    )
    for name, of in result.capabilities.items():
        notes = (
            f"failure rate of seeds {of.seed.failure_rate:.1%}, of expansions "
            f"{of.expansion.failure_rate:.1%}; pass-to-fail {of.pass_to_fail}"
        )
        if (sides := of.both_sides) is not None:
            notes += f"; {sides.share:.1%} of {sides.pairs} seeds right on both sides"
        failures, cases = counted[name]
        yield entry(name, failures / cases if cases else 0.0, notes)
